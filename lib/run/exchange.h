/* exchange.h - what the exchange of blocks and its transports share; private to lib/run.
 *
 * Every rank computes the same list of transfers from the catalogs and placements, so which tuple comes next is not
 * announced: what a rank receives from another comes in the order of the list. How many bytes a tuple has goes with
 * it. A transport brings the bytes of a transfer from one rank to another; which bytes, where they come from and where
 * they go is the exchange's.
 */
#ifndef TRA_EXCHANGE_H
#define TRA_EXCHANGE_H

#include "stages.h"
#include "tuning.h"

typedef struct tra_transfer {
    int64_t turn;    /* of its tuple of the input: lists go by it */
    int64_t in, out; /* ordinals */
    int32_t summand;
    int32_t from, to;
} tra_transfer;

typedef struct tra_transfers {
    int64_t n, cap;
    tra_transfer *v;
} tra_transfers;

/* A piece of a result that is not dense: it waits for the others. */
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
    int64_t next;       /* the first tuple of the next batch */
    int64_t limit;      /* bytes of each */
    tra_block **making; /* results that lack pieces, by their slots, */
    int64_t *lacking;   /* and how many they lack; */
    tra_pieces *pieces; /* those that are there, where results are not dense */
} tra_batches;

/* Where the bytes of a transfer are while they are sent. */
typedef struct tra_payload {
    const char *data;
    int64_t bytes;
    int64_t held;         /* bytes of the blocks that are held meanwhile */
    tra_block *packed;    /* a piece; NULL: the whole array is sent from where it is */
    tra_unit_input input; /* held unless packed */
} tra_payload;

/* What is to be sent and received, each list in order, and how far each has come. */
typedef struct tra_exchange_lists {
    tra_transfers outgoing, local, *incoming; /* incoming, next_in: by source */
    int64_t next_out, next_local, *next_in;
    int64_t received, expected; /* transfers from others */
} tra_exchange_lists;

/* Bytes that it may take. */
typedef struct tra_exchange_room {
    int64_t window; /* on their way from here, and as many to here; one transfer may be more */
    int64_t budget; /* of the pool, without what the stage reserves for exchanges that overlap it */
    int64_t most;   /* that taking a transfer may need at once */
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
    bool overlapping; /* with other stages */
    bool stepping;    /* a step is under way; while that waits for memory no other begins */
    bool pieces;      /* REPART: transfers are boxes where blocks overlap, in batches */
    tra_after after;  /* of what is read, with its last transfer */
    struct {
        tra_block *block; /* what a tuple is stored in that is read for several transfers */
        int64_t turn;
    } held[2]; /* of each list: outgoing, local */
    tra_exchange_lists lists;
    tra_batches batch;
    tra_exchange_room room;
    tra_exchange_count count;
    tra_status status;
    tra_err *e, own;
    const struct tra_transport *transport;
    void *state; /* the transport's */
};

typedef struct tra_transport {
    const char *name;
    /* For one stage. */
    void (*begin)(tra_exchange *x);
    void (*end)(tra_exchange *x);
    void (*lists)(tra_exchange *x); /* new lists; may be NULL */
    /* Is there room to send so much now? When nothing is on its way there always is. */
    bool (*room)(tra_exchange *x, int64_t bytes);
    int64_t (*held)(const tra_exchange *x); /* bytes of blocks that are on their way, either way */
    /* Takes the source over and gives it back with tra_payload_release. */
    void (*send)(tra_exchange *x, const tra_transfer *t, tra_payload *s);
    /* In place of send, when this rank has failed. */
    void (*refuse)(tra_exchange *x, const tra_transfer *t);
    /* Goes on with what is on its way; false: nothing happened. */
    bool (*progress)(tra_exchange *x);
    bool (*busy)(tra_exchange *x); /* is anything on its way? */
    /* A rank of which the next transfer has begun to come, and how many bytes it has; or -1. What a rank that failed
     * refused is counted as received, and x->status set. */
    int (*next)(tra_exchange *x, int64_t *bytes);
    /* Its bytes, so many, which go to b: at once or later tra_exchange_arrived is called. Or nowhere, when b is
     * NULL. */
    void (*take)(tra_exchange *x, const tra_transfer *t, tra_block *b, int64_t bytes);
} tra_transport;

extern const tra_transport tra_transport_messages, tra_transport_files;

void tra_exchange_fail(tra_exchange *x, tra_status s); /* x->status becomes s, unless it says something already */
void tra_payload_release(tra_exchange *x, tra_payload *s);
bool tra_exchange_receive(tra_exchange *x); /* takes one transfer, if one has come */
/* A transfer of so many bytes has come; takes the block over. */
void tra_exchange_arrived(tra_exchange *x, const tra_transfer *t, tra_block *b, int64_t bytes, tra_status s);
tra_size tra_exchange_size(const tra_exchange *x, const tra_transfer *t); /* what a transfer takes */

/* The lists (transfers.c), the same on all ranks: of tuples, where the stage that reads them overlaps the exchange, in
 * the order in which it does (collective); or of the pieces of the next batch, for whose results batch.lacking is
 * counted. */
void tra_list_tuples(tra_exchange *x);
void tra_list_batch(tra_exchange *x);

#endif
