/* relation_file.h - a relation in a file, open or being written, as all rooms see it that know its kind. store.h
 * (lib/relation) has what callers are promised. */
#ifndef TRA_RELATION_FILE_H
#define TRA_RELATION_FILE_H

#include "codec.h"
#include "decode.h"
#include "stand_in.h"
#include "h5.h"
#include "vfd.h"

#include <stdatomic.h>

/* Fails with "FILE:NAME: " and the message, which says what is wrong with the relation that is read. */
#define TRA_REL_BAD(r, e, fmt, ...) tra_fail(e, TRA_INPUT, "%s:%s: " fmt, (r)->path, (r)->name, __VA_ARGS__)

/* ---- HDF5 (h5.c) -------------------------------------------------------------------------------------------- */

/* File access properties with the store's driver; align: raw data are aligned to 4 KiB. Negative on failure. Call this
 * and all that follows under the HDF5 lock (tra_h5_enter). */
hid_t tra_h5_fapl(bool align);
/* Fails with the message, ": " and the innermost reason of HDF5's error stack; or, where the driver f (may be NULL)
 * noted an errno, with that. */
#define tra_h5_fail(e, s, f, ...) tra_h5_fail_at(__FILE__, __LINE__, e, s, f, __VA_ARGS__)
tra_status tra_h5_fail_at(const char *file, int line, tra_err *e, tra_status s, const tra_vfd *f, const char *fmt, ...)
    TRA_PRINTF(6, 7);
hid_t tra_h5_type(tra_dtype t);       /* not to be closed; of a bool the enumeration that h5py writes */
hid_t tra_h5_plain_type(tra_dtype t); /* the same, but of a bool the integer of one byte */
/* The narrowest element type that holds the values of an HDF5 type (long doubles are rounded); false: there is none.
 * *u64: the HDF5 type has 64 bits without a sign, so that some values are beyond the i64 that it is read as. */
bool tra_h5_dtype(hid_t type, tra_dtype *t, bool *u64);

/* The name of filter i of a dataset's chunks, in the arena, and its number. */
const char *tra_h5_filter_at(hid_t dcpl, int i, tra_arena *a, H5Z_filter_t *id);
/* The first filter of a dataset's chunks that is not installed here, in the arena; NULL: all are. And what is said of
 * it. */
const char *tra_h5_missing_filter(hid_t dset, tra_arena *a);
#define TRA_MISSING_FILTER "went through the HDF5 filter %s, whose plugin is not installed here"

bool tra_h5_exists(hid_t loc, const char *path); /* Do all links of the path exist, and the object they lead to? */

/* Opens a file for reading. TRA_INPUT. */
TRA_MUSTUSE tra_status tra_h5_open(const char *path, hid_t *file, tra_err *e);
/* Follows the links to *name in a file that is at path `at` (links.c). *name becomes the path of the object itself. If
 * a link leads to another file, *path becomes that file and *name the path in it, which may have further links; else
 * *path is NULL. False: the links form a circle. */
bool tra_h5_follow(hid_t file, const char *at, const char **name, const char **path, tra_arena *a);
/* Checks that all parts of a virtual dataset exist: where one does not, the library would read the fill value;
 * TRA_INPUT. *identity: a number that changes when one of the parts' files does. */
TRA_MUSTUSE tra_status tra_h5_parts(hid_t dcpl, const char *path, const char *name, uint64_t *identity, tra_err *e);
/* Attributes. get_ints: how many were read (at most max), or -1 when it does not exist or is not of integers. get_text:
 * in the arena; NULL: it does not exist or is no text. put_ints with n = 0 writes a scalar. */
int64_t tra_h5_get_ints(hid_t obj, const char *name, int64_t *v, int64_t max);
const char *tra_h5_get_text(hid_t obj, const char *name, tra_arena *a);
bool tra_h5_put_ints(hid_t obj, const char *name, int n, const hsize_t *dims, const int64_t *v);
bool tra_h5_put_text(hid_t obj, const char *name, const char *text);

/* A text of what checksums depend on: byte order and size of elements, chunk, filters. Tables made for another text are
 * not used. */
const char *tra_h5_pipeline(hid_t dset, tra_arena *a);

