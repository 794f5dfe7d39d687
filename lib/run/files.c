/* files.c - exchange by files in a directory that all ranks share.
 * A rank writes its transfers to another rank, in the order of the list, into segments (segment.h), and announces each
 * complete segment by a small message. The receiver reads a segment when its turn comes, and removes it. Announcements
 * say how many transfers a segment has, so that segments of different lists do not mix. */
#include "files.h"

#include "exchange.h"
#include "segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Several exchanges may be under way. */
static int tag_of(const tra_exchange *x) { return 16 + x->op->id; }

typedef struct notice { /* what a message says */
    int64_t number;     /* of the segment; -1: its sender has failed, no more will come */
    int64_t transfers;  /* that are in it */
} notice;

typedef struct peer {
    tra_segment out, in;
    int64_t to_send, in_out, in_in; /* transfers of this list that are still to be sent; in the segment that is written;
                                       in the one that is read */
    int64_t number;                 /* of the segment that is written */
    bool refused;                   /* of this list */
} peer;

typedef struct files {
    peer *peer;
    int n;     /* notices on their way */
    notice *v; /* tra_tune.sends */
    MPI_Request *req;
    int turn;
    char *buf; /* of all segments */
} files;

/* ---- the directory ---------------------------------------------------------------------------------------------- */

static const char prefix[] = "tra-exchange-", lock_name[] = "lock";

/* Removes one of our directories and the files in it. */
static void remove_dir(const char *path) {
    DIR *d = opendir(path);
    for (struct dirent *f; d && (f = readdir(d));) {
        if (f->d_name[0] != '.') unlinkat(dirfd(d), f->d_name, 0);
    }
    if (d) closedir(d);
    rmdir(path);
}

/* Directories that nobody holds the lock of are left from runs that were killed. */
void tra_files_reclaim(const char *scratch) {
    DIR *d = scratch ? opendir(scratch) : NULL;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (strncmp(f->d_name, prefix, sizeof prefix - 1) != 0) continue;
        char *path = tra_asprintf("%s/%s", scratch, f->d_name), *lock = tra_asprintf("%s/%s", path, lock_name);
        int fd = open(lock, O_RDWR | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            tra_info(1, "removing %s, left by a run that was killed", path);
            remove_dir(path);
        }
        if (fd >= 0) close(fd);
        free(lock);
        free(path);
    }
    if (d) closedir(d);
}

/* The lock is taken before the directory has the name that others look for. */
static tra_status make_dir(tra_files *f, const char *scratch, tra_err *e) {
    uint64_t id;
    if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id) return tra_fail_errno(e, TRA_INTERNAL, "random numbers");
    snprintf(f->dir, sizeof f->dir, "%s/%s%016" PRIx64, scratch, prefix, id);
    char *hidden = tra_asprintf("%s/.tra-%016" PRIx64, scratch, id), *lock = tra_asprintf("%s/%s", hidden, lock_name);
    bool ok = mkdir(hidden, 0700) == 0 && (f->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) >= 0 &&
              flock(f->lock, LOCK_EX | LOCK_NB) == 0 && rename(hidden, f->dir) == 0;
    tra_status s = ok ? TRA_OK
                      : tra_fail_errno(e, TRA_RESOURCE,
                                       "cannot make a directory for the exchange in %s (choose another "
                                       "with --scratch)",
                                       scratch);
    if (!ok) remove_dir(hidden);
    free(lock);
    free(hidden);
    return s;
}

tra_status tra_files_begin(tra_files *f, const tra_comm *comm, const char *scratch, tra_err *e) {
    tra_status s = TRA_OK;
    *f = (tra_files){.lock = -1};
    if (comm->rank == 0) s = make_dir(f, scratch, e);
    s = tra_comm_agree(comm, s, e);
    if (s == TRA_OK) {
        char host[64] = "";
        tra_comm_bcast(comm, f->dir, sizeof f->dir);
        gethostname(host, sizeof host - 1);
        if (access(f->dir, R_OK | W_OK | X_OK) != 0)
            s = tra_fail_errno(e, TRA_RESOURCE,
                               "site %d (%s) does not see %s: --transport files needs a --scratch that all "
                               "sites share",
                               comm->rank, host, f->dir);
        s = tra_comm_agree(comm, s, e);
    }
    if (s != TRA_OK) tra_files_end(f, comm);
    return s;
}

void tra_files_end(tra_files *f, const tra_comm *comm) {
    if (comm->rank == 0 && f->lock >= 0) {
        remove_dir(f->dir);
        close(f->lock);
    }
    *f = (tra_files){.lock = -1};
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

static char *segment_name(const tra_exchange *x, int from, int to, int64_t number) {
    return tra_asprintf("%s/%d-%d-%" PRId64, x->site->files.dir, from, to, number);
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
    for (int p = 0; p < x->site->comm.size; p++) f->peer[p].to_send = 0, f->peer[p].refused = false;
    for (int64_t i = 0; i < x->lists.outgoing.n; i++) f->peer[x->lists.outgoing.v[i].to].to_send++;
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
    MPI_Isend(&f->v[f->n], (int)sizeof n, MPI_BYTE, to, tag_of(x), x->site->comm.mpi, &f->req[f->n]);
    f->n++;
}

static void refuse(tra_exchange *x, const tra_transfer *t) {
    peer *p = &((files *)x->state)->peer[t->to];
    p->to_send--;
    tra_segment_drop(&p->out);
    if (!p->refused) notify(x, t->to, (notice){.number = -1});
    p->refused = true;
}

static tra_status add(tra_exchange *x, const tra_transfer *t, peer *p, const tra_payload *s) {
    tra_files *dir = &x->site->files;
    if (!p->out.path) {
        p->number = dir->made++;
        char *name = segment_name(x, t->from, t->to, p->number);
        tra_status st = tra_segment_create(&p->out, name, ((files *)x->state)->buf, x->e);
        free(name);
        TRA_TRY(st);
        p->in_out = 0;
    }
    TRA_TRY(tra_segment_add(&p->out, s->data, s->bytes, x->e));
    p->in_out++;
    if (p->to_send > 1 && p->out.raw < tra_tune.segment) return TRA_OK;
    TRA_TRY(tra_segment_finish(&p->out, x->e));
    notify(x, t->to, (notice){.number = p->number, .transfers = p->in_out});
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
        p->to_send--;
    }
}

/* ---- receiving -------------------------------------------------------------------------------------------------- */

static void open_segment(tra_exchange *x, int src, const notice *n) {
    peer *p = &((files *)x->state)->peer[src];
    char *name = segment_name(x, src, x->site->comm.rank, n->number);
    p->in_in = n->transfers;
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
        if (f->peer[src].in_in > 0) return src;
        MPI_Iprobe(src, tag_of(x), x->site->comm.mpi, &found, MPI_STATUS_IGNORE);
        if (!found) continue;
        MPI_Recv(&n, (int)sizeof n, MPI_BYTE, src, tag_of(x), x->site->comm.mpi, MPI_STATUS_IGNORE);
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
    if (--p->in_in == 0) {
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
