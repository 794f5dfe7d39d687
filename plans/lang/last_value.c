/* last_value.c - what the last statement of a program given as text says: its value, which may be a bare expression. */
#include "../../lib/kernel/kernel.h"
#include "lex.h"
#include "parse_int.h"

#include <string.h>

typedef struct reader {
    const tra_script *src;
    const tra_token *t; /* of the statement, up to its end */
    int n;
} reader;

static bool is(const reader *r, int i, const char *word) {
    size_t n = strlen(word);
    return i < r->n && r->t[i].kind == TRA_T_NAME && (size_t)r->t[i].span.len == n &&
           memcmp(r->src->text + r->t[i].span.at, word, n) == 0;
}

static const char *text_of(const reader *r, int i, tra_arena *a) {
    return tra_arena_strndup(a, r->src->text + r->t[i].span.at, (size_t)r->t[i].span.len);
}

static bool aggregates(const reader *r, int i, tra_arena *a) {
    const char *word = i < r->n && r->t[i].kind == TRA_T_NAME ? text_of(r, i, a) : "";
    return tra_is_aggregation_word(word) || tra_is_later_aggregation_word(word);
}

static int closing(const reader *r, int i) {
    int depth = 0;
    for (; i < r->n; i++) {
        if (r->t[i].kind == '(' || r->t[i].kind == '[') depth++;
        if ((r->t[i].kind == ')' || r->t[i].kind == ']') && --depth == 0) break;
    }
    return i;
}

/* The place of '=' outside brackets; -1: there is none. */
static int equals(const reader *r) {
    for (int i = 0; i < r->n; i++) {
        if (r->t[i].kind == '=') return i;
        if (r->t[i].kind == '(' || r->t[i].kind == '[') i = closing(r, i);
    }
    return -1;
}

/* Is it one call of an operator on relations? Functions of numbers are not. */
static bool is_operator_call(const reader *r, tra_arena *a) {
    if (r->n < 3 || r->t[0].kind != TRA_T_NAME || r->t[1].kind != '(' || closing(r, 1) != r->n - 1) return false;
    const char *name = text_of(r, 0, a);
    return tra_scalar_find(name, 1) < 0 && tra_scalar_find(name, 2) < 0 && tra_scalar_find(name, 3) < 0;
}

/* Is it the right side of an EinSum statement? *free: the labels that nothing aggregates, "i, j". */
static bool is_einsum(const reader *r, tra_arena *a, const char **free_labels) {
    const char *labels[64], *bound[64];
    int n = 0, nbound = 0;
    bool refers = false, word = false;
    int next = r->n > 1 ? r->t[1].kind : 0;
    *free_labels = "";
    if (aggregates(r, 0, a)) word = next == TRA_T_NAME || next == TRA_T_NUMBER || next == '-' || next == '!';
    if (aggregates(r, 0, a) && next == '(') {
        bool comma = false; /* max(a, b) and min(a, b) are functions, and sum(A) one of a whole tensor */
        for (int i = 2, end = closing(r, 1), depth = 0; i < end; i++) {
            int kind = r->t[i].kind;
            word |= kind == '[' && r->t[i - 1].kind == TRA_T_NAME;
            comma |= kind == ',' && depth == 0;
            depth += kind == '(' || kind == '[' ? 1 : kind == ')' || kind == ']' ? -1 : 0;
        }
        word &= !comma;
    }
    if (!word && is_operator_call(r, a)) return false;
    for (int i = 0; i + 1 < r->n; i++) {
        if (r->t[i].kind != TRA_T_NAME || r->t[i + 1].kind != '[') continue;
        int end = closing(r, i + 1);
        bool binds = aggregates(r, i, a) && end + 1 < r->n && r->t[end + 1].kind == '(';
        refers = true;
        for (int j = i + 2; j < end; j++) {
            if (r->t[j].kind != TRA_T_NAME || n == 64 || nbound == 64) continue;
            if (binds)
                bound[nbound++] = text_of(r, j, a);
            else
                labels[n++] = text_of(r, j, a);
        }
    }
    for (int i = 0; i < n && !word; i++) {
        bool known = false;
        for (int j = 0; j < nbound; j++) known |= strcmp(bound[j], labels[i]) == 0;
        for (int j = 0; j < i; j++) known |= strcmp(labels[j], labels[i]) == 0;
        if (!known) *free_labels = tra_arena_printf(a, "%s%s%s", *free_labels, **free_labels ? "," : "", labels[i]);
    }
    return word || refers;
}

static bool begins_with(const reader *r, const char *word) {
    return r->n > 1 && is(r, 0, word) && r->t[1].kind != '=' && r->t[1].kind != '[' && r->t[1].kind != ',';
}

/* in_loop: braces are around the statement, of whose names only those of states are known after the loop. */
static void take_statement(const reader *r, bool in_loop, tra_arena *a, tra_last *out) {
    bool later;
    const tra_token *t = r->t;
    if (r->n == 0) return;
    bool keyword = t[0].kind == TRA_T_NAME && tra_is_keyword(r->src->text + t[0].span.at, t[0].span.len, &later) &&
                   r->n > 1 && t[1].kind == TRA_T_NAME;
    bool state = keyword && (is(r, 0, "state") || is(r, 0, "next"));
    int at = equals(r);
    if (in_loop && !state) return;
    out->bare = false;
    if (state) {
        out->name = text_of(r, 1, a);
        out->several = false;
        return;
    }
    if (keyword || begins_with(r, "repeat") || begins_with(r, "until") || begins_with(r, "require") ||
        t[0].kind == TRA_T_DECLARED || is(r, 0, "tra")) {
        out->outputs |= is(r, 0, "output");
        return;
    }
    if (at < 0) {
        out->bare = true;
        out->at = t[0].span.at;
        out->einsum = is_einsum(r, a, &out->free_labels);
        return;
    }
    out->name = t[0].kind == TRA_T_NAME ? text_of(r, 0, a) : NULL;
    out->several = r->n > 1 && t[1].kind == ',';
}

void tra_last_value(const tra_script *src, tra_arena *a, tra_last *out) {
    int n, from = 0, depth = 0;
    tra_diags unused = {.arena = a, .src = src};
    tra_token *t = tra_lex(src, a, &unused, &n);
    *out = (tra_last){.free_labels = ""};
    out->names = tra_news(a, const char *, n + 1);
    reader all = {src, t, n};
    for (int i = 0; i < n; i++) {
        if (t[i].kind == TRA_T_NAME) out->names[out->nnames++] = text_of(&all, i, a);
        bool brace = t[i].kind == '{' || t[i].kind == '}';
        if (t[i].kind != TRA_T_END && t[i].kind != TRA_T_EOF && !brace) continue;
        reader r = {src, t + from, i - from};
        take_statement(&r, depth > 0, a, out);
        depth += t[i].kind == '{' ? 1 : t[i].kind == '}' ? -1 : 0;
        from = i + 1;
    }
}
