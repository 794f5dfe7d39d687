/* checkpoint.c - saving intermediate results, and taking over those that an earlier run saved. */
#include "checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <xxhash.h>

struct tra_checkpoint {
    tra_site *site;
    tra_journal *journal;
    double seconds;
    double due;            /* when the next results are to be saved */
    int64_t limit, *bytes; /* bytes that this site may save; that it has saved, by operator */
    pthread_mutex_t lock;  /* guards opening of logs, and bytes */
};

tra_checkpoint *tra_checkpoint_new(tra_site *site, tra_journal *journal, double seconds, int64_t limit) {
    if (!journal) return NULL;
    tra_checkpoint *k = tra_calloc(1, sizeof *k);
    *k = (tra_checkpoint){
        .site = site, .journal = journal, .seconds = seconds, .due = tra_now() + seconds, .limit = limit};
    k->bytes = tra_calloc((size_t)site->plan->nops + 1, sizeof *k->bytes);
    pthread_mutex_init(&k->lock, NULL);
    return k;
}

void tra_checkpoint_free(tra_checkpoint *k) {
    if (!k) return;
    pthread_mutex_destroy(&k->lock);
    free(k->bytes);
    free(k);
}

/* Counts bytes of op's result that are about to be saved; false if the limit forbids it. */
static bool count(tra_checkpoint *k, const tra_op *op, int64_t bytes) {
    int64_t all = bytes;
    pthread_mutex_lock(&k->lock);
    for (int i = 0; i < k->site->plan->nops; i++) all += k->bytes[i];
    bool fits = k->limit == 0 || all <= k->limit;
    if (fits) k->bytes[op->id] += bytes;
    pthread_mutex_unlock(&k->lock);
    return fits;
}

static tra_log *log_of(tra_checkpoint *k, int op) {
    pthread_mutex_lock(&k->lock);
    tra_log *l = tra_log_open(k->journal, op, true);
    pthread_mutex_unlock(&k->lock);
    return l;
}

/* ---- taking over ------------------------------------------------------------------------------------------------ */

typedef struct taking {
    const tra_taking *x;
    const tra_saved *v;
    int64_t *last; /* record of each slot, from 1 */
} taking;

static tra_status take_one(void *ctx, int64_t i, tra_worker *w, tra_err *e) {
    const taking *t = ctx;
    return t->last[i] ? t->x->take(t->x->ctx, &t->v[t->last[i] - 1], i, w, e) : TRA_OK;
}

tra_status tra_saved_take(const tra_taking *x, tra_engine *g, int64_t n, size_t io, int64_t *tried, tra_err *e) {
    int64_t nsaved;
    taking t = {x, tra_log_saved(x->log, &nsaved), tra_calloc((size_t)n + 1, sizeof *t.last)};
    for (int64_t i = 0; i < nsaved; i++) {
        int64_t at = x->slot(x->ctx, &t.v[i]);
        if (at < 0) continue;
        *tried += !t.last[at];
        t.last[at] = i + 1;
    }
    tra_status s = tra_engine_each(g, n, io, take_one, &t, e);
    free(t.last);
    return s;
}

typedef struct filling { /* of the slots of a part */
    tra_checkpoint *k;
    const tra_op *op;
    tra_log *log;
    tra_part *part;
} filling;

static int64_t slot_of(void *ctx, const tra_saved *s) {
    const filling *x = ctx;
    int64_t at = tra_part_find(x->part, s->ordinal, s->summand);
    return at >= 0 && tra_size_admits(tra_type_bytes(x->part->type, s->ordinal), s->len) ? at : -1;
}

