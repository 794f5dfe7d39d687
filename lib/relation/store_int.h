/* store_int.h - what the files of the store share. See store.h for the contract of the room. */
#ifndef TRA_STORE_INT_H
#define TRA_STORE_INT_H

#include "../base/newfile.h"
#include "codec.h"
#include "store.h"
#include "vfd.h"

#include <stdatomic.h>

/* ---- geometry (layout.c): where the array of a key lies in the dataset ------------------------------------------ */

typedef struct tra_geom {
    tra_dims dims, chunk;   /* of the dataset, as the type wants it; at least one dimension */
    bool tuple;             /* tuple layout */
    int lead;               /* leading dimensions that are keys, chunk 1; then one for each array dimension */
    int8_t key[TRA_MAXDIM]; /* key dimension that moves along the dataset's dimension, or -1 */
    tra_dims grid;          /* chunks along each dimension */
    int64_t cells;          /* chunks in the grid */
    int64_t floats;         /* elements of one chunk */
} tra_geom;

TRA_MUSTUSE tra_status tra_geom_of(const tra_type *t, tra_geom *g, tra_err *e); /* sizes that overflow are refused */
TRA_MUSTUSE tra_status tra_geom_in(const tra_type *t, bool tuple, tra_geom *g, tra_err *e); /* in the layout told */
/* Is an array small enough for a chunk of HDF5? */
TRA_MUSTUSE tra_status tra_geom_fits(const tra_type *t, const tra_geom *g, tra_err *e);
void tra_geom_offset(const tra_geom *g, const tra_dims *key, int64_t off[TRA_MAXDIM]); /* of the chunk, in elements */
int64_t tra_geom_cell(const tra_geom *g, const tra_dims *key); /* row-major position of the chunk in grid */

/* ---- HDF5 (h5.c) -------------------------------------------------------------------------------------------- */

/* File access properties with the store's driver; align: raw data aligned to 4 KiB. Negative on failure. Under the
 * lock, as all below. */
hid_t tra_h5_fapl(bool align);
/* Fails with the message, ": " and the innermost reason of HDF5's error stack. An errno in f (may be NULL) that means
 * want of a resource decides the status. */
#define tra_h5_fail(e, s, f, ...) tra_h5_fail_at(__FILE__, __LINE__, e, s, f, __VA_ARGS__)
tra_status tra_h5_fail_at(const char *file, int line, tra_err *e, tra_status s, const tra_vfd *f, const char *fmt, ...)
    TRA_PRINTF(6, 7);
hid_t tra_h5_type(tra_dtype t); /* the library's own id, not to be closed */
/* The narrowest element type that holds the values of an HDF5 type, long doubles rounded; false: none does. *u64: what
 * it holds goes to 2^64-1, and so beyond the i64 that it is read as. */
bool tra_h5_dtype(hid_t type, tra_dtype *t, bool *u64);

bool tra_h5_exists(hid_t loc, const char *path); /* every link of the path, and an object behind the last */

/* Opens a file for reading; the names of its relations, at most so many (names.c). */
TRA_MUSTUSE tra_status tra_h5_open(const char *path, hid_t *file, tra_err *e);
bool tra_h5_is_numeric(hid_t dset); /* has it elements of a type of relations? */
void tra_h5_names(hid_t file, tra_arena *a, int most, tra_relation_names *out);

/* Links (links.c) of a file, which is at that path. *name becomes the path of the object itself, behind soft links.
 * *path: the file in which it is, where a link leads to another one, else NULL; *name may then lead on there. False:
 * links go round in a circle. */
bool tra_h5_follow(hid_t file, const char *at, const char **name, const char **path, tra_arena *a);
/* A part of a virtual dataset that is not there is an error: the library would read the fill value. *identity tells
 * whether the files of the parts are those of another time. */
TRA_MUSTUSE tra_status tra_h5_parts(hid_t dcpl, const char *path, const char *name, uint64_t *identity, tra_err *e);
/* Attributes. get_ints: number read (at most max), or -1 when absent or not integers; get_text from arena or NULL. */
int64_t tra_h5_get_ints(hid_t obj, const char *name, int64_t *v, int64_t max);
const char *tra_h5_get_text(hid_t obj, const char *name, tra_arena *a);
bool tra_h5_put_ints(hid_t obj, const char *name, int n, const hsize_t *dims, const int64_t *v); /* n = 0: a scalar */
bool tra_h5_put_text(hid_t obj, const char *name, const char *text);

