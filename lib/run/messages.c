/* messages.c - exchange by MPI messages: nonblocking, bounded, in pieces so that no count comes near 2^31.
 *
 * Before the pieces of a transfer goes a header that says how many bytes they have together, or that there are none
 * since the sender has failed. Messages of one pair of ranks stay in order, so the pieces are what comes next. Or the
 * header tells the number of a file that has the bytes (exchange_files.c).
 */
#include "comm_int.h"
#include "exchange.h"

#include <assert.h>
#include <stdlib.h>

typedef struct header {
    int64_t tuple; /* its ordinal: the ranks agree on what comes next */
    int64_t bytes; /* REFUSED: the sender has failed */
    int64_t file;  /* the number of the file that has them; -1: messages do */
} header;
enum { REFUSED = -1 };

/* A transfer that is being sent. Its header and payload must stay in place until all messages have gone. */
typedef struct sending {
    header head;
    bool alone; /* nothing is sent but the header */
    tra_payload source;
    int left; /* messages that have not gone */
} sending;

/* A transfer that is being received. */
typedef struct receiving {
    const tra_transfer *t;
    tra_block *b; /* NULL: after a failure; its pieces are received one by one and dropped */
    int64_t bytes, begun, held;
    int left; /* messages that have not come */
} receiving;

typedef struct message { /* on its way: one of these is NULL */
    sending *out;
    receiving *in;
} message;

typedef struct messages {
    int n, cap;
    MPI_Request *req; /* of all messages in flight, as one array for MPI_Testsome: each test polls the sockets */
    message *v;
    int *done;
    int nout, nin;           /* messages, transfers */
    int64_t bytes, in_bytes; /* on their way from us, to us */
    int turn;                /* the source that is asked first */
    header *next;            /* of each source: the header of its next transfer, */
    bool *has;               /* if it has arrived; */
    int nhas;                /* of how many sources it has */
    char *sink;              /* receives what is dropped after a failure, */
    bool sinks;              /* one transfer at a time */
} messages;

void tra_messages_begin(tra_exchange *x) {
    messages *m = x->state = tra_calloc(1, sizeof(messages));
    m->next = tra_calloc((size_t)x->site->comm.size, sizeof *m->next);
    m->has = tra_calloc((size_t)x->site->comm.size, sizeof *m->has);
}

void tra_messages_end(tra_exchange *x) {
    messages *m = x->state;
    free(m->req);
    free(m->v);
    free(m->done);
    free(m->next);
    free(m->has);
    free(m->sink);
    free(m);
}

bool tra_messages_busy(const tra_exchange *x) { return ((const messages *)x->state)->nout > 0; }

/* Adds a message; returns where its request goes. */
static MPI_Request *add(messages *m, message msg) {
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 64;
        m->req = tra_realloc(m->req, (size_t)m->cap, sizeof *m->req);
        m->v = tra_realloc(m->v, (size_t)m->cap, sizeof *m->v);
        m->done = tra_realloc(m->done, (size_t)m->cap, sizeof *m->done);
    }
    m->v[m->n] = msg;
    return &m->req[m->n++];
}

static int pieces_of(int64_t bytes) { return (int)tra_ceil_div(bytes, tra_tune.message); }

static void sent(tra_exchange *x, sending *s) {
    messages *m = x->state;
    m->nout--;
    if (--s->left > 0) return;
    m->bytes -= s->source.held;
    if (!s->alone) tra_payload_release(x, &s->source);
    free(s);
}

/* Posts the receive of the next piece. */
static void receive_piece(tra_exchange *x, receiving *r) {
    messages *m = x->state;
    int64_t n = tra_min64(tra_tune.message, r->bytes - r->begun);
    void *to = r->b ? (char *)r->b->ptr + r->begun : m->sink;
    r->begun += n;
    MPI_Request *q = add(m, (message){.in = r});
    MPI_Irecv(to, (int)n, MPI_BYTE, r->t->from, tra_exchange_tag(x), x->site->comm.mpi->all, q);
}

static void received(tra_exchange *x, receiving *r) {
    messages *m = x->state;
    if (--r->left > 0) {
        if (!r->b) receive_piece(x, r);
        return;
    }
    m->nin--;
    m->in_bytes -= r->held;
    if (!r->b) m->sinks = false;
    tra_exchange_arrived(x, r->t, r->b, r->bytes, TRA_OK);
    free(r);
}

bool tra_messages_progress(tra_exchange *x) {
    messages *m = x->state;
    int n = 0, left = 0, before = m->n;
    if (m->n > 0) MPI_Testsome(m->n, m->req, &n, m->done, MPI_STATUSES_IGNORE);
    if (n <= 0) return false;
    message *ended = tra_malloc((size_t)n * sizeof *ended);
    for (int i = 0; i < n; i++) ended[i] = m->v[m->done[i]];
    for (int i = 0; i < before; i++) {
        if (m->req[i] == MPI_REQUEST_NULL) continue;
        m->req[left] = m->req[i];
        m->v[left++] = m->v[i];
    }
    m->n = left;
    for (int i = 0; i < n; i++) { /* which may add others */
        if (ended[i].out)
            sent(x, ended[i].out);
        else
            received(x, ended[i].in);
    }
    free(ended);
    return true;
}

bool tra_messages_room(const tra_exchange *x, int64_t bytes) {
    const messages *m = x->state;
    return m->nout == 0 || (m->nout + 1 + pieces_of(bytes) <= tra_tune.sends && m->bytes + bytes <= x->room.window);
}

int64_t tra_messages_held(const tra_exchange *x) {
    const messages *m = x->state;
    return m->bytes + m->in_bytes;
}

