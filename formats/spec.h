/* spec.h - how files are named: [FORMAT[(OPTION=VALUE,...)]:]FILE[:DATASET]. */
#ifndef TRA_SPEC_H
#define TRA_SPEC_H

#include "reading.h"

typedef struct tra_file_spec {
    const tra_format *format;   /* by prefix; NULL: none is said */
    const char *options;        /* between the parentheses; NULL: there are none */
    const char *path, *dataset; /* dataset: NULL where none is said */
} tra_file_spec;

/* Bytes before FILE. A file that has the whole spec as its name has no prefix; a FORMAT counts if there is such. */
size_t tra_spec_prefix(const char *spec);
/* In the arena. */
void tra_spec_parse(const char *spec, tra_arena *a, tra_file_spec *out);
/* Sets the options that stand in the spec. TRA_USAGE: there is no such, or its format, if it is told, does not have it.
 */
TRA_MUSTUSE tra_status tra_spec_options(const tra_file_spec *at, const char *spec, tra_reading *to, tra_arena *a,
                                        tra_err *e);
/* Has the file HDF5's signature? */
bool tra_spec_is_hdf5(const char *path);
/* The format by the first bytes of a plain file; NULL: none, or it is compressed. */
const tra_format *tra_spec_sniff(const char *path);

#endif
