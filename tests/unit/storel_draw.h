/* storel_draw.h - random operands and statements for the tests of the optimizer: tensors in random storages, of the
 * library and by random levels, at random places, with random statistics. */
#ifndef TRA_STOREL_DRAW_H
#define TRA_STOREL_DRAW_H

#include "../../plans/storel/compose.h"
#include "storage_fill.h"

#include <math.h>

enum { MOSTREFS = 4, MOSTDATA = 64 };

/* A program depends on its number alone. */
static uint64_t state;
static int below(int n) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int)((z ^ z >> 31) % (uint64_t)n);
}

/* What elements are. EXACT: small integers, whose sums are exact in any order. INFINITE: not negative, and those of
 * dense arrays may be infinite. ROUNDED: positive fractions, with functions that round; nothing is subtracted, so that
 * results differ in their last digits alone. */
typedef enum elements { EXACT, INFINITE, ROUNDED } elements;
static elements drawn;

/* ---- operands --------------------------------------------------------------------------------------------------- */

typedef struct array {
    tra_storage *storage; /* NULL: dense */
    int rank;
    int64_t extent[4];
    int64_t origin[4];
    int64_t entries;
    tra_component_data data[16];
} array;

static void put(tra_component_data *c, int64_t n, bool real, const double *v) {
    c->value.type = real ? TRA_ELEMENT_F64 : TRA_ELEMENT_I64;
    c->value.n = n;
    double *r = tra_calloc((size_t)n + 1, 8);
    for (int64_t i = 0; i < n; i++) {
        if (real)
            r[i] = v[i];
        else
            ((int64_t *)r)[i] = (int64_t)v[i];
    }
    c->value.data = r;
}

static int component(const tra_storage *s, const char *name) {
    for (int k = 0; k < s->ncomponents; k++)
        if (strcmp(s->components[k].name, name) == 0) return k;
    check_report("no %s", name);
    return 0;
}

/* Storage ell, each row with an unused place in the middle. */
static void fill_ell(array *a, const tensor *t) {
    int64_t m = a->extent[0], n = a->extent[1], width = n + 1;
    double size = (double)width, *idx = tra_calloc((size_t)(m * width) + 1, 8),
           *v = tra_calloc((size_t)(m * width) + 1, 8);
    for (int64_t i = 0; i < m * width; i++) idx[i] = -1;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0, p = i * width; j < n; j++)
            if (t->entry[i * n + j]) idx[p + 1] = (double)j, v[p++ + 1] = t->v[i * n + j];
    put(&a->data[component(a->storage, "width")], 1, false, &size);
    put(&a->data[component(a->storage, "idx")], m * width, false, idx);
    put(&a->data[component(a->storage, "v")], m * width, true, v);
    free(idx);
    free(v);
}

static void fill_trie(array *a, const tensor *t) {
    tra_component_data *d = &a->data[component(a->storage, "t")];
    double *v = tra_calloc((size_t)t->n + 1, 8);
    int64_t n = 0, *key[4];
    for (int r = 0; r < t->rank; r++) key[r] = tra_calloc((size_t)t->n + 1, 8);
    for (int64_t i = 0; i < t->n; i++) {
        int64_t at[4];
        if (!t->entry[i]) continue;
        coordinates(t, i, at);
        for (int r = 0; r < t->rank; r++) key[r][n] = at[r];
        v[n++] = t->v[i];
    }
    put(d, n, true, v);
    for (int r = 0; r < t->rank; r++) d->key[r] = (tra_elements){TRA_ELEMENT_I64, n, key[r]};
    free(v);
}

/* By running the mapping backwards. */
static void fill_places(array *a, const tensor *t) {
    tra_storage_block b = {.extent = a->extent, .origin = a->origin, .component = a->data};
    tra_storage_places places;
    tra_err e = {0};
    CHECK_OK(tra_storage_trace(a->storage, &b, 0, &places, &e), e);
    for (int k = 0; k < a->storage->ncomponents; k++) {
        double *v = tra_calloc((size_t)a->data[k].value.n + 1, 8);
        for (int64_t i = 0; i < places.n; i++)
            if (places.v[i].component == k) v[places.v[i].element] = t->v[places.v[i].at];
        put(&a->data[k], a->data[k].value.n, true, v);
        free(v);
    }
    tra_storage_places_free(&places);
}

