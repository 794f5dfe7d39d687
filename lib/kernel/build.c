/* build.c - making kernels from names, Einstein strings, lambdas and compositions, and what can be asked of them. */
#include "kernel_int.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static const char *use_text(unsigned use) {
    return use & TRA_USE_JOIN ? "join" : use & TRA_USE_AGG ? "agg" : "transform";
}

/* Operators that reduce. */
static const struct fold {
    tra_scalar_op op;
    unsigned over;
    double identity;
    const char *word; /* in EinSum statements */
} folds[] = {{TRA_S_ADD, TRA_OVER_SUM, 0, "sum"},         {TRA_S_MUL, TRA_OVER_PROD, 1, "prod"},
             {TRA_S_MAX, TRA_OVER_MAX, -INFINITY, "max"}, {TRA_S_MIN, TRA_OVER_MIN, INFINITY, "min"},
             {TRA_S_ARGMAX, 0, INFINITY, "argmax"},       {TRA_S_ARGMIN, 0, INFINITY, "argmin"}};

static const struct fold *fold_of(tra_scalar_op op) {
    for (size_t i = 0; i < sizeof(folds) / sizeof(*folds); i++)
        if (folds[i].op == op) return &folds[i];
    assert(!"an operator that reduces");
    return NULL;
}

/* The TRA_OVER_ bit of an aggregation, 0 when it does not work element by element. */
static unsigned over_bit(const tra_kernel *agg) { return agg->cls == TRA_K_FOLD ? fold_of(agg->fold)->over : 0; }

/* Properties that follow from the definition. */
static void derive(tra_kernel *k) {
    bool map = k->uses & TRA_USE_MAP;
    if (k->row && k->row->type && k->cls == TRA_K_SCALAR) {
        /* what annihilates is not the same before and after: it passes through nothing */
        k->props |= TRA_P_ELEMENTWISE | TRA_P_ZERO;
        return;
    }
    if (k->cls == TRA_K_SCALAR) {
        static const double zero[1] = {0};
        k->over |= tra_scalar_over(k->expr, k->nargs);
        if (!k->stretch) k->props |= TRA_P_ELEMENTWISE;
        if (map && tra_scalar_eval(k->expr, zero) == 0) k->props |= TRA_P_ZERO;
        if (map && k->expr->op == TRA_S_ARG) k->props |= TRA_P_MOVES;
    } else if (k->cls == TRA_K_EINSUM) {
        bool shared = false, summed = false;
        for (int l = 0; l < k->nlabels; l++) {
            bool in[3] = {false, false, false};
            for (int o = 0; o < k->nin; o++)
                for (int d = 0; d < k->rank[o]; d++) in[o] |= k->in[o][d] == l;
            for (int d = 0; d < k->nout; d++) in[2] |= k->out[d] == l;
            summed |= !in[2];
            shared |= in[0] && in[1] && !in[2];
        }
        k->over |= k->nin == 1 && !summed ? TRA_OVER_ALL : fold_of(k->fold)->over;
        if (map && k->fold == TRA_S_ADD) k->props |= TRA_P_ZERO;
        if (map && !summed) k->props |= TRA_P_ZERO | TRA_P_MOVES;
        if (shared) k->props |= TRA_P_CONTRACTION;
        if (k->nin == 2 && k->rank[0] == k->rank[1] && memcmp(k->in[0], k->in[1], (size_t)k->rank[0]) == 0)
            k->props |= TRA_P_COMMUTATIVE;
    } else if (k->cls == TRA_K_ALIGNED) {
        k->over |= tra_scalar_over(k->expr, k->nin) & (k->nlabels > k->nout ? fold_of(k->fold)->over : TRA_OVER_ALL);
    }
    if (k->over & TRA_OVER_SUM) k->props |= TRA_P_LINEAR;
    if (map && (k->over & TRA_OVER_MAX) && (k->over & TRA_OVER_MIN)) k->props |= TRA_P_MONOTONE;
}

/* ---- Einstein strings --------------------------------------------------------------------------------------- */

