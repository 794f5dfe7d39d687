/* calls.h - functions of strings, dates and times, and casts: the table of them, and how one is computed of values.
 *
 * The compiler of expressions (calls.c) makes of a call a table over the entries of the dictionaries that it reads,
 * where that is possible, and must do so where the result is a string: codes of a result need a dictionary before the
 * program runs. Other calls are computed row by row. The reference evaluator computes each value by tra_call_run.
 */
#ifndef TRA_CALLS_H
#define TRA_CALLS_H

#include "../model/columns.h"

#include <string.h>

/* A row for each function: name in C, text, least and most operands (-1: any number), what it takes (a letter for each
 * operand, the last one for those that follow), the type of what it gives, what its result may be though no operand is
 * NULL ("n" NULL, "e" an error of the row), and the suffix of its C function. Letters:
 *   s string   i whole number   m date or timestamp   t timestamp, or date as its beginning
 *   v string, number or bool    x anything
 *   constants of the program:   c string   p regular expression   u unit of time   z time zone   k whole number
 *   f format of a date: what strftime takes   g what strptime takes
 * MOMENT: the type of the operand m. Positions and lengths count code points, from 1. */
#define TRA_CALLS(F, X)                                                                                                \
    F(X, LIKE, "like", 2, 2, "ss", BOOL, "", like)                                                                     \
    F(X, STARTSWITH, "startswith", 2, 2, "ss", BOOL, "", startswith)                                                   \
    F(X, ENDSWITH, "endswith", 2, 2, "ss", BOOL, "", endswith)                                                         \
    F(X, CONTAINS, "contains", 2, 2, "ss", BOOL, "", contains)                                                         \
    F(X, MATCHES, "matches", 2, 2, "sp", BOOL, "", matches)                                                            \
    F(X, LENGTH, "length", 1, 1, "s", I64, "", length)                                                                 \
    F(X, POSITION, "position", 2, 2, "ss", I64, "", position)                                                          \
    F(X, LOWER, "lower", 1, 1, "s", STRING, "", lower)                                                                 \
    F(X, UPPER, "upper", 1, 1, "s", STRING, "", upper)                                                                 \
    F(X, SUBSTR, "substr", 2, 3, "si", STRING, "", substr)                                                             \
    F(X, CONCAT, "concat", 1, -1, "x", STRING, "", concat)                                                             \
    F(X, SPLIT_PART, "split_part", 3, 3, "ssi", STRING, "", split_part)                                                \
    F(X, COUNT_PARTS, "count_parts", 2, 2, "ss", I64, "", count_parts)                                                 \
    F(X, REPLACE, "replace", 3, 3, "s", STRING, "e", replace)                                                          \
    F(X, TRIM, "trim", 1, 2, "s", STRING, "", trim)                                                                    \
    F(X, LTRIM, "ltrim", 1, 2, "s", STRING, "", ltrim)                                                                 \
    F(X, RTRIM, "rtrim", 1, 2, "s", STRING, "", rtrim)                                                                 \
    F(X, LPAD, "lpad", 2, 3, "sis", STRING, "e", lpad)                                                                 \
    F(X, RPAD, "rpad", 2, 3, "sis", STRING, "e", rpad)                                                                 \
    F(X, REVERSE, "reverse", 1, 1, "s", STRING, "", reverse)                                                           \
    F(X, REPEAT, "repeat", 2, 2, "si", STRING, "e", repeat)                                                            \
    F(X, EXTRACT, "extract", 2, 3, "spk", STRING, "n", extract)                                                        \
    F(X, REGEX_REPLACE, "regex_replace", 3, 3, "spc", STRING, "", regex_replace)                                       \
    F(X, TO_BOOL, "bool", 1, 1, "v", BOOL, "e", cast)                                                                  \
    F(X, TO_I32, "i32", 1, 1, "v", I32, "e", cast)                                                                     \
    F(X, TO_I64, "i64", 1, 1, "v", I64, "e", cast)                                                                     \
    F(X, TO_F32, "f32", 1, 1, "v", F32, "e", cast)                                                                     \
    F(X, TO_F64, "f64", 1, 1, "v", F64, "e", cast)                                                                     \
    F(X, TO_STRING, "string", 1, 1, "x", STRING, "", concat)                                                           \
    F(X, TRY_BOOL, "try_bool", 1, 1, "v", BOOL, "n", cast)                                                             \
    F(X, TRY_I32, "try_i32", 1, 1, "v", I32, "n", cast)                                                                \
    F(X, TRY_I64, "try_i64", 1, 1, "v", I64, "n", cast)                                                                \
    F(X, TRY_F32, "try_f32", 1, 1, "v", F32, "n", cast)                                                                \
    F(X, TRY_F64, "try_f64", 1, 1, "v", F64, "n", cast)                                                                \
    F(X, DATE_TRUNC, "date_trunc", 2, 2, "um", MOMENT, "e", date_trunc)                                                \
    F(X, DATE_DIFF, "date_diff", 3, 3, "utt", I64, "", date_diff)                                                      \
    F(X, ADD_MONTHS, "add_months", 2, 2, "mi", MOMENT, "e", add_months)                                                \
    F(X, STRFTIME, "strftime", 2, 2, "mf", STRING, "e", strftime)                                                      \
    F(X, STRPTIME, "strptime", 2, 2, "sg", TIMESTAMP, "n", strptime)                                                   \
    F(X, TO_ZONE, "to_zone", 2, 2, "tz", TIMESTAMP, "e", to_zone)                                                      \
    F(X, FROM_ZONE, "from_zone", 2, 2, "tz", TIMESTAMP, "e", from_zone)

/* A value: i of whole numbers, bools, dates and timestamps, f of floats, s and n of strings. */
typedef struct tra_call_value {
    tra_coltype type;
    int state; /* TRA_STATE_VALUE ... */
    int64_t i, n;
    double f;
    const char *s;
} tra_call_value;

/* A call under way, of operands none of which is NULL: it sets out, of whose type it is told; or appends to text what
 * string it makes. */
typedef struct tra_call {
    int op; /* a tra_colop */
    int n;
    const tra_call_value *v;
    const void *prepared;
    tra_call_value out;
    tra_str *text;
    int64_t most; /* bytes that text may have then; 0: any */
    bool over;    /* it would have had more, and is not whole */
} tra_call;

/* Looks at the operands that are constants of the program, and prepares what is made of them once: a regular
 * expression, a zone. v[i].s, .n or .i of these are set; the others are not read. TRA_PROGRAM, saying what is wrong and
 * where in it. What is prepared lives as long as the arena and may be used by any thread. */
TRA_MUSTUSE tra_status tra_call_prepare(tra_arena *a, int op, int n, const tra_call_value *v, const void **out,
                                        tra_err *e);
/* Computes c->out of c->v. Of a string out.s is in c->text, until it grows again. */
void tra_call_run(tra_call *c);
/* What the function takes as operand i: a letter of the table. */
char tra_call_takes(int op, int i);
static inline bool tra_call_takes_constant(char letter) { return strchr("cpuzkfg", letter) != NULL; }
/* The most parts that a string of the dictionary has, between what is `by`; of NULL 1. */
TRA_MUSTUSE tra_status tra_parts_most(const tra_dictionary *d, const char *by, int64_t *most, tra_err *e);
/* The type of what it gives, of operands of these types; the C function, and what the result may be besides. */
tra_coltype tra_call_type(int op, const tra_call_value *v);
const char *tra_call_may(int op);

#endif
