/* program_int.h - what the files of programs share, and what the rest of the room asks of them. Private to lib/kernel.
 */
#ifndef TRA_PROGRAM_INT_H
#define TRA_PROGRAM_INT_H

#include "../storage/mapped.h"
#include "../model/rows.h"
#include "kernel_int.h"
#include "program.h"

/* Of PACK and PROGRAM kernels: pack.c has the extents of the first but for the keys, and makes them (as
 * tra_cell_join). */
void tra_pack_extents(const tra_kernel *k, tra_dims *out);
void tra_pack_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out);
void tra_program_shape(const tra_kernel *k, const tra_dims *a, const tra_dims *b, tra_dims *out, tra_dimsrc *src);
tra_filled tra_program_filled(const tra_kernel *k, const tra_dims *a, const tra_dims *b, const tra_filled *in);
double tra_program_flops(const tra_kernel *k, const tra_dims *a, const tra_dims *b);
/* The first row that operand o has in a packed array. */
int64_t tra_program_row(const tra_calc_program *p, int o);
/* The length of a label's block, for operands of these extents. */
int64_t tra_program_length(const tra_kernel *k, int label, const tra_dims *a, const tra_dims *b);

/* How a program runs on operands of these layouts. */
tra_impl tra_program_way(const tra_kernel *k, const tra_layout *a, const tra_layout *b);
/* As tra_cell_scratch and tra_cell_join. */
int64_t tra_program_scratch(const tra_kernel *k, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                            const tra_dims *ext_b, const tra_layout *out);
void tra_program_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch);

/* An operand of a program that is no fused statement: as compiled kernels have it, and what the functions of a
 * tra_calc_operand need besides, whose ctx this is. */
typedef struct tra_operand_view {
    tra_codegen_operand at;
    bool packed, rows;
    tra_dtype dtype;
    int rank;
} tra_operand_view;
/* Where operand o is, of arrays a and b; origins are set when all that tell of them are there. */
void tra_operand_view_of(const tra_kernel *k, int o, const tra_cell *a, const tra_cell *b, tra_operand_view *v);
/* Where the blocks of the labels begin. */
tra_status tra_operand_origins(const tra_kernel *k, const tra_cell *a, const tra_cell *b, int64_t *origin, tra_err *e);
tra_status tra_operand_get(void *ctx, const int64_t *at, tra_calc_number *out, tra_err *e);
bool tra_operand_next(void *ctx, int n, const int64_t *prefix, int64_t *key);
static inline bool tra_calc_number_is_zero(tra_calc_number n) { return n.real ? n.r == 0 : n.i == 0; }

/* One operand of a packed array: n elements of 64 bits, or rows, whose parts are those of lib/model/rows.h. `first`
 * is to be subtracted from row numbers; coordinates follow from these by the extents of a whole block. */
typedef struct tra_fused_unpacked {
    const void *value;
    int64_t n;
    tra_rows_view rows; /* begin is NULL where there are none */
    int64_t first;
} tra_fused_unpacked;
/* Finds operand o in the packed array a. length: extents of the labels here. numbered: every row number of the block
 * has a row, so only `begin` is found. scratch: tra_fused_unpack_scratch bytes; what is used is taken off it. */
tra_fused_unpacked tra_fused_unpack(const tra_calc_program *p, int o, const tra_cell *a, const int64_t *length,
                                    bool numbered, char **scratch);
/* Bytes that finding all operands takes in an array of that type. */
int64_t tra_fused_unpack_scratch(const tra_calc_program *p, const tra_fused_plan *x, const tra_type *a);
int64_t tra_fused_scratch(const tra_kernel *k, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                          const tra_dims *ext_b, const tra_layout *out);
void tra_fused_join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, char *scratch);
/* Adds the statement to sum, or, with `first`, sets sum to it; sum has the statement's type and extents. */
void tra_fused_add(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_array *sum, bool first,
                   char *scratch);
/* Does the interpreter build dictionaries for the statement (tra_program_builds)? tra_fused_interpreted: bytes that
 * are set aside for them, those of the plan and a result by entries; enough for small ones. Compiled code needs none.
 */
bool tra_fused_builds(const tra_kernel *k);
int64_t tra_fused_interpreted(const tra_kernel *k, const tra_fused_plan *x, const tra_dims *ext_a,
                              const tra_dims *ext_b, bool rows);
/* The same of a product under a mask (fused_masked.c). add: to what a dense result holds. */
int64_t tra_fused_masked_scratch(const tra_kernel *k, const tra_fused_plan *plan, const tra_type *a,
                                 const tra_dims *ext_a, const tra_type *b, const tra_dims *ext_b,
                                 const tra_layout *out);
void tra_fused_masked_run(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, bool add,
                          char *scratch);
/* What is sampled at the entries of a mask (fused_sampled.c). */
void tra_fused_sampled_run(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, char *scratch);
/* A statement whose plan is one loop over the rows of an operand, and reads no other rows of that operand, is computed
 * in pieces of these rows (parallel.h, fused_pieces.c). Compiled code and the interpreter have the same pieces. */
enum { TRA_FUSED_STEPS = 4 }; /* of parallel.h, that an entry takes about */
typedef struct tra_fused_loop {
    int operand;
    bool disjoint; /* its first dimension is the first key of all that is made: other rows write to other places */
} tra_fused_loop;
bool tra_fused_loop_of(const tra_fused_plan *x, tra_fused_loop *l);

/* A program that a run has made for one way in which its operands and its result are held. */
struct tra_made {
    const tra_calc_program *p;
    int held;     /* TRA_FUSED_ bits */
    bool as_rows; /* the result of a fused statement */
    tra_arena *arena;
    tra_codegen_spec spec;
    const tra_codegen_kernel *kernel;
    tra_made *next;
};
int tra_program_held(const tra_layout *a, const tra_layout *b); /* TRA_FUSED_ bits */
/* The one for these arrays, of this thread's run; NULL, and TRA_INTERNAL: there is none. */
const tra_made *tra_program_made(const tra_kernel *k, const tra_cell *a, const tra_cell *b, bool as_rows, tra_err *e);
/* The type of the values of operand o of a fused statement where its plan reads them. */
tra_element tra_fused_element(const tra_calc_program *p, int o);

#endif
