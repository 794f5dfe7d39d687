/* calls_int.h - the functions of calls.h, by subject. Private to the files calls*.c and zones.c. */
#ifndef TRA_CALLS_INT_H
#define TRA_CALLS_INT_H

#include "../base/parallel.h"
#include "../model/string_set.h"
#include "table_int.h"

#include <pthread.h>

#define TRA_CALL_DECLARED(X, name, text, least, most, takes, gives, may, function)                                     \
    void tra_call_##function(tra_call *c);
TRA_CALLS(TRA_CALL_DECLARED, )

/* Bytes. */
typedef struct tra_bytes {
    const char *s;
    int64_t n;
} tra_bytes;
static inline tra_bytes tra_call_bytes(const tra_call *c, int i) { return (tra_bytes){c->v[i].s, c->v[i].n}; }
/* Appends to the string that the call makes. */
void tra_call_give(tra_call *c, tra_bytes t);
/* calls_strings.c: bytes of the code point that begins there (n > 0); what is no UTF-8 counts byte by byte. */
int64_t tra_point(tra_bytes t);
int64_t tra_points(tra_bytes t);                     /* how many code points */
int64_t tra_parts(tra_bytes t, tra_bytes by);        /* how many parts, at least one, there are between what is `by` */
tra_bytes tra_next_part(tra_bytes *t, tra_bytes by); /* the first one; *t becomes what follows it */
enum { TRA_MADE_MOST = 1 << 28 }; /* bytes of a string that a function makes: more is an error of the row */

/* ---- strings that pieces of work find (words.c) ---- */

/* Each piece has a set of its own, which stays in its cache. So a piece adds no string twice; two pieces may. */
typedef struct tra_words {
    tra_str text;
    int64_t n, cap, *begin; /* word i: from begin[i] to begin[i + 1] of the text; NULL: there are none */
    tra_string_set set[TRA_PIECES];
    int nfree;
    tra_string_set *free[TRA_PIECES]; /* which no thread uses: the last one used is in its cache */
    pthread_mutex_t lock;
} tra_words;
/* The strings of a piece, from malloc. */
typedef struct tra_piece_words {
    int64_t n, *begin;
    char *bytes;
} tra_piece_words;
void tra_words_begin(tra_words *w);
void tra_words_free(tra_words *w);
/* An empty set for a piece, of which at most TRA_PIECES are there at a time; and what it found, when it has ended. Any
 * thread may call these two. */
tra_string_set *tra_words_take(tra_words *w);
void tra_words_give(tra_words *w, tra_string_set *set, tra_piece_words *found);
/* Adds what a piece found, whose word 0 becomes number w->n, and frees it. */
void tra_words_add(tra_words *w, tra_piece_words *found);
void tra_words_drop(tra_piece_words *found); /* frees it */
int64_t tra_words_push(tra_words *w, const char *s, int64_t n); /* adds one; returns its number */
int64_t tra_words_end(tra_words *w); /* what was appended to w->text becomes a word; returns its number */
/* All words as a dictionary of the arena; *code: what each became there. */
const tra_dictionary *tra_words_sorted(tra_arena *a, const tra_words *w, const int32_t **code);

/* ---- tables of results (tabulate.c) ---- */

/* A table under way. */
typedef struct tra_tabulation {
    tra_arena *arena;
    tra_call call;
    const tra_colexpr *const *kids;
    tra_str text;    /* what a call writes whose results are no strings */
    tra_words words; /* the strings of results; */
    int32_t *code;   /* which word each result is; NULL: results are no strings */
    int64_t n;
    int64_t granted; /* bytes that words may have: the ceiling has room for them */
    void *values;    /* of others */
    uint8_t *state;
} tra_tabulation;
/* The values that an expression may have: codes or whole numbers, from `least` on or those of a list. */
typedef struct tra_operand_axis {
    const tra_colexpr *column;
    tra_colaxis v;
} tra_operand_axis;
/* Who finds the operands of entries, for one thread: v, of which set sets those that are not constant. */
typedef struct tra_operands tra_operands;
struct tra_operands {
    void (*set)(tra_operands *o, int64_t entry, tra_call_value *v);
    tra_call_value *v;
};
/* For so many threads: of all values of the axes together, the last one running fastest; or (column) of each value of
 * the one axis, a column that all operands come of, and then of NULL. What is given must live as long. */
