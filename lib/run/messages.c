/* messages.c - exchange by MPI messages: nonblocking, bounded, in pieces so that no count comes near 2^31. */
#include "exchange.h"

#include <stdlib.h>

enum { PIECE = 1 << 26 };

/* Several exchanges may be under way. */
static int tag_of(const tra_exchange *x) { return 16 + x->op->id; }

/* A transfer that is coming. */
typedef struct receiving {
    const tra_transfer *t;
    tra_block *b;
    int64_t bytes;
    int left; /* messages that have not come */
} receiving;

/* A message on its way, out or in. */
typedef struct message {
    receiving *in; /* NULL: out, and then */
    tra_payload source;
    bool last; /* of its transfer: gives the source back */
    int64_t bytes;
} message;

typedef struct messages {
    int n, cap;
    MPI_Request *req; /* side by side, so that one call looks at all: each look goes through the sockets */
    message *v;
    int *done;
    int nout, nin;           /* messages, transfers */
    int64_t bytes, in_bytes; /* on their way from us, to us */
    int turn;                /* the source that is asked first */
    MPI_Message msg;         /* the one that next found */
    char *sink;              /* for what arrives after a failure */
} messages;

static void begin(tra_exchange *x) { x->state = tra_calloc(1, sizeof(messages)); }

static void end(tra_exchange *x) {
    messages *m = x->state;
    free(m->req);
    free(m->v);
    free(m->done);
    free(m->sink);
    free(m);
}

static bool busy(tra_exchange *x) { return ((messages *)x->state)->nout > 0; }

/* Notes one more message; its request is to be made there. */
static MPI_Request *add(messages *m, message msg) {
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : TRA_MAXSENDS;
        m->req = tra_realloc(m->req, (size_t)m->cap, sizeof *m->req);
        m->v = tra_realloc(m->v, (size_t)m->cap, sizeof *m->v);
        m->done = tra_realloc(m->done, (size_t)m->cap, sizeof *m->done);
    }
    m->v[m->n] = msg;
    return &m->req[m->n++];
}

static void ended(tra_exchange *x, message *msg) {
    messages *m = x->state;
    receiving *r = msg->in;
    if (!r) {
        m->nout--;
        m->bytes -= msg->bytes;
        if (msg->last) tra_payload_release(x, &msg->source);
    } else if (--r->left == 0) {
        m->nin--;
        m->in_bytes -= r->bytes;
        tra_exchange_arrived(x, r->t, r->b, TRA_OK);
        free(r);
    }
}

static bool progress(tra_exchange *x) {
    messages *m = x->state;
    int n = 0, left = 0;
    if (m->n > 0) MPI_Testsome(m->n, m->req, &n, m->done, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) ended(x, &m->v[m->done[i]]);
    for (int i = 0; i < m->n && n > 0; i++) {
        if (m->req[i] == MPI_REQUEST_NULL) continue;
        m->req[left] = m->req[i];
        m->v[left++] = m->v[i];
    }
    if (n > 0) m->n = left;
    return n > 0;
}

static bool room(tra_exchange *x, int64_t bytes) {
    messages *m = x->state;
    int64_t pieces = tra_max64(1, tra_ceil_div(bytes, PIECE));
    return m->nout == 0 || (m->nout + pieces <= TRA_MAXSENDS && m->bytes + bytes <= x->window);
}

static int64_t held(const tra_exchange *x) {
    const messages *m = x->state;
    return m->bytes + m->in_bytes;
}

static void send(tra_exchange *x, const tra_transfer *t, tra_payload *s) {
    messages *m = x->state;
    for (int64_t at = 0; at < s->bytes || at == 0; at += PIECE) {
        int64_t n = tra_min64(PIECE, s->bytes - at);
        while (m->nout == TRA_MAXSENDS) { /* one transfer of more than 4 GiB; others may wait for us meanwhile */
            progress(x);
            tra_exchange_receive(x);
        }
        message p = {.bytes = n, .last = at + n >= s->bytes};
        if (p.last) {
            p.source = *s;
            p.bytes += s->held - s->bytes;
        }
        MPI_Isend(s->data + at, (int)n, MPI_BYTE, t->to, tag_of(x), x->site->comm.mpi, add(m, p));
        m->nout++;
        m->bytes += p.bytes;
    }
}

static void refuse(tra_exchange *x, const tra_transfer *t) {
    messages *m = x->state;
    m->nout++; /* nothing, where something is due */
    MPI_Isend(NULL, 0, MPI_BYTE, t->to, tag_of(x), x->site->comm.mpi, add(m, (message){.bytes = 0}));
}

/* May the next transfer of src begin to come? What is on its way is held. */
static bool room_in(const tra_exchange *x, int src) {
    const messages *m = x->state;
    int64_t bytes = tra_block_footprint(tra_exchange_bytes(x, &x->incoming[src].v[x->next_in[src]]));
    return m->nin == 0 || (m->nin < TRA_MAXSENDS && m->in_bytes + bytes <= x->window);
}

/* Matches a message of the present lists. Who has sent all of his may have gone on to the next lists: what he sends for
 * those stays where it is until we are there. */
static int next(tra_exchange *x) {
    messages *m = x->state;
    int size = x->site->comm.size, any = 0, found;
    MPI_Status st;
    if (x->received < x->expected) MPI_Iprobe(MPI_ANY_SOURCE, tag_of(x), x->site->comm.mpi, &any, &st);
    for (int i = 0; any && x->received < x->expected && i < size; i++) {
        int src = (m->turn + i) % size;
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
    receiving *r = tra_malloc(sizeof *r);
    *r = (receiving){t, b, tra_block_footprint(bytes), (int)tra_max64(1, tra_ceil_div(bytes, PIECE))};
    if (!b && !m->sink) m->sink = tra_malloc(PIECE);
    for (int64_t at = 0; at < bytes || at == 0; at += PIECE) {
        int len = (int)tra_min64(PIECE, bytes - at);
        void *to = b ? (char *)b->ptr + at : m->sink;
        MPI_Request nowhere, *req = b ? add(m, (message){.in = r}) : &nowhere;
        if (at == 0)
            MPI_Imrecv(to, len, MPI_BYTE, &m->msg, req);
        else
            MPI_Irecv(to, len, MPI_BYTE, t->from, tag_of(x), x->site->comm.mpi, req);
        if (!b) MPI_Wait(req, MPI_STATUS_IGNORE);
    }
    if (b) {
        m->nin++;
        m->in_bytes += r->bytes;
    } else {
        free(r);
        tra_exchange_arrived(x, t, NULL, TRA_OK);
    }
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