/* The attribute tra_seal is a hash of the n numbers that describe an object, by which damage is found: of a table its
 * elements, of a relation's dataset its header (tra_h5_header), which is all that its type is read from. tra_h5_sealed:
 * the seal is that of these numbers, or there is none. tra_h5_seal_more continues a hash, which begins with n. */
enum { TRA_HEADER = 4 + H5S_MAX_RANK + 5 * (1 + 3 * TRA_MAXDIM) };
int tra_h5_header(hid_t dset, int64_t *v); /* how many */
/* The most numbers that the seal of a group is of. */
enum { TRA_GROUP_HEADER = TRA_HEADER + 2 * (1 + TRA_MAXDIM) + 4 };
bool tra_h5_put_seal(hid_t obj, const int64_t *v, int64_t n);
uint64_t tra_h5_seal_more(uint64_t seal, const int64_t *v, int64_t n);
bool tra_h5_sealed(hid_t obj, const int64_t *v, int64_t n);

/* ---- tables under .tra/NAME (sealed_table.c) --------------------------------------------------------------------- */

/* The path of a table of .tra/NAME (store.h), or of that group when table is NULL. */
char *tra_table_path(tra_arena *a, const char *name, const char *table);
hid_t tra_tables_group(tra_writer *w); /* the group of its tables, created if need be; the caller closes it */
/* Writes a table of n dimensions of numbers of 64 bits or fewer, with its seal. */
bool tra_h5_put_table(hid_t group, const char *name, hid_t filetype, hid_t memtype, int n, const hsize_t *dims,
                      const void *v);
/* Reads a table of integers, of just these extents; or of any, with *n numbers. From malloc; NULL: it does not exist,
 * is of another form, or is damaged. Under the HDF5 lock. */
int64_t *tra_sealed_table(tra_rel *r, const char *table, int ndims, const int64_t *dims);
int64_t *tra_sealed_numbers(tra_rel *r, const char *table, int64_t *n);
/* Where the n numbers of a table are in the file r->vfd->fd; `check`: all are read for their seal. False: they are not
 * stored one after another as they are in memory, or are damaged, or there are none. */
bool tra_sealed_place(tra_rel *r, const char *table, bool check, int64_t *n, int64_t *at);

/* Are the checksums kept for each chunk of the grid? Else, with too many holes, for each tuple. */
static inline bool tra_sums_over_grid(int64_t cells, int64_t n) { return cells / 8 <= n + 512; }

/* The checksum of a chunk does not cover its filter mask, which is in HDF5's index. So these terms are added up over
 * all chunks, in any order, and the sum is an attribute of the table of checksums. */
uint64_t tra_mask_sum(int64_t ordinal, uint32_t mask);

/* Chunks in whole pages of at least TRA_DIRECT bytes are read and written past the page cache; for smaller ones the
 * cost of each request outweighs that. */
enum { TRA_PAGE = 4096, TRA_DIRECT = 256 << 10 };

/* Opens a relation that is in no file (made.c). */
TRA_MUSTUSE tra_status tra_made_open(tra_rel *r, const char *spec, tra_err *e);

/* ---- kinds of relations in files -------------------------------------------------------------------------------- */

typedef struct tra_packer tra_packer; /* pack.h */

/* What differs between the kinds of relations in files. Opening a relation, or creating a writer, chooses its row. All
 * others call the functions of the row, and do not ask for the kind. NULL: there is nothing to do. */
