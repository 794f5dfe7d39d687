/* Operators on tables: what lib/table computes of random expressions, against the reference evaluator's definitions. */
#include "table_bench.h"

/* ---- random expressions ------------------------------------------------------------------------------------- */

typedef enum kind { INT, REAL, TRUTH, WORD, DAY, MOMENT, KINDS } kind;

static void expression(kind k, int depth, tra_str *out);

static void pair(kind k, const char *op, int depth, tra_str *out) {
    tra_str_add(out, "(");
    expression(k, depth, out);
    tra_str_printf(out, " %s ", op);
    expression(k, depth, out);
    tra_str_add(out, ")");
}

static void function(const char *name, int n, const kind *k, int depth, tra_str *out) {
    tra_str_printf(out, "%s(", name);
    for (int i = 0; i < n; i++) {
        if (i) tra_str_add(out, ", ");
        expression(k[i], depth, out);
    }
    tra_str_add(out, ")");
}

static void leaf(kind k, tra_str *out) {
    static const char *const leaves[KINDS][6] = {
        {"i", "j", "k", "3", "-7", "k"},
        {"x", "y", "0.5", "x", "-2.25", "1e3"},
        {"f", "true", "f", "false", "f", "f"},
        {"s", "s", "\"ab\"", "s", "\"\"", "s"},
        {"`the day`", "`the day`", "date \"2000-02-29\"", "`the day`", "date \"1969-12-31\"", "`the day`"},
        {"t", "t", "timestamp \"2017-04-15 08:15:00.25\"", "t", "timestamp \"1960-01-01\"", "t"}};
    tra_str_add(out, leaves[k][check_draw(6)]);
}

static void truth(int depth, tra_str *out) {
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
    static const char *const same[] = {"same", "in"};
    kind k = (kind)check_draw(KINDS);
    switch (check_draw(6)) {
    case 0: pair(TRUTH, check_draw(2) ? "&&" : "||", depth, out); return;
    case 1: function("isnull", 1, &k, depth, out); return;
    case 2: function(same[check_draw(2)], 2, (kind[]){k, k}, depth, out); return;
    case 3:
        tra_str_add(out, "!");
        expression(TRUTH, depth, out);
        return;
    case 4: tra_str_add(out, check_draw(2) ? "like(s, \"%b_\")" : "startswith(s, \"a\")"); return;
    default: pair(k == TRUTH ? INT : k, compare[check_draw(6)], depth, out);
    }
}

static void whole(int depth, tra_str *out) {
    static const char *const ops[] = {"+", "-", "*", "div", "%"};
    static const char *const parts[] = {"year", "month", "day", "weekday"};
    kind k = (kind)check_draw(KINDS);
    switch (check_draw(6)) {
    case 0: function(check_draw(2) ? "min" : "max", 2, (kind[]){INT, INT}, depth, out); return;
    case 1: function("abs", 1, (kind[]){INT}, depth, out); return;
    case 2: function("hash", 2, (kind[]){k, INT}, depth, out); return;
    case 3: function(parts[check_draw(4)], 1, (kind[]){check_draw(2) ? DAY : MOMENT}, depth, out); return;
    case 4: function("length", 1, (kind[]){WORD}, depth, out); return;
    default: pair(INT, ops[check_draw(5)], depth, out);
    }
}

static void real(int depth, tra_str *out) {
    static const char *const ops[] = {"+", "-", "*", "/"};
    static const char *const functions[] = {"floor", "ceil", "round", "sqrt", "abs"};
    switch (check_draw(5)) {
    case 0: function(functions[check_draw(5)], 1, (kind[]){REAL}, depth, out); return;
    case 1: function(check_draw(2) ? "min" : "max", 2, (kind[]){REAL, INT}, depth, out); return;
    case 2: function("hypot", 2, (kind[]){REAL, INT}, depth, out); return;
    default: pair(REAL, ops[check_draw(4)], depth, out);
    }
}

static void expression(kind k, int depth, tra_str *out) {
    if (depth-- <= 0 || check_draw(4) == 0) {
        leaf(k, out);
        return;
    }
    if (check_draw(5) == 0) {
        function("if", 3, (kind[]){TRUTH, k, k}, depth, out);
        return;
    }
    if (check_draw(8) == 0) {
        function("ifnull", 2, (kind[]){k, k}, depth, out);
        return;
    }
    switch (k) {
    case INT: whole(depth, out); return;
    case REAL: real(depth, out); return;
    case TRUTH: truth(depth, out); return;
    case WORD:
        if (check_draw(2))
            function(check_draw(2) ? "lower" : "upper", 1, (kind[]){WORD}, depth, out);
        else
            tra_str_printf(out, "substr(s, %d, %d)", (int)check_draw(4), (int)check_draw(3));
        return;
    case DAY:
        tra_str_add(out, "(");
        expression(DAY, depth, out);
        tra_str_printf(out, " + %d)", (int)check_draw(100));
        return;
    case MOMENT: function("timestamp", 1, (kind[]){check_draw(2) ? DAY : MOMENT}, depth, out); return;
    case KINDS: break;
    }
}

