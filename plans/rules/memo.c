/* memo.c - expressions, groups, congruence. */
#include "../../lib/model/columns.h"
#include "../tra/table_ops.h"
#include "memo.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- hashing ------------------------------------------------------------------------------------------------ */

static uint64_t hash(const tra_memo *m, const char *text, const int in[2]) {
    int canonical[2] = {in[0] < 0 ? -1 : tra_memo_find(m, in[0]), in[1] < 0 ? -1 : tra_memo_find(m, in[1])};
    return XXH64(text, strlen(text), XXH64(canonical, sizeof canonical, 0));
}

/* The slot of an expression in the hash table: it has the number of an equal expression, or -1. */
static int *slot(const tra_memo *m, const char *text, const int in[2]) {
    uint64_t mask = (uint64_t)m->ntable - 1;
    for (uint64_t at = hash(m, text, in);; at++) {
        int *s = &m->table[at & mask];
        if (*s < 0) return s;
        const tra_expr *x = m->v[*s];
        bool same = strcmp(x->text, text) == 0;
        for (int i = 0; i < 2 && same; i++) {
            if (x->in[i] != in[i])
                same = x->in[i] >= 0 && in[i] >= 0 && tra_memo_find(m, x->in[i]) == tra_memo_find(m, in[i]);
        }
        if (same) return s;
    }
}

/* ---- groups ------------------------------------------------------------------------------------------------- */

int tra_memo_find(const tra_memo *m, int group) {
    while (m->group[group].parent != group) {
        int *p = &m->group[group].parent; /* shortens the path for later calls */
        group = *p = m->group[*p].parent;
    }
    return group;
}

static void append(tra_memo *m, tra_memo_group *g, int expr) {
    TRA_ARENA_ROOM(m->arena, g->expr, g->n, g->cap);
    g->expr[g->n++] = expr;
}

static int new_group(tra_memo *m) {
    m->group[m->ngroups] = (tra_memo_group){.parent = m->ngroups};
    return m->ngroups++;
}

static void add_user(tra_memo *m, int group, int expr) {
    tra_memo_group *g = &m->group[tra_memo_find(m, group)];
    TRA_ARENA_ROOM(m->arena, g->user, g->nusers, g->capusers);
    g->user[g->nusers++] = expr;
}

const int *tra_memo_users(const tra_memo *m, int group, int *n) {
    const tra_memo_group *g = &m->group[tra_memo_find(m, group)];
    *n = g->nusers;
    return g->user;
}

/* The older group stays: those of the program come first. */
static void merge(tra_memo *m, int a, int b) {
    a = tra_memo_find(m, a), b = tra_memo_find(m, b);
    if (a == b) return;
    if (a > b) {
        int t = a;
        a = b;
        b = t;
    }
    tra_memo_group *x = &m->group[a], *y = &m->group[b];
    assert(tra_type_eq(&m->v[x->expr[0]]->node.type, &m->v[y->expr[0]]->node.type, NULL));
    for (int i = 0; i < y->n; i++) append(m, x, y->expr[i]);
    y->parent = a;
    for (int i = 0; i < y->nusers; i++) add_user(m, a, y->user[i]);
    y->n = y->nusers = 0;
}

/* ---- expressions -------------------------------------------------------------------------------------------- */

static int new_expr(tra_memo *m, const tra_node *typed, const char *text, const int in[2], int group) {
    tra_expr *x = tra_new(m->arena, tra_expr);
    *x = (tra_expr){.node = *typed, .text = text, .in = {in[0], in[1]}, .equality = -1};
    x->node.id = m->n;
    x->group = group < 0 ? new_group(m) : tra_memo_find(m, group);
    append(m, &m->group[x->group], m->n);
    for (int i = 0; i < 2 && in[i] >= 0; i++) add_user(m, in[i], m->n);
    m->v[m->n] = x;
    return m->n++;
}

/* Of equal operators on rows the estimate counts that knows of fewer columns. */
static void keep_cheaper(tra_node *old, const tra_node *n) {
    const tra_rows_kernel *x = tra_rows_op_of(old), *y = tra_rows_op_of(n);
    if (x && y && x->share == y->share && y->flops < x->flops) old->kernel = n->kernel;
}

