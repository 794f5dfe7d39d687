/* vfd.c - the file driver. */
#include "vfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Capturing relies on H5Dread_chunk and H5Dwrite_chunk handing the caller's buffer to the driver as it is. */
_Static_assert(H5_VERS_MAJOR == 1 && H5_VERS_MINOR == 10,
               "check in H5Dio.c and H5Dchunk.c of this version of HDF5 that "
               "the buffers of direct chunks reach the driver untouched");

#define MAXADDR ((haddr_t)INT64_MAX)

struct tra_vfd_new tra_vfd_new = {.fd = -1};
int tra_vfd_last = -1;
bool tra_vfd_alone;

static tra_vfd *vfd(H5FD_t *f) { return (tra_vfd *)f; }
static const tra_vfd *cvfd(const H5FD_t *f) { return (const tra_vfd *)f; }

static herr_t io_error(tra_vfd *f, int err) {
    if (!f->err) f->err = err;
    return -1;
}

static H5FD_t *vfd_open(const char *name, unsigned flags, hid_t fapl, haddr_t maxaddr) {
    (void)fapl, (void)maxaddr;
    bool made = tra_vfd_new.fd >= 0, kept = tra_vfd_new.keep && flags & H5F_ACC_TRUNC;
    int fd = made ? fcntl(tra_vfd_new.fd, F_DUPFD_CLOEXEC, 0)
                  : open(name, O_CLOEXEC | (flags & H5F_ACC_RDWR ? O_RDWR : O_RDONLY));
    if (made) tra_vfd_new.err = fd < 0 ? errno : 0;
    if (fd < 0) return NULL;
    struct stat st;
    tra_vfd *f = calloc(1, sizeof *f);
    bool emptied = !(flags & H5F_ACC_TRUNC) || kept || ftruncate(fd, 0) == 0;
    if (!f || !emptied || fstat(fd, &st) != 0) {
        free(f);
        close(fd);
        return NULL;
    }
    f->fd = fd;
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    f->kept = kept;
    f->alone = tra_vfd_alone;
    f->eof = kept ? 0 : (haddr_t)st.st_size;
    return &f->pub;
}

static herr_t vfd_close(H5FD_t *file) {
    int fd = vfd(file)->fd;
    bool lost = vfd(file)->lost && !vfd(file)->discard;
    free(file);
    return close(fd) == 0 && !lost ? 0 : -1;
}

static int vfd_cmp(const H5FD_t *a, const H5FD_t *b) {
    const tra_vfd *x = cvfd(a), *y = cvfd(b);
    if (x->alone || y->alone) return x->fd < y->fd ? -1 : x->fd > y->fd;
    if (x->dev != y->dev) return x->dev < y->dev ? -1 : 1;
    return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static herr_t vfd_query(const H5FD_t *file, unsigned long *flags) {
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t vfd_get_eoa(const H5FD_t *file, H5FD_mem_t type) {
    (void)type;
    return cvfd(file)->eoa;
}

static herr_t vfd_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr) {
    (void)type;
    vfd(file)->eoa = addr;
    return 0;
}

static haddr_t vfd_get_eof(const H5FD_t *file, H5FD_mem_t type) {
    (void)type;
    return cvfd(file)->eof;
}

static herr_t vfd_get_handle(H5FD_t *file, hid_t fapl, void **handle) {
    (void)fapl;
    *handle = file;
    return 0;
}

static void note(tra_vfd *f, haddr_t addr, size_t len) {
    f->noted++;
    f->addr = addr;
    f->len = len;
}

static herr_t vfd_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size, void *buf) {
    (void)dxpl;
    tra_vfd *f = vfd(file);
    tra_vfd_last = f->fd;
    if (f->capture && type == H5FD_MEM_DRAW) {
        note(f, addr, size);
        return 0;
    }
    for (char *p = buf; size > 0;) {
        ssize_t got = pread(f->fd, p, size, (off_t)addr);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            io_error(f, errno);
            if (!f->blind || type != H5FD_MEM_DRAW) return -1;
            got = 0;
        }
        if (got == 0) { /* space that was allocated but never written reads as zeros, as in HDF5's own driver */
            memset(p, 0, size);
            break;
        }
        p += got;
        addr += (haddr_t)got;
        size -= (size_t)got;
    }
    return 0;
}

