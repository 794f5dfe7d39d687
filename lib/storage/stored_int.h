/* stored_int.h - shared by the files of stored relations (stored.h): the datasets of a storage, and the slices that
 * tuples have of them. */
#ifndef TRA_STORED_INT_H
#define TRA_STORED_INT_H

#include "../base/radix.h"
#include "../h5/pack.h"
#include "../model/rows.h"
#include "../h5/relation_file.h"
#include "stored.h"
#define XXH_STATIC_LINKING_ONLY /* for the size of a state */
#include <xxhash.h>

/* ---- the datasets of a storage (stored.c) ----------------------------------------------------------------------- */

/* What a dataset holds. PACKED: a component of a storage that is no levels. */
typedef enum tra_dataset_kind { TRA_POINTERS, TRA_INDICES, TRA_VALUES, TRA_COLUMNS, TRA_PACKED } tra_dataset_kind;

/* A dataset of which each tuple has a slice; the slices lie one after the other in the order of keys. A slice of
 * pointers holds the ends of the ranges of positions below each position above; the dataset begins with a 0 before all
 * slices. */
typedef struct tra_dataset {
    char name[64];
    tra_dataset_kind kind;
    int level;   /* the level that it belongs to */
    size_t each; /* bytes of an element */
} tra_dataset;

enum { TRA_MAXCOMPONENTS = 2 * TRA_MAXDIM + 2 };

/* Which datasets the arrays of a relation are stored as. */
typedef struct tra_form {
    tra_levels levels;
    bool packed;             /* there are no levels, but components of a mapping */
    int64_t ext[TRA_MAXDIM]; /* of each level: its extent; a dense one has so many positions below each above */
    int group[TRA_MAXDIM]; /* of each level: 0 for a dense one; for a sparse one 1 + the singletons after it; for those
                              singletons -1 */
    int pointers[TRA_MAXDIM], indices[TRA_MAXDIM]; /* of each level: which of c, or -1 */
    int values, columns;                           /* which of c; columns -1: not kept */
    bool alone; /* one tuple, so that the file's levels are those of the whole tensor */
    int depth;  /* which level of the file is the first one of a tuple: 0 if alone, else the arity of the keys */
    int n;
    tra_dataset c[TRA_MAXCOMPONENTS];
} tra_form;

/* The datasets for arrays stored by such levels. ext: by dimension, the bounds of the catalog. depth: arity of the
 * keys. value: bytes of an element. */
void tra_form_of(const tra_levels *l, const tra_dims *ext, int depth, bool alone, size_t value, tra_form *f);
/* Does the catalog have one tuple, the only one that it can have? */
bool tra_catalog_is_one_block(const tra_catalog *c);
size_t tra_index_size(int64_t extent); /* bytes of an index along such an extent */

/* How many elements of a dataset a tuple with such counts of positions has; last: the last extent of its array. */
int64_t tra_form_length(const tra_form *f, int component, const int64_t *counts, int64_t last);
/* Do the counts of levels fit each other and the extents? */
bool tra_form_counts_fit(const tra_form *f, const int64_t *counts);

enum { TRA_MAPPING_TEXT = 32 << 10 }; /* attributes of the earliest format end at 64 KiB */

/* ---- sorting entries --------------------------------------------------------------------------------------------- */

/* hi, then lo, are compared; i is the number of the entry. */
typedef struct tra_sort_item {
    uint64_t hi, lo;
    uint32_t i;
} tra_sort_item;
/* A stable sort by hi, then lo; tmp has the size of v. Returns where the result is, v or tmp. */
static inline tra_sort_item *tra_sort_items(tra_sort_item *v, tra_sort_item *tmp, int64_t n) {
    tra_sort_item *low = tra_radix_sort(v, tmp, n, sizeof *v, offsetof(tra_sort_item, lo));
    return tra_radix_sort(low, low == v ? tmp : v, n, sizeof *v, offsetof(tra_sort_item, hi));
}

/* ---- statistics ------------------------------------------------------------------------------------------------- */

/* In files, statistics are 64-bit words: first those of rows, then of each sparse level; each is a tra_spread with
 * flags after its fifth word. */
enum { TRA_SPREAD_WORDS = 6 + TRA_LOGS };
enum { TRA_FLAG_SORTED = 1, TRA_FLAG_UNIQUE = 2, TRA_FLAG_FINITE = 4 };
static inline int tra_form_spreads(const tra_form *f) {
    int n = 1;
    if (f->packed) return 0;
    for (int l = 0; l < f->levels.n; l++) n += f->group[l] > 0;
    return n;
}
/* Adds a parent with so many positions (at least 1) at coordinates first .. last. Writes a spread as words. */
static inline void tra_spread_add(tra_spread *s, int64_t children, int64_t first, int64_t last) {
    int log = 63 - __builtin_clzll((unsigned long long)children);
    int64_t square;
    s->parents++;
    s->entries += children;
    if (__builtin_mul_overflow(children, children, &square) || __builtin_add_overflow(s->squares, square, &s->squares))
        s->squares = INT64_MAX;
    s->most = tra_max64(s->most, children);
    s->span = tra_max64(s->span, last - first + 1);
    s->logs[log < TRA_LOGS ? log : TRA_LOGS - 1]++;
}
void tra_spread_store(uint64_t *to, const tra_spread *s, bool finite);
/* Words that a writer keeps for each tuple: the checksums of its slices and its statistics; packed: the checksums and
 * how many entries the mapping emits. */
