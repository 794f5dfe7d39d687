/* replay.c - runs a fuzz target once on each file of a corpus, without libFuzzer: part of `make check`.
 *
 * Arguments are files and folders. Prints TAP; after a crash the last line (1..N) is missing, by which tests/run
 * counts it as a failure. */
#include "../../lib/base/base.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int done;

static void replay(const char *path) {
    tra_err e = {0};
    char *data;
    size_t n;
    tra_status s = tra_slurp(path, (size_t)1 << 30, &data, &n, &e);
    if (s == TRA_OK) {
        LLVMFuzzerTestOneInput((const uint8_t *)data, n);
        free(data);
    } else {
        printf("# %s\n", e.msg);
    }
    printf("%s %d - %s\n", s == TRA_OK ? "ok" : "not ok", ++done, path);
    fflush(stdout);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        struct dirent **names;
        int n = scandir(argv[i], &names, NULL, alphasort);
        if (n < 0) replay(argv[i]);
        for (int k = 0; k < n; k++) {
            char *path = tra_asprintf("%s/%s", argv[i], names[k]->d_name);
            struct stat st;
            if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) replay(path);
            free(path);
            free(names[k]);
        }
        if (n >= 0) free(names);
    }
    printf("1..%d\n", done);
    return 0;
}
