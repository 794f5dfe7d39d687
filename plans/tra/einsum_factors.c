/* einsum_factors.c - a product of more labels than a statement may have: parts of it become aggregations of their own.
 */
#include "lower.h"

#include <math.h>
#include <string.h>

/* A part of the product: factors of the program, and parts that were made aggregations. Labels are numbers. */
typedef struct part {
    int n, first;     /* how many factors, and the first of them: a list in `next` */
    int last;         /* the last one */
    int nown, *own;   /* labels of these factors */
    int nkept, *kept; /* those of them that the result or another part has */
} part;

typedef struct product {
    tra_build *b;
    const tra_stmt *st;
    tra_names names; /* of labels */
    int nlabels, caplabels;
    struct label {
        const tra_ast *at; /* where it stands first; NULL: in a function of it alone, so that it is never aggregated */
        double extent;
        int uses; /* parts that have it, and one more if the result has */
        int mark; /* of has_both */
    } * label;
    int nfactors, capfactors, *next;
    const tra_ast **factor;
    int nparts, capparts, marks;
    part *part;
} product;

static bool is_product(const tra_ast *x) { return x->kind == TRA_AST_BINARY && strcmp(x->text, "*") == 0; }

static int number_of(product *p, const char *name) {
    int l = tra_names_find(&p->names, name);
    if (l >= 0) return l;
    TRA_ARENA_ROOM(p->b->arena, p->label, p->nlabels, p->caplabels);
    p->label[p->nlabels] = (struct label){.extent = 1};
    tra_names_add(&p->names, name, NULL);
    return p->nlabels++;
}

/* Adds a factor, and a part of it alone. */
static void add_factors(product *p, const tra_ast *x) {
    if (is_product(x)) {
        add_factors(p, x->kids[0]);
        add_factors(p, x->kids[1]);
        return;
    }
    part y = {.n = 1, .first = p->nfactors, .last = p->nfactors};
    const tra_ast *at[TRA_MAXLABELS];
    y.nown = y.nkept = tra_labels_of(x, at);
    y.own = tra_news(p->b->arena, int, y.nown + 1);
    for (int i = 0; i < y.nown; i++) {
        int64_t extent, block;
        int l = y.own[i] = number_of(p, at[i]->text);
        p->label[l].uses++;
        if (p->label[l].at || !tra_find_extent(p->b, x, at[i]->text, &extent, &block)) continue;
        p->label[l].at = at[i], p->label[l].extent = (double)extent;
    }
    y.kept = y.own;
    int cap = p->capfactors;
    TRA_ARENA_ROOM(p->b->arena, p->next, p->nfactors, cap);
    TRA_ARENA_ROOM(p->b->arena, p->factor, p->nfactors, p->capfactors);
    p->next[p->nfactors] = -1, p->factor[p->nfactors++] = x;
    TRA_ARENA_ROOM(p->b->arena, p->part, p->nparts, p->capparts);
    p->part[p->nparts++] = y;
}

/* The labels that either list has, each once. */
static int unite(product *p, int n, const int *v, int m, const int *w, int *out) {
    int all = 0;
    p->marks++;
    for (int i = 0; i < n + m; i++) {
        int l = i < n ? v[i] : w[i - n];
        if (p->label[l].mark != p->marks) out[all++] = l;
        p->label[l].mark = p->marks;
    }
    return all;
}

/* Is the label of both of these parts in no other, and not in the result? */
static bool ends(const product *p, int l, int holders) { return p->label[l].at && p->label[l].uses == holders; }

static double elements(const product *p, int n, const int *v) {
    double all = 1;
    for (int i = 0; i < n; i++) all *= p->label[v[i]].extent;
    return all;
}

/* The pair with the fewest operations; among equal ones that which saves most elements. */
static void choose(product *p, int *bi, int *bj) {
    enum { WINDOW = 48 }; /* so many parts are compared */
    double least = INFINITY, most_saved = 0;
    *bi = 0, *bj = 1;
    for (int i = 0; i < p->nparts && i < WINDOW; i++)
        for (int j = i + 1; j < p->nparts && j < WINDOW; j++) {
            const part *x = &p->part[i], *y = &p->part[j];
            int both[x->nkept + y->nkept + 1], n = unite(p, x->nkept, x->kept, y->nkept, y->kept, both);
            double flops = elements(p, n, both), kept = flops;
            for (int k = 0; k < n; k++) {
                bool twice = false;
                for (int a = 0; a < x->nkept && k < x->nkept; a++)
                    for (int c = 0; c < y->nkept; c++) twice |= both[k] == x->kept[a] && both[k] == y->kept[c];
                if (ends(p, both[k], twice ? 2 : 1)) kept /= p->label[both[k]].extent;
            }
            double saved = elements(p, x->nkept, x->kept) + elements(p, y->nkept, y->kept) - kept;
            if (flops > least || (flops == least && saved <= most_saved)) continue;
            *bi = i, *bj = j, least = flops, most_saved = saved;
        }
}

