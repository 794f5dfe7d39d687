/* stored_foreign.c - sparse tensors that other programs wrote, read in place. */
#include "stored_int.h"

tra_status tra_stored_foreign(tra_rel *r, const tra_dims *block, tra_err *e) {
    (void)block;
    return tra_fail(e, TRA_INPUT, "%s:%s: sparse tensors of other programs cannot be read yet", r->path, r->name);
}
