/* kernels.c - from statements of a program, and what is known of their operands, to physical plans. */
#include "kernels.h"

#include <math.h>
#include <string.h>

enum { MOST_TUPLES = 256 }; /* how many tuples of a file have their statistics read, at most */

typedef struct finder {
    const tra_graph *g;
    const tra_storel_options *o;
    tra_arena *arena;
    tra_err *e;
} finder;

/* ---- storages ---------------------------------------------------------------------------------------------------- */

static tra_status make_storage(finder *f, const char *text, int rank, bool whole, tra_storage **out) {
    tra_calc_error err;
    int end;
    const tra_storage_decl *d = tra_storage_parse(text, (int)strlen(text), 0, f->arena, &end, &err);
    if (!d) return tra_fail(f->e, TRA_INTERNAL, "%s in %s", err.msg, text);
    return tra_storage_make(d, rank, 0, NULL, whole, f->arena, out, f->e);
}

/* "csr", "band(5)": of the program, else of the library. *out is NULL where there is none. */
static tra_status find_storage(finder *f, const char *text, int rank, bool whole, tra_storage **out) {
    int64_t args[TRA_CALC_MAXRANK];
    int n = 0;
    size_t end = strcspn(text, "(");
    const char *name = tra_arena_strndup(f->arena, text, end);
    for (const char *p = text + end; *p == '(' || *p == ',';) {
        size_t length = strcspn(++p, ",)");
        while (*p == ' ') p++, length--;
        if (n == TRA_CALC_MAXRANK || !tra_parse_int(tra_arena_strndup(f->arena, p, length), &args[n++]))
            return tra_fail(f->e, TRA_USAGE, "%s: a storage has whole numbers in its parentheses", text);
        p += length;
    }
    for (int i = 0; i < f->g->nstorages; i++)
        if (strcmp(f->g->storages[i]->name, name) == 0)
            return tra_storage_make(f->g->storages[i], rank, n, args, whole, f->arena, out, f->e);
    return tra_storage_find(name, rank, n, args, whole, f->arena, out, f->e);
}

static const char *dims_text(finder *f, int rank) {
    const char *s = "";
    for (int d = 0; d < rank; d++) s = tra_arena_printf(f->arena, "%s%sn%d", s, d ? ", " : "", d);
    return s;
}

/* How the program says that an input is stored; NULL: nothing. */
static const char *declared(const tra_graph *g, const tra_node *n) {
    for (int i = 0; i < g->nnames && n->op == TRA_OP_INPUT; i++)
        if (g->names[i].node == n) return g->names[i].stored.name;
    return NULL;
}

static const char *chosen(const finder *f, const tra_node *n) {
    for (int i = 0; i < f->o->nchoices; i++)
        if (n->name && strcmp(f->o->choice[i].relation, n->name) == 0) return f->o->choice[i].storage;
    return NULL;
}

