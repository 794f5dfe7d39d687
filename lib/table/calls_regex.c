/* calls_regex.c - functions of regular expressions, by PCRE2. */
#include "calls_int.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An expression that is compiled, in the arena. Steps of one match are limited, so that none takes long. */
enum { STEPS_MOST = 1000000, HEAP_MOST = 16 * 1024 /* KiB */ };
typedef struct regex {
    const pcre2_code *code, *valid; /* valid: of UTF-8 alone, which is checked once for all matches in a string */
} regex;

static void *take(size_t n, void *arena) { return tra_arena_alloc(arena, n); }
static void leave(void *p, void *arena) { (void)p, (void)arena; }

/* Compiles an expression, to machine code too where PCRE2 can: a few KiB, which stay as long as the process. */
static pcre2_code *compile(tra_bytes pattern, uint32_t options, int *error, PCRE2_SIZE *at,
                           pcre2_compile_context *how) {
    pcre2_code *x = pcre2_compile((PCRE2_SPTR)pattern.s, (PCRE2_SIZE)pattern.n,
                                  PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | options, error, at, how);
    if (x) (void)pcre2_jit_compile(x, PCRE2_JIT_COMPLETE);
    return x;
}

tra_status tra_regex_prepare(tra_arena *a, const char *name, tra_bytes pattern, const void **out, tra_err *e) {
    int error = 0;
    PCRE2_SIZE at = 0;
    PCRE2_UCHAR text[256];
    pcre2_general_context *memory = pcre2_general_context_create(take, leave, a);
    pcre2_compile_context *how = pcre2_compile_context_create(memory);
    regex *x = tra_new(a, regex);
    pcre2_set_compile_extra_options(how, 0);
    x->code = compile(pattern, PCRE2_MATCH_INVALID_UTF, &error, &at, how);
    *out = x;
    if (x->code) {
        x->valid = compile(pattern, 0, &error, &at, how);
        return TRA_OK;
    }
    pcre2_get_error_message(error, text, sizeof text);
    int shown = (int)tra_min64((int64_t)at, 60);
    return tra_fail(e, TRA_PROGRAM, "%s: the regular expression is wrong at character %" PRId64 ", after '%.*s': %s",
                    name, tra_points((tra_bytes){pattern.s, (int64_t)at}) + 1, shown, pattern.s + ((int64_t)at - shown),
                    (const char *)text);
}

/* What a thread keeps for its matches: PCRE2's frames for steps back, and the groups of the last match; and of what. */
typedef struct matching {
    pcre2_general_context *heap; /* else the memory of the code would be taken, an arena that all threads share */
    pcre2_match_context *how;
    pcre2_match_data *data;
    uint32_t groups, options; /* groups that data has room for */
    const pcre2_code *code;
} matching;
static pthread_key_t kept;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget(void *of) {
    matching *x = of;
    pcre2_match_data_free(x->data);
    pcre2_match_context_free(x->how);
    pcre2_general_context_free(x->heap);
    free(x);
}

static void begin_keeping(void) { pthread_key_create(&kept, forget); }

static bool is_utf8(tra_bytes t) {
    const unsigned char *s = (const unsigned char *)t.s;
    uint64_t eight;
    for (int64_t i = 0, n; i < t.n; i += n) {
        for (; t.n - i >= 8; i += 8) { /* ASCII, mostly */
            memcpy(&eight, s + i, sizeof eight);
            if (eight & UINT64_C(0x8080808080808080)) break;
        }
        if (i == t.n) break;
        unsigned char c = s[i], d;
        n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if (n == 1) continue;
        if (c < 0xc2 || c > 0xf4 || t.n - i < n) return false;
        for (int64_t k = 1; k < n; k++)
            if ((s[i + k] & 0xc0) != 0x80) return false;
        d = s[i + 1];
        if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) || (c == 0xf0 && d < 0x90) || (c == 0xf4 && d > 0x8f))
            return false;
    }
    return true;
}

static uint32_t groups_of(const regex *x) {
    uint32_t n = 0;
    pcre2_pattern_info(x->code, PCRE2_INFO_CAPTURECOUNT, &n);
    return n;
}

static matching *begin(const tra_call *c) {
    const regex *x = c->prepared;
    uint32_t groups = groups_of(x) + 1;
    pthread_once(&once, begin_keeping);
    matching *m = pthread_getspecific(kept);
    if (!m) {
        m = tra_calloc(1, sizeof *m);
        m->heap = pcre2_general_context_create(NULL, NULL, NULL);
        m->how = pcre2_match_context_create(m->heap);
        pcre2_set_match_limit(m->how, STEPS_MOST);
        pcre2_set_depth_limit(m->how, STEPS_MOST);
        pcre2_set_heap_limit(m->how, HEAP_MOST);
        pthread_setspecific(kept, m);
    }
    if (m->groups < groups) {
        pcre2_match_data_free(m->data);
        m->data = pcre2_match_data_create(groups, m->heap);
        m->groups = groups;
    }
    bool valid = x->valid && is_utf8(tra_call_bytes(c, 0));
    m->code = valid ? x->valid : x->code;
    m->options = valid ? PCRE2_NO_UTF_CHECK : 0;
    return m;
}

