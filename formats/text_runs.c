/* text_runs.c - sorted runs of texts in a scratch file, merged to a dictionary. */
#include "text_runs.h"

#include "sorter.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 12, LEAST = 4096, MOST = 256 << 10, CODES = 1024 };

static int64_t reserve(tra_text_runs *r, int64_t bytes) { return (*r->end += bytes + 7) - bytes - 7; }

/* ---- buffers of bytes --------------------------------------------------------------------------------- */

typedef struct byte_buffer {
    const tra_text_runs *r;
    int64_t at; /* of buf in the file */
    char *buf;
    int64_t n, cap; /* in buf; reading: at is of its end, and `next` has not been taken */
    int64_t next, left;
} byte_buffer;

static byte_buffer buffer_at(const tra_text_runs *r, int64_t at, int64_t bytes, int64_t cap) {
    return (byte_buffer){.r = r, .at = at, .left = bytes, .cap = cap, .buf = tra_malloc((size_t)cap)};
}

static tra_status flush(byte_buffer *f, tra_err *e) {
    if (f->n > 0) TRA_TRY(tra_pwrite(f->r->fd, f->buf, (size_t)f->n, f->at, f->r->where, e));
    f->at += f->n;
    f->n = 0;
    return TRA_OK;
}

static tra_status put(byte_buffer *f, const void *v, int64_t bytes, tra_err *e) {
    const char *p = v;
    for (int64_t k; bytes > 0; p += k, bytes -= k) {
        k = tra_min64(bytes, f->cap - f->n);
        memcpy(f->buf + f->n, p, (size_t)k);
        f->n += k;
        if (f->n == f->cap) TRA_TRY(flush(f, e));
    }
    return TRA_OK;
}

/* So many bytes in one place; valid until the next call. */
static tra_status take(byte_buffer *f, int64_t bytes, const char **out, tra_err *e) {
    if (f->n - f->next < bytes) {
        f->n -= f->next;
        memmove(f->buf, f->buf + f->next, (size_t)f->n);
        f->next = 0;
        int64_t k = tra_min64(f->cap - f->n, f->left);
        if (f->n + k < bytes) return tra_fail(e, TRA_INTERNAL, "a run of texts in %s is cut off", f->r->where);
        TRA_TRY(tra_pread(f->r->fd, f->buf + f->n, (size_t)k, f->at, f->r->where, e));
        f->at += k;
        f->left -= k;
        f->n += k;
    }
    *out = f->buf + f->next;
    f->next += bytes;
    return TRA_OK;
}

static tra_status put_text(byte_buffer *f, int64_t seen, const char *s, uint32_t n, tra_err *e) {
    char head[HEAD];
    memcpy(head, &n, 4);
    memcpy(head + 4, &seen, 8);
    TRA_TRY(put(f, head, HEAD, e));
    return put(f, s, n, e);
}

tra_status tra_text_run_write(tra_text_runs *r, const tra_string_set *w, const int64_t *seen, tra_text_run *out,
                              tra_err *e) {
    int32_t *order = tra_string_set_order(w);
    *out = (tra_text_run){.n = w->n, .bytes = w->n * HEAD + (w->n ? w->begin[w->n] : 0), .parent = -1};
    out->at = reserve(r, out->bytes);
    out->order_at = reserve(r, 4 * out->n);
    out->map_at = reserve(r, 4 * out->n);
    byte_buffer f = buffer_at(r, out->at, 0, 64 << 10);
    tra_status s = tra_pwrite(r->fd, order, (size_t)out->n * 4, out->order_at, r->where, e);
    for (int64_t j = 0; j < w->n && s == TRA_OK; j++) {
        int64_t from = w->begin[order[j]];
        s = put_text(&f, seen ? seen[order[j]] : 0, w->bytes + from, (uint32_t)(w->begin[order[j] + 1] - from), e);
    }
    if (s == TRA_OK) s = flush(&f, e);
    free(f.buf);
    free(order);
    return s;
}

/* ---- merging ---------------------------------------------------------------------------------------------------- */

/* A run that is merged. */
typedef struct source {
    byte_buffer texts, map;
    int64_t left; /* texts */
    int64_t seen;
    const char *s; /* its next one */
    int64_t n;
} source;

/* What they are merged to: a run, or the dictionary. */
typedef struct target {
    byte_buffer texts, begin, seen; /* begin, seen: of the dictionary */
    bool run, text;
    int64_t n, bytes; /* texts that are finished, and the bytes of texts */
    char *last;       /* the present one, which others may be equal to */
    int64_t last_n, last_seen;
    bool any;
} target;

