/* cells.c - what all renderers are made of: cells, lines, numbers and operators of text. */
#include <stdlib.h>
#include <string.h>

#include "explain_int.h"

char *tra_text_number(double v, char *buf, size_t n) {
    char text[40];
    snprintf(text, sizeof text, v < 1e6 ? "%.6g" : "%.3g", v);
    char *e = strchr(text, 'e');
    if (!e) return snprintf(buf, n, "%s", text), buf;
    *e++ = 0;
    snprintf(buf, n, "%se%d", text, atoi(e));
    return buf;
}

const char *tra_text_times(tra_arena *a, double n) {
    static const char *const words[] = {"never", "once", "twice", "three times", "four times", "five times"};
    int64_t whole = (int64_t)(n + 0.5);
    bool is_whole = n - (double)whole < 0.02 && (double)whole - n < 0.02;
    if (is_whole && whole < (int64_t)(sizeof words / sizeof *words)) return words[whole];
    return is_whole ? tra_arena_printf(a, "%" PRId64 " times", whole) : tra_arena_printf(a, "%.2g times", n);
}

char *tra_text_seconds(double s, char *buf, size_t n) {
    if (s > 0 && s < 1e-5)
        snprintf(buf, n, "%.3g us", s * 1e6);
    else if (s < 0.01)
        snprintf(buf, n, "%.3g ms", s * 1e3);
    else if (s < 600)
        snprintf(buf, n, "%.3g s", s);
    else if (s < 36000)
        snprintf(buf, n, "%.3g min", s / 60);
    else
        snprintf(buf, n, "%.3g h", s / 3600);
    return buf;
}

void tra_text_cell(tra_str *out, const char *text, int width) {
    int w = abs(width), n = (int)strlen(text);
    if (n > w && w > 2)
        tra_str_printf(out, "%.*s..", w - 2, text);
    else
        tra_str_printf(out, "%*s", width < 0 ? w : -w, text);
}

void tra_text_end_line(tra_str *out) {
    while (out->n && out->s[out->n - 1] == ' ') out->s[--out->n] = 0;
    tra_str_add(out, "\n");
}

void tra_text_wrapped(const char *text, int begin, int indent, tra_str *out) {
    int column = begin;
    bool first = true;
    tra_str_printf(out, "%*s", begin, "");
    while (*text) {
        int n = (int)tra_min64((int64_t)strcspn(text, " "), tra_text_width() - indent); /* a longer word is cut */
        if (!first && column + 1 + n > tra_text_width()) {
            tra_str_printf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            tra_str_add(out, " ");
            column++;
        }
        first = false;
        tra_str_addn(out, text, (size_t)n);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    tra_str_add(out, "\n");
}

/* ---- plans -------------------------------------------------------------------------------------------------- */

const char *tra_text_strategy(const tra_plan *p) { return *p->strategy ? p->strategy : "-"; }

void tra_text_placed(const char *strategy, int sites, tra_str *out) {
    for (const char *p = strategy; *p;) {
        size_t n = strcspn(p, " ");
        bool local = strncmp(p, "local", 5) == 0 && (n == 5 || (n == 6 && p[5] == '*'));
        if (sites > 1 || !local) tra_str_add(out, " "), tra_str_addn(out, p, n);
        p += n + strspn(p + n, " ");
    }
}

/* Columns of the arrow, and at least of an operator's text behind it: number, operator, strategy. */
enum { MAXDEPTH = 16, ARROW = 3, LEAST_TEXT = 22 };

void tra_text_operator(const tra_shown_plan *p, const tra_shown_line *l, int width, tra_str *out) {
    const tra_shown_op *o = &p->ops[l->op];
    const char *op = tra_plan_op_text(o->op->op), *rest = l->again ? " (above)" : o->label + strlen(op);
    int deepest = (int)tra_min64(MAXDEPTH, (width - ARROW - LEAST_TEXT) / 2 + 1);
    tra_str how = {0};
    size_t begin = out->n;
    for (int i = 1; i < l->depth && i < deepest; i++) tra_str_add(out, "  ");
    if (l->depth > deepest)
        tra_str_printf(out, "%d> ", l->depth); /* the depth as a number, since there is no room to show it */
    else if (l->depth > 0)
        tra_str_add(out, "-> ");
    tra_str_printf(out, "#%d %s", o->op->id, op);
    if (o->op->strategy && !l->again) tra_text_placed(o->op->strategy, p->plan->sites, &how);
    if (o->op->method.fused && !l->again) tra_str_add(&how, " fused");
    int first = o->op->method.scan.first;
    if (first >= 0 && first != o->op->id && !l->again) tra_str_printf(&how, " scan of #%d", first);
    if (o->densifies && !l->again) tra_str_add(&how, " densify");
    if (o->relation) {
        int room = width - (int)(out->n - begin + how.n) - 1, n = (int)strlen(o->relation);
        room -= l->again ? (int)strlen(rest) : *rest ? 2 : 0; /* two dots stand for the rest */
        tra_str_add(out, " ");
        tra_text_cell(out, o->relation, n > room ? (int)tra_max64(room, 3) : n);
    }
    tra_str_printf(out, "%s%s", tra_str_get(&how), rest);
    tra_str_free(&how);
}