static tra_status parse_einsum(tra_kernel *k, const char *text, tra_err *e) {
    const char *arrow = strstr(text, "->");
    if (!arrow) return tra_fail(e, TRA_PROGRAM, "\"%s\" lacks \"->\": write for instance \"ij,jk->ik\"", text);
    k->nin = 1;
    bool right = false;
    for (const char *s = text; *s; s++) {
        if (*s == ' ') continue;
        if (s == arrow) {
            right = true;
            s++;
            continue;
        }
        if (*s == ',' && !right) {
            if (k->nin == 2)
                return tra_fail(e, TRA_PROGRAM, "\"%s\" has more than two operands: a kernel joins two arrays", text);
            k->nin++;
            continue;
        }
        if (!isalpha((unsigned char)*s)) {
            /* one whole UTF-8 character in the message */
            int n = 1;
            while (((unsigned char)s[n] & 0xC0) == 0x80) n++;
            return tra_fail(e, TRA_PROGRAM, "'%.*s' in \"%s\" is no label: labels are single letters", n, s, text);
        }
        int l = 0;
        while (l < k->nlabels && k->letters[l] != *s) l++;
        if (right) {
            if (l == k->nlabels)
                return tra_fail(e, TRA_PROGRAM, "label '%c' of the result of \"%s\" is in no operand", *s, text);
            for (int d = 0; d < k->nout; d++)
                if (k->out[d] == l)
                    return tra_fail(e, TRA_PROGRAM, "label '%c' is twice in the result of \"%s\"", *s, text);
            if (k->nout == TRA_MAXDIM)
                return tra_fail(e, TRA_PROGRAM, "the result of \"%s\" has more than %d dimensions", text, TRA_MAXDIM);
            k->out[k->nout++] = (int8_t)l;
        } else {
            int o = k->nin - 1;
            if (l == k->nlabels) k->letters[k->nlabels++] = *s;
            if (k->rank[o] == TRA_MAXDIM)
                return tra_fail(e, TRA_PROGRAM, "operand %d of \"%s\" has more than %d dimensions", o + 1, text,
                                TRA_MAXDIM);
            k->in[o][k->rank[o]++] = (int8_t)l;
        }
    }
    return TRA_OK;
}

tra_status tra_kernel_einsum(tra_arena *a, const char *text, const tra_kernel **out, tra_err *e) {
    tra_kernel *k = tra_new(a, tra_kernel);
    k->cls = TRA_K_EINSUM;
    k->text = tra_arena_strndup(a, text, strlen(text));
    k->fold = TRA_S_ADD;
    TRA_TRY(parse_einsum(k, k->text, e));
    k->uses = k->nin == 2 ? TRA_USE_JOIN : TRA_USE_MAP;
    derive(k);
    *out = k;
    return TRA_OK;
}

static bool is_arg(const tra_scalar *s, int arg) { return s->op == TRA_S_ARG && s->arg == arg; }

tra_status tra_kernel_aligned(tra_arena *a, const char *labels, const tra_scalar *expr, tra_scalar_op fold,
                              const char *const *names, const tra_kernel **out, tra_err *e) {
    tra_kernel *k = tra_new(a, tra_kernel);
    k->text = tra_arena_strndup(a, labels, strlen(labels));
    TRA_TRY(parse_einsum(k, k->text, e));
    bool product = k->nin == 2 && expr->op == TRA_S_MUL && is_arg(expr->a, 0) && is_arg(expr->b, 1);
    bool einstein = !tra_fold_places(fold) && (k->nin == 1 ? is_arg(expr, 0) : product && fold == TRA_S_ADD);
    k->cls = einstein ? TRA_K_EINSUM : TRA_K_ALIGNED;
    k->uses = k->nin == 2 ? TRA_USE_JOIN : TRA_USE_MAP;
    k->fold = fold;
    k->identity = fold_of(fold)->identity;
    if (!einstein) {
        k->expr = expr;
        k->code = tra_scalar_compile(a, expr);
        for (int i = 0; i < k->nin; i++) k->names[i] = tra_arena_strndup(a, names[i], strlen(names[i]));
    }
    k->nargs = k->nin;
    derive(k);
    *out = k;
    return TRA_OK;
}

/* ---- scalar functions --------------------------------------------------------------------------------------- */