static bool before(const source *x, const source *y) {
    int d = tra_bytes_cmp(x->s, x->n, y->s, y->n);
    return d != 0 ? d < 0 : x < y;
}

static void sift(source **heap, int n, int i) {
    for (int least;; i = least) {
        least = i;
        for (int k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++)
            if (before(heap[k], heap[least])) least = k;
        if (least == i) return;
        source *x = heap[i];
        heap[i] = heap[least];
        heap[least] = x;
    }
}

static tra_status next_text(source *x, tra_err *e) {
    const char *head;
    uint32_t n;
    TRA_TRY(take(&x->texts, HEAD, &head, e));
    memcpy(&n, head, 4);
    memcpy(&x->seen, head + 4, 8);
    TRA_TRY(take(&x->texts, n, &x->s, e));
    x->n = n;
    x->left--;
    return TRA_OK;
}

/* The present text is finished: all that are equal to it have come. */
static tra_status finish(target *t, tra_err *e) {
    if (!t->any) return TRA_OK;
    t->n++;
    if (t->run) {
        t->bytes += HEAD + t->last_n;
        return put_text(&t->texts, t->last_seen, t->last, (uint32_t)t->last_n, e);
    }
    t->bytes += t->last_n;
    TRA_TRY(put(&t->texts, t->last, t->last_n, e));
    if (t->text) TRA_TRY(put(&t->seen, &t->last_seen, 8, e));
    return put(&t->begin, &t->bytes, 8, e);
}

static tra_status merge_one(source *x, target *t, tra_err *e) {
    bool same = t->any && t->last_n == x->n && memcmp(t->last, x->s, (size_t)x->n) == 0;
    if (!same) {
        TRA_TRY(finish(t, e));
        if (t->n >= TRA_MAX_CODES) return TRA_INPUT;
        t->any = true;
        t->last_n = x->n;
        t->last_seen = x->seen;
        memcpy(t->last, x->s, (size_t)x->n);
    }
    t->last_seen = tra_min64(t->last_seen, x->seen);
    int32_t code = (int32_t)t->n;
    return put(&x->map, &code, 4, e);
}

static tra_status merge(source *v, int n, target *t, tra_err *e) {
    source **heap = tra_malloc((size_t)(n + 1) * sizeof *heap);
    int k = 0;
    tra_status s = TRA_OK;
    for (int i = 0; i < n && s == TRA_OK; i++) {
        if (v[i].left == 0) continue;
        s = next_text(&v[i], e);
        heap[k++] = &v[i];
    }
    for (int i = k / 2; i-- > 0;) sift(heap, k, i);
    for (int64_t step = 0; k > 0 && s == TRA_OK; step++) {
        source *x = heap[0];
        s = merge_one(x, t, e);
        if (s == TRA_OK && x->left > 0)
            s = next_text(x, e);
        else
            heap[0] = heap[--k];
        sift(heap, k, 0);
        if (s == TRA_OK && step % 65536 == 0) s = tra_stop_check(e);
    }
    free(heap);
    if (s == TRA_OK) s = finish(t, e);
    for (int i = 0; i < n && s == TRA_OK; i++) s = flush(&v[i].map, e);
    if (s == TRA_OK) s = flush(&t->texts, e);
    if (s == TRA_OK && !t->run) s = flush(&t->begin, e);
    if (s == TRA_OK && t->text && !t->run) s = flush(&t->seen, e);
    return s;
}

