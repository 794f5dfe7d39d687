/* einsum_terms.c - the terms of a sum or product that covers a whole right side: one that lacks a label which is
 * aggregated would count once for each of its values, which nobody means who does not say so. */
#include "lower.h"

#include <string.h>

/* The labels in a tree, each where it stands first. */
typedef struct labels {
    int n;
    const tra_ast *v[TRA_MAXLABELS];
} labels;

static bool has(const labels *l, const char *name) {
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->v[i]->text, name) == 0) return true;
    return false;
}

static void add(labels *l, const tra_ast *x) {
    if (l->n < TRA_MAXLABELS && !has(l, x->text)) l->v[l->n++] = x;
}

/* Adds the labels of x, but those that aggregations inside of it take away. index: x is in the brackets of a reference.
 */
static void add_labels(const tra_ast *x, bool index, labels *l) {
    if (x->kind == TRA_AST_NAME && index) add(l, x);
    bool all = x->kind == TRA_AST_INDEX || (x->kind == TRA_AST_CALL && (index || strcmp(x->text, "index") == 0));
    if (x->kind != TRA_AST_AGGREGATE) {
        for (int i = 0; i < x->nkids; i++) add_labels(x->kids[i], all, l);
        return;
    }
    labels body = {0};
    add_labels(x->kids[x->nkids - 1], false, &body);
    for (int i = 0; i < body.n; i++) {
        bool taken = false;
        for (int k = 0; k + 1 < x->nkids; k++) taken = taken || strcmp(x->kids[k]->text, body.v[i]->text) == 0;
        if (!taken) add(l, body.v[i]);
    }
}

int tra_labels_of(const tra_ast *x, const tra_ast **v) {
    labels l = {0};
    add_labels(x, false, &l);
    memcpy(v, l.v, (size_t)l.n * sizeof *v);
    return l.n;
}

/* A term with its sign, and its labels that are aggregated: a set of places in the list of all labels. */
typedef struct term {
    const tra_ast *x;
    bool minus;
    uint64_t labels;
} term;

typedef struct terms {
    tra_arena *arena;
    int n, cap;
    term *v;
} terms;

/* Adds the terms of x, which is not in parentheses. */
static void add_terms(terms *t, const tra_ast *x, bool minus) {
    bool sum = x->kind == TRA_AST_BINARY && (!strcmp(x->text, "+") || !strcmp(x->text, "-"));
    if (sum && !x->parentheses.len) {
        add_terms(t, x->kids[0], minus);
        add_terms(t, x->kids[1], *x->text == '-');
        return;
    }
    TRA_ARENA_ROOM(t->arena, t->v, t->n, t->cap);
    t->v[t->n++] = (term){.x = x, .minus = minus};
}

/* The place of x with its parentheses. */
static tra_span whole_span(const tra_ast *x) {
    if (x->parentheses.len) return x->parentheses;
    tra_span s = x->span;
    if (x->kind != TRA_AST_BINARY && x->kind != TRA_AST_UNARY) return s;
    int at = x->kind == TRA_AST_BINARY ? whole_span(x->kids[0]).at : s.at;
    tra_span last = whole_span(x->kids[x->nkids - 1]);
    return (tra_span){at, last.at + last.len - at};
}

static void print_term(const tra_build *b, const term *t, bool bare, tra_str *out) {
    tra_span s = bare ? t->x->span : whole_span(t->x);
    tra_str_printf(out, "%.*s", s.len, b->g->src->text + s.at);
}

/* The right side in which each term is aggregated over its own labels alone. */
static void print_apart(const tra_build *b, const char *agg, const labels *all, const terms *t, tra_str *out) {
    const term *v = t->v;
    for (int i = 0; i < t->n; i++) {
        if (i || v[i].minus) tra_str_add(out, v[i].minus ? (i ? " - " : "-") : " + ");
        if (!v[i].labels) {
            print_term(b, &v[i], false, out);
            continue;
        }
        tra_str_printf(out, "%s[", agg);
        for (int l = 0, any = 0; l < all->n; l++)
            if (v[i].labels >> l & 1) tra_str_printf(out, "%s%s", any++ ? "," : "", all->v[l]->text);
        tra_str_add(out, "](");
        int last = i;
        while (!v[i].minus && last + 1 < t->n && v[i].labels == v[last + 1].labels) last++;
        print_term(b, &v[i], last == i && v[i].x->kind != TRA_AST_BINARY, out);
        for (; i < last; i++) {
            tra_str_add(out, v[i + 1].minus ? " - " : " + ");
            print_term(b, &v[i + 1], false, out);
        }
        tra_str_add(out, ")");
    }
}

/* The labels that are not on the left, as a set. */
static uint64_t aggregated(const tra_stmt *st, const labels *all) {
    uint64_t set = 0;
    for (int l = 0; l < all->n; l++) {
        bool left = false;
        for (int d = 0; d < st->nlabels; d++) left = left || strcmp(st->labels[d]->text, all->v[l]->text) == 0;
        if (!left) set |= (uint64_t)1 << l;
    }
    return set;
}

bool tra_check_terms(tra_build *b, const tra_stmt *st) {
    terms t = {.arena = b->arena};
    labels all = {0};
    bool sum = st->agg && (strcmp(st->agg, "sum") == 0 || strcmp(st->agg, "nansum") == 0);
    if (!sum && !(st->agg && strcmp(st->agg, "prod") == 0)) return true;
    add_terms(&t, st->value, false);
    if (t.n < 2) return true;
    add_labels(st->value, false, &all);
    uint64_t gone = aggregated(st, &all);
    const term *lacking = NULL;
    for (int i = 0; i < t.n; i++) {
        labels own = {0};
        add_labels(t.v[i].x, false, &own);
        for (int l = 0; l < all.n; l++)
            if ((gone >> l & 1) && has(&own, all.v[l]->text)) t.v[i].labels |= (uint64_t)1 << l;
        if (!lacking && t.v[i].labels != gone) lacking = &t.v[i];
    }
    if (!lacking) return true;
    const char *lacks = all.v[__builtin_ctzll(gone & ~lacking->labels)]->text;
    tra_str apart = {0}, left = {0};
    tra_span s = whole_span(st->value);
    int n = (int)strcspn(lacks, "'"); /* without what a macro's own label has */
    print_apart(b, st->agg, &all, &t, &apart);
    for (int d = 0; d < st->nlabels; d++) tra_str_printf(&left, "%s%s", d ? "," : "", st->labels[d]->text);
    const char *to = tra_arena_printf(b->arena, "%s[%s]", st->name, tra_str_get(&left));
    tra_diag_error(b->d, whole_span(lacking->x),
                   tra_arena_printf(b->arena, "write %s = %s, or, if that is meant, %s = %s (%.*s)", to,
                                    tra_str_get(&apart), to, st->agg, s.len, b->g->src->text + s.at),
                   "this term has no label '%.*s': %s would %s it once for each %.*s", n, lacks, st->agg,
                   sum ? "add" : "multiply by", n, lacks);
    tra_str_free(&apart);
    tra_str_free(&left);
    return false;
}