static tra_status fill(void *ctx, const tra_saved *s, int64_t slot, tra_worker *w, tra_err *e) {
    filling *x = ctx;
    int fd;
    (void)w;
    TRA_TRY(tra_log_open_saved(x->log, s->file, &fd, e));
    pthread_mutex_lock(&x->k->lock);
    x->k->bytes[x->op->id] += s->len; /* counted even beyond the limit */
    pthread_mutex_unlock(&x->k->lock);
    if (fd >= 0 && tra_file_matches(fd, s->at, s->len, s->sum))
        x->part->block[slot] = tra_block_of_saved(fd, s->at, s->len, s->sum);
    return TRA_OK;
}

static int64_t count_present(const tra_part *p) {
    int64_t n = 0;
    for (int64_t i = 0; i < p->n; i++) n += p->block[i] != NULL;
    return n;
}

static const char *name_of(const tra_plan *p, const tra_op *op, char buf[64]) {
    while (!op->spec.name && tra_op_is(op->op, TRA_FORWARDS)) op = &p->ops[op->in[0]];
    if (op->spec.name) return op->spec.name;
    snprintf(buf, 64, "#%d (%s)", op->id, tra_plan_op_text(op->op));
    return buf;
}

tra_status tra_checkpoint_take_over(tra_checkpoint *k, const tra_op *op, bool as_a_whole, tra_part *part,
                                    bool *complete, tra_err *e) {
    char buf[64];
    int64_t v[3] = {0}; /* whole, listed, all */
    tra_status s = TRA_OK;
    *complete = false;
    if (!tra_journal_resumed(k ? k->journal : NULL)) return TRA_OK;
    tra_log *log = tra_log_exists(k->journal, op->id) ? log_of(k, op->id) : NULL;
    filling x = {k, op, log, part};
    if (log) s = tra_saved_take(&(tra_taking){log, &x, slot_of, fill}, k->site->engine, part->n, 0, &v[1], e);
    v[0] = count_present(part);
    v[2] = part->n;
    s = tra_comm_agree(&k->site->comm, s, e);
    tra_comm_sum(&k->site->comm, v, 3);
    *complete = v[0] == v[2];
    const char *name = name_of(k->site->plan, op, buf);
    if (v[1] > v[0]) tra_warn("%" PRId64 " saved blocks of %s are damaged; they are computed again", v[1] - v[0], name);
    if (v[0] > 0 && (*complete || !as_a_whole)) tra_journal_report(k->journal, v[0], v[2], name);
    return s;
}

/* ---- saving --------------------------------------------------------------------------------------------------- */

/* Does this site save the array? Of several sites with the same array the first does. */
static bool is_first(const tra_checkpoint *k, const tra_op *op, const tra_part *part, int64_t i) {
    int me = k->site->comm.rank;
    bool partial = tra_place_is_partial(&op->place), first = true;
    tra_dims key;
    tra_catalog_key(op->type.cat, part->ordinal[i], &key);
    for (int p = 0; p < me && first; p++) {
        if (partial && tra_place_summand(&op->place, p) != tra_place_summand(&op->place, me)) continue;
        first = !tra_place_holds(&op->place, op->type.cat, part->ordinal[i], &key, p);
    }
    return first;
}

/* Writes n bytes to s->at, but the first `had`, which stand there; then s, which the caller has filled else, is in the
 * log. */
static bool write_record(tra_checkpoint *k, tra_log *log, tra_saved *s, const char *p, int64_t had) {
    tra_err e = {0};
    int fd = tra_log_fd(log, k->site->comm.rank);
    s->sum = XXH64(p, (size_t)s->len, 0);
    if (tra_pwrite(fd, p + had, (size_t)(s->len - had), s->at + had, "the scratch file", &e) != TRA_OK) {
        tra_journal_give_up(k->journal, e.msg);
        return false;
    }
    tra_log_add(log, s);
    return true;
}

/* Saves the pinned block of slot i. */
static bool save(tra_checkpoint *k, const tra_op *op, tra_part *part, int64_t i) {
    tra_block *b = part->block[i];
    tra_log *log = log_of(k, op->id);
    if (!log || !count(k, op, b->bytes)) return false;
    tra_saved s = {.ordinal = part->ordinal[i], .summand = part->summand ? part->summand[i] : 0, .len = b->bytes};
    s.at = tra_log_reserve(log, b->bytes);
    if (!write_record(k, log, &s, b->ptr, 0)) return false;
    tra_block_saved(k->site->pool, b, tra_log_fd(log, k->site->comm.rank), s.at, s.sum);
    return true;
}

