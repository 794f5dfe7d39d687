/* Any bytes as an archive of scipy.sparse.save_npz: read to the end or refused. */
#include "source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_source("npz", (tra_source_options){.base = -1}, data, size);
    fuzz_source("npz", (tra_source_options){.has_dtype = true, .dtype = TRA_I32}, data, size);
    return 0;
}
