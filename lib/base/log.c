/* log.c - messages to standard error, each written by one call so that ranks do not mix theirs. */
#include "base.h"

#include <stdlib.h>

int tra_log_level = 0;
bool tra_log_mute = false;

static void say(const char *kind, const char *fmt, va_list ap) {
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0) return;
    char *line = tra_asprintf("tra: %s%s\n", kind, tra_printable(text, true));
    fputs(line, stderr);
    free(line);
    free(text);
}

void tra_warn(const char *fmt, ...) {
    if (tra_log_level < 0 || tra_log_mute) return;
    va_list ap;
    va_start(ap, fmt);
    say("warning: ", fmt, ap);
    va_end(ap);
}

void tra_warn_always(const char *fmt, ...) {
    if (tra_log_mute) return;
    va_list ap;
    va_start(ap, fmt);
    say("warning: ", fmt, ap);
    va_end(ap);
}

void tra_info(int level, const char *fmt, ...) {
    if (tra_log_level < level || tra_log_mute) return;
    va_list ap;
    va_start(ap, fmt);
    say("", fmt, ap);
    va_end(ap);
}
