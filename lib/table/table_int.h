/* table_int.h - the inside of expressions, shared by the files of this folder. */
#ifndef TRA_TABLE_INT_H
#define TRA_TABLE_INT_H

#include <string.h>

#include "../base/simd.h"
#include "table.h"

enum { TRA_COLSTRIP = 1024 }; /* rows that one instruction handles at a time: 8 KiB of i64 stay in the first cache */

static inline int64_t tra_floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

tra_colclass tra_colop_class(tra_colop op); /* of an operator that programs name */

/* A node without operands, of any value that the type has; and a constant that is NULL (leaves.c). */
tra_colexpr *tra_colexpr_leaf(tra_arena *a, tra_colop op, tra_coltype type);
tra_colexpr *tra_colexpr_null_of(tra_arena *a, tra_coltype type, const tra_dictionary *dict);

/* year, month, ... of a day since 1970 and microseconds since its beginning. */
int64_t tra_date_part(tra_colop op, int64_t days, int64_t of_day);

/* The week of ISO 8601 that has the day, and the year to which that belongs. */
int64_t tra_iso_week(int64_t days, int64_t *year);

/* A comparison of a string with constants, or a date or timestamp of one, computed once for each entry of the string's
 * dictionary (strings.c): the result is a tree that looks up codes. */
TRA_MUSTUSE tra_status tra_colexpr_of_strings(tra_arena *a, tra_colop op, int n, const tra_colexpr *const *kids,
                                              const tra_colexpr **out, tra_err *e);
/* A comparison with constants, not, and or or, of what is looked up by the same codes, as one table by these, if memory
 * affords it. */
const tra_colexpr *tra_colexpr_by_entry(tra_arena *a, const tra_colexpr *x);
/* May tables of the program take n results more, without the bytes of their strings, which are sorted in the end? */
bool tra_affords_results(const tra_arena *a, bool strings, int64_t n);
/* A function of calls.h (calls_build.c); kids may be changed. */
TRA_MUSTUSE tra_status tra_colexpr_of_call(tra_arena *a, tra_colop op, int n, const tra_colexpr **kids,
                                           const tra_beforehand *beforehand, const tra_colexpr **out, tra_err *e);
/* Element i of a column that is x; and puts a value that is not a string as element i (calls.c). */
tra_call_value tra_call_value_of(const tra_colexpr *x, const void *values, int64_t i);
void tra_call_put(const tra_call_value *v, void *to, int64_t i);
/* A node that is NULL or an error where an operand is; and what a tree is that reads no column (build.c). */
tra_colexpr *tra_colexpr_node(tra_arena *a, tra_colop op, tra_coltype type, int n, const tra_colexpr *const *kids);
const tra_colexpr *tra_colexpr_fold(tra_arena *a, const tra_colexpr *x);
/* Recodes coded operands to one sorted dictionary, unless they share one already whose order suffices: any order, or,
 * if `ordered`, a sorted one. */
TRA_MUSTUSE tra_status tra_colexpr_unite(tra_arena *a, int n, const tra_colexpr **kids, bool ordered, tra_err *e);
/* Code -> value of this type; table and tstate in the arena. */
const tra_colexpr *tra_colexpr_lookup(tra_arena *a, const tra_colexpr *x, tra_coltype type, const void *table,
                                      const uint8_t *tstate);

/* Brings operands of `op` to one type, as a comparison wants them; ordered: codes by the order of strings. TRA_PROGRAM
 * unless they are of one kind. */
TRA_MUSTUSE tra_status tra_colexpr_unify(tra_arena *a, tra_colop op, int n, const tra_colexpr **kids, bool ordered,
                                         tra_err *e);

/* ---- programs ------------------------------------------------------------------------------------------------- */

/* Trees as a program over strips: an instruction for each node, after those of its operands (colcode.c). */
typedef struct tra_colinsn {
    const tra_colexpr *x;
    const int *kid; /* the instructions of its operands */
    int reg;        /* the register of its result; -1: a column, which is read where it is */
} tra_colinsn;
typedef struct tra_colcode {
    int n, nregs, nroots;
    tra_colinsn *v;
    const int *root; /* the instructions that have the results */
} tra_colcode;
tra_colcode *tra_colcode_new(tra_arena *a, int nroots, const tra_colexpr *const *roots);
int64_t tra_colcode_scratch(const tra_colcode *c);

/* Runs a row-wise kernel that makes no batch: calls visit for each strip of n rows that come out, with the columns of
 * the last step. Errors as of a run. */
typedef void tra_rowwise_visit(void *ctx, const tra_vector *columns, int n);
TRA_MUSTUSE tra_status tra_rowwise_each(const tra_rowwise *r, const tra_batch *in, int64_t first,
                                        tra_rowwise_visit *visit, void *ctx, void *scratch, tra_err *e);

/* What an instruction gives for the strip at hand. */
typedef struct tra_colvalue {
    void *values;
    uint8_t *state; /* NULL: all are values */
} tra_colvalue;
/* A program under way: in scratch of tra_colcode_scratch bytes, aligned to 64. */
typedef struct tra_colrun {
    const tra_colcode *code;
    tra_colvalue *at; /* of each instruction */
    char *regs;
    bool divided;               /* in some row of this strip a value became NULL for a cause that is noted: */
    uint8_t zero[TRA_COLSTRIP]; /* of each row, TRA_NULL_ bits; set only if `divided` */
} tra_colrun;
void tra_colrun_begin(tra_colrun *r, const tra_colcode *c, void *scratch);
/* Evaluates n rows (at most TRA_COLSTRIP) of columns that begin at `columns`; `first` is what row() gives for the
 * first. */
