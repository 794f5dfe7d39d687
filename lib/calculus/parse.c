/* parse.c - expressions: recursive descent, by the grammar of tra-storage(5). */
#include "calc_parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool enter(calc_parser *p) {
    if (p->nest++ < TRA_CALC_NEST) return true;
    return calc_fail(p, p->tok.at, p->tok.len, "name parts of it by let", "nested deeper than %d", TRA_CALC_NEST);
}

static int end_of(const tra_calc *x) { return x->at + x->len; }

/* A node over kids from byte `at` to `end`. */
static tra_calc *node(calc_parser *p, tra_calc_kind kind, int at, int end, int n, void *const *kids) {
    if (p->failed) return NULL;
    tra_calc *x = tra_new(p->arena, tra_calc);
    x->kind = kind;
    x->at = at;
    x->len = end - at;
    x->nkids = n;
    x->kids = tra_news(p->arena, tra_calc *, n);
    x->level = x->index = -1;
    for (int i = 0; i < n; i++) {
        x->kids[i] = kids[i];
        if (x->kids[i]->height >= x->height) x->height = x->kids[i]->height + 1;
    }
    if (x->height <= TRA_CALC_HEIGHT) return x;
    calc_fail(p, at, end - at, "name parts of it by let", "an expression of more than %d operators in a row",
              TRA_CALC_HEIGHT);
    return NULL;
}

static tra_calc *node1(calc_parser *p, tra_calc_kind kind, int at, int end, tra_calc *a) {
    return a ? node(p, kind, at, end, 1, (void *[]){a}) : NULL;
}

static tra_calc *node2(calc_parser *p, tra_calc_kind kind, tra_calc *a, tra_calc *b) {
    return a && b ? node(p, kind, a->at, end_of(b), 2, (void *[]){a, b}) : NULL;
}

static tra_calc *condition(calc_parser *p);

/* ---- names and patterns ------------------------------------------------------------------------------------- */

/* A name that is bound, or _. */
static bool binder(calc_parser *p, const char *wanted, calc_list *out) {
    if (p->tok.kind != CALC_T_NAME || calc_is_reserved(p->text + p->tok.at, p->tok.len))
        return calc_unexpected(p, NULL, wanted);
    tra_calc_binder *b = tra_new(p->arena, tra_calc_binder);
    b->at = p->tok.at;
    b->level = -1;
    if (!calc_at_word(p, "_")) b->name = calc_token_text(p);
    calc_next(p);
    calc_list_add(p->arena, out, b);
    return !p->failed;
}

static void set_binders(calc_parser *p, tra_calc *x, const calc_list *l) {
    x->nbinders = l->n;
    x->binders = tra_news(p->arena, tra_calc_binder, l->n);
    for (int i = 0; i < l->n; i++) x->binders[i] = *(tra_calc_binder *)l->v[i];
}

/* x, _ or (x, ...): how many names, 0 once failed. */
static int pattern(calc_parser *p, calc_list *binders) {
    int before = binders->n;
    if (!calc_accept(p, '(')) return binder(p, "a name for the key, or (i, j, ..)", binders) ? 1 : 0;
    do {
        if (!binder(p, "a name for a key", binders)) return 0;
    } while (calc_accept(p, ','));
    int n = binders->n - before, at = ((tra_calc_binder *)binders->v[before])->at;
    if (n > TRA_CALC_MAXRANK) {
        calc_fail(p, at, 1, NULL, "a pattern has at most %d names", TRA_CALC_MAXRANK);
        return 0;
    }
    return calc_expect(p, ')', "',' or ')'") ? n : 0;
}

/* ---- what begins with a word -------------------------------------------------------------------------------- */

static tra_calc *body(calc_parser *p) {
    tra_calc *x = enter(p) ? calc_expression(p) : NULL;
    p->nest--;
    return x;
}

/* The expression after what it binds: its body becomes the last of the kids. */
static tra_calc *binding(calc_parser *p, tra_calc_kind kind, int at, calc_list *kids, const calc_list *binders) {
    tra_calc *b = body(p);
    if (!b) return NULL;
    calc_list_add(p->arena, kids, b);
    tra_calc *x = node(p, kind, at, end_of(b), kids->n, kids->v);
    if (x) set_binders(p, x, binders);
    return x;
}

