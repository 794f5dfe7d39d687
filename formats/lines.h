/* lines.h - coordinate files of text: an entry a line, its coordinates and then its value, parsed by all threads.
 *
 * The text is read by stretches that end at line ends. While a crew parses the pieces of one stretch, the next one is
 * read (and unpacked).
 */
#ifndef TRA_LINES_H
#define TRA_LINES_H

#include "formats.h"

enum { TRA_MAXRANK = TRA_MAXDIM / 2 }; /* of coordinate files: keys and arrays have as many dimensions each */

typedef enum tra_symmetry { TRA_GENERAL, TRA_SYMMETRIC, TRA_SKEW } tra_symmetry;

typedef struct tra_line_form {
    int64_t base;    /* the first index */
    char comment[2]; /* lines that begin with one of these are left out; 0: none */
    enum { TRA_LINE_VALUE, TRA_LINE_NO_VALUE, TRA_LINE_MAYBE } value; /* without one an entry is 1 */
    tra_symmetry symmetry;
    int64_t count;     /* entries that the file announces, or -1 */
    const char *shown; /* "ROW COLUMN VALUE" */
    bool may_be_names; /* coordinates may be names: the first entry tells whether they are, */
    bool names;        /* or it is known that they are */
} tra_line_form;

/* What a whole pass over the text finds. */
typedef struct tra_line_survey {
    int rank;      /* of the first line */
    int64_t count; /* entries */
    int64_t least[TRA_MAXRANK], most[TRA_MAXRANK];
    int64_t words;           /* lines whose coordinates are not all numbers, where they may be names */
    int64_t nnames;          /* coordinates are names: so many, in ascending order; else -1 */
    const char *const *name; /* in the arena of the source */
} tra_line_survey;

/* What follows in s->in are entries; so many lines have been read. Sets s->access, s->least_room and s->entries. */
void tra_lines_begin(tra_source *s, const tra_line_form *form, int64_t lines);
/* Reads all entries once, without their values, then goes back to the first; what cannot be read twice is copied to a
 * scratch file beside nothing else. rank 0: that of the first line, where the last word is the value. */
TRA_MUSTUSE tra_status tra_lines_survey(tra_source *s, int rank, tra_line_survey *found, tra_err *e);

/* s->shape is known now, from the survey. */
void tra_lines_shape(tra_source *s);

/* entries and close of a format whose open has called tra_lines_begin. */
tra_status tra_lines_entries(tra_source *s, const tra_places *p, tra_item *to, int64_t room, int64_t *got, tra_err *e);
void tra_lines_close(tra_source *s);

/* The negative of a value, for the other triangle of skew-symmetric matrices: TRA_INPUT where the type does not hold
 * it. */
TRA_MUSTUSE tra_status tra_negative(const tra_source *s, int64_t line, tra_number v, tra_number *to, tra_err *e);

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* Writes "I J ... VALUE" for the element i of data, whose indices count from base. */
TRA_MUSTUSE tra_status tra_put_line(tra_newfile *out, const tra_dims *at, int64_t base, tra_dtype t, const void *data,
                                    int64_t i, tra_err *e);

#endif
