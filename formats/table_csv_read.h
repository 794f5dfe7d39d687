/* table_csv_read.h - a CSV file as pieces of whole records, for all threads. Private to formats. */
#ifndef TRA_TABLE_CSV_READ_H
#define TRA_TABLE_CSV_READ_H

#include "../lib/base/crew.h"
#include "table_csv.h"

enum { TRA_CSV_BEYOND = 8 };

/* Whole records that lie together in memory. */
typedef struct tra_csv_piece {
    const char *text; /* TRA_CSV_BEYOND bytes behind them are readable */
    int64_t bytes;
    const char *stretch; /* what was read together begins here; its first byte and line, from 0, are: */
    int64_t at, line;
} tra_csv_piece;

typedef struct tra_csv_file tra_csv_file;
typedef struct tra_csv_sizes {
    int64_t stretch, piece; /* bytes that are read together, and that a thread takes at a time */
    int workers;
} tra_csv_sizes;

/* Finds the form of what has been opened, and unpacked where it is packed; *in is its own from then on. longest: bytes
 * of the longest first record. scratch: beside which a scratch file may be, where it cannot be read twice. */
TRA_MUSTUSE tra_status tra_csv_open(tra_stream *in, const tra_csv_hints *h, int64_t longest, const char *scratch,
                                    tra_csv_file **out, tra_err *e);
int64_t tra_csv_first_cells(const tra_csv_file *f); /* of the first record */
/* Makes room for passes; stretches that do not hold a record like the first become longer. Returns their bytes. */
int64_t tra_csv_make_room(tra_csv_file *f, const tra_csv_sizes *sizes);
void tra_csv_close(tra_csv_file *f); /* NULL allowed */
const tra_csv_form *tra_csv_form_of(const tra_csv_file *f);
/* The first bytes, from the first record on, as long as no pass has begun. */
const char *tra_csv_head(const tra_csv_file *f, int64_t *n);
bool tra_csv_head_is_all(const tra_csv_file *f);
int64_t tra_csv_bytes(const tra_csv_file *f); /* read in the last pass, unpacked */

/* Goes through all records from the first one on: `work` for each piece, by any thread; `after`, if not NULL, by this
 * one when the pieces of a stretch have been worked on, of which there were so many. */
typedef tra_status tra_csv_work(void *ctx, int worker, const tra_csv_piece *p, int64_t item, tra_err *e);
typedef tra_status tra_csv_after(void *ctx, int64_t pieces, tra_err *e);
TRA_MUSTUSE tra_status tra_csv_pass(tra_csv_file *f, tra_csv_work *work, tra_csv_after *after, void *ctx, tra_err *e);
/* The same by single stretches; *more: there is another one. */
TRA_MUSTUSE tra_status tra_csv_begin_pass(tra_csv_file *f, tra_err *e);
TRA_MUSTUSE tra_status tra_csv_next_stretch(tra_csv_file *f, tra_csv_work *work, tra_csv_after *after, void *ctx,
                                            bool *more, tra_err *e);
/* A second pass would need a copy, or unpack the file again, or is not wanted: true, and the pass that begins next
 * makes no copy. False after a pass has begun, or where the file can be read twice. */
bool tra_csv_take_once(tra_csv_file *f, bool wanted);
/* Most pieces of a stretch. */
int64_t tra_csv_most_pieces(const tra_csv_file *f);

/* The line, from 1, of a place in a piece. */
int64_t tra_csv_line(const tra_csv_piece *p, const char *at);
static inline int64_t tra_csv_byte(const tra_csv_piece *p, const char *at) { return p->at + (at - p->stretch) + 1; }

#endif
