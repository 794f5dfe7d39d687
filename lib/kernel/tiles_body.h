/* tiles_body.h - included by tiles.c once for each instruction set: tiles of ROWS x COLUMNS results that stay in
 * registers while the steps of a sum go by. ISA: target attribute; NAME(f): the function's name here, undefined at the
 * end. Elements are f64 whatever the operands are; vectors are of 8, which the compiler splits where registers are
 * smaller. */

/* b[step][column] against a[step][row], which step by so many elements: tile[row][column] becomes the fold of what F
 * makes of the two. */
#define ONE_ROW(i, F, FOLD)                                                                                            \
    x = EVERY(a[i]);                                                                                                   \
    acc##i = FOLD(acc##i, F(x, y));                                                                                    \
    bcc##i = FOLD(bcc##i, F(x, z));
#define TILE(name, F, FOLD, IDENTITY)                                                                                  \
    VECTORISED ISA static void NAME(name)(const double *a, int64_t sa, const double *b, int64_t sb, int64_t steps,     \
                                          double *tile) {                                                              \
        lanes acc0 = EVERY(IDENTITY), acc1 = acc0, acc2 = acc0, acc3 = acc0; /* no array: these are registers */       \
        lanes bcc0 = acc0, bcc1 = acc0, bcc2 = acc0, bcc3 = acc0;                                                      \
        for (int64_t l = 0; l < steps; l++, a += sa, b += sb) {                                                        \
            lanes x, y, z;                                                                                             \
            memcpy(&y, b, sizeof y);                                                                                   \
            memcpy(&z, b + COLUMNS / 2, sizeof z);                                                                     \
            ONE_ROW(0, F, FOLD)                                                                                        \
            ONE_ROW(1, F, FOLD)                                                                                        \
            ONE_ROW(2, F, FOLD)                                                                                        \
            ONE_ROW(3, F, FOLD)                                                                                        \
        }                                                                                                              \
        const lanes all[ROWS][2] = {{acc0, bcc0}, {acc1, bcc1}, {acc2, bcc2}, {acc3, bcc3}};                           \
        memcpy(tile, all, sizeof all);                                                                                 \
    }

#define FOLDS(name, F)                                                                                                 \
    TILE(sum_##name, F, PLUS, 0.0)                                                                                     \
    TILE(max_##name, F, MOST, -INFINITY)                                                                               \
    TILE(min_##name, F, LEAST, INFINITY)
TILE_FORMS(FOLDS)

static const tile_fn NAME(tiles)[][3] = {
#define ROW(name, ...) {NAME(sum_##name), NAME(max_##name), NAME(min_##name)},
    TILE_FORMS(ROW)
#undef ROW
};

/* sum[row][lane] += a[step * sa + row * ra] * b[step * sb + lane] over all steps, for GRAM_ROWS rows. */
#define GRAM(name, VECTOR)                                                                                             \
    VECTORISED ISA static void NAME(name)(const double *a, int64_t sa, int64_t ra, const double *b, int64_t sb,        \
                                          int64_t steps, double *sum, int64_t ld) {                                    \
        VECTOR acc0 = {0}, acc1 = acc0, acc2 = acc0,                                                                   \
               acc3 = acc0 GRAM_REST(, acc4 = acc0, acc5 = acc0, acc6 = acc0, acc7 = acc0);                            \
        for (int64_t l = 0; l < steps; l++, a += sa, b += sb) {                                                        \
            VECTOR x;                                                                                                  \
            memcpy(&x, b, sizeof x);                                                                                   \
            acc0 += a[0] * x, acc1 += a[ra] * x, acc2 += a[2 * ra] * x, acc3 += a[3 * ra] * x;                         \
            GRAM_REST(acc4 += a[4 * ra] * x, acc5 += a[5 * ra] * x, acc6 += a[6 * ra] * x, acc7 += a[7 * ra] * x;)     \
        }                                                                                                              \
        const VECTOR all[GRAM_ROWS] = {acc0, acc1, acc2, acc3 GRAM_REST(, acc4, acc5, acc6, acc7)};                    \
        double tile[GRAM_ROWS][sizeof(VECTOR) / 8];                                                                    \
        memcpy(tile, all, sizeof tile);                                                                                \
        for (int i = 0; i < GRAM_ROWS; i++)                                                                            \
            for (size_t j = 0; j < sizeof(VECTOR) / 8; j++) sum[i * ld + (int64_t)j] += tile[i][j];                    \
    }
GRAM(gram, lanes)
GRAM(gram_half, half_lanes)
enum { NAME(gram_rows) = GRAM_ROWS };

#undef GRAM
#undef GRAM_REST
#undef GRAM_ROWS
#undef ONE_ROW
#undef TILE
#undef FOLDS
#undef NAME
