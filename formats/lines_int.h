/* lines_int.h - what lines.c (stretches of text and their entries) and lines_parse.c (a line) share. */
#ifndef TRA_LINES_INT_H
#define TRA_LINES_INT_H

#include "lines.h"
#include "../lib/model/string_set.h"

enum { LONGEST = 4096 }; /* bytes of a line */
enum { PIECE = 2048 };   /* bytes of a piece, which ends at the next line end: of as much there must always be room */
enum { GROUPS = 32 };    /* a crew takes pieces of a stretch by so many groups */

typedef struct piece {
    const char *text;
    int64_t bytes;
    int64_t lines, first; /* lines, and the number of the first one */
    int64_t most;         /* entries at most, mirrored ones too */
    tra_item *to;
    int64_t entries, mirrored, inexact, overflow; /* that were found */
} piece;

typedef struct stretch {
    char *text; /* room for cap bytes and a line end */
    int64_t n;
    bool loaded;
} stretch;

typedef struct lines {
    tra_line_form form;
    int64_t cap;        /* bytes of a stretch */
    stretch stretch[2]; /* the present one, and the next */
    char *rest;         /* what was read behind the last line end */
    int64_t nrest;
    bool ended;
    int64_t line;  /* lines before the present stretch; those of the header too */
    int64_t taken; /* entries that were read, without mirrored ones */
    piece *piece;
    int64_t pieces, done; /* of the present stretch */
    int64_t from, until;  /* those that the crew works on, */
    int64_t group;        /* so many at a time */
    tra_status (*work)(struct lines *l, piece *p, int worker, tra_err *e);
    tra_crew *crew;
    tra_source *source;
    const tra_places *places;
    int rank;
    /* The survey. */
    tra_line_survey *survey; /* of each worker */
    int copy;                /* what is read goes to this scratch file too, or -1 */
    char *where;
    int64_t copied;
    /* Coordinates that are names. */
    int nsets;           /* 0: they are numbers */
    tra_string_set *set; /* of each worker; after the survey the first has all */
    int32_t *place;      /* of each string of that, in ascending order */
} lines;

/* Past blanks. A carriage return is one at the end of a line only: elsewhere it ends a line for whoever wrote it, and
 * what follows it would be taken for more words of this one. */
const char *tra_lines_skip_blanks(const char *s);
const char *tra_lines_word_end(const char *s);
/* Is the line at s, of which the blanks at its beginning are skipped, one without an entry? */
bool tra_lines_is_empty(const lines *l, const char *s);
/* Which line of the piece is at s. */
int64_t tra_lines_line_at(const piece *p, const char *s);
TRA_MUSTUSE tra_status tra_lines_refuse_form(const lines *l, const piece *p, const char *at, tra_err *e);
/* Goes to the end of a line without an entry. */
TRA_MUSTUSE tra_status tra_lines_skip_comment(const lines *l, const piece *p, const char **s, tra_err *e);
/* An index at *s, from the base, to *v; *s is then behind it. False when there is none. */
bool tra_lines_scan_index(const char **s, int64_t base, int64_t *v);
TRA_MUSTUSE tra_status tra_lines_too_long(const lines *l, int64_t line, tra_err *e);

/* The same for a name. */
bool tra_lines_scan_name(const lines *l, const char **s, int64_t *v);

/* Makes entries of the lines of a piece, for a crew. */
TRA_MUSTUSE tra_status tra_lines_parse_piece(lines *l, piece *p, int worker, tra_err *e);

#endif
