/* band.c - which parts of a condition on pairs of rows bound what a right row has by what a left row has. */
#include "band.h"

#include <math.h>
#include <string.h>

enum { NONE = 0, OF_LEFT = 1, OF_RIGHT = 2, OF_BOTH = 3, MOST_TERMS = 16 };

/* A condition under way. */
typedef struct builder {
    const tra_lookup *l;
    tra_arena *a;
    int n, nends, nroots[2];
    const tra_colexpr **root[2];
    tra_band_value *value;
    tra_band_end *end;
    bool all, fails; /* all parts so far are ends; one that is none may be an error */
} builder;

/* A sum of terms. */
typedef struct term {
    const tra_colexpr *x;
    bool minus;
} term;
typedef struct sum {
    int n[2];
    term v[2][MOST_TERMS];
    bool narrow; /* an f32 is among them */
    double far;  /* as of tra_band_value */
} sum;

static int sides_of(const builder *b, const tra_colexpr *x) {
    int sides = NONE;
    if (x->op == TRA_C_COLUMN) return x->column < b->l->s.left->n ? OF_LEFT : OF_RIGHT;
    for (int k = 0; k < x->nkids; k++) sides |= sides_of(b, x->kids[k]);
    return sides;
}

static bool is_same(const tra_colexpr *x, const tra_colexpr *y) {
    if (x == y) return true;
    if (x->op != y->op || x->type != y->type || x->dict != y->dict || x->nkids != y->nkids) return false;
    if (x->op == TRA_C_COLUMN) return x->column == y->column;
    if (x->op == TRA_C_CONST) return x->null == y->null && x->value.i == y->value.i;
    if (x->table != y->table || x->prepared != y->prepared || x->axis != y->axis || x->nkids == 0) return false;
    for (int k = 0; k < x->nkids; k++)
        if (!is_same(x->kids[k], y->kids[k])) return false;
    return true;
}

/* The expression over the columns of one side (0: left), as a root of its code. */
static int root_of(builder *b, int side, const tra_colexpr *x) {
    const tra_lookup_spec *s = &b->l->s;
    int n = s->left->n, all = n + s->right->n;
    const tra_colexpr **by = tra_news(b->a, const tra_colexpr *, all + 1);
    for (int i = 0; i < all; i++) by[i] = tra_colexpr_column(b->a, i < n ? s->left : s->right, i < n ? i : i - n);
    x = tra_colexpr_substitute(b->a, x, by);
    for (int i = 0; i < b->nroots[side]; i++)
        if (is_same(b->root[side][i], x)) return i;
    b->root[side][b->nroots[side]] = x;
    return b->nroots[side]++;
}

/* ---- sums ---------------------------------------------------------------------------------------------------- */

static bool add_terms(const builder *b, const tra_colexpr *x, bool minus, sum *out) {
    int side = sides_of(b, x) & OF_RIGHT ? 1 : 0;
    out->narrow |= x->type == TRA_COL_F32;
    if (sides_of(b, x) != OF_BOTH) {
        if (out->n[side] == MOST_TERMS) return false;
        out->v[side][out->n[side]++] = (term){x, minus};
        return true;
    }
    if (!tra_coltype_is_float(x->type)) out->far = fmin(out->far, x->type == TRA_COL_DATE ? 0x1p28 : 0x1p60);
    switch (x->op) {
    case TRA_C_ADD: return add_terms(b, x->kids[0], minus, out) && add_terms(b, x->kids[1], minus, out);
    case TRA_C_SUB: return add_terms(b, x->kids[0], minus, out) && add_terms(b, x->kids[1], !minus, out);
    case TRA_C_NEG: return add_terms(b, x->kids[0], !minus, out);
    case TRA_C_CONVERT:
        return tra_coltype_is_number(x->type) && tra_coltype_is_number(x->kids[0]->type) &&
               add_terms(b, x->kids[0], minus, out);
    default: return false;
    }
}

static bool is_summed(tra_coltype t) { return tra_coltype_is_number(t) || t == TRA_COL_DATE || t == TRA_COL_TIMESTAMP; }

