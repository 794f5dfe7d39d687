/* Any bytes as the log of a relation in a journal: as they are, and with the checksums that its records would need. */
#include "../../lib/run/journal_int.h"
#include "bytes.h"

#include <fcntl.h>
#include <xxhash.h>

enum { RECORD = 64, CHECK_AT = 56, RUN = 0x1234, VALUE = 0x5678 };

static tra_log *open_log(tra_journal *j) {
    j->logs[0] = NULL;
    tra_log *l = tra_log_open(j, 0, true);
    if (!l) abort();
    return l;
}

/* What a resumed run does with a log. */
static void resume(const uint8_t *data, size_t size) {
    const uint64_t value = VALUE;
    tra_plan plan = {.nops = 1};
    tra_log *_Atomic logs[1] = {NULL};
    tra_journal j = {.comm = tra_comm_self(),
                     .plan = &plan,
                     .values = &value,
                     .dir = (char *)fuzz_dir(),
                     .run = RUN,
                     .resumed = true,
                     .logs = logs};
    int64_t n, more;
    char *path = tra_asprintf("%s/%016x.0.log", j.dir, VALUE);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    free(path);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    close(fd);
    tra_log *l = open_log(&j);
    const tra_saved *v = tra_log_saved(l, &n);
    for (int64_t i = 0; i < n; i++) {
        if (v[i].ordinal < 0 || v[i].at < 0 || v[i].len < 0) abort();
        /* no data files exist, so that none may match */
        if (tra_file_matches(tra_log_fd(l, v[i].file), v[i].at, v[i].len, v[i].sum) && v[i].len > 0) abort();
    }
    if (tra_log_reserve(l, 8) < 0) abort();
    tra_log_add(l, &(tra_saved){.ordinal = 1, .len = 8});
    tra_log_flush(l);
    tra_log_close(l);
    l = open_log(&j); /* records that are appended to a damaged log are found again */
    v = tra_log_saved(l, &more);
    if (more != n + 1 || v[n].len != 8) abort();
    tra_log_discard(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 14) return 0;
    resume(data, size);
    uint8_t *copy = tra_malloc(size + 1);
    const int64_t head = -1;
    memcpy(copy, data, size);
    for (size_t at = 0; at + RECORD <= size; at += RECORD) {
        if (at == 0) memcpy(copy, &head, sizeof head);
        uint64_t check = XXH64(copy + at, CHECK_AT, RUN ^ VALUE);
        memcpy(copy + at + CHECK_AT, &check, sizeof check);
    }
    resume(copy, size);
    free(copy);
    return 0;
}
