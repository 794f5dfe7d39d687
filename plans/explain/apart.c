/* apart.c - factors and terms of aggregations that do not depend on what is aggregated: the program with each of them
 * outside. Sums are divided so when they are planned; of maxima and minima only the user knows that a factor is
 * positive. */
#include <string.h>

#include "apart.h"

enum { MOST_LABELS = 16, MOST_PARTS = 32 };

/* A part of a product or sum: * or /, + or -. */
typedef struct part {
    char sign;
    const tra_ast *x;
} part;

typedef struct looking {
    const tra_script *src;
    tra_arena *a;
    const tra_stmt *s;
    int n, cap;
    tra_apart *v;
} looking;

/* Does the label stand anywhere in x? One of that name that an aggregation inside of x takes away counts
 * too. */
static bool mentions(const tra_ast *x, const char *label) {
    if (x->kind == TRA_AST_NAME) return strcmp(x->text, label) == 0;
    for (int i = 0; i < x->nkids; i++)
        if (mentions(x->kids[i], label)) return true;
    return false;
}

static bool mentions_any(const tra_ast *x, int n, const char *const *labels) {
    for (int i = 0; i < n; i++)
        if (mentions(x, labels[i])) return true;
    return false;
}

static bool has_reference(const tra_ast *x) {
    if (x->kind == TRA_AST_INDEX) return true;
    for (int i = 0; i < x->nkids; i++)
        if (has_reference(x->kids[i])) return true;
    return false;
}

/* Adds the parts of x in this kind of chain ("*" with "/", or "+" with "-"); inverse: x is divided by or subtracted.
 * false: there are too many. */
static bool add_parts(const tra_ast *x, bool product, bool inverse, int *n, part *v) {
    const char *plain = product ? "*" : "+", *other = product ? "/" : "-";
    if (x->kind == TRA_AST_BINARY && (!strcmp(x->text, plain) || !strcmp(x->text, other)))
        return add_parts(x->kids[0], product, inverse, n, v) &&
               add_parts(x->kids[1], product, inverse != (strcmp(x->text, other) == 0), n, v);
    if (*n == MOST_PARTS) return false;
    v[(*n)++] = (part){inverse ? *other : *plain, x};
    return true;
}

/* Does x need brackets as a part of a product or sum? */
static bool needs_brackets(const tra_ast *x, char sign) {
    if (x->kind != TRA_AST_BINARY) return x->kind == TRA_AST_UNARY;
    return *x->text != '^' && !(strchr("+-", sign) && strchr("*/", *x->text));
}

/* Adds the parts that are (not) marked. first: nothing stands before them. */
static void print_parts(int n, const part *v, const bool *marked, bool want, bool first, tra_str *out) {
    for (int i = 0; i < n; i++) {
        if (marked[i] != want) continue;
        bool brackets = needs_brackets(v[i].x, v[i].sign);
        if (first && (v[i].sign == '/' || v[i].sign == '-')) tra_str_add(out, v[i].sign == '/' ? "1 / " : "-");
        if (!first) tra_str_printf(out, " %c ", v[i].sign);
        tra_str_add(out, brackets ? "(" : "");
        tra_ast_print(v[i].x, out);
        tra_str_add(out, brackets ? ")" : "");
        first = false;
    }
}

/* Where the text of x ends, with its parentheses. */
static int end_of(const tra_ast *x) {
    int end = x->parentheses.len ? x->parentheses.at + x->parentheses.len : x->span.at + x->span.len;
    for (int i = 0; i < x->nkids; i++) end = (int)tra_max64(end, end_of(x->kids[i]));
    return end;
}