static tra_calc *parse_sum(calc_parser *p, int at) {
    calc_list kids = {0}, binders = {0}, counts = {0};
    if (!calc_expect(p, '(', "'('")) return NULL;
    do {
        if (!calc_expect(p, '<', "<key, value> in e")) return NULL;
        int *n = tra_new(p->arena, int);
        if ((*n = pattern(p, &binders)) == 0) return NULL;
        if (!calc_expect(p, ',', "',' and a name for the value")) return NULL;
        if (!binder(p, "a name for the value, or _", &binders)) return NULL;
        if (!calc_expect(p, '>', "'>'")) return NULL;
        if (!calc_accept_word(p, "in")) {
            calc_unexpected(p, "write sum(<i, v> in e) ..", "'in'");
            return NULL;
        }
        tra_calc *e = body(p);
        if (!e) return NULL;
        calc_list_add(p->arena, &kids, e);
        calc_list_add(p->arena, &counts, n);
    } while (calc_accept(p, ','));
    if (!calc_expect(p, ')', "',' or ')'")) return NULL;
    tra_calc *x = binding(p, TRA_CALC_SUM, at, &kids, &binders);
    if (!x) return NULL;
    int *n = tra_news(p->arena, int, counts.n);
    for (int i = 0; i < counts.n; i++) n[i] = *(int *)counts.v[i];
    x->nnames = n;
    return x;
}

static tra_calc *parse_merge(calc_parser *p, int at) {
    calc_list kids = {0}, binders = {0};
    const char *form = "write merge(<p, q, v> in <a, b>) e";
    if (!calc_expect(p, '(', "'('") || !calc_expect(p, '<', "'<'")) return NULL;
    for (int i = 0; i < 3; i++) {
        if (i && !calc_expect(p, ',', "','")) return NULL;
        if (!binder(p, "a name or _", &binders)) return NULL;
    }
    if (!calc_expect(p, '>', "'>'")) return NULL;
    if (!calc_accept_word(p, "in")) {
        calc_unexpected(p, form, "'in'");
        return NULL;
    }
    if (!calc_expect(p, '<', "'<'")) return NULL;
    for (int i = 0; i < 2; i++) {
        if (i && !calc_expect(p, ',', "','")) return NULL;
        tra_calc *e = body(p);
        if (!e) return NULL;
        calc_list_add(p->arena, &kids, e);
    }
    if (!calc_expect(p, '>', "'>'") || !calc_expect(p, ')', "')'")) return NULL;
    return binding(p, TRA_CALC_MERGE, at, &kids, &binders);
}

/* let x = a, y = b in e. */
static tra_calc *parse_let(calc_parser *p, int at) {
    calc_list kids = {0}, binders = {0};
    do {
        if (!binder(p, "a name", &binders) || !calc_expect(p, '=', "'='")) return NULL;
        tra_calc *e = body(p);
        if (!e) return NULL;
        calc_list_add(p->arena, &kids, e);
    } while (calc_accept(p, ','));
    if (!calc_accept_word(p, "in")) {
        calc_unexpected(p, "write let x = e in ..", "',' or 'in'");
        return NULL;
    }
    return binding(p, TRA_CALC_LET, at, &kids, &binders);
}

static tra_calc *parse_if(calc_parser *p, int at) {
    if (!calc_expect(p, '(', "'(' and a condition")) return NULL;
    tra_calc *c = enter(p) ? condition(p) : NULL;
    p->nest--;
    if (!c || !calc_expect(p, ')', "')'")) return NULL;
    calc_accept_word(p, "then");
    tra_calc *b = body(p);
    return b ? node(p, TRA_CALC_IF, at, end_of(b), 2, (void *[]){c, b}) : NULL;
}

/* ---- what stands in brackets ---------------------------------------------------------------------------------- */

