/* layout.c - the row of the layout: which file here does what. */
#include "reduce.h"

#include <string.h>

/* What takes a join or map: one step, with a function of one argument before (of maps) and after it, or without. Of a
 * PRODUCT the operands tell more (choose). */
typedef enum way {
    ELEMENTS = TRA_IMPL_ENTRIES,
    PRODUCT = TRA_IMPL_MATMUL,
    REDUCE = TRA_IMPL_REDUCE,
    MERGE = TRA_IMPL_MERGE,
    TOTAL = TRA_IMPL_TOTAL,
    TOP = TRA_IMPL_TOP,
    SLOW = TRA_IMPL_SLOW
} way;

enum { LEFT = 1, RIGHT = 2 };

typedef struct plan {
    way way;
    const tra_kernel *step;
    tra_unary before, after;
    tra_total total; /* TOTAL; its `of` of MERGE too: the operand whose labels are all */
    tra_dims as;     /* extents of the other, as those of an array with the same labels */
} plan;

/* Is a function of one argument 0 at 0? */
static bool keeps_zero(const tra_kernel *step) {
    return tra_code_sparse(step->code, (const bool[1]){true}, NULL, NULL);
}

/* A function of two operands at the same place, perhaps folded: its code. NULL: it is no such step. */
static const tra_code *code_of_pairs(const tra_kernel *step) {
    static tra_insn times = {.op = TRA_S_MUL, .a = ~0, .b = ~1, .c = ~0};
    static const tra_code product = {.n = 1, .nregs = 1, .v = &times};
    if (step->nin != 2) return NULL;
    if (step->cls == TRA_K_EINSUM && step->nlabels == step->nout) return &product; /* it adds nothing up */
    return step->cls == TRA_K_ALIGNED ? step->code : NULL;
}

/* Is the result of such a step in the order of the labels of operand `of`, all of which it has? */
static bool is_in_order(const tra_kernel *step, int of) {
    return step->nout == step->rank[of] && memcmp(step->out, step->in[of], (size_t)step->nout) == 0;
}

/* Is it a function of two operands at the same place, folded, which is computed by entries alone? Both are rows with
 * the same labels; or one is rows, it is one number where that is 0, and the other is dense and has some of its labels
 * in their order, or else some of those of the result (*by_place). *of: the one whose labels are all; as: extents of
 * the other, 1 where it has no label. */
static bool merges(const tra_kernel *step, const tra_dims *ext_a, const tra_dims *ext_b, unsigned held, int *of,
                   tra_dims *as, bool *by_place) {
    const tra_dims *ext[2] = {ext_a, ext_b};
    const tra_code *code = code_of_pairs(step);
    if (!code || ext_b == NULL) return false;
    *of = held == RIGHT;
    const tra_dims *all = ext[*of], *some = ext[1 - *of];
    const bool both = held == (LEFT | RIGHT), sparse[2] = {both || *of == 0, both || *of == 1};
    *by_place = !both && !tra_code_fixed(code, sparse);
    if (all->n == 0 || step->rank[*of] != all->n) return false;
    for (int i = 0; *by_place && i < some->n; i++)
        if (!memchr(step->out, step->in[1 - *of][i], (size_t)step->nout)) return false;
    int d = 0;
    *as = (tra_dims){.n = all->n};
    for (int i = 0; i < all->n; i++) {
        bool has = d < some->n && step->in[1 - *of][d] == step->in[*of][i] && some->v[d] == all->v[i];
        if (memchr(step->in[*of], step->in[*of][i], (size_t)i)) return false;
        as->v[i] = has ? all->v[i] : 1;
        d += has;
    }
    return d == some->n && (!both || some->n == all->n); /* rows of other ranks are numbered otherwise */
}

/* Is it functions of the elements of one operand, or of two with entries, folded into a dense array, and another one
 * of the result? */
