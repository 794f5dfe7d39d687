/* boxcopy.c - boxes of elements from one array to another. */
#include "relation.h"

#include <assert.h>
#include <string.h>

/* rows x cols elements; unit stride along columns in dst, along rows or nothing in src. Tiles keep both in cache. */
#define TILED(ctype)                                                                                                   \
    for (int64_t i0 = 0; i0 < rows; i0 += TILE)                                                                        \
        for (int64_t j0 = 0; j0 < cols; j0 += TILE)                                                                    \
            for (int64_t i = i0; i < i0 + TILE && i < rows; i++)                                                       \
                for (int64_t j = j0; j < j0 + TILE && j < cols; j++)                                                   \
    ((ctype *)dst)[i * di + j * dj] = ((const ctype *)src)[i * si + j * sj]
enum { TILE = 32 };

static void copy_plane(size_t size, int64_t rows, int64_t cols, void *dst, int64_t di, int64_t dj, const void *src,
                       int64_t si, int64_t sj) {
    if (dj == 1 && sj == 1) {
        for (int64_t i = 0; i < rows; i++)
            memcpy((char *)dst + (size_t)(i * di) * size, (const char *)src + (size_t)(i * si) * size,
                   (size_t)cols * size);
        return;
    }
    switch (size) {
    case 1: TILED(uint8_t); return;
    case 2: TILED(uint16_t); return;
    case 4: TILED(uint32_t); return;
    case 8: TILED(uint64_t); return;
    }
    assert(!"an element of 1, 2, 4 or 8 bytes");
}

void tra_copy_strided(size_t size, const tra_dims *ext, void *dst, const int64_t *dstride, const void *src,
                      const int64_t *sstride) {
    int64_t total;
    if (!tra_dims_product(ext, &total) || total == 0) return;
    /* Drop extents of one and merge dimensions that run on in both. */
    tra_dims x = {0};
    int64_t ds[TRA_MAXDIM], ss[TRA_MAXDIM];
    for (int d = 0; d < ext->n; d++) {
        if (ext->v[d] == 1) continue;
        if (x.n > 0 && ds[x.n - 1] == dstride[d] * ext->v[d] && ss[x.n - 1] == sstride[d] * ext->v[d]) {
            x.v[x.n - 1] *= ext->v[d];
        } else
            x.v[x.n++] = ext->v[d];
        ds[x.n - 1] = dstride[d];
        ss[x.n - 1] = sstride[d];
    }
    if (x.n == 0) {
        memcpy(dst, src, size);
        return;
    }
    if (x.n == 1) {
        copy_plane(size, 1, x.v[0], dst, 0, ds[0], src, 0, ss[0]);
        return;
    }
    /* The plane: the fastest dimension of dst and, if that is another one, the fastest of src; else the next slower. */
    int j = 0, i = 0;
    for (int d = 0; d < x.n; d++) {
        if (ds[d] <= ds[j]) j = d;
        if (ss[d] <= ss[i]) i = d;
    }
    if (i == j) i = j > 0 ? j - 1 : 1;
    tra_dims outer = {0}, at = {0};
    int which[TRA_MAXDIM];
    for (int d = 0; d < x.n; d++)
        if (d != i && d != j) {
            which[outer.n] = d;
            outer.v[outer.n++] = x.v[d];
        }
    at.n = outer.n;
    do {
        int64_t dp = 0, sp = 0;
        for (int d = 0; d < outer.n; d++) {
            dp += at.v[d] * ds[which[d]];
            sp += at.v[d] * ss[which[d]];
        }
        copy_plane(size, x.v[i], x.v[j], (char *)dst + (size_t)dp * size, ds[i], ds[j],
                   (const char *)src + (size_t)sp * size, ss[i], ss[j]);
    } while (tra_next(&outer, &at));
}
