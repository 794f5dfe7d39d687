/* stored_coder.c - positions of levels from entries, and slices that are written piece by piece. */
#include "stored_coder.h"

#include "../base/parallel.h"
#include "../base/simd.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>

#define VECTORS TRA_ANY_TARGET __attribute__((optimize("O3")))

/* ---- slices ----------------------------------------------------------------------------------------------------- */

static void write_piece(tra_coder *x, tra_slice *s, const char *piece, size_t n) {
    if (x->status == TRA_OK && n > 0) x->status = tra_pwrite(s->w->data_fd, piece, n, s->at, s->w->temp, x->e);
    XXH64_update(&s->sum, piece, n);
    s->at += (int64_t)n;
}

static void flush(tra_coder *x, tra_slice *s) {
    write_piece(x, s, s->buf, s->n);
    s->n = 0;
}

void tra_code_begin_write(const tra_slice *s) {
    int64_t n = s->at - s->from;
    if (n >= TRA_SLICE_PIECE) (void)sync_file_range(s->w->data_fd, s->from, n, SYNC_FILE_RANGE_WRITE);
}

static void put(tra_coder *x, int component, const void *element) {
    tra_slice *s = component < 0 ? NULL : x->out[component];
    if (!s) return;
    memcpy(s->buf + s->n, element, s->each);
    s->n += s->each;
    if (s->n == TRA_SLICE_PIECE) flush(x, s);
}

void tra_code_int(tra_coder *x, int component, int64_t v) {
    uint8_t v1 = (uint8_t)v;
    uint16_t v2 = (uint16_t)v;
    uint32_t v4 = (uint32_t)v;
    if (component < 0 || !x->out[component]) return;
    switch (x->out[component]->each) {
    case 1: put(x, component, &v1); return;
    case 2: put(x, component, &v2); return;
    case 4: put(x, component, &v4); return;
    default: put(x, component, &v); return;
    }
}

void tra_code_all(tra_coder *x, int component, const char *elements, int64_t n) {
    tra_slice *s = x->out[component];
    for (size_t left = (size_t)n * s->each; left > 0;) {
        size_t m = left < TRA_SLICE_PIECE - s->n ? left : TRA_SLICE_PIECE - s->n;
        if (m == TRA_SLICE_PIECE) { /* straight from where they are */
            write_piece(x, s, elements, m);
            elements += m;
            left -= m;
            continue;
        }
        memcpy(s->buf + s->n, elements, m);
        elements += m;
        left -= m;
        s->n += m;
        if (s->n == TRA_SLICE_PIECE) flush(x, s);
    }
}

VECTORS void tra_code_columns(tra_coder *x, int component, const uint32_t *v, int64_t n) {
    enum { STRIP = 4096 };
    union {
        uint8_t v1[STRIP];
        uint16_t v2[STRIP];
        uint64_t v8[STRIP];
    } to;
    size_t each = x->out[component]->each;
    if (each == 4) {
        tra_code_all(x, component, (const char *)v, n);
        return;
    }
    for (int64_t from = 0; from < n; from += STRIP) {
        int64_t m = tra_min64(STRIP, n - from);
        for (int64_t i = 0; i < m && each == 1; i++) to.v1[i] = (uint8_t)v[from + i];
        for (int64_t i = 0; i < m && each == 2; i++) to.v2[i] = (uint16_t)v[from + i];
        for (int64_t i = 0; i < m && each == 8; i++) to.v8[i] = v[from + i];
        tra_code_all(x, component, (const char *)&to, m);
    }
}

/* ---- statistics ------------------------------------------------------------------------------------------------- */

static void close_parent(tra_coder *x, int l) {
    if (x->children[l] > 0) tra_spread_add(&x->level[l], x->children[l], x->first[l], x->last[l]);
    x->children[l] = 0;
}

VECTORS bool tra_code_finite(tra_dtype t, const char *v, int64_t n) {
    uint64_t beyond = 0; /* all bits of the exponent are set */
    if (t == TRA_F64)
        for (int64_t i = 0; i < n; i++) {
            uint64_t x;
            memcpy(&x, v + i * 8, 8);
            beyond |= (uint64_t)((x << 1 >> 53) == 0x7ff);
        }
    else if (t == TRA_F32)
        for (int64_t i = 0; i < n; i++) {
            uint32_t x;
            memcpy(&x, v + i * 4, 4);
            beyond |= (uint64_t)((x << 1 >> 24) == 0xff);
        }
    else
        for (int64_t i = 0; tra_dtype_is_float(t) && i < n; i++) beyond |= !isfinite(tra_element_real(t, v, i));
    return !beyond;
}

