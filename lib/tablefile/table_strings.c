/* table_strings.c - writing the dictionaries of a table: as strings for other programs, and as ends and bytes for tra.
 * They come from memory or, if they do not fit, from a scratch file. */
#include "tablefile_int.h"

#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* for states on the stack */
#include <xxhash.h>

void tra_writer_columns(tra_writer *w, const tra_schema *s) { w->table->form.schema = w->type.columns = s; }

bool tra_dictionary_is_cut(const tra_dictionary *d, int64_t rows) {
    enum { STRINGS = 256, TIMES = 4 }; /* it has so many strings at least, and so many for each row */
    return d && d->n >= STRINGS && rows <= d->n / TIMES;
}

int64_t tra_dictionary_file_bytes(int64_t n, int64_t bytes) {
    enum { REFERENCE = 16, HEAP = 16 + 4, END = 8 }; /* HDF5's heap begins strings with 16 bytes, at multiples of 8 */
    return (REFERENCE + HEAP + END) * n + 2 * bytes;
}

int64_t tra_writer_strings_bytes(const tra_writer *w) { return w->table ? w->table->strings : 0; }

/* ---- for other programs ----------------------------------------------------------------------------------------- */

/* Copies the strings to `room`, each with a NUL, and points text to them. */
static void end_by_zeros(const tra_strings *s, tra_str *room, const char **text) {
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
    tra_strings s;
    tra_strings_begin(&s, w->type.columns->v[column].dict);
    hsize_t dims = (hsize_t)s.d->n;
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &dims, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER); /* whose buffers HDF5 clears: by default 1 MiB each */
    int64_t alone = w->table->alone;
    bool ok = H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
              H5Pset_obj_track_times(dcpl, false) >= 0 && H5Pset_buffer(transfer, 1 << 16, NULL, NULL) >= 0;
    hid_t dset = ok ? H5Dcreate2(group, "categories", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT) : -1;
    ok = dset >= 0 && tra_table_put_encoding(dset, "string-array", "0.2.0") &&
         (!alone || tra_h5_put_ints(dset, "tra_alone", 0, NULL, &alone));
    const char **text = NULL;
    tra_str room = {0};
    while (ok && !alone && (ok = tra_strings_more(&s, NULL) == TRA_OK) && s.n > 0) {
        text = tra_realloc(text, (size_t)s.n, sizeof *text);
        hsize_t from = (hsize_t)s.from, n = (hsize_t)s.n;
        hid_t memory = H5Screate_simple(1, &n, NULL);
        end_by_zeros(&s, &room, text);
        w->table->strings += tra_dictionary_file_bytes(s.n, s.begin[s.n] - s.begin[0]);
        ok = H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &n, NULL) >= 0 &&
             H5Dwrite(dset, type, memory, space, transfer, text) >= 0;
        H5Sclose(memory);
    }
    free(text);
    tra_str_free(&room);
    tra_strings_end(&s);
    if (dset >= 0 && H5Dclose(dset) < 0) ok = false;
    H5Pclose(transfer);
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
static bool put_dictionary(tra_strings *x, int64_t *at, tra_table_stream *ends, tra_table_stream *text, uint64_t *sum) {
    int64_t *end = NULL;
    XXH64_state_t of_ends, of_text;
    bool ok = true;
    XXH64_reset(&of_ends, 0);
    XXH64_reset(&of_text, 0);
    while (ok && (ok = tra_strings_more(x, NULL) == TRA_OK) && x->n > 0) {
        end = tra_realloc(end, (size_t)x->n, sizeof *end);
        int64_t bytes = x->begin[x->n] - x->begin[0];
        for (int64_t k = 0; k < x->n; k++) end[k] = *at + x->begin[k + 1] - x->begin[0];
        XXH64_update(&of_ends, end, (size_t)x->n * sizeof *end);
        XXH64_update(&of_text, x->bytes, (size_t)bytes);
        ok = tra_stream_add(ends, end, x->n * (int64_t)sizeof *end) && tra_stream_add(text, x->bytes, bytes);
        *at += bytes;
    }
    *sum = tra_strings_sum(XXH64_digest(&of_ends), XXH64_digest(&of_text));
    free(end);
    tra_strings_end(x);
    return ok;
}

static bool add_bytes(const tra_dictionary *d, int64_t *bytes) {
    tra_strings s;
    bool ok = true;
    if (!tra_dictionary_is_away(d) || !d->kept) return *bytes += d->begin ? d->begin[d->n] : d->bytes_most, true;
    tra_strings_begin(&s, d);
    while ((ok = tra_strings_more(&s, NULL) == TRA_OK) && s.n > 0) *bytes += s.begin[s.n] - s.begin[0];
    tra_strings_end(&s);
    return ok;
}

bool tra_table_put_dictionaries(tra_writer *w, hid_t group) {
    const tra_schema *s = w->type.columns;
    int64_t n = 0, bytes = 0, at = 0;
    hsize_t columns = 0;
    uint64_t *sums = tra_calloc((size_t)s->n + 1, sizeof *sums);
    bool ok = true;
    for (int c = 0; c < s->n && ok; c++) {
        const tra_dictionary *d = s->v[c].dict;
        if (d) n += d->n, ok = add_bytes(d, &bytes);
    }
    tra_table_stream ends, text;
    ok = tra_stream_begin(&ends, group, "string_ends", H5T_STD_I64LE, n, 0) && ok;
    ok = tra_stream_begin(&text, group, "strings", H5T_STD_I64LE, tra_ceil_div(bytes, 8), 0) && ok;
    for (int c = 0; c < s->n && ok; c++) {
        tra_strings x;
        if (!s->v[c].dict) continue;
        tra_strings_begin(&x, s->v[c].dict);
        ok = put_dictionary(&x, &at, &ends, &text, &sums[columns++]);
    }
    ok = tra_stream_end(&ends, ok);
    ok = tra_stream_end(&text, ok) &&
         tra_h5_put_table(group, "string_sums", H5T_STD_U64LE, H5T_NATIVE_UINT64, 1, &columns, sums);
    free(sums);
    return ok;
}