static bool totals(const tra_kernel *const *step, int n, tra_kernel_use use, tra_dtype a, tra_dtype b,
                   const tra_dims *ext_a, const tra_dims *ext_b, unsigned held, plan *p) {
    tra_total *t = &p->total;
    bool sparse[2] = {held & LEFT, held & RIGHT};
    int i = 0;
    *t = (tra_total){.nargs = use == TRA_USE_JOIN ? 2 : 1, .of = 0};
    if (use == TRA_USE_JOIN && step[0]->cls == TRA_K_EINSUM) return false;
    if (use == TRA_USE_JOIN && !(merges(step[0], ext_a, ext_b, held, &t->of, &p->as, &t->by_place) ||
                                 (step[0]->cls == TRA_K_SCALAR && held == (LEFT | RIGHT) && tra_dims_eq(ext_a, ext_b))))
        return false;
    if (use == TRA_USE_JOIN && step[0]->cls == TRA_K_SCALAR) p->as = *ext_b;
    bool folds = use == TRA_USE_JOIN && step[0]->cls == TRA_K_ALIGNED, zero = true;
    for (; i < n && !t->step; i++) {
        folds = folds || step[i]->cls != TRA_K_SCALAR;
        if (folds && i > 0 && !tra_rows_reduces(step[i], ext_a->n)) return false;
        if (folds && use == TRA_USE_MAP && !tra_rows_reduces(step[i], ext_a->n)) return false;
        if (folds) t->step = step[i];
        if (step[i]->code && i == 0) {
            t->code = step[i]->code, t->wide = folds && tra_aligned_sums(step[i]);
            zero = tra_code_sparse(t->code, sparse, NULL, NULL);
        } else if (step[i]->code) {
            if (t->nmore == TRA_TOTAL_MORE) return false;
            t->more[t->nmore++] = (tra_unary){step[i]->code, a, folds && tra_aligned_sums(step[i]), !zero};
            zero = tra_code_sparse(step[i]->code, &zero, NULL, NULL);
        }
        a = b = tra_step_dtype(step[i], i == 0 ? use : TRA_USE_MAP, a, b);
    }
    t->after = (tra_unary){.arg = a, .dense = !zero};
    if (!t->step || i + 1 < n || (i < n && step[i]->cls != TRA_K_SCALAR)) return false;
    if (i < n) t->after.code = step[i]->code;
    if (t->by_place) t->after.dense = true;
    bool plain = t->nargs == 1 && !t->code && !t->nmore && !t->after.code && (a == TRA_F64 || a == TRA_I64);
    return plain || !zero || t->by_place || !tra_rows_moves(t->step);
}

/* Chooses the way. held: which operands are rows, as bits; out: the layout of the result. */
static plan plan_of(const tra_kernel *k, tra_kernel_use use, tra_dtype a, tra_dtype b, const tra_dims *ext_a,
                    const tra_dims *ext_b, unsigned held, const tra_layout *out) {
    const tra_kernel *const *step;
    const tra_kernel *self = k;
    int n = tra_steps(k, &step, &self), i = 0;
    bool rows = held;
    const tra_dtype t[2] = {a, b};
    plan p = {.way = SLOW, .before.arg = a};
    tra_dims ext = *ext_a;
    if (n == 1 && step[0]->cls == TRA_K_SCALAR) return p.step = step[0], p.way = ELEMENTS, p;
    if (!rows) return p;
    if (n == 1 && step[0]->cls == TRA_K_TOP && held == LEFT && !out) return p.step = step[0], p.way = TOP, p;
    if (!out && totals(step, n, use, a, b, ext_a, ext_b, held, &p)) return p.way = TOTAL, p;
    if (use == TRA_USE_MAP && step[0]->cls == TRA_K_SCALAR) {
        if (!keeps_zero(step[0])) return p;
        p.before.code = step[i++]->code;
        a = b = tra_step_dtype(step[0], use, a, a);
    }
    p.step = step[i++];
    if (use == TRA_USE_MAP && p.step->cls == TRA_K_ALIGNED) {
        if (p.before.code || !keeps_zero(p.step)) return p;
        p.before = (tra_unary){p.step->code, a, tra_aligned_sums(p.step), false};
    }
    p.after.arg = tra_step_dtype(p.step, use, a, b);
    if (i < n) {
        if (step[i]->cls != TRA_K_SCALAR || i + 1 < n || (out && !keeps_zero(step[i]))) return p;
        p.after.code = step[i]->code;
    }
    if (use == TRA_USE_MAP && tra_rows_reduces(p.step, ext.n)) p.way = REDUCE;
    if (use == TRA_USE_JOIN && tra_rows_contracts(p.step, ext_a, ext_b)) p.way = PRODUCT;
    if (use == TRA_USE_JOIN && (out || p.way != PRODUCT) &&
        merges(p.step, ext_a, ext_b, held, &p.total.of, &p.as, &p.total.by_place))
        p.way = p.total.by_place ? SLOW : MERGE;
    if (use == TRA_USE_JOIN && out && held == (LEFT | RIGHT) && p.way == SLOW)
        p.way = tra_rows_folds(p.step, t[0], t[1], ext_a, ext_b) ? PRODUCT : SLOW;
    if (p.way == PRODUCT && !out && p.after.code) { /* in the memory of the result */
        size_t size = tra_dtype_size(p.after.arg);
        if (tra_dtype_size(tra_unary_type(&p.after)) != size) p.way = SLOW;
    }
    return p;
}