int tra_memo_add(tra_memo *m, const tra_node *proto, int group, const char **why) {
    const char *unused;
    if (!why) why = &unused;
    *why = NULL;
    int in[2] = {-1, -1};
    for (int i = 0; i < 2 && proto->in[i]; i++) {
        assert(m->v[proto->in[i]->id] == tra_memo_expr(proto->in[i]));
        in[i] = tra_memo_find(m, m->v[proto->in[i]->id]->group);
    }
    const tra_type *claimed = group < 0 ? NULL : &m->v[m->group[tra_memo_find(m, group)].expr[0]]->node.type;
    const char *text = tra_node_text(m->arena, proto);
    int *at = slot(m, text, in);
    if (*at >= 0) {
        tra_expr *old = m->v[*at];
        keep_cheaper(&old->node, proto);
        if (claimed && !tra_type_eq(&old->node.type, claimed, why)) return -1;
        if (claimed) merge(m, old->group, group);
        return old->node.id;
    }
    if (m->n == m->limit) {
        m->bounded = true;
        *why = "the memo is full";
        return -1;
    }
    tra_node n = *proto;
    tra_err e = {0};
    if (tra_node_type(m->arena, &n, NULL, &e) != TRA_OK) {
        *why = tra_arena_printf(m->arena, "%s", e.msg);
        return -1;
    }
    if (claimed && !tra_type_eq(&n.type, claimed, why)) return -1;
    return *at = new_expr(m, &n, text, in, group);
}

void tra_memo_rebuild(tra_memo *m) {
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < m->ntable; i++) m->table[i] = -1;
        for (int i = 0; i < m->n; i++) {
            tra_expr *x = m->v[i];
            x->group = tra_memo_find(m, x->group);
            for (int j = 0; j < 2; j++) x->in[j] = x->in[j] < 0 ? -1 : tra_memo_find(m, x->in[j]);
            int *at = slot(m, x->text, x->in);
            if (*at < 0) {
                *at = i;
            } else if (m->v[*at]->group != x->group) {
                merge(m, m->v[*at]->group, x->group);
                again = true;
            }
        }
    }
    for (int g = 0; g < m->ngroups; g++) {
        tra_memo_group *x = &m->group[g];
        int n = 0;
        for (int i = 0; i < x->n; i++) {
            if (*slot(m, m->v[x->expr[i]]->text, m->v[x->expr[i]]->in) == x->expr[i]) x->expr[n++] = x->expr[i];
        }
        x->n = n;
    }
    for (int i = 0; i < m->g->n; i++) {
        if (m->of_node[i] >= 0) m->of_node[i] = *slot(m, m->v[m->of_node[i]]->text, m->v[m->of_node[i]]->in);
    }
}

int tra_memo_equal(const tra_memo *m, int x) { return *slot(m, m->v[x]->text, m->v[x]->in); }

/* ---- operators on tables ------------------------------------------------------------------------------------ */

void tra_memo_add_made(tra_memo *m, tra_made_rows made) {
    TRA_ARENA_ROOM(m->arena, m->made, m->nmade, m->capmade);
    m->made[m->nmade++] = made;
}

const tra_made_rows *tra_memo_made(const tra_memo *m, const tra_expr *x) {
    for (int i = 0; i < m->nmade; i++)
        if (m->made[i].rule == x->rule && tra_memo_find(m, m->made[i].group) == tra_memo_find(m, x->group))
            return &m->made[i];
    return NULL;
}

/* ---- the program -------------------------------------------------------------------------------------------- */

/* Expressions that rules may add. */
enum { PER_NODE = 24, LEAST_ROOM = 400, MOST_ROOM = 20000 };

tra_memo *tra_memo_new(const tra_graph *g, tra_arena *a) {
    tra_memo *m = tra_new(a, tra_memo);
    bool *needed = tra_calloc((size_t)g->n + 1, sizeof *needed);
    int count = 0;
    for (int i = 0; i < g->noutputs; i++) needed[tra_output_root(&g->outputs[i])->id] = true;
    for (int i = g->n - 1; i >= 0; i--) {
        count += needed[i];
        for (int j = 0; j < 2 && needed[i] && g->v[i]->in[j]; j++) needed[g->v[i]->in[j]->id] = true;
    }
    int64_t room = tra_min64(tra_max64((int64_t)PER_NODE * count, LEAST_ROOM), MOST_ROOM);
    *m = (tra_memo){.arena = a, .g = g, .limit = count + (int)room, .ntable = 1024};
    while (m->ntable < 2 * m->limit) m->ntable *= 2;
    m->v = tra_news(a, tra_expr *, m->limit);
    m->group = tra_news(a, tra_memo_group, m->limit);
    m->table = tra_news(a, int, m->ntable);
    m->of_node = tra_news(a, int, g->n);
    for (int i = 0; i < m->ntable; i++) m->table[i] = -1;
    for (int i = 0; i < g->n; i++) {
        tra_node n = *g->v[i];
        int in[2] = {-1, -1};
        m->of_node[i] = -1;
        if (!needed[i]) continue;
        for (int j = 0; j < 2 && n.in[j]; j++) {
            tra_expr *x = m->v[m->of_node[n.in[j]->id]];
            n.in[j] = &x->node;
            in[j] = x->group;
        }
        const char *text = tra_node_text(a, &n);
        int *at = slot(m, text, in);
        if (*at < 0) *at = new_expr(m, &n, text, in, -1);
        m->of_node[i] = *at;
        if (!m->v[*at]->node.name) m->v[*at]->node.name = n.name;
    }
    for (int i = 0; i < g->ntables; i++) {
        const tra_table_op *op = g->tables[i];
        int x = m->of_node[op->node->id], rows = op->rows ? m->of_node[op->rows->id] : -1;
        if (x >= 0 && rows >= 0) tra_memo_add_made(m, (tra_made_rows){op, m->v[x]->group, m->v[rows]->group, NULL});
    }
    free(needed);
    return m;
}

