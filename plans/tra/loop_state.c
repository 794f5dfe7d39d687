/* loop_state.c - the type of a state, the same in all turns, to which its values are brought. */
#include "build.h"
#include "../../lib/model/spooled.h"
#include "table_build.h"

#include <string.h>

/* The columns of a state: any value of them may be NULL, or could not be computed. */
static const tra_schema *state_columns(tra_build *b, const tra_schema *s) {
    const tra_schema *out;
    tra_column *v = tra_schema_beside(b->arena, NULL, s->n, &out);
    for (int i = 0; i < s->n; i++) {
        v[i] = s->v[i];
        v[i].nullable = v[i].fails = true;
        v[i].file = NULL;
    }
    return out;
}

tra_type tra_state_type(tra_build *b, const tra_type *first) {
    tra_type t = *first;
    if (t.columns) { /* in other turns there may be fewer rows */
        int64_t rows = t.bounded ? tra_type_entries(first).expected : t.cat->bound.v[0] * t.cat->n;
        int64_t most = tra_mul_most(t.cat->bound.v[0], t.cat->n);
        t.bounded = 1;
        t.columns = state_columns(b, t.columns);
        t.entries = tra_entries_about(b->arena, &t, (double)tra_min64(rows, most), most, t.cat->bound.v[0]);
    }
    if (!t.sparse) return t;
    t.layout = NULL;
    int64_t elements = tra_catalog_elements(t.cat);
    t.entries = tra_entries_about(b->arena, &t, (double)tra_type_entries(first).expected, elements, INT64_MAX);
    t.layout = tra_type_best_layout(&t);
    t.entries = tra_entries_about(b->arena, &t, (double)tra_type_entries(first).expected, elements, INT64_MAX);
    return t;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static bool is_coded_otherwise(const tra_column *x, const tra_column *y) {
    return x->dict && y->dict && x->type == y->type && !tra_dictionary_eq(x->dict, y->dict);
}

/* A string of x that y does not have; NULL: it has all. */
static const char *string_beyond(tra_arena *a, const tra_dictionary *x, const tra_dictionary *y) {
    tra_err e = {0};
    if (tra_dictionary_read(x, &e) != TRA_OK || tra_dictionary_read(y, &e) != TRA_OK)
        return tra_arena_printf(a, "%s", e.msg);
    for (int64_t c = 0; c < x->n; c++) {
        int64_t len;
        const char *s = tra_dictionary_at(x, c, &len);
        if (tra_dictionary_find(y, s, len) < 0) return tra_arena_strndup(a, s, (size_t)len);
    }
    return NULL;
}

/* tra_table_project, with room for so many rows in a block. */
static tra_node *project_with_room(tra_table_builder *w, int64_t rows) {
    const char **names;
    const tra_colexpr **x;
    tra_rowwise *r = tra_rowwise_new(w->b->arena, w->in->type.columns);
    tra_table_split_terms(w, &names, &x);
    tra_rowwise_project(r, w->op.nterms, names, x);
    tra_rows_kernel op = tra_rows_op(&tra_rowwise_ops, r, tra_rowwise_out(r));
    op.extent = TRA_ROWS_EITHER, op.most = rows, op.counts = true;
    tra_node *n = tra_table_kernel(w, w->in, NULL, 0, 0, &op);
    return tra_table_record(w, n);
}

tra_node *tra_state_widen(tra_build *b, tra_node *n, const tra_type *of, tra_span span) {
    const tra_schema *state = of ? of->columns : NULL;
    tra_arena *a = b->arena;
    tra_ast *call = tra_table_ast(a, TRA_AST_CALL, "project", span, 0, NULL);
    tra_ast *truth = tra_table_ast(a, TRA_AST_NAME, "true", span, 0, NULL);
    tra_ast *null = tra_table_ast(a, TRA_AST_NAME, "null", span, 0, NULL);
    tra_table_builder w = {.b = b, .call = call, .in = n, .op.op = TRA_TABLE_PROJECT};
    bool all = true, recodes = false;
    for (int i = 0; i < n->type.columns->n; i++) {
        const tra_column *c = &n->type.columns->v[i];
        tra_ast *value = tra_table_name_ast(a, c->name, span);
        if (!tra_column_has_states(c)) {
            all = false;
            value = tra_table_ast(a, TRA_AST_CALL, "if", span, 3, (tra_ast *[]){truth, value, null});
        }
        tra_ast *named = tra_table_ast(a, TRA_AST_NAMED, c->name, span, 1, &value);
        named->quoted = true;
        if (!tra_table_add_term(&w, named)) return NULL;
        const tra_column *to = state && i < state->n ? &state->v[i] : c;
        if (!is_coded_otherwise(c, to) || string_beyond(a, c->dict, to->dict)) continue;
        tra_table_term *term = (tra_table_term *)&w.op.term[w.op.nterms - 1];
        tra_err e = {0};
        if (tra_colexpr_convert(a, term->x, c->type, to->dict, &term->x, &e) != TRA_OK) return NULL;
        recodes = true;
    }
    bool room = of && n->type.cat->bound.v[0] <= of->cat->bound.v[0];
    if (room && (recodes || n->type.cat->bound.v[0] < of->cat->bound.v[0]))
        return project_with_room(&w, of->cat->bound.v[0]);
    return all ? n : tra_table_project(&w);
}

/* ---- next values ------------------------------------------------------------------------------------------------- */

static const char *shape_text(const tra_type *t, char *buf) {
    tra_dims shape;
    tra_type_shape(t, &shape);
    return shape.n ? tra_shape_text(&shape, buf) : "one number";
}

static const char *table_difference(tra_build *b, const tra_type *state, const tra_type *next) {
    const tra_schema *s = state->columns, *n = next->columns;
    for (int i = 0; i < s->n && i < n->n; i++) {
        const tra_column *x = &s->v[i], *y = &n->v[i];
        const char *name = x->name;
        if (strcmp(name, y->name) != 0)
            return tra_arena_printf(b->arena, "column %d is %s in the state, %s in its next value", i + 1, name,
                                    y->name);
        if (x->type != y->type) {
            const char *is = tra_coltype_name(x->type), *becomes = tra_coltype_name(y->type);
            bool numbers = tra_coltype_is_number(x->type) && tra_coltype_is_number(y->type);
            return tra_arena_printf(b->arena,
                                    numbers ? "%s is %s in the state, %s in its next value; before the loop, "
                                              "project(T, %s = %s(%s), *) begins with %s"
                                            : "%s is %s in the state, %s in its next value",
                                    name, is, becomes, name, becomes, name, becomes);
        }
        if (tra_column_has_states(x) != tra_column_has_states(y))
            return tra_arena_printf(b->arena, "%s may be NULL in the %s only", name,
                                    tra_column_has_states(x) ? "state" : "next value");
        const char *beyond = is_coded_otherwise(x, y) ? string_beyond(b->arena, y->dict, x->dict) : NULL;
        if (beyond)
            return tra_arena_printf(b->arena,
                                    "%s may become \"%s\", which it is never before the loop; "
                                    "there, %s = if(false, \"%s\", %s) says that it may",
                                    name, beyond, name, beyond, name);
    }
    if (s->n != n->n) return tra_arena_printf(b->arena, "the state has %d columns, its next value %d", s->n, n->n);
    if (!tra_dims_eq(&state->cat->frontier, &next->cat->frontier))
        return tra_arena_printf(b->arena,
                                "its next value has rows in %" PRId64 " blocks, the state in %" PRId64
                                "; limit(T, N) gives a bound",
                                next->cat->n, state->cat->n);
    if (next->cat->bound.v[0] > state->cat->bound.v[0])
        return tra_arena_printf(b->arena,
                                "its next value may have %" PRId64 " rows in a block, the state has at most %" PRId64
                                "; limit(T, N) gives a bound",
                                next->cat->bound.v[0], state->cat->bound.v[0]);
    return NULL;
}

/* Says how the next value of a state differs from the state; NULL: it does not, but for its blocks. */
static const char *difference(tra_build *b, const tra_type *state, const tra_type *next) {
    char x[TRA_DIMTEXT], y[TRA_DIMTEXT];
    if (!state->columns != !next->columns)
        return state->columns ? "the state is a table, its next value is not" : "its next value is a table";
    if (state->columns) return table_difference(b, state, next);
    if (state->dtype != next->dtype)
        return tra_arena_printf(b->arena, "the state has elements of %s, its next value of %s",
                                tra_dtype_name(state->dtype), tra_dtype_name(next->dtype));
    if (!tra_type_is_blocked(state, NULL) || !tra_type_is_blocked(next, NULL)) return NULL;
    tra_dims s, n;
    tra_type_shape(state, &s);
    tra_type_shape(next, &n);
    if (tra_dims_eq(&s, &n)) return NULL;
    return tra_arena_printf(b->arena, "the state is %s, its next value %s", shape_text(state, x), shape_text(next, y));
}

tra_node *tra_state_fit(tra_build *b, const tra_stmt *st, const tra_repeat_state *state, tra_node *n) {
    const tra_type *want = &state->state->type;
    if (want->columns && n->type.columns) n = tra_state_widen(b, n, want, st->span);
    if (!n) return NULL;
    const char *why = difference(b, want, &n->type);
    if (!why && want->sparse != n->type.sparse)
        why = want->sparse ? "the state is sparse by type, its next value is dense"
                           : "its next value is sparse by type, the state is dense";
    const char *advice = NULL;
    if (why && want->sparse != n->type.sparse && want->dtype == n->type.dtype)
        advice = want->sparse ? "write next X[..] as csr = .., or state X[..] as dense = .."
                              : "write next X[..] as dense = .., or state X[..] as csr = ..";
    if (why && !want->columns && !n->type.columns && want->dtype != n->type.dtype)
        advice = tra_arena_printf(b->arena, "write %s(..) around the next value, or %s(..) around the first",
                                  tra_dtype_name(want->dtype), tra_dtype_name(n->type.dtype));
    if (why) {
        tra_diag_error(b->d, st->span, advice, "the next value of '%s' differs from it: %s", st->name, why);
        tra_diag_also(b->d, state->first->span, "the state");
        return NULL;
    }
    if (tra_type_is_blocked(want, NULL) && tra_type_is_blocked(&n->type, NULL) &&
        !tra_dims_eq(&want->cat->bound, &n->type.cat->bound)) {
        tra_node fields = {.in = {n}, .block = want->cat->bound};
        for (int d = 0; d < fields.block.n; d++) fields.block.v[d] = tra_max64(1, fields.block.v[d]);
        n = tra_build_made(b, TRA_OP_REPART, st->span, &fields);
        if (!n) return NULL;
    }
    if (want->columns || tra_type_eq(want, &n->type, &why)) return n;
    tra_diag_error(b->d, st->span, NULL, "the next value of '%s' differs from it: %s", st->name, why);
    tra_diag_also(b->d, state->first->span, "the state");
    return NULL;
}