const tra_kernel *tra_kernel_lambda(tra_arena *a, const tra_scalar *s, int nargs, const char *const *names) {
    assert(nargs == 1 || nargs == 2);
    tra_kernel *k = tra_new(a, tra_kernel);
    k->cls = TRA_K_SCALAR;
    k->uses = nargs == 2 ? TRA_USE_JOIN : TRA_USE_MAP;
    k->expr = s;
    k->nargs = nargs;
    k->stretch = nargs == 2;
    for (int i = 0; i < nargs; i++) k->names[i] = tra_arena_strndup(a, names[i], strlen(names[i]));
    k->code = tra_scalar_compile(a, s);
    derive(k);
    return k;
}

/* s with the arguments from `from` on replaced by numbers. */
static const tra_scalar *bind(tra_arena *a, const tra_scalar *s, int from, const double *args) {
    tra_scalar *t = tra_new(a, tra_scalar);
    *t = *s;
    if (s->op == TRA_S_ARG && s->arg >= from) {
        t->op = TRA_S_CONST;
        t->value = args[s->arg - from];
    }
    if (s->a) t->a = bind(a, s->a, from, args);
    if (s->b) t->b = bind(a, s->b, from, args);
    if (s->c) t->c = bind(a, s->c, from, args);
    return t;
}

/* ---- named kernels ------------------------------------------------------------------------------------------ */

tra_status tra_kernel_named(tra_arena *a, const char *name, tra_kernel_use use, int nargs, const double *args,
                            const tra_kernel **out, tra_err *e) {
    const tra_row *row = tra_row_find(name);
    if (!row) return tra_fail(e, TRA_PROGRAM, "there is no %s kernel '%s'", use_text(use), name);
    if (!(row->uses & use)) {
        bool join_and_agg = row->uses == (TRA_USE_JOIN | TRA_USE_AGG);
        return tra_fail(e, TRA_PROGRAM, "%s is a kernel of %s, not of %s", name,
                        join_and_agg ? "join and agg" : use_text(row->uses), use_text(use));
    }
    if (nargs != row->nargs) {
        if (row->nargs == 0) return tra_fail(e, TRA_PROGRAM, "%s takes no number in parentheses", name);
        return tra_fail(e, TRA_PROGRAM, "%s takes one number: write for instance %s(0.5)", name, name);
    }
    if (row->cls == TRA_K_TOP && !(args[0] >= 1 && args[0] <= 0x1p53 && args[0] == floor(args[0])))
        return tra_fail(e, TRA_PROGRAM, "%s takes a number of places, a whole one from 1 on", name);
    if (row->lapack == TRA_L_TSQR_LAST_X && !(args[0] >= 0 && args[0] <= INT32_MAX && args[0] == floor(args[0])))
        return tra_fail(e, TRA_PROGRAM, "%s takes a number of right sides, or 0 for a vector", name);
    tra_kernel *k = tra_new(a, tra_kernel);
    k->row = row;
    k->uses = use;
    k->cls = row->cls;
    k->props = row->props;
    k->over = row->over;
    k->fold = row->fold;
    k->identity = row->identity;
    if (nargs) k->args[0] = args[0];
    if (use == TRA_USE_AGG && row->cls == TRA_K_SCALAR) {
        k->cls = TRA_K_FOLD;
        k->fold = row->expr->op;
    } else if (row->cls == TRA_K_SCALAR) {
        k->nargs = use == TRA_USE_JOIN ? 2 : 1;
        k->stretch = row->stretch;
        k->expr = bind(a, row->expr, k->nargs, args);
        k->code = tra_scalar_compile(a, k->expr);
    } else if (row->cls == TRA_K_EINSUM) {
        k->fold = TRA_S_ADD;
        TRA_TRY(parse_einsum(k, row->einsum, e));
    }
    derive(k);
    *out = k;
    return TRA_OK;
}

/* ---- kernels on rows --------------------------------------------------------------------------------------- */

