/* rank.h - the rank of a process that a test preloads something into. */
#include <stdlib.h>

/* As Open MPI's or MPICH's launcher has named it; NULL: it is none. */
static inline const char *rank_here(void) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank ? rank : getenv("PMI_RANK");
}
