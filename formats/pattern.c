/* pattern.c - several CSV files as one: the lines of each, one after the other, below one header. */
#include "pattern.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tra_status tra_pattern_files(const char *path, tra_arena *a, tra_pattern *out, tra_err *e) {
    struct stat st;
    glob_t g;
    *out = (tra_pattern){0};
    if (!strpbrk(path, "*?[") || lstat(path, &st) == 0) return TRA_OK;
    int found = glob(path, 0, NULL, &g);
    if (found == GLOB_NOMATCH) return tra_fail(e, TRA_INPUT, "no file matches the pattern %s", path);
    if (found != 0) return tra_fail_errno(e, TRA_INPUT, "%s: cannot read a directory", path);
    out->n = (int)g.gl_pathc;
    out->path = tra_news(a, const char *, g.gl_pathc + 1);
    for (int i = 0; i < out->n; i++) out->path[i] = tra_arena_strndup(a, g.gl_pathv[i], strlen(g.gl_pathv[i]));
    globfree(&g);
    return TRA_OK;
}

/* ---- lines before the records -------------------------------------------------------------------------------------
 */

/* Takes a line from the stream, without its end; it must be shorter than the buffer. */
static tra_status take_line(tra_stream *in, const char **line, size_t *n, tra_err *e) {
    size_t have;
    TRA_TRY(tra_stream_need(in, in->cap, &have, e));
    *line = (const char *)in->buf + in->pos;
    const char *end = have ? memchr(*line, '\n', have) : NULL;
    if (!end && have == in->cap) return tra_fail(e, TRA_INPUT, "%s: its first line is too long", in->name);
    *n = end ? (size_t)(end - *line) : have;
    in->pos += *n + (end != NULL);
    if (*n > 0 && (*line)[*n - 1] == '\r') --*n;
    return TRA_OK;
}

/* Is no cell of the line a number, so that it can be a header? */
static bool is_words(const char *s, size_t n) {
    double v;
    for (size_t i = 0; i <= n;) {
        size_t k = i;
        while (k < n && !strchr(",;\t", s[k])) k++;
        char *cell = tra_asprintf("%.*s", (int)(k - i), s + i);
        bool number = tra_parse_num(cell, &v);
        free(cell);
        if (number || k == i) return false;
        i = k + 1;
    }
    return n > 0;
}

typedef struct joining {
    const tra_reading *reading;
    const char *first;    /* the path of the first file */
    char *header;         /* its first line */
    bool words;           /* which is words */
    int64_t skip, *bytes; /* lines before it; bytes that were read */
    int fd;
    int64_t at; /* bytes that were written */
} joining;

static tra_status put(joining *j, const void *p, size_t n, tra_err *e) {
    TRA_TRY(tra_pwrite(j->fd, p, n, j->at, "a scratch file", e));
    j->at += (int64_t)n;
    return TRA_OK;
}

/* Takes the header of a later file, which has to be that of the first one. */
static tra_status take_header(joining *j, tra_stream *in, tra_err *e) {
    const char *line;
    size_t n;
    for (int64_t i = 0; i < j->skip; i++) TRA_TRY(take_line(in, &line, &n, e));
    size_t before = in->pos;
    TRA_TRY(take_line(in, &line, &n, e));
    before = (size_t)((const unsigned char *)line - in->buf);
    if (n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) line += 3, n -= 3;
    bool same = strlen(j->header) == n && memcmp(line, j->header, n) == 0;
    bool header = !j->reading->no_header && (j->reading->header || (j->words && is_words(line, n)));
    if (header && !same)
        return tra_fail(e, TRA_INPUT,
                        "the columns of %s are %.*s, those of %s are %s: files of a pattern have the same", in->name,
                        (int)(n < 200 ? n : 200), line, j->first, j->header);
    if (!header) in->pos = before;
    return TRA_OK;
}

static tra_status join_file(joining *j, const char *path, int64_t memory, tra_err *e) {
    tra_stream in;
    size_t have;
    int64_t held;
    char last = '\n';
    TRA_TRY(tra_stream_open(path, (size_t)tra_max64(16 << 10, tra_min64(1 << 20, memory / 16)), &in, e));
    tra_status s = tra_stream_need(&in, 512, &have, e);
    if (s == TRA_OK && tra_is_compressed(in.buf + in.pos, have)) s = tra_stream_unpack(&in, memory, &held, e);
    if (s == TRA_OK && j->header) {
        s = take_header(j, &in, e);
    } else if (s == TRA_OK) {
        const char *line;
        size_t n;
        j->first = path;
        for (int64_t i = 0; i < j->skip && s == TRA_OK; i++)
            if ((s = take_line(&in, &line, &n, e)) == TRA_OK) s = put(j, line, n, e);
        for (int64_t i = 0; i < j->skip && s == TRA_OK; i++) s = put(j, "\n", 1, e);
        if (s == TRA_OK) s = take_line(&in, &line, &n, e);
        if (s == TRA_OK && n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) line += 3, n -= 3;
        if (s == TRA_OK) {
            j->header = tra_asprintf("%.*s", (int)n, line);
            j->words = is_words(line, n);
            s = put(j, line, n, e);
            if (s == TRA_OK) s = put(j, "\n", 1, e);
        }
    }
    while (s == TRA_OK && (s = tra_stream_need(&in, 1, &have, e)) == TRA_OK && have > 0) {
        last = (char)in.buf[in.len - 1];
        s = put(j, in.buf + in.pos, have, e);
        in.pos += have;
    }
    if (s == TRA_OK && last != '\n') s = put(j, "\n", 1, e);
    *j->bytes += tra_stream_position(&in);
    tra_stream_close(&in);
    return s;
}

tra_status tra_pattern_join(const tra_pattern *p, const tra_reading *r, int64_t memory, int fd, int64_t *bytes,
                            tra_err *e) {
    joining j = {.reading = r, .fd = fd, .bytes = bytes};
    *bytes = 0;
    if (r->skip && (!tra_parse_int(r->skip, &j.skip) || j.skip < 0))
        return tra_fail(e, TRA_USAGE, "--skip %s: a whole number of at least 0 is expected", r->skip);
    tra_status s = TRA_OK;
    for (int i = 0; i < p->n && s == TRA_OK; i++) s = join_file(&j, p->path[i], memory, e);
    free(j.header);
    return s;
}
