/* sorter.c - entries sorted by place in bounded memory.
 *
 * Items are collected until the memory is full. Then each worker sorts a part of them, and each part is written to the
 * scratch file as a run. When all have come, the fronts of all runs are merged by a tournament: a tree whose nodes name
 * the run with the least place below them. Among equal places the earlier run wins, and runs are in the order of the
 * file; so duplicates meet in that order, and their sum is the same whatever the memory and the number of workers. */
#include "sorter.h"

#include "../lib/base/radix.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART = 64 };                         /* while runs are merged, at least so many items of each are in memory */
static const uint64_t NO_MORE = UINT64_MAX; /* stands for the place of a run's next item when it has none */

typedef struct run {
    int64_t offset, left; /* where the items begin that are not yet read from the scratch file, and how many they are */
    tra_item *buf;        /* n items in memory, of which `at` is the next */
    int64_t at, n;
} run;

struct tra_sorter {
    tra_sorter_options o;
    tra_crew *crew;
    tra_item *items, *other; /* cap each; other is for sorting */
    int64_t n, cap;
    int fd; /* the scratch file, or -1 */
    char *where;
    run *runs;
    int nruns;
    tra_item *buffers; /* `each` items for every run, while runs on disk are merged */
    int64_t each;
    int *winner;       /* the tournament's tree: winner[1] is the run with the least place, the leaves are at the end */
    uint64_t *front;   /* the place of the next item of each run */
    int leaves;        /* a power of two; 0: nothing is handed out yet, or any more */
    int64_t *in_range; /* how many items are in each range of 1 << shift places */
    int shift;
    tra_sorter_failure failure;
    uint64_t failed_at;
    tra_sorter_counts counts;
};

int64_t tra_sorter_need(int64_t most, int64_t least, int ranges) {
    int64_t size = (int64_t)sizeof(tra_item), n = tra_max64(2 * least, 1024), runs;
    /* While runs are merged, PART items of each are in memory; these must take no more than the items of one run. */
    most = most < 0 ? 1000000 : most;
    while ((runs = tra_ceil_div(most, n - least) + 1) * PART > 2 * n) n *= 2;
    return 2 * n * size + ranges * 8;
}

tra_sorter *tra_sorter_new(const tra_sorter_options *o) {
    tra_sorter *s = tra_calloc(1, sizeof *s);
    s->o = *o;
    s->fd = -1;
    s->cap = (o->memory - o->ranges * 8) / 2 / (int64_t)sizeof(tra_item);
    if (o->most >= 0) s->cap = tra_min64(s->cap, o->most + o->least);
    assert(s->cap >= o->least);
    s->items = tra_malloc((size_t)s->cap * sizeof *s->items);
    s->other = tra_malloc((size_t)s->cap * sizeof *s->other);
    s->in_range = tra_calloc((size_t)o->ranges, sizeof *s->in_range);
    while (o->places > 0 && (o->places - 1) >> s->shift >= (uint64_t)o->ranges) s->shift++;
    s->crew = tra_crew_new(o->workers);
    return s;
}

