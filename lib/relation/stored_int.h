/* stored_int.h - what the files of stored relations share: the datasets of a storage, and the slices that tuples have
 * of them. See stored.h for the contract. */
#ifndef TRA_STORED_INT_H
#define TRA_STORED_INT_H

#include "rows.h"
#include "store_int.h"
#include "stored.h"
#define XXH_STATIC_LINKING_ONLY /* for the size of a state */
#include <xxhash.h>

/* ---- the datasets of a storage (stored.c) ----------------------------------------------------------------------- */

/* PACKED: a component of a storage that is no levels. */
typedef enum tra_dataset_kind { TRA_POINTERS, TRA_INDICES, TRA_VALUES, TRA_COLUMNS, TRA_PACKED } tra_dataset_kind;

/* A dataset of which each tuple has a slice, those of all tuples one after the other in the order of keys. The slice of
 * pointers are the ends of the ranges that the positions above have; the dataset begins with a 0 before all of them. */
typedef struct tra_dataset {
    char name[64];
    tra_dataset_kind kind;
    int level;   /* of the levels: the one that it is about */
    size_t each; /* bytes of an element */
} tra_dataset;

enum { TRA_MAXCOMPONENTS = 2 * TRA_MAXDIM + 2 };

typedef struct tra_form {
    tra_levels levels;
    bool packed;             /* there are no levels, but the components of a mapping */
    int64_t ext[TRA_MAXDIM]; /* of each level: what a dense one has of positions for each above */
    int group[TRA_MAXDIM]; /* of each level: 0 dense; a sparse one with the singletons after it: how many levels; those
                            * singletons -1 */
    int pointers[TRA_MAXDIM], indices[TRA_MAXDIM]; /* of each level: its component, or -1 */
    int values, columns;                           /* components; columns -1: none */
    bool alone;                                    /* one tuple: its levels are the whole tensor's */
    int depth;                                     /* of the first level in it: 0 alone, else the arity of the keys */
    int n;
    tra_dataset c[TRA_MAXCOMPONENTS];
} tra_form;

/* Of the relations of a type, stored by such levels. ext: extents by dimension, the bound of the type's arrays. */
void tra_form_of(const tra_levels *l, const tra_dims *ext, int depth, bool alone, size_t value, tra_form *f);
bool tra_form_alone(const tra_catalog *c);
size_t tra_index_size(int64_t extent); /* bytes of an unsigned index below it */

/* Elements of the slice of a component that a tuple with such counts has; last: the last extent of its array. */
int64_t tra_form_length(const tra_form *f, int component, const int64_t *counts, int64_t last);
/* Is the count of a level, given the one above, what it must be? */
bool tra_form_counts_fit(const tra_form *f, const int64_t *counts);

enum { TRA_MAPPING_TEXT = 32 << 10 }; /* attributes of the earliest format end at 64 KiB */

/* ---- sorting entries (stored_sort.c) ---------------------------------------------------------------------------- */

typedef struct tra_item {
    uint64_t hi, lo; /* the order */
    uint32_t i;      /* whose */
} tra_item;
/* Sorts by hi, then lo, what is equal stays in its order; tmp has as much room. Returns where the result is, v or
 * tmp. */
tra_item *tra_sort_items(tra_item *v, tra_item *tmp, int64_t n);

/* ---- statistics ------------------------------------------------------------------------------------------------- */

/* As 64-bit words, in this order: rows, then each sparse level; each a tra_spread and flags. */
enum { TRA_SPREAD_WORDS = 6 + TRA_LOGS };
enum { TRA_FLAG_SORTED = 1, TRA_FLAG_UNIQUE = 2, TRA_FLAG_FINITE = 4 };
static inline int tra_form_spreads(const tra_form *f) {
    int n = 1;
    if (f->packed) return 0;
    for (int l = 0; l < f->levels.n; l++) n += f->group[l] > 0;
    return n;
}
/* Words of facts that a writer has of each tuple: the checksums of its slices, and its statistics; packed: how many
 * entries the mapping gives. */
