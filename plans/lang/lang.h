/* lang.h - the text language: source, diagnostics, syntax tree, parser.
 *
 * The tree has one type of node, and knows nothing of relations: plans/tra gives it meaning. The language is described
 * in man tra-lang.5.
 */
#ifndef TRA_LANG_H
#define TRA_LANG_H

#include "../../lib/base/base.h"
#include "../../lib/storage/storage.h"

typedef struct tra_span {
    int at, len; /* bytes in the source */
} tra_span;

typedef struct tra_script {
    const char *name; /* as the user gave it, "-" prints as <stdin> */
    const char *text; /* NUL-terminated, UTF-8 */
    int n;
    int first; /* where its first line begins: what stands before was not written by the user */
} tra_script;
/* A line that ends what stands before the first line. */
#define TRA_FIRST_LINE "#line 1\n"

/* ---- diagnostics -------------------------------------------------------------------------------------------- */

typedef struct tra_diag {
    tra_span span;
    bool warning, always; /* always: a warning that -q does not silence */
    const char *msg, *advice; /* advice: what to write instead, or NULL */
    tra_span also;            /* a second place (len 0: none) with its note, such as an earlier definition */
    const char *note;
} tra_diag;

/* All independent diagnostics of a program, in an arena. */
typedef struct tra_diags {
    tra_arena *arena;
    const tra_script *src;
    bool quiet; /* without an error only warnings that are always shown are printed */
    int n, errors;
    tra_diag *v;
} tra_diags;
/* Returns NULL, which is also false: return tra_diag_error(..) ends what it is an error of. */
void *tra_diag_error(tra_diags *d, tra_span at, const char *advice, const char *fmt, ...) TRA_PRINTF(4, 5);
void tra_diag_warn(tra_diags *d, tra_span at, const char *advice, const char *fmt, ...) TRA_PRINTF(4, 5);
/* A warning that is shown under -q too: the result may be wrong. One text at one place is shown once. */
void tra_diag_warn_always(tra_diags *d, tra_span at, const char *advice, const char *fmt, ...) TRA_PRINTF(4, 5);
/* Gives the last diagnostic a second place. */
void tra_diag_also(tra_diags *d, tra_span at, const char *note);
/* FILE:LINE:COLUMN: error: text, the line, a caret under the span, advice. Sorted by place. colour: ANSI. */
void tra_diags_print(const tra_diags *d, bool colour, tra_str *out);
void tra_script_place(const tra_script *s, int at, int *line, int *column); /* from 1; columns count code points */
/* Does the source from `from` to `end` (bytes) have a name, as a whole word? */
bool tra_script_has_name(const tra_script *s, int from, int end, const char *name);

/* ---- syntax tree -------------------------------------------------------------------------------------------- */

typedef enum tra_ast_kind {
    TRA_AST_NAME,      /* text; quoted: it stood in backquotes and can be nothing but a name */
    TRA_AST_NUMBER,    /* value, text as written; integer tells whether that is without . or e */
    TRA_AST_STRING,    /* text, unescaped */
    TRA_AST_CALL,      /* text(kids) */
    TRA_AST_INDEX,     /* text[kids], kids are labels (NAME) */
    TRA_AST_AGGREGATE, /* text[kids](last kid): an aggregation with its labels (NAME), and what it aggregates */
    TRA_AST_UNARY,     /* text: "-" "!"; one kid */
    TRA_AST_BINARY,    /* text: + - * / % ^ < <= > >= == != && || div; two kids */
    TRA_AST_LIST,      /* [kids] */
    TRA_AST_TUPLE,     /* (kids) with none or at least two; (x) is x */
    TRA_AST_LAMBDA,    /* kids: parameters (NAME), then the body */
    TRA_AST_COMPOSE,   /* f . g */
    TRA_AST_NAMED,     /* text = kid, in the arguments of a call or in a list; quoted as of a NAME */
    TRA_AST_DESC,      /* kid desc, in the same places */
    TRA_AST_STAR,      /* *, in the same places */
    TRA_AST_RANGE,     /* a:b or a:b:step in a list, two or three kids; an end that is left out is a STAR */
    TRA_AST_LITERAL,   /* date "..." or timestamp "...": text is the word, the kid the string */
} tra_ast_kind;
#define TRA_AST_PARTS TRA_AST_LIST ... TRA_AST_RANGE /* for switches: what is an argument, and never a value */

typedef struct tra_ast tra_ast;
struct tra_ast {
    tra_ast_kind kind;
    tra_span span;        /* of the whole */
    tra_span name_span;   /* CALL, INDEX: of the name */
    tra_span parentheses; /* those around it; len 0: none */
    const char *text;
    double value;
    bool integer, quoted;
    int depth; /* height of the tree below, at most 1000: walking it by recursion is safe */
    int nkids;
    tra_ast **kids;
};

/* The expression over columns, or the right side of an EinSum statement, as the language writes it, and so that it
 * parses as the same; names in backquotes where they need them. */
void tra_ast_print(const tra_ast *x, tra_str *out);
void tra_name_print(const char *name, tra_str *out);
bool tra_is_plain_name(const char *s); /* does it need no backquotes? */

typedef enum tra_stmt_kind {
    TRA_STMT_INPUT,
    TRA_STMT_PARAM,
    TRA_STMT_ASSIGN,
    TRA_STMT_EINSUM,
    TRA_STMT_OUTPUT,
    TRA_STMT_STORAGE,
    TRA_STMT_TENSOR,
    TRA_STMT_DEF, /* labels: the parameters; its calls are replaced when they are parsed */
    TRA_STMT_REPEAT,
    TRA_STMT_TRACE,
    TRA_STMT_REQUIRE /* has no name */
} tra_stmt_kind;