TEST(random_expressions) {
    bench b;
    int ran = 0;
    begin(&b);
    for (int i = 0; i < 400; i++) {
        tra_str text = {0};
        tra_str_printf(&text, "input T from \"%s\"\n", b.path);
        if (check_draw(3) == 0) {
            tra_str_add(&text, "R = select(T, ");
            expression(TRUTH, 3, &text);
            tra_str_add(&text, ")\n");
        } else {
            tra_str_add(&text, "R = project(T, ");
            for (int c = 0; c < 4; c++) {
                tra_str_printf(&text, "%sc%d = ", c ? ", " : "", c);
                expression((kind)check_draw(KINDS), 3, &text);
            }
            tra_str_add(&text, ")\n");
        }
        try_program(&b, tra_str_get(&text), &ran);
        tra_str_free(&text);
    }
    CHECK(ran > 300);
    end(&b);
}

TEST(params_macros_and_stars) {
    bench b;
    int ran = 0;
    char text[512];
    begin(&b);
    snprintf(text, sizeof text,
             "input T from \"%s\"\nparam least = -3\nparam half = 0.5\ndef near(a, b) = abs(a - b) < half * 4\n"
             "R = select(T, k > least && near(x, y))\n",
             b.path);
    try_program(&b, text, &ran);
    snprintf(text, sizeof text, "input T from \"%s\"\nR = project(T, z = row(), k = row() + 2, *)\n", b.path);
    try_program(&b, text, &ran);
    /* a NULL without a type takes the other one's: so the product is one of reals, which cannot overflow */
    snprintf(text, sizeof text, "input T from \"%s\"\nR = project(T, z = ifnull(if(f, null, x), j) * j)\n", b.path);
    try_program(&b, text, &ran);
    end(&b);
    CHECK_INT(ran, 3);
}

/* name, or an expression of that kind with a name. */
static void key(kind k, int number, tra_str *out) {
    static const char *const plain[KINDS] = {"i", "x", "f", "s", "`the day`", "t"};
    if (check_draw(3)) {
        tra_str_add(out, plain[k]);
        return;
    }
    tra_str_printf(out, "k%d = ", number);
    expression(k, 1, out);
}

static void add_group(tra_str *out) {
    static const char *const numbers[] = {"sum", "mean", "var", "std", "median"};
    static const char *const any[] = {"count", "min", "max", "first", "last", "distinct"};
    kind first = (kind)check_draw(KINDS);
    int keys = (int)check_draw(3);
    tra_str_add(out, "G = group(R, [");
    if (keys > 0) key(first, 0, out);
    if (keys > 1) tra_str_add(out, ", "), key((kind)((first + 1 + check_draw(KINDS - 1)) % KINDS), 1, out);
    tra_str_add(out, "], n = count()");
    for (int c = 0; c < 3; c++) {
        kind k = (kind)check_draw(KINDS);
        bool states = check_draw(4) != 0;
        if (k <= REAL && check_draw(2))
            tra_str_printf(out, ", g%d = %s(", c, numbers[check_draw(states ? 4 : 5)]);
        else if (k == TRUTH && check_draw(2))
            tra_str_printf(out, ", g%d = %s(", c, check_draw(2) ? "any" : "all");
        else
            tra_str_printf(out, ", g%d = %s(", c, any[check_draw(states ? 5 : 6)]);
        tra_str_add(out, k == INT     ? "i"
                         : k == REAL  ? "y / 2"
                         : k == TRUTH ? "f"
                         : k == WORD  ? "s"
                         : k == DAY   ? "`the day`"
                                      : "t");
        tra_str_add(out, ")");
    }
    tra_str_add(out, ")\n");
}

static void add_join(tra_str *out) {
    static const char *const hows[] = {"", ", how = left", ", how = semi", ", how = anti"};
    static const char *const conditions[] = {"i == i",
                                             "s == s && i == j",
                                             "`the day` == `the day`",
                                             "k == i && k > p_k",
                                             "f == f && s == s && x < p_x",
                                             "y == x",
                                             "j == k"};
    tra_str_printf(out, "S = limit(T, %d, from = %d)\nJ = join(R, S, %s%s%s, prefix = \"p_\")\n", (int)check_draw(60),
                   (int)check_draw(300), conditions[check_draw(7)], hows[check_draw(4)],
                   check_draw(4) ? "" : ", nulls = match");
}

TEST(random_groups_orders_and_joins) {
    bench b;
    int ran = 0;
    begin(&b);
    for (int i = 0; i < 200; i++) {
        tra_str text = {0};
        tra_str_printf(&text, "input T from \"%s\"\nR = select(T, k %% %d < 3)\n", b.path, (int)check_draw(9) + 2);
        switch (check_draw(4)) {
        case 0: add_join(&text); break;
        case 1:
            tra_str_add(&text, "O = order(R, [f, s desc, x, `the day` desc])\nL = limit(O, 50, from = 20)\n");
            break;
        case 2: tra_str_add(&text, "D = distinct(R, [f, s])\nE = distinct(project(T, x, f))\n"); break;
        default: add_group(&text);
        }
        try_program(&b, tra_str_get(&text), &ran);
        tra_str_free(&text);
    }
    CHECK(ran > 300);
    end(&b);
}