static inline int tra_form_facts(const tra_form *f) {
    return f->n + f->packed + tra_form_spreads(f) * TRA_SPREAD_WORDS;
}
/* Counts that a tuple has: of the positions at each level; packed: of the elements of each component. */
static inline int tra_form_counts(const tra_form *f) { return f->packed ? f->n : f->levels.n; }

/* ---- writing (stored_put.c, stored_file.c) ---------------------------------------------------------------------- */

/* What a writer of a relation stored by levels has besides. */
struct tra_placing {
    tra_form form;
    const char *text;                /* creator, packed: the mapping's */
    int64_t *counts;                 /* [n][tra_form_counts]; NULL: not placed yet */
    int64_t *begin;                  /* [n + 1][components]: where slices begin, in elements */
    int64_t addr[TRA_MAXCOMPONENTS]; /* of the dataset's first slice */
    /* Codec zstd: slices meet in the chunks of a dataset. So they go to a file of their own, as they are, and chunks
     * are made of them when all are there (pack.c). */
    tra_temp raw;
    int fd; /* of that file, else of the writer's; -1: not open yet */
    bool packed;
};

/* Datasets that are compressed have chunks of so many elements, or of all where they have fewer. */
enum { TRA_VECTOR_CHUNK = 8192 };
static inline int64_t tra_vector_chunk(int64_t count) { return tra_min64(count, TRA_VECTOR_CHUNK); }

TRA_MUSTUSE tra_status tra_stored_prepare(tra_writer *w, const tra_levels *l, tra_err *e);
TRA_MUSTUSE tra_status tra_packed_prepare(tra_writer *w, const struct tra_storage *s, tra_err *e);
TRA_MUSTUSE tra_status tra_stored_create_group(tra_writer *w, tra_err *e); /* under the lock */
TRA_MUSTUSE tra_status tra_stored_put(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e);
int64_t tra_stored_put_scratch(const tra_writer *w);
/* The group of a storage that is no levels, with its components (mapped.h); under the lock. */
TRA_MUSTUSE tra_status tra_mapped_create(tra_writer *w, tra_err *e);
/* Attributes and tables; under the lock. */
bool tra_stored_describe(tra_writer *w, const char *digest);
void tra_stored_blob(const tra_writer *w, tra_str *blob);
TRA_MUSTUSE tra_status tra_stored_unblob(tra_writer *w, const char *blob, size_t n, tra_err *e);
void tra_stored_free_placing(tra_writer *w);
/* The numbers that the group's seal is of. */
enum { TRA_STORED_HEADER = TRA_HEADER + 2 * (1 + TRA_MAXDIM) + 4 };
int tra_stored_header(hid_t group, int64_t v[TRA_STORED_HEADER]);

/* ---- reading (stored_open.c, stored_read.c) --------------------------------------------------------------------- */

/* A dataset that slices are read of. */
typedef struct tra_vector {
    hid_t dset, memory; /* the type as which elements are read */
    bool own_type;      /* memory is to be closed */
    int64_t count;      /* elements */
    int64_t base;       /* address of the first, where the file has them as memory does; -1: by HDF5 */
    size_t each;        /* of the memory type */
    bool sign;
    bool packed; /* in chunks that went through filters as ours do: they are decoded here, not by HDF5 */
    tra_pipeline pipeline;
    tra_chunkref *chunk; /* packed: found at the first read, under the HDF5 lock; `found` is set last */
    _Atomic bool found;
} tra_vector;

struct tra_stored {
    tra_form form;
    tra_vector c[TRA_MAXCOMPONENTS];
    int64_t *begin;           /* [levels][n + 1]: positions of each level before a tuple */
    int64_t most[TRA_MAXDIM]; /* positions of a level that a tuple has at most; mirrored: entries, of the last */
    bool loose;               /* another program's: entries in any order, duplicates are added */
    int64_t outer;            /* loose: coordinates of the outer dimension that a tuple has */
    int mirror;               /* 1: one triangle of a symmetric matrix; -1: of a skew-symmetric one; 0: neither */
    int64_t *before;          /* mirrored: entries of both triangles in the tuples before: [n + 1] */
    bool iso;                 /* there is one value, of all entries */
    uint64_t *sums;           /* [n][components]; NULL: none */
    int64_t *of, *rows;       /* of each tuple: entries, and rows that have any; NULL: not known */
    int64_t fullest;          /* entries of one row, at most, */
    double squares;           /* and the sum of their squares over all rows; 0: not known */
    double *logs;             /* what tra_rel_column_logs has found: columns, then entries; NULL: nothing yet */
    const tra_rel *met;       /* of the last tra_rel_products: with what, */
    double products;          /* and how many */
    int64_t stored_bytes, held;
    char text[TRA_LEVELTEXT];
    struct tra_mapping *mapping; /* the tensor is what a mapping makes of components (stored_mapping.c); NULL: levels */
};