static void send_part(tra_exchange *x, sending *s, int to, const void *data, int64_t n) {
    messages *m = x->state;
    MPI_Isend(data, (int)n, MPI_BYTE, to, tra_exchange_tag(x), x->site->comm.mpi->all, add(m, (message){.out = s}));
    m->nout++;
}

/* Sends a header that nothing follows. */
static void send_alone(tra_exchange *x, int to, header h) {
    sending *s = tra_malloc(sizeof *s);
    *s = (sending){.head = h, .alone = true, .left = 1};
    send_part(x, s, to, &s->head, sizeof s->head);
}

void tra_messages_refuse(tra_exchange *x, const tra_transfer *t) { send_alone(x, t->to, (header){t->in, REFUSED, -1}); }

/* Hands the payload over by a file and tells the receiver, or that this failed; false: it is to go by messages. */
static bool went_by_file(tra_exchange *x, const tra_transfer *t, tra_payload *p) {
    int64_t file, bytes = p->bytes;
    tra_status s = tra_exchange_hand(x->site, t->to, p, &file, x->e);
    if (file < 0) return false;
    tra_payload_release(x, p);
    tra_exchange_fail(x, s);
    if (s == TRA_OK)
        send_alone(x, t->to, (header){t->in, bytes, file});
    else
        tra_messages_refuse(x, t);
    return true;
}

void tra_messages_send(tra_exchange *x, const tra_transfer *t, tra_payload *p) {
    messages *m = x->state;
    if (went_by_file(x, t, p)) return;
    sending *s = tra_malloc(sizeof *s);
    *s = (sending){.head = {t->in, p->bytes, -1}, .source = *p, .left = 1 + pieces_of(p->bytes)};
    m->bytes += p->held;
    send_part(x, s, t->to, &s->head, sizeof s->head);
    for (int64_t at = 0; at < p->bytes; at += tra_tune.message) {
        for (int idle = 0; m->nout >= tra_tune.sends; tra_exchange_idle(idle)) {
            bool any = tra_messages_progress(x); /* one transfer of more pieces; others may wait for us meanwhile */
            idle = tra_exchange_receive(x) || any ? 0 : idle + 1;
        }
        send_part(x, s, t->to, p->data + at, tra_min64(tra_tune.message, p->bytes - at));
    }
}

/* Receives the header of the next transfer of a source, if it has arrived. A source that has sent all of its list may
 * already send for the next lists: those messages are left alone until this rank is there too. */
static void look_for_header(tra_exchange *x, int src) {
    messages *m = x->state;
    MPI_Message msg;
    int found;
    if (m->has[src] || x->lists.next_in[src] == x->lists.incoming[src].n) return;
    MPI_Improbe(src, tra_exchange_tag(x), x->site->comm.mpi->all, &found, &msg, MPI_STATUS_IGNORE);
    if (!found) return;
    const tra_transfer *t = &x->lists.incoming[src].v[x->lists.next_in[src]];
    header *h = &m->next[src];
    MPI_Mrecv(h, (int)sizeof *h, MPI_BYTE, &msg, MPI_STATUS_IGNORE);
    assert(h->tuple == t->in);
    if (h->bytes != REFUSED) {
        m->has[src] = true;
        m->nhas++;
        return;
    }
    x->lists.next_in[src]++;
    x->lists.received++;
    tra_exchange_fail(x, TRA_LOST); /* the sender has the cause; agreement finds it */
}

/* May the next transfer of src, whose header has arrived, be received now? Its block is allocated meanwhile. */
static bool room_in(const tra_exchange *x, int src) {
    const messages *m = x->state;
    int64_t bytes = tra_block_footprint(m->next[src].bytes);
    return m->nin == 0 || (!m->sinks && m->nin < tra_tune.sends && m->in_bytes + bytes <= x->room.window);
}

int tra_messages_next(tra_exchange *x, int64_t *bytes) {
    messages *m = x->state;
    int size = x->site->comm.size, any = 0;
    if (x->lists.received < x->lists.expected)
        MPI_Iprobe(MPI_ANY_SOURCE, tra_exchange_tag(x), x->site->comm.mpi->all, &any, MPI_STATUS_IGNORE);
    for (int i = 0; (any || m->nhas > 0) && i < size; i++) {
        int src = (m->turn + i) % size;
        if (any && !m->sinks) look_for_header(x, src); /* pieces that go nowhere are taken one by one: more may come */
        if (!m->has[src] || !room_in(x, src)) continue;
        m->turn = (src + 1) % size;
        *bytes = m->next[src].bytes;
        return src;
    }
    return -1;
}

/* The header has been taken: the pieces are what comes next from there. */
void tra_messages_take(tra_exchange *x, const tra_transfer *t, tra_block *b, int64_t bytes) {
    messages *m = x->state;
    int64_t file = m->next[t->from].file;
    m->has[t->from] = false;
    m->nhas--;
    if (bytes == 0 || file >= 0) {
        tra_status s = file < 0 ? TRA_OK : tra_exchange_take(x->site, t->from, file, b ? b->ptr : NULL, bytes, x->e);
        tra_exchange_arrived(x, t, b, bytes, s);
        return;
    }
    receiving *r = tra_malloc(sizeof *r);
    *r = (receiving){.t = t, .b = b, .bytes = bytes, .held = tra_block_footprint(bytes), .left = pieces_of(bytes)};
    m->nin++;
    m->in_bytes += r->held;
    if (!b) {
        m->sinks = true;
        if (!m->sink) m->sink = tra_malloc((size_t)tra_tune.message);
        receive_piece(x, r);
        return;
    }
    while (r->begun < bytes) receive_piece(x, r);
}
