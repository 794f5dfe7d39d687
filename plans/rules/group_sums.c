/* group_sums.c - rows summed by group columns, in slots that these address, and arrays beside these rows: what
 * matrix_sums.h promises of them. */
#include "matrix_sums.h"

#include <math.h>
#include <string.h>

#include "../../lib/tablefile/table_file.h"
#include "../../lib/table/weighted.h"
#include "../tra/cardinality.h"

enum { MOST_SUMS = 4096 };

/* Numbers the values that the column has, so that other values of its range need no slots. Its statistics list them
 * all. */
static void number_values(factoring *f, const tra_column_facts *facts, tra_slot_key *out) {
    int32_t *code = tra_news(f->a, int32_t, out->range + 1);
    int64_t *value = tra_news(f->a, int64_t, facts->n + 1);
    for (int64_t i = 0; i < out->range; i++) code[i] = -1;
    out->n = 0;
    for (int64_t i = 0; i < facts->n; i++) {
        int64_t at = facts->frequency[i][0] - out->least;
        if (at < 0 || at >= out->range || code[at] >= 0) continue;
        code[at] = (int32_t)out->n;
        value[out->n++] = facts->frequency[i][0];
    }
    out->code = code;
    out->value = value;
}

/* Finds which values a group column may have. joins: it is a key of a join. False after a refusal. */
static bool values_of(factoring *f, const tra_colexpr *x, bool joins, tra_slot_key *out) {
    tra_column_facts facts;
    tra_str text = {0};
    *out = (tra_slot_key){.nullable = x->nullable};
    int64_t most = x->most;
    out->least = x->least;
    bool counted = false, known = !tra_coltype_is_float(x->type), coded = tra_coltype_is_coded(x->type);
    if (coded) {
        known = x->dict != NULL;
        out->least = 0;
        most = x->dict ? x->dict->n - 1 : 0;
    } else if (known && x->op == TRA_C_COLUMN && x->file && tra_rel_column_facts(x->file, x->number, &facts)) {
        bool none = facts.rows <= facts.nulls;
        counted = !none;
        out->least = none ? 0 : tra_max64(out->least, facts.min);
        most = none ? -1 : tra_min64(most, facts.max);
    }
    __int128 n = (__int128)most - out->least + 1;
    out->n = out->range = n < 0 ? 0 : n > TRA_MOST_SLOTS ? TRA_MOST_SLOTS + 1 : (int64_t)n;
    if (known && out->n <= TRA_MOST_SLOTS) {
        if (counted && facts.whole && facts.n < out->n) number_values(f, &facts, out);
        return true;
    }
    tra_colexpr_print(x, f->pipe->all, &text);
    REFUSE(f, "the values of %s, by which rows are to be summed, are %s%s", tra_str_get(&text),
           tra_coltype_is_float(x->type) ? "no whole numbers"
           : coded                       ? "not known before the run"
                                         : "not known to lie close together",
           joins ? "" : ": what reads it together with a joined table is no product of one factor of each");
    tra_str_free(&text);
    return false;
}

/* ---- group columns ----------------------------------------------------------------------------------------------- */

/* The source's columns in an expression that reads others as well. */
static bool add_columns(factoring *f, const tra_colexpr *x) {
    if (x->op == TRA_C_COLUMN) return x->column >= f->pipe->source->type.columns->n || tra_factor_add_key(f, x);
    for (int i = 0; i < x->nkids; i++)
        if (!add_columns(f, x->kids[i])) return false;
    return true;
}

/* Divides the factors of a product of floats in two: *own becomes the product of those that read the source alone,
 * *other the product of the rest; NULL where there are none. False: a product could not be made. */
static bool take_factors(const factoring *f, const tra_colexpr *x, const tra_colexpr **own, const tra_colexpr **other) {
    if (x->op == TRA_C_MUL && x->type == TRA_COL_F64)
        return take_factors(f, x->kids[0], own, other) && take_factors(f, x->kids[1], own, other);
    const tra_colexpr **to = tra_pipe_reads(f->pipe, x, 1) || !tra_pipe_reads(f->pipe, x, 0) ? other : own;
    if (*to) return tra_factor_multiply(f->a, *to, x, to);
    *to = x;
    return true;
}

