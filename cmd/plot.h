/* plot.h - pictures of data: histograms and heat maps, as text, as SVG and as JSON. */
#ifndef TRA_PLOT_H
#define TRA_PLOT_H

#include "../lib/relation/store.h"
#include "cmd.h"

enum { TRA_PLOT_SIDE = 128 }; /* cells of a heat map along a side, at most, but for those that text makes of dots */

typedef struct tra_plot {
    const char *title, *note; /* note: what the picture leaves out; NULL: nothing */
    /* Bars: how many values have each label. */
    int n;
    const char **label;
    int64_t *count;
    /* A heat map: a value for each cell of rows x columns, NaN where there is nothing. Cells stand for elements of the
     * first two dimensions of a tensor of this shape. */
    int rows, columns;
    double *value;
    int64_t shape[2];
    const char *what; /* of a cell: "density", "mean" */
    bool logarithmic; /* shades are of the logarithm */
} tra_plot;

/* Columns of the terminal, or what COLUMNS says; 20 to 400. */
int tra_terminal_width(void);
/* How many of them a text takes: two for wide letters, none for marks that stand over others. */
int tra_text_columns(const char *s);
/* The text with '?' in place of control characters, in the arena; "..." stands for what goes beyond `most` columns. */
const char *tra_text_shown(tra_arena *a, const char *s, int most);
/* How finely a heat map is to be cut, for a tensor of this shape. */
void tra_plot_grid(const int64_t shape[2], bool text, int *rows, int *columns);

/* What is in the relation; in the arena. column: of a table, NULL: of all its columns. text: for a terminal. Reads it
 * all, in bounded memory. TRA_USAGE: there is no such column. */
TRA_MUSTUSE tra_status tra_plots_of(tra_rel *rel, const char *spec, const char *column, bool text, int64_t memory,
                                    tra_arena *a, int *n, tra_plot **v, tra_err *e);
/* The heat map of a sparse tensor of at least two dimensions alone. */
TRA_MUSTUSE tra_status tra_plot_density(tra_rel *rel, const char *spec, bool text, int64_t memory, tra_arena *a,
                                        tra_plot *out, tra_err *e);

/* Rendered in as many columns as the terminal has (else COLUMNS, else 80); of ASCII alone outside of a UTF-8 locale. */
void tra_plot_text(const tra_plot *p, tra_str *out);
/* One picture of all. */
void tra_plots_svg(int n, const tra_plot *v, tra_str *out);
void tra_plot_json(const tra_plot *p, tra_json *j);

#endif
