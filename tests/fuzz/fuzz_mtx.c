/* Any bytes as a MatrixMarket file: read to the end or refused. */
#include "source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_source("mtx", (tra_source_options){.base = -1}, data, size);
    fuzz_source("mtx", (tra_source_options){.has_dtype = true, .dtype = TRA_F32}, data, size);
    fuzz_source("mtx", (tra_source_options){.has_dtype = true, .dtype = TRA_I32}, data, size);
    return 0;
}
