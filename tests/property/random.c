/* random.c - numbers, and random expressions as text of the language and as JSON for the judge. */
#include "property.h"

#include <math.h>
#include <string.h>

rng rng_seed(uint64_t seed, uint64_t stream) {
    rng g = {seed * 0x9e3779b97f4a7c15u ^ (stream + 1) * 0xd1342543de82ef95u};
    rng_next(&g);
    return g;
}

uint64_t rng_next(rng *g) { /* splitmix64 */
    uint64_t z = g->s += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int64_t rng_below(rng *g, int64_t n) { return (int64_t)(rng_next(g) % (uint64_t)n); }

double rng_normal(rng *g) {
    double u = ((double)(rng_next(g) >> 11) + 1) * 0x1p-53, v = (double)(rng_next(g) >> 11) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* ---- expression trees --------------------------------------------------------------------------------------- */

typedef struct tree tree;
struct tree {
    const char *op; /* NULL: a variable or a number */
    int var;        /* -1: a number */
    double value;
    tree *kid[3];
};

static tree *leaf(tra_arena *a, int var, double value) {
    tree *t = tra_new(a, tree);
    t->var = var;
    t->value = value;
    return t;
}

static tree *node(tra_arena *a, const char *op, tree *x, tree *y) {
    tree *t = tra_new(a, tree);
    t->op = op;
    t->var = -1;
    t->kid[0] = x;
    t->kid[1] = y;
    return t;
}

/* The precedence of an operator; 9: it is not infix. */
static int binding(const tree *t) {
    static const struct {
        const char *op;
        int level;
    } table[] = {{"||", 1}, {"&&", 2}, {"<", 3}, {"<=", 3}, {">", 3}, {">=", 3}, {"==", 3},
                 {"!=", 3}, {"+", 4},  {"-", 4}, {"*", 5},  {"/", 5}, {"%", 5},  {"^", 7}};
    if (!t->op) return t->var < 0 && t->value < 0 ? 6 : 9;
    if (!t->kid[1]) return !strcmp(t->op, "neg") || !strcmp(t->op, "!") ? 6 : 9;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].op, t->op)) return table[i].level;
    return 9;
}

static void write_text(rng *g, const tree *t, const char *const *names, tra_str *out);

/* An operand of an operator of precedence `level`, in parentheses where the language needs them, and sometimes
 * elsewhere. */
static void write_kid(rng *g, const tree *t, int level, bool tighter, const char *const *names, tra_str *out) {
    int b = binding(t);
    bool need = b < level || (b == level && tighter) || rng_chance(g, 10);
    if (need) tra_str_add(out, "(");
    write_text(g, t, names, out);
    if (need) tra_str_add(out, ")");
}

static void write_text(rng *g, const tree *t, const char *const *names, tra_str *out) {
    int b = binding(t);
    if (!t->op) {
        if (t->var >= 0)
            tra_str_add(out, names[t->var]);
        else
            tra_str_printf(out, "%.17g", t->value);
    } else if (b == 6) {
        tra_str_add(out, !strcmp(t->op, "neg") ? "-" : "!");
        write_kid(g, t->kid[0], 6, true, names, out);
    } else if (b == 9) {
        tra_str_printf(out, "%s(", t->op);
        write_text(g, t->kid[0], names, out);
        for (int i = 1; i < 3 && t->kid[i]; i++) {
            tra_str_add(out, ", ");
            write_text(g, t->kid[i], names, out);
        }
        tra_str_add(out, ")");
    } else { /* ^ groups to the right, comparisons do not chain, the others group to the left */
        const char *space = rng_chance(g, 60) ? " " : "";
        write_kid(g, t->kid[0], b, b == 3 || b == 7, names, out);
        tra_str_printf(out, "%s%s%s", space, t->op, space);
        write_kid(g, t->kid[1], b, b != 7, names, out);
    }
}

/* vars: the JSON of each variable; NULL: arguments by number. */
static void write_json(const tree *t, const char *const *vars, tra_str *out) {
    if (!t->op && t->var >= 0 && vars)
        tra_str_add(out, vars[t->var]);
    else if (!t->op && t->var >= 0)
        tra_str_printf(out, "[\"x\",%d]", t->var);
    else if (!t->op)
        tra_str_printf(out, "%.17g", t->value);
    else {
        tra_str_printf(out, "[\"%s\",", strcmp(t->op, "pow") ? t->op : "^");
        write_json(t->kid[0], vars, out);
        for (int i = 1; i < 3 && t->kid[i]; i++) {
            tra_str_add(out, ",");
            write_json(t->kid[i], vars, out);
        }
        tra_str_add(out, "]");
    }
}

/* ---- random trees ------------------------------------------------------------------------------------------- */