/* The terms of one side as a value; negated: with other signs. */
static tra_band_value value_of(builder *b, int side, const sum *s, bool negated) {
    tra_band_term *v = tra_news(b->a, tra_band_term, s->n[side] + 1);
    for (int i = 0; i < s->n[side]; i++)
        v[i] = (tra_band_term){root_of(b, side, s->v[side][i].x), s->v[side][i].minus != negated};
    return (tra_band_value){s->n[side], v, true, s->narrow ? 0x1p-20 : 0x1p-48, s->far};
}

/* ---- ends ---------------------------------------------------------------------------------------------------- */

static bool is_same_value(const tra_band_value *x, const tra_band_value *y) {
    if (x->n != y->n || x->sum != y->sum || x->slack != y->slack) return false;
    for (int i = 0; i < x->n; i++)
        if (x->v[i].root != y->v[i].root || x->v[i].minus != y->v[i].minus) return false;
    return true;
}

/* Adds: the right value compares as `op` says with `at`. */
static bool add_end(builder *b, tra_band_value right, tra_colop op, tra_band_value at) {
    int of = 0, ends = op == TRA_C_EQ ? 2 : 1;
    if (b->nends + ends > TRA_BAND_ENDS) return false;
    while (of < b->n && !is_same_value(&b->value[of], &right)) of++;
    if (of == b->n) b->value[b->n++] = right;
    bool strict = op == TRA_C_LT || op == TRA_C_GT;
    if (op != TRA_C_LT && op != TRA_C_LE) b->end[b->nends++] = (tra_band_end){at, of, true, strict};
    if (op != TRA_C_GT && op != TRA_C_GE) b->end[b->nends++] = (tra_band_end){at, of, false, strict};
    return true;
}

/* x `op` y, where each side of the comparison is of one table. */
static bool add_simple(builder *b, const tra_colexpr *x, tra_colop op, const tra_colexpr *y) {
    tra_band_term *t = tra_news(b->a, tra_band_term, 2);
    if (b->nroots[0] == MOST_TERMS * 4 || b->nroots[1] == MOST_TERMS * 4) return false;
    t[0].root = root_of(b, 0, x);
    t[1].root = root_of(b, 1, y);
    return add_end(b, (tra_band_value){1, t + 1, false, 0, INFINITY}, tra_colop_mirrored(op),
                   (tra_band_value){1, t, false, 0, INFINITY});
}

/* x - y `op` 0; negated: -x - y. */
static bool add_sum(builder *b, const tra_colexpr *x, bool negated, tra_colop op, const tra_colexpr *y) {
    sum s = {.far = INFINITY};
    if (!is_summed(x->type) || !is_summed(y->type) || b->nroots[0] + b->nroots[1] > 2 * MOST_TERMS) return false;
    if (!add_terms(b, x, negated, &s) || !add_terms(b, y, true, &s) || s.n[1] == 0) return false;
    bool flip = s.v[1][0].minus;
    return add_end(b, value_of(b, 1, &s, flip), flip ? tra_colop_mirrored(op) : op, value_of(b, 0, &s, !flip));
}

static bool is_whole(const tra_colexpr *x) { return !tra_coltype_is_float(x->type); }

static tra_colop opposite(tra_colop op) {
    switch (op) {
    case TRA_C_LT: return TRA_C_GE;
    case TRA_C_LE: return TRA_C_GT;
    case TRA_C_GT: return TRA_C_LE;
    case TRA_C_GE: return TRA_C_LT;
    case TRA_C_EQ: return TRA_C_NE;
    default: return TRA_C_EQ;
    }
}

