/* import_table.h - the receipt of tra import of a table. */
#ifndef TRA_IMPORT_TABLE_H
#define TRA_IMPORT_TABLE_H

#include "cmd.h"

#include "../formats/formats.h"

TRA_MUSTUSE tra_status tra_table_receipt_print(const char *source, const char *output, const tra_table_receipt *r,
                                               tra_err *e);

#endif
