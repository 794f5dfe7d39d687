/* npz_int.h - writing of npz, for its row in the table of formats. */
#ifndef TRA_NPZ_INT_H
#define TRA_NPZ_INT_H

#include "npy.h"

tra_status npz_prepare(tra_sink *k, const char *to, tra_err *e);
tra_status npz_begin(tra_sink *k, tra_err *e);
tra_status npz_entry(tra_sink *k, const tra_dims *at, const void *value, tra_err *e);
tra_status npz_end(tra_sink *k, tra_err *e);
void npz_discard(tra_sink *k);

#endif