void tra_operands_begin(tra_arena *a, int n, const tra_colexpr *const *kids, int naxes, const tra_operand_axis *x,
                        bool column, int threads, tra_operands **out);

/* Begins a table of n results. */
void tra_tabulation_begin(tra_tabulation *t, tra_arena *a, const tra_call *c, const tra_colexpr *const *kids,
                          tra_coltype type, int64_t n);
void tra_tabulation_free(tra_tabulation *t);
/* All results have come: the dictionary of their strings, of which t->code has the codes. */
const tra_dictionary *tra_tabulation_strings(tra_tabulation *t);
/* Adds the result of operands whose states are the worst of these. TRA_NO: the strings become too many bytes. */
TRA_MUSTUSE tra_status tra_tabulate_call(tra_tabulation *t, const tra_call_value *v, tra_err *e);
/* Adds `total` results, of operands as tra_operands_begin has them. */
TRA_MUSTUSE tra_status tra_tabulate(tra_tabulation *t, int naxes, const tra_operand_axis *x, bool column, int64_t total,
                                    tra_err *e);
/* split_part(x, by, k) of a column of strings and a number that rows tell, as a table of the parts of each string
 * (tabulate_parts.c). TRA_NO: the parts become too many. */
TRA_MUSTUSE tra_status tra_tabulate_parts(tra_arena *a, const tra_colexpr *x, tra_bytes by, const tra_colexpr *k,
                                          const tra_colexpr **out, tra_err *e);
tra_call_value tra_call_constant(const tra_colexpr *x);

/* Regular expressions (calls_regex.c). TRA_PROGRAM names the place in the expression. */
TRA_MUSTUSE tra_status tra_regex_prepare(tra_arena *a, const char *name, tra_bytes pattern, const void **out,
                                         tra_err *e);
TRA_MUSTUSE tra_status tra_regex_check(const void *regex, const char *name, int64_t group, const tra_bytes *to,
                                       tra_err *e); /* a number of a group, and a replacement, fit the expression */

/* ---- times (calls_dates.c, calls_format.c) ---- */

#define TRA_DAY_MICROS INT64_C(86400000000)
/* Units of time, the finest first. */
typedef enum tra_unit {
    TRA_UNIT_MICROSECOND,
    TRA_UNIT_MILLISECOND,
    TRA_UNIT_SECOND,
    TRA_UNIT_MINUTE,
    TRA_UNIT_HOUR,
    TRA_UNIT_DAY,
    TRA_UNIT_WEEK,
    TRA_UNIT_MONTH,
    TRA_UNIT_QUARTER,
    TRA_UNIT_YEAR,
    TRA_UNITS
} tra_unit;
int64_t tra_unit_micros(tra_unit unit); /* 0 of weeks and longer */
TRA_MUSTUSE tra_status tra_unit_prepare(tra_arena *a, const char *name, tra_bytes text, const void **out, tra_err *e);

/* A format, and of which parts of a moment it tells: enough to know it by. */
typedef enum tra_format_days {
    TRA_DAYS_NONE,
    TRA_DAYS_WEEKDAY,
    TRA_DAYS_OF_YEAR_MONTH,
    TRA_DAYS_YEAR,
    TRA_DAYS_MONTH,
    TRA_DAYS_DAY
} tra_format_days;
typedef enum tra_format_times {
    TRA_TIMES_NONE,
    TRA_TIMES_HOUR,
    TRA_TIMES_MINUTE,
    TRA_TIMES_SECOND,
    TRA_TIMES_MICRO
} tra_format_times;
typedef struct tra_format {
    tra_bytes text;
    tra_format_days days;
    tra_format_times times;
    bool split; /* the operands are numbers: of the days, where days are told, and of the time of day, where that is */
} tra_format;
TRA_MUSTUSE tra_status tra_format_prepare(tra_arena *a, const char *name, tra_bytes text, bool reads, const void **out,
                                          tra_err *e);

/* Time zones (zones.c). */
TRA_MUSTUSE tra_status tra_zone_prepare(tra_arena *a, const char *name, tra_bytes zone, const void **out, tra_err *e);

#endif
