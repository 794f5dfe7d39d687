/* draw_einsum.c - random EinSum statements on what a program has so far. */
#include "generate.h"

#include <string.h>

enum { LABELS = 6 };

/* A statement while it is drawn. */
typedef struct statement {
    bool plain; /* a sum of products of operands, of which the first is sparse: one that may be fused */
    int nrefs, from[MAXREFS];
    tra_dims label[MAXREFS];   /* of each dimension */
    const char *text[MAXREFS]; /* X[i,j] */
    int nlabels;
    int64_t extent[LABELS];
    unsigned used;            /* labels of references that the expression has, */
    unsigned hidden[MAXREFS]; /* and those over which aggregations inside it are taken */
} statement;

static const char *const label_names[LABELS] = {"i", "j", "k", "l", "row", "m"};

static bool can_refer(const relation *r) { return tra_type_is_blocked(r->type, NULL) && r->type->cat->bound.n <= 4; }

/* A label for a dimension of this extent: an old one, or a new one; -1 when there are too many. */
static int draw_label(gen *g, statement *s, int64_t extent, unsigned taken) {
    int fit[LABELS], n = 0;
    for (int l = 0; l < s->nlabels; l++)
        if (s->extent[l] == extent && (!(taken >> l & 1) || (!s->plain && rng_chance(&g->g, 20)))) fit[n++] = l;
    if (n && rng_chance(&g->g, s->nlabels < 4 ? 70 : 95)) return fit[rng_below(&g->g, n)];
    if (s->nlabels == LABELS) return n ? fit[0] : -1;
    s->extent[s->nlabels] = extent;
    return s->nlabels++;
}

static bool draw_ref(gen *g, statement *s) {
    int from = (int)rng_below(&g->g, g->n);
    bool sparse = s->plain && s->nrefs == 0;
    for (int tries = 0; tries < (sparse ? 20 : 6) && (!can_refer(&g->v[from]) || (sparse && !g->v[from].type->sparse));
         tries++)
        from = (int)rng_below(&g->g, g->n);
    if (!can_refer(&g->v[from])) return false;
    tra_dims shape, *label = &s->label[s->nrefs];
    unsigned taken = 0;
    tra_str text = {0};
    tra_type_shape(g->v[from].type, &shape);
    label->n = shape.n;
    tra_str_printf(&text, "%s[", g->v[from].name);
    for (int d = 0; d < shape.n; d++) {
        int l = draw_label(g, s, shape.v[d], taken);
        if (l < 0) return tra_str_free(&text), false;
        taken |= 1u << l;
        label->v[d] = l;
        tra_str_printf(&text, "%s%s", d ? "," : "", label_names[l]);
    }
    tra_str_add(&text, "]");
    s->from[s->nrefs] = from;
    s->text[s->nrefs++] = keep_text(g, &text);
    return true;
}

/* ---- expressions -------------------------------------------------------------------------------------------- */

static void append_names(tra_str *text, tra_str *json, int n, const int64_t *label) {
    for (int d = 0; d < n; d++) {
        tra_str_printf(text, "%s%s", d ? "," : "", label_names[label[d]]);
        tra_str_printf(json, "%s\"%s\"", d ? "," : "", label_names[label[d]]);
    }
}

/* Puts an aggregation around `text`, which has the references [i, i + n), over some of their labels. */
static void aggregated(gen *g, statement *s, int i, int n, const char *of, const char *json_of, tra_str *text,
                       tra_str *json) {
    const char *word = PICK(g, "sum", "mean", "max", "min", "prod", "argmax", "argmin");
    int64_t label[LABELS];
    int labels = 0, most = strncmp(word, "arg", 3) ? (int)rng_range(&g->g, 1, 2) : 1;
    for (int tries = 0; tries < 8 && labels < most; tries++) {
        const tra_dims *of_ref = &s->label[rng_range(&g->g, i, i + n - 1)];
        int64_t l = of_ref->n ? of_ref->v[rng_below(&g->g, of_ref->n)] : -1;
        if (l < 0 || s->extent[l] == 0 || (labels && label[0] == l)) continue;
        label[labels++] = l;
    }
    if (!labels) {
        tra_str_printf(text, "(%s)", of);
        tra_str_add(json, json_of);
        return;
    }
    tra_str_printf(text, "%s[", word);
    tra_str_printf(json, "[\"agg\",\"%s\",[", word);
    append_names(text, json, labels, label);
    tra_str_printf(text, "](%s)", of);
    tra_str_printf(json, "],%s]", json_of);
    for (int r = i; r < i + n; r++)
        for (int k = 0; k < labels; k++) s->hidden[r] |= 1u << label[k];
}

