/* table_strings.c - writing the dictionaries of a table: as strings for other programs, and as ends and bytes for tra.
 * They come from memory or, if they do not fit, from a scratch file. */
#include "tablefile_int.h"

#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for states on the stack */
#include <xxhash.h>

void tra_writer_spooled(tra_writer *w, const tra_spooled *of) { w->table->spooled = of; }

void tra_writer_columns(tra_writer *w, const tra_schema *s) { w->table->form.schema = w->type.columns = s; }

/* ---- some strings at a time ------------------------------------------------------------------------------------- */

enum { AT_ONCE = 4096, BYTES = 256 << 10 };

/* Strings from .. from + n - 1 of a dictionary, BYTES of them at most where they are several: string k of these is
 * bytes[begin[k] - begin[0]] and so on. */
typedef struct some_strings {
    const tra_dictionary *d;
    const tra_spooled *spooled; /* NULL: all are in memory */
    int64_t from, n;
    const int64_t *begin;
    const char *bytes;
    int64_t *begin_buf;
    char *buf;
    int64_t room;
} some_strings;

static some_strings strings_of(const tra_writer *w, int c) {
    const tra_spooled *s = w->table->spooled ? &w->table->spooled[c] : NULL;
    return (some_strings){.d = w->type.columns->v[c].dict, .spooled = s && s->n > 0 ? s : NULL};
}

static void end_strings(some_strings *s) {
    free(s->begin_buf);
    free(s->buf);
}

/* How many of the n strings that begin at begin[0] .. begin[n - 1] are taken at once. */
static int64_t some_of(const int64_t *begin, int64_t n) {
    while (n > 1 && begin[n] - begin[0] > BYTES) n /= 2;
    return n;
}

static bool load(some_strings *s) {
    const tra_spooled *f = s->spooled;
    if (!s->begin_buf) s->begin_buf = tra_malloc((AT_ONCE + 1) * sizeof *s->begin_buf);
    if (tra_pread(f->fd, s->begin_buf, (size_t)(s->n + 1) * 8, f->begin_at + s->from * 8, f->where, NULL) != TRA_OK)
        return false;
    s->n = some_of(s->begin_buf, s->n);
    int64_t bytes = s->begin_buf[s->n] - s->begin_buf[0];
    if (bytes > s->room) {
        free(s->buf);
        s->room = tra_max64(bytes, BYTES);
        s->buf = tra_malloc((size_t)s->room);
    }
    s->begin = s->begin_buf;
    s->bytes = s->buf;
    return bytes == 0 || tra_pread(f->fd, s->buf, (size_t)bytes, f->bytes_at + s->begin[0], f->where, NULL) == TRA_OK;
}

/* Goes on to the next strings. False, with n = 0: there are no more, or they cannot be read (*ok). */
static bool more_strings(some_strings *s, bool *ok) {
    s->from += s->n;
    s->n = *ok ? tra_min64(AT_ONCE, s->d->n - s->from) : 0;
    if (s->n == 0) return false;
    if (s->spooled) return *ok = load(s);
    s->begin = s->d->begin + s->from;
    s->n = some_of(s->begin, s->n);
    s->bytes = s->d->bytes + s->begin[0];
    return true;
}

/* ---- for other programs ----------------------------------------------------------------------------------------- */

/* Copies the strings to `room`, each with a NUL, and points text to them. */
static void end_by_zeros(const some_strings *s, tra_str *room, const char **text) {
    room->n = 0;
    for (int64_t k = 0; k < s->n; k++) {
        tra_str_addn(room, s->bytes + (s->begin[k] - s->begin[0]), (size_t)(s->begin[k + 1] - s->begin[k]));
        tra_str_addn(room, "", 1);
    }
    const char *at = room->s;
    for (int64_t k = 0; k < s->n; k++) {
        text[k] = at;
        at += s->begin[k + 1] - s->begin[k] + 1;
    }
}

bool tra_table_put_categories(tra_writer *w, int column, hid_t group) {
    some_strings s = strings_of(w, column);
    hsize_t dims = (hsize_t)s.d->n;
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    bool ok = H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
              H5Pset_obj_track_times(dcpl, false) >= 0;
    hid_t dset = ok ? H5Dcreate2(group, "categories", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT) : -1;
    ok = dset >= 0 && tra_table_put_encoding(dset, "string-array", "0.2.0");
    const char **text = tra_calloc(AT_ONCE, sizeof *text);
    tra_str room = {0};
    while (more_strings(&s, &ok)) {
        hsize_t from = (hsize_t)s.from, n = (hsize_t)s.n;
        hid_t memory = H5Screate_simple(1, &n, NULL);
        end_by_zeros(&s, &room, text);
        ok = H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &n, NULL) >= 0 &&
             H5Dwrite(dset, type, memory, space, H5P_DEFAULT, text) >= 0;
        H5Sclose(memory);
    }
    free(text);
    tra_str_free(&room);
    end_strings(&s);
    if (dset >= 0 && H5Dclose(dset) < 0) ok = false;
    H5Pclose(dcpl);
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

/* ---- ends and bytes --------------------------------------------------------------------------------------------- */