/* Blocks of p x q: of each row of blocks some. */
static void fill_bsr(array *a, const tensor *t, int64_t p, int64_t q) {
    int64_t rows = (a->extent[0] + p - 1) / p, columns = (a->extent[1] + q - 1) / q, n = 0;
    double pos[MOSTDATA] = {0}, idx[MOSTDATA], v[4 * MOSTDATA];
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++)
            if (below(2)) idx[n++] = (double)j;
        pos[i + 1] = (double)n;
    }
    for (int64_t i = 0; i < n * p * q; i++) v[i] = t->v[i % t->n];
    put(&a->data[component(a->storage, "pos")], rows + 1, false, pos);
    put(&a->data[component(a->storage, "idx")], n, false, idx);
    put(&a->data[component(a->storage, "v")], n * p * q, true, v);
}

static const char *const of_rank[4][16] = {
    {NULL},
    {"dense", "coo", "csf", "dok", "trie", NULL},
    {"dense", "csr", "csc", "dcsr", "dcsc", "coo", "dok", "trie", "ell", "lower", "upper", "band", "diagonal", "zorder",
     "bsr", NULL},
    {"dense", "csf", "coo", "dok", "trie", "colmajor", NULL},
};

static double element(bool dense) {
    if (drawn == ROUNDED) return 0.5 + below(1000) * 1e-3;
    if (drawn == EXACT) return (double)(below(9) - 4);
    return dense && below(3) == 0 ? INFINITY : (double)below(3);
}

/* A storage by random levels in a random order; NULL where there are no such ones. */
static tra_storage *random_levels(tra_arena *arena, int rank) {
    static const char *const kinds[] = {"dense", "sparse", "hash", "singleton"}, *const dims[] = {"a", "b", "c"};
    char text[256];
    int order[3] = {0, 1, 2}, n = 0;
    tra_err e = {0};
    for (int i = rank - 1; i > 0; i--) {
        int k = below(i + 1), x = order[i];
        order[i] = order[k], order[k] = x;
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "storage own[");
    for (int d = 0; d < rank; d++) n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", d ? ", " : "", dims[d]);
    n += snprintf(text + n, sizeof text - (size_t)n, "] = levels(");
    for (int d = 0, last = 0; d < rank; d++) {
        int kind = last == 3 ? 3 : below(last == 1 ? 4 : 3);
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", d ? ", " : "", kinds[last = kind]);
    }
    n += snprintf(text + n, sizeof text - (size_t)n, ") order [");
    for (int d = 0; d < rank; d++) n += snprintf(text + n, sizeof text - (size_t)n, "%s%d", d ? ", " : "", order[d]);
    snprintf(text + n, sizeof text - (size_t)n, "]");
    return made(arena, text, rank, 0, NULL, &e);
}

static void new_array(array *a, tra_arena *arena, int rank, const int64_t *extent) {
    unsigned s = (unsigned)below(1 << 30);
    tensor *t = tra_calloc(1, sizeof *t);
    *t = new_tensor(rank, extent, below(4) * 30 + 10, &s);
    *a = (array){.rank = rank};
    memcpy(a->extent, extent, sizeof a->extent);
    for (int d = 0; d < rank; d++) a->origin[d] = below(4) ? 0 : below(4);
    int n = 0, nargs = 0;
    while (of_rank[rank][n]) n++;
    const char *name = of_rank[rank][below(n)];
    int64_t args[] = {1 + below(2), 1 + below(3)};
    if (strcmp(name, "band") == 0) nargs = 1;
    if (strcmp(name, "bsr") == 0) nargs = 2;
    bool dense = strcmp(name, "dense") == 0;
    if (!dense) a->storage = below(3) == 0 ? random_levels(arena, rank) : find(arena, name, rank, nargs, args);
    for (int64_t i = 0; i < t->n; i++) {
        t->v[i] = t->entry[i] ? element(dense) : 0;
        a->entries += t->entry[i];
    }
    if (!a->storage) {
        put(&a->data[0], t->n, true, t->v);
    } else if (a->storage->by_levels) {
        filled *f = tra_calloc(1, sizeof *f);
        fill(f, a->storage, t);
        memcpy(a->data, f->data, sizeof f->data);
        free(f);
    } else if (strcmp(name, "ell") == 0) {
        fill_ell(a, t);
    } else if (strcmp(name, "trie") == 0) {
        fill_trie(a, t);
    } else if (strcmp(name, "bsr") == 0) {
        fill_bsr(a, t, args[0], args[1]);
    } else {
        fill_places(a, t);
    }
    free(t);
}

/* What the optimizer is told of an operand: nothing, the number of its entries, or that and counts of its levels. They
 * may be wrong. */