/* ---- order -------------------------------------------------------------------------------------------------- */

/* Least heights of groups: a group that is computed in h steps has an expression whose inputs take fewer. */
static int *heights(const tra_memo *m) {
    int *h = tra_malloc((size_t)m->ngroups * sizeof *h);
    for (int g = 0; g < m->ngroups; g++) h[g] = INT_MAX;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < m->n; i++) {
            const tra_expr *x = m->v[i];
            int most = 0;
            for (int j = 0; j < 2 && x->in[j] >= 0; j++) most = h[x->in[j]] > most ? h[x->in[j]] : most;
            if (most == INT_MAX || most + 1 >= h[x->group]) continue;
            h[x->group] = most + 1;
            again = true;
        }
    }
    return h;
}

/* Tarjan's strongly connected components, without recursion: components come out after those they use. */
typedef struct tarjan {
    const tra_memo *m;
    int *index, *low, *component; /* by group; 0, 0, -1: not yet */
    int *stack, nstack, next, ncomponents;
    int *order, norder; /* groups by component */
} tarjan;

typedef struct frame {
    int group, expr, in; /* where its walk over inputs is */
} frame;

static void close_component(tarjan *t, int root) {
    int g;
    do {
        g = t->stack[--t->nstack];
        t->component[g] = t->ncomponents;
        t->order[t->norder++] = g;
    } while (g != root);
    t->ncomponents++;
}

static void visit(tarjan *t, int root, frame *f) {
    int depth = 0;
    f[0] = (frame){.group = root};
    while (depth >= 0) {
        frame *x = &f[depth];
        const tra_memo_group *g = &t->m->group[x->group];
        if (!t->index[x->group]) {
            t->index[x->group] = t->low[x->group] = ++t->next;
            t->stack[t->nstack++] = x->group;
        }
        if (x->expr == g->n) {
            int low = t->low[x->group];
            if (low == t->index[x->group]) close_component(t, x->group);
            if (--depth >= 0 && low < t->low[f[depth].group]) t->low[f[depth].group] = low;
            continue;
        }
        int in = x->in < 2 ? t->m->v[g->expr[x->expr]]->in[x->in] : -1;
        if (in < 0) {
            x->expr++, x->in = 0;
            continue;
        }
        x->in++;
        if (!t->index[in])
            f[++depth] = (frame){.group = in};
        else if (t->component[in] < 0 && t->index[in] < t->low[x->group])
            t->low[x->group] = t->index[in];
    }
}

static int by_height(const void *a, const void *b, void *height) {
    const int *h = height, x = *(const int *)a, y = *(const int *)b;
    return h[x] != h[y] ? (h[x] < h[y] ? -1 : 1) : (x > y) - (x < y);
}

int *tra_memo_order(const tra_memo *m, int *n, bool **skip) {
    size_t groups = (size_t)m->ngroups;
    int *h = heights(m), *work = tra_calloc(5 * groups + 1, sizeof *work);
    frame *f = tra_calloc(groups + 1, sizeof *f);
    tarjan t = {
        .m = m, .index = work, .low = work + groups, .component = work + 2 * groups, .stack = work + 3 * groups};
    int *at = work + 4 * groups; /* position in the order */
    t.order = tra_news(m->arena, int, m->ngroups);
    *skip = tra_news(m->arena, bool, m->n);
    for (int g = 0; g < m->ngroups; g++) t.component[g] = -1;
    for (int i = 0; i < m->g->noutputs; i++) {
        int g = m->v[m->of_node[tra_output_root(&m->g->outputs[i])->id]]->group;
        if (!t.index[g]) visit(&t, g, f);
    }
    /* within a component groups come by height, and expressions that use a group which comes later are left out */
    for (int i = 0, j; i < t.norder; i = j) {
        for (j = i + 1; j < t.norder && t.component[t.order[j]] == t.component[t.order[i]];) j++;
        qsort_r(t.order + i, (size_t)(j - i), sizeof *t.order, by_height, h);
    }
    for (int i = 0; i < t.norder; i++) at[t.order[i]] = i;
    for (int i = 0; i < t.norder; i++) {
        const tra_memo_group *g = &m->group[t.order[i]];
        for (int k = 0; k < g->n; k++) {
            for (int j = 0; j < 2 && m->v[g->expr[k]]->in[j] >= 0; j++)
                if (at[m->v[g->expr[k]]->in[j]] >= i) (*skip)[g->expr[k]] = true;
        }
    }
    *n = t.norder;
    free(h);
    free(work);
    free(f);
    return t.order;
}
