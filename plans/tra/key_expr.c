/* key_expr.c - integers, and functions of keys, inside arguments. */
#include "build.h"

#include <math.h>
#include <string.h>

typedef struct key_scope {
    int n;
    const char *const *names; /* of the components of the key */
    const char *what;         /* what the expression is, for messages: "a key expression", "a tile size" */
    tra_turns *turns;         /* turn counters may stand in it, as components from n on; NULL: none may */
    bool first;               /* they stand for 0 */
} key_scope;

static const tra_keyexpr *key_expr(tra_build *b, const tra_ast *x, const key_scope *sc);

/* The number of the counter among those of the expression; -1: there is no room for another one. */
static int counter_of(const key_scope *sc, const tra_symbol *turn) {
    tra_turns *t = sc->turns;
    int k = 0;
    while (k < t->n && t->counter[k] != turn) k++;
    if (k < t->n) return k;
    if (sc->n + k == TRA_MAXDIM) return -1;
    t->counter[t->n++] = turn;
    return k;
}

static const tra_keyexpr *key_name(tra_build *b, const tra_ast *x, const key_scope *sc) {
    for (int i = 0; i < sc->n; i++)
        if (strcmp(sc->names[i], x->text) == 0) return tra_keyexpr_component(b->arena, i);
    if (tra_names_find(&b->symbols, x->text) < 0)
        return tra_diag_error(b->d, x->span, tra_build_near(b, x->text, true, sc->n, sc->names),
                              sc->n ? "'%s' is neither a component of the key nor a param" : "there is no param '%s'",
                              x->text);
    const tra_symbol *turn = b->symbols.value[tra_names_find(&b->symbols, x->text)];
    if (turn->param && turn->node) {
        int k = sc->turns ? counter_of(sc, turn) : -1;
        if (k >= 0) return sc->first ? tra_keyexpr_int(b->arena, 0) : tra_keyexpr_component(b->arena, sc->n + k);
        if (sc->turns)
            tra_diag_error(b->d, x->span,
                           "one loop may count for several: repeat 4 * 5 as t { .. }, with t / 5 and t % 5",
                           "a function of keys has at most %d components and turn counters", TRA_MAXDIM);
        else
            tra_build_refuse_turn(b, x, turn, sc->what);
        return NULL;
    }
    tra_symbol *s = tra_build_param(b, x);
    if (!s) return NULL;
    if (s->exact) return tra_keyexpr_int(b->arena, s->whole);
    if (s->value == floor(s->value) && fabs(s->value) >= 0x1p53)
        return tra_diag_error(b->d, x->span, "write it as a whole number, without a point or e",
                              "%s is %.17g, which may have been rounded, but %s needs integers", x->text, s->value,
                              sc->what);
    if (s->value != floor(s->value))
        return tra_diag_error(b->d, x->span, NULL, "%s is %g, but %s needs integers", x->text, s->value, sc->what);
    return tra_keyexpr_int(b->arena, (int64_t)s->value);
}

static const tra_keyexpr *key_number(tra_build *b, const tra_ast *x, const key_scope *sc) {
    int64_t v;
    const tra_ast *digits = x->kind == TRA_AST_UNARY ? x->kids[0] : x;
    if (tra_build_exact(b, x, &v)) return tra_keyexpr_int(b->arena, v);
    if (!digits->integer)
        tra_diag_error(b->d, x->span, NULL, "%s is no integer, but %s needs integers", digits->text, sc->what);
    else
        tra_diag_error(b->d, x->span, NULL, "%s", tra_number_beyond(x));
    return NULL;
}

static const tra_keyexpr *key_call(tra_build *b, const tra_ast *x, const key_scope *sc) {
    int64_t extent;
    if (strcmp(x->text, "extent") == 0)
        return tra_build_extent(b, x, &extent) ? tra_keyexpr_int(b->arena, extent) : NULL;
    bool is_min = strcmp(x->text, "min") == 0;
    if (strcmp(x->text, "abs") == 0 && x->nkids == 1) {
        const tra_keyexpr *a = key_expr(b, x->kids[0], sc);
        return a ? tra_keyexpr_of(b->arena, TRA_KEY_ABS, a, NULL) : NULL;
    }
    if ((is_min || strcmp(x->text, "max") == 0) && x->nkids >= 2) {
        const tra_keyexpr *a = key_expr(b, x->kids[0], sc);
        for (int i = 1; i < x->nkids; i++) {
            const tra_keyexpr *y = key_expr(b, x->kids[i], sc);
            a = a && y ? tra_keyexpr_of(b->arena, is_min ? TRA_KEY_MIN : TRA_KEY_MAX, a, y) : NULL;
        }
        return a;
    }
    return tra_diag_error(b->d, x->name_span,
                          strcmp(x->text, "rows") == 0 ? "extent(T, 0) is how many rows T has"
                                                       : "its functions are min(a, b), max(a, b) and abs(a)",
                          "%s has no function '%s' of %d argument%s", sc->what, x->text, x->nkids,
                          x->nkids == 1 ? "" : "s");
}

