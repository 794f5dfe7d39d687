/* table_group_shared.c - group where some columns follow from others: aggregates of 2 * x + 1 are computed of those of
 * x, equal aggregates once, and keys that other keys determine of these. It is a group of fewer columns, and a
 * projection that computes the others. */
#include "../../lib/table/made.h"
#include "table_derived.h"
#include "table_parts.h"

#include <string.h>

/* An aggregate of the call: f of times * base + plus. */
typedef struct form {
    tra_aggregate f;
    int64_t times, plus;
    const tra_ast *base; /* NULL: count() */
    const char *text;    /* of the base, and of other arguments */
    bool whole;          /* is it of integers whose sum fits i64, whatever the rows are? */
    bool by_sum;         /* is it computed of the sum and the count? */
} form;

/* An aggregate of the group of fewer columns. */
typedef struct inner {
    tra_aggregate f;
    const char *text, *name;
} inner;

typedef struct sharing {
    tra_table_builder *w;
    tra_deriving d;
    tra_names taken; /* the names of keys and aggregates */
    form *form;
    bool *follows; /* of each key: do others determine it? */
    int ninner;
    inner *inner;
    int n; /* arguments of the group of fewer columns */
    tra_ast **arg;
} sharing;

static const tra_ast *argument(const tra_table_builder *w, int i) {
    const tra_ast *x = w->call->kids[i + 2];
    return x->kind == TRA_AST_NAMED ? x->kids[0] : x;
}

/* ---- linear forms ------------------------------------------------------------------------------------------- */

/* Is x a whole number, or a param that is one? */
static bool is_constant(const tra_table_builder *w, const tra_ast *x, int64_t *v) {
    bool name = x->kind == TRA_AST_NAME && !x->quoted && tra_schema_find(w->in->type.columns, x->text) < 0;
    return (name || tra_is_number(x)) && tra_build_exact(w->b, x, v);
}

/* Takes one operator off the base, where that leaves a linear form with factors that fit. */
static bool peel(const tra_table_builder *w, form *f) {
    const tra_ast *x = f->base;
    int64_t c, times = f->times, plus = f->plus, moved = 0;
    int of = 0;
    if (tra_is_number(x)) return false;
    if (x->kind == TRA_AST_UNARY && strcmp(x->text, "-") == 0) {
        if (!tra_mul(times, -1, &times)) return false;
    } else if (x->kind == TRA_AST_BINARY && x->text[1] == 0 && strchr("+-*", *x->text)) {
        of = is_constant(w, x->kids[0], &c);
        if (!of && !is_constant(w, x->kids[1], &c)) return false;
        if (*x->text == '*') {
            if (c == 0 || !tra_mul(times, c, &times)) return false;
        } else {
            bool minus = *x->text == '-';
            if (!tra_mul(times, c, &moved) || (minus && !of && !tra_mul(moved, -1, &moved))) return false;
            if (minus && of && !tra_mul(times, -1, &times)) return false;
        }
    } else
        return false;
    if (!tra_add(plus, moved, &plus)) return false;
    *f = (form){.f = f->f, .times = times, .plus = plus, .base = x->kids[of]};
    return true;
}

static bool is_integer(const tra_colexpr *x) {
    return (x->type == TRA_COL_I32 || x->type == TRA_COL_I64) && x->counts == TRA_TIME_NONE;
}

/* Do the sum of the base, the sum of the form and all that is computed on the way fit i64 for any rows? */
static bool sum_fits(const tra_table_builder *w, const form *f, const tra_colexpr *base) {
    int64_t rows = tra_max64(1, tra_type_entries(&w->in->type).bound), v;
    if (base->least == INT64_MIN) return false;
    int64_t far = tra_max64(base->most, -base->least), sum, moved;
    return tra_mul(far, rows, &sum) && f->times != INT64_MIN && f->plus != INT64_MIN &&
           tra_mul(sum, f->times < 0 ? -f->times : f->times, &sum) &&
           tra_mul(rows, f->plus < 0 ? -f->plus : f->plus, &moved) && tra_add(sum, moved, &v);
}

