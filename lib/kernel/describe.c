/* describe.c - what a kernel was built from, for readers that have definitions of their own. */
#include "kernel_int.h"

#include <assert.h>

tra_kernel_desc tra_kernel_describe(const tra_kernel *k) {
    assert(k->cls != TRA_K_THEN);
    if (k->rows) return (tra_kernel_desc){.rows = k->rows};
    if (k->row) return (tra_kernel_desc){.name = k->row->name, .arg = k->args[0]};
    if (k->program) return (tra_kernel_desc){.name = k->text};
    if (k->cls == TRA_K_EINSUM || k->cls == TRA_K_ALIGNED)
        return (tra_kernel_desc){.einsum = k->text, .fold = k->fold, .scalar = k->expr};
    return (tra_kernel_desc){.scalar = k->expr};
}
