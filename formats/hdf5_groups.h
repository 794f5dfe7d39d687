/* hdf5_groups.h - sparse matrices as groups of HDF5 datasets, for the rows of their formats. */
#ifndef TRA_HDF5_GROUPS_H
#define TRA_HDF5_GROUPS_H

#include "formats.h"

#include <hdf5.h>

struct tra_hdf5_group_writer;

/* What the parts are called, and what else is written. */
typedef struct tra_hdf5_group_names {
    const char *group; /* NULL: the root */
    const char *data, *indices, *pointers;
    bool (*describe)(const tra_sink *k, struct tra_hdf5_group_writer *w); /* attributes that say what the group is */
    /* NULL, or called when all has been written, while the file is open. */
    tra_status (*finish)(tra_sink *k, struct tra_hdf5_group_writer *w, tra_err *e);
} tra_hdf5_group_names;

extern const tra_hdf5_group_names tra_binsparse_names;

typedef struct tra_hdf5_forward { /* a dataset that is written forward */
    hid_t set, type;
    size_t each;
    int64_t at;
    int n;
    char *buf;
} tra_hdf5_forward;

typedef struct tra_hdf5_group_writer {
    hid_t file, group; /* file: -1, and begin makes it, or open */
    const tra_hdf5_group_names *names;
    tra_hdf5_forward data, indices, pointers;
    int64_t row, entries;
    bool wide; /* indices of 64 bits */
} tra_hdf5_group_writer;

/* The functions of a sink (formats.h), whose state is a tra_hdf5_group_writer or begins with one; finish ends a file
 * without calling it a group, failed says that it cannot be written. */
TRA_MUSTUSE tra_status tra_hdf5_group_prepare(tra_sink *k, tra_hdf5_group_writer *w, const tra_hdf5_group_names *names,
                                              tra_err *e);
tra_status tra_hdf5_group_begin(tra_sink *k, tra_err *e);
tra_status tra_hdf5_group_entry(tra_sink *k, const tra_dims *at, const void *value, tra_err *e);
tra_status tra_hdf5_group_end(tra_sink *k, tra_err *e);
void tra_hdf5_group_discard(tra_sink *k);
TRA_MUSTUSE tra_status tra_hdf5_group_finish(tra_sink *k, tra_err *e);
tra_status tra_hdf5_group_failed(const tra_sink *k, tra_err *e);

/* HDF5's type of elements in files: of a bool the enumeration that h5py writes, which the caller does not close. */
hid_t tra_hdf5_type_of(tra_dtype t);
/* Attributes: a text as h5py writes it; AnnData's encoding; a text more in a list of texts, unless it is there. */
bool tra_hdf5_put_text(hid_t on, const char *name, const char *text);
bool tra_hdf5_put_encoding(hid_t on, const char *type, const char *version);
bool tra_hdf5_append_text(hid_t on, const char *name, const char *text);

/* Arrays of AnnData files, as a sink. */
tra_status tra_anndata_prepare(tra_sink *k, const char *to, tra_err *e);
tra_status tra_anndata_begin(tra_sink *k, tra_err *e);
tra_status tra_anndata_put(tra_sink *k, const void *data, int64_t n, tra_err *e);
tra_status tra_anndata_end(tra_sink *k, tra_err *e);
void tra_anndata_discard(tra_sink *k);

#endif
