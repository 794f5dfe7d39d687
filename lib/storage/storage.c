/* storage.c - storage and tensor statements: parsed, checked, printed. */
#include "storage_int.h"

#include <string.h>

static const struct level_row {
    const char *text;
    tra_calc_positions positions;
} levels[] = {
#define X(name, text, positions) {text, TRA_POSITIONS_##positions},
    TRA_CALC_LEVELS(X)
#undef X
};
enum { NLEVELS = sizeof levels / sizeof levels[0] };

const char *tra_calc_level_text(tra_calc_level l) { return levels[l].text; }
tra_calc_positions tra_calc_level_positions(tra_calc_level l) { return levels[l].positions; }

static const char *const component_words[] = {
#define X(name, text) text,
    TRA_COMPONENTS(X)
#undef X
};
enum { NCOMPONENT_WORDS = sizeof component_words / sizeof component_words[0] };

/* ---- parts ---------------------------------------------------------------------------------------------------- */

static const char *new_name(calc_parser *p, const char *wanted) {
    if (p->tok.kind != CALC_T_NAME || calc_is_reserved(p->text + p->tok.at, p->tok.len) || calc_at_word(p, "_")) {
        calc_unexpected(p, NULL, wanted);
        return NULL;
    }
    const char *name = calc_token_text(p);
    calc_next(p);
    return name;
}

/* Names up to the bracket `close`; the opening one is read. With dots, the last may be "..." (*more, after a comma) or
 * "name..." (*more). */
static bool names(calc_parser *p, int close, const char *wanted, bool after_comma, bool *more, int *n,
                  const char ***out) {
    calc_list l = {0};
    while (p->tok.kind != close) {
        if (l.n && !calc_expect(p, ',', close == ']' ? "',' or ']'" : "',' or ')'")) return false;
        if (after_comma && more && calc_accept(p, CALC_T_DOTS)) {
            *more = true;
            break;
        }
        const char *name = new_name(p, wanted);
        if (!name) return false;
        calc_list_add(p->arena, &l, (void *)name);
        if (!after_comma && more && calc_accept(p, CALC_T_DOTS)) {
            *more = true;
            break;
        }
    }
    if (l.n > TRA_CALC_MAXRANK) return calc_fail(p, p->tok.at, 1, NULL, "at most %d names", TRA_CALC_MAXRANK);
    *n = l.n;
    *out = tra_news(p->arena, const char *, l.n);
    for (int i = 0; i < l.n; i++) (*out)[i] = l.v[i];
    return calc_expect(p, close, close == ']' ? "']'" : "')'");
}

static const tra_calc **trees(calc_parser *p, const calc_list *l) {
    const tra_calc **v = tra_news(p->arena, const tra_calc *, l->n);
    for (int i = 0; i < l->n; i++) v[i] = l->v[i];
    return v;
}

/* Expressions up to the bracket `close`; the opening one is read. */
static bool expressions(calc_parser *p, int close, int *n, const tra_calc ***out) {
    calc_list l = {0};
    while (p->tok.kind != close) {
        if (l.n && !calc_expect(p, ',', close == ']' ? "',' or ']'" : "',' or ')'")) return false;
        tra_calc *x = calc_expression(p);
        if (!x) return false;
        calc_list_add(p->arena, &l, x);
    }
    if (l.n > TRA_CALC_MAXRANK) return calc_fail(p, p->tok.at, 1, NULL, "at most %d of these", TRA_CALC_MAXRANK);
    *n = l.n;
    *out = trees(p, &l);
    return calc_expect(p, close, close == ']' ? "']'" : "')'");
}

/* ---- levels --------------------------------------------------------------------------------------------------- */

static bool parse_level(calc_parser *p, tra_calc_level *out) {
    for (int i = 0; i < NLEVELS; i++)
        if (calc_at_word(p, levels[i].text)) {
            *out = (tra_calc_level)i;
            calc_next(p);
            return !p->failed;
        }
#define X(name, text, ...) " " text
    return calc_unexpected(p, "a level is one of these:" TRA_CALC_LEVELS(X), "a level");
#undef X
}

static bool parse_order(calc_parser *p, tra_storage_decl *d) {
    if (calc_accept_word(p, "reversed")) {
        d->reversed = true;
        return true;
    }
    if (calc_accept(p, '[')) return expressions(p, ']', &d->norder, &d->order);
    calc_token t = p->tok;
    const char *name = new_name(p, "reversed, or dimensions in brackets: order [1, 0]");
    if (!name) return false;
    d->order_param = name;
    if (d->more_params && strcmp(d->params[d->nparams - 1], name) == 0) return true;
    return calc_fail(p, t.at, t.len, "order [1, 0], or a param that ends in ...", "'%.60s' is no list of dimensions",
                     name);
}

