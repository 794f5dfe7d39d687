/* Any bytes as a .tns file: read to the end or refused. */
#include "source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tra_dims small = {.n = 2, .v = {3, 4}};
    fuzz_source("tns", (tra_source_options){.base = -1}, data, size);
    fuzz_source("tns", (tra_source_options){.has_shape = true, .shape = small}, data, size);
    fuzz_source("tns", (tra_source_options){.has_dtype = true, .dtype = TRA_I64}, data, size);
    return 0;
}
