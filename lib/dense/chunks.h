/* chunks.h - the functions of tra_kind_chunks (relation_file.h): each array is a chunk of a dataset. */
#ifndef TRA_CHUNKS_H
#define TRA_CHUNKS_H

#include "../h5/described.h"

tra_status tra_chunks_read(tra_rel *r, int64_t ordinal, void *buf, void *scratch, tra_err *e);
size_t tra_chunks_read_scratch(const tra_rel *r);
uint64_t tra_chunks_identity(tra_rel *r);

tra_status tra_chunks_prepare(tra_writer *w, const tra_write_options *o, tra_err *e);
tra_status tra_chunks_create(tra_writer *w, tra_err *e);
void tra_chunks_blob(const tra_writer *w, tra_str *blob);
tra_status tra_chunks_attach(tra_writer *w, const char *blob, size_t n, tra_err *e);
tra_status tra_chunks_put(tra_writer *w, int64_t ordinal, const void *data, void *scratch, tra_err *e);
size_t tra_chunks_put_scratch(const tra_writer *w);
int tra_chunks_facts(const tra_writer *w);
bool tra_chunks_describe(tra_writer *w, const char *digest);

#endif
