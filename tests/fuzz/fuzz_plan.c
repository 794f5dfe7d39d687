/* Any bytes as a plan file: as they are, and with the checksum that they would need. */
#include "../../plans/search/planfile.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const char *text, size_t n) {
    tra_arena *a = tra_arena_new();
    tra_planfile f;
    tra_err e = {0};
    tra_status s = tra_planfile_parse("fuzz.plan", text, n, a, &f, &e);
    if (s != TRA_OK && (s != TRA_INPUT || !strstr(e.msg, "compile the program again"))) abort();
    if (s == TRA_OK && (!tra_planfile_sniff(text, n) || strlen(f.program) != f.size || !f.dir || !f.source ||
                        !f.strategy || f.options.sites < 1 || f.options.threads < 1 || f.rank < 1))
        abort();
    for (int i = 0; s == TRA_OK && i < f.ninputs; i++) {
        if (!f.inputs[i].name || !f.inputs[i].path || !f.inputs[i].identity) abort();
    }
    tra_choices c;
    if (s == TRA_OK && f.choices && tra_planfile_choices(&f, a, &c))
        for (int i = 0; i < c.n; i++)
            if (c.v[i].expr < 0 || c.v[i].join < -1 || c.v[i].in[0].naxes > TRA_MAXAXES) abort();
    tra_arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 16) return 0;
    tra_str text = {0};
    tra_str_addn(&text, (const char *)data, size);
    parse(tra_str_get(&text), size);
    tra_str_printf(&text, "checksum %016" PRIx64 "\n", (uint64_t)XXH64(data, size, 0));
    parse(tra_str_get(&text), text.n);
    tra_str_free(&text);
    return 0;
}
