/* share.h - pieces of one kernel's work that workers without work of their own take over.
 *
 * Where one array is much of what there is to do its kernel would keep one worker busy and let the others wait. So
 * kernels cut long work in pieces: by their operands alone, never by threads or memory, so that who computes a piece
 * does not show in the bits. Pieces write to different places, or each has a sum of its own, and the sums are added in
 * the order of the pieces.
 */
#ifndef TRA_KERNEL_SHARE_H
#define TRA_KERNEL_SHARE_H

#include "../relation/rows.h"

/* One piece. scratch: as large as what the kernel was given, and for as long as the piece runs its alone. */
typedef void tra_piece_fn(void *ctx, int piece, void *scratch);

/* Whoever runs kernels on several threads: has all n pieces run, by any of them, the caller among these, and returns
 * when all have ended. */
typedef struct tra_sharer tra_sharer;
struct tra_sharer {
    void (*run)(tra_sharer *s, int n, tra_piece_fn *fn, void *ctx, void *scratch);
};
/* Of the kernels that the calling thread runs from now on; NULL, as at first: it does its pieces itself. */
void tra_share_by(tra_sharer *s);

/* Runs pieces 0 to n - 1. An integer that does not fit in one of them is noted for the calling thread. A piece is not
 * cut further. */
void tra_share(int n, tra_piece_fn *fn, void *ctx, void *scratch);

/* In how many pieces work of so many steps, each of about a nanosecond, is cut: none is so short that handing it over
 * matters. At most TRA_PIECES. */
enum { TRA_PIECES = TRA_CELL_PIECES };
int tra_share_pieces(int64_t steps);

/* In how many pieces, each with a sum of its own, so many entries of so many steps each are added up to so many
 * elements. Not less of more entries; at most TRA_SHARE_SUMS. */
enum { TRA_SHARE_SUMS = 4 };
int tra_share_sums(int64_t entries, int64_t steps, int64_t elements);
/* The rows that begin n pieces of about equally many entries, and the end; fewer where there are few rows. key (or
 * NULL): of each row, rows of one are in one piece. Returns how many. */
int tra_share_rows(const tra_rows_view *v, const int64_t *key, int n, int64_t *at);
/* Adds the sums of n pieces in their order: the first is `to`, the others stand at `sums`, each of so many bytes. */
void tra_share_add(const tra_array *to, const char *sums, int64_t each, int n);

#endif
