/* made.c - relations that are in no file: their elements are made whenever they are read. */
#include "gen_values.h"
#include "../h5/relation_file.h"

#include <stdio.h>
#include <string.h>

/* A prefix that is no path of a user: as a path it would be written with one slash. */
static const char made[] = "gen://";

bool tra_rel_is_made(const char *spec) { return strncmp(spec, made, strlen(made)) == 0; }

const char *tra_rel_made(tra_arena *a, const gen_values *v, int64_t seed, tra_dtype t, const tra_dims *shape,
                         const tra_dims *block) {
    char s[TRA_DIMTEXT], b[TRA_DIMTEXT];
    return tra_arena_printf(a, "%s%d/%" PRId64 "/%a/%" PRId64 "/%s/%d/%s/%s", made, (int)v->dist, seed, v->real,
                            v->whole, tra_dtype_name(t), shape->n, tra_dims_text(shape, "", "x", "", s, sizeof s),
                            tra_dims_text(block, "", "x", "", b, sizeof b));
}

const char *tra_rel_positions(tra_arena *a, int64_t extent, int64_t block) {
    const gen_values v = {.dist = GEN_DIST_RANGE};
    return tra_rel_made(a, &v, 0, TRA_I64, &(tra_dims){1, {extent}}, &(tra_dims){1, {block}});
}

/* The next field of a spec, up to a slash or the end. */
static const char *field(tra_arena *a, const char **at) {
    size_t n = strcspn(*at, "/");
    const char *text = tra_arena_strndup(a, *at, n);
    *at += n + ((*at)[n] == '/');
    return text;
}

tra_status tra_made_open(tra_rel *r, const char *spec, tra_err *e) {
    tra_dims shape = {0}, block = {0};
    int64_t dist = 0, seed = 0, whole = 0, rank = 0;
    double real = 0;
    tra_dtype t = TRA_F64;
    const char *at = spec + strlen(made);
    bool ok = tra_parse_int(field(r->arena, &at), &dist) && tra_parse_int(field(r->arena, &at), &seed);
    ok = sscanf(field(r->arena, &at), "%la", &real) == 1 && ok;
    ok = tra_parse_int(field(r->arena, &at), &whole) && ok;
    ok = tra_dtype_parse(field(r->arena, &at), &t) && ok;
    ok = tra_parse_int(field(r->arena, &at), &rank) && ok && dist >= 0 && dist <= GEN_DIST_CONSTANT;
    const char *s = field(r->arena, &at), *b = field(r->arena, &at);
    if (ok && rank > 0) ok = tra_parse_dims(s, 0, &shape) && tra_parse_dims(b, 1, &block) && shape.n == block.n;
    if (!ok || shape.n != rank) return tra_fail(e, TRA_INPUT, "%s names no values", spec);
    gen_values *v = tra_new(r->arena, gen_values);
    *v = gen_values_of((gen_dist)dist, seed);
    v->real = real;
    v->whole = whole;
    r->values = v;
    r->path = tra_arena_strndup(r->arena, spec, strlen(spec));
    r->name = "data";
    r->how = TRA_BY_VALUES;
    r->size = tra_dtype_size(t);
    TRA_TRY(tra_catalog_blocks(&shape, &block, &r->cat, e));
    r->type = (tra_type){.dtype = t, .cat = &r->cat};
    for (int d = 0; d < shape.n; d++) r->type.cut[d] = (uint32_t)1 << d;
    r->info = (tra_relinfo){
        .path = r->path, .name = r->name, .layout = "tensor", .dims = shape, .chunk = block, .codec = "none"};
    r->stored_bytes_known = true;
    return TRA_OK;
}
