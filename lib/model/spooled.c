/* spooled.c - dictionaries whose strings are in files. */
#include "spooled.h"

#include "../base/found.h"

#define XXH_STATIC_LINKING_ONLY /* for the size of states */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { AT_ONCE = 4096, BYTES = 256 << 10 };

/* ---- several dictionaries at once -------------------------------------------------------------------------------- */

/* Strings of several sorted dictionaries, in their common order, each once. */
typedef struct tra_merging_strings {
    const uint64_t *kept; /* of one dictionary, of which only some are wanted; */
    int64_t code;         /* the first of its codes that was not looked at */
    int n;
    tra_strings *of;
    int64_t *at; /* of each: which of the strings that are here is next */
    int nhits, *hit;
    const char *s; /* the next string; of these dictionaries (hit) */
    int64_t len;
} tra_merging_strings;

static tra_merging_strings *begin_merging(const tra_dictionary *d) {
    tra_merging_strings *m = tra_calloc(1, sizeof *m);
    m->n = d->nparts;
    m->kept = d->kept;
    m->of = tra_calloc((size_t)m->n + 1, sizeof *m->of);
    m->at = tra_calloc((size_t)m->n + 1, sizeof *m->at);
    m->hit = tra_calloc((size_t)m->n + 1, sizeof *m->hit);
    for (int i = 0; i < m->n; i++) tra_strings_begin(&m->of[i], d->part[i]);
    return m;
}

static void end_merging(tra_merging_strings *m) {
    for (int i = 0; m && i < m->n; i++) tra_strings_end(&m->of[i]);
    if (m) free(m->of), free(m->at), free(m->hit);
    free(m);
}

static tra_status next_of_all(tra_merging_strings *m, tra_err *e) {
    for (int i = 0; i < m->nhits; i++) m->at[m->hit[i]]++;
    m->nhits = 0;
    for (int i = 0; i < m->n; i++) {
        tra_strings *s = &m->of[i];
        if (m->at[i] == s->n) {
            TRA_TRY(tra_strings_more(s, e));
            m->at[i] = 0;
        }
        if (s->n == 0) continue;
        int64_t len;
        const char *own = tra_strings_at(s, m->at[i], &len);
        int c = m->nhits ? tra_bytes_cmp(own, len, m->s, m->len) : -1;
        if (c > 0) continue;
        if (c < 0) m->nhits = 0, m->s = own, m->len = len;
        m->hit[m->nhits++] = i;
    }
    return TRA_OK;
}

/* Goes on to those among which the string of this code is, which is not before those that are here. */
static tra_status strings_to(tra_strings *s, int64_t code, tra_err *e);

/* Goes on to the next of one dictionary's strings that is wanted: those in between are not read. */
static tra_status next_kept(tra_merging_strings *m, tra_err *e) {
    tra_strings *s = &m->of[0];
    int64_t n = s->d->n, word = m->code / 64;
    uint64_t x = m->code < n ? m->kept[word] >> m->code % 64 << m->code % 64 : 0;
    while (x == 0 && (word + 1) * 64 < n) x = m->kept[++word];
    m->nhits = 0;
    if (x == 0) return TRA_OK;
    int64_t code = word * 64 + __builtin_ctzll(x);
    TRA_TRY(strings_to(s, code, e));
    m->s = tra_strings_at(s, code - s->from, &m->len);
    m->hit[m->nhits++] = 0;
    m->code = code + 1;
    return TRA_OK;
}

/* Goes on to the next string, of nhits dictionaries: 0 after the last. */
static tra_status merge_next(tra_merging_strings *m, tra_err *e) {
    return m->kept ? next_kept(m, e) : next_of_all(m, e);
}

/* ---- some at a time ---------------------------------------------------------------------------------------------- */

void tra_strings_begin(tra_strings *s, const tra_dictionary *d) { *s = (tra_strings){.d = d}; }

void tra_strings_end(tra_strings *s) {
    free(s->ends);
    free(s->buf);
    end_merging(s->parts);
}

int64_t tra_strings_bytes(const tra_dictionary *d) {
    int64_t own = tra_dictionary_is_away(d) ? (AT_ONCE + 1) * 8 + BYTES + d->longest : 0;
    for (int i = 0; i < d->nparts; i++) own += tra_strings_bytes(d->part[i]);
    return own;
}