/* = levels(dense, sparse) order [1, 0] */
static bool parse_levels(calc_parser *p, tra_storage_decl *d) {
    tra_calc_level v[TRA_CALC_MAXRANK + 1];
    int n = 0, at = p->tok.at;
    if (!calc_accept_word(p, "levels")) return calc_unexpected(p, "write = levels(dense, sparse)", "'levels'");
    if (!calc_expect(p, '(', "'('")) return false;
    do {
        if (n == TRA_CALC_MAXRANK) return calc_fail(p, at, 6, NULL, "at most %d levels", TRA_CALC_MAXRANK);
        int level_at = p->tok.at, len = p->tok.len;
        if (!parse_level(p, &v[n])) return false;
        if (v[n] == TRA_CALC_LEVEL_SINGLETON &&
            (n == 0 || (v[n - 1] != TRA_CALC_LEVEL_SPARSE && v[n - 1] != TRA_CALC_LEVEL_SINGLETON)))
            return calc_fail(p, level_at, len, "write sparse, singleton",
                             "a singleton level follows a sparse one: it has one coordinate for each of its");
        n++;
    } while (calc_accept(p, ','));
    int end = p->tok.at + 1;
    if (!calc_expect(p, ')', "',' or ')'")) return false;
    if (n > tra_max64(d->ndims, 1) && !d->more_dims)
        return calc_fail(p, at, end - at, NULL, "%d levels for %d dimension%s", n, d->ndims, d->ndims == 1 ? "" : "s");
    d->nlevels = n;
    d->levels = tra_news(p->arena, tra_calc_level, n);
    memcpy(d->levels, v, (size_t)n * sizeof *v);
    if (calc_line_ends(p) || !calc_accept_word(p, "order")) return !p->failed;
    return parse_order(p, d);
}

/* ---- components and mapping ------------------------------------------------------------------------------------- */

static bool component_kind(const calc_parser *p, tra_component_kind *kind) {
    for (int i = 0; i < NCOMPONENT_WORDS; i++)
        if (calc_at_word(p, component_words[i])) {
            *kind = (tra_component_kind)i;
            return true;
        }
    return false;
}

/* Does a component's declaration begin here: [int|real] kind name? */
static bool at_component(const calc_parser *p) {
    calc_parser q = *p;
    tra_calc_error ignored;
    tra_component_kind kind;
    q.err = &ignored;
    if (calc_at_word(&q, "int") || calc_at_word(&q, "real")) calc_next(&q);
    if (!component_kind(&q, &kind)) return false;
    calc_next(&q);
    return !q.failed && q.tok.kind == CALC_T_NAME;
}

static bool parse_component(calc_parser *p, calc_list *out) {
    tra_component *c = tra_new(p->arena, tra_component);
    calc_list sizes = {0};
    c->real = !calc_at_word(p, "int");
    if (calc_at_word(p, "int") || calc_at_word(p, "real")) calc_next(p);
    component_kind(p, &c->kind);
    calc_next(p);
    c->at = p->tok.at;
    if (!(c->name = new_name(p, "the name of a component"))) return false;
    while (p->tok.kind == '(' && !p->tok.line && c->kind != TRA_COMPONENT_SCALAR) {
        int n, at = p->tok.at;
        const tra_calc **v;
        calc_next(p);
        if (!expressions(p, ')', &n, &v)) return false;
        for (int i = 0; i < n; i++) calc_list_add(p->arena, &sizes, (void *)v[i]);
        if (n == 0 || (n > 1 && c->kind != TRA_COMPONENT_HASHMAP))
            return calc_fail(p, at, 1, "write array x(n), hashmap x(n1, n2), trie x(n1)(n2)",
                             "one size in each pair of parentheses");
        if (c->kind != TRA_COMPONENT_TRIE) break;
    }
    if (sizes.n == 0 && c->kind != TRA_COMPONENT_SCALAR) return calc_unexpected(p, NULL, "the size in parentheses");
    if (sizes.n > TRA_CALC_MAXRANK) return calc_fail(p, c->at, 1, NULL, "at most %d sizes", TRA_CALC_MAXRANK);
    c->nsizes = sizes.n;
    for (int i = 0; i < sizes.n; i++) c->size[i] = sizes.v[i];
    calc_list_add(p->arena, out, c);
    if (!p->tok.line && p->tok.kind != ';' && p->tok.kind != '}')
        return calc_unexpected(p, "each component on a line of its own", "the end of the line");
    while (calc_accept(p, ';')) {
    }
    return !p->failed;
}