/* Splits each feature that is a product of factors over the source alone and of other factors. */
static void split(factoring *f) {
    for (product *m = f->product; m < f->product + f->nproducts; m++)
        for (int side = 0; side < 2 - m->same; side++)
            for (feature *c = m->f[side]; c < m->f[side] + m->n[side]; c++) {
                const tra_colexpr *own = NULL, *other = NULL;
                if (c->beside || !tra_pipe_reads(f->pipe, c->x, 1) || !take_factors(f, c->x, &own, &other)) continue;
                if (own && other) c->x = own, c->of_group = other;
            }
}

/* Adds the columns of the source that features and predicates read together with columns of other tables; false after a
 * refusal. */
static bool map_keys(factoring *f) {
    const tra_pipe *p = f->pipe;
    for (int i = 0; i < p->nselects && !f->rows; i++)
        if (tra_pipe_reads(p, p->select[i].x, 1) && !add_columns(f, p->select[i].x)) return false;
    for (const product *m = f->product; m < f->product + f->nproducts; m++)
        for (int side = 0; side < 2 - m->same; side++)
            for (const feature *c = m->f[side]; c < m->f[side] + m->n[side]; c++) {
                const tra_colexpr *x = c->of_group ? c->of_group : c->x;
                if (tra_pipe_reads(p, x, 1) && !add_columns(f, x)) return false;
            }
    return true;
}

/* Is the expression a function of the group: does it read no columns of the source but group columns? */
static bool of_group(const factoring *f, const tra_colexpr *x) {
    if (x->op == TRA_C_COLUMN) {
        bool found = x->column >= f->pipe->source->type.columns->n;
        for (int k = 0; k < f->nkeys; k++)
            found = found || (f->key[k]->op == TRA_C_COLUMN && f->key[k]->column == x->column);
        return found;
    }
    for (int i = 0; i < x->nkids; i++)
        if (!of_group(f, x->kids[i])) return false;
    return true;
}

/* The table of the memo whose rows are summed. */
static const tra_node *summed(const factoring *f) { return f->rows ? &f->rows->x->node : f->pipe->source; }

/* ---- the sums of slots ------------------------------------------------------------------------------------------- */

/* Gives the summand of a feature a number; false: there are too many summands. */
static bool add_summand(factoring *f, feature *c) {
    c->summed = c->beside || !of_group(f, c->x);
    if (!c->summed && !c->of_group) c->of_group = c->x;
    if (!c->summed && c->of_group != c->x && !tra_factor_multiply(f->a, c->x, c->of_group, &c->of_group)) return false;
    for (c->at = 0; c->summed && c->at < f->nsummands; c->at++)
        if (tra_colexpr_same(f->pipe->all, f->summand[c->at], c->x)) break;
    if (!c->summed || c->at < f->nsummands) return true;
    if (f->nsummands == 2 * TRA_FACTOR_COLUMNS) return false;
    f->summand[f->nsummands++] = c->x;
    return true;
}

/* False: they are too many. */
static bool set_summands(factoring *f) {
    for (product *p = f->product; p < f->product + f->nproducts; p++) {
        for (int side = 0; side < 2 - p->same; side++)
            for (int i = 0; i < p->n[side]; i++)
                if (!add_summand(f, &p->f[side][i])) return false;
        if (p->weight && !add_summand(f, p->weight)) return false;
        if (p->same) p->f[1] = p->f[0], p->n[1] = p->n[0];
    }
    return true;
}

factor_sum tra_factor_sum_of(const product *p, const feature *x, const feature *y) {
    const feature *of[3] = {x, y, p->weight};
    factor_sum s = {.v = {-1, -1, -1}};
    int n = 0;
    for (int i = 0; i < 3; i++) {
        if (!of[i] || !of[i]->summed) continue;
        int at = n++;
        for (; at > 0 && s.v[at - 1] > of[i]->at; at--) s.v[at] = s.v[at - 1];
        s.v[at] = of[i]->at;
    }
    return s;
}

int tra_factor_find(const factoring *f, const factor_sum *s) {
    for (int k = 0; k < f->nsums; k++)
        if (memcmp(f->sum[k].v, s->v, sizeof s->v) == 0 && f->sum[k].sign == s->sign) return k;
    return -1;
}

/* The expression of whole numbers from which a summand was converted to f64; the summand itself if it was not. */
static const tra_colexpr *whole_of(const tra_colexpr *x) {
    return x->op == TRA_C_CONVERT && !tra_coltype_is_float(x->kids[0]->type) ? x->kids[0] : x;
}