/* How many of the n strings that begin at begin[0] .. begin[n - 1] are taken at once. */
static int64_t some_of(const int64_t *begin, int64_t n) {
    while (n > 1 && begin[n] - begin[0] > BYTES) n /= 2;
    return n;
}

static void make_room(tra_strings *s, int64_t bytes) {
    if (bytes <= s->room) return;
    s->room = tra_max64(bytes, BYTES);
    s->buf = tra_realloc(s->buf, (size_t)s->room, 1);
}

tra_status tra_spooled_ends(const tra_spooled *f, int64_t at, void *to, int64_t n, tra_err *e) {
    if (f->held[0]) return memcpy(to, f->held[0] + f->ends_at + at, (size_t)n), TRA_OK;
    return tra_pread(f->fd, to, (size_t)n, f->ends_at + at, f->where, e);
}

static tra_status spooled_bytes(const tra_spooled *f, int64_t at, void *to, int64_t n, tra_err *e) {
    if (f->held[1]) return memcpy(to, f->held[1] + f->bytes_at + at, (size_t)n), TRA_OK;
    return tra_pread(f->fd, to, (size_t)n, f->bytes_at + at, f->where, e);
}

static tra_status load(tra_strings *s, tra_err *e) {
    const tra_spooled *f = s->d->file;
    int64_t before = s->from == 0; /* where the first one begins is not in the file */
    s->ends[0] = f->first;
    TRA_TRY(tra_spooled_ends(f, (s->from - 1 + before) * 8, s->ends + before, (s->n + 1 - before) * 8, e));
    s->n = some_of(s->ends, s->n);
    int64_t bytes = s->ends[s->n] - s->ends[0];
    make_room(s, bytes);
    return bytes == 0 ? TRA_OK : spooled_bytes(f, s->ends[0], s->buf, bytes, e);
}

static tra_status merge(tra_strings *s, tra_err *e) {
    int64_t n = 0, most = s->n;
    if (!s->parts) {
        s->parts = begin_merging(s->d);
        TRA_TRY(merge_next(s->parts, e));
    }
    tra_merging_strings *m = s->parts;
    for (s->ends[0] = 0; n < most && m->nhits > 0; n++) {
        if (n > 0 && s->ends[n] + m->len > BYTES) break;
        make_room(s, s->ends[n] + m->len);
        if (m->len > 0) memcpy(s->buf + s->ends[n], m->s, (size_t)m->len);
        s->ends[n + 1] = s->ends[n] + m->len;
        TRA_TRY(merge_next(m, e));
    }
    s->n = n;
    return TRA_OK;
}

tra_status tra_strings_more(tra_strings *s, tra_err *e) {
    const tra_dictionary *d = s->d;
    s->from += s->n;
    s->n = tra_min64(AT_ONCE, d->n - s->from);
    if (s->n == 0) return TRA_OK;
    if (d->begin) {
        s->begin = d->begin + s->from;
        s->n = some_of(s->begin, s->n);
        s->bytes = d->bytes + s->begin[0];
        return TRA_OK;
    }
    if (!d->file && d->nparts == 0)
        return tra_fail(e, TRA_INTERNAL, "the strings of a column are used before they are found");
    if (!s->ends) s->ends = tra_calloc(AT_ONCE + 1, sizeof *s->ends);
    tra_status status = d->file ? load(s, e) : merge(s, e);
    s->begin = s->ends;
    s->bytes = s->buf;
    return status;
}

static tra_status strings_to(tra_strings *s, int64_t code, tra_err *e) {
    while (code >= s->from + s->n) {
        if (s->d->begin || s->d->file) s->from = tra_max64(s->from + s->n, code - code % AT_ONCE), s->n = 0;
        TRA_TRY(tra_strings_more(s, e));
        if (s->n == 0) return tra_fail(e, TRA_INTERNAL, "a code is not one of its dictionary");
    }
    return TRA_OK;
}

/* ---- all, and one ------------------------------------------------------------------------------------------------ */

/* Reads all strings of a file into their place. */
static tra_status read_whole(const tra_dictionary *d, int64_t *begin, char *text, tra_err *e) {
    const tra_spooled *f = d->file;
    TRA_TRY(tra_spooled_ends(f, 0, begin + 1, 8 * d->n, e));
    for (int64_t k = 1; k <= d->n; k++) begin[k] -= f->first;
    return spooled_bytes(f, f->first, text, tra_min64(begin[d->n], d->bytes_most), e);
}

