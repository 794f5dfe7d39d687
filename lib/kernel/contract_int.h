/* contract_int.h - one tile of a product of two operands, as the files of contract.c share it. */
#ifndef TRA_CONTRACT_INT_H
#define TRA_CONTRACT_INT_H

#include "kernel_int.h"

enum { BLAS_MOST = 1 << 30 }; /* BLAS counts in int */

/* The operands and the result; by where they occur, the classes of labels. */
enum { A, B, C };
enum { M, N, K, BATCH, CLASSES };

/* The product of a tile. */
typedef struct problem {
    tra_nest loops[CLASSES]; /* s[A], s[B], s[C] */
    const void *data[2];
    tra_dtype dtype[3];
    void *out;
    int64_t at[3]; /* element where the tile begins */
    bool add;      /* to what out holds */
    bool ints;     /* out is i64, */
    bool wide;     /* and its elements may not fit */
    tra_dtype t;   /* in which tiles are multiplied: out's, or of integers what is exact */
} problem;

static inline char *element(const void *data, tra_dtype t, int64_t i) {
    return (char *)(uintptr_t)data + i * (int64_t)tra_dtype_size(t);
}

/* A matrix of operand o: rows x cols with the strides of two loops. */
typedef struct matrix {
    tra_loop row, col;
    int o;
    bool pack, trans;
    int64_t ld;
} matrix;

/* Computes the tile; joins loops of the problem. */
void contract_run_tile(problem *p);
/* How it does that, without the data. */
tra_impl contract_way(problem *p);
/* As contract_run_tile, what lies in the upper triangle of the result at least: m0 and n0 are the first row and column
 * of the tile in the result. */
void contract_run_triangle(problem *p, int64_t m0, int64_t n0);

/* How BLAS can address the matrix: as it is, transposed, or only packed. */
matrix contract_address(const problem *p, int o, tra_loop row, tra_loop col);
/* Takes loop i out of the nest; -1: a loop of one turn. */
tra_loop contract_take(tra_nest *nest, int i);
/* The loops over the elements of the tile. */
void contract_output_loops(const problem *p, tra_nest *to);
/* Writes zeros to the elements of the output that the loops go to (s[1]). */
void contract_fill_zero(const problem *p, const tra_nest *loops);

#endif
