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

#undef ONE_ROW
#undef TILE
#undef FOLDS
#undef NAME