/* Reference i as it is, combined with positions, aggregated, or a function of it. */
static void factor(gen *g, statement *s, int i, tra_str *text, tra_str *json) {
    int64_t rank = s->label[i].n, l = rank ? s->label[i].v[rng_below(&g->g, rank)] : 0,
            m = rank ? s->label[i].v[rng_below(&g->g, rank)] : 0;
    const char *x = s->text[i], *j = tra_arena_printf(g->a, "[\"x\",%d]", i);
    if (s->plain) {
        tra_str_add(text, x), tra_str_add(json, j);
    } else if (rank && rng_chance(&g->g, 8)) {
        aggregated(g, s, i, 1, x, j, text, json);
    } else if (rank && rng_chance(&g->g, 5)) {
        tra_str_printf(text, "(%s - index(%s))", x, label_names[l]);
        tra_str_printf(json, "[\"-\",%s,[\"index\",\"%s\"]]", j, label_names[l]);
    } else if (rank && rng_chance(&g->g, 5)) {
        const char *op = PICK(g, "<=", ">", "==");
        tra_str_printf(text, "if(index(%s) %s index(%s), %s, -1)", label_names[l], op, label_names[m], x);
        tra_str_printf(json, "[\"if\",[\"%s\",[\"index\",\"%s\"],[\"index\",\"%s\"]],%s,-1]", op, label_names[l],
                       label_names[m], j);
    } else {
        const char *f = !rng_chance(&g->g, 25) ? NULL
                        : g->integers          ? PICK(g, "abs", "relu")
                                               : PICK(g, "tanh", "abs", "sigmoid");
        tra_str_printf(text, f ? "%s(%s)" : "%.0s%s", f ? f : "", x);
        tra_str_printf(json, f ? "[\"%s\",%s]" : "%.0s%s", f ? f : "", j);
    }
}

/* Any function of the references [i, i + n), or of what factor() makes of them. */
static void function(gen *g, statement *s, int i, int n, int depth, tra_str *text, tra_str *json) {
    const char *names[MAXREFS], *vars[MAXREFS];
    for (int k = 0; k < n; k++) {
        tra_str t = {0}, j = {0};
        factor(g, s, i + k, &t, &j);
        names[k] = keep_text(g, &t), vars[k] = keep_text(g, &j);
    }
    random_scalar(&g->g, g->a, n, names, vars, depth, g->integers, text, json);
}

/* The product of all references. */
static void product(gen *g, statement *s, tra_str *text, tra_str *json) {
    bool scaled = rng_chance(&g->g, 20);
    if (scaled) tra_str_add(text, "-2 * ");
    for (int i = 1; i < s->nrefs; i++) tra_str_add(json, "[\"*\",");
    for (int i = 0; i < s->nrefs; i++) { /* grouped from the left, as the language does: types depend on that */
        if (i) tra_str_add(text, " * "), tra_str_add(json, ",");
        if (i == 0 && scaled) tra_str_add(json, "[\"*\",-2,");
        factor(g, s, i, text, json);
        if (i == 0 && scaled) tra_str_add(json, "]");
        if (i) tra_str_add(json, "]");
    }
}

/* All references, each once or more, under any operators. */
static void combination(gen *g, statement *s, tra_str *text, tra_str *json) {
    static const struct {
        const char *form, *name;
    } two[] = {{"(%s + %s)", "+"},     {"(%s - %s)", "-"},     {"(%s * %s)", "*"},
               {"max(%s, %s)", "max"}, {"min(%s, %s)", "min"}, {"(%s >= %s)", ">="}};
    tra_str t = {0}, j = {0};
    int first = s->nrefs > 1 ? (int)rng_range(&g->g, 1, 2) : 1;
    if (rng_chance(&g->g, 20)) { /* of a function of one or two, which may have aggregations itself */
        tra_str of = {0}, json_of = {0};
        function(g, s, 0, first, 2, &of, &json_of);
        aggregated(g, s, 0, first, keep_text(g, &of), keep_text(g, &json_of), &t, &j);
    } else {
        factor(g, s, 0, &t, &j);
        first = 1;
    }
    for (int i = first; i < s->nrefs; i++) {
        int64_t k = rng_below(&g->g, 11);
        tra_str ft = {0}, fj = {0}, nt = {0}, nj = {0};
        k = k < 3 ? 0 : k < 5 ? 1 : k < 8 ? 2 : k - 5;
        factor(g, s, i, &ft, &fj);
        tra_str_printf(&nt, two[k].form, tra_str_get(&t), tra_str_get(&ft));
        tra_str_printf(&nj, "[\"%s\",%s,%s]", two[k].name, tra_str_get(&j), tra_str_get(&fj));
        tra_str_free(&t), tra_str_free(&j), tra_str_free(&ft), tra_str_free(&fj);
        t = nt, j = nj;
    }
    if (rng_chance(&g->g, 25)) {
        tra_str_printf(text, "3 * %s - 1", tra_str_get(&t));
        tra_str_printf(json, "[\"-\",[\"*\",3,%s],1]", tra_str_get(&j));
    } else {
        tra_str_add(text, tra_str_get(&t));
        tra_str_add(json, tra_str_get(&j));
    }
    tra_str_free(&t), tra_str_free(&j);
}