const tra_kernel *tra_kernel_of_rows(tra_arena *a, const tra_rows_kernel *rows) {
    tra_kernel *k = tra_new(a, tra_kernel);
    tra_rows_kernel *own = tra_new(a, tra_rows_kernel);
    *own = *rows;
    k->cls = TRA_K_ROWS;
    k->uses = rows->use;
    k->rows = own;
    return k;
}

const tra_rows_kernel *tra_kernel_rows(const tra_kernel *k) { return k->rows; }

/* ---- composition -------------------------------------------------------------------------------------------- */

static const tra_kernel *fuse(tra_arena *a, const tra_kernel *first, const tra_kernel *next) {
    tra_kernel *k = tra_new(a, tra_kernel);
    *k = *first;
    k->row = NULL;
    k->expr = NULL;
    k->first = first->expr ? first : first->first; /* for messages */
    k->code = tra_code_then(a, first->code, next->code);
    return k;
}

enum { MOST_INSTRUCTIONS = 256 }; /* of a program that is composed: beyond that, steps come one after the other */

/* May the two be one program? Not if it would be too long, or if the first gives the same number everywhere, since that
 * would take the type of what it is combined with, nor if they compute integers in different types. */
static bool may_fuse(const tra_code *first, const tra_code *next) {
    bool reads = false;
    for (int i = 0; i < first->n; i++) {
        const tra_insn *c = &first->v[i];
        int n = tra_scalar_arity(c->op);
        reads = reads || (c->op != TRA_S_CONST && (c->a < 0 || (n > 1 && c->b < 0) || (n > 2 && c->c < 0)));
    }
    return reads && first->n + next->n <= MOST_INSTRUCTIONS && !tra_code_is_wide(first) && !tra_code_is_wide(next);
}

bool tra_kernel_composes(const tra_kernel *first, const tra_kernel *next) {
    const tra_rows_kernel *x = first->rows, *y = next->rows;
    if (!x || !y) return !x && !y && !first->program;
    bool maps =
        x->use == TRA_USE_MAP && y->use == TRA_USE_MAP && x->extent == TRA_ROWS_SAME && y->extent == TRA_ROWS_SAME;
    return maps && x->ops == y->ops && x->ops->then && x->ops->then(NULL, x->data, y->data);
}

static const tra_kernel *rows_then(tra_arena *a, const tra_rows_kernel *x, const tra_rows_kernel *y) {
    tra_rows_kernel both = *y;
    both.text = both.label = tra_arena_printf(a, "%s . %s", y->text, x->text);
    both.counts = x->counts || y->counts;
    both.share = (x->counts ? x->share : 1) * (y->counts ? y->share : 1);
    both.flops = x->flops + (x->counts ? x->share : 1) * y->flops;
    both.data = x->ops->then(a, x->data, y->data);
    return tra_kernel_of_rows(a, &both);
}

/* A step that only moves elements, and then one that folds or moves them, as one step: "ij->ji" and "ab->b" as "ij->i",
 * "ij->ji" and "aa->a" as "ii->i"; NULL: they are no such steps. */
static const tra_kernel *moved(tra_arena *a, const tra_kernel *first, const tra_kernel *next) {
    char text[2 * TRA_MAXDIM + 3], *to = text, letter[TRA_MAXDIM], of[TRA_MAXDIM] = {0};
    const tra_kernel *k;
    bool moves = first->cls == TRA_K_EINSUM && first->nin == 1 && first->nlabels == first->nout && !first->row;
    if (!moves || next->cls != TRA_K_EINSUM || next->nin != 1 || next->row || next->rank[0] != first->nout) return NULL;
    for (int d = 0; d < first->nout; d++) { /* dimensions of which the next step takes the diagonal have one letter */
        char *is = &of[next->in[0][d]];
        if (!*is) *is = first->letters[first->out[d]];
        letter[first->out[d]] = *is;
    }
    for (int d = 0; d < first->rank[0]; d++) *to++ = letter[first->in[0][d]];
    *to++ = '-', *to++ = '>';
    for (int d = 0; d < next->nout; d++) *to++ = of[next->out[d]];
    *to = 0;
    tra_err e = {0};
    const tra_scalar x = {.op = TRA_S_ARG};
    return tra_kernel_aligned(a, text, &x, next->fold, NULL, &k, &e) == TRA_OK ? k : NULL;
}