static herr_t vfd_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size, const void *buf) {
    (void)dxpl;
    tra_vfd *f = vfd(file);
    haddr_t end = addr + size;
    if (f->capture && type == H5FD_MEM_DRAW) {
        note(f, addr, size);
        if (end > f->eof) f->eof = end;
        return 0;
    }
    if (f->discard || f->lost) return 0;
    for (const char *p = buf; size > 0;) {
        ssize_t put = pwrite(f->fd, p, size, (off_t)addr);
        if (put < 0 && errno == EINTR) continue;
        if (put <=
            0) { /* HDF5 is not told, since a failed write makes H5Ocopy crash; `lost` tells whoever closes the file */
            io_error(f, put < 0 ? errno : ENOSPC);
            f->lost = true;
            return 0;
        }
        p += put;
        addr += (haddr_t)put;
        size -= (size_t)put;
    }
    if (end > f->eof) f->eof = end;
    return 0;
}

static herr_t vfd_truncate(H5FD_t *file, hid_t dxpl, hbool_t closing) {
    (void)dxpl, (void)closing;
    tra_vfd *f = vfd(file);
    if (f->discard || f->lost || (f->eof == f->eoa && !f->kept)) return 0;
    if (ftruncate(f->fd, (off_t)f->eoa) != 0) return io_error(f, errno);
    f->eof = f->eoa;
    return 0;
}

static const H5FD_class_t vfd_class = {
    .name = "tra",
    .maxaddr = MAXADDR,
    .fc_degree = H5F_CLOSE_STRONG,
    .open = vfd_open,
    .close = vfd_close,
    .cmp = vfd_cmp,
    .query = vfd_query,
    .get_eoa = vfd_get_eoa,
    .set_eoa = vfd_set_eoa,
    .get_eof = vfd_get_eof,
    .get_handle = vfd_get_handle,
    .read = vfd_read,
    .write = vfd_write,
    .truncate = vfd_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t tra_vfd_register(void) { return H5FDregister(&vfd_class); }

tra_vfd *tra_vfd_of(hid_t file) {
    void *handle = NULL;
    if (H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 || !handle) return NULL;
    tra_vfd *f = handle;
    return f->pub.cls && strcmp(f->pub.cls->name, vfd_class.name) == 0 ? f : NULL;
}

/* ---- addresses of chunks ----------------------------------------------------------------------------------------- */

static void begin_capture(tra_vfd *f) {
    f->noted = 0;
    f->capture = true;
}

bool tra_vfd_find_chunk(tra_vfd *f, hid_t dset, const hsize_t *at, tra_chunkref *out) {
    char nothing[8];
    uint32_t mask = 0;
    begin_capture(f);
    herr_t got = H5Dread_chunk(dset, H5P_DEFAULT, at, &mask, nothing);
    f->capture = false;
    bool found = got >= 0 && f->noted == 1;
    *out = (tra_chunkref){.addr = -1};
    if (found) *out = (tra_chunkref){.addr = (int64_t)f->addr, .len = (uint32_t)f->len, .mask = mask};
    return found;
}

bool tra_vfd_allocate_chunk(tra_vfd *f, hid_t dset, const hsize_t *at, uint32_t mask, int64_t len, int64_t *addr) {
    static const char nothing;
    begin_capture(f);
    herr_t put = H5Dwrite_chunk(dset, H5P_DEFAULT, mask, at, (size_t)len, &nothing);
    f->capture = false;
    *addr = (int64_t)f->addr;
    return put >= 0 && f->noted == 1 && f->len == (size_t)len;
}
