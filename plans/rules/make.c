/* make.c - what rules are written with: refusals, new expressions, operators over other inputs, predicates. */
#include "rules_int.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- refusals, and what was tried ------------------------------------------------------------------------------- */

static void note(tra_rewriting *w, int expr, const char *reason) {
    tra_refusals *r = w->refusals;
    for (int i = 0; i < r->n; i++)
        if (r->v[i].rule == w->rule && r->v[i].expr == expr && strcmp(r->v[i].reason, reason) == 0) return;
    TRA_ARENA_ROOM(w->m->arena, r->v, r->n, r->cap);
    r->v[r->n++] = (tra_refusal){w->rule, expr, tra_arena_strndup(w->m->arena, reason, strlen(reason))};
}

void *tra_refuse(tra_rewriting *w, const tra_expr *x, const char *fmt, ...) {
    char text[512];
    va_list ap;
    if (!w->refusals) return NULL;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    note(w, x->node.id, text);
    return NULL;
}

bool tra_refused(tra_rewriting *w, const tra_expr *x, const char *why) {
    if (why) tra_refuse(w, x, "%s", why);
    return why != NULL;
}

static bool has(tra_rewriting *w, uint64_t hash) {
    for (uint64_t at = hash;; at++) {
        uint64_t *slot = &w->tried[at & (uint64_t)(w->captried - 1)];
        if (*slot == hash) return true;
        if (*slot) continue;
        *slot = hash;
        w->ntried++;
        return false;
    }
}

bool tra_tried(tra_rewriting *w, uint64_t what) {
    if (2 * (w->ntried + 1) > w->captried) {
        int64_t n = w->captried;
        uint64_t *old = w->tried;
        w->captried = n ? 2 * n : 1024;
        w->tried = tra_calloc((size_t)w->captried, sizeof *w->tried);
        w->ntried = 0;
        for (int64_t i = 0; i < n; i++)
            if (old[i]) (void)has(w, old[i]);
        free(old);
    }
    what = XXH64(&what, sizeof what, 0); /* sums and differences of numbers, too, come to different slots */
    return has(w, what | (what == 0));
}

/* ---- what rules make ---------------------------------------------------------------------------------------- */

static const char *name_of(const tra_memo *m, int group) {
    return m->v[m->group[tra_memo_find(m, group)].expr[0]]->node.name;
}

static int id_of(const tra_expr *x) { return x ? x->node.id : -1; }

static void equal(tra_rewriting *w, int a, int b, const tra_expr *below, const tra_expr *l, const tra_expr *r) {
    tra_memo *m = w->m;
    TRA_ARENA_ROOM(m->arena, m->equal, m->nequal, m->capequal);
    tra_equality *q = &m->equal[m->nequal++];
    *q = (tra_equality){a, b, {-1, -1}, {id_of(l), id_of(r)}, w->rule};
    if (below) q->below[w->side] = below->node.id;
}

/* The expression's number, or -1. */
static int add(tra_rewriting *w, const tra_expr *x, const tra_node *proto, int group) {
    tra_memo *m = w->m;
    const char *why = NULL;
    int before = m->n, limit = m->limit;
    tra_node n = *proto;
    if (n.span.len == 0) n.span = x->node.span;
    if (w->room < m->limit) m->limit = w->room;
    int i = tra_memo_add(m, &n, group, &why);
    bool full = i < 0 && m->n >= m->limit;
    m->limit = limit;
    if (i < 0 && !full) tra_refuse(w, x, group < 0 ? "%s" : "the result would differ: %s", why);
    if (m->n > before) {
        m->v[i]->rule = w->rule;
        w->changed = true;
    }
    return i;
}

/* Is it a filter that all keys of its input pass? */
static bool removes_nothing(tra_rewriting *w, const tra_node *proto) {
    tra_node n = *proto;
    return n.op == TRA_OP_FILTER && tra_node_type(w->m->arena, &n, NULL, NULL) == TRA_OK &&
           tra_type_eq(&n.type, &n.in[0]->type, NULL);
}

void tra_claim_same(tra_rewriting *w, const tra_expr *x, const tra_node *in) {
    int group = tra_memo_find(w->m, tra_memo_expr(in)->group);
    if (tra_memo_find(w->m, x->group) == group) return;
    equal(w, x->node.id, in->id, NULL, NULL, NULL);
    (void)add(w, x, &x->node, group);
    w->changed = true;
}

/* Could an input, or the kernel, not be made? */
static bool is_part(const tra_node *n) {
    bool has_kernel = n->op == TRA_OP_JOIN || n->op == TRA_OP_AGG || n->op == TRA_OP_TRANSFORM;
    return (n->op != TRA_OP_INPUT && !n->in[0]) || (n->op == TRA_OP_JOIN && !n->in[1]) || (has_kernel && !n->kernel);
}

tra_expr *tra_make_below(tra_rewriting *w, const tra_expr *x, tra_node proto) {
    if (is_part(&proto)) return NULL;
    if (removes_nothing(w, &proto)) return tra_memo_expr(proto.in[0]);
    if (proto.op != TRA_OP_INPUT) proto.name = NULL;
    int i = add(w, x, &proto, -1);
    return i < 0 ? NULL : w->m->v[i];
}

