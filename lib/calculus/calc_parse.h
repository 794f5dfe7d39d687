/* calc_parse.h - tokens and trees, for the rooms that parse and run the calculus: this one, and that of storages. */
#ifndef TRA_CALC_PARSE_H
#define TRA_CALC_PARSE_H

#include "calculus.h"

/* Tokens of one character have it as their kind. */
enum {
    CALC_T_EOF = 0,
    CALC_T_NAME = 256,
    CALC_T_NUMBER,
    CALC_T_ARROW,
    CALC_T_LE,
    CALC_T_GE,
    CALC_T_EQ,
    CALC_T_NE,
    CALC_T_AND,
    CALC_T_OR,
    CALC_T_DOTS, /* ... */
    CALC_T_BAD,
};

typedef struct calc_token {
    int kind, at, len;
    bool line; /* the first of its line */
    int depth; /* brackets around it */
} calc_token;

/* Reads tokens one at a time: the next one is tok. */
typedef struct calc_parser {
    const char *text;
    int n, next; /* where the token after tok begins */
    int before;  /* where the token before tok ends */
    calc_token tok;
    tra_arena *arena;
    tra_calc_error *err;
    bool failed;
    int nest;
    int open;   /* brackets that are open after tok */
    bool lines; /* an expression that is complete ends with its line */
} calc_parser;

void calc_start(calc_parser *p, const char *text, int n, int at, tra_arena *a, tra_calc_error *err);
void calc_next(calc_parser *p);
bool calc_at_word(const calc_parser *p, const char *word);
bool calc_accept(calc_parser *p, int kind);
bool calc_accept_word(calc_parser *p, const char *word);
bool calc_expect(calc_parser *p, int kind, const char *wanted);
/* "WANTED expected, not 'x'" at the token. Always false. */
bool calc_unexpected(calc_parser *p, const char *advice, const char *wanted);
/* The first error counts. Always false. */
bool calc_fail(calc_parser *p, int at, int len, const char *advice, const char *fmt, ...) TRA_PRINTF(5, 6);
bool calc_error(tra_calc_error *err, int at, int len, const char *advice, const char *fmt, ...) TRA_PRINTF(5, 6);
const char *calc_token_text(calc_parser *p);
bool calc_is_reserved(const char *s, int n); /* sum let in if then merge */
tra_calc *calc_expression(calc_parser *p);   /* NULL once failed */
/* Is the token on a new line that an expression, if it is complete, does not go on to? */
bool calc_line_ends(const calc_parser *p);

/* A growing list of pointers in an arena. */
typedef struct calc_list {
    int n, cap;
    void **v;
} calc_list;
void calc_list_add(tra_arena *a, calc_list *l, void *x);

bool calc_is_comparison(tra_calc_kind k);
const char *calc_fn_text(tra_calc_fn fn);

/* As tra_calc_run; `how` has these bits. CALC_PLACES: an element of a component that is not given may be emitted; the
 * caller asks for its place, not for its value. CALC_UNWATCHED: @unique is not checked, which saves the memory for its
 * keys. */
enum { CALC_PLACES = 1, CALC_UNWATCHED = 2 };
tra_status calc_run(const tra_calc *x, int n, const tra_calc_free *scope, int64_t steps, unsigned how,
                    tra_calc_sink *sink, void *ctx, tra_err *e);

#endif