/* Merges the runs from `from` to `to`, whose parent is not known, to a new run, or (out) to the dictionary. */
static tra_status merge_some(tra_text_runs *r, int from, int to, int64_t buffer, bool text, tra_spooled *out,
                             int64_t *seen_at, tra_err *e) {
    int n = to - from, parent = out ? -1 : r->n;
    int64_t texts = 0, bytes = 0;
    source *v = tra_calloc((size_t)n + 1, sizeof *v);
    for (int i = 0; i < n; i++) {
        tra_text_run *x = &r->v[from + i];
        v[i].texts = buffer_at(r, x->at, x->bytes, buffer);
        v[i].map = buffer_at(r, x->map_at, 0, 4 * CODES);
        v[i].left = x->n;
        x->parent = parent;
        texts += x->n;
        bytes += x->bytes;
    }
    int64_t at = reserve(r, bytes), other = reserve(r, 8 * (texts + 1));
    *seen_at = out && text ? reserve(r, 8 * texts) : 0;
    target t = {.run = !out, .text = text, .last = tra_malloc((size_t)r->longest + 1)};
    t.texts = buffer_at(r, at, 0, 64 << 10);
    t.begin = buffer_at(r, other, 0, 64 << 10);
    t.seen = buffer_at(r, *seen_at, 0, 64 << 10);
    static const int64_t zero = 0;
    tra_status s = out ? put(&t.begin, &zero, 8, e) : TRA_OK;
    if (s == TRA_OK) s = merge(v, n, &t, e);
    for (int i = 0; i < n; i++) free(v[i].texts.buf), free(v[i].map.buf);
    free(v);
    free(t.texts.buf);
    free(t.begin.buf);
    free(t.seen.buf);
    free(t.last);
    if (s != TRA_OK) return s;
    if (out) {
        *out = (tra_spooled){
            .fd = r->fd, .where = r->where, .n = t.n, .ends_at = other + 8, .bytes_at = at, .bytes = t.bytes};
        return TRA_OK;
    }
    TRA_ROOM(r->v, r->n, r->cap);
    r->v[r->n++] =
        (tra_text_run){.at = at, .bytes = t.bytes, .n = t.n, .number = -1, .map_at = reserve(r, 4 * t.n), .parent = -1};
    return TRA_OK;
}

/* ---- maps ------------------------------------------------------------------------------------------------------- */

/* The numbers of a map, which ascend, become what another map has in their places. */
static tra_status look_up(const tra_text_runs *r, int64_t map_at, int64_t n, int64_t in_at, int64_t in_n, tra_err *e) {
    enum { STRIP = 16384 };
    int32_t *v = tra_malloc(2 * STRIP * sizeof *v), *in = v + STRIP;
    int64_t from = 0, have = 0; /* in[0..have) is what the other map has from there on */
    tra_status s = TRA_OK;
    for (int64_t at = 0, k; at < n && s == TRA_OK; at += k) {
        k = tra_min64(STRIP, n - at);
        s = tra_pread(r->fd, v, (size_t)k * 4, map_at + 4 * at, r->where, e);
        for (int64_t i = 0; i < k && s == TRA_OK; i++) {
            if (v[i] >= from + have) {
                from = v[i];
                have = tra_min64(STRIP, in_n - from);
                s = tra_pread(r->fd, in, (size_t)have * 4, in_at + 4 * from, r->where, e);
            }
            if (s == TRA_OK) v[i] = in[v[i] - from];
        }
        if (s == TRA_OK) s = tra_pwrite(r->fd, v, (size_t)k * 4, map_at + 4 * at, r->where, e);
    }
    free(v);
    return s;
}

/* ---- texts in the order in which they came ----------------------------------------------------------------------- */

typedef struct ordering {
    const tra_text_runs *r;
    const tra_spooled *from;         /* sorted by bytes */
    byte_buffer begin, bytes, codes; /* what becomes of it; codes: of each of the sorted strings */
    int64_t n, at;                   /* strings, and their bytes */
    char *buf;
} ordering;

static tra_sorter *sorter_of(const tra_text_runs *r, int64_t n, int64_t places, int64_t memory) {
    return tra_sorter_new(&(tra_sorter_options){.places = (uint64_t)places,
                                                .memory = memory,
                                                .most = n,
                                                .least = 1,
                                                .ranges = 1,
                                                .output = r->output,
                                                .workers = 1});
}

static tra_status add_item(tra_sorter *s, int64_t place, int64_t value, tra_err *e) {
    tra_item *to;
    int64_t room;
    TRA_TRY(tra_sorter_room(s, &to, &room, e));
    *to = (tra_item){.place = (uint64_t)place, .value = {.whole = value}};
    tra_sorter_added(s, 1);
    return TRA_OK;
}

/* The next string is number i of the sorted ones. */
static tra_status put_string(ordering *o, int64_t i, tra_err *e) {
    int64_t begin[2];
    const tra_spooled *f = o->from;
    TRA_TRY(tra_pread(f->fd, begin, sizeof begin, f->ends_at + 8 * (i - 1), f->where, e));
    TRA_TRY(tra_pread(f->fd, o->buf, (size_t)(begin[1] - begin[0]), f->bytes_at + begin[0], f->where, e));
    TRA_TRY(put(&o->bytes, o->buf, begin[1] - begin[0], e));
    o->at += begin[1] - begin[0];
    return put(&o->begin, &o->at, 8, e);
}

/* Hands out what a sorter has, in ascending order of places, to one of two: as strings, whose codes go to `codes`, or
 * as codes. */
