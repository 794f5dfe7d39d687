/* stored_stats.c - what a file says of how entries are spread. */
#include "stored_int.h"

#include <string.h>

static void take_spread(const int64_t *words, tra_spread *s) {
    *s =
        (tra_spread){.parents = words[0], .entries = words[1], .squares = words[2], .most = words[3], .span = words[4]};
    memcpy(s->logs, words + 6, sizeof s->logs);
}

tra_status tra_rel_statistics(tra_rel *r, int64_t ordinal, tra_statistics *out, tra_err *e) {
    struct tra_stored *x = r->stored;
    if (!x || x->loose) return tra_fail(e, TRA_NO, "%s:%s has no statistics", r->path, r->name);
    const tra_form *f = &x->form;
    int spreads = tra_form_spreads(f), i = 1;
    int64_t words[(TRA_MAXDIM + 1) * TRA_SPREAD_WORDS];
    hsize_t start[3] = {(hsize_t)ordinal, 0, 0}, count[3] = {1, (hsize_t)spreads, TRA_SPREAD_WORDS};
    tra_h5_enter();
    hid_t dset = H5Dopen2(r->file, tra_table_path(r->arena, r->name, "statistics"), H5P_DEFAULT);
    hid_t space = H5Dget_space(dset), memory = H5Screate_simple(3, count, NULL);
    bool ok = dset >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
              H5Dread(dset, H5T_NATIVE_UINT64, memory, space, H5P_DEFAULT, words) >= 0;
    tra_status s =
        ok ? TRA_OK : tra_h5_fail(e, TRA_INPUT, r->vfd, "the statistics of %s:%s are damaged", r->path, r->name);
    H5Sclose(memory);
    H5Sclose(space);
    if (dset >= 0) H5Dclose(dset);
    tra_h5_leave();
    TRA_TRY(s);
    *out = (tra_statistics){.finite = words[5] & TRA_FLAG_FINITE};
    take_spread(words, &out->rows);
    for (int l = 0; l < f->levels.n; l++)
        if (f->group[l] > 0) take_spread(words + TRA_SPREAD_WORDS * i++, &out->level[l]);
    return TRA_OK;
}

tra_status tra_rel_columns(tra_rel *r, int64_t ordinal, uint32_t *out, tra_err *e) {
    struct tra_stored *x = r->stored;
    if (!x || x->loose) return tra_fail(e, TRA_NO, "%s:%s has no counts of columns", r->path, r->name);
    int64_t at = 0, last = 0;
    for (int64_t t = 0; t <= ordinal; t++) {
        const int64_t *n = x->begin + (x->form.levels.n - 1) * (r->cat.n + 1) + t;
        tra_dims ext;
        tra_catalog_ext(&r->cat, t, &ext);
        at += last;
        last = ext.v[ext.n - 1] <= n[1] - n[0] ? ext.v[ext.n - 1] : 0;
    }
    if (last == 0) return tra_fail(e, TRA_NO, "%s:%s has no counts of the columns of that block", r->path, r->name);
    return tra_vector_read(r, &x->c[x->form.columns], at, last, out, e);
}