/* Does the group hold a tensor? */
bool tra_stored_is(hid_t group);
/* Of a group that tra wrote, with its tables: how many tuples it has; then, with the catalog of these, the rest. Under
 * the lock. */
TRA_MUSTUSE tra_status tra_stored_tuples(tra_rel *r, int64_t *n, tra_err *e);
TRA_MUSTUSE tra_status tra_stored_open(tra_rel *r, tra_err *e);
/* Of a group that another program wrote: its catalog and type too. block may be NULL. */
TRA_MUSTUSE tra_status tra_stored_foreign(tra_rel *r, const tra_dims *block, tra_err *e);
/* A component of the group, of the dataset `name` in it; TRA_INPUT unless it has one dimension. Under the lock. */
TRA_MUSTUSE tra_status tra_vector_open(tra_rel *r, hid_t group, const char *name, hid_t memory, tra_vector *out,
                                       tra_err *e);
/* What the relation is, when its sources and `begin` are known: type, entries, what it holds. */
TRA_MUSTUSE tra_status tra_stored_complete(tra_rel *r, tra_err *e);
/* Of a group that names a storage statement and holds its components: the same. */
bool tra_stored_is_mapping(const char *text);
TRA_MUSTUSE tra_status tra_stored_mapping(tra_rel *r, const char *text, tra_err *e);
/* Calls the sink for each entry that the mapping gives of a tuple, in any order, with its value of the relation's type.
 * room: for what was packed of it, aligned to 8. */
typedef tra_status tra_mapping_sink(void *ctx, int64_t row, int64_t column, const void *value, tra_err *e);
TRA_MUSTUSE tra_status tra_mapping_run(const tra_rel *r, int64_t ordinal, void *room, tra_mapping_sink *sink, void *ctx,
                                       tra_err *e);
int64_t tra_mapping_scratch(const tra_rel *r); /* bytes of that room */
/* The same of what was packed (mapped.h), with its tables. */
TRA_MUSTUSE tra_status tra_stored_packed(tra_rel *r, const char *text, tra_err *e);
/* A table of 64-bit words of these extents, with its seal, from malloc; NULL: it is not there, of another form, or
 * damaged. Under the lock. */
int64_t *tra_stored_words(tra_rel *r, const char *table, int ndims, const int64_t *dims);
void tra_mapping_free(struct tra_mapping *p);
/* Of one triangle, which is one tuple yet: entries of both before each of n granules of so many coordinates. */
TRA_MUSTUSE tra_status tra_stored_count_mirrored(tra_rel *r, int64_t size, int64_t n, int64_t *before, tra_err *e);
void tra_stored_close(tra_rel *r);
size_t tra_stored_read_scratch(const tra_rel *r);
TRA_MUSTUSE tra_status tra_stored_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e);
/* What tra_vector_read knows of a source besides; closes it. Under the lock. */
void tra_vector_layout(tra_vector *s, hid_t type);
void tra_vector_close(tra_vector *s);
/* Elements of a source, from one on, as they are in memory. Thread-safe. */
TRA_MUSTUSE tra_status tra_vector_read(const tra_rel *r, const tra_vector *s, int64_t from, int64_t n, void *out,
                                       tra_err *e);
/* The same of whole numbers, widened. */
TRA_MUSTUSE tra_status tra_vector_ints(const tra_rel *r, const tra_vector *s, int64_t from, int64_t n, int64_t *out,
                                       tra_err *e);
/* Whole numbers as a source has them, widened. */
void tra_vector_widen(const tra_vector *s, const char *raw, int64_t n, int64_t *out);

#endif
