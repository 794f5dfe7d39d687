/* exchange.h - what the exchange of blocks, its messages and its files share; private to lib/run.
 *
 * Every rank computes the same list of transfers from the catalogs and placements, so the sender need not say which
 * tuple it sends: a rank receives from another in the order of the list. Only the number of bytes is sent with a tuple.
 * The exchange decides which bytes these are, where they come from and where they go; messages bring them from one rank
 * to another, or tell of a file in which they are (--transport files).
 */
#ifndef TRA_EXCHANGE_H
#define TRA_EXCHANGE_H

#include "stages.h"
#include "tuning.h"

typedef struct tra_transfer {
    int64_t order;   /* position of its tuple in the order in which the input is read; lists are sorted by it */
    int64_t in, out; /* ordinals */
    int32_t summand;
    int32_t from, to;
} tra_transfer;

typedef struct tra_transfers {
    int64_t n, cap;
    tra_transfer *v;
} tra_transfers;

/* A piece of a result that is not dense: it is stored until all pieces of the result have come. */
typedef struct tra_waiting {
    tra_block *block; /* not pinned */
    tra_dims to, ext; /* where it belongs */
} tra_waiting;
typedef struct tra_pieces {
    int64_t n, cap;
    tra_waiting *v;
} tra_pieces;

/* The batches that a repartition is made in (repart.h). */
typedef struct tra_batches {
    int64_t next;  /* the first tuple of the next batch */
    int64_t limit; /* bytes of each */
    /* By slot of the result part: */
    tra_block **assembling; /* dense results of which pieces are missing */
    int64_t *missing;       /* how many pieces are missing */
    tra_pieces *pieces;     /* pieces that have come, of results that are not dense */
} tra_batches;

/* The bytes of a transfer while they are sent. */
typedef struct tra_payload {
    const char *data;
    int64_t bytes;
    int64_t held;         /* bytes of the blocks that stay pinned meanwhile */
    tra_block *packed;    /* the block of a piece that was cut out; NULL: the whole array is sent from its own block */
    tra_unit_input input; /* the array, pinned unless `packed` is set */
} tra_payload;

/* What is to be sent and received, each list in order, and how far each has come. */
typedef struct tra_exchange_lists {
    tra_transfers outgoing, local, *incoming; /* incoming, next_in: by source */
    int64_t next_out, next_local, *next_in;
    int64_t received, expected; /* transfers from others */
} tra_exchange_lists;

/* Bytes of memory that an exchange may use. */
typedef struct tra_exchange_room {
    int64_t window;  /* in flight from this site, and as many to it; a single transfer may be larger */
    int64_t budget;  /* of the pool, without what the stage reserves for exchanges that overlap it */
    int64_t receive; /* the most that receiving one transfer needs */
    tra_exchange_need need;
    size_t scratch, io; /* for reading */
} tra_exchange_room;

typedef struct tra_exchange_count {
    int64_t *sent, *arrived; /* where bytes are counted */
    double begun;
    tra_moved moved;
} tra_exchange_count;

struct tra_exchange {
    tra_site *site;
    const tra_op *op;
    tra_part *in, *out;
    bool overlapping; /* it overlaps other stages */
    bool stepping;    /* a step is under way; while it waits for memory, no other step of this exchange may begin */
    bool pieces;      /* REPART: transfers are boxes where blocks overlap, made in batches */
    tra_after after;  /* for blocks of the input, with their last transfer */
    /* Of each list, outgoing and local: the block of a tuple that is read for several transfers, and its place in the
     * order of the list. */
    struct {
        tra_block *block;
        int64_t order;
    } pinned[2];
    tra_exchange_lists lists;
    tra_batches batch;
    tra_exchange_room room;
    tra_exchange_count count;
    tra_status status;
    tra_err *e, own;
    void *state; /* of messages.c */
};

/* messages.c: the bytes of transfers, for one stage. */
void tra_messages_begin(tra_exchange *x);
void tra_messages_end(tra_exchange *x);
/* May so many bytes be sent now? Always true when nothing is in flight. */
bool tra_messages_room(const tra_exchange *x, int64_t bytes);
int64_t tra_messages_held(const tra_exchange *x); /* bytes of blocks in flight, to and from this rank */
/* Sends the payload, and then releases it (tra_payload_release). */
void tra_messages_send(tra_exchange *x, const tra_transfer *t, tra_payload *s);
/* Called instead of send when this rank has failed: tells the receiver. */
void tra_messages_refuse(tra_exchange *x, const tra_transfer *t);
/* Goes on with transfers in flight; false: nothing happened. */
bool tra_messages_progress(tra_exchange *x);
bool tra_messages_busy(const tra_exchange *x); /* has anything that was given to send not gone yet? */
/* The rank whose next transfer has begun to arrive, and its number of bytes; -1: none. Transfers that a failed rank
 * refuses are counted as received, and set x->status. */