/* The product of the part's factors. */
static const tra_ast *product_of(product *p, const part *x) {
    const tra_ast *all = p->factor[x->first];
    for (int f = p->next[x->first]; f >= 0; f = p->next[f]) {
        tra_ast *y = tra_new(p->b->arena, tra_ast);
        const tra_ast *right = p->factor[f];
        y->kind = TRA_AST_BINARY;
        y->text = "*";
        y->span = p->st->value->span;
        y->nkids = 2;
        y->kids = tra_news(p->b->arena, tra_ast *, 2);
        y->kids[0] = (tra_ast *)all, y->kids[1] = (tra_ast *)right;
        y->depth = 1 + (all->depth > right->depth ? all->depth : right->depth);
        all = y;
    }
    return all;
}

/* Makes the part a factor, aggregated over the labels that nothing else has. False: it has none. */
static bool aggregate(product *p, part *x) {
    int gone = x->nown;
    tra_ast *y = tra_new(p->b->arena, tra_ast);
    y->kids = tra_news(p->b->arena, tra_ast *, x->nown + 1);
    for (int i = 0; i < x->nown; i++) {
        bool kept = !p->label[x->own[i]].at;
        for (int j = 0; j < x->nkept; j++) kept |= x->kept[j] == x->own[i];
        if (!kept) y->kids[y->nkids++] = (tra_ast *)p->label[x->own[i]].at;
        gone -= kept;
    }
    if (gone == 0) return false;
    const tra_ast *body = product_of(p, x);
    y->kind = TRA_AST_AGGREGATE;
    y->text = p->st->agg;
    y->span = y->name_span = p->st->value->span;
    y->depth = body->depth + 1;
    y->kids[y->nkids++] = (tra_ast *)body;
    p->factor[x->first] = y;
    p->next[x->first] = -1;
    x->n = 1, x->last = x->first;
    x->own = x->kept, x->nown = x->nkept;
    return true;
}

/* Merges parts i and j; each becomes an aggregation first if both together have too many labels. */
static void merge(product *p, int i, int j) {
    part *x = &p->part[i], *y = &p->part[j];
    int *own = tra_news(p->b->arena, int, x->nown + y->nown + 1), n = unite(p, x->nown, x->own, y->nown, y->own, own);
    part *larger = x->nown >= y->nown ? x : y;
    if (n > TRA_MAXLABELS && (aggregate(p, larger) || aggregate(p, larger == x ? y : x))) {
        merge(p, i, j);
        return;
    }
    for (int k = 0; k < x->nkept; k++)
        for (int m = 0; m < y->nkept; m++) p->label[x->kept[k]].uses -= x->kept[k] == y->kept[m];
    int *kept = tra_news(p->b->arena, int, x->nkept + y->nkept + 1);
    int all = unite(p, x->nkept, x->kept, y->nkept, y->kept, kept), nkept = 0;
    for (int k = 0; k < all; k++)
        if (!ends(p, kept[k], 1)) kept[nkept++] = kept[k];
    p->next[x->last] = y->first;
    *x = (part){x->n + y->n, x->first, y->last, n, own, nkept, kept};
    memmove(y, y + 1, (size_t)(p->nparts - j - 1) * sizeof *y);
    p->nparts--;
}

const tra_ast *tra_split_factors(tra_build *b, const tra_stmt *st) {
    product p = {.b = b, .st = st, .names = {.arena = b->arena}};
    if (!st->agg || strcmp(st->agg, "sum") != 0 || !is_product(st->value)) return st->value;
    add_factors(&p, st->value);
    if (p.nlabels <= TRA_MAXLABELS) return st->value;
    for (int d = 0; d < st->nlabels; d++) p.label[number_of(&p, st->labels[d]->text)].uses++;
    while (p.nparts > 1) {
        int i, j;
        choose(&p, &i, &j);
        merge(&p, i, j);
    }
    return product_of(&p, &p.part[0]);
}
