/* diag.c - diagnostics: collected, and shown with their line and a caret. */
#include "lang.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SHOWN = 200, /* diagnostics printed; a file that is no program at all would give thousands */
    WINDOW = 110,    /* bytes of a long line that are shown */
};

static tra_diag *push(tra_diags *d) {
    TRA_ARENA_DOUBLE(d->arena, d->v, d->n);
    return &d->v[d->n++];
}

static void add(tra_diags *d, bool warning, tra_span at, const char *advice, const char *fmt, va_list ap) {
    char msg[1024];
    vsnprintf(msg, sizeof msg, fmt, ap);
    tra_printable(msg, false);
    tra_diag *g = push(d);
    g->span = at;
    g->warning = warning;
    g->msg = tra_arena_strndup(d->arena, msg, strlen(msg));
    g->advice = advice ? tra_printable(tra_arena_strndup(d->arena, advice, strlen(advice)), true) : NULL;
    d->errors += !warning;
}

void *tra_diag_error(tra_diags *d, tra_span at, const char *advice, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add(d, false, at, advice, fmt, ap);
    va_end(ap);
    return NULL;
}

void tra_diag_warn(tra_diags *d, tra_span at, const char *advice, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add(d, true, at, advice, fmt, ap);
    va_end(ap);
}

void tra_diag_warn_always(tra_diags *d, tra_span at, const char *advice, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add(d, true, at, advice, fmt, ap);
    va_end(ap);
    tra_diag *last = &d->v[d->n - 1];
    last->always = true;
    for (tra_diag *g = d->v; g < last; g++)
        if (g->span.at == at.at && g->warning && strcmp(g->msg, last->msg) == 0) {
            d->n--;
            return;
        }
}

void tra_diag_also(tra_diags *d, tra_span at, const char *note) {
    if (d->n == 0) return;
    d->v[d->n - 1].also = at;
    d->v[d->n - 1].note = note;
}

static bool starts_char(char c) { return ((unsigned char)c & 0xC0) != 0x80; }

static bool is_of_name(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

bool tra_script_has_name(const tra_script *s, int from, int end, const char *name) {
    size_t len = strlen(name);
    const char *text = s->text + from, *to = s->text + end;
    for (const char *p = text; p + len <= to; p++)
        if (strncmp(p, name, len) == 0 && (p == text || !is_of_name(p[-1])) && (p + len == to || !is_of_name(p[len])))
            return true;
    return false;
}

void tra_script_place(const tra_script *s, int at, int *line, int *column) {
    *line = *column = 1;
    if (at > s->n) at = s->n;
    for (int i = at < s->first ? 0 : s->first; i < at; i++) {
        if (s->text[i] == '\n') {
            ++*line;
            *column = 1;
        } else if (starts_char(s->text[i])) {
            ++*column;
        }
    }
}

/* Adds the line of the span, and below it one with a caret. */
static void show(const tra_script *s, tra_span span, bool colour, tra_str *out) {
    int at = span.at > s->n ? s->n : span.at;
    int from = at, to = at;
    while (from > 0 && s->text[from - 1] != '\n') from--;
    while (to < s->n && s->text[to] != '\n') to++;
    if (to > from && s->text[to - 1] == '\r') to--;
    if (at > to) at = to;
    bool cut_left = at - from > WINDOW / 2 && to - from > WINDOW, cut_right = false;
    if (cut_left) {
        from = at - WINDOW / 2;
        while (from < at && !starts_char(s->text[from])) from++;
    }
    if (to - from > WINDOW) {
        cut_right = true;
        to = from + WINDOW;
        while (to > at && !starts_char(s->text[to])) to--;
    }
    tra_str_printf(out, "    %s", cut_left ? "..." : "");
    for (int i = from; i < to; i++) { /* control characters would disturb a terminal */
        unsigned char c = (unsigned char)s->text[i];
        tra_str_addn(out, (c < 32 && c != '\t') || c == 127 ? "?" : (const char *)&c, 1);
    }
    tra_str_printf(out, "%s\n    %s", cut_right ? "..." : "", cut_left ? "   " : "");
    for (int i = from; i < at; i++)
        if (starts_char(s->text[i])) tra_str_add(out, s->text[i] == '\t' ? "\t" : " ");
    int end = at + span.len < to ? at + span.len : to;
    tra_str_add(out, colour ? "\033[1;32m^" : "^");
    for (int i = at + 1; i < end; i++)
        if (starts_char(s->text[i])) tra_str_add(out, "~");
    tra_str_add(out, colour ? "\033[0m\n" : "\n");
}

static void show_one(const tra_script *s, const char *name, tra_span span, const char *kind, const char *paint,
                     const char *msg, bool colour, tra_str *out) {
    int line, column;
    tra_script_place(s, span.at, &line, &column);
    tra_str_printf(out, "%s:%d:%d: %s%s:%s %s\n", name, line, column, colour ? paint : "", kind,
                   colour ? "\033[0m" : "", msg);
    show(s, span, colour, out);
}

static int by_place(const void *a, const void *b) {
    const tra_diag *x = *(const tra_diag *const *)a, *y = *(const tra_diag *const *)b;
    if (x->span.at != y->span.at) return x->span.at < y->span.at ? -1 : 1;
    return x < y ? -1 : x > y; /* equal places: in the order found */
}

/* Do as many of the n before it say the same as are enough to read it? */
static bool is_told(const tra_diag *const *v, int n, const char *advice) {
    enum { ENOUGH = 3 };
    int same = 0;
    for (int i = 0; i < n; i++) same += v[i]->advice && strcmp(v[i]->advice, advice) == 0;
    return same >= ENOUGH;
}

void tra_diags_print(const tra_diags *d, bool colour, tra_str *out) {
    if (d->n == 0) return;
    bool quiet = d->quiet && d->errors == 0;
    const char *name = d->src->name;
    const tra_diag **v = tra_malloc((size_t)d->n * sizeof(tra_diag *));
    for (int i = 0; i < d->n; i++) v[i] = &d->v[i];
    qsort(v, (size_t)d->n, sizeof(tra_diag *), by_place);
    for (int i = 0; i < d->n && i < MAX_SHOWN; i++) {
        const tra_diag *g = v[i];
        if (quiet && !g->always) continue;
        show_one(d->src, name, g->span, g->warning ? "warning" : "error", g->warning ? "\033[1;35m" : "\033[1;31m",
                 g->msg, colour, out);
        if (g->advice && !is_told(v, i, g->advice)) tra_str_printf(out, "    %s\n", g->advice);
        if (g->note) show_one(d->src, name, g->also, "note", "\033[1;36m", g->note, colour, out);
    }
    if (d->n > MAX_SHOWN && !quiet) tra_str_printf(out, "%s: and %d more\n", name, d->n - MAX_SHOWN);
    free(v);
}