/* The storage of the arrays of a node, NULL where they are dense, and what it is called. */
static tra_status storage_of(finder *f, const tra_node *n, tra_storage **out, const char **name) {
    int rank = n->type.cat->bound.n;
    bool whole = tra_dtype_rows[n->type.dtype].class != TRA_CLASS_FLOAT;
    const char *choice = chosen(f, n), *file = n->input.rel ? tra_rel_info(n->input.rel)->storage : NULL;
    const char *said = declared(f->g, n);
    *out = NULL;
    *name = choice ? choice : "dense";
    if (!choice && !n->type.sparse) return TRA_OK;
    if (!choice && file) {
        tra_levels levels;
        bool by_levels = strncmp(file, "storage", 7) != 0;
        const char *alias =
            by_levels && tra_levels_parse(file, rank, &levels, f->e) == TRA_OK ? tra_levels_alias(&levels) : NULL;
        *name = alias ? alias : by_levels ? file : "a mapping";
        if (by_levels) file = tra_arena_printf(f->arena, "storage stored[%s] = %s", dims_text(f, rank), file);
        return make_storage(f, file, rank, whole, out);
    }
    if (!choice) *name = said ? said : rank == 2 ? "dcsr" : "csf";
    TRA_TRY(find_storage(f, *name, rank, whole, out));
    if (!*out) return tra_fail(f->e, TRA_USAGE, "there is no storage '%s': tra-storage(5) lists the library's", *name);
    if (tra_storage_is_dense(*out)) *out = NULL;
    return TRA_OK;
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

/* Averages over the tuples of a file, of levels that it has itself, or of rows in the order of the dimensions. */
static void read_statistics(const tra_node *n, tra_storel_operand *x) {
    const tra_storage *s = x->storage;
    int64_t tuples = tra_min64(n->type.cat->n, MOST_TUPLES);
    tra_levels of_file, own;
    const char *file = n->input.rel ? tra_rel_info(n->input.rel)->storage : NULL;
    tra_err ignored = {0};
    if (!file || !s->by_levels || tra_levels_parse(file, s->rank, &of_file, &ignored) != TRA_OK || tuples == 0) return;
    bool same = tra_levels_of_storage(s, &own) && tra_levels_eq(&own, &of_file), ordered = true;
    for (int d = 0; d < s->rank; d++) ordered &= s->order[d] == d;
    for (int64_t t = 0; t < tuples; t++) {
        tra_statistics st;
        if (tra_rel_statistics(n->input.rel, t, &st, &ignored) != TRA_OK) return;
        int last = s->rank - 1;
        for (int d = 0; d < s->rank && same; d++) {
            if (of_file.kind[d] != TRA_LEVEL_SPARSE) continue;
            x->positions[d] += (double)st.level[d].entries / (double)tuples;
            x->squares[d] += (double)st.level[d].squares / (double)tuples;
        }
        if (same || !ordered || s->level[last] != TRA_CALC_LEVEL_SPARSE) continue;
        x->squares[last] += (double)st.rows.squares / (double)tuples;
        if (s->rank == 2 && s->level[0] == TRA_CALC_LEVEL_SPARSE)
            x->positions[0] += (double)st.rows.parents / (double)tuples;
    }
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static int64_t cut(const tra_einsum *s, int label) { return tra_max64(1, s->block[label]); }

/* Two references of one relation have the same array if their labels are, wherever it is cut. */
static int same_array(const tra_einsum *s, int ref) {
    for (int i = 0; i < ref; i++) {
        bool same = s->ref[i].node == s->ref[ref].node && s->ref[i].n == s->ref[ref].n;
        for (int d = 0; d < s->ref[ref].n && same; d++) {
            int l = s->ref[i].label[d], m = s->ref[ref].label[d];
            same = l == m || (cut(s, l) >= s->extent[l] && cut(s, m) >= s->extent[m]);
        }
        if (same) return i;
    }
    return -1;
}

static tra_status find_operands(finder *f, const tra_einsum *s, tra_storel_operand *x, const char **text) {
    const char *out = "";
    for (int i = 0; i < s->nrefs; i++) {
        const tra_node *n = s->ref[i].node;
        const char *name;
        tra_storage *storage;
        int same = same_array(s, i);
        if (same >= 0) {
            x[i] = x[same];
            x[i].same = x[same].same >= 0 ? x[same].same : same;
            continue;
        }
        TRA_TRY(storage_of(f, n, &storage, &name));
        x[i] = (tra_storel_operand){.name = n->name ? n->name : "X", .storage = storage, .same = -1, .entries = NAN};
        x[i].real = tra_dtype_rows[n->type.dtype].class == TRA_CLASS_FLOAT;
        x[i].sparse = storage != NULL;
        if (storage && n->type.sparse)
            x[i].entries = (double)tra_type_entries(&n->type).expected / (double)tra_max64(1, n->type.cat->n);
        if (storage) read_statistics(n, &x[i]);
        out = tra_arena_printf(f->arena, "%s%s%s as %s", out, *out ? ", " : "", x[i].name, name);
    }
    *text = out;
    return TRA_OK;
}

static const char *name_of(const tra_graph *g, const tra_node *n) {
    for (int i = 0; i < g->nnames; i++)
        if (g->names[i].node == n) return g->names[i].name;
    return n->name ? n->name : "a part of a statement";
}

static bool wanted(const finder *f, const tra_einsum *s) {
    for (int i = 0; i < s->nrefs; i++)
        if (s->ref[i].node->type.sparse || chosen(f, s->ref[i].node)) return true;
    return false;
}

static tra_status make_kernel(finder *f, const tra_einsum *s, tra_storel_kernel *k) {
    double extent[TRA_MAXLABELS];
    tra_storel_operand *x = tra_news(f->arena, tra_storel_operand, s->nrefs + 1);
    *k = (tra_storel_kernel){
        .statement = s, .name = name_of(f->g, s->node), .combinations = 1, .workers = f->o->workers};
    for (int l = 0; l < s->nlabels; l++) {
        double blocks = (double)tra_max64(1, tra_ceil_div(s->extent[l], cut(s, l)));
        k->combinations *= blocks;
        extent[l] = (double)s->extent[l] / blocks;
    }
    TRA_TRY(find_operands(f, s, x, &k->operands));
    tra_err why = {0};
    tra_status status = tra_storel_compose(s, extent, x, f->arena, &k->composed, &why);
    if (status == TRA_NO) {
        k->reason = tra_arena_strndup(f->arena, why.msg, strlen(why.msg));
        return TRA_OK;
    }
    if (status != TRA_OK) return tra_fail(f->e, status, "%s", why.msg);
    tra_storel_problem *p = &k->composed.problem;
    p->dense = s->node->type.layout == NULL;
    p->without = f->o->without;
    p->plans = f->o->plans;
    p->costs = f->o->costs;
    return tra_storel_optimize(p, f->arena, &k->result, f->e);
}

tra_status tra_storel_kernels(const tra_graph *g, const tra_storel_options *o, tra_arena *a, int *n,
                              tra_storel_kernel **out, tra_err *e) {
    finder f = {g, o, a, e};
    *out = tra_news(a, tra_storel_kernel, g->neinsums);
    *n = 0;
    for (int i = 0; i < o->nchoices; i++) {
        bool found = false;
        for (int k = 0; k < g->neinsums; k++)
            for (int r = 0; r < g->einsums[k]->nrefs; r++) {
                const char *name = g->einsums[k]->ref[r].node->name;
                found |= name && strcmp(name, o->choice[i].relation) == 0;
            }
        if (!found) return tra_fail(e, TRA_USAGE, "%s is no operand of a statement", o->choice[i].relation);
    }
    for (int i = 0; i < g->neinsums; i++)
        if (wanted(&f, g->einsums[i])) TRA_TRY(make_kernel(&f, g->einsums[i], &(*out)[(*n)++]));
    return TRA_OK;
}
