/* graphblas.c - a peer of tests/bench/run sparse and loops: SuiteSparse:GraphBLAS, where libsuitesparse-dev is
 * installed.
 *
 * usage: graphblas OPERATION REPEATS A [B]     the files as sparse.py writes them: int64 n, entries;
 *                                              int64 begin[n + 1], column[entries]; double value[entries]
 *
 * Prints the seconds of each computation, results finished, on two threads; of pagerank those of so many turns.
 * cc graphblas.c -lgraphblas */
#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(GrB_Info i, const char *what) {
    if (i == GrB_SUCCESS || i == GrB_NO_VALUE) return;
    fprintf(stderr, "graphblas: %s failed: %d\n", what, (int)i);
    exit(1);
}

static GrB_Matrix read_matrix(const char *file, GrB_Index *n) {
    FILE *f = fopen(file, "rb");
    int64_t head[2];
    GrB_Matrix m;
    if (!f || fread(head, 8, 2, f) != 2) exit((perror(file), 1));
    size_t rows = (size_t)head[0], entries = (size_t)head[1];
    GrB_Index *begin = malloc(8 * (rows + 1)), *column = malloc(8 * entries);
    double *value = malloc(8 * entries);
    if (fread(begin, 8, rows + 1, f) != rows + 1 || fread(column, 8, entries, f) != entries ||
        fread(value, 8, entries, f) != entries)
        exit((perror(file), 1));
    fclose(f);
    must(GrB_Matrix_import_FP64(&m, GrB_FP64, rows, rows, begin, column, value, rows + 1, entries, entries,
                                GrB_CSR_FORMAT),
         "import");
    free(begin), free(column), free(value);
    *n = rows;
    return m;
}

static void pagerank(GrB_Matrix a, GrB_Index n, int turns) {
    GrB_Matrix into;
    GrB_Vector v[5];
    double lost, least = 1, t = now();
    must(GrB_Matrix_new(&into, GrB_FP64, n, n), "matrix");
    for (int i = 0; i < 5; i++) must(GrB_Vector_new(&v[i], GrB_FP64, n), "vector");
    GrB_Vector out = v[0], share = v[1], rank = v[2], next = v[3], rest = v[4];
    must(GrB_transpose(into, NULL, NULL, a, NULL), "transpose");
    must(GrB_reduce(out, NULL, NULL, GrB_PLUS_MONOID_FP64, a, NULL), "reduce");
    must(GrB_apply(share, NULL, NULL, GrB_TIMES_FP64, 1 / 0.85, out, NULL), "scale");
    must(GrB_apply(share, NULL, NULL, GrB_MINV_FP64, share, NULL), "share");
    must(GrB_Vector_assign_FP64(rank, NULL, NULL, 1 / (double)n, GrB_ALL, n, NULL), "assign");
    for (int i = 0; i < turns; i++) {
        must(GrB_assign(rest, out, NULL, rank, GrB_ALL, n, GrB_DESC_RSC), "without links");
        must(GrB_reduce(&lost, NULL, GrB_PLUS_MONOID_FP64, rest, NULL), "reduce");
        must(GrB_eWiseMult(rest, NULL, NULL, GrB_TIMES_FP64, rank, share, NULL), "give");
        must(GrB_Vector_assign_FP64(next, NULL, NULL, (0.15 + 0.85 * lost) / (double)n, GrB_ALL, n, NULL), "assign");
        must(GrB_mxv(next, NULL, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, into, rest, NULL), "mxv");
        GrB_Vector swap = rank;
        rank = next, next = swap;
    }
    must(GrB_reduce(&least, NULL, GrB_MIN_MONOID_FP64, rank, NULL), "reduce");
    printf("%.6f\n", now() - t);
    fprintf(stderr, "least rank %.17g\n", least);
}

int main(int argc, char **argv) {
    if (argc < 4) return fprintf(stderr, "usage: graphblas OPERATION REPEATS A [B]\n"), 2;
    const char *op = argv[1];
    GrB_Index n;
    must(GrB_init(GrB_NONBLOCKING), "init");
    must(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, 2), "threads");
    GrB_Matrix a = read_matrix(argv[3], &n), b = argc > 4 ? read_matrix(argv[4], &n) : a;
    GrB_Vector x;
    if (strcmp(op, "pagerank") == 0) return pagerank(a, n, atoi(argv[2])), 0;
    must(GrB_Vector_new(&x, GrB_FP64, n), "vector");
    for (GrB_Index i = 0; i < n; i++) /* of one value alone it would read none of it */
        must(GrB_Vector_setElement_FP64(x, 1 + (double)(i % 1000) / 1000, i), "element");
    must(GrB_wait(x, GrB_MATERIALIZE), "wait");
    for (int i = 0; i < atoi(argv[2]); i++) {
        GrB_Matrix c = NULL;
        GrB_Vector y = NULL;
        double sum, t = now();
        GrB_Info s = GrB_SUCCESS;
        if (strcmp(op, "spmv") == 0 || strcmp(op, "rowsum") == 0)
            GrB_Vector_new(&y, GrB_FP64, n);
        else
            GrB_Matrix_new(&c, GrB_FP64, n, n);
        if (strcmp(op, "aa") == 0)
            s = GrB_mxm(c, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, a, NULL);
        else if (strcmp(op, "ata") == 0)
            s = GrB_mxm(c, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, a, GrB_DESC_T0);
        else if (strcmp(op, "aat") == 0)
            s = GrB_mxm(c, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, a, GrB_DESC_T1);
        else if (strcmp(op, "masked") == 0)
            s = GrB_mxm(c, a, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, a, GrB_DESC_S);
        else if (strcmp(op, "add") == 0)
            s = GrB_eWiseAdd(c, NULL, NULL, GrB_PLUS_FP64, a, b, NULL);
        else if (strcmp(op, "mul") == 0)
            s = GrB_eWiseMult(c, NULL, NULL, GrB_TIMES_FP64, a, b, NULL);
        else if (strcmp(op, "t") == 0)
            s = GrB_transpose(c, NULL, NULL, a, NULL);
        else if (strcmp(op, "spmv") == 0)
            s = GrB_mxv(y, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, x, NULL);
        else if (strcmp(op, "rowsum") == 0)
            s = GrB_reduce(y, NULL, NULL, GrB_PLUS_MONOID_FP64, a, NULL);
        else if (strcmp(op, "sum") == 0)
            s = GrB_reduce(&sum, NULL, GrB_PLUS_MONOID_FP64, a, NULL);
        else
            return 77;
        must(s, op);
        if (c) must(GrB_wait(c, GrB_MATERIALIZE), op);
        if (y) must(GrB_wait(y, GrB_MATERIALIZE), op);
        printf("%.6f\n", now() - t);
        GrB_free(&c);
        GrB_free(&y);
    }
    return 0;
}