/* ---- scratch ------------------------------------------------------------------------------------------------- */

static bool finishes(const tra_kernel *agg, const tra_dims *ext) {
    const tra_kernel *rest = tra_kernel_rest(agg);
    if (tra_kernel_first(agg)->cls == TRA_K_INDEX) return false;
    return !rest || plan_of(rest, TRA_USE_MAP, TRA_F64, TRA_F64, ext, NULL, 0, NULL).way == ELEMENTS;
}

/* Room for what is merged, before it is folded. */
static int64_t merged_room(int64_t entries, const tra_dims *ext) {
    int64_t rows = tra_add_most(tra_min64(entries, tra_rows_box(ext)), TRA_CELL_PIECES);
    return tra_round64(tra_rows_room(TRA_F64, rows, entries));
}

/* Is the function's result the result itself? It is to be rows, and needs neither a fold nor another order. */
static bool is_whole(const plan *p, const tra_layout *out) {
    return out && is_in_order(p->step, p->total.of) && !p->after.code;
}

static int64_t merge_scratch(const plan *p, const tra_type *a, const tra_dims *ext_a, const tra_type *b,
                             const tra_dims *ext_b, const tra_layout *out) {
    const tra_dims *ext = p->total.of ? ext_b : ext_a;
    int64_t n = a->layout ? tra_most_entries(a, ext_a) : 0, all = n;
    if (b && b->layout) n = tra_add_most(n, tra_most_entries(b, ext_b));
    if (tra_dims_product(ext, &all)) n = tra_min64(n, all);
    if (p->way == TOTAL) return tra_rows_total_scratch(&p->total, a->dtype, ext, n);
    if (is_whole(p, out)) return 0;
    return tra_min64(tra_add_most(merged_room(n, ext), tra_project_scratch(n)), TRA_SIZE_MOST);
}

static int64_t reduce_scratch(const plan *p, const tra_kernel *k, const tra_type *a, const tra_dims *ext,
                              const tra_layout *out) {
    tra_dims to;
    tra_err none = {0};
    int64_t n = tra_most_entries(a, ext);
    tra_fold_labels l;
    if (tra_rows_moves(p->step) && tra_fold_labels_of(p->step, 0, ext->n, &l) && tra_is_diagonal(&l))
        return tra_rows_reduce_scratch(tra_project_stay(n, ext, l.in));
    bool mapped = p->before.code || p->after.code || tra_kernel_dtype(k, TRA_USE_MAP, a->dtype, a->dtype) != a->dtype;
    if (!out || !tra_rows_moves(p->step) || tra_kernel_shape1(k, ext, &to, NULL, &none) != TRA_OK)
        return tra_rows_reduce_scratch(n);
    return tra_rows_move_scratch(n, tra_rows_box(&to), tra_last_extent(&to), mapped);
}

static int64_t scratch_of(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_dims *ext_a,
                          const tra_type *b, const tra_dims *ext_b, const tra_layout *out) {
    if (use == TRA_USE_AGG) return finishes(k, ext_a) ? 0 : tra_slow_scratch(k, use, a, ext_a, b, ext_b, out);
    unsigned held = (a->layout ? LEFT : 0) | (b && b->layout ? RIGHT : 0);
    plan p = plan_of(k, use, a->dtype, b ? b->dtype : a->dtype, ext_a, ext_b, held, out);
    switch (p.way) {
    case ELEMENTS: return 0;
    case PRODUCT:
        return out ? tra_rows_product_scratch(p.step, a, ext_a, b, ext_b)
                   : tra_rows_contract_scratch(p.step, a, ext_a, b, ext_b);
    case REDUCE: return reduce_scratch(&p, k, a, ext_a, out);
    case MERGE:
    case TOTAL: return merge_scratch(&p, a, ext_a, b, ext_b, out);
    case TOP: return tra_rows_top_scratch(tra_most_entries(a, ext_a), tra_last_extent(ext_a), (int64_t)p.step->args[0]);
    case SLOW: break;
    }
    return tra_slow_scratch(k, use, a, ext_a, b, ext_b, out);
}

