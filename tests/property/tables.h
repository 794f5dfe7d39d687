/* tables.h - random programs on tables, whose outputs are compared row by row. */
#ifndef TRA_PROPERTY_TABLES_H
#define TRA_PROPERTY_TABLES_H

#include "property.h"

/* The number of the first program on tables; those of other programs are below. */
enum { FIRST_OF_TABLES = 1000000 };

/* Writes program number `index` of a seed, DIR/prog.tra, with its inputs T0.h5, ... there. */
TRA_MUSTUSE tra_status draw_tables(uint64_t seed, uint64_t index, const char *dir, tra_err *e);
/* What it must give; overflow is set where the program must fail when it runs. */
TRA_MUSTUSE tra_status expect_tables(const tra_graph *g, tra_arena *a, expected *out, tra_err *e);
/* Reads a table as the reference reads inputs. */
TRA_MUSTUSE tra_status read_table(const char *spec, tra_arena *a, tra_ref_rel *out, tra_err *e);
/* The same columns, rows and order. TRA_NO, saying where they differ; exact: floats to the bit. */
TRA_MUSTUSE tra_status same_table(const char *name, const tra_ref_rel *got, const tra_ref_rel *want, bool exact,
                                  tra_err *e);

#endif
