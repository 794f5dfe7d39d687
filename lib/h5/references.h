/* references.h - references of HDF5: numbers that say where in its file an object is. In a copy of the file objects are
 * elsewhere, so that references are made anew there, whatever they are part of: attributes and datasets of them, of
 * compounds, arrays and lists of them. All is called under the HDF5 lock.
 */
#ifndef TRA_REFERENCES_H
#define TRA_REFERENCES_H

#include "../base/base.h"

#include <hdf5.h>

/* The objects of an old file that are in the new one too, each under the path that it had. */
typedef struct tra_copies {
    int64_t n, room;
    struct {
        haddr_t from; /* address in the old file; HADDR_UNDEF: a free slot */
        const char *path;
    } * slot;
} tra_copies;
void tra_copies_add(tra_copies *m, haddr_t from, const char *path); /* unless it is there; path is not copied */
const char *tra_copies_find(const tra_copies *m, haddr_t from);     /* NULL: it has not been copied */
void tra_copies_free(tra_copies *m);

/* Makes the references in what has moved anew, but those of dimension scales (scales.h). file: for messages. TRA_INPUT:
 * one leads to an object that has not been copied. */
TRA_MUSTUSE tra_status tra_references_renew(hid_t old, hid_t to, const tra_copies *m, const char *file, tra_err *e);

/* Copies what the file at `path` holds, besides the n objects of these paths, into the new file (copy_others.c). There
 * need be no such file. */
TRA_MUSTUSE tra_status tra_h5_copy_others(hid_t to, const char *path, int n, const char *const *names, tra_err *e);

#endif