void tra_sorter_end(tra_sorter *s) {
    free(s->items);
    free(s->other);
    free(s->buffers);
    s->items = s->other = s->buffers = NULL;
    s->leaves = 0;
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

void tra_sorter_free(tra_sorter *s) {
    if (!s) return;
    tra_crew_free(s->crew);
    if (s->fd >= 0) close(s->fd);
    free(s->where);
    free(s->items);
    free(s->other);
    free(s->buffers);
    free(s->runs);
    free(s->winner);
    free(s->front);
    free(s->in_range);
    free(s);
}

/* ---- runs ------------------------------------------------------------------------------------------------------ */

/* Sorts one worker's part of the items in place, and counts them by ranges. */
static tra_status sort_part(void *ctx, int worker, int64_t part, tra_err *e) {
    tra_sorter *s = ctx;
    (void)worker;
    (void)e;
    int64_t from = s->n * part / s->o.workers, to = s->n * (part + 1) / s->o.workers;
    tra_item *sorted =
        tra_radix_sort(s->items + from, s->other + from, to - from, sizeof(tra_item), offsetof(tra_item, place));
    if (sorted != s->items + from) memcpy(s->items + from, sorted, (size_t)(to - from) * sizeof *sorted);
    for (int64_t i = from, next; i < to; i = next) {
        uint64_t range = s->items[i].place >> s->shift;
        for (next = i + 1; next < to && s->items[next].place >> s->shift == range;) next++;
        __atomic_fetch_add(&s->in_range[range], next - i, __ATOMIC_RELAXED);
    }
    return TRA_OK;
}

static tra_status sort_items(tra_sorter *s, tra_err *e) {
    tra_crew_begin(s->crew, sort_part, s, 0, s->o.workers);
    return tra_crew_wait(s->crew, e);
}

/* Lists the sorted parts as runs, which are in memory or about to be written to the end of the scratch file. */
static void add_runs(tra_sorter *s, bool on_disk) {
    int64_t size = (int64_t)sizeof(tra_item);
    for (int part = 0; part < s->o.workers; part++) {
        int64_t from = s->n * part / s->o.workers, to = s->n * (part + 1) / s->o.workers;
        if (from == to) continue;
        s->runs = tra_realloc(s->runs, (size_t)s->nruns + 1, sizeof *s->runs);
        s->runs[s->nruns++] = on_disk ? (run){.offset = s->counts.spilled + from * size, .left = to - from}
                                      : (run){.buf = s->items + from, .n = to - from};
    }
}

/* Writes the sorted items to the scratch file as runs. */
static tra_status write_runs(tra_sorter *s, tra_err *e) {
    if (s->fd < 0) TRA_TRY(tra_scratch_open(s->o.output, &s->fd, &s->where, e));
    add_runs(s, true);
    size_t bytes = (size_t)s->n * sizeof *s->items;
    TRA_TRY(tra_pwrite(s->fd, s->items, bytes, s->counts.spilled, s->where, e));
    s->counts.spilled += (int64_t)bytes;
    s->n = 0;
    return tra_stop_check(e);
}

static tra_status spill(tra_sorter *s, tra_err *e) {
    TRA_TRY(sort_items(s, e));
    return write_runs(s, e);
}

tra_status tra_sorter_room(tra_sorter *s, tra_item **to, int64_t *room, tra_err *e) {
    if (s->cap - s->n < s->o.least) TRA_TRY(spill(s, e));
    *to = s->items + s->n;
    *room = s->cap - s->n;
    return TRA_OK;
}

void tra_sorter_added(tra_sorter *s, int64_t n) { s->n += n; }

int64_t tra_sorter_count_in(const tra_sorter *s, uint64_t from, uint64_t n) {
    int64_t sum = 0;
    if (n == 0 || from >= s->o.places) return 0;
    uint64_t last = s->o.places - from > n ? from + n - 1 : s->o.places - 1;
    for (uint64_t r = from >> s->shift; r <= last >> s->shift; r++) sum += s->in_range[r];
    return sum;
}

int64_t tra_sorter_most_in(const tra_sorter *s, uint64_t n) {
    int64_t most = 0;
    if (n >> s->shift == 0) { /* so few places lie in two neighbouring ranges at most */
        for (int r = 0; r < s->o.ranges; r++)
            most = tra_max64(most, s->in_range[r] + (r + 1 < s->o.ranges ? s->in_range[r + 1] : 0));
        return most;
    }
    for (uint64_t from = 0; from < s->o.places; from += n) {
        most = tra_max64(most, tra_sorter_count_in(s, from, n));
        if (s->o.places - from <= n) break;
    }
    return most;
}

/* ---- merging --------------------------------------------------------------------------------------------------- */

static tra_status refill(tra_sorter *s, run *r, tra_err *e) {
    r->at = 0;
    r->n = tra_min64(s->each, r->left);
    size_t bytes = (size_t)r->n * sizeof *r->buf;
    if (r->n > 0) TRA_TRY(tra_pread(s->fd, r->buf, bytes, r->offset, s->where, e));
    r->offset += (int64_t)bytes;
    r->left -= r->n;
    return TRA_OK;
}

/* The winner of the two nodes below a node: where places are equal the left one, whose runs came earlier. */
static inline int match(const tra_sorter *s, int node) {
    int a = s->winner[2 * node], b = s->winner[2 * node + 1];
    return s->front[b] < s->front[a] ? b : a;
}

static void begin_tournament(tra_sorter *s) {
    for (s->leaves = 1; s->leaves < s->nruns;) s->leaves *= 2;
    s->winner = tra_malloc((size_t)s->leaves * 2 * sizeof *s->winner);
    s->front = tra_malloc((size_t)s->leaves * sizeof *s->front);
    for (int i = 0; i < s->leaves; i++) {
        s->winner[s->leaves + i] = i;
        s->front[i] = i < s->nruns && s->runs[i].n > 0 ? s->runs[i].buf[0].place : NO_MORE;
    }
    for (int i = s->leaves - 1; i > 0; i--) s->winner[i] = match(s, i);
}

static inline int first_run(const tra_sorter *s) { return s->winner[1]; /* with one leaf that is the leaf itself */ }

/* Takes the next item of a run away, and replays its matches up the tree. */
static tra_status advance(tra_sorter *s, int i, tra_err *e) {
    run *r = &s->runs[i];
    if (++r->at == r->n) {
        if (r->left > 0)
            TRA_TRY(refill(s, r, e));
        else
            r->n = r->at = 0;
    }
    s->front[i] = r->n > 0 ? r->buf[r->at].place : NO_MORE;
    for (int node = (s->leaves + i) / 2; node > 0; node /= 2) s->winner[node] = match(s, node);
    return TRA_OK;
}

tra_status tra_sorter_sort(tra_sorter *s, tra_err *e) {
    if (s->nruns > 0) return s->n > 0 ? spill(s, e) : TRA_OK;
    TRA_TRY(sort_items(s, e));
    add_runs(s, false);
    return TRA_OK;
}

/* Writes the runs that are in memory to the scratch file, since the merge has less memory than they take. */
static tra_status move_out(tra_sorter *s, tra_err *e) {
    s->nruns = 0;
    return write_runs(s, e);
}

tra_status tra_sorter_merge(tra_sorter *s, int64_t memory, tra_err *e) {
    int64_t size = (int64_t)sizeof(tra_item);
    free(s->other);
    s->other = NULL;
    if (s->fd < 0 && s->n * size > memory) TRA_TRY(move_out(s, e));
    if (s->fd >= 0) {
        free(s->items);
        s->items = NULL;
        s->each = s->nruns > 0 ? (memory - s->o.ranges * 8) / s->nruns / size : 0;
        if (s->nruns > 0 && s->each < PART / 2)
            return tra_fail(e, TRA_RESOURCE, "--memory is too little for so many entries: double it");
        s->buffers = tra_malloc((size_t)(s->each * size) * (size_t)s->nruns + 1);
        for (int i = 0; i < s->nruns; i++) {
            s->runs[i].buf = s->buffers + s->each * i;
            TRA_TRY(refill(s, &s->runs[i], e));
        }
    }
    begin_tournament(s);
    return TRA_OK;
}

/* ---- what is handed out ---------------------------------------------------------------------------------------- */

static bool is_zero(const tra_sorter *s, tra_number v) { return s->o.real ? v.real == 0 : v.whole == 0; }

static tra_status fail_at(tra_sorter *s, uint64_t place, tra_sorter_failure failure) {
    s->failure = failure;
    s->failed_at = place;
    return TRA_INPUT;
}

/* Adds the value of a duplicate to the item of its place. */
static tra_status add_to(tra_sorter *s, tra_item *x, tra_number v) {
    s->counts.duplicates++;
    if (s->o.no_duplicate) return fail_at(s, x->place, TRA_SORTER_TWICE);
    if (s->o.or_values)
        x->value.whole = x->value.whole != 0 || v.whole != 0;
    else if (s->o.real)
        x->value.real += v.real;
    else if (!tra_add(x->value.whole, v.whole, &x->value.whole))
        return fail_at(s, x->place, TRA_SORTER_TOO_LARGE);
    return TRA_OK;
}

tra_status tra_sorter_take(tra_sorter *s, uint64_t end, tra_item *to, int64_t want, int64_t *got, tra_err *e) {
    int64_t n = 0;
    while (n < want && s->leaves > 0) {
        int i = first_run(s);
        if (s->front[i] >= end) break;
        const run *r = &s->runs[i];
        tra_item x = r->buf[r->at];
        TRA_TRY(advance(s, i, e));
        for (i = first_run(s); s->front[i] == x.place; i = first_run(s)) {
            r = &s->runs[i];
            TRA_TRY(add_to(s, &x, r->buf[r->at].value));
            TRA_TRY(advance(s, i, e));
        }
        if (s->o.drop_zeros && is_zero(s, x.value)) {
            s->counts.dropped++;
            continue;
        }
        to[n++] = x;
    }
    s->counts.kept += n;
    *got = n;
    return TRA_OK;
}

tra_sorter_failure tra_sorter_failed(const tra_sorter *s, uint64_t *place) {
    *place = s->failed_at;
    return s->failure;
}

tra_sorter_counts tra_sorter_counted(const tra_sorter *s) { return s->counts; }
