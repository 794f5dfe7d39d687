/* rows_op.c - what operators on rows are called, and which are equal. */
#include "rows_op.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "../../lib/table/tensor_rows.h"
#include "../../lib/table/band_parts.h"
#include "../../lib/table/group.h"
#include "../../lib/table/join.h"
#include "../../lib/table/kernels.h"
#include "../../lib/table/key_ranges.h"
#include "../../lib/table/sums.h"
#include "../../lib/table/union.h"
#include "../../lib/table/weighted.h"
#include "../../lib/table/window_context.h"
#include "tra.h"

/* Each prints the arguments of a kind; `all`: also those that readers have no use for. */
typedef void print_args(const void *args, bool all, tra_str *out);

static void add_columns(const tra_schema *s, int n, const int *column, const bool *desc, tra_str *out) {
    tra_str_add(out, "[");
    for (int i = 0; i < n; i++) {
        if (i) tra_str_add(out, ", ");
        tra_name_print(s->v[column ? column[i] : i].name, out);
        if (desc && desc[i]) tra_str_add(out, " desc");
    }
    tra_str_add(out, "]");
}

static void add_numbers(int n, const int *v, tra_str *out) {
    for (int i = 0; i < n; i++) tra_str_printf(out, " %d", v[i]);
}

/* ---- passes, groups and orders ----------------------------------------------------------------------------------- */

static void print_pass(const void *args, bool all, tra_str *out) {
    tra_rowwise_print(args, all, out);
}

static void print_group(const void *args, bool all, tra_str *out) {
    static const char *const passes[] = {"partial ", "final ", "", "merged "};
    const tra_group_column *v;
    const tra_schema *s = tra_group_in(args);
    int n = tra_group_columns(args, &v);
    (void)all;
    tra_str_printf(out, "%sgroup(", passes[tra_group_pass_of(args)]);
    add_columns(s, tra_group_keys(args), NULL, NULL, out);
    for (int i = 0; i < n; i++) {
        tra_str_printf(out, ", %s = %s(", v[i].name, tra_aggregate_text(v[i].f));
        if (v[i].column >= 0) tra_name_print(s->v[v[i].column].name, out);
        if (tra_aggregate_has_two(v[i].f)) tra_str_add(out, ", "), tra_name_print(s->v[v[i].second].name, out);
        if (v[i].f == TRA_AGGREGATE_QUANTILE) tra_str_printf(out, ", %.17g", v[i].q);
        tra_str_add(out, ")");
    }
    tra_str_add(out, ")");
}

static void print_group_of_pass(const void *args, bool all, tra_str *out) {
    const tra_group_of_pass *x = args;
    print_group(x->g, all, out);
    tra_str_add(out, " of ");
    tra_rowwise_print(x->r, all, out);
}

static void print_wide(const void *args, bool all, tra_str *out) {
    const tra_pivot_wide *x = args;
    print_group(x->g, all, out);
    tra_str_printf(out, " of %" PRId64 " columns", x->key.n);
}

