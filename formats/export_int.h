/* export_int.h - the parts of tra_export. */
#ifndef TRA_EXPORT_INT_H
#define TRA_EXPORT_INT_H

#include "formats.h"

/* A table (table_export.c). */
TRA_MUSTUSE tra_status tra_export_table(const tra_export_job *job, tra_rel *rel, tra_export_receipt *r, tra_err *e);

#endif