/* Looks at an aggregation `word` of body over labels, whose text begins and ends at these bytes. */
static void look_at(looking *l, const char *word, int n, const char *const *labels, const tra_ast *body, int at,
                    int end) {
    bool extreme = !strcmp(word, "max") || !strcmp(word, "min");
    const tra_span s = l->s->span;
    if (n == 0 || n > MOST_LABELS || (!extreme && strcmp(word, "sum") && strcmp(word, "mean"))) return;
    if (at < s.at || end > s.at + s.len || end <= at) return; /* a macro has it */
    for (int product = 1; product >= !extreme; product--) {
        part v[MOST_PARTS];
        bool out[MOST_PARTS] = {false};
        int nparts = 0, nout = 0, first = -1;
        if (!add_parts(body, product, false, &nparts, v)) continue;
        for (int i = 0; i < nparts; i++) {
            out[i] = has_reference(v[i].x) && !mentions_any(v[i].x, n, labels);
            nout += out[i];
            if (out[i] && first < 0) first = i;
        }
        if (nout == 0 || nout == nparts) continue;
        tra_str made = {0}, named = {0}, over = {0};
        for (int i = 0; i < n; i++) tra_str_printf(&over, "%s%s", i ? ", " : "", labels[i]);
        tra_str_printf(&made, "%s[%s](", word, tra_str_get(&over));
        print_parts(nparts, v, out, false, true, &made);
        tra_str_add(&made, ")");
        print_parts(nparts, v, out, true, false, &made);
        print_parts(nparts, v, out, true, v[first].sign == '*' || v[first].sign == '+', &named);
        TRA_ARENA_ROOM(l->a, l->v, l->n, l->cap);
        tra_apart *t = &l->v[l->n++];
        *t = (tra_apart){.at = {at, end - at}, .product = product, .positive = product && extreme};
        int column;
        tra_script_place(l->src, s.at, &t->line, &column);
        t->over = tra_arena_take(l->a, &over);
        t->what = tra_arena_take(l->a, &named);
        t->text = tra_arena_take(l->a, &made);
    }
}

/* Adds the labels in references of x that are not on the left. */
static void add_labels(const tra_stmt *s, const tra_ast *x, bool index, int *n, const char **v) {
    if (x->kind == TRA_AST_NAME && index) {
        bool known = false;
        for (int i = 0; i < s->nlabels; i++) known |= strcmp(s->labels[i]->text, x->text) == 0;
        for (int i = 0; i < *n; i++) known |= strcmp(v[i], x->text) == 0;
        if (!known && *n < MOST_LABELS) v[(*n)++] = x->text;
    }
    if (x->kind == TRA_AST_AGGREGATE) return; /* its labels are its own, and others stand outside of it too */
    for (int i = 0; i < x->nkids; i++) add_labels(s, x->kids[i], index || x->kind == TRA_AST_INDEX, n, v);
}

/* Looks at all aggregations inside of x. */
static void look_inside(looking *l, const tra_ast *x) {
    if (x->kind == TRA_AST_AGGREGATE) {
        const char *labels[MOST_LABELS];
        int n = x->nkids - 1;
        for (int i = 0; i < n && i < MOST_LABELS; i++) labels[i] = x->kids[i]->text;
        look_at(l, x->text, n, labels, x->kids[n], x->span.at, x->span.at + x->span.len);
    }
    for (int i = 0; i < x->nkids; i++) look_inside(l, x->kids[i]);
}

static void look_at_statements(looking *l, const tra_ast_program *p) {
    for (int i = 0; i < p->n; i++) {
        const tra_stmt *s = &p->v[i];
        if (s->body) look_at_statements(l, s->body);
        if (s->kind != TRA_STMT_EINSUM || s->broken) continue;
        const char *labels[MOST_LABELS];
        int n = 0;
        l->s = s;
        if (s->agg) add_labels(s, s->value, false, &n, labels);
        if (s->agg) look_at(l, s->agg, n, labels, s->value, s->agg_span.at, end_of(s->value));
        look_inside(l, s->value);
    }
}

int tra_apart_find(const tra_script *src, const tra_ast_program *p, tra_arena *a, tra_apart **out) {
    looking l = {.src = src, .a = a};
    look_at_statements(&l, p);
    *out = l.v;
    return l.n;
}
