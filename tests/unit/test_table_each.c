/* Each operator and function of columns, and each aggregate, of the tables of them: whoever adds one and forgets its
 * loop, its definition or its line in the manual is told here.
 * test_function_help.c misses what the manual does not have. */
#include "table_bench.h"

#include "../../lib/storage/storage.h"
#include "../../lib/table/group.h"

#include <ctype.h>

enum { MANUAL = 1 << 17 };

/* ---- operands -------------------------------------------------------------------------------------------------- */

/* Operands of the class, floats or strings first, then others. */
static const char *const *operands_for(tra_colclass class, int most, int round) {
    static const char *const
        numbers[2][3] = {{"x", "y"}, {"i", "3"}},
        *const kinds[2][2] = {{"x", "j"}, {"s", "\"ab\""}}, *const truths[2][2] = {{"f", "x < 1"}, {"f", "isnull(s)"}},
        *const chosen[2][3] = {{"f", "x", "y"}, {"f", "i", "k"}},
        *const listed[2][3] = {{"k", "i", "j"}, {"s", "\"a\"", "\"ab\""}}, *const calendar[2][1] = {{"t"}, {"t"}},
        *const whole[2][1] = {{"`the day`"}, {"t"}}, *const parts[6] = {"k + 2000", "2", "k", "4", "5", "6"},
        *const hashed[2][2] = {{"s", "k"}, {"x", "i"}};
    switch (class) {
    case TRA_COLCLASS_SUM:
    case TRA_COLCLASS_PRODUCT:
    case TRA_COLCLASS_QUOTIENT:
    case TRA_COLCLASS_SIGN:
    case TRA_COLCLASS_ROUNDING:
    case TRA_COLCLASS_REAL: return numbers[round];
    case TRA_COLCLASS_COMPARISON:
    case TRA_COLCLASS_TEST: return kinds[round];
    case TRA_COLCLASS_LOGIC: return truths[round];
    case TRA_COLCLASS_CHOICE: return chosen[round] + (most == 2);
    case TRA_COLCLASS_LIST: return listed[round];
    case TRA_COLCLASS_CALENDAR: return calendar[round];
    case TRA_COLCLASS_MOMENT: return most == 1 ? whole[round] : parts;
    case TRA_COLCLASS_CALL: break;
    case TRA_COLCLASS_HASH:
    case TRA_COLCLASS_ROW: return hashed[round];
    }
    return NULL;
}

/* An operand of a function of calls.h, by the letter of what it takes: the first one is a column. */
static const char *operand_for(int op, int i, int round) {
    switch (tra_call_takes(op, i)) {
    case 's': return i == 0 ? "s" : round ? "\"B\"" : "\"a%\"";
    case 'i': return round ? "k" : "2";
    case 'm':
    case 't': return round ? "t" : "`the day`";
    case 'v': return round ? "f" : "i";
    case 'x': return i == 0 ? "s" : round ? "k" : "f";
    case 'p': return round ? "\"a|b\"" : "\"^(a).*\"";
    case 'u': return round ? "\"month\"" : "\"week\"";
    case 'z': return "\"Europe/Berlin\"";
    case 'k': return "0";
    case 'f': return "\"%Y-%m\"";
    case 'g': return "\"%Y\"";
    default: return "\"<\"";
    }
}

static bool is_word(const char *s) { return s[0] >= 'a' && s[0] <= 'z' && strcmp(s, "div") != 0; }

static void print_call(const char *text, int n, const char *const *v, tra_str *out) {
    if (is_word(text)) {
        tra_str_printf(out, "%s(", text);
        for (int i = 0; i < n; i++) tra_str_printf(out, "%s%s", i ? ", " : "", v[i]);
        tra_str_add(out, ")");
    } else if (n == 1) {
        tra_str_printf(out, "%s(%s)", text, v[0]);
    } else {
        tra_str_printf(out, "%s %s %s", v[0], text, v[1]);
    }
}

/* ---- each ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *text;
    int least, most;
    tra_colclass class;
} operators[] = {
#define X(name, text, least, most, class) {text, least, most, TRA_COLCLASS_##class},
    TRA_COLOPS(X)
#undef X
};
enum { OPERATORS = sizeof operators / sizeof *operators };

TEST(each_operator_of_columns) {
    bench b;
    begin(&b);
    for (int o = 0; o < OPERATORS; o++) {
        bool call = operators[o].class == TRA_COLCLASS_CALL;
        int most = operators[o].most < 0 ? operators[o].least + 1 : operators[o].most, ran = 0, tried = 0;
        for (int n = operators[o].least; n <= most; n += most > n ? most - n : 1)
            for (int round = 0; round < 2; round++, tried++) {
                tra_str text = {0};
                bool moment = operators[o].class == TRA_COLCLASS_MOMENT;
                tra_str_printf(&text, "input T from \"%s\"\nR = project(T, c = ", b.path);
                const char *const *v = operands_for(operators[o].class, moment ? n : most, round), *own[4];
                for (int i = 0; i < n && call; i++)
                    own[i] = operand_for(tra_colop_find(operators[o].text, n), i, round);
                print_call(operators[o].text, n, call ? own : v, &text);
                tra_str_add(&text, ")\n");
                try_program(&b, tra_str_get(&text), &ran);
                tra_str_free(&text);
            }
        CHECK_INT(ran, tried);
    }
    end(&b);
}

static const struct {
    const char *text;
    tra_aggregate_takes takes;
    tra_aggregate f;
} aggregates[] = {
#define X(name, text, takes, ...) {text, TRA_TAKES_##takes, TRA_AGGREGATE_##name},
    TRA_AGGREGATES(X)
#undef X
};
enum { AGGREGATES = sizeof aggregates / sizeof *aggregates };

TEST(each_aggregate) {
    static const char *const keys[] = {"", "f", "s, i"};
    bench b;
    begin(&b);
    for (int g = 0; g < AGGREGATES; g++) {
        bool truth = aggregates[g].takes == TRA_TAKES_BOOLS;
        int ran = 0;
        for (int k = 0; k < 6; k++) {
            tra_str text = {0};
            tra_str_printf(&text, "input T from \"%s\"\nR = group(T, [%s], a = %s(%s%s))\n", b.path, keys[k % 3],
                           aggregates[g].text,
                           truth   ? "f"
                           : k < 3 ? "i"
                                   : "y / 2",
                           aggregates[g].f == TRA_AGGREGATE_QUANTILE ? ", 0.3"
                           : tra_aggregate_has_two(aggregates[g].f)  ? ", x"
                                                                     : "");
            try_program(&b, tra_str_get(&text), &ran);
            tra_str_free(&text);
        }
        CHECK_INT(ran, 6);
    }
    end(&b);
}

/* ---- the manual ------------------------------------------------------------------------------------------------ */

static bool has_word(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)); p++) {
        bool begins = p == text || !isalnum((unsigned char)p[-1]), ends = !isalnum((unsigned char)p[n]);
        if (begins && ends) return true;
    }
    return false;
}

static void read_manual(const char *path, char *text) {
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, MANUAL - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    if (n == 0 || n == MANUAL - 1) check_report("%s cannot be read whole", path);
}

TEST(the_manual_has_each_level) {
    static char text[MANUAL];
    read_manual("man/tra-storage.5", text);
    static const char *const levels[] = {
#define X(name, text, ...) text,
        TRA_CALC_LEVELS(X)
#undef X
    };
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++)
        if (!has_word(text, levels[l])) check_report("man/tra-storage.5 does not have %s levels", levels[l]);
}