static bool by_dense(const tra_kernel *k, tra_kernel_use use, const tra_type *a, const tra_type *b, bool rows) {
    unsigned held = (a->layout ? LEFT : 0) | (b && b->layout ? RIGHT : 0);
    return plan_of(k, use, a->dtype, b ? b->dtype : a->dtype, &a->cat->bound, b ? &b->cat->bound : NULL, held,
                   rows ? &tra_rows : NULL)
               .way == SLOW;
}

/* ---- maps and joins ------------------------------------------------------------------------------------------ */

static void map(const tra_kernel *k, const tra_cell *in, tra_cell *out, void *scratch) {
    tra_dtype t = in->array.dtype;
    plan p = plan_of(k, TRA_USE_MAP, t, t, &in->array.ext, NULL, in->layout ? LEFT : 0, out->layout);
    switch (p.way) {
    case ELEMENTS: tra_rows_compute(p.step->code, &t, 1, false, &in, out); return;
    case REDUCE: tra_rows_reduce(p.step, &p.before, &p.after, in, out, scratch); return;
    case TOTAL: tra_rows_total(&p.total, &in, &p.as, &out->array, scratch); return;
    case TOP: tra_rows_top(p.step, in, NULL, &out->array, scratch); return;
    case PRODUCT:
    case MERGE:
    case SLOW: break;
    }
    tra_slow_map(k, in, out, scratch);
}

static tra_impl choose(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_cell *out,
                       bool accumulates) {
    if (accumulates) return tra_rows_contract_way(a, b);
    plan p =
        plan_of(k, b ? TRA_USE_JOIN : TRA_USE_MAP, a->array.dtype, b ? b->array.dtype : a->array.dtype, &a->array.ext,
                b ? &b->array.ext : NULL, (a->layout ? LEFT : 0) | (b && b->layout ? RIGHT : 0), out->layout);
    if (p.way != PRODUCT) return (tra_impl)p.way;
    return out->layout ? tra_rows_product_way(p.step, &p.after, a, b, out) : tra_rows_contract_way(a, b);
}

static void contract(const plan *p, const tra_cell *a, const tra_cell *b, tra_array *out, void *scratch) {
    tra_array first = {p->after.arg, out->ext, out->data};
    bool sparse = true;
    tra_rows_contract(p->step, a, b, &first, false, -1, scratch);
    if (p->after.code) tra_code_run(p->after.code, &first, NULL, out, &sparse);
}

static unsigned held_of(const tra_cell *a, const tra_cell *b) {
    return (a->layout ? LEFT : 0) | (b->layout ? RIGHT : 0);
}

/* The function of both, entry by entry, and then the fold, as of one operand. */
static void merge(const plan *p, const tra_cell *const *in, tra_cell *out, void *scratch) {
    const tra_dtype types[2] = {in[0]->array.dtype, in[1]->array.dtype};
    const tra_code *code = code_of_pairs(p->step);
    bool wide = p->step->cls == TRA_K_EINSUM || tra_aligned_sums(p->step);
    tra_kernel one = *p->step;
    tra_typed typed;
    tra_unary as_is;
    tra_cell own[2] = {*in[0], *in[1]}; /* what tra_rows_compute broadcasts */
    const tra_cell *operand[2] = {&own[0], &own[1]};
    tra_cell both = {.layout = &tra_rows, .sparse = true, .array.ext = in[p->total.of]->array.ext, .head = scratch};
    own[1 - p->total.of].array.ext = p->as;
    if (is_whole(p, out->layout)) {
        tra_rows_compute(code, types, 2, wide, operand, out);
        return;
    }
    tra_code_type(code, 2, types, wide, NULL, &typed);
    both.array.dtype = typed.type;
    tra_rows_compute(code, types, 2, wide, operand, &both);
    int64_t room = merged_room(tra_rows_of(&both).n, &both.array.ext);
    one.nin = 1;
    memcpy(one.in[0], p->step->in[p->total.of], sizeof one.in[0]);
    one.rank[0] = p->step->rank[p->total.of];
    as_is = (tra_unary){.arg = typed.type};
    tra_rows_reduce(&one, &as_is, &p->after, &both, out, (char *)scratch + room);
}