/* Is the '(' at the token the beginning of (e, ...) -> or () ->, and not of an expression? */
static bool is_tuple(const calc_parser *p) {
    calc_parser q = *p;
    tra_calc_error ignored;
    int depth = 0;
    bool comma = false, empty = true;
    q.err = &ignored;
    q.lines = false;
    for (; !q.failed && q.tok.kind != CALC_T_EOF; calc_next(&q)) {
        int k = q.tok.kind;
        if (k == '(' || k == '[' || k == '{') depth++;
        if ((k == ')' || k == ']' || k == '}') && --depth == 0) break;
        comma |= k == ',' && depth == 1;
        empty &= depth == 1 && k == '(';
    }
    calc_next(&q);
    return !q.failed && q.tok.kind == CALC_T_ARROW && (comma || empty);
}

static bool parse_key(calc_parser *p, calc_list *keys) {
    if (p->tok.kind != '(' || !is_tuple(p)) {
        tra_calc *e = body(p);
        if (e) calc_list_add(p->arena, keys, e);
        return e != NULL;
    }
    calc_next(p);
    if (calc_accept(p, ')')) return true;
    do {
        tra_calc *e = body(p);
        if (!e) return false;
        calc_list_add(p->arena, keys, e);
    } while (calc_accept(p, ','));
    if (keys->n > TRA_CALC_MAXRANK)
        return calc_fail(p, p->tok.at, 1, NULL, "a key has at most %d parts", TRA_CALC_MAXRANK);
    return calc_expect(p, ')', "',' or ')'");
}