/* Do the least and the most of the base fit i64 by themselves, and times the factor? */
static bool extremes_fit(const form *f, const tra_colexpr *base) {
    int64_t v;
    return base->least > INT64_MIN && tra_mul(base->least, f->times, &v) && tra_mul(base->most, f->times, &v);
}

/* The form of aggregate i, whose operand is x: over a base as small as it can be, or as it is. */
static form form_of(tra_table_builder *w, int i, const tra_colexpr *x, bool least) {
    const tra_ast *call = argument(w, i);
    form f = {.f = w->op.agg[i].f, .times = 1, .base = call->nkids ? call->kids[0] : NULL}, own = f;
    tra_str text = {0};
    bool linear = f.f == TRA_AGGREGATE_SUM || f.f == TRA_AGGREGATE_MEAN || f.f == TRA_AGGREGATE_COUNT ||
                  f.f == TRA_AGGREGATE_MIN || f.f == TRA_AGGREGATE_MAX || f.f == TRA_AGGREGATE_DISTINCT;
    linear = linear && least && f.base && is_integer(x) && !x->fails;
    while (linear && peel(w, &f)) {
    }
    tra_table_scope sc = tra_table_scope_of(w);
    tra_table_term base;
    bool sums = f.f == TRA_AGGREGATE_SUM || f.f == TRA_AGGREGATE_MEAN;
    linear = linear && tra_table_build_term(&sc, "x", f.base, &base) && is_integer(base.x) && !base.x->fails;
    linear = linear && (sums || extremes_fit(&f, base.x));
    f.whole = linear && sums && sum_fits(w, &f, base.x);
    if (!linear || (sums && !f.whole)) f = own;
    for (int k = 0; k < call->nkids; k++) {
        if (k) tra_str_add(&text, ", ");
        tra_ast_print(k ? call->kids[k] : f.base, &text);
    }
    f.text = tra_arena_take(w->b->arena, &text);
    return f;
}

/* ---- keys ---------------------------------------------------------------------------------------------------- */

/* Is it a constant other than 0 and NULL? */
static bool is_divisor(const tra_colexpr *x) {
    if (x->op != TRA_C_CONST || x->null) return false;
    return tra_coltype_is_float(x->type) ? x->value.f != 0 : x->value.i != 0;
}

/* Is it computed of a row alone, without an error, and without a NULL that the run would count? */
static bool is_plain(const tra_colexpr *x) {
    bool quotient = x->op == TRA_C_DIV || x->op == TRA_C_IDIV || x->op == TRA_C_MOD;
    if (x->fails || x->op == TRA_C_ROW || x->op == TRA_C_DATE || x->op == TRA_C_TIMESTAMP) return false;
    if (quotient && !is_divisor(x->kids[1])) return false;
    for (int i = 0; i < x->nkids; i++)
        if (!is_plain(x->kids[i])) return false;
    return true;
}

/* The first key that is column c by itself; -1: there is none. Of floats -0 and 0 are one key, from which more than
 * one value may follow. */
static int key_of_column(const tra_table_builder *w, int c) {
    if (tra_coltype_is_float(w->in->type.columns->v[c].type)) return -1;
    for (int k = 0; k < w->op.nterms; k++)
        if (w->op.term[k].x->op == TRA_C_COLUMN && w->op.term[k].x->column == c) return k;
    return -1;
}

/* Does the expression name a param by a name that a column of the groups has too? */
static bool is_hidden(const tra_table_builder *w, const tra_ast *x) {
    if (x->kind == TRA_AST_NAME && tra_schema_find(w->in->type.columns, x->text) < 0) {
        for (int k = 0; k < w->op.nterms; k++)
            if (strcmp(w->op.term[k].name, x->text) == 0) return true;
        for (int i = 0; i < w->op.naggs; i++)
            if (strcmp(w->op.agg[i].name, x->text) == 0) return true;
    }
    for (int i = 0; i < x->nkids; i++)
        if (is_hidden(w, x->kids[i])) return true;
    return false;
}