void tra_colrun_strip(tra_colrun *r, const tra_vector *columns, int64_t first, int n);
static inline tra_colvalue tra_colrun_result(const tra_colrun *r, int root) { return r->at[r->code->root[root]]; }
/* Counts the rows of the strip's first n in which this result is NULL for one of the causes that are noted. */
typedef struct tra_null_rows {
    int64_t n;
    unsigned causes; /* TRA_NULL_ bits */
} tra_null_rows;
tra_null_rows tra_colrun_by_zero(const tra_colrun *r, int root, int n);

/* One instruction on one strip (eval.c). */
typedef struct tra_colstep {
    tra_colrun *run;
    const tra_colexpr *x;
    const tra_colvalue *kid[3]; /* the first three operands; all are run->at[insn->kid[i]] */
    const tra_colinsn *insn;
    tra_colvalue *out; /* its values are in the register; the instruction sets its state */
    uint8_t *states;   /* room for states, in the register */
    int n;             /* rows */
    int64_t first;     /* what row() is of the first */
} tra_colstep;
void tra_colstep_run(tra_colstep *s);

/* Adds to the notes that `rows` more values of a column are NULL by a division by zero; column NULL: of a condition. */
void tra_table_note_rows(tra_table_notes *n, tra_null_rows rows, const char *column);
/* "(a 3, b soylent)": these columns of a row. Returns `to`. */
enum { TRA_ROWTEXT = 200 };
char *tra_row_text(const tra_batch *b, int64_t row, int n, const int *column, char to[TRA_ROWTEXT]);
void tra_table_notes_add(const tra_table_notes *n); /* for tra_table_noted */
/* Samples the keys of the rows of an operand (0: the left one, 1): their values in n columns; NULL: in the first n.
 * pairs: how many rows of the other operand a row meets; may be NULL. For tra_table_noted_keys. */
typedef int64_t tra_key_pairs_fn(const void *ctx, int64_t row);
void tra_table_note_keys(const tra_batch *b, int n, const int *column, int operand, tra_key_pairs_fn *pairs,
                         const void *ctx);
/* Notes the same for the condition on n pairs of rows. Joins call it in the pass that counts rows, so that each pair is
 * noted once. */
void tra_table_note_pairs(const tra_colrun *r, int n);

/* ---- keys ----------------------------------------------------------------------------------------------------- */

/* Values of several expressions as words that are equal where the values are: -0 as 0, any NaN as one, NULL as a word
 * of its own. */
typedef struct tra_keys {
    int n, columns; /* columns of the table */
    tra_colcode *code;
    const tra_colexpr *const *x;
} tra_keys;
static inline uint64_t tra_float_word(double f) {
    uint64_t w;
    if (f == 0) f = 0;
    memcpy(&w, &f, sizeof w);
    return f != f ? UINT64_C(0x7ff8000000000000) : w;
}
tra_keys tra_keys_new(tra_arena *a, int n, const tra_colexpr *const *x, int columns);
int64_t tra_keys_scratch(const tra_keys *k);
/* Begins evaluating the keys in scratch memory; returns room there for a strip of the table's columns. */
tra_vector *tra_keys_begin(const tra_keys *k, void *scratch, tra_colrun *run);
/* The keys of a row are tra_keys_words(n) words: first tra_keys_null_words(n), with a bit for each key that is NULL,
 * then one word for each of the n keys. */
static inline int tra_keys_null_words(int n) { return n / 64 + 1; }
static inline int tra_keys_words(int n) { return tra_keys_null_words(n) + n; }
/* Writes the keys of rows from .. from + n - 1, one row after another. TRA_INPUT, naming the row (`first` is the number
 * of the batch's first row), for a key that could not be computed. */
TRA_MUSTUSE tra_status tra_keys_of(const tra_keys *k, const tra_batch *b, int64_t from, int n, uint64_t *words,
                                   void *scratch, int64_t first, tra_err *e);
uint64_t tra_keys_hash(const uint64_t *words, int n);
TRA_MUSTUSE tra_status tra_key_failed(int64_t row, tra_err *e); /* that error */

/* Sets `to` to the columns of a batch from row `from` on. */
void tra_strip_of(const tra_batch *b, int64_t from, tra_vector *to);

/* Columns k of the result become copies of n rows of columns column[k] of the left operand; NULL: of the first ones. */
void tra_gather_columns(tra_rows_io *io, int ncolumns, const int *column, const int64_t *at, int64_t n);
/* Copies of rows: to[i] = from[at[i]], and where at[i] is negative NULL. */
void tra_gather_rows(tra_vector *to, int64_t begin, const tra_vector *from, tra_coltype t, const int64_t *at,
                     int64_t n);

/* What a step computes, over the columns `in`; brief: as tra_rowwise_print. It is printed once, and s->text kept in the
 * arena: passes that are made of others have the steps of these. */
void tra_step_print(tra_arena *a, tra_rowwise_step *s, const tra_schema *in, bool brief, tra_str *out);

#endif