/* ---- statements --------------------------------------------------------------------------------------------- */

bool draw_einsum(gen *g, relation *r) {
    if (g->large) return false; /* the reference evaluator goes through all values of all labels */
    statement s = {0};
    tra_str text = {0}, json = {0}, e = {0}, je = {0};
    static const int refs[] = {1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5};
    int wanted = refs[rng_below(&g->g, 12)];
    s.plain = !g->integers && wanted > 1 && rng_chance(&g->g, 40);
    for (int tries = 0; tries < 8 && s.nrefs < wanted; tries++) draw_ref(g, &s);
    if (!s.nrefs) return false;
    int64_t how = rng_below(&g->g, 100);
    bool contraction = s.plain || how < 50;
    if (contraction)
        product(g, &s, &e, &je);
    else if (how < 80)
        combination(g, &s, &e, &je);
    else /* in parentheses: max or min at its beginning would be taken for the aggregation */
        tra_str_add(&e, "("), function(g, &s, 0, s.nrefs, 3, &e, &je), tra_str_add(&e, ")");
    for (int i = 0; i < s.nrefs; i++) {
        char arg[24];
        snprintf(arg, sizeof arg, "[\"x\",%d]", i);
        for (int d = 0; d < s.label[i].n && strstr(tra_str_get(&je), arg); d++)
            s.used |= 1u << s.label[i].v[d] & ~s.hidden[i];
    }
    int64_t left[LABELS] = {0}, n = 0;
    unsigned rest = s.used;
    for (int tries = 0; tries < 40 && rest; tries++) { /* in random order */
        int l = (int)rng_below(&g->g, s.nlabels);
        if (!(rest >> l & 1)) continue;
        rest &= ~(1u << l);
        if (n < 3 && rng_chance(&g->g, how % 2 ? 60 : 95)) left[n++] = l;
    }
    unsigned kept = 0;
    for (int d = 0; d < n; d++) kept |= 1u << left[d];
    const char *word = kept == s.used ? ""
                       : s.plain      ? "sum "
                       : contraction  ? PICK(g, "sum ", "sum ", "sum ", "max ", "mean ")
                                      : PICK(g, "sum ", "max ", "min ", "prod ", "sum ", "mean ");
    unsigned gone = s.used & ~kept;
    if (gone && !(gone & (gone - 1)) && !contraction && rng_chance(&g->g, 20)) word = PICK(g, "argmin ", "argmax ");
    tra_str_add(&text, "[");
    tra_str_add(&json, ",\"left\":[");
    append_names(&text, &json, (int)n, left);
    bool covers = strcmp(word, "sum ") == 0 || strcmp(word, "prod ") == 0; /* all of its terms, which may lack labels */
    tra_str_printf(&text, covers ? "] = %s(%s)" : "] = %s%s", word, tra_str_get(&e));
    tra_str_printf(&json, "],\"fold\":\"%.*s\",\"refs\":[", *word ? (int)strlen(word) - 1 : 3, *word ? word : "sum");
    for (int i = 0; i < s.nrefs; i++) {
        tra_str none = {0};
        tra_str_add(&json, i ? ",[" : "[");
        append_names(&none, &json, s.label[i].n, s.label[i].v);
        tra_str_add(&json, "]");
        tra_str_free(&none);
        r->refs[i] = s.from[i];
    }
    r->nrefs = s.nrefs;
    tra_str_printf(&json, "],\"expr\":%s,\"extents\":{", tra_str_get(&je));
    for (int l = 0; l < s.nlabels; l++)
        tra_str_printf(&json, "%s\"%s\":%" PRId64, l ? "," : "", label_names[l], s.extent[l]);
    tra_str_add(&json, "}");
    tra_str_free(&e);
    tra_str_free(&je);
    r->fn = "einsum";
    r->tail = keep_text(g, &text);
    r->json = keep_text(g, &json);
    return true;
}
