/* storage_int.h - what the files of storage statements share. */
#ifndef TRA_STORAGE_INT_H
#define TRA_STORAGE_INT_H

#include "../calculus/calc_parse.h"
#include "storage.h"

/* tra_storage_parse; whole: components declared real are integers. */
const tra_storage_decl *calc_storage_parse(const char *text, int n, int at, bool whole, tra_arena *a, int *end,
                                           tra_calc_error *err);
/* A component's declaration, with numbers in the place of n names. */
void calc_component_print(const tra_component *c, int n, const char *const *names, const int64_t *values, tra_str *out);
/* Components and mapping that levels stand for, as the inside of a storage statement over the dimensions n0, n1, .. */
void calc_levels_text(int rank, const tra_calc_level *level, const int *order, tra_str *out);

#endif
