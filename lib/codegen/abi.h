/* abi.h - the interface between a compiled kernel and its caller. The structs are compiled here and, as the same text,
 * with each kernel. Private to lib/codegen. */
#ifndef TRA_CODEGEN_ABI_H
#define TRA_CODEGEN_ABI_H

#include <stdint.h>

/* kernel_error: a tra_calc_wrong, and the message. kernel_array: a component, or the keys of one. kernel_operand: as
 * tra_codegen_operand. kernel_args: a call; row to n as in tra_codegen_rows. exact: entries are only counted. The
 * kernel gets memory by grow and may take `most` bytes, of which `taken` are in use; key: the key of an error. */
#define GEN_ABI                                                                                                        \
    struct kernel_error {                                                                                              \
        int wrong;                                                                                                     \
        const char *text;                                                                                              \
    };                                                                                                                 \
    struct kernel_array {                                                                                              \
        const void *data;                                                                                              \
        int64_t n;                                                                                                     \
    };                                                                                                                 \
    struct kernel_operand {                                                                                            \
        const void *value;                                                                                             \
        const int64_t *row, *begin;                                                                                    \
        const uint32_t *column;                                                                                        \
        int64_t nrows, first, width, extent[31], origin[31], length[31], stride[31];                                   \
    };                                                                                                                 \
    struct kernel_args {                                                                                               \
        const struct kernel_array *array;                                                                              \
        const int64_t *whole;                                                                                          \
        const double *real;                                                                                            \
        const struct kernel_operand *operand;                                                                          \
        int (*give)(void *, const int64_t *, int64_t, double);                                                         \
        void *ctx;                                                                                                     \
        void *out;                                                                                                     \
        int64_t *row, *begin;                                                                                          \
        uint32_t *column;                                                                                              \
        void *value;                                                                                                   \
        int64_t room_rows, room, nrows, n;                                                                             \
        _Bool exact;                                                                                                   \
        const volatile _Bool *stop;                                                                                    \
        void *(*grow)(struct kernel_args *, void *, int64_t, int64_t);                                                 \
        void *memory;                                                                                                  \
        int64_t most, taken, key[31];                                                                                  \
        int nkeys;                                                                                                     \
    };

/* What a kernel returns: 0, the number of an error (from 1, in tra_kernel_wrong), or one of these: */
enum {
    GEN_TOO_LARGE = -1, /* a number is too large for a kernel that was not made `wide`, or rows have more than 2^23
                           columns */
    GEN_MISFIT = -2,    /* an array does not have the size that its storage says */
    GEN_NO_MEMORY = -3, /* grow returned NULL */
    GEN_NO_ORDER = -4,  /* rows do not ascend */
    GEN_NO_ROOM = -5,   /* there are more entries than room */
    GEN_STOPPED = -6,   /* `give` asked to stop: it has set the error */
};

#endif