typedef struct tra_file_kind {
    /* Is a group such a relation? NULL: it is a dataset. Under the HDF5 lock, as begin, open and close. */
    bool (*is)(hid_t group);
    void (*begin)(tra_rel *r); /* r->dset is open */
    tra_status (*open)(tra_rel *r, const tra_dims *block, tra_err *e);
    void (*close)(tra_rel *r);
    /* tra_rel_read, and the bytes of its scratch; tra_rel_check. */
    tra_status (*read)(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e);
    size_t (*read_scratch)(const tra_rel *r);
    tra_status (*check)(tra_rel *r, tra_err *e);
    int64_t (*held)(const tra_rel *r); /* bytes of memory that it holds while it is open */
    int64_t (*stored_bytes)(const tra_rel *r);
    uint64_t (*identity)(tra_rel *r); /* a hash of all checksums; 0: there are none */

    tra_status (*prepare)(tra_writer *w, const tra_write_options *o, tra_err *e);
    tra_status (*create)(tra_writer *w, tra_err *e); /* in the new file. Under the HDF5 lock. */
    void (*free)(tra_writer *w);
    /* What tra_writer_describe adds to the blob, and what makes a writer of it. */
    void (*blob)(const tra_writer *w, tra_str *blob);
    tra_status (*attach)(tra_writer *w, const char *blob, size_t n, tra_err *e);
    tra_status (*put)(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e);
    size_t (*put_scratch)(const tra_writer *w);
    int (*facts)(const tra_writer *w); /* words of each tuple in w->sums; the first is not 0 once the tuple is put */
    tra_status (*pack)(tra_writer *w, tra_packer *x, tra_err *e); /* compresses what is in w->raw */
    tra_status (*finish)(tra_writer *w, tra_err *e);              /* all is put. Without the HDF5 lock. */
    bool (*describe)(tra_writer *w, const char *digest); /* writes attributes and tables. Under the HDF5 lock. */
} tra_file_kind;

/* Each array is a chunk of a dataset (lib/dense). Arrays are stored by levels, or packed by a mapping; or there is one
 * block of components, which is read as levels are (both lib/storage). The rows of a table (lib/tablefile). */
extern const tra_file_kind tra_kind_chunks, tra_kind_levels, tra_kind_components, tra_kind_table;

/* ---- reader (file.c opens, reader.c reads) ---------------------------------------------------------------------- */

struct tra_rel {
    tra_arena *arena;
    const tra_file_kind *kind;
    const char *path, *name; /* name: of the dataset or group */
    hid_t file, dset;
    tra_vfd *vfd;
    tra_stand_in stand_in; /* identity NULL: there is none */
    int outside;           /* BY_ROW: the file that has the elements, where it is not this one; else -1 */
    tra_catalog cat;
    tra_type type;
    tra_geom geom; /* with dims, chunk and grid as they are in the file (contiguous: of the blocks) */
    size_t size;   /* bytes of an element as it is read; those of the type where nothing is to be decoded */
    bool u64;      /* the file holds u64; the type says i64, and elements of 2^63 and more are refused, */
    bool keep_u64; /* unless the caller asked for them as they are (tra_rel_keep_u64) */
    bool ours;     /* tra wrote it */
    bool scalar;   /* a dataset without dimensions */
    /* The file has the last dimension first, as MATLAB and Octave write it: `cat` is of the file's dimensions, and that
     * of the type, `shown`, has them in the other order. */
    bool turned;
    tra_catalog shown;
    bool raw;                 /* the numbers are wanted as they are stored */
    const tra_decode *decode; /* of another program: how elements become those of the type; NULL: they are */
    /* How arrays are read: pread of a chunk, pread of rows of a contiguous dataset, H5Dread, or made
     * (tra_rel_made). */
    enum { TRA_BY_CHUNK, TRA_BY_ROW, TRA_BY_LIBRARY, TRA_BY_VALUES } how;
    const struct gen_values *values; /* BY_VALUES */
    int64_t library_bytes;           /* BY_LIBRARY: bytes that HDF5 takes for a read */
    tra_pipeline pipeline;           /* BY_CHUNK */
    int64_t base;                    /* BY_ROW: address of the first element */
    bool virtual;                    /* its elements are those of other datasets, */
    uint64_t parts_identity;         /* which this identifies (tra_h5_parts) */
    bool has_tables;                 /* .tra/NAME exists and describes the dataset as it is now */
    bool has_sums;                   /* and so it has checksums */
    tra_relinfo info;
    /* What follows is loaded at the first read, under the HDF5 lock; `loaded` is set last. */
    _Atomic bool loaded;
    tra_chunkref *chunks; /* BY_CHUNK: of each tuple */
    uint64_t *sums;       /* of each tuple, or NULL */
    bool has_mask_sum;    /* the file has the sum of tra_mask_sum */
    uint64_t mask_sum;
    _Atomic bool *checked;               /* with sums: the chunk was read before and had its checksum */
    int direct_fd;                       /* the file opened past the page cache; -1: no chunk can be read so */
    char fill[8];                        /* BY_CHUNK, foreign: value of elements of chunks that are not allocated */
    bool stored_bytes_known;             /* info.stored_bytes was asked for */
    struct tra_table *table;             /* not NULL: a table (table_int.h), and dset is its group */
    const tra_schema *chosen_columns;    /* columns that are read; NULL: all */
    const int64_t *wanted_rows;          /* blocks for which this is 0 are skipped; NULL: none */
    const struct tra_row_filter *filter; /* rows that are read; NULL: all */
    const struct tra_dim_labels *const *labels; /* NULL: not asked for yet, or there are none */
    int64_t labels_bytes;                       /* bytes that the labels take */
    const tra_err *lack;       /* not NULL: why strings of it are not read: they do not fit below the ceiling */
    struct tra_stored *stored; /* not NULL: stored by levels or a mapping (stored_int.h), and dset is a group */
};

