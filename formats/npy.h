/* npy.h - the headers of numpy's arrays, for npy and npz. */
#ifndef TRA_NPY_H
#define TRA_NPY_H

#include "formats.h"

typedef struct tra_npy {
    char descr[32]; /* numpy's type */
    bool fortran;
    tra_dims shape;
    tra_elem elem; /* by tra_npy_elem */
    bool swap;
} tra_npy;

/* Reads the header; the elements follow. */
TRA_MUSTUSE tra_status tra_npy_read(tra_stream *in, tra_arena *a, const char *spec, tra_npy *out, tra_err *e);
/* TRA_INPUT for types that are no numbers. */
TRA_MUSTUSE tra_status tra_npy_elem(tra_npy *h, const char *spec, tra_err *e);
/* Adds the header of an array to a text; its end is at a multiple of 64 bytes. */
void tra_npy_header(tra_str *to, tra_dtype t, const tra_dims *shape);

#endif