bool tra_stream_begin(tra_table_stream *t, hid_t group, const char *name, hid_t filetype, int64_t rows, int width) {
    hsize_t dims[2] = {(hsize_t)rows, (hsize_t)width};
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    *t = (tra_table_stream){.space = H5Screate_simple(width > 0 ? 2 : 1, dims, NULL),
                            .dset = -1,
                            .width = tra_max64(1, width),
                            .buf = tra_malloc(TRA_STREAM_BYTES)};
    t->seal = (uint64_t)(rows * t->width);
    if (H5Pset_obj_track_times(dcpl, false) >= 0)
        t->dset = H5Dcreate2(group, name, filetype, t->space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Pclose(dcpl);
    return t->dset >= 0;
}

/* Writes what the buffer has: whole rows, with zeros after the last bytes. */
static bool flush(tra_table_stream *t) {
    int64_t n = tra_ceil_div((int64_t)t->n, 8);
    hsize_t from[2] = {(hsize_t)(t->at / t->width), 0}, rows[2] = {(hsize_t)(n / t->width), (hsize_t)t->width};
    if (n == 0) return true;
    memset((char *)t->buf + t->n, 0, 8 * (size_t)n - t->n);
    t->seal = tra_h5_seal_more(t->seal, t->buf, n);
    t->at += n;
    t->n = 0;
    hid_t memory = H5Screate_simple(2, rows, NULL);
    bool ok = H5Sselect_hyperslab(t->space, H5S_SELECT_SET, from, NULL, rows, NULL) >= 0 &&
              H5Dwrite(t->dset, H5T_NATIVE_INT64, memory, t->space, H5P_DEFAULT, t->buf) >= 0;
    H5Sclose(memory);
    return ok;
}

bool tra_stream_add(tra_table_stream *t, const void *v, int64_t bytes) {
    const char *p = v;
    size_t room = TRA_STREAM_BYTES / 8 / (size_t)t->width * (size_t)t->width * 8;
    for (size_t n; bytes > 0; p += n, bytes -= (int64_t)n) {
        n = (size_t)tra_min64(bytes, (int64_t)(room - t->n));
        memcpy((char *)t->buf + t->n, p, n);
        t->n += n;
        if (t->n == room && !flush(t)) return false;
    }
    return true;
}

bool tra_stream_end(tra_table_stream *t, bool ok) {
    ok = ok && flush(t);
    int64_t seal = (int64_t)t->seal;
    ok = ok && tra_h5_put_ints(t->dset, "tra_seal", 0, NULL, &seal);
    if (t->dset >= 0 && H5Dclose(t->dset) < 0) ok = false;
    H5Sclose(t->space);
    free(t->buf);
    return ok;
}

/* Writes the strings of a column after `at` bytes of others: where each ends, and their bytes. */
static bool put_dictionary(some_strings *x, int64_t *at, tra_table_stream *ends, tra_table_stream *text,
                           uint64_t *sum) {
    int64_t *end = tra_malloc(AT_ONCE * sizeof *end);
    XXH64_state_t of_ends, of_text;
    bool ok = true;
    XXH64_reset(&of_ends, 0);
    XXH64_reset(&of_text, 0);
    while (more_strings(x, &ok)) {
        int64_t bytes = x->begin[x->n] - x->begin[0];
        for (int64_t k = 0; k < x->n; k++) end[k] = *at + x->begin[k + 1] - x->begin[0];
        XXH64_update(&of_ends, end, (size_t)x->n * sizeof *end);
        XXH64_update(&of_text, x->bytes, (size_t)bytes);
        ok = tra_stream_add(ends, end, x->n * (int64_t)sizeof *end) && tra_stream_add(text, x->bytes, bytes);
        *at += bytes;
    }
    *sum = tra_strings_sum(XXH64_digest(&of_ends), XXH64_digest(&of_text));
    free(end);
    end_strings(x);
    return ok;
}

bool tra_table_put_dictionaries(tra_writer *w, hid_t group) {
    const tra_schema *s = w->type.columns;
    int64_t n = 0, bytes = 0, at = 0;
    hsize_t columns = 0;
    uint64_t *sums = tra_calloc((size_t)s->n + 1, sizeof *sums);
    for (int c = 0; c < s->n; c++) {
        some_strings x = strings_of(w, c);
        if (x.d) n += x.d->n, bytes += x.spooled ? x.spooled->bytes : x.d->begin[x.d->n];
    }
    tra_table_stream ends, text;
    bool ok = tra_stream_begin(&ends, group, "string_ends", H5T_STD_I64LE, n, 0);
    ok = tra_stream_begin(&text, group, "strings", H5T_STD_I64LE, tra_ceil_div(bytes, 8), 0) && ok;
    for (int c = 0; c < s->n && ok; c++) {
        some_strings x = strings_of(w, c);
        if (x.d) ok = put_dictionary(&x, &at, &ends, &text, &sums[columns++]);
    }
    ok = tra_stream_end(&ends, ok);
    ok = tra_stream_end(&text, ok) &&
         tra_h5_put_table(group, "string_sums", H5T_STD_U64LE, H5T_NATIVE_UINT64, 1, &columns, sums);
    free(sums);
    return ok;
}