/* The sign of a summand: -1, 0, 1 or NaN. */
static const tra_colexpr *sign_of(tra_arena *a, const tra_colexpr *x) {
    bool whole = !tra_coltype_is_float(x->type);
    const tra_colexpr *zero = whole ? tra_colexpr_int(a, 0) : tra_colexpr_float(a, 0),
                      *above = whole ? tra_colexpr_int(a, 1) : tra_colexpr_float(a, 1),
                      *below = whole ? tra_colexpr_int(a, -1) : tra_colexpr_float(a, -1);
    const tra_colexpr *test[2] = {x, zero}, *choice[3];
    if (tra_colexpr_call(a, TRA_C_LT, 2, test, &choice[0], NULL) != TRA_OK) return NULL;
    choice[1] = below, choice[2] = whole ? zero : x;
    if (tra_colexpr_call(a, TRA_C_IF, 3, choice, &choice[2], NULL) != TRA_OK) return NULL;
    if (tra_colexpr_call(a, TRA_C_GT, 2, test, &choice[0], NULL) != TRA_OK) return NULL;
    choice[1] = above;
    return tra_colexpr_call(a, TRA_C_IF, 3, choice, &x, NULL) == TRA_OK ? x : NULL;
}

static bool add_sum(factoring *f, const factor_sum *s) {
    if (tra_factor_find(f, s) >= 0) return true;
    if (f->nsums == MOST_SUMS) return false;
    f->sum[f->nsums++] = *s;
    return true;
}

/* What is known of all columns of the pipeline: of the source's, and of those of the joined tables. */
static const tra_facts *facts_of_all(factoring *f) {
    const tra_memo *m = f->w->m;
    const tra_pipe *p = f->pipe;
    if (f->facts) return f->facts;
    tra_facts *k = tra_new(f->a, tra_facts);
    *k = (tra_facts){.n = p->all->n, .column = tra_news(f->a, tra_column_known, p->all->n + 1)};
    for (int i = 0; i < k->n; i++) k->column[i] = (tra_column_known){.lo = 1, .by = -1};
    for (int j = -1; j < p->njoins; j++) {
        const tra_facts *own = tra_memo_facts(m, j < 0 ? tra_memo_expr(p->source)->group : p->join[j].x->in[1]);
        memcpy(k->column + (j < 0 ? 0 : p->join[j].first), own->column, (size_t)own->n * sizeof *own->column);
    }
    return f->facts = k;
}

static bool is_finite(factoring *f, const tra_colexpr *x) { return !x || tra_is_finite(facts_of_all(f), x); }

/* Adds the sums that the product of columns x and y needs. Where the function of the group by which a
 * sum is multiplied may be infinite, the sum of the signs is needed as well. */
static bool add_sums(factoring *f, const product *p, const feature *x, const feature *y) {
    factor_sum s = tra_factor_sum_of(p, x, y);
    if (s.v[0] < 0) return true;
    if (!add_sum(f, &s)) return false;
    s.sign = !is_finite(f, x->of_group) || !is_finite(f, y->of_group);
    return !s.sign || add_sum(f, &s);
}

/* False: they are too many. */
static bool set_sums(factoring *f) {
    f->sum = tra_arena_alloc(f->a, sizeof *f->sum * MOST_SUMS);
    for (const product *p = f->product; p < f->product + f->nproducts; p++)
        for (int i = 0; i < p->n[0]; i++)
            for (int j = p->same ? i : 0; j < p->n[1]; j++)
                if (!add_sums(f, p, &p->f[0][i], &p->f[1][j])) return false;
    return true;
}

/* The expression that a sum adds up: in f64; or, for a single whole summand, in whole numbers. NULL: there is none. */
static const tra_colexpr *summed_value(const factoring *f, const factor_sum *s, bool whole) {
    const tra_colexpr *x = f->summand[s->v[0]];
    if (whole) x = whole_of(x);
    for (int i = 1; i < 3 && s->v[i] >= 0; i++)
        if (!tra_factor_multiply(f->a, x, f->summand[s->v[i]], &x)) return NULL;
    return s->sign ? sign_of(f->a, x) : x;
}

/* Which bits of a word each sum gets, if all sums fit into one word; NULL: they do not. Sums of products are not tried,
 * since these are seldom small, nor sums with arrays beside the rows, which are f64. */
static const tra_slot_part *parts_of(const factoring *f, int *counts) {
    const tra_colexpr **x = tra_news(f->a, const tra_colexpr *, f->nsums + 1);
    for (int i = 0; i < f->nsums; i++)
        if (f->rows || f->sum[i].v[1] >= 0 || !(x[i] = summed_value(f, &f->sum[i], true))) return NULL;
    return tra_slot_parts(f->a, f->nsums, x, tra_catalog_elements(f->pipe->source->type.cat), counts);
}

