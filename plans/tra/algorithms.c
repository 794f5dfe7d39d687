/* algorithms.c - programs that come with tra. */
#include "load.h"

#include <stdlib.h>
#include <string.h>

tra_status tra_program_read(const char *path, char **text, size_t *n, tra_err *e) {
    enum { MOST = 64 };
    const char *names[MOST];
    int count = 0;
    if (*path != '@') return tra_slurp(path, TRA_MAX_PROGRAM, text, n, e);
    for (const tra_algorithm *a = tra_algorithms; a->name && count < MOST; a++) {
        names[count++] = a->name;
        if (strcmp(a->name, path + 1) != 0) continue;
        *n = strlen(a->text);
        *text = tra_strdup(a->text);
        return TRA_OK;
    }
    const char *near = tra_nearest(path + 1, count, names);
    return tra_fail(e, TRA_USAGE, "there is no algorithm '%s'%s%s%s; tra help algorithms lists them", path + 1,
                    near ? "; did you mean @" : "", near ? near : "", near ? "?" : "");
}

/* Adds the line if it tells of an argument: "input X from "X.h5"  # what it is", "param k = 8  # what it is". */
static void describe_line(const char *line, int n, tra_str *out) {
    bool input = strncmp(line, "input ", 6) == 0, param = strncmp(line, "param ", 6) == 0;
    if (!input && !param) return;
    const char *name = line + 6, *comment = memchr(line, '#', (size_t)n);
    int len = (int)strcspn(name, " =\n");
    int end = comment ? (int)(comment - line) : n;
    while (end > 0 && line[end - 1] == ' ') end--;
    if (input)
        tra_str_printf(out, "    -D %.*s=FILE", len, name);
    else
        tra_str_printf(out, "    -D %.*s=%.*s", len, name, end - 6 - len - 3, name + len + 3);
    if (comment) tra_str_printf(out, "%*s%.*s", 4, "", (int)(line + n - comment - 2), comment + 2);
    tra_str_add(out, "\n");
}

void tra_algorithms_describe(tra_str *out) {
    for (const tra_algorithm *a = tra_algorithms; a->name; a++) {
        bool head = true;
        tra_str_printf(out, "@%s\n", a->name);
        for (const char *line = a->text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
            int n = (int)strcspn(line, "\n");
            head = head && *line == '#';
            if (head)
                tra_str_printf(out, "  %.*s\n", n - 2, line + 2);
            else
                describe_line(line, n, out);
        }
        tra_str_add(out, "\n");
    }
}
