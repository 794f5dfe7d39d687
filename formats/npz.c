/* npz.c - archives of numpy arrays (numpy.savez), of which one is read; sparse matrices of scipy
 * (scipy.sparse.save_npz): csr, csc, coo, bsr and dia. */
#include "reading.h"
#include "lines.h"
#include "npz_int.h"
#include "zip.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024, BUFFER = 32 << 10 };
enum { DATA, INDPTR, INDICES, ROW, COL, COLUMNS };

/* One array of the archive, read forward: indices as int64, or values. */
typedef struct column {
    const char *name;
    bool there;
    tra_npy h;
    int64_t n, left; /* elements; those that are not yet in the buffer */
    tra_stream in;
    int64_t index[BATCH];
    tra_number value[BATCH];
    int at, have;
} column;

typedef struct npz npz;
typedef tra_status next_fn(tra_source *s, npz *z, tra_dims *at, tra_number *v, bool *end, tra_err *e);

struct npz {
    enum { CSR, CSC, COO, BSR, DIA } kind;
    column col[COLUMNS];
    column *coords; /* of tensors, one for each dimension */
    int ncoords;
    next_fn *next;
    int64_t parent, end, taken;      /* row (csr: also of blocks), where its entries end, entries taken */
    int64_t block[2], inner, column; /* bsr: extents of a block, and the place in it */
    int64_t width, diagonal, offset; /* dia: elements of a diagonal, the present one, by how much it is off */
};

static bool sniff(const unsigned char *head, size_t n) {
    size_t name = n >= 30 ? (size_t)(head[26] | head[27] << 8) : 0;
    return n >= 30 + name && name > 4 && memcmp(head, "PK\3\4", 4) == 0 && memcmp(head + 26 + name, ".npy", 4) == 0;
}

/* ---- arrays ---------------------------------------------------------------------------------------------------- */

/* Opens the member NAME.npy, if there is one. numeric: it holds numbers. */
static tra_status open_column(tra_source *s, column *c, const char *name, bool numeric, tra_err *e) {
    tra_file_part part;
    char member[32];
    c->name = name;
    snprintf(member, sizeof member, "%s.npy", name);
    TRA_TRY(tra_zip_find(s->in.fd, s->in.size, s->spec, member, &part, &c->there, e));
    if (!c->there) return TRA_OK;
    part.at += s->in.base;
    tra_stream_close(&c->in);
    TRA_TRY(tra_stream_part(s->in.fd, &part, s->spec, BUFFER, &c->in, e));
    TRA_TRY(tra_npy_read(&c->in, s->arena, s->spec, &c->h, e));
    if (!tra_dims_product(&c->h.shape, &c->n))
        return tra_fail(e, TRA_INPUT, "%s: array %s has more elements than can be", s->spec, name);
    c->left = c->n;
    return numeric ? tra_npy_elem(&c->h, s->spec, e) : TRA_OK;
}

static tra_status need_column(tra_source *s, column *c, const char *name, int rank, tra_err *e) {
    TRA_TRY(open_column(s, c, name, true, e));
    if (!c->there) return tra_fail(e, TRA_INPUT, "%s: has no array %s, as its format needs", s->spec, name);
    if (c->h.shape.n != rank || (c->h.fortran && c->n > 0))
        return tra_fail(e, TRA_INPUT, "%s: array %s has not the %d dimensions, in C order, that it needs", s->spec,
                        name, rank);
    return TRA_OK;
}

/* Reads on: after it c->have is 0 only at the end, where what follows must be nothing. */
static tra_status refill(tra_source *s, column *c, bool values, tra_err *e) {
    char raw[BATCH * sizeof(long double)], conv[BATCH * 8];
    size_t size = tra_elem_size(c->h.elem), have;
    int n = (int)tra_min64(BATCH, c->left);
    c->at = 0;
    c->have = n;
    if (n == 0) {
        TRA_TRY(tra_stream_need(&c->in, 1, &have, e));
        return have == 0 ? TRA_OK : tra_fail(e, TRA_INPUT, "%s: array %s goes on after its end", s->spec, c->name);
    }
    TRA_TRY(tra_stream_take(&c->in, raw, (size_t)n * size, e));
    tra_losses loss = {0};
    tra_dtype t = values ? s->dtype : TRA_I64;
    int64_t bad = tra_elem_convert(c->h.elem, c->h.swap, raw, t, conv, n, &loss);
    if (bad >= 0) {
        tra_dims place = {.n = 1, .v = {c->n - c->left + bad}};
        return tra_elem_refuse(s->spec, &place, c->h.elem, raw + (size_t)bad * size, t, e);
    }
    s->inexact += loss.inexact;
    s->overflow += loss.overflow;
    c->left -= n;
    for (int i = 0; i < n; i++) {
        if (!values)
            c->index[i] = ((const int64_t *)conv)[i];
        else
            c->value[i] = tra_number_of(t, conv, i);
    }
    return TRA_OK;
}