/* Which value an ASSIGN or EINSUM statement gives to its name: the only one; the first one of a state, which a loop
 * changes; or the one that a state has in the next turn of the loop around the statement. */
typedef enum tra_stmt_role { TRA_ROLE_ONLY, TRA_ROLE_STATE, TRA_ROLE_NEXT } tra_stmt_role;

/* How a relation is stored, as "as csr" or "as bsr(8, 8)" says it: the name of a storage of the program or of the
 * library, and its arguments, which are integers as in shapes. */
typedef struct tra_storage_use {
    const char *name; /* NULL: nothing is said */
    tra_span span;    /* from the name to the closing parenthesis */
    tra_span name_span;
    int nargs;
    tra_ast **args;
} tra_storage_use;

/* A column of a declared table: "start: i32". */
typedef struct tra_column_decl {
    const char *name, *type;
    tra_span span, type_span;
} tra_column_decl;

/* A statement that did not parse is kept too if its name is known, so that later uses of the name get no errors of
 * their own. Then broken is set, and nothing but kind, span, name and name_span has a meaning. */
typedef struct tra_stmt {
    tra_stmt_kind kind;
    tra_span span;
    const char *name; /* what is defined or written */
    tra_span name_span;
    const char *path; /* INPUT from, OUTPUT to, REQUIRE what to say: string; NULL if absent */
    tra_span path_span;
    int noptions; /* INPUT from: how the file is read, each a NAMED whose kid is a NAME, NUMBER, STRING or LIST */
    tra_ast **options;
    bool path_here;    /* OUTPUT: the path is from the command line, so it counts from the working directory */
    const char *dtype; /* INPUT declared: "f64"; NULL otherwise */
    tra_span dtype_span;
    tra_ast *shape, *block; /* INPUT declared: LISTs of expressions (numbers, integer params) */
    tra_storage_use as;     /* INPUT declared, EINSUM, OUTPUT: how it is stored */
    tra_ast *nnz;           /* INPUT declared: how many entries it has, a number or an integer param; NULL */
    tra_ast *at;            /* INPUT: NAME all|any or CALL part(...); NULL */
    int ncolumns;           /* INPUT declared as a table: its columns, how many rows it has, and in a block */
    tra_column_decl *columns;
    tra_ast *rows, *rows_block; /* rows_block may be NULL */
    tra_ast *value;             /* PARAM, ASSIGN, EINSUM, DEF: right side; REQUIRE: the condition */
    tra_ast *least, *most;      /* PARAM: its bounds, or NULL */
    int part, nparts;           /* ASSIGN: "w, V = eigh(A)" is a statement for each of its nparts names; else 0 and 1 */
    int nlabels;                /* EINSUM: labels of the left side; DEF: parameters */
    tra_ast **labels;
    const char *agg; /* EINSUM: "sum" "mean" "max" "min" "prod" "argmin" "argmax" or NULL */
    tra_span agg_span;
    tra_span agg_parenthesis;        /* after agg, and before a sign, as in sum (A[i]) + 1; len 0: none */
    const tra_storage_decl *storage; /* STORAGE: checked; places in trees are bytes of the source */
    const tra_tensor_decl *tensor;   /* TENSOR: parsed; its names are those of the program */
    tra_stmt_role role;              /* ASSIGN, EINSUM */
    /* REPEAT: name is that of the turn counter, or "" */
    struct tra_ast_program *body;
    tra_ast *turns, *until; /* until: NULL where the loop has no condition */
    int nvalues;            /* TRACE: what its rows have, NAMEs; name is that of the table */
    tra_ast **values;
    bool broken;
} tra_stmt;

typedef struct tra_ast_program {
    int n;
    tra_stmt *v;
} tra_ast_program;

/* Parses what it can; every syntax error is a diagnostic, after which parsing goes on at the next statement. Also
 * refused here: reserved words as statements, a second definition of a name (with both places), nesting deeper than
 * 200, text that is not UTF-8. */
void tra_parse(const tra_script *src, tra_arena *a, tra_diags *d, tra_ast_program *out);

/* Calls see for each name by which a statement of the program, also in a loop, reads a relation or a param; not for
 * labels, parameters of functions, and what tensor statements read. A name of an expression over columns may be that of
 * a column: who asks knows which. */
typedef void tra_see_name(void *ctx, const char *name, tra_span at);
void tra_visit_reads(const tra_ast_program *p, tra_see_name *see, void *ctx);

/* Is it the word of an aggregation: sum, max, ...? */
bool tra_is_aggregation_word(const char *name);
/* Is it one of those that came later than others, and are names where the program has such a name: var, std, ...? */
bool tra_is_later_aggregation_word(const char *name);
/* The diagnostic for a param or a relation of rank 0 of such a name. */
void tra_refuse_aggregation_name(tra_diags *d, tra_span at, const char *name);

/* The last value of a program that was typed as one text: its last statement, which may be an expression alone, or else
 * what was assigned last. Nothing is checked but how statements begin and end. */
typedef struct tra_last {
    bool bare;               /* the last statement is an expression, which begins at byte `at` */
    bool einsum;             /* and the right side of an EinSum statement, */
    const char *free_labels; /* which nothing aggregates over these: "i, j", or "" */
    int at;
    const char *name; /* else what was assigned last, or NULL */
    bool several;     /* by an operator with several results */
    bool outputs;     /* the program has output statements */
    int nnames;
    const char **names; /* all names that stand in it */
} tra_last;
void tra_last_value(const tra_script *src, tra_arena *a, tra_last *out);

#endif