/* Text that tells tables of another form of the dataset from ours: type, chunk, filters. */
const char *tra_h5_pipeline(hid_t dset, tra_arena *a);

/* The attribute tra_seal tells damage of n numbers that describe an object: of a table its elements, of a relation's
 * dataset its header, which is all that its type is read from. sealed: the numbers are those, or there is no seal. */
enum { TRA_HEADER = 4 + H5S_MAX_RANK + 5 * (1 + 3 * TRA_MAXDIM) };
int tra_h5_header(hid_t dset, int64_t v[TRA_HEADER]); /* how many */
bool tra_h5_put_seal(hid_t obj, const int64_t *v, int64_t n);
uint64_t tra_h5_seal_more(uint64_t seal, const int64_t *v, int64_t n); /* of some of them; it begins as their number */
bool tra_h5_sealed(hid_t obj, const int64_t *v, int64_t n);

/* The path of a table of .tra/NAME (store.h), or of that group when table is NULL; and whether the checksums are kept
 * over the grid of chunks. */
char *tra_table_path(tra_arena *a, const char *name, const char *table); /* table may be NULL: the group */
hid_t tra_tables_group(tra_writer *w); /* the group of its tables, made when it is not there */
static inline bool tra_table_dense(int64_t cells, int64_t n) { return cells / 8 <= n + 512; }

/* A chunk's checksum does not tell its filter mask, which HDF5's index has: these terms are added up over all chunks,
 * in any order, and the sum is an attribute of the table of checksums. */
uint64_t tra_mask_sum(int64_t ordinal, uint32_t mask);

/* Chunks in whole pages can go past the page cache; smaller ones do not: a request has its price. */
enum { TRA_PAGE = 4096, TRA_DIRECT = 256 << 10 };

/* ---- reader (file.c opens, reader.c reads) ---------------------------------------------------------------------- */

typedef struct tra_chunkref {
    int64_t addr; /* in the file; -1: not allocated */
    uint32_t len, mask;
} tra_chunkref;

struct tra_rel {
    tra_arena *arena;
    const char *path, *name; /* name is the dataset's */
    hid_t file, dset;
    tra_vfd *vfd;
    tra_catalog cat;
    tra_type type;
    tra_geom geom; /* with dims, chunk and grid as they are in the file (contiguous: as the blocks are) */
    size_t size;   /* of an element in memory */
    bool u64;      /* the file holds u64: type says i64, and elements of 2^63 and more are refused */
    bool keep_u64; /* they are not: the caller takes u64 */
    bool ours;     /* has the attributes of a relation */
    bool scalar;   /* a dataset without dimensions */
    /* pread of chunks, of contiguous rows, H5Dread, or no file at all: positions */
    enum { TRA_BY_CHUNK, TRA_BY_ROW, TRA_BY_LIBRARY, TRA_BY_POSITION } how;
    int64_t library;       /* BY_LIBRARY: bytes that this takes */
    tra_pipeline pipeline; /* BY_CHUNK */
    int64_t base;          /* BY_ROW: address of the first element */
    uint64_t parts;        /* of a virtual dataset: identity of its files */
    bool tables;           /* .tra/NAME belongs to the dataset as it is */
    bool checksums;
    tra_relinfo info;
    /* loaded at the first read, under the HDF5 lock; `loaded` is set last */
    _Atomic bool loaded;
    tra_chunkref *chunks; /* BY_CHUNK: of each tuple */
    uint64_t *sums;       /* of each tuple, or NULL */
    bool masked;          /* the file tells the sum of masks */
    uint64_t masks;
    _Atomic bool *checked; /* with sums: the chunk had its checksum when it was read */
    int direct;            /* the file without the page cache, where chunks can be read so; -1: they cannot */
    char fill[8];          /* BY_CHUNK, foreign: value of chunks that are not there */
    bool stored_known;
    struct tra_table *table;                    /* a table (table_int.h): dset is its group; */
    const tra_schema *chosen;                   /* of which these columns are read; NULL: all */
    const int64_t *rows_of;                     /* and blocks that have a number here; NULL: all */
    const struct tra_dim_labels *const *labels; /* once they were asked for and found */
    int64_t labelled;                           /* bytes that these take */
    struct tra_stored *stored; /* a group of components (stored_int.h), which dset is then; NULL: it is a dataset */
};