static const tra_keyexpr *key_binary(tra_build *b, const tra_ast *x, const key_scope *sc) {
    static const struct {
        const char *text;
        tra_keyop op;
    } ops[] = {{"+", TRA_KEY_ADD}, {"-", TRA_KEY_SUB},  {"*", TRA_KEY_MUL}, {"/", TRA_KEY_DIV}, {"%", TRA_KEY_MOD},
               {"<", TRA_KEY_LT},  {"<=", TRA_KEY_LE},  {">", TRA_KEY_GT},  {">=", TRA_KEY_GE}, {"==", TRA_KEY_EQ},
               {"!=", TRA_KEY_NE}, {"&&", TRA_KEY_AND}, {"||", TRA_KEY_OR}};
    const tra_keyexpr *l = key_expr(b, x->kids[0], sc), *r = key_expr(b, x->kids[1], sc);
    int i = TRA_FIND_ROW(ops, x->text);
    if (i >= 0) return l && r ? tra_keyexpr_of(b->arena, ops[i].op, l, r) : NULL;
    return tra_diag_error(b->d, x->span, "write i*i for a square", "%s has no operator '%s'", sc->what, x->text);
}

const char *tra_build_equals_advice(const tra_ast *x) {
    return x->kind == TRA_AST_NAMED ? "write == to compare" : NULL;
}

static const tra_keyexpr *key_expr(tra_build *b, const tra_ast *x, const key_scope *sc) {
    switch (x->kind) {
    case TRA_AST_NAME: return key_name(b, x, sc);
    case TRA_AST_NUMBER: return key_number(b, x, sc);
    case TRA_AST_CALL: return key_call(b, x, sc);
    case TRA_AST_BINARY: return key_binary(b, x, sc);
    case TRA_AST_UNARY: {
        if (tra_is_number(x)) return key_number(b, x, sc);
        const tra_keyexpr *a = key_expr(b, x->kids[0], sc);
        return a ? tra_keyexpr_of(b->arena, *x->text == '-' ? TRA_KEY_NEG : TRA_KEY_NOT, a, NULL) : NULL;
    }
    case TRA_AST_PARTS:
    case TRA_AST_STRING:
    case TRA_AST_INDEX:
    case TRA_AST_AGGREGATE:
    case TRA_AST_LITERAL: break;
    }
    return tra_diag_error(b->d, x->span, tra_build_equals_advice(x),
                          "this has no place in %s; an integer expression is expected", sc->what);
}

bool tra_build_int(tra_build *b, const tra_ast *x, const char *what, int64_t least, int64_t *out) {
    key_scope sc = {.what = what};
    tra_dims none = {.n = 0};
    tra_err e = {0};
    const tra_keyexpr *k = key_expr(b, x, &sc);
    if (!k) return false;
    if (tra_keyexpr_eval(k, &none, out, &e) != TRA_OK) return tra_diag_error(b->d, x->span, NULL, "%s", e.msg);
    if (*out >= least) return true;
    return tra_diag_error(b->d, x->span, NULL, "%s is at least %" PRId64 ", not %" PRId64, what, least, *out);
}

bool tra_build_int_of_turn(tra_build *b, const tra_ast *x, const char *what, const tra_keyexpr **out,
                           tra_turns *turns) {
    key_scope sc = {.what = what, .turns = turns};
    return (*out = key_expr(b, x, &sc)) != NULL;
}

bool tra_build_ints(tra_build *b, const tra_ast *x, const char *what, int64_t least, tra_dims *out) {
    if (x->kind != TRA_AST_LIST)
        return tra_diag_error(b->d, x->span, "a list stands in brackets: [0, 2]", "a list is expected here");
    if (x->nkids > TRA_MAXDIM) return tra_diag_error(b->d, x->span, NULL, "a list of more than %d", TRA_MAXDIM);
    bool ok = true;
    out->n = x->nkids;
    for (int i = 0; i < x->nkids; i++) ok = tra_build_int(b, x->kids[i], what, least, &out->v[i]) && ok;
    return ok;
}

/* Sets the expressions of f, of which the body has a tuple, or one. */
static bool key_parts(tra_build *b, const tra_ast *body, const key_scope *sc, tra_keyfn *f) {
    bool ok = true;
    for (int i = 0; i < f->n; i++) {
        f->expr[i] = key_expr(b, body->kind == TRA_AST_TUPLE ? body->kids[i] : body, sc);
        ok = ok && f->expr[i];
    }
    return ok;
}

int tra_turns_loop(const tra_build *b, const tra_turns *t, int64_t *count) {
    int inner = -1, left = t->n;
    for (int k = 0; k < t->n; k++)
        inner = t->counter[k]->node->input.loop > inner ? t->counter[k]->node->input.loop : inner;
    *count = t->n ? 1 : 0;
    for (int l = inner; left > 0; l = b->g->loops[l]->outer) {
        int64_t most = tra_max64(1, b->g->loops[l]->most);
        *count = *count > INT64_MAX / most ? INT64_MAX : *count * most;
        for (int k = 0; k < t->n; k++) left -= t->counter[k]->node->input.loop == l;
    }
    return inner;
}