void tra_claim(tra_rewriting *w, const tra_expr *x, const tra_expr *y, tra_node proto, const tra_expr *l,
               const tra_expr *r) {
    tra_memo *m = w->m;
    int before = m->n, group = tra_memo_find(m, x->group);
    if (is_part(&proto)) return;
    proto.name = name_of(m, group);
    int i = add(w, x, &proto, group);
    if (i < 0) return;
    if (i != x->node.id) equal(w, x->node.id, i, y, l, r);
    if (m->n > before) m->v[i]->equality = m->nequal - 1;
    w->changed = w->changed || tra_memo_find(m, group) != group;
}

/* ---- prototypes --------------------------------------------------------------------------------------------- */

tra_node tra_over(const tra_expr *x, const tra_node *in) {
    tra_node n = x->node;
    n.in[0] = (tra_node *)in;
    return n;
}

void tra_swap(tra_rewriting *w, tra_expr *x, tra_expr *y) {
    tra_expr *inner = tra_make_below(w, x, tra_over(x, y->node.in[0]));
    tra_claim(w, x, y, tra_over(y, node_of(inner)), inner, NULL);
}

tra_node tra_proto_transform(const tra_kernel *k, const tra_node *in) {
    return (tra_node){.op = TRA_OP_TRANSFORM, .in = {(tra_node *)in}, .kernel = k};
}

tra_node tra_proto_rows(tra_rewriting *w, const tra_rows_kernel *op, const tra_node *l, const tra_node *r) {
    tra_rows_kernel own = *op;
    own.use = r ? TRA_USE_JOIN : TRA_USE_MAP;
    tra_node n = tra_proto_transform(tra_rows_kernel_of(w->m->arena, &own), l);
    if (r) n.op = TRA_OP_JOIN, n.in[1] = (tra_node *)r;
    return n;
}

tra_node tra_proto_rows_by(tra_rewriting *w, const tra_rows_kernel *op, const tra_node *l, const tra_node *r) {
    tra_node n = tra_proto_rows(w, op, l, r);
    n.join.l = n.join.r = (tra_dims){.n = 1};
    return n;
}

tra_node tra_proto_rekey(tra_rewriting *w, const tra_node *in, const char *const *names, int n,
                         const tra_keyexpr *const *expr) {
    const tra_keyfn *f = in ? tra_keyfn_new(w->m->arena, in->type.cat->frontier.n, names, n, expr) : NULL;
    return (tra_node){.op = TRA_OP_REKEY, .in = {(tra_node *)in}, .keyfn = f};
}

tra_node tra_proto_agg(const tra_kernel *k, const tra_dims *group, const tra_node *in) {
    return (tra_node){.op = TRA_OP_AGG, .in = {(tra_node *)in}, .kernel = k, .group = *group};
}

const char *tra_kernel_name(tra_rewriting *w, const tra_kernel *k) {
    tra_str s = {0};
    tra_kernel_print(k, &s);
    return tra_arena_take(w->m->arena, &s);
}

/* ---- predicates --------------------------------------------------------------------------------------------- */

bool tra_add_conjunct(conjuncts *c, const tra_keyexpr *x) {
    for (int i = 0; i < c->n; i++)
        if (tra_keyexpr_compare(c->v[i], x) == 0) return true;
    if (c->n == MAX_CONJUNCTS) return false;
    c->v[c->n++] = x;
    return true;
}

/* When there is no room for more parts the rest is the last part, as it is. */
static void split_conjuncts(const tra_keyexpr *x, conjuncts *out) {
    if (x->op == TRA_KEY_AND && out->n < MAX_CONJUNCTS - 1) {
        split_conjuncts(x->a, out);
        split_conjuncts(x->b, out);
    } else {
        tra_add_conjunct(out, x);
    }
}

void tra_split_predicate(const tra_keyfn *f, conjuncts *out) {
    out->n = 0;
    split_conjuncts(f->expr[0], out);
}

void tra_sort_conjuncts(conjuncts *c) {
    for (int i = 1; i < c->n; i++)
        for (int j = i; j > 0 && tra_keyexpr_compare(c->v[j - 1], c->v[j]) > 0; j--) {
            const tra_keyexpr *t = c->v[j];
            c->v[j] = c->v[j - 1];
            c->v[j - 1] = t;
        }
}

tra_node tra_proto_filter(tra_rewriting *w, const conjuncts *c, const char *const *names, const tra_node *in) {
    tra_arena *a = w->m->arena;
    if (!in) return (tra_node){.op = TRA_OP_FILTER};
    tra_keyfn *f = tra_new(a, tra_keyfn);
    bool twice = false;
    f->arity = in->type.cat->frontier.n;
    f->n = 1;
    for (int d = 0; d < f->arity; d++) {
        f->names[d] = names[d] ? names[d] : tra_arena_printf(a, "k%d", d);
        for (int i = 0; i < d; i++) twice = twice || strcmp(f->names[i], f->names[d]) == 0;
    }
    for (int d = 0; d < f->arity && twice; d++) f->names[d] = tra_arena_printf(a, "k%d", d);
    for (int i = 0; i < c->n; i++) f->expr[0] = i ? tra_keyexpr_of(a, TRA_KEY_AND, f->expr[0], c->v[i]) : c->v[i];
    return (tra_node){.op = TRA_OP_FILTER, .in = {(tra_node *)in}, .keyfn = f};
}

const tra_keyexpr *tra_rename_vars(tra_rewriting *w, const tra_keyexpr *x, const int *to) {
    const tra_keyexpr *by[TRA_MAXDIM];
    for (int i = 0; i < TRA_MAXDIM; i++) by[i] = tra_keyexpr_component(w->m->arena, to[i]);
    return tra_keyexpr_replace(w->m->arena, x, by);
}
