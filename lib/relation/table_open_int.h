/* table_open_int.h - what table_open.c (tables and their columns) and table_texts.c (texts in files) share. */
#ifndef TRA_TABLE_OPEN_INT_H
#define TRA_TABLE_OPEN_INT_H

#include "table_int.h"

#define BAD(r, e, fmt, ...) tra_fail(e, TRA_INPUT, "%s:%s: " fmt, (r)->path, (r)->name, __VA_ARGS__)

/* Strings of an attribute or a dataset, of any length or of one, as h5py's users write them. */
typedef struct texts {
    hid_t type, memory; /* memory: as they are read */
    bool variable;
    size_t size;
} texts;

/* The names of the columns. */
TRA_MUSTUSE tra_status tra_table_read_order(tra_rel *r, const char ***names, int *n, tra_err *e);

#endif
