/* Any bytes as a table of text: read to the end or refused. Numbers that are read print and read back. */
#include "source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tra_table_job how = {.kind = TRA_CSV_MATRIX, .quote = -1, .escape = -1, .comment = -1, .nnulls = -1};
    how.given.empty_nan = size % 2;
    for (how.header = -1; how.header < 2; how.header++)
        fuzz_source("csv", (tra_source_options){.text = &how, .memory = 1 << 20}, data, size);
    how.header = -1;
    fuzz_source("csv", (tra_source_options){.text = &how, .memory = 1 << 20, .has_dtype = true, .dtype = TRA_I64}, data,
                size);
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