/* HDF5's type of the elements that are read. */
static inline hid_t tra_rel_memory_type(const tra_rel *r) {
    return r->u64 ? H5T_NATIVE_UINT64 : tra_h5_type(r->type.dtype);
}

/* ---- writer (writer.c, commit.c) ------------------------------------------------------------------------------ */

/* A new file, which the writers of its relations share in the process that creates it. */
typedef struct tra_new_file {
    struct tra_new_file *next; /* of the process */
    int writers;
    bool replaces; /* a writer's target is named as a file: it replaces all that was in it */
    char *path, *tag;
    tra_temp made; /* the temporary file */
    char **names;  /* of its relations */
    int nnames;
    hid_t file; /* -1 when closed */
    tra_vfd *vfd;
} tra_new_file;

struct tra_writer {
    tra_arena *arena;
    tra_new_file *shared;           /* creator */
    const char *path, *temp, *name; /* target, temporary file, dataset */
    tra_type type;
    tra_geom geom;
    tra_codec codec;
    const char *history;
    size_t size; /* of an element */
    int64_t chunk_bytes;
    bool creator;
    bool whole;       /* the target is named as a file: it replaces all that was in it */
    const char *tag;  /* in the name of a temporary file that outlives the process; NULL: it does not */
    bool reuse;       /* the one that an earlier process left is wanted */
    bool reused;      /* and it was there */
    int gzip;         /* level of deflate, by HDF5; 0: not */
    int fd;           /* of the temporary file; creator: that which is shared */
    int direct;       /* the same file without the page cache; -1: not there */
    hid_t file, dset; /* creator; -1 when closed */
    tra_vfd *vfd;
    int64_t *addr; /* codec none: of each tuple */
    uint64_t *sums;
    uint64_t masks; /* codec zstd: sum of tra_mask_sum */
    int64_t stored;
    struct tra_placing *placing; /* arrays are stored by levels (stored_int.h): dset is a group; NULL: they are not */
    struct tra_table_placing *table; /* a table (table_int.h): dset is a group then too */
    const struct tra_dim_labels *const
        *labels; /* of dimensions (scales.h), and the names of these; NULL: there are none */
    const char **dimension;
    const struct tra_mapped *mapped; /* so it is of an array that a mapping makes of components (mapped.h) */
};

/* Refuses a target that could not be completed: no HDF5 file, damaged, or with something else at the place of the
 * dataset or its groups. Under the HDF5 lock. */
TRA_MUSTUSE tra_status tra_writer_check_target(tra_writer *w, tra_err *e);
/* Writes attributes and tables of a relation; copies what else the target of a new file holds. Under the HDF5 lock. */
TRA_MUSTUSE tra_status tra_writer_describe_dataset(tra_writer *w, const char *digest, tra_err *e);
TRA_MUSTUSE tra_status tra_new_file_copy_others(tra_new_file *f, tra_err *e);
/* Parts of this for a group: layout, which keys cut which dimensions, and extents; digest and history; and the tables
 * of keys and extents. */
bool tra_writer_put_cuts(tra_writer *w);
bool tra_writer_put_notes(tra_writer *w, const char *digest);
bool tra_writer_put_lists(tra_writer *w, hid_t group);
/* A table with its seal. */
bool tra_h5_put_table(hid_t group, const char *name, hid_t filetype, hid_t memtype, int n, const hsize_t *dims,
                      const void *v);
/* Where the commit record of a target is. */
const char *tra_record_path(tra_arena *a, const char *path);

/* ---- writing (writer.c, for writer_arrays.c) --------------------------------------------------------------------- */

bool tra_writer_chunked(const tra_writer *w);
/* Lets the library allocate and index a chunk of len bytes. Under the lock. */
TRA_MUSTUSE tra_status tra_writer_new_chunk(tra_writer *w, int64_t ordinal, int64_t len, uint32_t mask, int64_t *addr,
                                            tra_err *e);

#endif