static inline int tra_form_fact_words(const tra_form *f) {
    return f->n + f->packed + tra_form_spreads(f) * TRA_SPREAD_WORDS;
}
/* Counts that a writer keeps for each tuple: positions at each level; packed: elements of each component. */
static inline int tra_form_counts(const tra_form *f) { return f->packed ? f->n : f->levels.n; }

/* ---- writing (stored_put.c, stored_file.c) ---------------------------------------------------------------------- */

/* The part of a tra_writer that stored relations need. */
struct tra_placing {
    tra_form form;
    const char *text;                /* packed, creator only: the storage statement */
    int64_t *counts;                 /* [n][tra_form_counts]; NULL: not placed yet */
    int64_t *begin;                  /* [n + 1][components]: where slices begin, in elements */
    int64_t addr[TRA_MAXCOMPONENTS]; /* of the dataset's first slice */
};

TRA_MUSTUSE tra_status tra_stored_create_group(tra_writer *w, tra_err *e); /* under the lock */
TRA_MUSTUSE tra_status tra_stored_put(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e);
size_t tra_stored_put_scratch(const tra_writer *w);
bool tra_stored_describe(tra_writer *w, const char *digest);
/* The numbers that the seal of the group covers; returns how many. */
int tra_stored_header(hid_t group, int64_t *v);

/* ---- reading (stored_open.c, stored_read.c) --------------------------------------------------------------------- */

/* A dataset from which slices are read. */
typedef struct tra_dataset_reader {
    hid_t dset, memory; /* memory: HDF5's type of elements in memory */
    int64_t count;      /* elements */
    int64_t base;       /* address of element 0 where it is contiguous and has the bytes of memory; else -1 */
    size_t each;        /* bytes of an element in memory */
    bool sign;          /* the memory type is of integers with a sign */
    bool compressed;    /* in chunks that tra can decode without HDF5 */
    tra_pipeline pipeline;
    tra_chunkref
        *chunk; /* compressed: where chunks are; found at the first read, under the HDF5 lock; `found` is set last */
    _Atomic bool found;
} tra_dataset_reader;

typedef struct tra_kept_sample {
    struct tra_kept_sample *next;
    uint64_t key;
    tra_product_sample sample;
} tra_kept_sample;

/* The part of a tra_rel that stored relations need. */
struct tra_stored {
    tra_form form;
    tra_dataset_reader c[TRA_MAXCOMPONENTS];
    int64_t *begin;           /* [levels][n + 1]: how many positions of each level are before a tuple */
    int64_t most[TRA_MAXDIM]; /* the most positions of each level that a tuple has; mirrored: of the last level, the
                                 most entries */
    bool unordered;           /* of another program or a mapping: entries come in any order, and duplicates are added */
    int64_t outer;            /* unordered: extent of a block along the outer dimension */
    int mirror; /* the file has one triangle of a symmetric matrix (1) or of a skew-symmetric one (-1); 0: it has all */
    int64_t *before;       /* mirrored: [n + 1] how many entries of both triangles are in the tuples before */
    int64_t said;          /* of another program: how many values its attribute says it has; -1: it does not */
    bool iso;              /* all entries have the same value, which is stored once */
    uint64_t *sums;        /* [n][datasets] checksums of slices; NULL: none */
    _Atomic bool *checked; /* with sums: the tuple was read before, and its slices had theirs */
    int64_t *of, *rows;    /* of each tuple: its entries, and rows that have entries; NULL: not known */
    int64_t fullest;       /* the most entries of one row, */
    double squares;        /* the sum over all rows of their squares, */
    int64_t span;          /* and the longest way from the first to the last of a row; 0: not known */
    bool distrusted;       /* its counts of columns were found damaged, and this was said */
    double *logs[2]; /* what tra_rel_line_histogram has found, of rows and of columns: lines, then entries; or NULL */
    struct {
        const tra_rel *with; /* the last tra_rel_meeting_pairs: its second relation, */
        int dims;            /* twice the first dimension and the second, */
        double n;            /* and its result */
    } pairs;
    tra_kept_sample *samples; /* tra_rel_keep_sample */
    int64_t stored_bytes, held;
    char text[TRA_LEVELTEXT];
    tra_rel *transposed;         /* tra_rel_transposed, once it was asked for; NULL: not yet */
    bool is_transposed;          /* it is that of another one, which owns the datasets */
    struct tra_mapping *mapping; /* not NULL: a mapping computes the tensor from components (stored_mapping.c) */
};