static tra_status next_index(tra_source *s, column *c, int64_t *v, tra_err *e) {
    if (c->at == c->have) TRA_TRY(refill(s, c, false, e));
    if (c->have == 0) return tra_fail(e, TRA_INPUT, "%s: array %s ends too early", s->spec, c->name);
    *v = c->index[c->at++];
    return TRA_OK;
}

static tra_status next_value(tra_source *s, column *c, tra_number *v, tra_err *e) {
    if (c->at == c->have) TRA_TRY(refill(s, c, true, e));
    if (c->have == 0) return tra_fail(e, TRA_INPUT, "%s: array %s ends too early", s->spec, c->name);
    *v = c->value[c->at++];
    return TRA_OK;
}

/* Skips n elements. */
static tra_status skip(column *c, int64_t n, tra_err *e) {
    char away[4096];
    int64_t bytes = n * (int64_t)tra_elem_size(c->h.elem);
    for (int64_t some; bytes > 0; bytes -= some) {
        some = tra_min64(bytes, (int64_t)sizeof away);
        TRA_TRY(tra_stream_take(&c->in, away, (size_t)some, e));
    }
    c->left -= n;
    return TRA_OK;
}

/* ---- formats --------------------------------------------------------------------------------------------------- */

/* The next entry's parent (row of csr and bsr, column of csc), from the pointers. */
static tra_status next_parent(tra_source *s, npz *z, bool *end, tra_err *e) {
    while (z->taken == z->end) {
        int64_t to = 0;
        if (z->col[INDPTR].at == z->col[INDPTR].have && z->col[INDPTR].left == 0) {
            *end = true;
            return TRA_OK;
        }
        TRA_TRY(next_index(s, &z->col[INDPTR], &to, e));
        if (to < z->end || to > z->col[INDICES].n)
            return tra_fail(e, TRA_INPUT, "%s: array indptr does not ascend from 0 to the number of entries", s->spec);
        z->end = to;
        z->parent++;
    }
    *end = false;
    return TRA_OK;
}

static tra_status next_compressed(tra_source *s, npz *z, tra_dims *at, tra_number *v, bool *end, tra_err *e) {
    TRA_TRY(next_parent(s, z, end, e));
    if (*end) return TRA_OK;
    z->taken++;
    at->v[z->kind == CSC] = z->parent;
    TRA_TRY(next_index(s, &z->col[INDICES], &at->v[z->kind == CSR], e));
    return next_value(s, &z->col[DATA], v, e);
}

static tra_status next_block(tra_source *s, npz *z, tra_dims *at, tra_number *v, bool *end, tra_err *e) {
    int64_t size = z->block[0] * z->block[1];
    if (z->inner == 0) {
        TRA_TRY(next_parent(s, z, end, e));
        if (*end) return TRA_OK;
        TRA_TRY(next_index(s, &z->col[INDICES], &z->column, e));
        if (z->column < 0 || z->column > s->shape.v[1] / z->block[1])
            z->column = s->shape.v[1] / z->block[1]; /* is outside, too */
    }
    *end = false;
    at->v[0] = z->parent * z->block[0] + z->inner / z->block[1];
    at->v[1] = z->column * z->block[1] + z->inner % z->block[1];
    if (++z->inner == size) {
        z->inner = 0;
        z->taken++;
    }
    return next_value(s, &z->col[DATA], v, e);
}

static tra_status next_coordinate(tra_source *s, npz *z, tra_dims *at, tra_number *v, bool *end, tra_err *e) {
    *end = z->taken == z->col[DATA].n;
    if (*end) return TRA_OK;
    z->taken++;
    for (int d = 0; d < s->shape.n; d++)
        TRA_TRY(next_index(s, z->coords ? &z->coords[d] : &z->col[ROW + d], &at->v[d], e));
    return next_value(s, &z->col[DATA], v, e);
}