/* ---- levels ----------------------------------------------------------------------------------------------------- */

/* Puts the ends of the ranges of all positions above that come before `parent`. */
static inline void put_ends(tra_coder *x, int l, int64_t parent) {
    int component = x->form->pointers[l];
    tra_slice *s = component < 0 ? NULL : x->out[component];
    int64_t v = x->before[l] + x->count[l];
    if (!s) x->ended[l] = tra_max64(x->ended[l], parent);
    while (x->ended[l] < parent) { /* pointers have 8 bytes */
        int64_t n = tra_min64(parent - x->ended[l], (int64_t)(TRA_SLICE_PIECE - s->n) / 8);
        int64_t *to = (int64_t *)(void *)(s->buf + s->n);
        for (int64_t i = 0; i < n; i++) to[i] = v;
        x->ended[l] += n;
        s->n += (size_t)n * 8;
        if (s->n == TRA_SLICE_PIECE) flush(x, s);
    }
}

static void open_position(tra_coder *x, int l, int64_t parent, const int64_t *c) {
    put_ends(x, l, parent);
    if (x->children[l] > 0 && x->parent[l] != parent) close_parent(x, l);
    if (x->children[l]++ == 0) x->parent[l] = parent, x->first[l] = c[l];
    for (int i = l; i < l + x->form->group[l]; i++) {
        x->pos[i] = x->count[i]++;
        tra_code_int(x, x->form->indices[i], c[i]);
    }
}

static void put_zeros(tra_coder *x, int64_t before) {
    static const char zero[8];
    for (; x->values < before; x->values++) put(x, x->form->values, zero);
}

void tra_code_entry(tra_coder *x, const int64_t *c, const void *value) {
    const tra_form *f = x->form;
    int64_t parent = 0;
    bool fresh = !x->any; /* a coordinate up to this level differs from that of the last entry */
    for (int l = 0; l < f->levels.n; l++) {
        if (f->group[l] == 0) {
            x->pos[l] = parent * f->ext[l] + c[l];
            fresh = fresh || c[l] != x->last[l];
        } else {
            int end = l + f->group[l];
            for (int i = l; i < end; i++) fresh = fresh || c[i] != x->last[i];
            if (fresh) open_position(x, l, parent, c);
            for (; l < end; l++) x->last[l] = c[l];
            l--;
        }
        x->last[l] = c[l];
        parent = x->pos[l];
    }
    put_zeros(x, parent);
    put(x, f->values, value);
    x->values++;
    x->finite = x->finite && tra_code_finite(x->dtype, value, 1);
    x->any = true;
}

/* ---- matrices, line by line -------------------------------------------------------------------------------------- */

bool tra_code_takes_lines(const tra_form *f) {
    return f->levels.n == 2 && (f->group[0] == 2 || (f->group[1] == 1 && f->group[0] >= 0));
}

void tra_code_spread(tra_spread *s, const tra_lines *v) {
    tra_spread x = *s;
    for (int64_t i = 0; i < v->n; i++) {
        int64_t from = v->begin[i], here = v->begin[i + 1] - from;
        tra_spread_add(&x, here, v->at[from], v->at[from + here - 1]);
    }
    *s = x;
}

/* Puts the number of each line, or of each of its entries. */
static void put_numbers(tra_coder *x, const tra_lines *v, bool each_entry) {
    enum { STRIP = 1024 };
    uint32_t strip[STRIP];
    int component = x->form->indices[0];
    int64_t n = 0;
    if (!x->out[component]) return;
    bool wide = x->out[component]->each > sizeof *strip;
    for (int64_t i = 0; i < v->n; i++) {
        int64_t number = v->number ? v->number[i] : i, times = each_entry ? v->begin[i + 1] - v->begin[i] : 1;
        for (; times > 0; times--) {
            if (wide) tra_code_int(x, component, number);
            if (wide) continue;
            strip[n++] = (uint32_t)number;
            if (n == STRIP) tra_code_columns(x, component, strip, n), n = 0;
        }
    }
    if (n > 0) tra_code_columns(x, component, strip, n);
}

/* Puts the ends of the ranges of the positions before the last line. consecutive: lines are positions, the first of
 * which is `first`. */
