/* Any bytes as a table of text: read to the end or refused. Numbers that are read print and read back. */
#include "source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int header = -1; header < 2; header++)
        fuzz_source("csv", (tra_source_options){.header = header, .empty_nan = size % 2}, data, size);
    fuzz_source("csv", (tra_source_options){.header = -1, .has_dtype = true, .dtype = TRA_I64}, data, size);
    double v, back;
    int64_t whole;
    char text[TRA_NUMTEXT];
    if (size < 64) {
        char *s = malloc(size + 1);
        memcpy(s, data, size);
        s[size] = '\0';
        if (tra_scan_num(s, size, &v) && v == v)
            if (!tra_scan_num(text, tra_print_f64(text, v), &back) || memcmp(&v, &back, sizeof v) != 0) abort();
        if (tra_scan_whole(s, size, &whole) && (!tra_scan_num(s, size, &v) || (double)whole != v)) abort();
        free(s);
    }
    return 0;
}
