/* import_int.h - the parts of tra_import. */
#ifndef TRA_IMPORT_INT_H
#define TRA_IMPORT_INT_H

#include "formats.h"
#include "settle.h"
#include "storage.h"

/* Imports a source of entries into a relation that is stored by levels. ceiling: of the process; memory: bytes for the
 * import's buffers. Fills in its fields of the receipt. */
TRA_MUSTUSE tra_status tra_import_sparse(const tra_import_job *job, tra_source *source, const tra_levels *levels,
                                         int64_t ceiling, int64_t memory, tra_import_receipt *r, tra_err *e);
/* Imports into a relation of one block whose storage is not by levels but by a mapping. Components come from the files
 * that the job names; the others are filled from the entries of the source, by running the mapping backwards. Where
 * source is NULL all components are given, and the job has the tensor's shape. */
TRA_MUSTUSE tra_status tra_import_mapped(const tra_import_job *job, tra_source *source, int64_t ceiling, int64_t memory,
                                         tra_import_receipt *r, tra_err *e);

#endif