static tra_status hand_out(ordering *o, tra_sorter *s, tra_sorter *codes, tra_err *e) {
    tra_item v[256];
    int64_t got;
    do {
        TRA_TRY(tra_sorter_take(s, UINT64_MAX, v, 256, &got, e));
        for (int64_t i = 0; i < got; i++) {
            int32_t code = (int32_t)v[i].value.whole;
            if (!codes) {
                TRA_TRY(put(&o->codes, &code, 4, e));
                continue;
            }
            TRA_TRY(put_string(o, v[i].value.whole, e));
            TRA_TRY(add_item(codes, v[i].value.whole, o->n++, e));
        }
        TRA_TRY(tra_stop_check(e));
    } while (got > 0);
    return TRA_OK;
}

static tra_status order(ordering *o, int64_t seen_at, tra_sorter *places, tra_sorter *codes, int64_t memory,
                        tra_err *e) {
    int64_t seen[512];
    for (int64_t i = 0, n; i < o->from->n; i += n) {
        n = tra_min64(512, o->from->n - i);
        TRA_TRY(tra_pread(o->r->fd, seen, (size_t)n * 8, seen_at + 8 * i, o->r->where, e));
        for (int64_t k = 0; k < n; k++) TRA_TRY(add_item(places, seen[k], i + k, e));
    }
    static const int64_t zero = 0;
    TRA_TRY(tra_sorter_sort(places, e));
    TRA_TRY(tra_sorter_merge(places, memory, e));
    TRA_TRY(put(&o->begin, &zero, 8, e));
    TRA_TRY(hand_out(o, places, codes, e));
    tra_sorter_end(places);
    TRA_TRY(tra_sorter_sort(codes, e));
    TRA_TRY(tra_sorter_merge(codes, memory, e));
    TRA_TRY(hand_out(o, codes, NULL, e));
    TRA_TRY(flush(&o->begin, e));
    TRA_TRY(flush(&o->bytes, e));
    return flush(&o->codes, e);
}

/* Brings a dictionary in the order in which its strings first came; *codes_at: the codes of what it was. */
static tra_status order_by_place(tra_text_runs *r, int64_t seen_at, int64_t memory, tra_spooled *d, int64_t *codes_at,
                                 tra_err *e) {
    tra_spooled to = *d;
    to.ends_at = reserve(r, 8 * (d->n + 1)) + 8;
    to.bytes_at = reserve(r, d->bytes);
    *codes_at = reserve(r, 4 * d->n);
    ordering o = {.r = r, .from = d, .buf = tra_malloc((size_t)r->longest + 1)};
    o.begin = buffer_at(r, to.ends_at - 8, 0, 64 << 10);
    o.bytes = buffer_at(r, to.bytes_at, 0, 64 << 10);
    o.codes = buffer_at(r, *codes_at, 0, 64 << 10);
    tra_sorter *places = sorter_of(r, d->n, r->rows, memory / 2), *codes = sorter_of(r, d->n, d->n, memory / 2);
    tra_status s = order(&o, seen_at, places, codes, memory / 2, e);
    tra_sorter_free(places);
    tra_sorter_free(codes);
    free(o.begin.buf);
    free(o.bytes.buf);
    free(o.codes.buf);
    free(o.buf);
    *d = to;
    return s;
}

tra_status tra_text_runs_merge(tra_text_runs *r, bool text, int64_t memory, tra_spooled *out, tra_err *e) {
    int64_t least = tra_max64(LEAST, r->longest + HEAD), each = least + 4 * CODES + (int64_t)sizeof(source) + 64;
    int most = (int)tra_max64(2, tra_min64(memory / each, 1 << 16)), from = 0;
    int64_t seen_at, codes_at = 0;
    while (r->n - from > most) {
        TRA_TRY(merge_some(r, from, from + most, least, text, NULL, &seen_at, e));
        from += most;
    }
    int64_t buffer = tra_max64(least, tra_min64(MOST, memory / tra_max64(1, r->n - from) - (each - least)));
    TRA_TRY(merge_some(r, from, r->n, buffer, text, out, &seen_at, e));
    if (text) TRA_TRY(order_by_place(r, seen_at, memory, out, &codes_at, e));
    for (int i = r->n; i-- > 0;) {
        const tra_text_run *x = &r->v[i], *parent = x->parent < 0 ? NULL : &r->v[x->parent];
        if (parent) TRA_TRY(look_up(r, x->map_at, x->n, parent->map_at, parent->n, e));
        if (!parent && text) TRA_TRY(look_up(r, x->map_at, x->n, codes_at, out->n, e));
    }
    return TRA_OK;
}
