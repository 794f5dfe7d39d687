/* abi.h - what a compiled kernel and its caller share: the same text is compiled here and there. Private to
 * lib/codegen. */
#ifndef TRA_CODEGEN_ABI_H
#define TRA_CODEGEN_ABI_H

#include <stdint.h>

/* A component, or the keys of one; and a call. row to n: as tra_codegen_rows. listed: rows may come in any order;
 * exact: places are only counted. */
#define GEN_ABI                                                                                                        \
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
        _Bool listed, exact;                                                                                           \
        const volatile _Bool *stop;                                                                                    \
        void *(*grow)(struct kernel_args *, void *, int64_t, int64_t);                                                 \
        void *memory;                                                                                                  \
        int64_t most, taken, key[31];                                                                                  \
        int nkeys;                                                                                                     \
    };

/* What a kernel returns: 0, the number of what went wrong (from 1, in tra_kernel_wrong), or: */
enum {
    GEN_TOO_LARGE = -1,          /* a number that a kernel that is not wide does not take */
    GEN_MISFIT = -2,             /* an array of another size than was said */
    GEN_NO_MEMORY = -3,          /* grow said no */
    GEN_NO_ORDER = -4,           /* rows do not come upwards, and listed is false */
    GEN_STOPPED = -6,            /* give said so */
    GEN_NO_ROOM = -5,            /* more entries than there is room for */
    GEN_LISTED_COLUMNS = 1 << 23 /* with more columns entries are listed and sorted */
};

#endif