static void draw_statistics(tra_storel_operand *o, const array *a) {
    o->entries = below(2) ? NAN : (double)(below(4) ? a->entries : below(1 << below(20)));
    if (isnan(o->entries) || below(2)) return;
    for (int d = 0; d < a->rank; d++) {
        o->positions[d] = 1 + below(1 << below(20));
        o->squares[d] = o->positions[d] * (1 + below(30));
    }
}

/* ---- statements ---------------------------------------------------------------------------------------------------
 */

typedef struct statement {
    tra_arena *arena;
    tra_einsum s;
    tra_storel_operand operand[MOSTREFS];
    array array[MOSTREFS];
    double extent[TRA_MAXLABELS];
    tra_storel_composed c;
    tra_calc_free *scope;
} statement;

static const tra_scalar *node_of(tra_arena *a, tra_scalar_op op, int arg, const tra_scalar *l, const tra_scalar *r) {
    tra_scalar *y = tra_new(a, tra_scalar);
    *y = (tra_scalar){.op = op, .arg = arg, .a = l, .b = r, .value = 3};
    return y;
}

static void random_statement(statement *k, bool mixed) {
    static const char *const names[] = {"A", "B", "C", "D"}, *const labels[] = {"i", "j", "k", "l"};
    int64_t extent[4];
    bool used[4] = {0};
    k->s.fold = TRA_S_ADD;
    k->s.nrefs = 1 + below(3);
    k->s.ref = tra_news(k->arena, tra_einsum_ref, MOSTREFS);
    k->s.nlabels = 2 + below(3);
    for (int l = 0; l < k->s.nlabels; l++) {
        k->s.name[l] = labels[l];
        k->extent[l] = (double)(extent[l] = 1 + below(5));
    }
    for (int i = 0; i < k->s.nrefs; i++) {
        tra_einsum_ref *r = &k->s.ref[i];
        array *a = &k->array[i];
        int64_t of[4] = {0};
        r->n = 1 + below(3);
        for (int d = 0; d < r->n; d++) {
            r->label[d] = below(k->s.nlabels);
            of[d] = extent[r->label[d]];
            used[r->label[d]] = true;
        }
        new_array(a, k->arena, r->n, of);
        k->operand[i] = (tra_storel_operand){.name = names[i],
                                             .storage = a->storage,
                                             .real = true,
                                             .sparse = a->storage != NULL,
                                             .same = -1,
                                             .entries = NAN};
        draw_statistics(&k->operand[i], a);
        const tra_scalar *arg = node_of(k->arena, TRA_S_ARG, i, NULL, NULL);
        static const tra_scalar_op ops[] = {TRA_S_ADD, TRA_S_MAX, TRA_S_MUL, TRA_S_SUB};
        tra_scalar_op op = mixed ? ops[below(drawn == ROUNDED ? 3 : 4)] : TRA_S_MUL;
        k->s.expr = k->s.expr ? node_of(k->arena, op, 0, k->s.expr, arg) : arg;
        if (below(6) == 0)
            k->s.expr = node_of(k->arena, TRA_S_MUL, 0, k->s.expr, node_of(k->arena, TRA_S_CONST, 0, NULL, NULL));
    }
    for (int l = 0; l < k->s.nlabels; l++)
        if (used[l] && below(2)) k->s.out[k->s.nout++] = l;
    for (int i = 0; i + 1 < k->s.nout; i++)
        if (below(2)) {
            int other = k->s.out[i];
            k->s.out[i] = k->s.out[i + 1];
            k->s.out[i + 1] = other;
        }
}

static void fill_scope(statement *k) {
    k->scope = tra_news(k->arena, tra_calc_free, k->c.problem.n);
    for (int i = 0; i < k->c.problem.n; i++) {
        const tra_storel_source *from = &k->c.source[i];
        switch (from->kind) {
        case TRA_STOREL_EXTENT: k->scope[i].number = tra_calc_int((int64_t)k->extent[from->which]); break;
        case TRA_STOREL_ORIGIN: k->scope[i].number = tra_calc_int(k->array[from->operand].origin[from->which]); break;
        case TRA_STOREL_COMPONENT:
            k->scope[i].component = &k->array[from->operand].data[from->which];
            k->scope[i].kind = from->component;
        }
    }
}

static void free_statement(statement *k) {
    for (int i = 0; i < k->s.nrefs; i++)
        for (int c = 0; c < 16; c++) {
            free((void *)k->array[i].data[c].value.data);
            for (int d = 0; d < TRA_CALC_MAXRANK; d++) free((void *)k->array[i].data[c].key[d].data);
        }
    tra_arena_free(k->arena);
}

#endif
