/* zip.h - archives: finding members, writing them one after the other. ZIP64 where it has to be. */
#ifndef TRA_ZIP_H
#define TRA_ZIP_H

#include "unpack.h"

/* Where a member is in the archive at fd, of so many bytes; *found: there is one of this name. TRA_INPUT when the
 * archive is damaged, or the member encrypted or compressed by anything but deflate. */
TRA_MUSTUSE tra_status tra_zip_find(int fd, int64_t size, const char *spec, const char *member, tra_file_part *part,
                                    bool *found, tra_err *e);

/* The names of the members, in the order of the directory, in the arena. */
TRA_MUSTUSE tra_status tra_zip_names(int fd, int64_t size, const char *spec, tra_arena *a, int *n, const char ***names,
                                     tra_err *e);

/* Members are written uncompressed: begin, all of their bytes, the next one; then the end. */
typedef struct tra_zip tra_zip;
tra_zip *tra_zip_new(tra_newfile *out);
void tra_zip_free(tra_zip *z); /* NULL allowed */
/* The member's bytes and their CRC32, which stand before them. */
TRA_MUSTUSE tra_status tra_zip_member(tra_zip *z, const char *name, int64_t size, uint32_t crc, tra_err *e);
TRA_MUSTUSE tra_status tra_zip_end(tra_zip *z, tra_err *e);

#endif