void tra_turns_key(const tra_build *b, const tra_turns *t, int64_t number, tra_dims *key) {
    int64_t count, n = number;
    for (int l = tra_turns_loop(b, t, &count); l >= 0; l = b->g->loops[l]->outer) {
        int64_t most = tra_max64(1, b->g->loops[l]->most);
        for (int k = 0; k < t->n; k++)
            if (t->counter[k]->node->input.loop == l) key->v[key->n + k] = n % most;
        n /= most;
    }
    key->n += t->n;
}

const char *tra_turns_text(const tra_build *b, const tra_turns *t, int64_t number) {
    tra_dims key = {0};
    const char *text = "";
    tra_turns_key(b, t, number, &key);
    if (t->n == 1) return tra_arena_printf(b->arena, "in turn %" PRId64, key.v[0]);
    for (int k = 0; k < t->n; k++)
        text = tra_arena_printf(b->arena, "%s%s%s = %" PRId64, text, k ? ", " : "where ", t->counter[k]->stmt->name,
                                key.v[k]);
    return text;
}

bool tra_turns_countable(tra_build *b, const tra_ast *x, int64_t count) {
    enum { MOST = 1 << 26 };
    if (count <= MOST) return true;
    return tra_diag_error(b->d, x->span, "say fewer turns",
                          "this is evaluated for all turns, of which there may be %d at most", MOST);
}

/* The function, which reads counters, of a key in the turn of that number. */
static tra_status key_in_turn(const tra_build *b, const tra_keyfn *f, const tra_dims *key, const tra_turns *turns,
                              int64_t number, tra_dims *out, tra_err *e) {
    tra_dims with = *key;
    tra_turns_key(b, turns, number, &with);
    out->n = f->n;
    for (int i = 0; i < f->n; i++) TRA_TRY(tra_keyexpr_eval(f->expr[i], &with, &out->v[i], e));
    return TRA_OK;
}

/* Is the function of these keys the same in all turns of the loops? If not, there is a diagnostic. */
static bool is_of_all_turns(tra_build *b, const tra_ast *x, const tra_keyfn *f, const tra_catalog *keys,
                            const tra_turns *turns) {
    int64_t count;
    tra_err e = {0};
    tra_turns_loop(b, turns, &count);
    if (!tra_turns_countable(b, x, count)) return false;
    for (int64_t k = 0; k < keys->n; k++) {
        tra_dims key, first, other;
        tra_catalog_key(keys, k, &key);
        for (int64_t t = 0; t < count; t++) {
            if (key_in_turn(b, f, &key, turns, t, t ? &other : &first, &e) != TRA_OK)
                return tra_diag_error(b->d, x->span, NULL, "%s: %s", tra_turns_text(b, turns, t), e.msg);
            if (t == 0 || tra_dims_eq(&first, &other)) continue;
            char text[TRA_DIMTEXT];
            return tra_diag_error(
                b->d, x->span, "slice(X, [t*2 : (t+1)*2, :]) takes another part in each turn; EinSum reads the counter",
                "%s this is another function of the keys than %s: of %s", tra_turns_text(b, turns, t),
                tra_turns_text(b, turns, 0), tra_key_text(&key, text));
        }
    }
    return true;
}

const tra_keyfn *tra_build_keyfn(tra_build *b, const tra_ast *x, int arity, bool predicate, const tra_catalog *keys) {
    const char *form = predicate ? "write for instance (i,j) -> i < j; rows of a table are selected by select(T, a > 1)"
                                 : "write for instance (i,j) -> (j,i)";
    if (x->kind != TRA_AST_LAMBDA) return tra_diag_error(b->d, x->span, form, "a function of the key is expected here");
    int n = x->nkids - 1;
    const tra_ast *body = x->kids[n];
    if (n != arity)
        return tra_diag_error(b->d, x->span, NULL, "the function names %d key component%s, but keys here have %d", n,
                              n == 1 ? "" : "s", arity);
    if (predicate && body->kind == TRA_AST_TUPLE)
        return tra_diag_error(b->d, body->span, form, "a predicate is one expression");
    tra_keyfn *f = tra_new(b->arena, tra_keyfn);
    f->arity = arity;
    for (int i = 0; i < n; i++) f->names[i] = x->kids[i]->text;
    bool tuple = body->kind == TRA_AST_TUPLE;
    f->n = tuple ? body->nkids : 1;
    if (f->n > TRA_MAXDIM)
        return tra_diag_error(b->d, body->span, NULL, "a key of more than %d components", TRA_MAXDIM);
    tra_turns turns = {0};
    key_scope sc = {.n = n, .names = f->names, .what = "a key expression"};
    if (keys) sc.turns = &turns;
    if (!key_parts(b, body, &sc, f)) return NULL;
    if (turns.n == 0) return f;
    if (!is_of_all_turns(b, body, f, keys, &turns)) return NULL;
    sc.first = true;
    return key_parts(b, body, &sc, f) ? f : NULL;
}