int tra_messages_next(tra_exchange *x, int64_t *bytes);
/* Receives the bytes of that transfer into b (NULL: drops them); calls tra_exchange_arrived now or later. */
void tra_messages_take(tra_exchange *x, const tra_transfer *t, tra_block *b, int64_t bytes);

/* The tag of an exchange's messages: several exchanges may be under way. */
static inline int tra_exchange_tag(const tra_exchange *x) { return 16 + x->op->id; }

/* exchange_files.c. hand: writes a payload to a file for that rank, and gives its number; -1: it goes by messages,
 * since the run has no directory, or it is small. take: reads what was handed to this rank (data NULL: does not), and
 * removes it. A damaged file is TRA_INPUT that names it. */
TRA_MUSTUSE tra_status tra_exchange_hand(tra_site *site, int to, const tra_payload *p, int64_t *number, tra_err *e);
TRA_MUSTUSE tra_status tra_exchange_take(const tra_site *site, int from, int64_t number, void *data, int64_t bytes,
                                         tra_err *e);
/* The same by the path. An existing file is an error. untried: so many pieces are stored without a try to compress
 * them, since one before them did not shrink; 0 at first. */
TRA_MUSTUSE tra_status tra_handed_write(const char *path, const void *data, int64_t bytes, int *untried, tra_err *e);
TRA_MUSTUSE tra_status tra_handed_read(const char *path, void *data, int64_t bytes, tra_err *e);

/* The directory of these files. reclaim removes those in the scratch directory of runs that were killed: for one
 * rank, whatever the transport. make makes one for this run in the scratch directory, which all ranks must share:
 * collective. remove removes it, with what a failure left in it, when all ranks have agreed that they are done. */
void tra_exchange_dir_reclaim(const char *scratch);
TRA_MUSTUSE tra_status tra_exchange_dir_make(tra_site *site, const char *scratch, tra_err *e);
void tra_exchange_dir_remove(tra_site *site);

void tra_exchange_fail(tra_exchange *x, tra_status s); /* keeps s as x->status unless an earlier failure is there */
void tra_payload_release(tra_exchange *x, tra_payload *s);
bool tra_exchange_receive(tra_exchange *x); /* takes one transfer, if one has come */
/* A transfer of so many bytes has arrived in block b, which the exchange owns from then on. */
void tra_exchange_arrived(tra_exchange *x, const tra_transfer *t, tra_block *b, int64_t bytes, tra_status s);
/* Allocates a block for a tuple of the result, or for a piece of one. */
TRA_MUSTUSE tra_status tra_exchange_new_block(tra_exchange *x, int64_t ordinal, int64_t bytes, tra_block **out);
/* Reads and pins the tuple of a transfer, which has been taken off its list. */
TRA_MUSTUSE tra_status tra_exchange_fetch(tra_exchange *x, const tra_transfer *t, tra_unit_input *in);
/* If the exchange overlaps a stage, which may evict blocks meanwhile, keeps the block of a tuple pinned from its first
 * to its last transfer, so that it is read only once. t: a transfer that was just read, of the list of those that are
 * sent (list 0) or that stay here (1). */
TRA_MUSTUSE tra_status tra_exchange_keep_pinned(tra_exchange *x, int list, const tra_transfer *t);

/* exchange_pieces.c: the pieces of a repartition. */
tra_size tra_exchange_size(const tra_exchange *x, const tra_transfer *t); /* bytes of a transfer, of any exchange */
/* Cuts the piece of a transfer out of an array, into a new pinned block. */
TRA_MUSTUSE tra_status tra_piece_cut(tra_exchange *x, const tra_transfer *t, const tra_cell *src, tra_block **out);
/* Puts the piece of a transfer in its place: reading the array from which it comes, or out of the pinned block in which
 * it came, and which it owns from then on. */
TRA_MUSTUSE tra_status tra_piece_place_local(tra_exchange *x, const tra_transfer *t);
TRA_MUSTUSE tra_status tra_piece_place_received(tra_exchange *x, const tra_transfer *t, tra_block *b);
/* Makes a result that has no pieces: all of its input are holes. */
void tra_pieces_make_empty(tra_exchange *x, int64_t slot);
void tra_pieces_drop(tra_exchange *x, int64_t slot); /* the pieces of a result that is not dense */

void tra_exchange_idle(int idle); /* waits a little, when nothing has happened so many times in a row */

/* Make the lists of transfers (transfers.c), the same on all ranks: of tuples, in the order in which a stage that
 * overlaps the exchange reads them (collective); or of the pieces of the next batch, counting batch.missing. */
void tra_list_tuples(tra_exchange *x);
void tra_list_batch(tra_exchange *x);

#endif
