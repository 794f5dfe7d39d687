/* spec.c - how files are named, and what their first bytes tell. */
#include "spec.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The place after the parenthesis that closes the one at p; NULL: it is not closed. */
static const char *skip_options(const char *p) {
    bool quoted = false;
    for (p++; *p; p++) {
        if (quoted && *p == '\\' && p[1])
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (*p == ')' && !quoted)
            return p + 1;
    }
    return NULL;
}

/* The name of a format before ':' or '('; its length, 0: there is none. */
static size_t format_word(const char *spec, const tra_format **f) {
    char word[16];
    size_t n = strcspn(spec, ":(");
    *f = NULL;
    if (n == 0 || n >= sizeof word || !spec[n]) return 0;
    memcpy(word, spec, n);
    word[n] = 0;
    *f = tra_format_find(word);
    return *f ? n : 0;
}

size_t tra_spec_prefix(const char *spec) {
    const tra_format *f;
    struct stat st;
    const char *p = spec + format_word(spec, &f);
    if (*p == '(') p = skip_options(p);
    if (!p || p == spec || *p != ':' || !p[1] || lstat(spec, &st) == 0) return 0;
    return (size_t)(p + 1 - spec);
}

void tra_spec_parse(const char *spec, tra_arena *a, tra_file_spec *out) {
    size_t prefix = tra_spec_prefix(spec), word = 0;
    *out = (tra_file_spec){0};
    if (prefix) word = format_word(spec, &out->format);
    if (prefix > word + 1) out->options = tra_arena_strndup(a, spec + word + 1, prefix - word - 3);
    tra_relspec(a, spec + prefix, &out->path, &out->dataset);
}

/* ---- options --------------------------------------------------------------------------------------------------- */

static const tra_option *option_of(const char *name, size_t n) {
    const tra_option *o;
    for (int i = 0; (o = tra_option_at(true, i)); i++) {
        size_t k = 0;
        while (k < n && o->name[k] && (name[k] == o->name[k] || (name[k] == '_' && o->name[k] == '-'))) k++;
        if (k == n && !o->name[k]) return o;
    }
    return NULL;
}

/* Takes a value, in quotes or up to a comma or bracket. */
static const char *take_value(const char **p, tra_arena *a) {
    tra_str s = {0};
    if (**p == '"') {
        for (++*p; **p && **p != '"'; ++*p) {
            if (**p == '\\' && (*p)[1]) ++*p;
            tra_str_addn(&s, *p, 1);
        }
        if (**p) ++*p;
    } else {
        size_t n = strcspn(*p, ",])");
        tra_str_addn(&s, *p, n);
        *p += n;
    }
    return tra_arena_take(a, &s);
}

/* A list: each value of options that may be repeated; of others one text of all. */
static tra_status set_list(const tra_option *o, const char **p, tra_reading *to, tra_arena *a, tra_err *e) {
    const char *between = o->arg && strcmp(o->arg, "EXTENTS") == 0 ? "x" : ",", *joined = "";
    for (++*p; **p && **p != ']'; *p += **p == ',') {
        const char *v = take_value(p, a);
        if (o->kind == TRA_OPTION_LIST) TRA_TRY(tra_option_set(o, to, o->name, v, e));
        joined = tra_arena_printf(a, "%s%s%s", joined, *joined ? between : "", v);
    }
    if (**p) ++*p;
    return o->kind == TRA_OPTION_LIST ? TRA_OK : tra_option_set(o, to, o->name, joined, e);
}

tra_status tra_spec_options(const tra_file_spec *at, const char *spec, tra_reading *to, tra_arena *a, tra_err *e) {
    const char *p = at->options;
    char list[128];
    while (p && *p) {
        p += strspn(p, ", ");
        size_t n = strcspn(p, "= ,");
        const tra_option *o = option_of(p, n);
        if (!o) {
            const char *names[64], *near;
            int k = 0;
            const tra_option *each;
            while (k < 64 && (each = tra_option_at(true, k))) names[k++] = each->name;
            near = tra_nearest(tra_arena_strndup(a, p, n), k, names);
            return tra_fail(e, TRA_USAGE, "%s: there is no option %.*s%s%s%s (tra help import lists them)", at->path,
                            (int)n, p, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        }
        if (at->format && !tra_option_is_for(o, true, at->format->name))
            return tra_fail(e, TRA_USAGE, "%s: %s is an option of %s, and this file is %s", at->path, o->name,
                            tra_option_formats(o, true, list), at->format->name);
        p += n + strspn(p + n, " ");
        if (*p != '=') return tra_fail(e, TRA_USAGE, "%s: write %s = value", spec, o->name);
        p += 1 + strspn(p + 1, " ");
        if (*p == '[')
            TRA_TRY(set_list(o, &p, to, a, e));
        else
            TRA_TRY(tra_option_set(o, to, o->name, take_value(&p, a), e));
    }
    return TRA_OK;
}

/* ---- first bytes ----------------------------------------------------------------------------------------------- */

bool tra_spec_is_hdf5(const char *path) {
    static const char signature[8] = "\x89HDF\r\n\x1a\n";
    char head[8];
    struct stat st;
    int fd = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool is = false;
    if (fd < 0) return false;
    for (int64_t at = 0; !is && at < st.st_size; at = at ? 2 * at : 512) /* after a user block */
        is = pread(fd, head, sizeof head, at) == sizeof head && memcmp(head, signature, sizeof head) == 0;
    close(fd);
    return is;
}

const tra_format *tra_spec_sniff(const char *path) {
    unsigned char head[512 + 1];
    struct stat st;
    int fd = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return NULL;
    ssize_t n = read(fd, head, sizeof head - 1);
    close(fd);
    if (n <= 0) return NULL;
    head[n] = 0;
    const tra_format *f = tra_format_sniff(head, (size_t)n);
    return f && !f->opens_itself ? f : NULL;
}
