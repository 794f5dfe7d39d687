/* transport_files.c - exchange by files in a directory that all ranks share.
 * A rank writes its transfers to another rank, in the order of the list, into segments (segment.h), and announces each
 * complete segment by a small message. The receiver reads a segment when its turn comes, and removes it. Announcements
 * say how many transfers a segment has, so that segments of different lists do not mix. */
#include "../durable/durable.h"
#include "comm_int.h"
#include "exchange.h"
#include "segment.h"

#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct notice { /* what a message says */
    int64_t number;     /* of the segment; -1: its sender has failed, no more will come */
    int64_t transfers;  /* that are in it */
} notice;

typedef struct peer {
    tra_segment out, in; /* the segment that is written for this rank, and the one of its that is read */
    int64_t number;      /* of the segment that is written */
    int64_t unsent;      /* transfers of the list at hand that are still to be sent */
    int64_t written;     /* transfers in the segment that is written */
    int64_t unread;      /* transfers left in the segment that is read */
    bool refused;        /* it was told that this rank has failed, and sends nothing more of the list */
} peer;

typedef struct files {
    peer *peer;
    int n;     /* notices on their way */
    notice *v; /* tra_tune.sends */
    MPI_Request *req;
    int turn;
    char *buf; /* of all segments */
} files;

/* ---- sending ---------------------------------------------------------------------------------------------------- */

static char *segment_name(const tra_exchange *x, int from, int to, int64_t number) {
    return tra_asprintf("%s/%d-%d-%" PRId64, x->site->exchange_dir, from, to, number);
}

static void begin(tra_exchange *x) {
    files *f = x->state = tra_calloc(1, sizeof *f);
    f->buf = tra_malloc(tra_segment_room());
    f->v = tra_calloc((size_t)tra_tune.sends, sizeof *f->v);
    f->req = tra_calloc((size_t)tra_tune.sends, sizeof *f->req);
    f->peer = tra_calloc((size_t)x->site->comm.size, sizeof *f->peer);
    for (int p = 0; p < x->site->comm.size; p++) f->peer[p].in.fd = f->peer[p].out.fd = -1;
}

static void end(tra_exchange *x) {
    files *f = x->state;
    for (int p = 0; p < x->site->comm.size; p++) {
        tra_segment_drop(&f->peer[p].in);
        tra_segment_drop(&f->peer[p].out);
    }
    free(f->peer);
    free(f->buf);
    free(f->v);
    free(f->req);
    free(f);
}

static void lists(tra_exchange *x) {
    files *f = x->state;
    for (int p = 0; p < x->site->comm.size; p++) f->peer[p].unsent = 0, f->peer[p].refused = false;
    for (int64_t i = 0; i < x->lists.outgoing.n; i++) f->peer[x->lists.outgoing.v[i].to].unsent++;
}

static bool busy(tra_exchange *x) { return ((files *)x->state)->n > 0; }

static bool progress(tra_exchange *x) {
    files *f = x->state;
    int done = 0;
    /* the notices stay where they are while messages of them are on their way */
    if (f->n > 0) MPI_Testall(f->n, f->req, &done, MPI_STATUSES_IGNORE);
    if (done) f->n = 0;
    return done;
}

static bool room(tra_exchange *x, int64_t bytes) {
    (void)bytes;
    return ((files *)x->state)->n < tra_tune.sends;
}

static int64_t held(const tra_exchange *x) {
    (void)x;
    return 0; /* what is sent has been written, what is taken read at once */
}

static void notify(tra_exchange *x, int to, notice n) {
    files *f = x->state;
    f->v[f->n] = n;
    MPI_Isend(&f->v[f->n], (int)sizeof n, MPI_BYTE, to, tra_exchange_tag(x), x->site->comm.mpi->all, &f->req[f->n]);
    f->n++;
}

static void refuse(tra_exchange *x, const tra_transfer *t) {
    peer *p = &((files *)x->state)->peer[t->to];
    p->unsent--;
    tra_segment_drop(&p->out);
    if (!p->refused) notify(x, t->to, (notice){.number = -1});
    p->refused = true;
}

static tra_status add(tra_exchange *x, const tra_transfer *t, peer *p, const tra_payload *s) {
    if (!p->out.path) {
        p->number = x->site->segments++;
        char *name = segment_name(x, t->from, t->to, p->number);
        tra_status st = tra_segment_create(&p->out, name, ((files *)x->state)->buf, x->e);
        free(name);
        TRA_TRY(st);
        p->written = 0;
    }
    TRA_TRY(tra_segment_add(&p->out, s->data, s->bytes, x->e));
    p->written++;
    if (p->unsent > 1 && p->out.raw < tra_tune.segment) return TRA_OK;
    TRA_TRY(tra_segment_finish(&p->out, x->e));
    notify(x, t->to, (notice){.number = p->number, .transfers = p->written});
    return TRA_OK;
}

static void send(tra_exchange *x, const tra_transfer *t, tra_payload *s) {
    peer *p = &((files *)x->state)->peer[t->to];
    tra_status st = add(x, t, p, s);
    tra_payload_release(x, s);
    if (st != TRA_OK) {
        tra_exchange_fail(x, st);
        refuse(x, t);
    } else {
        p->unsent--;
    }
}

