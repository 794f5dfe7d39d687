/* lex.h - from text to tokens. Private to plans/lang. */
#ifndef TRA_LEX_H
#define TRA_LEX_H

#include "lang.h"

/* Tokens of one character have it as their kind. */
enum {
    TRA_T_EOF = 0,
    TRA_T_END = '\n', /* end of a statement: end of line, ';', or before '}' */
    TRA_T_NAME = 256,
    TRA_T_QUOTED, /* a name in backquotes; a backquote in the name is written twice */
    TRA_T_NUMBER,
    TRA_T_STRING,
    TRA_T_DECLARED, /* a storage or tensor statement, from its word to its end: lib/calculus reads it */
    TRA_T_ARROW,    /* -> */
    TRA_T_LE,
    TRA_T_GE,
    TRA_T_EQ,
    TRA_T_NE,
    TRA_T_AND,
    TRA_T_OR,
    TRA_T_BAD, /* reported already */
};

typedef struct tra_token {
    int kind;
    tra_span span;
} tra_token;

/* All n tokens of a source, the last one EOF, from the arena. Here it is decided where statements end. A line end ends
 * one unless a bracket is open or the line ends with a binary operator or a comma. A line that can only begin a
 * statement ends the one before in any case, so that a bracket that was left open spoils one statement and not all that
 * follow. In brackets, a line such as "name = x" after a comma is a named argument if it is indented deeper than the
 * statement. */
tra_token *tra_lex(const tra_script *src, tra_arena *a, tra_diags *d, int *n);

/* Is it a word that begins a statement if a name follows, and is a name everywhere else (input, param, output, storage,
 * tensor, def)? *later: it is one of those that are kept for a later version of the language. */
bool tra_is_keyword(const char *s, int n, bool *later);

#endif