static tree *key_tree(rng *g, tra_arena *a, int nvars, int depth) {
    static const char *const ops[] = {"+", "+", "*", "-", "min", "max", "abs", "neg"};
    if (depth <= 0 || rng_chance(g, 25))
        return nvars && rng_chance(g, 75) ? leaf(a, (int)rng_below(g, nvars), 0) : leaf(a, -1, (double)rng_below(g, 4));
    if (rng_chance(g, 25)) /* division by a number that is not zero */
        return node(a, rng_chance(g, 50) ? "/" : "%", key_tree(g, a, nvars, depth - 1),
                    leaf(a, -1, (double)rng_range(g, 1, 4)));
    const char *op = ops[rng_below(g, 8)];
    bool one = !strcmp(op, "abs") || !strcmp(op, "neg");
    return node(a, op, key_tree(g, a, nvars, depth - 1), one ? NULL : key_tree(g, a, nvars, depth - 1));
}

static tree *predicate_tree(rng *g, tra_arena *a, int nvars, int depth) {
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
    if (depth > 0 && rng_chance(g, 40))
        return node(a, rng_chance(g, 50) ? "&&" : "||", predicate_tree(g, a, nvars, depth - 1),
                    predicate_tree(g, a, nvars, depth - 1));
    if (depth > 0 && rng_chance(g, 15)) return node(a, "!", predicate_tree(g, a, nvars, depth - 1), NULL);
    return node(a, compare[rng_below(g, 6)], key_tree(g, a, nvars, 1), key_tree(g, a, nvars, 1));
}

void random_key_expr(rng *g, tra_arena *a, int nvars, const char *const *names, int depth, bool predicate,
                     tra_str *text, tra_str *json) {
    tree *t = predicate ? predicate_tree(g, a, nvars, depth) : key_tree(g, a, nvars, depth);
    write_text(g, t, names, text);
    write_json(t, NULL, json);
}

/* Operators that give integers of integers, and others. */
static const char *const exact[] = {"+",  "-",    "*",     "max",  "min",   "neg",   "abs",   "relu",  "<",
                                    "<=", ">",    ">=",    "==",   "!=",    "if",    "if",    "&&",    "||",
                                    "!",  "sign", "floor", "ceil", "round", "trunc", "isnan", "isinf", "mod"};
static const char *const real[] = {"/",   "exp",  "log",  "sqrt", "tanh", "sigmoid", "expm1", "log1p", "sin",  "cos",
                                   "tan", "asin", "acos", "atan", "sinh", "cosh",    "erf",   "atan2", "hypot"};
enum { NEXACT = sizeof exact / sizeof *exact, NREAL = sizeof real / sizeof *real };

static bool is_among(const char *op, const char *const *v) {
    for (; *v; v++)
        if (!strcmp(op, *v)) return true;
    return false;
}

static tree *scalar_tree(rng *g, tra_arena *a, int nargs, int depth, bool integers) {
    static const char *const steep[] = {"exp", "expm1", "sinh", "cosh", NULL};
    static const char *const positive[] = {"log", "sqrt", "log1p", NULL};
    static const char *const unit[] = {"asin", "acos", NULL};
    if (depth <= 0 || rng_chance(g, 20))
        return rng_chance(g, 75)
                   ? leaf(a, (int)rng_below(g, nargs), 0)
                   : leaf(a, -1, integers ? (double)rng_range(g, -2, 3) : (double)rng_range(g, -8, 12) / 8);
    if (rng_chance(g, 10)) {
        static const double power[] = {2, 2, 2, 3, 0, 1, 0.5, -1};
        double e = power[rng_below(g, integers ? 6 : 8)];
        return node(a, "^", scalar_tree(g, a, nargs, depth - 1, integers), leaf(a, -1, e));
    }
    if (!integers && rng_chance(g, 3)) {
        tree *x = node(a, "+", node(a, "abs", scalar_tree(g, a, nargs, depth - 1, false), NULL), leaf(a, -1, 1));
        return node(a, "pow", x, node(a, "tanh", scalar_tree(g, a, nargs, depth - 1, false), NULL));
    }
    const char *op = !integers && rng_chance(g, 35) ? real[rng_below(g, NREAL)] : exact[rng_below(g, NEXACT)];
    bool one = tra_scalar_find(op, 1) >= 0 || !strcmp(op, "neg") || !strcmp(op, "!");
    tree *x = scalar_tree(g, a, nargs, depth - 1, integers);
    /* keep away from poles and overflow most of the time */
    if ((is_among(op, steep) || is_among(op, unit)) && rng_chance(g, 90)) x = node(a, "tanh", x, NULL);
    if (is_among(op, positive) && rng_chance(g, 90)) x = node(a, "+", node(a, "abs", x, NULL), leaf(a, -1, 1));
    tree *t = node(a, op, x, one ? NULL : scalar_tree(g, a, nargs, depth - 1, integers));
    if (!strcmp(op, "if")) t->kid[2] = scalar_tree(g, a, nargs, depth - 1, integers);
    return t;
}

void random_scalar(rng *g, tra_arena *a, int nargs, const char *const *names, const char *const *vars, int depth,
                   bool integers, tra_str *text, tra_str *json) {
    tree *t = scalar_tree(g, a, nargs, depth, integers);
    write_text(g, t, names, text);
    write_json(t, vars, json);
}