/* HDF5's type of the elements in memory. */
static inline hid_t tra_rel_memory_type(const tra_rel *r) {
    if (r->decode) return r->decode->memory;
    return r->u64 ? H5T_NATIVE_UINT64 : tra_h5_type(r->type.dtype);
}

/* ---- writer (writer.c, attributes.c) ---------------------------------------------------------------------------- */

/* A new file. All writers of one process whose relations go into it share it. */
typedef struct tra_new_file {
    struct tra_new_file *next; /* of the process */
    int writers;
    bool replaces; /* one writer's target names a file without a relation: it replaces all that was there */
    char *path, *tag;
    tra_temp made; /* the temporary file */
    char **names;  /* of its relations */
    int nnames;
    hid_t file; /* -1 when closed */
    tra_vfd *vfd;
} tra_new_file;

struct tra_writer {
    tra_arena *arena;
    const tra_file_kind *kind;
    tra_new_file *shared;           /* creator */
    const char *path, *temp, *name; /* target, temporary file, dataset */
    tra_type type;
    tra_geom geom;
    tra_codec codec;
    const char *history, *units;
    size_t size; /* of an element */
    int64_t chunk_bytes;
    bool creator;
    bool whole;      /* the target names a file without a relation: it replaces all that was there */
    const char *tag; /* tra_write_options.tag */
    bool reuse;      /* a temporary file that an earlier process left is to be used */
    bool reused;     /* and there was one */
    int gzip;        /* level of deflate, done by HDF5; 0: no deflate */
    int fd;          /* of the temporary file; the creator's is shared->made.fd */
    int direct_fd;   /* the same file past the page cache; -1: not open */
    /* Codec zstd, of kinds whose chunks hold parts of several tuples: the file in which these come together, from which
     * pack.c makes the chunks when all are there, and then packed is set. Else it has no path. */
    tra_temp raw;
    int data_fd; /* where elements are put: that file, or the temporary file; -1: not open */
    bool packed;
    hid_t file, dset; /* creator; -1 when closed */
    tra_vfd *vfd;
    int64_t *addr; /* codec none: of each tuple */
    uint64_t *sums;
    uint64_t mask_sum; /* codec zstd: sum of tra_mask_sum */
    int64_t stored;
    struct tra_placing *placing;     /* not NULL: stored by levels or a mapping (stored_int.h), and dset is a group */
    struct tra_table_placing *table; /* not NULL: a table (table_int.h), and dset is a group */
    const struct tra_dim_labels *const *labels; /* labels of dimensions (scales.h); NULL: none */
    const char **dimension;                     /* and the names of the dimensions, */
    const char **scale;                         /* and paths of their scales */
    const struct tra_mapped *mapped;            /* not NULL: one block whose components are given (mapped.h) */
};

/* Parts of what describes a relation (attributes.c): the attributes of layout, cut sets and extents; of digest and
 * history; the tables of keys and extents. */
bool tra_writer_put_cuts(tra_writer *w);
bool tra_writer_put_notes(tra_writer *w, const char *digest);
bool tra_writer_put_lists(tra_writer *w, hid_t group);

/* ---- writing (writer.c, for writer_arrays.c) --------------------------------------------------------------------- */

/* Claims disk space for the first so many bytes of a file of the writer, so that a full disk is found before the work
 * and not after it. TRA_RESOURCE; file systems that cannot do that are fine. */
TRA_MUSTUSE tra_status tra_writer_reserve(const tra_writer *w, int fd, int64_t bytes, tra_err *e);

#endif
