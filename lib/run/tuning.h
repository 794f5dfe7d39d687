/* tuning.h - how what moves between sites is divided. Tests make these small, so that few bytes go in many pieces; no
 * result and no count depends on them. */
#ifndef TRA_TUNING_H
#define TRA_TUNING_H

#include <stdint.h>

typedef struct tra_tuning {
    int64_t message;       /* bytes of a message between ranks, at most: no count comes near 2^31 */
    int sends;             /* messages, or notices of files, on their way from one rank */
    int64_t segment;       /* bytes of tuples from which on a file is handed over to another rank */
    int64_t segment_piece; /* bytes that are compressed and checksummed together in such a file */
} tra_tuning;

/* Is set before a run begins, on all ranks alike. */
extern tra_tuning tra_tune;

#endif