static void join(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_cell *out, void *scratch) {
    const tra_cell *in[2] = {a, b};
    const tra_dtype t[2] = {a->array.dtype, b->array.dtype};
    plan p = plan_of(k, TRA_USE_JOIN, t[0], t[1], &a->array.ext, &b->array.ext, held_of(a, b), out->layout);
    switch (p.way) {
    case ELEMENTS: tra_rows_compute(p.step->code, t, 2, false, in, out); return;
    case PRODUCT:
        if (out->layout)
            tra_rows_product(p.step, &p.after, a, b, out, scratch);
        else
            contract(&p, a, b, &out->array, scratch);
        return;
    case MERGE: merge(&p, in, out, scratch); return;
    case TOTAL: tra_rows_total(&p.total, in, &p.as, &out->array, scratch); return;
    case TOP: tra_rows_top(p.step, a, b, &out->array, scratch); return;
    case REDUCE:
    case SLOW: break;
    }
    tra_slow_join(k, a, b, out, scratch);
}

static bool join_by_panels(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const tra_cell *out) {
    plan p = plan_of(k, TRA_USE_JOIN, a->array.dtype, b->array.dtype, &a->array.ext, &b->array.ext, held_of(a, b),
                     out->layout);
    return p.way == PRODUCT && tra_rows_product_by_panels(p.step, a, b, out);
}

static int64_t sum_room(const tra_kernel *k, const tra_cell *a, const tra_cell *b, int n, const tra_cell *out) {
    plan p = plan_of(k, TRA_USE_JOIN, a->array.dtype, b->array.dtype, &a->array.ext, &b->array.ext, held_of(a, b),
                     out->layout);
    if (p.way != PRODUCT || p.after.code || held_of(a, b) != (LEFT | RIGHT)) return -1;
    return tra_rows_sum_room(p.step, a, b, n, out);
}

static int64_t sum_use(const tra_kernel *k, const tra_cell *a, const tra_cell *b, const int64_t entries[2], int64_t n,
                       const tra_cell *out, int64_t *scratch) {
    plan p = plan_of(k, TRA_USE_JOIN, a->array.dtype, b->array.dtype, &a->array.ext, &b->array.ext, LEFT | RIGHT,
                     out->layout);
    return p.way == PRODUCT && !p.after.code ? tra_rows_sum_use(p.step, a, b, entries, n, out, scratch) : -1;
}

static void sum(const tra_kernel *k, const tra_cell *a, const tra_cell *b, int n, const tra_cell *state, tra_cell *out,
                bool again, void *room, void *scratch) {
    const tra_kernel *const *step;
    tra_steps(k, &step, &k);
    tra_rows_sum(step[0], a, b, n, state, out, again, room, scratch);
}

static void fma_(const tra_kernel *k, const tra_cell *a, const tra_cell *b, tra_array *acc, int tile, bool first,
                 void *scratch) {
    tra_rows_contract(k, a, b, acc, !first, tile, scratch);
}

/* ---- aggregations -------------------------------------------------------------------------------------------- */

static void finish(const tra_kernel *agg, tra_dtype in, const tra_cell *state, tra_cell *out, void *scratch) {
    const tra_kernel *rest = tra_kernel_rest(agg), *const * step;
    if (!finishes(agg, &state->array.ext)) return tra_slow_finish(agg, in, state, out, scratch);
    /* a dense state may be the memory of the result, of which no element is read after it is written */
    tra_dtype type = tra_step_dtype(tra_kernel_first(agg), TRA_USE_AGG, in, in);
    if (rest) tra_steps(rest, &step, &rest);
    tra_rows_compute(rest ? step[0]->code : NULL, &type, 1, false, &state, out);
}

static const tra_layout_kernels kernels = {
    .scratch = scratch_of,
    .choose = choose,
    .by_dense = by_dense,
    .map = map,
    .join = join,
    .fma = fma_,
    .fold = tra_rows_fold,
    .merge = tra_rows_merge,
    .finish = finish,
    .gather = tra_rows_gather,
    .copy = tra_rows_copy,
    .join_by_panels = join_by_panels,
    .sum_room = sum_room,
    .sum_use = sum_use,
    .sum = sum,
};

const tra_layout tra_rows = {
    .name = "rows", .id = 1, .nparts = TRA_ROWS_PARTS, .bytes = tra_rows_bytes, .kernels = &kernels};
