/* tuning.h - how what moves between sites is divided, and what new memory holds. Tests make the pieces small, so that
 * few bytes go in many; no result and no count depends on these. */
#ifndef TRA_TUNING_H
#define TRA_TUNING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tra_tuning {
    int64_t message; /* bytes of a message between ranks, at most: no count comes near 2^31 */
    int sends;       /* messages on their way from one rank */
    int64_t file;    /* bytes from which on a tuple is handed over by a file, where files are used */
    int64_t piece;   /* bytes that are compressed and checksummed together in such a file */
    bool fill;       /* memory of new blocks is full of NaN (integers: -1), so that it matters who reads it */
} tra_tuning;

/* Is set before a run begins, on all ranks alike. */
extern tra_tuning tra_tune;

#endif