/* Does the group hold a tensor, of tra or of another program? */
bool tra_stored_is(hid_t group);
/* The functions of tra_kind_levels (relation_file.h). */
void tra_stored_begin(tra_rel *r);
TRA_MUSTUSE tra_status tra_stored_open(tra_rel *r, const tra_dims *block, tra_err *e);
TRA_MUSTUSE tra_status tra_stored_check(tra_rel *r, tra_err *e);
int64_t tra_stored_held(const tra_rel *r);
int64_t tra_stored_bytes(const tra_rel *r);
uint64_t tra_stored_identity(tra_rel *r);
/* Opens a group that another program wrote, and makes its catalog and type. block may be NULL (store.h). */
TRA_MUSTUSE tra_status tra_stored_foreign(tra_rel *r, const tra_dims *block, tra_err *e);
/* Opens dataset `name` of the group. memory < 0: of integers, as they are. TRA_INPUT unless it has one dimension and
 * such elements. Under the HDF5 lock. */
TRA_MUSTUSE tra_status tra_dataset_open(tra_rel *r, hid_t group, const char *name, hid_t memory,
                                        tra_dataset_reader *out, tra_err *e);
/* Sets type and entries of the relation, when its datasets are open and `begin` is known. */
TRA_MUSTUSE tra_status tra_stored_complete(tra_rel *r, tra_err *e);
/* Sets entries of each tuple, and its rows that have any, from the statistics: those of rows are the first spread; of a
 * transposed one the last. */
TRA_MUSTUSE tra_status tra_stored_find_entries(tra_rel *r, tra_err *e);
void tra_stored_close_transposed(tra_rel *r);
/* Are its entries walked through, by their coordinates? And adds to all[n] how many each row (d 0) or column (1) of a
 * matrix has. */
bool tra_stored_can_walk(const tra_rel *r);
TRA_MUSTUSE tra_status tra_stored_count_lines(const tra_rel *r, int d, uint32_t *all, int64_t n, tra_err *e);
/* Is the attribute tra_storage a storage statement, rather than levels? Opens such a group of one block, whose
 * components are all read now. */
bool tra_stored_is_mapping(const char *text);
TRA_MUSTUSE tra_status tra_stored_mapping(tra_rel *r, const char *text, tra_err *e);
/* Calls the sink for each entry that the mapping emits for a tuple, in any order, with its value in the relation's
 * type. room: tra_mapping_scratch bytes aligned to 8, for the components of the tuple. */
typedef tra_status tra_mapping_sink(void *ctx, int64_t row, int64_t column, const void *value, tra_err *e);
TRA_MUSTUSE tra_status tra_mapping_run(const tra_rel *r, int64_t ordinal, void *room, tra_mapping_sink *sink, void *ctx,
                                       tra_err *e);
int64_t tra_mapping_scratch(const tra_rel *r); /* bytes of room */
/* Opens a group whose arrays were packed (mapped.h). */
TRA_MUSTUSE tra_status tra_stored_packed(tra_rel *r, const char *text, tra_err *e);
void tra_mapping_free(struct tra_mapping *p);
/* For a file of one triangle, opened as one tuple: before[g] becomes the number of entries, of both triangles, before
 * granule g of `size` coordinates of the outer dimension; n granules. */
TRA_MUSTUSE tra_status tra_stored_count_mirrored(tra_rel *r, int64_t size, int64_t n, int64_t *before, tra_err *e);
void tra_stored_close(tra_rel *r);
size_t tra_stored_read_scratch(const tra_rel *r);
TRA_MUSTUSE tra_status tra_stored_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e);
/* Finds out how its elements can be read (base, compressed); closes it. Under the HDF5 lock. */
void tra_dataset_find_access(tra_dataset_reader *s, hid_t type);
void tra_dataset_close(tra_dataset_reader *s);
/* Reads elements from .. from + n - 1 as they are in memory. Thread-safe. TRA_INPUT. */
TRA_MUSTUSE tra_status tra_dataset_read(const tra_rel *r, const tra_dataset_reader *s, int64_t from, int64_t n,
                                        void *out, tra_err *e);
/* The same of integers, as int64_t. */
TRA_MUSTUSE tra_status tra_dataset_read_ints(const tra_rel *r, const tra_dataset_reader *s, int64_t from, int64_t n,
                                             int64_t *out, tra_err *e);
/* Integers of the memory type to int64_t. */
void tra_dataset_widen(const tra_dataset_reader *s, const char *raw, int64_t n, int64_t *out);

#endif