/* Is key k a function of keys before it, so that groups and their order are the same without it? */
static bool key_follows(const tra_table_builder *w, int k) {
    const tra_colexpr *x = w->op.term[k].x;
    const tra_schema *s = w->in->type.columns;
    const tra_ast *text = w->call->kids[1]->kids[k];
    bool *used = tra_news(w->b->arena, bool, s->n + 1);
    if (is_hidden(w, text->kind == TRA_AST_NAMED ? text->kids[0] : text)) return false;
    if (x->untyped || !is_plain(x) || tra_colexpr_can_be_made(x)) return false;
    tra_colexpr_columns(x, used);
    for (int c = 0; c < s->n; c++) {
        int of = used[c] ? key_of_column(w, c) : 0;
        if (used[c] && (of < 0 || of >= k)) return false;
    }
    return true;
}

/* ---- the group of fewer columns ------------------------------------------------------------------------------ */

/* The column that is f of the base of aggregate i, in the group of fewer columns. */
static tra_ast *column(sharing *s, int i, tra_aggregate f) {
    const tra_table_builder *w = s->w;
    tra_arena *a = w->b->arena;
    const form *x = &s->form[i];
    int at = 0;
    while (at < s->ninner && !(s->inner[at].f == f && strcmp(s->inner[at].text, x->text) == 0)) at++;
    if (at == s->ninner) {
        tra_ast *call = tra_table_ast_copy(a, argument(w, i));
        const form *own = &s->form[i];
        const char *name = w->op.agg[i].name; /* which messages have, where it is the program's own aggregate */
        if (own->f != f || own->times != 1 || own->plus != 0)
            name = tra_names_fresh(&s->taken, tra_arena_printf(a, "%s(%s)", tra_aggregate_text(f), own->text));
        call->text = tra_aggregate_text(f);
        if (x->base) call->kids[0] = (tra_ast *)x->base;
        s->inner[s->ninner++] = (inner){f, x->text, name};
        s->arg[s->n++] = tra_derive_named(&s->d, name, call);
    }
    return tra_derive_name(&s->d, s->inner[at].name);
}

/* times * x + plus */
static tra_ast *linear(const sharing *s, const form *f, tra_ast *x, tra_ast *n) {
    const tra_deriving *d = &s->d;
    if (f->times != 1) x = tra_derive_binary(d, "*", x, tra_derive_int(d, f->times));
    if (f->plus == 0) return x;
    tra_ast *more = tra_derive_int(d, f->plus);
    return tra_derive_binary(d, "+", x, n ? tra_derive_binary(d, "*", n, more) : more);
}

/* Aggregate i, of columns of the group of fewer columns. */
static tra_ast *aggregate(sharing *s, int i) {
    const form *f = &s->form[i];
    if (f->by_sum) {
        tra_ast *n = f->plus || f->f == TRA_AGGREGATE_MEAN ? column(s, i, TRA_AGGREGATE_COUNT) : NULL;
        tra_ast *sum = linear(s, f, column(s, i, TRA_AGGREGATE_SUM), n);
        return f->f == TRA_AGGREGATE_MEAN ? tra_derive_binary(&s->d, "/", sum, n) : sum;
    }
    bool extreme = f->f == TRA_AGGREGATE_MIN || f->f == TRA_AGGREGATE_MAX;
    bool turned = extreme && f->times < 0;
    tra_aggregate other = f->f == TRA_AGGREGATE_MIN ? TRA_AGGREGATE_MAX : TRA_AGGREGATE_MIN;
    tra_ast *x = column(s, i, turned ? other : f->f);
    return extreme ? linear(s, f, x, NULL) : x;
}

/* The expression of a key that follows, of the keys that stay. */
static tra_ast *of_keys(const sharing *s, const tra_ast *x) {
    const tra_table_builder *w = s->w;
    tra_ast *y = tra_table_ast_copy(w->b->arena, x);
    int c = x->kind == TRA_AST_NAME ? tra_schema_find(w->in->type.columns, x->text) : -1;
    int k = c < 0 ? -1 : key_of_column(w, c);
    if (k >= 0) return tra_table_name_ast(w->b->arena, w->op.term[k].name, x->span);
    for (int i = 0; i < x->nkids; i++) y->kids[i] = of_keys(s, x->kids[i]);
    return y;
}