/* Does the disk have room for so many bytes besides what may be spilled? */
static bool has_room(const tra_checkpoint *k, int64_t bytes) {
    struct statvfs fs;
    if (statvfs(tra_journal_path(k->journal), &fs) != 0) return false;
    return bytes + k->site->plan->scratch <= (int64_t)(fs.f_bavail * fs.f_frsize);
}

void tra_checkpoint_result(tra_checkpoint *k, const tra_op *op, tra_part *part, int64_t i) {
    if (!k || op->loop >= 0 || tra_now() < k->due || !is_first(k, op, part, i)) return;
    if (has_room(k, part->block[i]->bytes)) save(k, op, part, i);
}

/* Writes bytes as array `ordinal` of the turn. room: where the data of this array go, by turns. */
static bool save_bytes(tra_checkpoint *k, int op, int64_t ordinal, const void *p, int64_t n, tra_digest turn,
                       tra_turn_room *room, bool grows) {
    tra_log *log = log_of(k, op);
    if (!log) return false;
    tra_turn_slot *slot = &room->slot[room->next ^= 1];
    int64_t most = grows ? 2 * n : n;
    if (slot->room < n) *slot = (tra_turn_slot){.at = tra_log_reserve(log, most), .room = most};
    tra_saved s = {.ordinal = ordinal, .at = slot->at, .len = n, .digest = turn};
    if (!write_record(k, log, &s, p, grows ? tra_min64(slot->len, n) : 0)) return false;
    slot->len = n;
    return true;
}

/* Pins a block. False: it cannot be. A state may have blocks of an input, which are read from its file; this takes as
 * much memory besides as a stage that reads them has, in *scratch, which the caller frees. */
static bool pin_to_save(tra_checkpoint *k, tra_block *b, tra_block **scratch) {
    bool load;
    tra_err e = {0};
    tra_pool *pool = k->site->pool;
    int64_t need = b->rel && b->copy_at < 0 ? (int64_t)tra_rel_scratch_bytes(b->rel) : 0;
    if (need > (*scratch ? (*scratch)->bytes : 0)) {
        tra_block_free(pool, *scratch);
        *scratch = NULL;
        if (tra_block_new(pool, need, scratch, &e) != TRA_OK) return false;
    }
    if (tra_block_pin(pool, b, &load, &e) != TRA_OK) return false;
    if (!load || tra_block_load(pool, b, *scratch ? (*scratch)->ptr : NULL, &e) == TRA_OK) return true;
    tra_block_unpin(pool, b);
    return false;
}

/* Saves the blocks of a part that are not saved yet; or all, as what a turn made. False when some could not be. */
static bool save_each(tra_checkpoint *k, const tra_op *op, tra_part *part, const tra_digest *turn,
                      tra_turn_room *room) {
    bool all = true;
    tra_block *scratch = NULL;
    for (int64_t i = 0; i < part->n && all; i++) {
        tra_block *b = part->block[i];
        if (!b || (!turn && b->copy_fd >= 0) || !is_first(k, op, part, i)) continue;
        all = pin_to_save(k, b, &scratch);
        if (!all) break;
        all = turn ? save_bytes(k, op->id, part->ordinal[i], b->ptr, b->bytes, *turn, &room[i], false)
                   : save(k, op, part, i);
        tra_block_unpin(k->site->pool, b);
    }
    tra_block_free(k->site->pool, scratch);
    return all;
}

