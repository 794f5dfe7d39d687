/* tiles_body.h - included by tiles.c once for each instruction set: tiles of ROWS x COLUMNS results that stay in
 * registers while the steps of a sum go by. ISA: target attribute; NAME(f): the function's name here, undefined at the
 * end; WIDTH: elements of a register, of which vectors are: larger ones the compiler keeps in memory. Elements are f64
 * whatever the operands are. */

typedef double NAME(lanes) __attribute__((vector_size(8 * WIDTH)));
typedef int64_t NAME(masks) __attribute__((vector_size(8 * WIDTH)));
#define lanes NAME(lanes)
#define masks NAME(masks)

/* b[step][column] against a[step][row], which step by so many elements: tile[row][column] becomes the fold of what F
 * makes of the two. */
#define ONE_ROW(i, F, FOLD)                                                                                            \
    x = EVERY(a[l * sa + i]);                                                                                          \
    acc##i = FOLD(acc##i, F(x, y));                                                                                    \
    bcc##i = FOLD(bcc##i, F(x, z));
#define PUT_ROW(i)                                                                                                     \
    memcpy(tile + i * COLUMNS + c, &acc##i, sizeof acc##i);                                                            \
    memcpy(tile + i * COLUMNS + c + WIDTH, &bcc##i, sizeof bcc##i);
#define TILE(name, F, FOLD, IDENTITY)                                                                                  \
    VECTORISED ISA static void NAME(name)(const double *a, int64_t sa, const double *b, int64_t sb, int64_t steps,     \
                                          double *tile) {                                                              \
        for (int c = 0; c < COLUMNS; c += 2 * WIDTH) {                                                                 \
            lanes acc0 = EVERY(IDENTITY), acc1 = acc0, acc2 = acc0, acc3 = acc0; /* no array: these are registers */   \
            lanes bcc0 = acc0, bcc1 = acc0, bcc2 = acc0, bcc3 = acc0;                                                  \
            for (int64_t l = 0; l < steps; l++) {                                                                      \
                lanes x, y, z;                                                                                         \
                memcpy(&y, b + l * sb + c, sizeof y);                                                                  \
                memcpy(&z, b + l * sb + c + WIDTH, sizeof z);                                                          \
                ONE_ROW(0, F, FOLD)                                                                                    \
                ONE_ROW(1, F, FOLD)                                                                                    \
                ONE_ROW(2, F, FOLD)                                                                                    \
                ONE_ROW(3, F, FOLD)                                                                                    \
            }                                                                                                          \
            PUT_ROW(0)                                                                                                 \
            PUT_ROW(1)                                                                                                 \
            PUT_ROW(2)                                                                                                 \
            PUT_ROW(3)                                                                                                 \
        }                                                                                                              \
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

/* sum[row][column] += a[step * sa + row * ra] * b[step * sb + column] over all steps, for GRAM_ROWS rows and so many
 * columns, 4 or 8. */
#define EIGHT(X)    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define GRAM_ROW(i) acc##i += a[l * sa + i * ra] * x;
#define ADD_ROW(i)                                                                                                     \
    for (int k = 0; k < WIDTH; k++) sum[i * ld + c + k] += acc##i[k];
VECTORISED ISA static void NAME(gram)(const double *a, int64_t sa, int64_t ra, const double *b, int64_t sb,
                                      int64_t steps, int columns, double *sum, int64_t ld) {
    for (int c = 0; c < columns; c += WIDTH) {
        lanes acc0 = {0}, acc1 = acc0, acc2 = acc0, acc3 = acc0, acc4 = acc0, acc5 = acc0, acc6 = acc0, acc7 = acc0;
        for (int64_t l = 0; l < steps; l++) {
            lanes x;
            memcpy(&x, b + l * sb + c, sizeof x);
            EIGHT(GRAM_ROW)
        }
        EIGHT(ADD_ROW)
    }
}

#undef lanes
#undef masks
#undef WIDTH
#undef EIGHT
#undef GRAM_ROW
#undef ADD_ROW
#undef PUT_ROW
#undef ONE_ROW
#undef TILE
#undef FOLDS
#undef NAME