/* Which keys follow from others; how many. One stays: without keys an empty table has a group too. */
static int find_keys(sharing *s) {
    int n = s->w->op.nterms, count = 0;
    s->follows = tra_news(s->w->b->arena, bool, n + 1);
    for (int k = 0; k < n; k++) count += s->follows[k] = key_follows(s->w, k);
    if (count == n && n > 0) s->follows[0] = false, count--;
    return count;
}

/* The forms of all aggregates. Sums and means of one base are computed of its sum and count, where there are several;
 * by itself such an aggregate stays as it is. */
static void find_forms(sharing *s, const tra_table_term *operand) {
    int n = s->w->op.naggs;
    s->form = tra_news(s->w->b->arena, form, n + 1);
    for (int i = 0; i < n; i++) s->form[i] = form_of(s->w, i, operand[2 * i].x, true);
    for (int i = 0; i < n; i++) {
        form *f = &s->form[i];
        for (int k = 0; k < n && f->whole; k++)
            f->by_sum |= k != i && s->form[k].whole && strcmp(s->form[k].text, f->text) == 0;
    }
    for (int i = 0; i < n; i++)
        if (s->form[i].whole && !s->form[i].by_sum) s->form[i] = form_of(s->w, i, operand[2 * i].x, false);
}

tra_node *tra_table_group_shared(tra_table_builder *w, const tra_table_term *operand) {
    tra_arena *a = w->b->arena;
    const tra_ast *list = w->call->kids[1];
    int nkeys = w->op.nterms, naggs = w->op.naggs, kept = 0, dear = 0;
    sharing s = {.w = w, .d = {w->b, w->call, w->in, w->in_name}, .taken = {.arena = a}};
    s.inner = tra_news(a, inner, 2 * naggs + 1);
    s.arg = tra_news(a, tra_ast *, 2 * naggs + 2);
    s.n = 1; /* after the keys */
    for (int k = 0; k < nkeys; k++) tra_names_add(&s.taken, w->op.term[k].name, NULL);
    for (int i = 0; i < naggs; i++) tra_names_add(&s.taken, w->op.agg[i].name, NULL);
    int dropped = find_keys(&s);
    find_forms(&s, operand);
    tra_ast **result = tra_news(a, tra_ast *, nkeys + naggs + 1), **keys = tra_news(a, tra_ast *, nkeys + 1);
    for (int k = 0; k < nkeys; k++) {
        const char *name = w->op.term[k].name;
        const tra_ast *key = list->kids[k];
        result[k] = tra_derive_name(&s.d, name);
        if (s.follows[k])
            result[k] = tra_derive_named(&s.d, name, of_keys(&s, key->kind == TRA_AST_NAMED ? key->kids[0] : key));
        else
            keys[kept++] = list->kids[k];
    }
    for (int i = 0; i < naggs; i++) result[nkeys + i] = tra_derive_named(&s.d, w->op.agg[i].name, aggregate(&s, i));
    for (int i = 0; i < s.ninner; i++) dear += s.inner[i].f != TRA_AGGREGATE_COUNT;
    for (int i = 0; i < naggs; i++) dear -= w->op.agg[i].f != TRA_AGGREGATE_COUNT;
    if (dear >= 0 && dropped == 0) return NULL;
    s.arg[0] = tra_derive_ast(&s.d, TRA_AST_LIST, NULL, kept, keys);
    tra_node *n = tra_derive_op(&s.d, TRA_TABLE_GROUP, w->in, NULL, s.n, s.arg);
    s.d.in_name = NULL; /* it is not the table that the program names */
    return tra_derive_op(&s.d, TRA_TABLE_PROJECT, n, NULL, nkeys + naggs, result);
}
