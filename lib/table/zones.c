/* zones.c - time zones by name, from the files of the system (tzdata, RFC 8536), and what they make of times.
 *
 * What the files say holds until their last change; after it changes follow the rule at the end of the file, up to the
 * year 9999. */
#include "calls_int.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char folder[] = "/usr/share/zoneinfo/";
enum { FILE_MOST = 1 << 20 };

/* Change i, at[i] seconds since 1970, brings offset[i + 1] seconds east of UTC; offset[0] holds before all. A local
 * time before wall[i] is of the time before the change. */
typedef struct zone {
    int n;
    int64_t *at, *wall;
    int32_t *offset;
} zone;

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int64_t big_endian(const unsigned char *p, int bytes) {
    uint64_t v = *p & 0x80 ? ~UINT64_C(0) : 0;
    for (int i = 0; i < bytes; i++) v = v << 8 | p[i];
    return (int64_t)v;
}

static void add_change(tra_arena *a, zone *z, int *room, int64_t at, int32_t offset) {
    if (z->n + 2 > *room) {
        int more = 2 * z->n + 64;
        z->at = tra_arena_grown(a, z->at, (size_t)z->n, (size_t)more, sizeof *z->at);
        z->offset = tra_arena_grown(a, z->offset, (size_t)z->n + 1, (size_t)more, sizeof *z->offset);
        *room = more;
    }
    z->at[z->n] = at;
    z->offset[++z->n] = offset;
}

enum { COUNTS = 6 };
typedef struct part {
    int64_t times, types, bytes; /* bytes of the part, after its header */
    const unsigned char *v;
} part;

static bool read_header(const unsigned char *p, const unsigned char *end, int size, part *out) {
    int64_t count[COUNTS];
    if (end - p < 44 || memcmp(p, "TZif", 4) != 0) return false;
    for (int i = 0; i < COUNTS; i++) count[i] = big_endian(p + 20 + 4 * i, 4);
    *out = (part){count[3], count[4], 0, p + 44};
    out->bytes = count[3] * size + count[3] + count[4] * 6 + count[5] + count[2] * (size + 4) + count[1] + count[0];
    return count[4] > 0 && out->bytes >= 0 && end - out->v >= out->bytes;
}

/* ---- the rule at the end ----------------------------------------------------------------------------------------- */

typedef struct rule {
    int kind, month, week, day; /* kind 'M', 'J' or '0', as POSIX has them */
    int32_t time;
} rule;

static bool read_time(const char **s, int32_t *seconds) {
    int32_t part[3] = {0}, sign = 1;
    if (**s == '+' || **s == '-') sign = *(*s)++ == '-' ? -1 : 1;
    for (int i = 0; i < 3; i++) {
        if (!isdigit((unsigned char)**s)) return false;
        while (isdigit((unsigned char)**s)) part[i] = part[i] * 10 + (*(*s)++ - '0');
        if (**s != ':') break;
        (*s)++;
    }
    *seconds = sign * (part[0] * 3600 + part[1] * 60 + part[2]);
    return true;
}

static bool read_name(const char **s) {
    const char *from = *s;
    if (*from == '<') {
        while (**s && **s != '>') (*s)++;
        return *(*s)++ == '>';
    }
    while (isalpha((unsigned char)**s)) (*s)++;
    return *s > from;
}

static bool read_rule(const char **s, rule *r) {
    char *end;
    *r = (rule){.kind = '0', .time = 7200};
    if (*(*s)++ != ',') return false;
    if (**s == 'M' || **s == 'J') r->kind = *(*s)++;
    int *number[] = {&r->month, &r->week, &r->day};
    for (int i = r->kind == 'M' ? 0 : 2; i < 3; i++) {
        *number[i] = (int)strtol(*s, &end, 10);
        if (end == *s) return false;
        *s = end + (i < 2 && *end == '.');
    }
    return **s != '/' || ((*s)++, read_time(s, &r->time));
}

/* The day on which the rule falls in a year. */
static int64_t day_of_rule(const rule *r, int64_t year) {
    int32_t first = 0, next = 0;
    (void)tra_days_of(year, r->kind == 'M' ? r->month : 1, 1, &first);
    if (r->kind == '0') return first + r->day;
    if (r->kind == 'J') {
        int32_t leap;
        return first + r->day - 1 + (r->day >= 60 && tra_days_of(year, 2, 29, &leap));
    }
    if (r->month == 12 || !tra_days_of(year, r->month + 1, 1, &next)) next = first + 31;
    int weekday = (int)((tra_date_part(TRA_C_WEEKDAY, first, 0) + 1) % 7), by = (r->day - weekday + 7) % 7;
    int64_t day = first + by + 7 * (r->week - 1);
    return day >= next ? day - 7 : day;
}

