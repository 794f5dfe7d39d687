/* Any bytes as an npy file: read to the end or refused. */
#include "source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_source("npy", (tra_source_options){.base = -1}, data, size);
    fuzz_source("npy", (tra_source_options){.has_dtype = true, .dtype = TRA_F32}, data, size);
    for (tra_dtype t = TRA_I64; t <= TRA_BOOL; t++)
        fuzz_source("npy", (tra_source_options){.has_dtype = true, .dtype = t}, data, size);
    return 0;
}
