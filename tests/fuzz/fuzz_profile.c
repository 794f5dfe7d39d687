/* Any bytes as the file of run --profile. */
#include "../../lib/run/profile.h"
#include "../../plans/explain/explain.h"
#include "bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    tra_profiled_plan of = {0};
    tra_profile p = {0};
    tra_err e = {0};
    if (size > 1 << 16) return 0;
    int fd = fuzz_file(data, size, path);
    tra_status s = tra_profile_read(path, &of, &p, &e);
    if (s != e.status || (s != TRA_OK && (s != TRA_INPUT || !strstr(e.msg, path)))) abort();
    if (s == TRA_OK) {
        if (of.sites < 1 || of.threads < 1 || of.memory < 1) abort();
        tra_profile_free(&p);
    }
    close(fd);
    return 0;
}
