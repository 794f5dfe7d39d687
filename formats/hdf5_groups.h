/* hdf5_groups.h - sparse matrices as groups of HDF5 datasets, for the rows of their formats. */
#ifndef TRA_HDF5_GROUPS_H
#define TRA_HDF5_GROUPS_H

#include "formats.h"

struct tra_hdf5_group_writer;

/* What the parts are called, and the attributes that say what they are. */
typedef struct tra_hdf5_group_names {
    const char *group; /* NULL: the root */
    const char *data, *indices, *pointers;
    bool (*describe)(const tra_sink *k, struct tra_hdf5_group_writer *w);
} tra_hdf5_group_names;

extern const tra_hdf5_group_names tra_anndata_names, tra_binsparse_names;

/* The functions of a sink (formats.h). */
TRA_MUSTUSE tra_status tra_hdf5_group_prepare(tra_sink *k, const tra_hdf5_group_names *names, tra_err *e);
tra_status tra_hdf5_group_begin(tra_sink *k, tra_err *e);
tra_status tra_hdf5_group_entry(tra_sink *k, const tra_dims *at, const void *value, tra_err *e);
tra_status tra_hdf5_group_end(tra_sink *k, tra_err *e);
void tra_hdf5_group_discard(tra_sink *k);

#endif
