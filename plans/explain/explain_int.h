/* explain_int.h - what the renderers of this room share: cells and numbers of text, and the sections of
 * explain that have files of their own. Private to plans/explain. */
#ifndef TRA_EXPLAIN_INT_H
#define TRA_EXPLAIN_INT_H

#include "explain.h"

/* ---- text (cells.c) ----------------------------------------------------------------------------------------- */

enum { TRA_TEXT_WIDTH = 100 }; /* where standard output is no terminal */
/* Columns of a line: those of the terminal (COLUMNS, or what it says itself). */
int tra_text_width(void);

/* A number as 1.12e10; below a million up to six digits. Into buf, returned. */
char *tra_text_number(double v, char *buf, size_t n);
const char *tra_text_times(tra_arena *a, double n); /* "once", "2.5 times" */
/* Seconds in us, ms, s, min or h. Into buf, returned. */
char *tra_text_seconds(double s, char *buf, size_t n);
/* Adds text padded to |width| columns, aligned right if width is negative. Longer text is cut, and ends in two dots. */
void tra_text_cell(tra_str *out, const char *text, int width);
/* Removes the blanks at the end of the last line, and ends it. */
void tra_text_end_line(tra_str *out);
/* Adds text as lines of at most tra_text_width columns, broken at blanks. The first is indented by `begin` columns, the
 * others by `indent`. */
void tra_text_wrapped(const char *text, int begin, int indent, tra_str *out);

/* Adds an operator as a tree shows it: indentation, number, relation, strategy, what it does. A long name of a relation
 * is cut so that number, operator and strategy have room in `width` columns; the caller cuts what is behind them. */
void tra_text_operator(const tra_shown_plan *p, const tra_shown_line *l, int width, tra_str *out);
/* Adds a blank and the strategy of a join, or of several; on one site, where there is nothing to place, nothing but
 * what is fused. */
void tra_text_placed(const char *strategy, int sites, tra_str *out);
/* The strategies of a plan's joins, "-" if it has no join. */
const char *tra_text_strategy(const tra_plan *p);

/* ---- the program's statements (lines.c) --------------------------------------------------------------------- */

/* A statement with what its operators cost together, in all turns of the loops that it stands in. */
typedef struct tra_shown_statement {
    tra_stmt_kind kind;
    int at, line; /* where it begins in the program's text; line 0: it is what comes before the statements, or after */
    int depth;    /* how many loops it stands in */
    const char *text, *name;
    int first; /* of its operators; -1: it has none */
    double seconds;
    int64_t memory; /* the most that a site holds while it is computed */
    tra_size read, written, moved;
    /* seconds of the site that computed longest, disk, sent, and the most memory that had been held when it ended */
    tra_op_report measured;
    /* Of an input that later statements read, which have its costs: the line of the first of them (0: there is none),
     * bytes that are expected to be read of it, and thread-seconds in which they were. */
    struct tra_shown_input {
        int reader;
        int64_t read;
        double seconds;
    } input;
} tra_shown_statement;
typedef struct tra_shown_statements {
    int n; /* in program order */
    tra_shown_statement *v;
    int *of;  /* of each operator: its statement; -1: none */
    int peak; /* the statement that holds the most memory; -1: none */
} tra_shown_statements;
/* m: what was measured of p, or NULL. */
tra_shown_statements tra_explain_statements(const tra_job *job, const tra_plan *p, const tra_profile *m, tra_arena *a);
/* Is it a loop, or does it cost anything? */
bool tra_statement_is_shown(const tra_shown_statement *x);
/* Adds a table of the statements that are shown. measured: beside each figure that was measured. */
void tra_text_lines(const tra_shown_statements *s, int sites, bool measured, tra_str *out);

/* text.c: the number of tuples of a result and the bound of their arrays; of a table the expected and the possible
 * rows, and the bytes of a row. Into buf, returned. */
char *tra_text_size_of(const tra_op *o, char *buf, size_t n);

/* drawing.c: text as HTML and SVG have it: every character that has a meaning there is escaped. n: at most so many
 * characters, the last of them dots if there are more; 0: all. */
void tra_html_text(const char *text, int n, tra_str *out);
/* The plan as an <svg> element. s: its operators; m: what was measured, or NULL; alone: it is a file of its own, else a
 * part of a page, which scrolls, and of which large plans are printed in parts. */
void tra_svg_plan(const tra_shown_plan *s, const tra_profile *m, bool alone, tra_str *out);
enum { TRA_MOST_DRAWN = 300 }; /* operators; plans of more are not drawn */

/* charts.c: what the sites did over time, as sections of a page. */
void tra_html_timeline(const tra_job *job, const tra_shown_plan *s, const tra_profile *m, tra_str *out);

/* timeline.c: what the sites did over time, as the member "timeline" of a profile, if it was recorded; the same read
 * again: false where it is damaged, and buckets 0 where there is none. nops: of the plan. */
