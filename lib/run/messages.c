/* messages.c - exchange by MPI messages: nonblocking, bounded, in pieces so that no count comes near 2^31. */
#include "exchange.h"

#include <stdlib.h>

enum { PIECE = 1 << 26 };

/* Several exchanges may be under way. */
static int tag_of(const tra_exchange *x) { return 16 + x->op->id; }

typedef struct sending {
    MPI_Request req;
    tra_source source;
    bool last; /* of its transfer: gives the source back */
    int64_t bytes;
} sending;

typedef struct receiving {
    const tra_transfer *t;
    tra_block *b;
    int64_t bytes;
    int n; /* messages */
    MPI_Request *req;
} receiving;

typedef struct messages {
    int n;
    sending v[TRA_MAXSENDS];
    int64_t bytes; /* on their way */
    int nin;
    receiving in[TRA_MAXSENDS];
    int64_t in_bytes; /* on their way to us */
    int turn;         /* the source that is asked first */
    MPI_Message msg;  /* the one that next found */
    char *sink;       /* for what arrives after a failure */
} messages;

static void begin(tra_exchange *x) { x->state = tra_calloc(1, sizeof(messages)); }

static void end(tra_exchange *x) {
    messages *m = x->state;
    free(m->sink);
    free(m);
}

static bool busy(tra_exchange *x) { return ((messages *)x->state)->n > 0; }

static bool progress_in(tra_exchange *x) {
    messages *m = x->state;
    bool any = false;
    for (int i = 0; i < m->nin;) {
        int done;
        receiving r = m->in[i];
        MPI_Testall(r.n, r.req, &done, MPI_STATUSES_IGNORE);
        if (!done) {
            i++;
            continue;
        }
        any = true;
        m->in[i] = m->in[--m->nin];
        m->in_bytes -= r.bytes;
        free(r.req);
        tra_exchange_arrived(x, r.t, r.b, TRA_OK);
    }
    return any;
}

static bool progress(tra_exchange *x) {
    messages *m = x->state;
    bool any = progress_in(x);
    for (int i = 0; i < m->n;) {
        int done;
        sending *s = &m->v[i];
        MPI_Test(&s->req, &done, MPI_STATUS_IGNORE);
        if (!done) {
            i++;
            continue;
        }
        any = true;
        m->bytes -= s->bytes;
        if (s->last) tra_source_release(x, &s->source);
        *s = m->v[--m->n];
    }
    return any;
}

static bool room(tra_exchange *x, int64_t bytes) {
    messages *m = x->state;
    int64_t pieces = tra_max64(1, tra_ceil_div(bytes, PIECE));
    return m->n == 0 || (m->n + pieces <= TRA_MAXSENDS && m->bytes + bytes <= x->window);
}

static int64_t held(const tra_exchange *x) {
    const messages *m = x->state;
    return m->bytes + m->in_bytes;
}

static void send(tra_exchange *x, const tra_transfer *t, tra_source *s) {
    messages *m = x->state;
    for (int64_t at = 0; at < s->bytes || at == 0; at += PIECE) {
        int64_t n = tra_min64(PIECE, s->bytes - at);
        while (m->n == TRA_MAXSENDS) { /* one transfer of more than 4 GiB; others may wait for us meanwhile */
            progress(x);
            tra_exchange_receive(x);
        }
        sending *p = &m->v[m->n++];
        *p = (sending){.bytes = n, .last = at + n >= s->bytes};
        if (p->last) {
            p->source = *s;
            p->bytes += s->held - s->bytes;
        }
        MPI_Isend(s->data + at, (int)n, MPI_BYTE, t->to, tag_of(x), x->site->comm.mpi, &p->req);
        m->bytes += p->bytes;
    }
}

static void refuse(tra_exchange *x, const tra_transfer *t) {
    messages *m = x->state;
    sending *p = &m->v[m->n++];
    *p = (sending){.bytes = 0};
    MPI_Isend(NULL, 0, MPI_BYTE, t->to, tag_of(x), x->site->comm.mpi, &p->req); /* nothing, where something is due */
}

/* May the next transfer of src begin to come? What is on its way is held. */
static bool room_in(const tra_exchange *x, int src) {
    const messages *m = x->state;
    int64_t bytes = tra_block_footprint(tra_exchange_bytes(x, &x->incoming[src].v[x->next_in[src]]));
    return m->nin == 0 || (m->nin < TRA_MAXSENDS && m->in_bytes + bytes <= x->window_in);
}

/* Matches a message of the present lists. Who has sent all of his may have gone on to the next lists: what he sends for
 * those stays where it is until we are there. */
static int next(tra_exchange *x) {
    messages *m = x->state;
    int size = x->site->comm.size;
    for (int i = 0, found; x->received < x->expected && i < size; i++) {
        int src = (m->turn + i) % size;
        MPI_Status st;
        if (x->next_in[src] == x->incoming[src].n || !room_in(x, src)) continue;
        MPI_Improbe(src, tag_of(x), x->site->comm.mpi, &found, &m->msg, &st);
        if (!found) continue;
        m->turn = (src + 1) % size;
        int bytes;
        MPI_Get_count(&st, MPI_BYTE, &bytes);
        if (bytes > 0 || tra_exchange_bytes(x, &x->incoming[src].v[x->next_in[src]]) == 0) return src;
        MPI_Mrecv(NULL, 0, MPI_BYTE, &m->msg, MPI_STATUS_IGNORE);
        x->next_in[src]++;
        x->received++;
        tra_exchange_fail(x, TRA_LOST); /* the sender has the cause; agreement finds it */
    }
    return -1;
}

/* The first message has been matched; the others, which come after it, are the next from there. */
static void take(tra_exchange *x, const tra_transfer *t, tra_block *b, int64_t bytes) {
    messages *m = x->state;
    int n = (int)tra_max64(1, tra_ceil_div(bytes, PIECE));
    MPI_Request *req = tra_malloc((size_t)n * sizeof *req);
    if (!b && !m->sink) m->sink = tra_malloc(PIECE);
    for (int i = 0; i < n; i++) {
        int64_t at = (int64_t)i * PIECE;
        int len = (int)tra_min64(PIECE, bytes - at);
        void *to = b ? (char *)b->ptr + at : m->sink;
        if (i == 0)
            MPI_Imrecv(to, len, MPI_BYTE, &m->msg, &req[i]);
        else
            MPI_Irecv(to, len, MPI_BYTE, t->from, tag_of(x), x->site->comm.mpi, &req[i]);
        if (!b) MPI_Wait(&req[i], MPI_STATUS_IGNORE);
    }
    if (!b) {
        free(req);
        tra_exchange_arrived(x, t, NULL, TRA_OK);
        return;
    }
    m->in[m->nin++] = (receiving){t, b, tra_block_footprint(bytes), n, req};
    m->in_bytes += tra_block_footprint(bytes);
}

const tra_transport tra_transport_messages = {
    .name = "mpi",
    .begin = begin,
    .end = end,
    .room = room,
    .held = held,
    .send = send,
    .refuse = refuse,
    .progress = progress,
    .busy = busy,
    .next = next,
    .take = take,
};
