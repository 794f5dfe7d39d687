/* vfd.h - the HDF5 file driver of the store: plain pread and pwrite, and it can capture addresses.
 *
 * While `capture` is set, raw data (chunks) are neither read nor written; the driver only notes at which address the
 * library wanted to. So H5Dread_chunk answers where a chunk is, in O(log n), and H5Dwrite_chunk allocates and indexes
 * one. The store moves the bytes itself, by pread and pwrite in any thread and any process. The driver takes no file
 * locks.
 *
 * All fields but fd are used under the store's HDF5 lock.
 */
#ifndef TRA_VFD_H
#define TRA_VFD_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct tra_vfd {
    H5FD_t pub; /* must be first */
    int fd;
    dev_t dev;
    ino_t ino;
    haddr_t eoa, eof; /* eof includes captured writes, which the store carries out */
    bool capture;
    int noted;    /* raw data accesses since capture was set */
    haddr_t addr; /* of the last one, in the file */
    size_t len;
    bool discard; /* the file will be removed or left as it is: writes are dropped, so that closing cannot fail */
    bool kept;    /* opened with tra_vfd_new.keep: the file may be longer than what HDF5 knows of */
    bool alone;   /* HDF5 never takes it and another open file to be one */
    bool blind;   /* raw data that cannot be read is replaced by zeros; err tells */
    int err;      /* errno of the first failed operation, 0 */
    bool lost;    /* a write has failed: further ones are dropped, and closing fails */
} tra_vfd;

/* The driver does not create files. While fd is not -1, whatever file the library creates is this open one. keep: its
 * contents stay although it looks empty to the library, so that what an earlier process wrote at addresses that the
 * library will give out again is still there. Under the store's lock. */
extern struct tra_vfd_new {
    int fd;
    bool keep;
    int err; /* errno when the driver could not use fd */
} tra_vfd_new;

extern int tra_vfd_last; /* descriptor of the file that was read last; -1: none */
/* Files that are opened while this is set are `alone`. HDF5 keeps the parts of a virtual dataset open with it, and
 * crashes where two files that it took to be one are closed, and one of them has the parts. */
extern bool tra_vfd_alone;

hid_t tra_vfd_register(void);    /* id of the driver, negative on failure; call it once per process */
tra_vfd *tra_vfd_of(hid_t file); /* state of an open file; NULL: another driver has it */

typedef struct tra_chunkref {
    int64_t addr;       /* in the file; -1: not allocated */
    uint32_t len, mask; /* bytes; HDF5's filter mask */
} tra_chunkref;
/* Where the chunk that begins at element `at` of the dataset is. False: the index does not have it. */
bool tra_vfd_find_chunk(tra_vfd *f, hid_t dset, const hsize_t *at, tra_chunkref *out);
/* Lets the library allocate and index a chunk of len bytes that begins at element `at`, without writing it. */
bool tra_vfd_allocate_chunk(tra_vfd *f, hid_t dset, const hsize_t *at, uint32_t mask, int64_t len, int64_t *addr);

#endif