bool tra_checkpoint_saves(const tra_plan *p, int i) {
    bool many = false;
    if (tra_op_is_end_of_turn(p->ops[i].op) || p->ops[i].op == TRA_PLAN_STATE) return false; /* by turns, below */
    if (!tra_op_is(p->ops[i].op, TRA_FORWARDS)) return tra_op_is(p->ops[i].op, TRA_MAKES) && !p->ops[i].method.fused;
    return !tra_op_is(p->ops[tra_op_holder(p, i, &many)].op, TRA_READS); /* inputs can be read again */
}

/* Removes saved results that a run which resumed now would not need, unless a part in memory has blocks of them. */
static void discard(tra_checkpoint *k, tra_part *const *parts, const bool *complete) {
    const tra_plan *p = k->site->plan;
    bool *used = tra_calloc((size_t)p->nops, sizeof *used);
    for (int i = p->nops - 1; i >= 0; i--) {
        const tra_op *op = &p->ops[i];
        bool needed = op->op == TRA_PLAN_OUTPUT || used[i];
        used[i] = needed || parts[i];
        for (int j = 0; j < 2; j++) {
            if (op->in[j] >= 0 && ((needed && !complete[i]) || (used[i] && tra_op_shares_blocks(op))))
                used[op->in[j]] = true;
        }
    }
    for (int i = 0; i < p->nops; i++) {
        tra_log *l = tra_checkpoint_saves(p, i) ? tra_log_opened(k->journal, i) : NULL;
        bool keep = !l;
        for (int j = 0; j < p->nops && !keep; j++) keep = used[j] && tra_log_opened(k->journal, j) == l;
        if (keep) continue;
        tra_log_discard(l);
        k->bytes[i] = 0;
    }
    free(used);
}

void tra_checkpoint_stage_end(tra_checkpoint *k, int op, tra_part *const *parts, bool *complete) {
    if (!k) return;
    const tra_plan *p = k->site->plan;
    double begun = tra_now();
    int64_t due = begun >= k->due;
    tra_comm_max(&k->site->comm, &due, 1);
    if (!due) return;
    int64_t *saved = tra_calloc((size_t)p->nops, sizeof *saved);
    for (int i = 0; i <= op; i++) {
        if (!parts[i] || parts[i]->kind != TRA_PART_STORED || complete[i] || !tra_checkpoint_saves(p, i)) continue;
        if (count_present(parts[i]) < parts[i]->n) continue; /* an exchange brings the rest while the next stages run */
        int64_t bytes = 0;
        for (int64_t t = 0; t < parts[i]->n; t++) bytes += tra_part_bytes(parts[i], t);
        saved[i] =
            has_room(k, bytes) && save_each(k, &p->ops[i], parts[i], NULL, NULL) && !tra_journal_broken(k->journal);
    }
    tra_journal_flush(k->journal);
    tra_comm_min(&k->site->comm, saved, p->nops);
    for (int i = 0; i < p->nops; i++) complete[i] |= saved[i];
    discard(k, parts, complete);
    free(saved);
    double now = tra_now(), spent = now - begun;
    k->due = now + (20 * spent > k->seconds ? 20 * spent : k->seconds);
}

/* ---- turns of loops ---------------------------------------------------------------------------------------------- */

/* Records of a turn have the turn, and what tells the turns of the loops around, in the place of a digest. The data of
 * one turn are written over those of the turn before the last one that was saved, so that one is always whole. */

bool tra_checkpoint_turn_is_due(const tra_checkpoint *k) {
    if (!k || tra_journal_broken(k->journal)) return false;
    int64_t due = tra_now() >= k->due;
    tra_comm_max(&k->site->comm, &due, 1);
    return due;
}

void tra_checkpoint_turn_saved(tra_checkpoint *k, double spent) {
    if (!k) return;
    tra_journal_flush(k->journal);
    k->due = tra_now() + (k->seconds == 0 ? 0 : 20 * spent > k->seconds ? 20 * spent : k->seconds);
}

