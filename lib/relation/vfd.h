/* vfd.h - the HDF5 file driver of the store: plain pread/pwrite that can capture addresses.
 *
 * While `capture` is set, raw data (chunks) are neither read nor written: the driver notes where the library wanted
 * to. H5Dread_chunk then answers "where is this chunk" in O(log n), H5Dwrite_chunk means "allocate and index it". The
 * bytes themselves are moved by pread and pwrite of the store, in any thread and any process. The driver takes no
 * file locks.
 *
 * All fields are used under the store's HDF5 lock, but for fd.
 */
#ifndef TRA_VFD_H
#define TRA_VFD_H

#include <hdf5.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct tra_vfd {
    H5FD_t pub; /* must be first */
    int fd;
    dev_t dev;
    ino_t ino;
    haddr_t eoa, eof; /* eof counts captured writes, which others carry out */
    bool capture;
    int noted;    /* raw data accesses since capture was set */
    haddr_t addr; /* of the last one, in the file */
    size_t len;
    bool discard; /* the file will be removed, or left as it is: writes are dropped, so that closing cannot fail */
    bool kept;    /* made with tra_vfd_new.keep: it may be longer than what is written to it */
    bool blind;   /* data that cannot be read reads as zeros, besides setting err */
    int err;      /* errno of the first failed operation, 0 */
    bool lost;    /* a write has failed: the others are dropped, and closing fails */
} tra_vfd;

/* The driver makes no files: what the library is to create is this open file (fd, -1 when there is none), whatever name
 * the library calls it. With keep its contents stay while it looks empty to the library: what was written at addresses
 * that the library will give out again is still there. Under the store's lock. */
extern struct tra_vfd_new {
    int fd;
    bool keep;
    int err; /* errno, when the driver could not take it */
} tra_vfd_new;

extern int tra_vfd_last; /* descriptor of the file that was read last; -1 */

hid_t tra_vfd_register(void);    /* driver id, negative on failure; once per process */
tra_vfd *tra_vfd_of(hid_t file); /* the driver's state of an open file; NULL if it is another driver's */

#endif