/* Adds the changes that the rule makes after the last one of the file. */
static bool follow_rule(tra_arena *a, zone *z, int *room, const char *s) {
    int32_t standard, summer;
    rule r[2];
    if (!read_name(&s) || !read_time(&s, &standard)) return false;
    if (!*s) return true;
    summer = standard - 3600;
    if (!read_name(&s) || (*s != ',' && !read_time(&s, &summer))) return false;
    if (!read_rule(&s, &r[0]) || !read_rule(&s, &r[1])) return false;
    int64_t last = z->n > 0 ? z->at[z->n - 1] : INT64_MIN, year = 1;
    int month, day;
    if (z->n > 0) tra_civil_of(tra_floor_div(last, 86400), &year, &month, &day);
    for (; year <= 9999; year++) {
        const int64_t at[2] = {day_of_rule(&r[0], year) * 86400 + r[0].time + standard,
                               day_of_rule(&r[1], year) * 86400 + r[1].time + summer};
        int first = at[1] < at[0];
        for (int k = 0; k < 2; k++) {
            int which = k ^ first;
            if (at[which] > last) add_change(a, z, room, at[which], which ? -standard : -summer);
        }
    }
    return true;
}

static bool parse(tra_arena *a, const unsigned char *p, const unsigned char *end, zone *z) {
    part first, v;
    int size = 4, room = 0;
    if (!read_header(p, end, 4, &first)) return false;
    v = first;
    if (p[4] >= '2' && read_header(first.v + first.bytes, end, 8, &v)) size = 8;
    const unsigned char *types = v.v + v.times * (size + 1);
    z->offset = tra_arena_array(a, 1, sizeof *z->offset);
    z->offset[0] = (int32_t)big_endian(types, 4);
    for (int64_t i = 0; i < v.times; i++) {
        int64_t type = v.v[v.times * size + i];
        if (type >= v.types) return false;
        add_change(a, z, &room, big_endian(v.v + i * size, size), (int32_t)big_endian(types + 6 * type, 4));
    }
    if (size == 8 && end - (v.v + v.bytes) > 2) { /* between two line ends */
        const char *text = (const char *)v.v + v.bytes + 1,
                   *stop = memchr(text, '\n', (size_t)((const char *)end - text));
        if (stop && stop > text && !follow_rule(a, z, &room, tra_arena_strndup(a, text, (size_t)(stop - text))))
            return false;
    }
    z->wall = tra_arena_array(a, (size_t)z->n + 1, sizeof *z->wall);
    for (int i = 0; i < z->n; i++) z->wall[i] = z->at[i] + tra_max64(z->offset[i], z->offset[i + 1]);
    return true;
}

static bool is_name(tra_bytes t) {
    if (t.n == 0 || t.n > 100 || *t.s == '/') return false;
    for (int64_t i = 0; i < t.n; i++)
        if (!isalnum((unsigned char)t.s[i]) && !strchr("_+-/", t.s[i])) return false;
    return true;
}

tra_status tra_zone_prepare(tra_arena *a, const char *name, tra_bytes text, const void **out, tra_err *e) {
    zone *z = tra_new(a, zone);
    char *path = tra_arena_printf(a, "%s%.*s", folder, (int)tra_min64(text.n, 100), text.s);
    FILE *f = is_name(text) ? fopen(path, "rb") : NULL;
    unsigned char *bytes = f ? tra_malloc(FILE_MOST) : NULL;
    size_t n = f ? fread(bytes, 1, FILE_MOST, f) : 0;
    if (f) fclose(f);
    bool ok = n > 0 && parse(a, bytes, bytes + n, z);
    free(bytes);
    *out = z;
    if (ok) return TRA_OK;
    FILE *utc = fopen("/usr/share/zoneinfo/UTC", "rb");
    if (utc) fclose(utc);
    return tra_fail(e, TRA_PROGRAM, "%s: there is no time zone '%.*s'%s", name, (int)tra_min64(text.n, 100), text.s,
                    utc ? " in /usr/share/zoneinfo; a name is written as Europe/Berlin"
                        : ": /usr/share/zoneinfo is not there, install tzdata");
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

/* How many of n ascending numbers are at most v. */
static int count_until(const int64_t *at, int n, int64_t v) {
    int64_t count = 0;
    TRA_BISECT(count, n, mid, at[mid] <= v);
    return (int)count;
}

static void shift(tra_call *c, int64_t seconds) {
    if (__builtin_add_overflow(c->v[0].i, seconds * 1000000, &c->out.i)) c->out.state = TRA_STATE_ERROR;
}

void tra_call_to_zone(tra_call *c) {
    const zone *z = c->prepared;
    shift(c, z->offset[count_until(z->at, z->n, tra_floor_div(c->v[0].i, 1000000))]);
}

/* A local time that is there twice is the first; one that is left out is as far after the change as it says. */
void tra_call_from_zone(tra_call *c) {
    const zone *z = c->prepared;
    shift(c, -(int64_t)z->offset[count_until(z->wall, z->n, tra_floor_div(c->v[0].i, 1000000))]);
}