static void print_arrange(const void *args, bool all, tra_str *out) {
    static const char *const keeps[] = {"", ", first of each", ", each once", ""};
    const tra_arrange *x = args;
    bool cut = x->cut && x->skip == 0 && !all, first = cut || (x->keep == TRA_ARRANGE_FIRST && !x->matching);
    bool numbered = false;
    for (int c = 0; c < x->out->n; c++) numbered = numbered || x->from[c] < 0;
    if (cut)
        tra_str_printf(out, "first %" PRId64 " rows by ", x->most);
    else
        tra_str_add(out, first ? "first of each " : x->keep == TRA_ARRANGE_DISTINCT ? "distinct(" : "sort(");
    add_columns(x->in, x->n, x->column, x->desc, out);
    tra_str_printf(out, "%s%s%s", first ? "" : ")", first ? "" : keeps[x->keep],
                   !x->matching ? ""
                   : x->free    ? ", no NULL at the end"
                                : ", no NULLs");
    if (x->top)
        tra_str_printf(out, ", up to %" PRId64 " of %d keys%s", x->top, x->of_keys,
                       x->dense      ? ", dense"
                       : x->numbered ? ", numbered"
                                     : "");
    if (numbered) tra_str_add(out, ", numbered");
    if (!all) return;
    add_numbers(x->out->n, x->from, out);
    tra_str_printf(out, ", %d %d", x->free, x->number);
    if (x->cut) tra_str_printf(out, " %" PRId64 " %" PRId64, x->skip, x->most);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static void print_slice(const void *args, bool all, tra_str *out) {
    const tra_slicing *x = args;
    (void)all;
    tra_str_printf(out, "rows in %srange(",
                   x->open && x->closed ? "right-"
                   : x->open            ? "open "
                   : x->closed          ? "closed "
                                        : "");
    add_columns(x->in, x->n, x->column, x->desc, out);
    tra_str_printf(out, ")%s",
                   x->before && x->after ? ", and one on each side"
                   : x->before           ? ", and one before"
                   : x->after            ? ", and one after"
                                         : "");
}

/* ---- joins ------------------------------------------------------------------------------------------------------- */

static void print_asof(const tra_lookup_spec *s, tra_str *out) {
    const tra_asof *x = s->asof;
    const tra_column *l = &s->left->v[s->lkey[s->nkeys]], *r = &s->right->v[s->rkey[s->nkeys]];
    bool nearest = x->way == TRA_ASOF_NEAREST, before = x->way == TRA_ASOF_BEFORE;
    tra_str_add(out, nearest ? "asof = nearest(" : "asof = ");
    tra_name_print(l->name, out);
    tra_str_add(out, nearest ? ", " : before ? " >" : " <");
    if (!nearest) tra_str_add(out, x->strict ? " " : "= ");
    tra_name_print(r->name, out);
    if (nearest) tra_str_add(out, ")");
    if (x->limited && (tra_coltype_is_float(l->type) || tra_coltype_is_float(r->type)))
        tra_str_printf(out, ", within = %.17g", x->real);
    else if (x->limited)
        tra_str_printf(out, ", within = %" PRId64, x->whole);
}

static void print_lookup(const void *args, bool all, tra_str *out) {
    static const char *const hows[] = {
#define X(name, text) text,
        TRA_LOOKUPS(X)
#undef X
    };
    const tra_lookup *l = args;
    const tra_lookup_spec *s = tra_lookup_spec_of(l);
    const tra_colexpr *where = tra_lookup_condition(l);
    tra_str_add(out, s->nkeys || where || s->asof ? "join(" : "cross(");
    for (int i = 0; i < s->nkeys; i++) {
        tra_str_printf(out, "%s%s == %s", i ? " && " : "", s->left->v[s->lkey[i]].name, s->right->v[s->rkey[i]].name);
    }
    if (where && s->nkeys) tra_str_add(out, " && ");
    if (where) tra_colexpr_print(where, tra_lookup_pair(l), out);
    if (s->asof && s->nkeys) tra_str_add(out, ", ");
    if (s->asof) print_asof(s, out);
    if (s->how) tra_str_printf(out, "%show = %s", s->nkeys || where || s->asof ? ", " : "", hows[s->how]);
    if (s->prefix) tra_str_printf(out, ", prefix = \"%s\"", s->prefix);
    if (s->unique) tra_str_add(out, ", expect = \"m:1\"");
    if (s->matched) tra_str_add(out, ", matched = left");
    if (s->nulls_match) tra_str_add(out, ", nulls = match");
    if (s->number) tra_str_printf(out, ", number as `%s`", s->number);
    if (tra_lookup_is_banded(l)) {
        tra_str_add(out, ", found by ranges of ");
        tra_lookup_print_band(l, out);
    }
    tra_str_add(out, ")");
    const tra_schema *made = tra_lookup_out(l);
    int columns = s->how <= TRA_LOOKUP_LEFT ? tra_lookup_pair(l)->n : 0; /* two keys of one name are one column */
    for (int i = 0; i < s->nkeys; i++)
        columns -= strcmp(s->left->v[s->lkey[i]].name, s->right->v[s->rkey[i]].name) == 0;
    for (int i = 0; i < made->n && made->n < columns; i++)
        tra_str_printf(out, "%s%s", i ? ", " : " of ", made->v[i].name);
    for (int i = 0; all && i < 2; i++) tra_str_printf(out, " %s", s->name[i] ? s->name[i] : "-");
}

static void print_pairs_before(const void *args, bool all, tra_str *out) {
    const tra_pairs_before *x = args;
    tra_str_printf(out, "pairs before, at most %" PRId64 " of a block, of ", x->most);
    print_lookup(x->join, all, out);
}

static void print_place(const void *args, bool all, tra_str *out) {
    const tra_placing *x = args;
    if (x->join)
        print_lookup(x->join, all, out);
    else
        tra_str_add(out, "rows that were found");
    if (all)
        tra_str_printf(out, " placed %d %" PRId64 " %d %d %s", (int)x->how, x->rows, x->ordered, x->matched, x->name);
}

static void print_band_parts(const void *args, bool all, tra_str *out) {
    print_lookup(((const tra_band_parts *)args)->join, all, out);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static void print_window(const void *args, bool all, tra_str *out) {
    const tra_window *x = args;
    (void)all;
    tra_str_printf(out, "window of %d keys, order of %d", x->nkeys, x->norder);
    for (int k = 0; k < x->norder; k++)
        if (x->desc[x->nkeys + k]) tra_str_printf(out, " %d desc", k);
    for (int i = 0; i < x->n; i++) {
        const tra_window_column *v = &x->v[i];
        tra_str_printf(out, ", %s = %s(", v->name, tra_window_text(v->f));
        if (v->column >= 0) tra_str_printf(out, "%d", v->column);
        if (tra_window_way_of(v->f) == TRA_WINDOW_MOVE || v->n > 1) tra_str_printf(out, ", %" PRId64, v->n);
        if (v->f == TRA_WINDOW_QUANTILE) tra_str_printf(out, ", %.17g", v->q);
        tra_str_add(out, ")");
        if (tra_window_way_of(v->f) < TRA_WINDOW_END) continue;
        tra_str_add(out, v->frame.range ? " range" : " rows");
        for (int e = 0; e < 2; e++) {
            if (v->frame.open[e])
                tra_str_add(out, " open");
            else
                tra_str_printf(out, " %" PRId64 " %.17g", v->frame.whole[e], v->frame.real[e]);
        }
    }
    if (x->top > 0) tra_str_printf(out, ", %s <= %" PRId64, tra_window_text(x->by), x->top);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static void print_slots(const void *args, bool all, tra_str *out) {
    const tra_slots *s = args;
    (void)all;
    tra_str_add(out, "sums of ");
    for (int k = 0; k < s->nkeys; k++)
        tra_str_printf(out, "%s%" PRId64 "%s%s from %" PRId64, k ? " x " : "", s->key[k].n,
                       s->key[k].nullable ? " + NULL" : "", s->key[k].code ? " known" : "", s->key[k].least);
    tra_str_add(out, " groups");
    for (int k = 0; s->part && k < s->out->n - s->nkeys - 1; k++)
        tra_str_printf(out, "%s%" PRId64 " + %d bits", k ? ", " : " in words of ", s->part[k].least, s->part[k].bits);
    tra_str_add(out, ": ");
    tra_rowwise_print(s->r, all, out);
}

static void print_row_sums(const void *args, bool all, tra_str *out) {
    const tra_row_sums *x = args;
    (void)all;
    tra_str_printf(out, "%s%d x %d sums over groups: ", x->symmetric ? "symmetric " : "", x->nx, x->n / x->nx);
    tra_rowwise_print(x->r, all, out);
}

static void print_products(const void *args, bool all, tra_str *out) {
    const tra_column_products *x = args;
    (void)all;
    tra_str_printf(out, "%s%d x %d products of columns%s: ", x->same ? "symmetric " : "", x->nx, x->ny,
                   x->beside ? " with what lies beside them" : "");
    tra_rowwise_print(x->r, all, out);
}

static void print_weighted(const void *args, bool all, tra_str *out) {
    const tra_weighted *x = args;
    (void)all;
    tra_str_printf(out, "%d columns weighed", x->n);
    for (int i = 0; i < x->n; i++) tra_str_printf(out, "%s%d", i ? ", " : " by ", x->at[i]);
    tra_str_printf(out, ", %s%d: ", x->out ? "beside " : "added to ", x->nkept);
    tra_rowwise_print(x->r, all, out);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static void print_border(const void *args, bool all, tra_str *out) {
    const tra_border *x = args;
    int64_t at = 0;
    tra_str_add(out, "(");
    for (int i = 0; i < x->out->n; i++) {
        if (i) tra_str_add(out, ", ");
        tra_name_print(x->out->v[i].name, out);
    }
    tra_str_add(out, ")");
    for (int d = 1; d < x->rank; d++) at |= x->origin[d];
    for (int d = 1; d < x->rank && at; d++) tra_str_printf(out, "%s %" PRId64, d > 1 ? "," : " from", x->origin[d]);
    for (int d = 0; all && d < x->rank; d++) {
        const tra_dim_labels *l = x->label[d];
        if (!l) continue;
        uint64_t h = XXH64(&l->type, sizeof l->type, (uint64_t)l->n);
        if (l->whole) h = XXH64(l->whole, (size_t)l->n * sizeof *l->whole, h);
        if (l->code) h = XXH64(l->code, (size_t)l->n * sizeof *l->code, h);
        if (l->dict) h = XXH64(l->dict->begin, (size_t)(l->dict->n + 1) * sizeof *l->dict->begin, h);
        if (l->dict) h = XXH64(l->dict->bytes, (size_t)l->dict->begin[l->dict->n], h);
        tra_str_printf(out, "; %d: %016" PRIx64, d, h);
    }
}

static void print_gather(const void *args, bool all, tra_str *out) {
    const tra_gather *x = args;
    (void)all;
    tra_str_printf(out, "%s at these positions, of blocks of %" PRId64, x->dim ? "columns" : "rows", x->block);
}

static void print_count(const void *args, bool all, tra_str *out) {
    const tra_limiting *x = args;
    (void)all;
    tra_str_add(out, x->weight < 0 ? "rows of a block" : "sum of ");
    if (x->weight >= 0) tra_name_print(x->in->v[x->weight].name, out);
}

static void print_numbers(const void *args, bool all, tra_str *out) {
    const tra_row_numbering *x = args;
    tra_str_add(out, x->weight < 0 ? "number rows as a column" : "sums before each row of ");
    if (x->weight >= 0) tra_name_print(x->in->v[x->weight].name, out);
    if (all) tra_str_printf(out, " %" PRId64 " %" PRId64, x->most, x->each);
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

#define AT(type, member) offsetof(type, member)
#define KEYS(type)       AT(type, in), AT(type, n), AT(type, column), AT(type, desc)
#define PIVOT            AT(tra_pivot, key[0].n), AT(tra_pivot, key[1].n)

/* How the arguments are printed: by a function, after a text in which # stands for an int64_t, & for an int, ~ for a
 * double and $ for columns, whose places in the struct of arguments follow. Kinds that are not here have labels, which
 * say all of their arguments. */
static const struct kind {
    const tra_rows_ops *ops;
    print_args *print;
    const char *text;
    size_t at[6];
} kinds[] = {
    {&tra_rowwise_ops, print_pass, NULL, {0}},
    {&tra_rows_count_ops, NULL, "rows", {0}},
    {&tra_group_ops, print_group, NULL, {0}},
    {&tra_group_of_pass_ops, print_group_of_pass, NULL, {0}},
    {&tra_pivot_ops, NULL, "pivot(# x #)", {PIVOT}},
    {&tra_pivot_block_ops, NULL, "pivot(# x #) in blocks of rows", {PIVOT}},
    {&tra_pivot_wide_ops, print_wide, NULL, {0}},
    {&tra_arrange_ops, print_arrange, NULL, {0}},
    {&tra_sample_ops, NULL, "sample($, 1 of #)", {KEYS(tra_sampling), AT(tra_sampling, every)}},
    {&tra_splitters_ops, NULL, "splitters($, # parts)", {KEYS(tra_sampling), AT(tra_sampling, parts)}},
    {&tra_range_ops, NULL, "range of splitters $", {KEYS(tra_sampling)}},
    {&tra_slice_ops, print_slice, NULL, {0}},
    {&tra_number_slice_ops,
     NULL,
     "rows of blocks of #, by column &",
     {AT(tra_number_slicing, rows), AT(tra_number_slicing, column)}},
    {&tra_row_slice_ops, NULL, "slices of # rows", {AT(tra_row_slicing, rows)}},
    {&tra_limit_count_ops, print_count, NULL, {0}},
    {&tra_limit_start_ops, NULL, "first row of a block", {0}},
    {&tra_limit_cut_ops, NULL, "limit(#, from = #)", {AT(tra_limiting, most), AT(tra_limiting, from)}},
    {&tra_row_numbers_ops, print_numbers, NULL, {0}},
    {&tra_group_ends_ops, NULL, "groups at ends, of & keys", {AT(tra_ranking, nkeys)}},
    {&tra_group_carry_ops, NULL, "values in other blocks, of & keys", {AT(tra_ranking, nkeys)}},
    {&tra_group_ranks_ops, NULL, "values at ~ of each group, of & keys", {AT(tra_ranking, q), AT(tra_ranking, nkeys)}},
    {&tra_union_part_ops, NULL, "rows from # to before #", {AT(tra_union_part, from), AT(tra_union_part, to)}},
    {&tra_union_both_ops, NULL, "union", {0}},
    {&tra_lookup_ops, print_lookup, NULL, {0}},
    {&tra_pairs_before_ops, print_pairs_before, NULL, {0}},
    {&tra_place_ops, print_place, NULL, {0}},
    {&tra_band_box_ops, print_band_parts, "least and greatest of a part of ", {0}},
    {&tra_band_strips_ops, print_band_parts, "what strips ask for in ", {0}},
    {&tra_band_slice_ops, print_band_parts, "rows that may meet a part of ", {0}},
    {&tra_window_ops, print_window, NULL, {0}},
    {&tra_window_summary_ops, print_window, "summary for ", {0}},
    {&tra_window_reach_ops, print_window, "reach of ", {0}},
    {&tra_window_pick_ops, print_window, "context of ", {0}},
    {&tra_slot_sums_ops, print_slots, NULL, {0}},
    {&tra_slot_words_ops, print_slots, NULL, {0}},
    {&tra_slot_rows_ops, print_slots, "groups that have rows, of ", {0}},
    {&tra_row_sums_ops, print_row_sums, NULL, {0}},
    {&tra_column_products_ops, print_products, NULL, {0}},
    {&tra_weighted_ops, print_weighted, NULL, {0}},
    {&tra_entries_ops, print_border, "entries", {0}},
    {&tra_unmatrix_ops, print_border, "table", {0}},
    {&tra_gather_ops, print_gather, NULL, {0}},
};

static void print_text(const struct kind *k, const void *args, tra_str *out) {
#define FIELD(type, i) (*(type const *)(const void *)((const char *)args + at[i]))
    const size_t *at = k->at;
    for (const char *c = k->text; *c; c++) {
        switch (*c) {
        case '#': tra_str_printf(out, "%" PRId64, FIELD(int64_t, 0)), at++; break;
        case '&': tra_str_printf(out, "%d", FIELD(int, 0)), at++; break;
        case '~': tra_str_printf(out, "%.17g", FIELD(double, 0)), at++; break;
        case '$':
            add_columns(FIELD(tra_schema *, 0), FIELD(int, 1), FIELD(int *, 2), FIELD(bool *, 3), out);
            at += 4;
            break;
        default: tra_str_addn(out, c, 1);
        }
    }
#undef FIELD
}

/* False: the kind is not printed. */
static bool print_op(const tra_rows_kernel *op, bool all, tra_str *out) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].ops != op->ops) continue;
        if (kinds[i].text) print_text(&kinds[i], op->data, out);
        if (kinds[i].print) kinds[i].print(op->data, all, out);
        return true;
    }
    return false;
}

tra_column *tra_schema_beside(tra_arena *a, const tra_schema *s, int n, const tra_schema **out) {
    int own = s ? s->n : 0;
    tra_column *v = tra_news(a, tra_column, own + n + 1);
    tra_schema *all = tra_new(a, tra_schema);
    if (own) memcpy(v, s->v, (size_t)own * sizeof *v);
    *all = (tra_schema){own + n, v};
    *out = all;
    return v + own;
}

tra_rows_kernel tra_rows_op(const tra_rows_ops *kind, const void *args, const tra_schema *columns) {
    return (tra_rows_kernel){.use = TRA_USE_MAP,
                             .columns = columns,
                             .dtype = TRA_F64,
                             .extent = TRA_ROWS_SAME,
                             .share = 1,
                             .ops = kind,
                             .data = args};
}

const tra_kernel *tra_rows_kernel_of(tra_arena *a, const tra_rows_kernel *op) {
    tra_rows_kernel own = *op;
    tra_str s = {0};
    own.text = op->label;
    if (!op->label && print_op(op, false, &s)) own.text = tra_arena_take(a, &s);
    return tra_kernel_of_rows(a, &own);
}

const tra_rows_kernel *tra_rows_op_of(const tra_node *n) { return n->kernel ? tra_kernel_rows(n->kernel) : NULL; }

const void *tra_rows_args(const tra_node *n, const tra_rows_ops *kind) {
    const tra_rows_kernel *op = tra_rows_op_of(n);
    return op && op->ops == kind ? op->data : NULL;
}

void tra_rows_identity(const tra_rows_kernel *op, tra_str *out) {
    if (!print_op(op, true, out)) tra_str_add(out, op->text);
    tra_str_printf(out, "; %d %" PRId64 " %" PRId64 " %" PRId64 " %d %" PRId64, (int)op->extent, op->most, op->each,
                   op->all, (int)op->dtype, op->width);
    for (int i = 0; op->columns && i < op->columns->n; i++) tra_str_printf(out, " %s", op->columns->v[i].name);
}