/* Sets s->r, the pass that makes the rows which are summed: it selects by predicates on the source alone, unless rows
 * were selected already, and projects the group columns and what is added up. */
static bool rows_of_slots(factoring *f, tra_slots *s) {
    tra_projection p = {.arena = f->a};
    tra_rowwise *r = tra_rowwise_new(f->a, summed(f)->type.columns);
    for (int i = 0; i < f->pipe->nselects && !f->rows; i++)
        if (!tra_pipe_reads(f->pipe, f->pipe->select[i].x, 1)) tra_rowwise_select(r, f->pipe->select[i].x);
    for (int k = 0; k < f->nkeys; k++)
        tra_projection_add(&p, tra_arena_printf(f->a, "key %d", k),
                           f->rows ? tra_colexpr_column(f->a, summed(f)->type.columns, k) : f->key[k]);
    for (int i = 0; i < f->nsums; i++) {
        const tra_colexpr *v = summed_value(f, &f->sum[i], s->part);
        if (!v || tra_colexpr_convert(f->a, v, s->part ? TRA_COL_I64 : TRA_COL_F64, NULL, &v, NULL) != TRA_OK)
            return false;
        if (f->rows) v = tra_colexpr_substitute(f->a, v, f->rows->by);
        tra_projection_add(&p, tra_arena_printf(f->a, "sum %d", p.n), v);
    }
    tra_rowwise_project(r, p.n, p.names, p.x);
    s->r = r;
    return true;
}

static const tra_schema *columns_of_slots(const factoring *f) {
    int n = f->nkeys + 1 + f->nsums;
    const tra_schema *s;
    tra_column *v = tra_schema_beside(f->a, NULL, n, &s);
    for (int i = 0; i < n; i++) {
        if (i < f->nkeys)
            v[i] = tra_colexpr_result(f->key[i], tra_arena_printf(f->a, "key %d", i));
        else
            v[i] = (tra_column){.name = tra_arena_printf(f->a, i == f->nkeys ? "rows" : "sum %d", i - f->nkeys),
                                .type = TRA_COL_F64};
        v[i].file = NULL;
    }
    return s;
}

bool tra_factor_slots(factoring *f) {
    if (!tra_factor_join_keys(f)) return false;
    f->njoinkeys = f->nkeys;
    split(f);
    if (!map_keys(f) || !set_summands(f) || !set_sums(f)) return false;
    tra_slots *s = tra_new(f->a, tra_slots);
    tra_slot_key *key = tra_news(f->a, tra_slot_key, f->nkeys + 1);
    *s = (tra_slots){.nkeys = f->nkeys, .key = key, .n = 1};
    for (int k = 0; k < f->nkeys; k++) {
        if (!values_of(f, f->key[k], k < f->njoinkeys, &key[k])) return false;
        s->n = tra_mul_most(s->n, key[k].n + key[k].nullable);
    }
    s->part = parts_of(f, &s->counts);
    if (tra_mul_most(s->n, s->part ? 1 : 1 + f->nsums) > TRA_MOST_SLOTS)
        return REFUSE(f, "there may be %" PRId64 " groups with %d sums each, more than %d numbers", s->n, 1 + f->nsums,
                      TRA_MOST_SLOTS);
    if (s->n == 0) return false; /* no rows at all */
    s->out = columns_of_slots(f);
    f->slots = s;
    return true;
}

/* ---- arrays beside the rows ----------------------------------------------------------------------------------------
 */

tra_expr *tra_factor_array(factoring *f, const tra_expr *array) {
    if (array->node.type.cat->frontier.n < 2) return (tra_expr *)array;
    return tra_make_below(f->w, f->x, tra_factor_rekeyed(f, array, 1, 1));
}

/* Adds an array, unless it is there: its columns follow all columns of the pipeline. */
static factor_array *add_array(factoring *f, const tra_expr *x) {
    const tra_memo *m = f->w->m;
    for (int i = 0; i < f->narrays; i++)
        if (tra_memo_find(m, f->array[i].x->group) == tra_memo_find(m, x->group)) return &f->array[i];
    if (!f->rows) f->rows = tra_new(f->a, joining);
    const tra_schema *all = f->pipe->all, *s;
    int width = tra_factor_width(x);
    tra_pipe *pipe = tra_new(f->a, tra_pipe);
    tra_column *v = tra_schema_beside(f->a, all, width, &s);
    for (int c = 0; c < width; c++)
        v[c] = (tra_column){.name = tra_arena_printf(f->a, "beside %d.%d", f->narrays, c), .type = TRA_COL_F64};
    *pipe = *f->pipe;
    pipe->all = s;
    f->pipe = pipe;
    f->array[f->narrays] = (factor_array){.x = x, .width = width, .first = all->n};
    return &f->array[f->narrays++];
}