bool tra_checkpoint_save_turn(tra_checkpoint *k, int op, tra_part *part, tra_digest turn, tra_turn_room *room) {
    assert(part->kind == TRA_PART_STORED); /* NEXT has stored it */
    return save_each(k, &k->site->plan->ops[op], part, &turn, room);
}

bool tra_checkpoint_save_rows(tra_checkpoint *k, int op, const void *rows, int64_t bytes, tra_digest turn,
                              tra_turn_room *room, bool grows) {
    return k->site->comm.rank != 0 || save_bytes(k, op, 0, rows, bytes, turn, room, grows);
}

static tra_log *saved_log(tra_checkpoint *k, int op) {
    return tra_journal_resumed(k->journal) && tra_log_exists(k->journal, op) ? log_of(k, op) : NULL;
}

static bool is_of_turn(const tra_saved *s, tra_digest turn) {
    return s->digest.lo == turn.lo && s->digest.hi == turn.hi;
}

int64_t tra_checkpoint_last_turn(tra_checkpoint *k, int op, uint64_t around, int64_t before) {
    tra_log *log = k ? saved_log(k, op) : NULL;
    int64_t n, last = -1;
    const tra_saved *v = tra_log_saved(log, &n);
    for (int64_t i = 0; i < n; i++)
        if (v[i].digest.hi == around && (int64_t)v[i].digest.lo < before)
            last = tra_max64(last, (int64_t)v[i].digest.lo);
    return last;
}

typedef struct turn_filling {
    tra_checkpoint *k;
    tra_log *log;
    tra_part *part;
    tra_digest turn;
} turn_filling;

static int64_t slot_of_turn(void *ctx, const tra_saved *s) {
    const turn_filling *x = ctx;
    return is_of_turn(s, x->turn) ? tra_part_find(x->part, s->ordinal, 0) : -1;
}

/* Reads an array of the turn, whose data must be whole: later turns are written over those of earlier ones. */
static tra_status fill_turn(void *ctx, const tra_saved *s, int64_t slot, tra_worker *w, tra_err *e) {
    const turn_filling *x = ctx;
    int fd = tra_log_fd(x->log, s->file);
    tra_block *b;
    if (fd < 0 || !tra_file_matches(fd, s->at, s->len, s->sum)) return TRA_OK;
    TRA_TRY(tra_engine_take_block(w, s->len, &b, e));
    tra_block_unreserve(x->k->site->pool, b);
    x->part->block[slot] = b;
    tra_status st = tra_pread(fd, b->ptr, (size_t)s->len, s->at, "the scratch file", e);
    tra_block_unpin(x->k->site->pool, b);
    return st;
}

tra_status tra_checkpoint_take_turn(tra_checkpoint *k, int op, tra_digest turn, tra_part *part, bool *whole,
                                    tra_err *e) {
    turn_filling x = {k, saved_log(k, op), part, turn};
    int64_t tried = 0;
    *whole = x.log != NULL || part->n == 0;
    const tra_taking taking = {x.log, &x, slot_of_turn, fill_turn};
    if (x.log) TRA_TRY(tra_saved_take(&taking, k->site->engine, part->n, 0, &tried, e));
    *whole = *whole && count_present(part) == part->n;
    return TRA_OK;
}

bool tra_checkpoint_take_rows(tra_checkpoint *k, int op, tra_digest turn, void *rows, int64_t bytes) {
    tra_log *log = saved_log(k, op);
    int64_t n;
    const tra_saved *v = tra_log_saved(log, &n), *s = NULL;
    for (int64_t i = n - 1; i >= 0 && !s; i--) {
        int fd = is_of_turn(&v[i], turn) ? tra_log_fd(log, v[i].file) : -1;
        if (fd >= 0 && tra_file_matches(fd, v[i].at, v[i].len, v[i].sum)) s = &v[i];
    }
    tra_err e = {0};
    return s && s->len == bytes &&
           tra_pread(tra_log_fd(log, s->file), rows, (size_t)bytes, s->at, "the scratch file", &e) == TRA_OK;
}