const tra_kernel *tra_kernel_then(tra_arena *a, const tra_kernel *first, const tra_kernel *next) {
    assert(tra_kernel_composes(first, next));
    if (first->rows) return rows_then(a, first->rows, next->rows);
    const tra_kernel *begins = tra_kernel_first(next), *one = moved(a, first, begins);
    if (!one) one = tra_kernel_turned(a, first, begins);
    if (one) return begins == next ? one : tra_kernel_then(a, one, next->rest);
    assert(next->uses & TRA_USE_MAP);
    if (first->cls == TRA_K_THEN) return tra_kernel_then(a, first->first, tra_kernel_then(a, first->rest, next));
    tra_kernel *k = tra_new(a, tra_kernel);
    k->cls = TRA_K_THEN;
    k->uses = first->uses;
    k->first = first;
    k->rest = next;
    k->over = first->over & next->over;
    unsigned every = TRA_P_ELEMENTWISE | TRA_P_LINEAR | TRA_P_ZERO | TRA_P_MONOTONE | TRA_P_MOVES;
    k->props = first->props & next->props & every;
    /* f(K(a, b)) keeps K's symmetry; an aggregation is still merged before f sees it */
    k->props |= first->props & (first->uses & TRA_USE_AGG ? TRA_P_COMMUTATIVE | TRA_P_ASSOCIATIVE : TRA_P_COMMUTATIVE);

    const tra_kernel *const *more;
    int n = tra_steps(next, &more, &next);
    k->steps = tra_news(a, const tra_kernel *, 1 + n);
    k->steps[k->nsteps++] = first;
    for (int i = 0; i < n; i++) {
        const tra_kernel **last = &k->steps[k->nsteps - 1];
        bool types = ((*last)->row && (*last)->row->type) || (more[i]->row && more[i]->row->type);
        if (!types && (*last)->cls == TRA_K_SCALAR && more[i]->cls == TRA_K_SCALAR &&
            may_fuse((*last)->code, more[i]->code))
            *last = fuse(a, *last, more[i]);
        else
            k->steps[k->nsteps++] = more[i];
    }
    return k;
}

const tra_kernel *tra_kernel_first(const tra_kernel *k) { return k->cls == TRA_K_THEN ? k->first : k; }
const tra_kernel *tra_kernel_rest(const tra_kernel *k) { return k->cls == TRA_K_THEN ? k->rest : NULL; }

/* ---- printing and questions --------------------------------------------------------------------------------- */

void tra_kernel_print(const tra_kernel *k, tra_str *out) {
    if (k->cls == TRA_K_THEN) {
        const tra_kernel *parts[] = {k->rest, k->first};
        for (int i = 0; i < 2; i++) {
            bool lambda = (parts[i]->cls == TRA_K_SCALAR || parts[i]->cls == TRA_K_ALIGNED) && !parts[i]->row;
            tra_str_add(out, i ? " . " : "");
            tra_str_add(out, lambda ? "(" : "");
            tra_kernel_print(parts[i], out);
            tra_str_add(out, lambda ? ")" : "");
        }
    } else if (k->rows) {
        tra_str_add(out, k->rows->text);
    } else if (k->program) {
        tra_str_add(out, k->text);
    } else if (k->row) {
        tra_str_add(out, k->row->name);
        if (k->row->nargs) {
            const tra_scalar number = {.op = TRA_S_CONST, .value = k->args[0]};
            tra_str_add(out, "(");
            tra_scalar_print(&number, NULL, out);
            tra_str_add(out, ")");
        }
    } else if (k->cls == TRA_K_EINSUM) {
        tra_str_printf(out, "\"%s\"", k->text);
        if (k->fold != TRA_S_ADD && k->nlabels > k->nout) tra_str_printf(out, " %s", fold_of(k->fold)->word);
    } else {
        if (k->cls == TRA_K_ALIGNED) tra_str_printf(out, "\"%s\" ", k->text);
        if (k->cls == TRA_K_ALIGNED && k->nlabels > k->nout) tra_str_printf(out, "%s ", fold_of(k->fold)->word);
        if (k->nargs == 2)
            tra_str_printf(out, "(%s, %s) -> ", k->names[0], k->names[1]);
        else
            tra_str_printf(out, "%s -> ", k->names[0]);
        tra_scalar_print(k->expr, k->names, out);
    }
}