int tra_factor_array_columns(factoring *f, const tra_expr *array, feature **out) {
    const factor_array *own = add_array(f, array);
    *out = tra_news(f->a, feature, own->width + 1);
    for (int c = 0; c < own->width; c++)
        (*out)[c] = (feature){.name = f->pipe->all->v[own->first + c].name,
                              .x = tra_colexpr_column(f->a, f->pipe->all, own->first + c),
                              .beside = true};
    return own->width;
}

/* Puts an array beside the rows of the joins. */
static bool put_beside(factoring *f, const factor_array *own) {
    joining *g = f->rows;
    const tra_expr *array = tra_factor_array(f, own->x);
    if (!array) return false;
    const tra_schema *s = g->x->node.type.columns, *all;
    tra_column *v = tra_schema_beside(f->a, s, own->width, &all);
    memcpy(v, f->pipe->all->v + own->first, (size_t)own->width * sizeof *v);
    tra_rows_kernel k = tra_rows_op(&tra_beside_ops, all, all);
    k.use = TRA_USE_JOIN, k.flops = TRA_COLUMN_FLOPS * all->n;
    k.label = tra_arena_printf(f->a, "with %d columns beside them", own->width);
    g->x = tra_factor_beside(f, g->x, &array->node, false, &k);
    if (!g->x) return false;
    for (int i = 0; i < own->first; i++)
        if (g->by[i]) g->by[i] = tra_colexpr_column(f->a, all, g->by[i]->column);
    for (int c = 0; c < own->width; c++) g->by[own->first + c] = tra_colexpr_column(f->a, all, s->n + c);
    return true;
}

/* f->rows becomes the rows of the joins with the arrays beside them; these are then summed in place of the source. */
static bool rows_beside(factoring *f) {
    joining *g = f->rows;
    tra_expr *none[TRA_PIPE_JOINS] = {0};
    int *of[TRA_PIPE_JOINS] = {0};
    bool *used = tra_news(f->a, bool, f->pipe->all->n + 1);
    tra_factor_mark_selects(f, used);
    for (int i = 0; i < f->nsummands; i++) tra_colexpr_columns(f->summand[i], used);
    for (int i = 0; i < f->narrays; i++)
        for (int c = 0; c < f->array[i].width; c++) used[f->array[i].first + c] = false;
    if (!tra_factor_rows(f, g, used, none, of) || !tra_factor_select(f, g)) return false;
    for (int i = 0; i < f->narrays; i++)
        if (!put_beside(f, &f->array[i])) return false;
    return true;
}

/* ---- the table of groups ----------------------------------------------------------------------------------------- */

enum { SLOTS = 1 << 14 }; /* of one block of groups, where there are several */

tra_expr *tra_factor_groups(factoring *f) {
    tra_slots *s = f->slots;
    if ((f->rows && !rows_beside(f)) || !rows_of_slots(f, s)) return NULL;
    tra_expr *source = tra_memo_expr(summed(f));
    double rows = tra_rows_expected(&source->node);
    tra_rows_kernel k = tra_rows_op(s->part ? &tra_slot_words_ops : &tra_slot_sums_ops, s, NULL);
    k.dtype = s->part ? TRA_I64 : TRA_F64, k.width = s->part ? 1 : 1 + f->nsums;
    k.extent = TRA_ROWS_FIXED, k.most = s->n, k.flops = 4.0 * (1 + f->nkeys) + 3.0 * f->nsums;
    tra_expr *sums = tra_factor_pass(f, source, &k);
    tra_expr *all = sums ? tra_factor_total(f, sums) : NULL;
    if (all && s->n > SLOTS) /* blocks, which workers share, and of which a few are in memory */
        all = tra_make_below(f->w, f->x, (tra_node){.op = TRA_OP_TILE, .in = {&all->node}, .dim = 0, .size = SLOTS});
    if (!all) return NULL;
    k = tra_rows_op(&tra_slot_rows_ops, s, s->out);
    k.counts = true, k.share = tra_any_of(1 / (double)s->n, rows), k.flops = 2;
    return tra_factor_pass(f, all, &k);
}
