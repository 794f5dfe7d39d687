/* digest.h - the digest of a tensor's values (man tra-relation.5). */
#ifndef TRA_DIGEST_H
#define TRA_DIGEST_H

#include "relation.h"

/* The digest of a tensor's values (man tra-relation.5): a 128-bit sum, over elements that are not zero, of a mix of
 * row-major index and bits; so parts can be added in any order and on any rank. A relation in tuple layout is digested
 * as the dataset that it would be stored as. */
typedef struct tra_digest {
    uint64_t lo, hi;
} tra_digest;
/* Adds arrays to a digest. new finds out what all tuples of a type have in common (for a list by a walk over its
 * tuples); the type's catalog must outlive it. Several threads may add at once, each to a digest of its own. */
typedef struct tra_digester tra_digester;
tra_digester *tra_digester_new(const tra_type *type);
/* The same of matrices that are rows, of which transposed arrays are given. */
tra_digester *tra_digester_of_turned(const tra_type *type);
void tra_digester_add(const tra_digester *w, tra_digest *d, int64_t ordinal, const void *data);
void tra_digester_free(tra_digester *w);
/* The same for a single array; for many arrays of a list it is slow. */
void tra_digest_array(tra_digest *d, const tra_type *type, int64_t ordinal, const void *data);
/* Adds one element of a tensor, at this row-major index. */
void tra_digest_element(tra_digest *d, tra_dtype type, const void *element, uint64_t index);
void tra_digest_add(tra_digest *d, const tra_digest *part);
/* Mixes in shape and type; gives 32 hexadecimal digits and NUL. */
void tra_digest_text(const tra_digest *d, const tra_type *type, char text[33]);

#endif
