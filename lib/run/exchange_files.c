/* exchange_files.c - tuples that go from one site to another by a file, in a directory that all ranks share: a message
 * tells its number (messages.c), the receiver reads and removes it.
 *
 * The bytes are cut in pieces of at most tra_tune.piece bytes, each compressed where that pays; before each stands a
 * head with its length as stored, and the XXH64 of that and of the stored bytes.
 */
#include "../durable/durable.h"
#include "../h5/codec.h"
#include "exchange.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

typedef struct head {
    int64_t stored; /* as many as the piece has: not compressed */
    uint64_t sum;
} head;

/* A file is made and removed on a file system of several hosts in the time in which some 100 KiB go by the network:
 * smaller tuples go by messages. */
tra_tuning tra_tune = {.message = 1 << 26, .sends = 128, .file = 1 << 18, .piece = 1 << 20};

enum {
    SMALL = 4096, /* pieces under this are stored as they are */
    UNTRIED = 15, /* and so many after a piece that did not shrink by a quarter */
};

static uint64_t sum_of(const head *h, const void *stored) {
    return XXH64(stored, (size_t)h->stored, (uint64_t)h->stored);
}

static int64_t piece_at(int64_t at, int64_t bytes) { return tra_min64(tra_tune.piece, bytes - at); }

/* Room for a head and a piece as it is stored. */
static char *new_room(int64_t bytes) { return tra_malloc(sizeof(head) + tra_frame_bound((size_t)piece_at(0, bytes))); }

static tra_status failed(const char *path, tra_err *e) {
    return tra_fail_errno(e, TRA_RESOURCE, "%s, by which sites exchange blocks", path);
}

/* Puts a piece into the room; returns the bytes that it takes there. */
static size_t encode(char *room, const char *data, size_t n, int *untried) {
    head *h = (head *)room;
    size_t len = n;
    if (n >= SMALL && *untried > 0) {
        --*untried;
    } else if (n >= SMALL) {
        len = tra_frame_encode(room + sizeof *h, tra_frame_bound(n), data, n);
        if (len == 0 || len > n / 4 * 3) len = n, *untried = UNTRIED;
    }
    if (len == n) memcpy(room + sizeof *h, data, n);
    h->stored = (int64_t)len;
    h->sum = sum_of(h, room + sizeof *h);
    return sizeof *h + len;
}

tra_status tra_handed_write(const char *path, const void *data, int64_t bytes, int *untried, tra_err *e) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return failed(path, e);
    char *room = new_room(bytes);
    tra_status s = TRA_OK;
    int64_t to = 0;
    for (int64_t at = 0; at < bytes && s == TRA_OK; at += tra_tune.piece) {
        size_t n = encode(room, (const char *)data + at, (size_t)piece_at(at, bytes), untried);
        s = tra_pwrite(fd, room, n, to, path, e);
        to += (int64_t)n;
    }
    free(room);
    /* a network file system says here that a write failed */
    if (close(fd) != 0 && s == TRA_OK) s = failed(path, e);
    if (s != TRA_OK) unlink(path);
    return s;
}

static bool decode(char *to, int64_t n, const head *h, const char *stored) {
    if (h->sum != sum_of(h, stored)) return false;
    if (h->stored < n) return tra_frame_decode(to, (size_t)n, stored, (size_t)h->stored);
    memcpy(to, stored, (size_t)n);
    return true;
}

static tra_status read_pieces(int fd, const char *path, char *data, int64_t bytes, tra_err *e) {
    char *room = new_room(bytes), *stored = room + sizeof(head);
    head *h = (head *)room;
    tra_status s = TRA_OK;
    int64_t from = 0;
    for (int64_t at = 0, n; at < bytes && s == TRA_OK; at += n) {
        n = piece_at(at, bytes);
        s = tra_pread(fd, h, sizeof *h, from, path, e);
        bool ok = s != TRA_OK || (h->stored >= 0 && h->stored <= n);
        if (s == TRA_OK && ok) s = tra_pread(fd, stored, (size_t)h->stored, from + (int64_t)sizeof *h, path, e);
        if (s == TRA_OK && !(ok && decode(data + at, n, h, stored)))
            s = tra_fail(e, TRA_INPUT, "%s, by which sites exchange blocks, is damaged at byte %" PRId64, path, from);
        from += (int64_t)sizeof *h + h->stored;
    }
    free(room);
    return s;
}

tra_status tra_handed_read(const char *path, void *data, int64_t bytes, tra_err *e) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return failed(path, e);
    tra_status s = read_pieces(fd, path, data, bytes, e);
    close(fd);
    return s;
}

/* ---- the files of a run ------------------------------------------------------------------------------------------ */

static char *name_of(const tra_site *site, int from, int to, int64_t number) {
    return tra_asprintf("%s/%d-%d-%" PRId64, site->exchange_dir, from, to, number);
}

tra_status tra_exchange_hand(tra_site *site, int to, const tra_payload *p, int64_t *number, tra_err *e) {
    *number = -1;
    if (!site->exchange_dir || p->bytes < tra_tune.file) return TRA_OK;
    *number = site->handed++;
    char *name = name_of(site, site->comm.rank, to, *number);
    tra_status s = tra_handed_write(name, p->data, p->bytes, &site->untried, e);
    free(name);
    return s;
}

tra_status tra_exchange_take(const tra_site *site, int from, int64_t number, void *data, int64_t bytes, tra_err *e) {
    char *name = name_of(site, from, site->comm.rank, number);
    tra_status s = data ? tra_handed_read(name, data, bytes, e) : TRA_OK;
    unlink(name);
    free(name);
    return s;
}

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