/* Finds the expression from byte `from` on: false if it is not there; so too, with an error of the row, if that takes
 * too long. Machine code counts its steps otherwise, and has a small stack: where it gives up, steps decide. */
static bool search(matching *m, tra_call *c, tra_bytes t, int64_t from, uint32_t options) {
    int found = PCRE2_ERROR_MATCHLIMIT;
    options |= m->options;
    for (uint32_t k = 0; k < 2 && found < 0 && found != PCRE2_ERROR_NOMATCH; k++)
        found = pcre2_match(m->code, (PCRE2_SPTR)t.s, (PCRE2_SIZE)t.n, (PCRE2_SIZE)from,
                            options | (k ? PCRE2_NO_JIT : 0), m->data, m->how);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH) c->out.state = TRA_STATE_ERROR;
    return found >= 0;
}

void tra_call_matches(tra_call *c) {
    matching *m = begin(c);
    c->out.i = search(m, c, tra_call_bytes(c, 0), 0, 0);
}

/* Bytes of a group of what was found; false: it took no part. */
static bool group_of(const matching *m, tra_bytes t, int64_t group, tra_bytes *out) {
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(m->data);
    if (at[2 * group] == PCRE2_UNSET || at[2 * group] > at[2 * group + 1]) return false;
    *out = (tra_bytes){t.s + at[2 * group], (int64_t)(at[2 * group + 1] - at[2 * group])};
    return true;
}

void tra_call_extract(tra_call *c) {
    matching *m = begin(c);
    tra_bytes t = tra_call_bytes(c, 0), part = {0};
    if (search(m, c, t, 0, 0) && group_of(m, t, c->n > 2 ? c->v[2].i : 0, &part))
        tra_call_give(c, part);
    else if (c->out.state == TRA_STATE_VALUE)
        c->out.state = TRA_STATE_NULL;
}

/* The number of a group that a replacement names by \0 .. \9; -1: it names none there. */
static int named_group(tra_bytes to, int64_t i) {
    return to.s[i] == '\\' && i + 1 < to.n && to.s[i + 1] >= '0' && to.s[i + 1] <= '9' ? to.s[i + 1] - '0' : -1;
}

static void add_replacement(tra_call *c, const matching *m, tra_bytes t, tra_bytes to) {
    for (int64_t i = 0; i < to.n; i++) {
        tra_bytes part;
        int group = named_group(to, i);
        if (group >= 0) {
            if (group_of(m, t, group, &part)) tra_call_give(c, part);
            i++;
        } else {
            if (to.s[i] == '\\' && i + 1 < to.n && to.s[i + 1] == '\\') i++;
            tra_call_give(c, (tra_bytes){to.s + i, 1});
        }
    }
}

/* Every place where it is found. After an empty one the search goes on with what is not empty at the same place, else
 * one code point later. */
void tra_call_regex_replace(tra_call *c) {
    matching *m = begin(c);
    tra_bytes t = tra_call_bytes(c, 0), to = tra_call_bytes(c, 2), all;
    int64_t from = 0, copied = 0;
    uint32_t options = 0;
    size_t start = c->text->n;
    while (from <= t.n) {
        if (!search(m, c, t, from, options)) {
            if (c->out.state != TRA_STATE_VALUE || !options || from >= t.n) break;
            from += tra_point((tra_bytes){t.s + from, t.n - from});
            options = 0;
            continue;
        }
        if (!group_of(m, t, 0, &all)) break;
        tra_call_give(c, (tra_bytes){t.s + copied, all.s - t.s - copied});
        add_replacement(c, m, t, to);
        copied = from = all.s - t.s + all.n;
        options = all.n == 0 ? PCRE2_NOTEMPTY_ATSTART | PCRE2_ANCHORED : 0;
        if (c->text->n - start > TRA_MADE_MOST) c->out.state = TRA_STATE_ERROR;
        if (c->out.state != TRA_STATE_VALUE || c->over) break;
    }
    tra_call_give(c, (tra_bytes){t.s + copied, t.n - copied});
}

tra_status tra_regex_check(const void *prepared, const char *name, int64_t group, const tra_bytes *to, tra_err *e) {
    int64_t groups = groups_of(prepared), named = group;
    for (int64_t i = 0; to && i < to->n; i++) {
        if (to->s[i] == '\\' && i + 1 < to->n && to->s[i + 1] == '\\')
            i++;
        else
            named = tra_max64(named, named_group(*to, i));
    }
    if (named >= 0 && named <= groups) return TRA_OK;
    return tra_fail(e, TRA_PROGRAM,
                    "%s: the regular expression has %" PRId64 " group%s, and there is no group %" PRId64, name, groups,
                    groups == 1 ? "" : "s", named);
}