unsigned tra_kernel_props(const tra_kernel *k) { return k->props; }

bool tra_kernel_distributes(const tra_kernel *join_or_map, const tra_kernel *agg) {
    return (join_or_map->over & over_bit(agg)) != 0;
}

static bool keeps(const tra_kernel *k, const tra_kernel *agg) {
    if (k->props & TRA_P_MOVES) return true;
    if (k->cls == TRA_K_SCALAR) return tra_scalar_eval(k->expr, &agg->identity) == agg->identity;
    bool folds = k->cls == TRA_K_ROW || k->cls == TRA_K_COL || (k->cls == TRA_K_EINSUM && k->nin == 1);
    return folds && k->fold == agg->fold && agg->fold != TRA_S_MUL; /* a fold of nothing but identities */
}

bool tra_kernel_keeps_identity(const tra_kernel *map, const tra_kernel *agg) {
    agg = tra_kernel_first(agg);
    if (agg->cls != TRA_K_FOLD) return false;
    for (; map; map = tra_kernel_rest(map))
        if (!keeps(tra_kernel_first(map), agg)) return false;
    return true;
}

/* The TRA_OVER_ bit of the operator that a join applies to pairs of elements, 0 when it is not one that reduces. */
static unsigned pair_bit(const tra_kernel *k) {
    if (k->cls != TRA_K_SCALAR || k->nargs != 2 || !k->expr->b) return 0;
    if (k->expr->a->op != TRA_S_ARG || k->expr->b->op != TRA_S_ARG || k->expr->a->arg == k->expr->b->arg) return 0;
    for (size_t i = 0; i < sizeof(folds) / sizeof(*folds); i++)
        if (folds[i].op == k->expr->op) return folds[i].over;
    return 0;
}

bool tra_kernel_enters(const tra_kernel *map, const tra_kernel *join, const tra_dims *a, const tra_dims *b) {
    bool places = join->props & TRA_P_ELEMENTWISE || (join->stretch && tra_dims_eq(a, b));
    for (; map; map = tra_kernel_rest(map)) {
        const tra_kernel *f = tra_kernel_first(map);
        bool moves = (f->props & TRA_P_MOVES) && places;
        bool over = (f->over & pair_bit(join)) && (!join->stretch || (f->props & TRA_P_ELEMENTWISE));
        if (!moves && !over) return false;
    }
    return true;
}

bool tra_kernel_commutes(const tra_kernel *f, const tra_kernel *g) {
    return ((f->props & TRA_P_MOVES) && (g->props & TRA_P_ELEMENTWISE)) ||
           ((g->props & TRA_P_MOVES) && (f->props & TRA_P_ELEMENTWISE));
}

bool tra_kernel_fuses(const tra_kernel *join, const tra_kernel *agg) {
    return (join->props & TRA_P_CONTRACTION) && over_bit(tra_kernel_first(agg)) == TRA_OVER_SUM;
}

bool tra_kernel_needs_whole_last(const tra_kernel *k) {
    const tra_kernel *const *steps;
    int n = tra_steps(k, &steps, &k);
    for (int i = 0; i < n; i++)
        if (steps[i]->cls == TRA_K_SOFTMAX) return true;
    return false;
}

int tra_kernel_packers(const tra_kernel *k, bool entries) {
    const tra_kernel *const *steps;
    int n = tra_steps(k, &steps, &k), most = 0;
    for (int i = 0; i < n; i++) {
        tra_class c = steps[i]->cls;
        if (c == TRA_K_EINSUM && i == 0 && entries) continue; /* lib/sparse multiplies */
        if (c == TRA_K_EINSUM || c == TRA_K_PACK || c == TRA_K_PROGRAM) return INT_MAX;
        if (c == TRA_K_LAPACK) most = 1;
    }
    return most;
}

bool tra_kernel_needs_tensor(const tra_kernel *k) { return tra_kernel_first(k)->cls == TRA_K_INDEX; }