void tra_json_timeline(tra_json *j, const tra_timeline *t);
bool tra_timeline_read(const char *json, int sites, int nops, tra_timeline *out);
/* The operator that workers of a site ran most in a bucket, or the phase in its place; -1: none. */
int tra_timeline_op(const tra_shown_plan *s, const tra_timeline *t, int site, int bucket);
/* The name of an operator, or of a phase in its place. Into buf, returned. */
char *tra_timeline_op_text(const tra_shown_plan *s, int op, char *buf, size_t n);

/* changes.c: the program's input of this name; NULL: there is none, or no name. */
const tra_node *tra_input_named(const tra_job *job, const char *name);
/* What is done in another way is worth a line if this share of the seconds goes, and so many of them. */
#define TRA_CHANGE_WORTH 0.2
#define TRA_CHANGE_LEAST 0.05

/* changes_inputs.c: a sentence, in the arena, on the columns that nothing uses, of the table whose file they are the
 * most of. NULL: of no file are they a good part. They are not read, so that the run takes no longer. */
const char *tra_explain_unused(const tra_job *job, tra_arena *a);
/* changes_inputs.c: files of other formats that are converted before each run of so many seconds (of what was measured
 * findings.c tells). Puts at most `most` sentences, in the arena, to *out, and returns how many. */
int tra_explain_conversions(const tra_job *job, double seconds, int most, const char **out, tra_arena *a);

/* findings.c: where the time of a run went, each in a sentence, in the arena. Returns how many. */
int tra_explain_findings(const tra_job *job, const tra_shown_plan *s, const tra_profile *m, tra_arena *a,
                         const char *const **out);

/* ---- sections ----------------------------------------------------------------------------------------------- */

/* derivation.c: the steps from the direct translation to the job's plan, and the rules that were refused. */
void tra_text_derivation(const tra_job *job, tra_str *out);
/* compare.c: the first k plans of the job, a line each, then side by side: how they differ, and why they lost. */
void tra_text_alternatives(const tra_job *job, int k, tra_str *out);
/* catalog.c: keys and extents of every relation of the program; keys whose arrays have equal extents are one line. */
void tra_text_catalog(const tra_graph *g, tra_str *out);

/* analyze.c: what was measured of a whole run; the operators of its plan with what was measured of them. */
void tra_text_measured(const tra_shown_plan *s, const tra_profile *m, tra_str *out);
void tra_text_analysis(const tra_shown_plan *s, const tra_profile *m, tra_str *out);
/* How many times more, or less, a run took than was predicted, from 1 on; off: so many times that the constants of the
 * machine, or of an operator, are wrong. */
double tra_seconds_factor(double predicted, double measured, bool *off);
/* Seconds of the operators alone, as they are predicted: not of compiling, of opening files, of putting outputs in
 * place. */
double tra_operators_took(const tra_profile *m);
/* A sentence where these were predicted wrongly by far in a run that was not short; else NULL. */
const char *tra_seconds_wrong(const tra_plan *p, const tra_profile *m, tra_arena *a);
/* By what factor, at least 1, the rows that an operator made (a type of tables whose rows only the run tells) differ
 * from those that were *expected. 0: not all of them were counted. */
double tra_rows_error(const tra_type *t, const tra_op_report *r, double *expected);

/* statements.c: what EinDecomp decided, for plans that follow a labelling: a table of the statements with their vectors
 * and costs; the members of one statement; all statements; the graph of statements. */
void tra_text_statements(const tra_job *job, const tra_plan *p, tra_str *out);
void tra_json_statement(tra_json *j, const tra_eingraph *g, const tra_labelling *l, int v);
void tra_json_statements(tra_json *j, const tra_labellings *all, const tra_labelling *l);
void tra_dot_statements(const tra_job *job, tra_str *out);

/* optimizers.c: the program under each optimizer, side by side, with n measurements. */
void tra_text_optimizers(const tra_job *job, int n, const tra_measurement *m, tra_str *out);
void tra_json_optimizers(tra_json *j, const tra_job *job, int n, const tra_measurement *m);

/* compiled_kernels.c: how the kernels of a plan run, and those that are compiled, with their C if `code`. In JSON those
 * of `statements`, unless it is NULL, follow in the same array. */
void tra_text_kernels(const tra_plan *p, bool code, tra_str *out);
void tra_json_kernels(tra_json *j, const tra_plan *p, bool code, const tra_kernel_set *statements);

/* kernel_plans.c: how the kernels of statements are found that are composed with the storages of their operands; in
 * JSON as objects of an array that the caller has begun. And what the kernels cost in several storages. */
void tra_text_composed(int n, const tra_storel_kernel *k, tra_str *out);
void tra_json_composed(tra_json *j, int n, const tra_storel_kernel *k);
void tra_text_storages(int n, const tra_kernel_set *x, tra_str *out);
void tra_json_storages(tra_json *j, int n, const tra_kernel_set *x);

/* loops.c: the loops of a plan: the member "loops" of its JSON object; lines of text, with the numbers of their
 * operators if `operators`. */
void tra_json_loops(tra_json *j, const tra_plan *p, const tra_profile *m); /* m: what was measured of p, or NULL */
void tra_text_loops(const tra_plan *p, bool operators, tra_str *out);

#endif
