/* import_int.h - the parts of tra_import. */
#ifndef TRA_IMPORT_INT_H
#define TRA_IMPORT_INT_H

#include "formats.h"
#include "settle.h"
#include "storage.h"

/* Entries to a relation that is stored by levels; fills in what it knows of the receipt. */
TRA_MUSTUSE tra_status tra_import_sparse(const tra_import_job *job, tra_source *source, const tra_levels *levels,
                                         int64_t ceiling, int64_t memory, tra_import_receipt *r, tra_err *e);
/* To a relation of one block, stored by a storage that is no levels: components come from the files of the job, those
 * that are not given are filled from the entries of the source, by running the mapping backwards. source NULL: all
 * components are given, and the job's shape is the tensor's. */
TRA_MUSTUSE tra_status tra_import_mapped(const tra_import_job *job, tra_source *source, int64_t ceiling, int64_t memory,
                                         tra_import_receipt *r, tra_err *e);

#endif
