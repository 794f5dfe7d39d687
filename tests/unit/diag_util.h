/* diag_util.h - compares the diagnostics of a program p.tra with those that a test expects. */
#ifndef TRA_TEST_DIAG_UTIL_H
#define TRA_TEST_DIAG_UTIL_H

#include <string.h>

#include "../../lib/base/base.h"
#include "check.h"

/* Compares the first line of each diagnostic in `text`, without the name of the file, with the lines of `want`. line:
 * where the test is. */
static inline void check_diagnostics(int line, const char *text, const char *want) {
    tra_str got = {0};
    for (const char *s = text; *s;) {
        size_t len = strcspn(s, "\n");
        if (strncmp(s, "p.tra:", 6) == 0) {
            tra_str_addn(&got, s + 6, len - 6);
            tra_str_add(&got, "\n");
        }
        s += len + (s[len] == '\n');
    }
    if (strcmp(tra_str_get(&got), want) != 0)
        check_report("line %d: diagnostics are\n%snot\n%s", line, tra_str_get(&got), want);
    tra_str_free(&got);
}

#endif
