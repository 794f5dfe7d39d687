/* graphblas.c - a peer of tests/bench/run sparse: SuiteSparse:GraphBLAS, where libsuitesparse-dev is installed.
 *
 * usage: graphblas OPERATION REPEATS A [B]     the files as sparse.py writes them: int64 n, entries;
 *                                              int64 begin[n + 1], column[entries]; double value[entries]
 *
 * Prints the seconds of each computation, results finished, on two threads. cc graphblas.c -lgraphblas */
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

int main(int argc, char **argv) {
    if (argc < 4) return fprintf(stderr, "usage: graphblas OPERATION REPEATS A [B]\n"), 2;
    const char *op = argv[1];
    GrB_Index n;
    must(GrB_init(GrB_NONBLOCKING), "init");
    must(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, 2), "threads");
    GrB_Matrix a = read_matrix(argv[3], &n), b = argc > 4 ? read_matrix(argv[4], &n) : a;
    GrB_Vector x;
    must(GrB_Vector_new(&x, GrB_FP64, n), "vector");
    must(GrB_Vector_assign_FP64(x, NULL, NULL, 0.5, GrB_ALL, n, NULL), "assign");
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
