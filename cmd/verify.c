/* verify.c - tra verify REL...: reads everything and names what is damaged. */
#include "common.h"
#include "tables.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int64_t memory = TRA_SCAN_MEMORY;

typedef struct damage {
    int64_t ordinal;
    char *why;
} damage;

typedef struct verifying {
    const tra_type *type;
    tra_digester *digester;
    tra_digest part[TRA_MAXWORKERS];
    pthread_mutex_t lock;
    damage *found;
    int64_t n;
} verifying;

static tra_status add_damage(verifying *v, int64_t ordinal, const tra_err *why, tra_err *e) {
    if (why->status != TRA_INPUT) return tra_fail_as(e, why);
    pthread_mutex_lock(&v->lock);
    bool known = false; /* a block of a column is read piece by piece */
    for (int64_t i = 0; i < v->n && v->type->columns; i++)
        known = known || (v->found[i].ordinal == ordinal && strcmp(v->found[i].why, why->msg) == 0);
    if (known) {
        pthread_mutex_unlock(&v->lock);
        return TRA_OK;
    }
    if ((v->n & (v->n - 1)) == 0) v->found = tra_realloc(v->found, v->n ? 2 * (size_t)v->n : 1, sizeof *v->found);
    v->found[v->n++] = (damage){ordinal, tra_strdup(why->msg)};
    pthread_mutex_unlock(&v->lock);
    return TRA_OK;
}

static tra_status check(void *ctx, int worker, int64_t ordinal, const void *data, tra_err *e) {
    verifying *v = ctx;
    if (!data) return add_damage(v, ordinal, e, e);
    tra_digester_add(v->digester, &v->part[worker], ordinal, data);
    return TRA_OK;
}

/* Rows of a column, which are of the block of their first. */
static tra_status check_column(void *ctx, int worker, int c, int64_t first, const tra_batch *b, tra_err *e) {
    verifying *v = ctx;
    (void)c;
    if (!b) return add_damage(v, first / v->type->cat->bound.v[0], e, e);
    tra_digest_rows(&v->part[worker], first, b);
    return TRA_OK;
}

static int by_ordinal(const void *a, const void *b) {
    int64_t x = ((const damage *)a)->ordinal, y = ((const damage *)b)->ordinal;
    return (x > y) - (x < y);
}

/* What is said of one relation. */
static void report(const verifying *v, const tra_relinfo *info, const char *wrong_digest, const char *spec,
                   tra_json *out) {
    const tra_catalog *c = v->type->cat;
    bool ok = v->n == 0 && !wrong_digest && !info->lost;
    if (tra_common_opts.format == TRA_FORMAT_JSON) {
        tra_json_begin(out, NULL, '{');
        tra_json_str(out, "name", spec);
        tra_json_bool(out, "ok", ok);
        tra_json_int(out, "chunks", c->n);
        tra_json_int(out, "holes", tra_catalog_holes(c));
        tra_json_bool(out, "checksums", info->checksums);
        tra_json_bool(out, "checksums_lost", info->lost);
        tra_json_bool(out, "digest_matches", !wrong_digest);
        tra_json_begin(out, "damaged", '[');
        for (int64_t i = 0; i < v->n; i++) {
            tra_dims key;
            tra_catalog_key(c, v->found[i].ordinal, &key);
            tra_json_begin(out, NULL, '{');
            tra_json_ints(out, "key", key.n, key.v);
            tra_json_str(out, "why", v->found[i].why);
            tra_json_end(out, '}');
        }
        tra_json_end(out, ']');
        tra_json_end(out, '}');
        return;
    }
    for (int64_t i = 0; i < v->n; i++) tra_str_printf(&out->out, "%s\n", v->found[i].why);
    if (wrong_digest && v->n == 0) {
        tra_str_printf(&out->out, "%s: the values have digest %s, but the file says %s\n", spec, wrong_digest,
                       info->digest);
    }
    if (info->lost)
        tra_str_printf(&out->out, "%s: its checksums are gone, with which tra wrote it: its chunks cannot be judged\n",
                       spec);
    if (v->n) {
        tra_str_printf(&out->out, "%s: %" PRId64 " of %" PRId64 " chunks damaged\n", spec, v->n, c->n);
    } else if (ok && !tra_common_opts.quiet) {
        tra_str_printf(&out->out, "%s: ok, %" PRId64 " chunk%s", spec, c->n, c->n == 1 ? "" : "s");
        if (tra_catalog_holes(c)) tra_str_printf(&out->out, ", %" PRId64 " holes", tra_catalog_holes(c));
        tra_str_add(&out->out, info->checksums ? ", checksums match" : ", readable; the file has no checksums");
        tra_str_add(&out->out, info->digest ? ", digest matches\n" : "\n");
    }
}

