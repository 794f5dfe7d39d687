/* parse_int.h - what the files of the parser share: parse.c (statements), parse_loop.c (loops) and parse_expr.c
 * (expressions). */
#ifndef TRA_PARSE_INT_H
#define TRA_PARSE_INT_H

#include "expand.h"
#include "lex.h"
#include "names.h"

enum { MAX_NEST = 200 }; /* brackets and signs within each other */
enum { MAX_LOOPS = 8 };  /* loops within each other */

typedef struct parser {
    const tra_script *src;
    tra_arena *arena;
    tra_diags *d;
    const tra_token *tok; /* the next token */
    int nest;             /* how many are open */
    tra_names defined;    /* value: tra_span of the definition */
    tra_expander expander;
    int loops; /* repeat statements that are open */
} parser;

/* A list of trees that grows. */
typedef struct asts {
    int n, cap;
    tra_ast **v;
} asts;

/* Every parsing function returns NULL or false once the statement has a diagnostic. */

const char *tra_parse_token_text(parser *p, const tra_token *t);
/* The name in backquotes at t; a backquote in the name is written twice. */
const char *tra_parse_quoted_text(parser *p, const tra_token *t);
tra_span tra_parse_join_spans(tra_span a, tra_span b);
bool tra_parse_at_name(const parser *p, const char *word);
bool tra_parse_at_word(const parser *p, const char *word); /* the same in any case */
/* Advice where the next token is a word of SQL that stands after an expression; NULL: it is none. */
const char *tra_parse_word_advice(const parser *p);
void tra_parse_unexpected(parser *p, const char *advice, const char *wanted);
bool tra_parse_expect(parser *p, int kind, const char *wanted);
bool tra_parse_accept(parser *p, int kind);
tra_ast *tra_parse_label(parser *p);
/* Items separated by commas up to the closing bracket, whose span goes to *end. The opening one is read already. */
bool tra_parse_items(parser *p, tra_ast *(*item)(parser *), int close, asts *out, tra_span *end);
tra_ast *tra_parse_string(parser *p);
tra_ast *tra_parse_argument(parser *p);
/* Parses, after a file name: (header = no, null = ["NA", "-"]), if it is there. */
bool tra_parse_file_options(parser *p, tra_stmt *s);
tra_ast *tra_parse_bracket(parser *p);
tra_ast *tra_parse_primary(parser *p);
tra_ast *tra_parse_expr(parser *p);

/* Statements up to the end of the text, or up to the '}' that closes a loop, which stays. */
void tra_parse_statements(parser *p, tra_ast_program *out);
/* Does a statement of a loop begin here? repeat and until do so unless they are the names of relations that are
 * defined; state, next and trace before a name only. */
bool tra_parse_begins_loop_statement(const parser *p);
/* Is it one of these words, though no statement of a loop begins here? */
bool tra_parse_names_loop_word(const parser *p);
/* The statement of a loop that begins here, by its first word: repeat, until, state, next or trace. */
bool tra_parse_loop_statement(parser *p, tra_stmt *s);
/* Advice where the token before the next one begins a loop of another language; NULL: it does not. */
const char *tra_parse_loop_advice(const parser *p);
/* "A[i,j] = ..", "A = .." or "w, V = ..". */
bool tra_parse_equation(parser *p, tra_stmt *s);

#endif