/* Gathers the strings of several dictionaries. */
static tra_status read_parts(const tra_dictionary *d, int64_t *begin, char *text, tra_err *e) {
    int64_t at = 0;
    tra_strings s;
    tra_strings_begin(&s, d);
    tra_status status = tra_strings_more(&s, e);
    for (; status == TRA_OK && s.n > 0; status = tra_strings_more(&s, e)) {
        int64_t n = s.begin[s.n] - s.begin[0];
        for (int64_t k = 0; k < s.n; k++) begin[s.from + k + 1] = at + s.begin[k + 1] - s.begin[0];
        if (n > 0) memcpy(text + at, s.bytes, (size_t)n);
        at += n;
    }
    tra_strings_end(&s);
    return status;
}

tra_status tra_dictionary_read(const tra_dictionary *away, tra_err *e) {
    if (!tra_dictionary_is_away(away)) return TRA_OK;
    tra_dictionary *d = (tra_dictionary *)away;
    int64_t bytes = d->bytes_most;
    TRA_TRY(tra_ceiling_check(bytes + 8 * d->n, "the strings of a column", e));
    int64_t *begin = tra_calloc((size_t)d->n + 1, sizeof *begin);
    char *text = tra_malloc((size_t)bytes + 1);
    tra_expect_filled(begin, (size_t)d->n * 8);
    tra_expect_filled(text, (size_t)bytes);
    tra_status status = (d->file ? read_whole : read_parts)(d, begin, text, e);
    tra_arena_keep(d->arena, begin, (size_t)(d->n + 1) * 8);
    tra_arena_keep(d->arena, text, (size_t)bytes + 1);
    if (status != TRA_OK) return status;
    d->bytes = text;
    d->begin = begin;
    return TRA_OK;
}

const char *tra_dictionary_text(const tra_dictionary *d, int64_t code, char buf[TRA_ENTRYTEXT], int64_t *len) {
    if (d->begin) return tra_dictionary_at(d, code, len);
    tra_strings s;
    const char *text = "?";
    *len = 1;
    tra_strings_begin(&s, d);
    if (strings_to(&s, code, NULL) == TRA_OK) {
        text = tra_strings_at(&s, code - s.from, len);
        *len = tra_min64(*len, TRA_ENTRYTEXT - 1);
        memcpy(buf, text, (size_t)*len);
        text = buf;
    }
    tra_strings_end(&s);
    return text;
}

/* The same of one string, which is not before those that were asked for before: those of x that are here are gone on
 * with. */
static tra_status find_from(tra_strings *x, int64_t *k, const char *s, int64_t len, int64_t *code, tra_err *e) {
    for (*code = -1;; ++*k) {
        int64_t n;
        if (*k == x->n) {
            TRA_TRY(tra_strings_more(x, e));
            *k = 0;
        }
        if (x->n == 0) return TRA_OK;
        const char *own = tra_strings_at(x, *k, &n);
        int c = tra_bytes_cmp(own, n, s, len);
        if (c == 0) *code = x->from + *k;
        if (c >= 0) return TRA_OK;
    }
}

tra_status tra_dictionary_find_all(const tra_dictionary *in, const tra_dictionary *d, int64_t n, int64_t (*v)[2],
                                   tra_err *e) {
    tra_strings of, x;
    tra_status s = TRA_OK;
    int64_t k = 0, len;
    tra_strings_begin(&of, d);
    tra_strings_begin(&x, in);
    for (int64_t i = 0; i < n && s == TRA_OK; i++) {
        bool is = v[i][0] >= 0 && v[i][0] < d->n;
        int64_t code = -1;
        if (is) s = strings_to(&of, v[i][0], e);
        const char *text = is && s == TRA_OK ? tra_strings_at(&of, v[i][0] - of.from, &len) : NULL;
        if (text && in->begin)
            code = tra_dictionary_find(in, text, len);
        else if (text)
            s = find_from(&x, &k, text, len, &code, e);
        v[i][0] = code;
    }
    tra_strings_end(&of);
    tra_strings_end(&x);
    return s;
}

/* ---- unions ------------------------------------------------------------------------------------------------------ */

/* All bytes, and where each string ends among them, make a mark, by which equal dictionaries are known. */
struct tra_marking {
    XXH64_state_t bytes, ends;
    int64_t all; /* bytes so far */
};

tra_marking *tra_marking_new(void) {
    tra_marking *m = tra_calloc(1, sizeof *m);
    XXH64_reset(&m->bytes, 0);
    XXH64_reset(&m->ends, 0);
    return m;
}

