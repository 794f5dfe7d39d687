/* scalapack.c - a peer of tests/bench/run.
 *
 * usage: mpirun -n R scalapack M N K BLOCK REPEATS
 *
 * Multiplies M x K by K x N doubles in memory, distributed block-cyclically over a grid of 1 x R ranks. Prints the
 * seconds of each repetition on a line of its own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

extern void Cblacs_get(int, int, int *), Cblacs_gridinit(int *, const char *, int, int);
extern void Cblacs_gridinfo(int, int *, int *, int *, int *);
extern int numroc_(const int *n, const int *block, const int *me, const int *first, const int *of);
extern void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb, const int *r, const int *c,
                      const int *ctx, const int *ld, int *info);
extern void pdgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                    const int *, const int *, const int *, const double *, const int *, const int *, const int *,
                    const double *, double *, const int *, const int *, const int *);

static int ctx, rows, cols, row, col, block;
static const int zero = 0, one = 1;

/* The part of an m x n matrix that this rank has. */
static double *part(int m, int n, int *desc) {
    int lm = numroc_(&m, &block, &row, &zero, &rows), ln = numroc_(&n, &block, &col, &zero, &cols), info;
    int ld = lm > 1 ? lm : 1;
    descinit_(desc, &m, &n, &block, &block, &zero, &zero, &ctx, &ld, &info);
    size_t size = (size_t)ld * (size_t)(ln > 1 ? ln : 1);
    double *v = malloc(size * sizeof *v);
    if (!v || info) MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < size; i++) v[i] = (double)((i * 2654435761u) % 1024) / 1024;
    return v;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int me, n, da[9], db[9], dc[9];
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (argc != 6) MPI_Abort(MPI_COMM_WORLD, 2);
    int m = atoi(argv[1]), j = atoi(argv[2]), k = atoi(argv[3]), repeats = atoi(argv[5]);
    block = atoi(argv[4]);
    Cblacs_get(-1, 0, &ctx);
    Cblacs_gridinit(&ctx, "R", 1, n);
    Cblacs_gridinfo(ctx, &rows, &cols, &row, &col);
    double *a = part(m, k, da), *b = part(k, j, db), *c = part(m, j, dc), alpha = 1, beta = 0;
    for (int r = -1; r < repeats; r++) { /* the first run is not counted: memory is touched there */
        MPI_Barrier(MPI_COMM_WORLD);
        double t = MPI_Wtime(), most;
        pdgemm_("N", "N", &m, &j, &k, &alpha, a, &one, &one, da, b, &one, &one, db, &beta, c, &one, &one, dc);
        t = MPI_Wtime() - t;
        MPI_Reduce(&t, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (me == 0 && r >= 0) printf("%.6f\n", most);
    }
    MPI_Finalize();
    return 0;
}