static bool parse_inside(calc_parser *p, tra_storage_decl *d) {
    calc_list l = {0};
    while (!p->failed && at_component(p))
        if (!parse_component(p, &l)) return false;
    if (p->failed) return false;
    d->ncomponents = l.n;
    d->components = tra_news(p->arena, tra_component, l.n);
    for (int i = 0; i < l.n; i++) d->components[i] = *(tra_component *)l.v[i];
    if (p->tok.kind == '}')
        return calc_unexpected(p, "after the components stands the tensor that they hold: sum(..) {(i, j) -> x(..)}",
                               "the mapping");
    if (!(d->mapping = calc_expression(p))) return false;
    while (calc_accept(p, ';')) {
    }
    p->lines = true; /* what follows the bracket is of the next statement */
    return calc_expect(p, '}', "'}'");
}

/* ---- checks ----------------------------------------------------------------------------------------------------- */

/* Dimensions, params, origin and the first n components. */
static int scope_of(const tra_storage_decl *d, bool whole, int n, tra_calc_name *scope) {
    int k = 0;
    for (int i = 0; i < d->ndims; i++) scope[k++] = (tra_calc_name){.name = d->dims[i]};
    for (int i = 0; i < d->nparams; i++) scope[k++] = (tra_calc_name){.name = d->params[i]};
    for (int i = 0; d->origin && i < d->ndims; i++) scope[k++] = (tra_calc_name){.name = d->origin[i]};
    for (int i = 0; i < n; i++) {
        const tra_component *c = &d->components[i];
        bool keyed = c->kind == TRA_COMPONENT_HASHMAP || c->kind == TRA_COMPONENT_TRIE;
        scope[k++] = (tra_calc_name){.name = c->name, .type = {c->real && !whole, keyed, c->nsizes}};
    }
    return k;
}

/* No name twice, but for dimensions. */
static bool check_names(calc_parser *p, const tra_storage_decl *d, const tra_calc_name *scope, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            if (strcmp(scope[i].name, scope[j].name) != 0 || (i < d->ndims && j < d->ndims)) continue;
            int first = n - d->ncomponents;
            int at = i >= first ? d->components[i - first].at : d->name_at;
            return calc_fail(p, at, (int)strlen(scope[i].name), "choose another", "the name '%.60s' stands twice",
                             scope[i].name);
        }
    return true;
}

static bool check_decl(calc_parser *p, const tra_storage_decl *d, bool whole) {
    int n = 3 * TRA_CALC_MAXRANK + d->ncomponents;
    tra_calc_name *scope = tra_news(p->arena, tra_calc_name, n);
    n = scope_of(d, whole, d->ncomponents, scope);
    if (!check_names(p, d, scope, n)) return false;
    for (int i = 0; i < d->norder; i++) {
        int k = scope_of(d, whole, 0, scope) - (d->origin ? d->ndims : 0) - d->ndims;
        if (!tra_calc_check(d->order[i], k, scope + d->ndims, p->arena, p->err)) return !(p->failed = true);
        if (d->order[i]->type.depth || d->order[i]->type.real)
            return calc_fail(p, d->order[i]->at, d->order[i]->len, NULL, "a dimension is an integer");
    }
    for (int i = 0; i < d->ncomponents; i++) {
        const tra_component *c = &d->components[i];
        int k = scope_of(d, whole, i, scope);
        for (int s = 0; s < c->nsizes; s++) {
            if (!tra_calc_check(c->size[s], k, scope, p->arena, p->err)) return !(p->failed = true);
            if (c->size[s]->type.depth || c->size[s]->type.real)
                return calc_fail(p, c->size[s]->at, c->size[s]->len, NULL, "the size of a component is an integer");
        }
    }
    if (!d->mapping) return true;
    n = scope_of(d, whole, d->ncomponents, scope);
    if (!tra_calc_check(d->mapping, n, scope, p->arena, p->err)) return !(p->failed = true);
    if (d->mapping->type.depth != d->ndims)
        return calc_fail(p, d->mapping->at, d->mapping->len, NULL, "the mapping has %d key%s for %d dimension%s",
                         d->mapping->type.depth, d->mapping->type.depth == 1 ? "" : "s", d->ndims,
                         d->ndims == 1 ? "" : "s");
    if (whole && d->mapping->type.real)
        return calc_fail(p, d->mapping->at, d->mapping->len, "floor(x) is an integer",
                         "the tensor has integers, but the mapping gives reals");
    return true;
}

/* ---- the statement ----------------------------------------------------------------------------------------------- */

