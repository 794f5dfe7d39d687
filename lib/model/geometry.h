/* geometry.h - where the array of a key lies in the dataset of a relation (man tra-relation.5). */
#ifndef TRA_GEOMETRY_H
#define TRA_GEOMETRY_H

#include "relation.h"

typedef struct tra_geom {
    tra_dims dims, chunk; /* extents and chunk of the dataset; at least one dimension */
    bool tuple;           /* tuple layout */
    int lead; /* dimensions that are keys and block nothing (chunk 1) come first, then one for each array dimension */
    int8_t key[TRA_MAXDIM]; /* key dimension that counts the chunks along the dataset's dimension; -1: there is one
                               chunk */
    tra_dims grid;          /* chunks along each dimension */
    int64_t nchunks;        /* chunks in the grid */
    int64_t chunk_elements; /* elements of one chunk */
} tra_geom;

/* The geometry of a type; tra_geom_in: in the layout told. TRA_INPUT: sizes overflow. */
TRA_MUSTUSE tra_status tra_geom_of(const tra_type *t, tra_geom *g, tra_err *e);
TRA_MUSTUSE tra_status tra_geom_in(const tra_type *t, bool tuple, tra_geom *g, tra_err *e); /* in the layout told */
/* TRA_INPUT if an array is too large for a chunk of HDF5 (4 GiB). */
TRA_MUSTUSE tra_status tra_geom_fits(const tra_type *t, const tra_geom *g, tra_err *e);
void tra_geom_offset(const tra_geom *g, const tra_dims *key,
                     int64_t off[TRA_MAXDIM]); /* where the chunk of a key begins, in elements */
int64_t tra_geom_chunk_number(const tra_geom *g, const tra_dims *key); /* its row-major position in grid */

/* The dataset that a type is stored as (man tra-relation.5): its extents and its chunk; key dimensions that cut nothing
 * come first. *tuple: it is in tuple layout. */
void tra_store_layout(const tra_type *t, tra_dims *dims, tra_dims *chunk, bool *tuple);
int64_t tra_store_chunk_bytes(const tra_type *t); /* bytes of one of its chunks before encoding */
/* Bytes of memory that a relation takes while it is open or written: its keys, the places of their chunks, and HDF5's
 * index of them. */
int64_t tra_store_index_bytes(const tra_catalog *c);

#endif