static tra_status verify(const char *spec, tra_json *out, bool *damaged, tra_err *e) {
    tra_rel *rel = NULL;
    TRA_TRY(tra_rel_open(spec, NULL, &rel, e));
    (void)tra_rel_keep_u64(rel); /* numbers that i64 does not hold are no damage */
    const tra_relinfo *info = tra_rel_info(rel);
    verifying v = {.type = tra_rel_type(rel),
                   .digester = tra_rel_is_table(rel) ? NULL : tra_digester_new(tra_rel_type(rel)),
                   .lock = PTHREAD_MUTEX_INITIALIZER};
    tra_status s = tra_rel_is_table(rel) ? tra_scan_columns(rel, spec, -1, memory, check_column, &v, e)
                                         : tra_scan(rel, spec, memory, check, &v, e);
    tra_err other = {0}; /* what is damaged besides blocks */
    if (s == TRA_OK && tra_rel_check(rel, &other) != TRA_OK) s = add_damage(&v, 0, &other, e);
    if (v.digester) tra_digester_free(v.digester);
    if (s == TRA_OK) {
        if (v.n) qsort(v.found, (size_t)v.n, sizeof *v.found, by_ordinal);
        char text[33];
        for (int i = 1; i < TRA_MAXWORKERS; i++) tra_digest_add(&v.part[0], &v.part[i]);
        if (tra_rel_is_table(rel))
            tra_digest_table_text(&v.part[0], v.type->columns, tra_rel_rows(rel), text);
        else
            tra_digest_text(&v.part[0], v.type, text);
        /* The digest of what can be read says nothing when something cannot. */
        bool wrong = v.n == 0 && info->digest && strcmp(info->digest, text) != 0;
        report(&v, info, wrong ? text : NULL, spec, out);
        *damaged |= v.n > 0 || wrong || info->lost;
    }
    for (int64_t i = 0; i < v.n; i++) free(v.found[i].why);
    free(v.found);
    tra_rel_close(rel);
    return s;
}

static tra_status run(int argc, char **argv, tra_err *e) {
    bool json = tra_common_opts.format == TRA_FORMAT_JSON, damaged = false;
    tra_json j = {0};
    tra_status s = TRA_OK;
    if (json) {
        tra_json_begin(&j, NULL, '{');
        tra_json_begin(&j, "relations", '[');
    }
    for (int i = 0; i < argc && s == TRA_OK; i++) s = verify(argv[i], &j, &damaged, e);
    if (json) {
        tra_json_end(&j, ']');
        tra_json_end(&j, '}');
        tra_str_add(&j.out, "\n");
    }
    if (s == TRA_OK || !json) { /* in text, what was found before a failure is still told */
        tra_err out = {0};
        tra_status printed = tra_print(tra_str_get(&j.out), &out);
        if (s == TRA_OK && printed != TRA_OK) *e = out;
        if (s == TRA_OK) s = printed;
    }
    tra_json_free(&j);
    return s == TRA_OK && damaged ? TRA_NO : s;
}

const tra_cmd tra_cmd_verify = {
    .name = "verify",
    .group = "Relations",
    .brief = "read all of a relation and name what is damaged",
    .usage = "[options] REL...",
    .about =
        "Reads every chunk of each relation, compares it with its checksum, and the values with the digest that the "
        "file carries. Each damaged chunk is named by its key. A relation of tra whose checksums are gone is damaged; "
        "one that another program wrote has none, and is only read.\n\n"
        "Exit status 0: all sound. 1: something is damaged. 3: a file cannot be opened as a relation.",
    .opts = (const tra_opt[]){TRA_OPT_MEMORY(memory), TRA_OPT_PROGRESS, {.name = NULL}},
    .minargs = 1,
    .maxargs = -1,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON,
    .run = run,
};