/* Where the next statement may begin after one that is wrong: after the line on which all brackets are closed. */
static int recover(const char *text, int n, int at) {
    int depth = 0;
    for (; at < n; at++) {
        char c = text[at];
        if (c == '#')
            while (at + 1 < n && text[at + 1] != '\n') at++;
        depth += c == '{' || c == '(' || c == '[';
        depth -= (c == '}' || c == ')' || c == ']') && depth > 0;
        if (c == '\n' && depth == 0) return at;
        if (c == ';' && depth == 0) return at;
    }
    return n;
}

static bool parse_head(calc_parser *p, tra_storage_decl *d) {
    calc_next(p); /* storage */
    d->name_at = p->tok.at;
    if (!(d->name = new_name(p, "the name of a storage"))) return false;
    if (!calc_expect(p, '[', "the dimensions in brackets")) return false;
    if (!names(p, ']', "the name of a dimension", true, &d->more_dims, &d->ndims, &d->dims)) return false;
    if (calc_accept(p, '(') && !names(p, ')', "the name of a param", false, &d->more_params, &d->nparams, &d->params))
        return false;
    if (!calc_at_word(p, "at")) return !p->failed;
    int n, at = p->tok.at;
    calc_next(p);
    if (!calc_expect(p, '[', "names for the block's origin in brackets")) return false;
    if (!names(p, ']', "a name", true, NULL, &n, &d->origin)) return false;
    return n == d->ndims || calc_fail(p, at, 2, NULL, "an origin of %d coordinates for %d dimension%s", n, d->ndims,
                                      d->ndims == 1 ? "" : "s");
}

static bool parse_storage(calc_parser *p, tra_storage_decl *d) {
    if (!parse_head(p, d)) return false;
    p->lines = true;
    if (calc_accept(p, '=')) return parse_levels(p, d);
    if (d->more_dims || d->more_params)
        return calc_fail(p, d->name_at, (int)strlen(d->name), "write = levels(..)",
                         "only a storage by levels has any number of dimensions or params");
    p->lines = false;
    if (p->tok.kind != '{')
        return calc_unexpected(p, "write = levels(dense, sparse), or { components; mapping }", "'=' or '{'");
    calc_next(p);
    return parse_inside(p, d);
}

const tra_storage_decl *calc_storage_parse(const char *text, int n, int at, bool whole, tra_arena *a, int *end,
                                           tra_calc_error *err) {
    calc_parser p;
    tra_storage_decl *d = tra_new(a, tra_storage_decl);
    calc_start(&p, text, n, at, a, err);
    d->at = at;
    bool ok = !p.failed && parse_storage(&p, d);
    *end = ok ? p.before : recover(text, n, at);
    if (!ok) return NULL;
    d->len = *end - at;
    return check_decl(&p, d, whole) ? d : NULL;
}

const tra_storage_decl *tra_storage_parse(const char *text, int n, int at, tra_arena *a, int *end,
                                          tra_calc_error *err) {
    return calc_storage_parse(text, n, at, false, a, end, err);
}

static bool parse_tensor(calc_parser *p, tra_tensor_decl *d) {
    calc_next(p); /* tensor */
    d->name_at = p->tok.at;
    if (!(d->name = new_name(p, "the name of a tensor"))) return false;
    if (calc_accept(p, '[') && !expressions(p, ']', &d->nextents, &d->extents)) return false;
    if (calc_accept_word(p, "by")) {
        if (d->nextents < 0) return calc_fail(p, p->tok.at, 1, "write tensor Z[m, n] by [..]", "blocks need extents");
        if (!calc_expect(p, '[', "block extents in brackets")) return false;
        int at = p->tok.at;
        if (!expressions(p, ']', &d->nblock, &d->block)) return false;
        if (d->nblock != d->nextents)
            return calc_fail(p, at, 1, NULL, "a block of %d dimensions for a tensor of %d", d->nblock, d->nextents);
    }
    if (calc_accept_word(p, "as")) {
        d->storage_at = p->tok.at;
        if (!(d->storage = new_name(p, "the name of a storage"))) return false;
        if (calc_accept(p, '(') && !expressions(p, ')', &d->nargs, &d->args)) return false;
    }
    p->lines = true;
    if (!calc_expect(p, '=', "'='")) return false;
    return (d->value = calc_expression(p)) != NULL;
}

const tra_tensor_decl *tra_tensor_parse(const char *text, int n, int at, tra_arena *a, int *end, tra_calc_error *err) {
    calc_parser p;
    tra_tensor_decl *d = tra_new(a, tra_tensor_decl);
    calc_start(&p, text, n, at, a, err);
    d->at = at;
    d->nextents = d->nblock = -1;
    bool ok = !p.failed && parse_tensor(&p, d);
    *end = ok ? p.before : recover(text, n, at);
    d->len = *end - at;
    return ok ? d : NULL;
}
