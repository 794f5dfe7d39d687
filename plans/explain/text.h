/* text.h - how the text renderers of this room write cells and numbers. */
#ifndef TRA_TEXT_H
#define TRA_TEXT_H

#include "explain.h"

enum { TRA_TEXT_WIDTH = 100 };

/* 1.12e+10 as 1.12e10; small whole numbers as they are. Into buf, returned. */
char *tra_text_number(double v, char *buf, size_t n);
/* Seconds in ms, s, min or h. Into buf, returned. */
char *tra_text_seconds(double s, char *buf, size_t n);
/* Adds text padded (or cut with ..) to so many columns; width < 0: aligned right. */
void tra_text_cell(tra_str *out, const char *text, int width);
/* Ends a line: no blanks at its end. */
void tra_text_end_line(tra_str *out);
/* A line that begins after so many blanks, broken at blanks where it is too long; what follows is indented. */
void tra_text_wrapped(const char *text, int begin, int indent, tra_str *out);

/* An operator as the tree has it: number, relation, what it does. Of a long relation name so much is left out that the
 * strategy has room in so many columns; the rest is for tra_text_cell to cut. */
void tra_text_operator(const tra_shown_plan *p, const tra_shown_line *l, int width, tra_str *out);
/* The steps from the direct translation to the job's plan, and the rules that were refused. */
void tra_text_derivation(const tra_job *job, tra_str *out);
/* A predicted figure under `key`, with its kind, and its bound unless it is exact. */
void tra_json_size(tra_json *j, const char *key, tra_size s);
/* The strategies of a plan's joins, or - when it has none. */
const char *tra_text_strategy(const tra_plan *p);
/* The first k plans of the job: a line each, then side by side what distinguishes them and why they lost. */
void tra_explain_alternatives(const tra_job *job, int k, tra_str *out);

/* Keys and extents of every relation of the program: those of equal extents together. */
void tra_text_catalog(const tra_graph *g, tra_str *out);

/* The operators of a plan with what was measured of them. */
void tra_text_analysis(const tra_shown_plan *s, const tra_profile *m, tra_str *out);

/* statements.c: of plans that follow a labelling the statements with their vectors and costs, the same as JSON (the
 * keys of a statement; all of them), and as a graph; and the program under each optimizer, side by side. */
void tra_text_statements(const tra_job *job, const tra_plan *p, tra_str *out);
void tra_json_vertex(tra_json *j, const tra_eingraph *g, const tra_labelling *l, int v);
void tra_json_statements(tra_json *j, const tra_labellings *all, const tra_labelling *l);
void tra_dot_statements(const tra_job *job, tra_str *out);
void tra_text_optimizers(const tra_job *job, int n, const tra_measurement *m, tra_str *out);
void tra_json_optimizers(tra_json *j, const tra_job *job, int n, const tra_measurement *m);

/* The kernels of a plan that are compiled; code: their C too. In JSON they stand before those of statements, which may
 * be NULL. */
void tra_text_kernels(const tra_plan *p, bool code, tra_str *out);
void tra_json_kernels(tra_json *j, const tra_plan *p, bool code, const tra_kernels_of *statements);
/* storel.c: statements composed with storages, and what they cost in several. */
void tra_text_composed(int n, const tra_storel_kernel *k, tra_str *out);
void tra_json_composed(tra_json *j, int n, const tra_storel_kernel *k); /* objects of an array */
void tra_text_storages(int n, const tra_kernels_of *x, tra_str *out);
void tra_json_storages(tra_json *j, int n, const tra_kernels_of *x);
/* By how much the rows of a table that only the run tells differ from those expected, 1 or more; 0: they are not
 * counted, or not all of them. */
double tra_rows_factor(const tra_type *t, const tra_op_report *r, double *expected);

#endif