/* A comparison as one or two ends. *whole: it is nothing else. */
static bool add_comparison(builder *b, tra_colop op, const tra_colexpr *x, const tra_colexpr *y, bool *whole) {
    int of_x = sides_of(b, x), of_y = sides_of(b, y);
    *whole = true;
    if (of_x == OF_LEFT && of_y == OF_RIGHT) return add_simple(b, x, op, y);
    if (of_x == OF_RIGHT && of_y == OF_LEFT) return add_simple(b, y, tra_colop_mirrored(op), x);
    *whole = false;
    if ((of_x | of_y) != OF_BOTH) return false;
    if (y->op == TRA_C_ABS && of_x != OF_BOTH) {
        const tra_colexpr *t = x;
        x = y, y = t, op = tra_colop_mirrored(op);
    }
    if (x->op != TRA_C_ABS) return add_sum(b, x, false, op, y);
    if (op != TRA_C_LT && op != TRA_C_LE) return false;
    return add_sum(b, x->kids[0], false, op, y) && add_sum(b, x->kids[0], true, op, y);
}

/* A part of the condition; negated: the part is !x. */
static void add_part(builder *b, const tra_colexpr *x, bool negated) {
    bool whole = false, compares = x->op >= TRA_C_LT && x->op <= TRA_C_EQ;
    if (x->op == TRA_C_NOT) return add_part(b, x->kids[0], !negated);
    if (x->op == (negated ? TRA_C_OR : TRA_C_AND)) {
        add_part(b, x->kids[0], negated);
        add_part(b, x->kids[1], negated);
        return;
    }
    /* of floats the opposite of a comparison is not its negation: NaN compares with nothing */
    if (x->op == TRA_C_NE) compares = negated;
    if (negated && compares) compares = x->op != TRA_C_EQ && (x->op == TRA_C_NE || is_whole(x->kids[0]));
    tra_colop op = negated ? opposite(x->op) : x->op;
    if (compares && add_comparison(b, op, x->kids[0], x->kids[1], &whole) && whole) return;
    b->all = false;
    b->fails |= x->fails;
}

static int ends_of(const builder *b, int v) {
    int ends = 0;
    for (int i = 0; i < b->nends; i++) ends |= b->end[i].of == v ? 1 << b->end[i].lower : 0;
    return ends;
}

/* Puts values first that are bounded from both sides; are there two of these? */
static bool arrange(builder *b) {
    int both = 0;
    for (int v = 0; v < b->n; v++) {
        if (ends_of(b, v) != 3) continue;
        tra_band_value t = b->value[both];
        b->value[both] = b->value[v];
        b->value[v] = t;
        for (int i = 0; i < b->nends; i++)
            b->end[i].of = b->end[i].of == v ? both : b->end[i].of == both ? v : b->end[i].of;
        both++;
    }
    return both > 1;
}

const tra_band *tra_band_of(const tra_lookup *l, const tra_colexpr *condition) {
    tra_arena *a = l->arena;
    builder b = {.l = l, .a = a, .all = true};
    b.value = tra_news(a, tra_band_value, TRA_BAND_ENDS);
    b.end = tra_news(a, tra_band_end, TRA_BAND_ENDS);
    for (int i = 0; i < 2; i++) b.root[i] = tra_news(a, const tra_colexpr *, 8 * MOST_TERMS);
    add_part(&b, condition, false);
    if (b.nends == 0) return NULL;
    tra_band *band = tra_new(a, tra_band);
    *band = (tra_band){.exact = b.all, .rest_fails = b.fails, .tiled = arrange(&b)};
    band->n = b.n;
    band->nends = b.nends;
    band->value = b.value;
    band->end = b.end;
    band->side[0] = tra_keys_new(a, b.nroots[0], b.root[0], l->s.left->n);
    band->side[1] = tra_keys_new(a, b.nroots[1], b.root[1], l->s.right->n);
    return band;
}

void tra_lookup_print_band(const tra_lookup *l, tra_str *out) {
    const tra_band *b = l->band;
    for (int v = 0; b && v < b->n; v++) {
        const tra_band_value *x = &b->value[v];
        if (v) tra_str_add(out, ", ");
        for (int i = 0; i < x->n; i++) {
            if (i || x->v[i].minus) tra_str_add(out, x->v[i].minus ? (i ? " - " : "-") : " + ");
            tra_colexpr_print(b->side[1].x[x->v[i].root], l->s.right, out);
        }
    }
}