void tra_marking_add(tra_marking *m, int64_t n, const int64_t *begin, const char *bytes) {
    enum { PIECE = 512 };
    int64_t end[PIECE], before = m->all - begin[0];
    for (int64_t i = 0, some; i < n; i += some) {
        some = tra_min64(PIECE, n - i);
        for (int64_t k = 0; k < some; k++) end[k] = before + begin[i + k + 1];
        XXH64_update(&m->ends, end, (size_t)some * sizeof *end);
    }
    XXH64_update(&m->bytes, bytes, (size_t)(begin[n] - begin[0]));
    m->all += begin[n] - begin[0];
}

void tra_marking_end(tra_marking *m, uint64_t mark[2], uint64_t *sum) {
    uint64_t bytes = XXH64_digest(&m->bytes);
    if (sum) *sum = bytes;
    mark[0] = bytes ? bytes : 1;
    mark[1] = XXH64_digest(&m->ends);
    free(m);
}

/* Codes in a union that are listed of each dictionary, or a sixteenth of its strings if that is more: 4 bytes each. */
enum { LISTED = 1 << 18 };

static tra_status unite(tra_arena *a, int n, const tra_dictionary *const *d, tra_dictionary *u, tra_recoding *recoding,
                        tra_err *e) {
    int64_t all = 0, *put = tra_calloc((size_t)n + 1, sizeof *put);
    const tra_dictionary **part = tra_news(a, const tra_dictionary *, n);
    for (int i = 0; i < n; i++) {
        part[i] = d[i];
        all += d[i]->n;
        u->longest = tra_max64(u->longest, d[i]->longest);
    }
    uint64_t **bits = tra_news(a, uint64_t *, n);
    uint32_t **at = tra_news(a, uint32_t *, n);
    for (int i = 0; i < n; i++) {
        int shift = 0;
        while (d[i]->n >> shift > tra_max64(LISTED, all / 16)) shift++;
        bits[i] = shift ? tra_news(a, uint64_t, all / 64 + 2) : NULL;
        at[i] = tra_news(a, uint32_t, (d[i]->n >> shift) + 1);
        recoding[i] = (tra_recoding){bits[i], at[i], shift};
    }
    u->sorted = true;
    u->nparts = n;
    u->part = part;
    u->arena = a;
    tra_merging_strings *m = begin_merging(u);
    tra_marking *mark = tra_marking_new();
    tra_status s = merge_next(m, e);
    for (; s == TRA_OK && m->nhits > 0; s = merge_next(m, e), u->n++) {
        if (u->n == TRA_MAX_CODES) s = tra_fail(e, TRA_INPUT, "columns that meet have more than 2^31 strings");
        if (s != TRA_OK) break;
        tra_marking_add(mark, 1, (const int64_t[]){0, m->len}, m->s);
        u->bytes_most += m->len;
        for (int k = 0; k < m->nhits; k++) {
            int i = m->hit[k];
            if (bits[i]) bits[i][u->n / 64] |= UINT64_C(1) << u->n % 64;
            int64_t code = put[i]++, listed = code >> recoding[i].shift;
            if (listed << recoding[i].shift == code) at[i][listed] = (uint32_t)u->n;
        }
    }
    tra_marking_end(mark, u->mark, NULL);
    end_merging(m);
    free(put);
    return s;
}

/* A union in an arena: rules make joins of a program anew, over the same dictionaries. */
typedef struct united {
    tra_dictionary u;
    tra_recoding *recoding;
    const struct united *next;
} united;

tra_status tra_dictionary_unite(tra_arena *a, int n, const tra_dictionary *const *d, const tra_dictionary **out,
                                tra_recoding *recoding, tra_err *e) {
    const united *x = *tra_arena_found(a);
    while (x && (x->u.nparts != n || memcmp(x->u.part, d, (size_t)n * sizeof *d) != 0)) x = x->next;
    if (!x) {
        united *fresh = tra_new(a, united);
        fresh->recoding = tra_news(a, tra_recoding, n);
        TRA_TRY(unite(a, n, d, &fresh->u, fresh->recoding, e));
        fresh->next = *tra_arena_found(a);
        *tra_arena_found(a) = fresh;
        x = fresh;
    }
    *out = &x->u;
    memcpy(recoding, x->recoding, (size_t)n * sizeof *recoding);
    return TRA_OK;
}