static bool parse_note(calc_parser *p, unsigned *notes) {
    static const struct {
        const char *text;
        unsigned bit;
    } all[] = {{"unique", TRA_CALC_UNIQUE}, {"dense", TRA_CALC_DENSE}, {"hash", TRA_CALC_HASH}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (calc_accept_word(p, all[i].text)) {
            *notes |= all[i].bit;
            return true;
        }
    return calc_unexpected(p, "annotations are @unique, @dense and @hash", "an annotation");
}

/* {key -> e, ...}: entries are added up; annotations are those of all of them. */
static tra_calc *parse_dict(calc_parser *p) {
    int at = p->tok.at;
    unsigned notes = 0;
    tra_calc *all = NULL;
    calc_next(p);
    while (calc_accept(p, '@'))
        if (!parse_note(p, &notes)) return NULL;
    do {
        calc_list kids = {0};
        int begin = all ? p->tok.at : at;
        if (!parse_key(p, &kids) || !calc_expect(p, CALC_T_ARROW, "'->' and a value")) return NULL;
        tra_calc *v = body(p);
        if (!v) return NULL;
        calc_list_add(p->arena, &kids, v);
        tra_calc *x = node(p, TRA_CALC_DICT, begin, end_of(v), kids.n, kids.v);
        if (!x) return NULL;
        x->notes = notes;
        all = all ? node2(p, TRA_CALC_ADD, all, x) : x;
    } while (all && calc_accept(p, ','));
    if (!all || p->failed) return NULL;
    int end = p->tok.at + 1;
    all->at = at;
    all->len = end - at;
    return calc_expect(p, '}', "',' or '}'") ? all : NULL;
}

static tra_calc *parse_number(calc_parser *p) {
    tra_calc *x = node(p, TRA_CALC_NUMBER, p->tok.at, p->tok.at + p->tok.len, 0, NULL);
    const char *text = calc_token_text(p);
    if (!x) return NULL;
    x->is_real = strpbrk(text, ".eE") != NULL;
    if (x->is_real)
        x->real = strtod(text, NULL);
    else if (!tra_parse_int(text, &x->whole)) {
        calc_fail(p, x->at, x->len, "a number with a point is real", "this number is larger than 64 bits hold");
        return NULL;
    }
    if (!isfinite(x->real)) {
        calc_fail(p, x->at, x->len, NULL, "this number is larger than a double holds");
        return NULL;
    }
    calc_next(p);
    return x;
}

static tra_calc *parse_name(calc_parser *p) {
    calc_token t = p->tok;
    if (calc_is_reserved(p->text + t.at, t.len) && (calc_at_word(p, "in") || calc_at_word(p, "then"))) {
        calc_unexpected(p, NULL, "an expression");
        return NULL;
    }
    const char *name = calc_token_text(p);
    calc_next(p);
    if (strcmp(name, "sum") == 0) return parse_sum(p, t.at);
    if (strcmp(name, "merge") == 0) return parse_merge(p, t.at);
    if (strcmp(name, "let") == 0) return parse_let(p, t.at);
    if (strcmp(name, "if") == 0) return parse_if(p, t.at);
    if (strcmp(name, "_") == 0) {
        calc_fail(p, t.at, t.len, "give it a name where it is bound", "_ binds nothing and has no value");
        return NULL;
    }
    tra_calc *x = node(p, TRA_CALC_NAME, t.at, t.at + t.len, 0, NULL);
    if (x) x->name = name;
    return x;
}

static tra_calc *primary(calc_parser *p) {
    tra_calc *x;
    switch (p->tok.kind) {
    case CALC_T_NUMBER: return parse_number(p);
    case CALC_T_NAME: return parse_name(p);
    case '{': return parse_dict(p);
    case '(':
        calc_next(p);
        x = body(p);
        if (x && p->tok.kind == ',') {
            calc_fail(p, p->tok.at, 1, "a tuple is a key: {(i, j) -> e}", "a tuple has no value");
            return NULL;
        }
        return x && calc_expect(p, ')', "')'") ? x : NULL;
    default: calc_unexpected(p, NULL, "an expression"); return NULL;
    }
}

/* e(...), of which e(lo:hi) is a slice. */
static tra_calc *postfix(calc_parser *p) {
    tra_calc *x = primary(p);
    while (x && p->tok.kind == '(' && !calc_line_ends(p)) {
        calc_list kids = {0};
        calc_list_add(p->arena, &kids, x);
        calc_next(p);
        do {
            tra_calc *e = body(p);
            if (!e) return NULL;
            calc_list_add(p->arena, &kids, e);
        } while (calc_accept(p, ','));
        if (p->failed) return NULL;
        if (kids.n > TRA_CALC_MAXRANK + 1) {
            calc_fail(p, p->tok.at, 1, NULL, "at most %d keys or arguments", TRA_CALC_MAXRANK);
            return NULL;
        }
        int end = p->tok.at + 1;
        tra_calc *only = kids.n == 2 ? kids.v[1] : NULL;
        if (!calc_expect(p, ')', "',' or ')'")) return NULL;
        if (only && only->kind == TRA_CALC_RANGE) {
            void *three[] = {x, only->kids[0], only->kids[1]};
            x = node(p, TRA_CALC_SLICE, x->at, end, 3, three);
        } else {
            x = node(p, TRA_CALC_APPLY, x->at, end, kids.n, kids.v);
        }
    }
    return x;
}

static tra_calc *unary(calc_parser *p) {
    if (p->tok.kind != '-') return postfix(p);
    int at = p->tok.at;
    calc_next(p);
    if (!enter(p)) return NULL;
    tra_calc *x = unary(p);
    p->nest--;
    return x ? node1(p, TRA_CALC_NEG, at, end_of(x), x) : NULL;
}

static tra_calc *product(calc_parser *p) {
    tra_calc *x = unary(p);
    while (x && !calc_line_ends(p) && (p->tok.kind == '*' || p->tok.kind == '/' || p->tok.kind == '%')) {
        tra_calc_kind kind = p->tok.kind == '*' ? TRA_CALC_MUL : p->tok.kind == '/' ? TRA_CALC_DIV : TRA_CALC_MOD;
        calc_next(p);
        x = node2(p, kind, x, unary(p));
    }
    return x;
}

static tra_calc *addition(calc_parser *p) {
    tra_calc *x = product(p);
    while (x && !calc_line_ends(p) && (p->tok.kind == '+' || p->tok.kind == '-')) {
        tra_calc_kind kind = p->tok.kind == '+' ? TRA_CALC_ADD : TRA_CALC_SUB;
        calc_next(p);
        x = node2(p, kind, x, product(p));
    }
    return x;
}

/* ':' binds loosest, and does not chain. */
tra_calc *calc_expression(calc_parser *p) {
    tra_calc *x = addition(p);
    if (!x || calc_line_ends(p) || p->tok.kind != ':') return x;
    calc_next(p);
    return node2(p, TRA_CALC_RANGE, x, addition(p));
}

/* ---- conditions ----------------------------------------------------------------------------------------------- */

static bool comparison(int kind, tra_calc_kind *out) {
    switch (kind) {
    case '<': *out = TRA_CALC_LT; return true;
    case '>': *out = TRA_CALC_GT; return true;
    case CALC_T_LE: *out = TRA_CALC_LE; return true;
    case CALC_T_GE: *out = TRA_CALC_GE; return true;
    case CALC_T_EQ: *out = TRA_CALC_EQ; return true;
    case CALC_T_NE: *out = TRA_CALC_NE; return true;
    default: return false;
    }
}

/* Reads over the brackets at the token, of which the last is the token then. */
static void skip_brackets(calc_parser *p) {
    int depth = 0;
    for (; !p->failed && p->tok.kind != CALC_T_EOF; calc_next(p)) {
        int k = p->tok.kind;
        if (k == '(' || k == '[' || k == '{') depth++;
        if ((k == ')' || k == ']' || k == '}') && --depth <= 0) return;
    }
}

/* Does the '(' at the token hold a condition? Only there are comparisons, && || and !; the patterns of sum and merge
 * and the conditions of an inner if are theirs. */
static bool holds_condition(const calc_parser *p) {
    calc_parser q = *p;
    tra_calc_error ignored;
    tra_calc_kind c;
    int depth = 0;
    q.err = &ignored;
    q.lines = false;
    for (; !q.failed && q.tok.kind != CALC_T_EOF; calc_next(&q)) {
        int k = q.tok.kind;
        if (k == '(' || k == '[' || k == '{') depth++;
        if ((k == ')' || k == ']' || k == '}') && --depth == 0) return false;
        if (k == CALC_T_AND || k == CALC_T_OR || k == '!' || comparison(k, &c)) return true;
        if (calc_at_word(&q, "sum") || calc_at_word(&q, "merge") || calc_at_word(&q, "if")) {
            calc_next(&q);
            skip_brackets(&q);
        }
    }
    return false;
}

static tra_calc *parse_comparison(calc_parser *p) {
    tra_calc_kind kind;
    int at = p->tok.at;
    bool not = p->tok.kind == '!';
    if (not ) {
        calc_next(p);
        if (p->tok.kind != '(') {
            calc_unexpected(p, "write !(a < b)", "'('");
            return NULL;
        }
    }
    if (not || (p->tok.kind == '(' && holds_condition(p))) {
        calc_next(p);
        tra_calc *x = enter(p) ? condition(p) : NULL;
        p->nest--;
        if (!x || !calc_expect(p, ')', "')'")) return NULL;
        return not ? node1(p, TRA_CALC_NOT, at, end_of(x) + 1, x) : x;
    }
    tra_calc *x = addition(p);
    if (!x) return NULL;
    if (!comparison(p->tok.kind, &kind)) {
        calc_unexpected(p, p->tok.kind == '=' ? "write == to compare" : "write e != 0", "a comparison");
        return NULL;
    }
    calc_next(p);
    x = node2(p, kind, x, addition(p));
    if (x && comparison(p->tok.kind, &kind)) {
        calc_fail(p, p->tok.at, p->tok.len, "write a < b && b < c", "comparisons do not chain");
        return NULL;
    }
    return x;
}

static tra_calc *conjunction(calc_parser *p) {
    tra_calc *x = parse_comparison(p);
    while (x && calc_accept(p, CALC_T_AND)) x = node2(p, TRA_CALC_AND, x, parse_comparison(p));
    return x;
}

static tra_calc *condition(calc_parser *p) {
    tra_calc *x = conjunction(p);
    while (x && calc_accept(p, CALC_T_OR)) x = node2(p, TRA_CALC_OR, x, conjunction(p));
    return x;
}

const tra_calc *tra_calc_parse(const char *text, int n, tra_arena *a, tra_calc_error *err) {
    calc_parser p;
    calc_start(&p, text, n, 0, a, err);
    tra_calc *x = p.failed ? NULL : calc_expression(&p);
    if (x && p.tok.kind != CALC_T_EOF) calc_unexpected(&p, "write * between factors", "the end of the expression");
    return p.failed ? NULL : x;
}