/* ---- receiving -------------------------------------------------------------------------------------------------- */

static void open_segment(tra_exchange *x, int src, const notice *n) {
    peer *p = &((files *)x->state)->peer[src];
    char *name = segment_name(x, src, x->site->comm.rank, n->number);
    p->unread = n->transfers;
    tra_exchange_fail(x, tra_segment_open(&p->in, name, ((files *)x->state)->buf, x->e));
    free(name);
}

/* A rank from which a segment can be read, or -1. */
static int next_segment(tra_exchange *x) {
    files *f = x->state;
    int size = x->site->comm.size;
    for (int i = 0, found; x->lists.received < x->lists.expected && i < size; i++) {
        int src = (f->turn + i) % size;
        notice n;
        if (x->lists.next_in[src] == x->lists.incoming[src].n) continue;
        f->turn = src; /* a segment is read to its end */
        if (f->peer[src].unread > 0) return src;
        MPI_Iprobe(src, tra_exchange_tag(x), x->site->comm.mpi->all, &found, MPI_STATUS_IGNORE);
        if (!found) continue;
        MPI_Recv(&n, (int)sizeof n, MPI_BYTE, src, tra_exchange_tag(x), x->site->comm.mpi->all, MPI_STATUS_IGNORE);
        if (n.number >= 0) {
            open_segment(x, src, &n);
            return src;
        }
        x->lists.received += x->lists.incoming[src].n - x->lists.next_in[src];
        x->lists.next_in[src] = x->lists.incoming[src].n;
        tra_exchange_fail(x, TRA_LOST); /* the sender has the cause; agreement finds it */
    }
    return -1;
}

static int next(tra_exchange *x, int64_t *bytes) {
    int src = next_segment(x);
    /* after a failure nothing is read any more */
    if (src >= 0 && x->status == TRA_OK)
        tra_exchange_fail(x, tra_segment_length(&((files *)x->state)->peer[src].in, bytes, x->e));
    return src;
}

static void take(tra_exchange *x, const tra_transfer *t, tra_block *b, int64_t bytes) {
    peer *p = &((files *)x->state)->peer[t->from];
    tra_status s = b ? tra_segment_next(&p->in, b->ptr, bytes, x->e) : TRA_OK;
    if (--p->unread == 0) {
        tra_segment_drop(&p->in);
        ((files *)x->state)->turn = (t->from + 1) % x->site->comm.size;
    }
    tra_exchange_arrived(x, t, b, bytes, s);
}

const tra_transport tra_transport_files = {
    .name = "files",
    .begin = begin,
    .end = end,
    .lists = lists,
    .room = room,
    .held = held,
    .send = send,
    .refuse = refuse,
    .progress = progress,
    .busy = busy,
    .next = next,
    .take = take,
};

/* ---- the directory of a run -------------------------------------------------------------------------------------- */

static void tell(const tra_leftover *l, void *ctx) {
    (void)ctx;
    if (l->error == 0) tra_info(1, "removing %s, left by a run that was killed", l->path);
}

void tra_exchange_dir_reclaim(const char *scratch) {
    if (scratch) (void)tra_leftovers(scratch, TRA_EXCHANGE_NAME, true, tell, NULL);
}

/* The lock is taken before there is anything for others to find. */
static tra_status make_dir(const char *dir, tra_err *e) {
    bool first;
    TRA_TRY(tra_lock_take(dir, dir, &first, e));
    if (mkdir(dir, 0700) == 0) return TRA_OK;
    tra_status s = tra_fail_errno(e, TRA_RESOURCE,
                                  "cannot make a directory for the exchange, %s (choose another with --scratch)", dir);
    tra_lock_drop(dir);
    return s;
}

tra_status tra_exchange_dir_make(tra_site *site, const char *scratch, tra_err *e) {
    uint64_t id = 0;
    char host[64] = "";
    tra_status s = TRA_OK;
    if (site->comm.rank == 0 && getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id)
        s = tra_fail_errno(e, TRA_INTERNAL, "random numbers");
    tra_comm_bcast(&site->comm, &id, sizeof id);
    char *dir = tra_asprintf("%s/" TRA_EXCHANGE_NAME "%016" PRIx64, scratch, id);
    if (s == TRA_OK && site->comm.rank == 0) s = make_dir(dir, e);
    s = tra_comm_agree(&site->comm, s, e);
    if (s != TRA_OK) {
        free(dir);
        return s;
    }
    site->exchange_dir = dir;
    gethostname(host, sizeof host - 1);
    if (access(dir, R_OK | W_OK | X_OK) != 0)
        s = tra_fail_errno(e, TRA_RESOURCE,
                           "site %d (%s) does not see %s: --transport files needs a --scratch that all sites share",
                           site->comm.rank, host, dir);
    return tra_comm_agree(&site->comm, s, e);
}

void tra_exchange_dir_remove(tra_site *site) {
    if (site->exchange_dir && site->comm.rank == 0) {
        (void)tra_remove_files_of(site->exchange_dir);
        tra_lock_drop(site->exchange_dir);
    }
    free(site->exchange_dir);
    site->exchange_dir = NULL;
}