static void put_ranges(tra_coder *x, const tra_lines *v, bool consecutive, int64_t first) {
    tra_slice *s = x->out[x->form->pointers[1]];
    bool by_number = !consecutive && v->number;
    int64_t before = x->before[1] + x->count[1], i = 0;
    int64_t last = by_number ? v->number[v->n - 1] : first + v->n - 1;
    while (s && x->ended[1] < last) { /* pointers have 8 bytes */
        int64_t at = x->ended[1], end = at + tra_min64(last - at, (int64_t)(TRA_SLICE_PIECE - s->n) / 8);
        int64_t *to = (int64_t *)(void *)(s->buf + s->n);
        if (by_number) {
            for (; at < end; at++) i += v->number[i] == at, *to++ = before + v->begin[i];
        } else {
            for (; at < end; at++) *to++ = before + v->begin[tra_max64(0, at - first + 1)];
        }
        s->n += (size_t)(end - x->ended[1]) * 8;
        x->ended[1] = end;
        if (s->n == TRA_SLICE_PIECE) flush(x, s);
    }
    x->ended[1] = tra_max64(x->ended[1], last);
}

/* Places and values of the entries of lines, each of which one thread writes. */
typedef struct putting_lines {
    const tra_lines *v;
    int64_t n;
    tra_coder by[2];
    tra_err err[2];
} putting_lines;
enum { PLACES, VALUES, SHARED = 1 << 18 }; /* SHARED: so many entries take longer to write than to hand over */

static void put_entries(void *ctx, int which, void *scratch) {
    putting_lines *p = ctx;
    tra_coder *x = &p->by[which];
    const tra_form *f = x->form;
    (void)scratch;
    x->e = &p->err[which];
    if (which == PLACES) tra_code_columns(x, f->indices[1], p->v->at, p->n);
    int64_t piece = TRA_SLICE_PIECE / (int64_t)x->size;
    for (int64_t k = 0; which == VALUES && k < p->n; k += piece) { /* while it is in the cache */
        const char *value = p->v->value + (size_t)k * x->size;
        tra_code_all(x, f->values, value, tra_min64(piece, p->n - k));
        x->finite = x->finite && tra_code_finite(x->dtype, value, tra_min64(piece, p->n - k));
    }
}

void tra_code_lines(tra_coder *x, const tra_lines *v) {
    const tra_form *f = x->form;
    bool pairs = f->group[0] == 2, sparse = f->group[0] == 1;
    int64_t n = v->begin[v->n], first = v->number && v->n > 0 ? v->number[0] : 0;
    if (n == 0) return;
    x->last[0] = v->number ? v->number[v->n - 1] : v->n - 1;
    if (f->group[0] > 0) { /* a position for each entry, or for each line */
        if (x->children[0] == 0) x->parent[0] = 0, x->first[0] = first;
        x->children[0] += pairs ? n : v->n;
        put_numbers(x, v, pairs);
    }
    if (!pairs) {
        close_parent(x, 1);
        put_ranges(x, v, sparse, sparse ? x->count[0] : 0);
        if (!x->by_rows) tra_code_spread(&x->level[1], v);
    }
    x->count[0] += pairs ? n : sparse ? v->n : 0;
    x->count[1] += n;
    x->pos[0] = f->group[0] > 0 ? x->count[0] - 1 : x->last[0];
    x->pos[1] = x->count[1] - 1;
    x->last[1] = v->at[n - 1];
    x->values += n;
    x->any = true;
    if (!x->out[f->values]) return;
    putting_lines p = {.v = v, .n = n, .by = {*x, *x}};
    if (n >= SHARED)
        tra_parallel(2, put_entries, &p, NULL);
    else
        for (int i = 0; i < 2; i++) put_entries(&p, i, NULL);
    x->finite = p.by[VALUES].finite;
    for (int i = 1; i >= 0; i--) {
        if (p.by[i].status == TRA_OK || x->status != TRA_OK) continue;
        x->status = p.by[i].status;
        if (x->e) *x->e = p.err[i];
    }
}

void tra_code_end(tra_coder *x) {
    const tra_form *f = x->form;
    if (x->by_rows) x->level[1] = x->rows;
    int64_t parents = 1;
    for (int l = 0; l < f->levels.n; l++) {
        if (f->group[l] == 0) x->count[l] = parents * f->ext[l];
        if (f->group[l] > 0) {
            put_ends(x, l, parents);
            close_parent(x, l);
        }
        parents = x->count[l];
    }
    put_zeros(x, parents);
    for (int i = 0; i < f->n; i++)
        if (x->out[i]) flush(x, x->out[i]);
}