/* Diagonals lie in rows of data, element j being in column j; what is 0 is no entry, as scipy sees it. */
static tra_status next_diagonal(tra_source *s, npz *z, tra_dims *at, tra_number *v, bool *end, tra_err *e) {
    for (;;) {
        *end = z->diagonal == z->col[INDICES].n && z->inner == 0;
        if (*end) return TRA_OK;
        if (z->inner == 0) {
            TRA_TRY(next_index(s, &z->col[INDICES], &z->offset, e));
            if (z->offset < -s->shape.v[0] || z->offset > s->shape.v[1]) z->offset = -s->shape.v[0]; /* none is in it */
            z->diagonal++;
        }
        at->v[1] = z->inner;
        at->v[0] = z->inner - z->offset;
        if (++z->inner == z->width) z->inner = 0;
        TRA_TRY(next_value(s, &z->col[DATA], v, e));
        bool zero = tra_dtype_is_float(s->dtype) ? v->real == 0 : v->whole == 0;
        if (!zero && at->v[0] >= 0 && at->v[0] < s->shape.v[0] && at->v[1] < s->shape.v[1]) return TRA_OK;
    }
}

static tra_status entries(tra_source *s, const tra_places *p, tra_item *to, int64_t room, int64_t *got, tra_err *e) {
    npz *z = s->state;
    tra_dims at = {.n = s->shape.n};
    char text[TRA_DIMTEXT], shape[TRA_DIMTEXT];
    for (*got = 0; *got < room; ++*got) {
        bool end;
        tra_number v;
        TRA_TRY(z->next(s, z, &at, &v, &end, e));
        if (end) break;
        for (int d = 0; d < at.n; d++)
            if (at.v[d] < 0 || at.v[d] >= s->shape.v[d])
                return tra_fail(e, TRA_INPUT, "%s: entry %s is outside the shape %s (indices begin at 0)", s->spec,
                                tra_dims_text(&at, "(", ",", ")", text, sizeof text), tra_shape_text(&s->shape, shape));
        to[*got] = (tra_item){tra_place_of(p, at.v), v};
        s->entries++;
    }
    for (int i = 0; i < COLUMNS && *got < room; i++) { /* all arrays are at their ends: that is where checksums are */
        column *c = &z->col[i];
        if (c->there && c->left == 0 && c->at == c->have) TRA_TRY(refill(s, c, i == DATA, e));
    }
    return TRA_OK;
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* The format's name, as bytes or as text of 32 bits a letter. TRA_NO: scipy did not write the archive. */
static tra_status read_kind(tra_source *s, npz *z, tra_err *e) {
    static const char *const names[] = {"csr", "csc", "coo", "bsr", "dia"};
    column c = {.in.fd = -1};
    char raw[64] = {0}, name[16] = {0};
    tra_status status = open_column(s, &c, "format", false, e);
    if (status == TRA_OK && !c.there) status = TRA_NO;
    bool wide = c.there && strchr(c.h.descr, 'U');
    if (status == TRA_OK) {
        size_t have;
        status = tra_stream_need(&c.in, wide ? 12 : 3, &have, e);
        if (status == TRA_OK) memcpy(raw, c.in.buf + c.in.pos, have < sizeof raw ? have : sizeof raw);
    }
    tra_stream_close(&c.in);
    TRA_TRY(status);
    int low = wide && strchr(c.h.descr, '>') ? 3 : 0; /* numpy on s390x writes the high byte first */
    for (int i = 0; i < 3; i++) name[i] = raw[wide ? 4 * i + low : i];
    for (int i = 0; i < 5; i++)
        if (strcmp(name, names[i]) == 0) {
            z->kind = i;
            s->type_text = names[i];
            return TRA_OK;
        }
    return tra_fail(e, TRA_INPUT, "%s: format \"%s\" is none of csr, csc, coo, bsr, dia", s->spec, name);
}

static tra_status read_shape(tra_source *s, tra_err *e) {
    column c = {.in.fd = -1};
    tra_status status = need_column(s, &c, "shape", 1, e);
    if (status == TRA_OK && (c.n < 1 || c.n > TRA_MAXRANK))
        status =
            tra_fail(e, TRA_INPUT, "%s: has %" PRId64 " dimensions: 1 to %d can be read", s->spec, c.n, TRA_MAXRANK);
    for (int d = 0; status == TRA_OK && d < c.n; d++) {
        status = next_index(s, &c, &s->shape.v[s->shape.n++], e);
        if (status == TRA_OK && s->shape.v[d] < 0)
            status = tra_fail(e, TRA_INPUT, "%s: has a negative extent", s->spec);
    }
    tra_stream_close(&c.in);
    return status;
}

static tra_status same_length(const tra_source *s, const column *a, int64_t n, tra_err *e) {
    if (a->n == n) return TRA_OK;
    return tra_fail(e, TRA_INPUT, "%s: array %s has %" PRId64 " elements, and %" PRId64 " are expected", s->spec,
                    a->name, a->n, n);
}

static tra_status open_compressed(tra_source *s, npz *z, tra_err *e) {
    int64_t parents = s->shape.v[z->kind == CSC];
    TRA_TRY(need_column(s, &z->col[INDPTR], "indptr", 1, e));
    TRA_TRY(need_column(s, &z->col[INDICES], "indices", 1, e));
    TRA_TRY(need_column(s, &z->col[DATA], "data", z->kind == BSR ? 3 : 1, e));
    s->most_entries = z->col[DATA].n;
    z->next = z->kind == BSR ? next_block : next_compressed;
    if (z->kind == BSR) {
        for (int i = 0; i < 2; i++) {
            z->block[i] = z->col[DATA].h.shape.v[i + 1];
            if (z->block[i] < 1 || s->shape.v[i] % z->block[i] != 0)
                return tra_fail(e, TRA_INPUT, "%s: its blocks do not divide its shape", s->spec);
        }
        parents /= z->block[0];
        TRA_TRY(same_length(s, &z->col[INDICES], z->col[DATA].h.shape.v[0], e));
    } else {
        TRA_TRY(same_length(s, &z->col[DATA], z->col[INDICES].n, e));
    }
    TRA_TRY(same_length(s, &z->col[INDPTR], tra_add_most(parents, 1), e));
    int64_t first;
    TRA_TRY(next_index(s, &z->col[INDPTR], &first, e));
    z->parent = -1;
    return first == 0 ? TRA_OK : tra_fail(e, TRA_INPUT, "%s: array indptr does not begin with 0", s->spec);
}

static tra_status open_coordinates(tra_source *s, npz *z, tra_err *e) {
    static const char *const names[] = {"row", "col"};
    TRA_TRY(need_column(s, &z->col[DATA], "data", 1, e));
    s->most_entries = z->col[DATA].n;
    z->next = next_coordinate;
    column probe = {.in.fd = -1};
    tra_status status = open_column(s, &probe, "coords", true, e);
    tra_stream_close(&probe.in);
    TRA_TRY(status);
    if (!probe.there) {
        if (s->shape.n != 2) return tra_fail(e, TRA_INPUT, "%s: has no array coords, as its format needs", s->spec);
        for (int d = 0; d < 2; d++) {
            TRA_TRY(need_column(s, &z->col[ROW + d], names[d], 1, e));
            TRA_TRY(same_length(s, &z->col[ROW + d], z->col[DATA].n, e));
        }
        return TRA_OK;
    }
    z->coords = tra_news(s->arena, column, s->shape.n);
    for (int d = 0; d < s->shape.n; d++) z->coords[d].in.fd = -1;
    z->ncoords = s->shape.n;
    for (int d = 0; d < s->shape.n; d++) { /* the rows of one array: a reader for each */
        column *c = &z->coords[d];
        TRA_TRY(need_column(s, c, "coords", 2, e));
        if (c->h.shape.v[0] != s->shape.n || c->h.shape.v[1] != z->col[DATA].n)
            return tra_fail(e, TRA_INPUT, "%s: array coords is not of %d dimensions by %" PRId64 " entries", s->spec,
                            s->shape.n, z->col[DATA].n);
        TRA_TRY(skip(c, d * z->col[DATA].n, e));
        c->n = z->col[DATA].n;
    }
    return TRA_OK;
}

static tra_status open_diagonals(tra_source *s, npz *z, tra_err *e) {
    TRA_TRY(need_column(s, &z->col[INDICES], "offsets", 1, e));
    TRA_TRY(need_column(s, &z->col[DATA], "data", 2, e));
    s->most_entries = z->col[DATA].n;
    z->width = z->col[DATA].h.shape.v[1];
    z->next = next_diagonal;
    if (z->width == 0) z->diagonal = z->col[INDICES].n; /* none has an element */
    return z->col[DATA].h.shape.v[0] == z->col[INDICES].n
               ? TRA_OK
               : tra_fail(e, TRA_INPUT, "%s: arrays data and offsets are not of as many diagonals", s->spec);
}

/* The names of the arrays, "a, b". */
static tra_status list_arrays(tra_source *s, const char **text, const char **only, int *n, tra_err *e) {
    enum { SHOWN = 20 };
    const char **names;
    int all;
    TRA_TRY(tra_zip_names(s->in.fd, s->in.size, s->spec, s->arena, &all, &names, e));
    *text = "";
    for (int i = *n = 0; i < all; i++) {
        size_t len = strlen(names[i]);
        if (len < 5 || strcmp(names[i] + len - 4, ".npy") != 0) continue;
        *only = tra_arena_strndup(s->arena, names[i], len - 4);
        if (*n < SHOWN) *text = tra_arena_printf(s->arena, "%s%s%s", *text, *n ? ", " : "", *only);
        if (*n == SHOWN) *text = tra_arena_printf(s->arena, "%s, ...", *text);
        ++*n;
    }
    return TRA_OK;
}

/* Opens one array of the archive as the npy file that it is. */
static tra_status open_array(tra_source *s, tra_err *e) {
    const char *text, *only = NULL, *name = s->member;
    tra_file_part part;
    bool found = false;
    int n;
    if (!name) {
        TRA_TRY(list_arrays(s, &text, &only, &n, e));
        if (n == 0) return tra_fail(e, TRA_INPUT, "%s: is an archive without arrays of numpy", s->spec);
        if (n > 1)
            return tra_fail(e, TRA_INPUT, "%s holds several arrays: %s; name one as in %s:%s", s->spec, text, s->spec,
                            only);
        name = only;
    }
    const char *member = tra_arena_printf(s->arena, "%s.npy", name);
    TRA_TRY(tra_zip_find(s->in.fd, s->in.size, s->spec, member, &part, &found, e));
    if (!found) {
        TRA_TRY(list_arrays(s, &text, &only, &n, e));
        return tra_fail(e, TRA_INPUT, "%s: there is no array '%s'; it holds %s", s->spec, name, text);
    }
    tra_stream archive = s->in;
    part.at += archive.base;
    tra_status status = tra_stream_part(archive.fd, &part, s->spec, archive.cap, &s->in, e);
    s->in.owned = archive.owned;
    archive.owned = false;
    tra_stream_close(&archive);
    TRA_TRY(status);
    s->held += (size_t)s->in.cap;
    s->format = tra_format_find("npy");
    s->state = NULL;
    return s->format->open(s, e);
}

static tra_status open_npz(tra_source *s, tra_err *e) {
    if (!s->in.seekable) return tra_fail(e, TRA_INPUT, "an npz archive cannot be read from a stream: give its name");
    npz *z = tra_new(s->arena, npz);
    for (int i = 0; i < COLUMNS; i++) z->col[i].in.fd = -1;
    if (s->member) return open_array(s, e);
    s->state = z;
    tra_status kind = read_kind(s, z, e);
    if (kind == TRA_NO) return open_array(s, e);
    TRA_TRY(kind);
    TRA_TRY(read_shape(s, e));
    if (z->kind != COO && s->shape.n != 2)
        return tra_fail(e, TRA_INPUT, "%s: format %s is of 2 dimensions, and its shape has %d", s->spec, s->type_text,
                        s->shape.n);
    switch (z->kind) {
    case CSR:
    case CSC:
    case BSR: TRA_TRY(open_compressed(s, z, e)); break;
    case COO: TRA_TRY(open_coordinates(s, z, e)); break;
    case DIA: TRA_TRY(open_diagonals(s, z, e)); break;
    }
    s->dtype = s->o.has_dtype ? s->o.dtype : tra_elem_dtype(z->col[DATA].h.elem);
    s->access = TRA_ACCESS_ENTRIES;
    s->entries = s->mirrored = 0;
    s->least_room = 1;
    s->held += (size_t)(COLUMNS + s->shape.n) * 2 * BUFFER;
    return TRA_OK;
}

static void close_npz(tra_source *s) {
    npz *z = s->state;
    for (int i = 0; i < COLUMNS; i++) tra_stream_close(&z->col[i].in);
    for (int d = 0; d < z->ncoords; d++) tra_stream_close(&z->coords[d].in);
}

const tra_format tra_format_npz = {
    .name = "npz",
    .says = "arrays of numpy, FILE.npz:NAME, or a sparse matrix of scipy",
    .suffixes = ".npz",
    .binary = true,
    .members = true,
    .sniff = sniff,
    .reads = TRA_OPTIONS(TRA_READS_COMMON, &tra_option_duplicates, &tra_option_drop_zeros),
    .open = open_npz,
    .entries = entries,
    .close = close_npz,
    .prepare = npz_prepare,
    .begin = npz_begin,
    .entry = npz_entry,
    .end = npz_end,
    .discard = npz_discard,
};
