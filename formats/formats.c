/* formats.c - the table of formats, and opening a source. */
#include "lines.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

extern const tra_format tra_format_npy, tra_format_npz, tra_format_mtx, tra_format_tns, tra_format_edges,
    tra_format_csv, tra_format_raw, tra_format_h5ad, tra_format_binsparse, tra_format_h5;
/* The order of sniffing: any text may be csv, so formats of text with a header come before it. */
const tra_format *const tra_formats[] = {
    &tra_format_npy,
    &tra_format_npz,
    &tra_format_mtx,
    &tra_format_tns,
    &tra_format_edges,
    &tra_format_csv,
    &tra_format_raw,
    &tra_format_h5ad,
    &tra_format_binsparse,
    &tra_format_h5,
    NULL,
};

const tra_format *tra_format_find(const char *name) {
    for (const tra_format *const *f = tra_formats; *f; f++)
        if (strcmp((*f)->name, name) == 0) return *f;
    return NULL;
}

const tra_format *tra_format_by_suffix(const char *path) {
    size_t n = strlen(path);
    for (const char *const *p = (const char *const[]){".gz", ".zst", NULL}; *p; p++) /* what is packed in it */
        if (n > strlen(*p) && strcasecmp(path + n - strlen(*p), *p) == 0) n -= strlen(*p);
    for (const tra_format *const *f = tra_formats; *f; f++)
        for (const char *s = (*f)->suffixes; *s;) {
            size_t len = strcspn(s, " ");
            if (n > len && strncasecmp(path + n - len, s, len) == 0) return *f;
            s += len;
            s += strspn(s, " ");
        }
    return NULL;
}

const tra_format *tra_format_sniff(const unsigned char *head, size_t n) {
    for (const tra_format *const *f = tra_formats; *f; f++)
        if ((*f)->sniff && (*f)->sniff(head, n)) return *f;
    return NULL;
}

const char *tra_format_choices(void) {
    static char text[128];
    if (!text[0])
        for (const tra_format *const *f = tra_formats; *f; f++) {
            if (f != tra_formats) strcat(text, "|");
            strcat(text, (*f)->name);
        }
    return text;
}

/* Files that no format reads, by the bytes with which they begin, with what to do about them. */
static const struct refused_kind {
    const char *magic;  /* the first bytes */
    const char *suffix; /* of the name; "": any */
    const char *what, *advice;
} refused_kinds[] = {
    {"\x1f\x8b", "", "compressed by gzip", "gunzip it first, since this format is not read forward"},
    {"\x28\xb5\x2f\xfd", "", "compressed by zstd", "unzstd it first, since this format is not read forward"},
    {"\xfd"
     "7zXZ",
     "", "compressed by xz", "xz -dc FILE | tra import - imports what is in it"},
    {"BZh", "", "compressed by bzip2", "bzip2 -dc FILE | tra import - imports what is in it"},
    {"PK\3\4", ".xlsx", "a workbook", "save the sheet as CSV and import that"},
    {"PK\3\4", "", "a zip archive",
     "unzip -l FILE lists what is in it, and unzip -p FILE NAME | tra import - imports that"},
    {"MATLAB 5.0 MAT-file", "", "a MAT-file of versions 5 to 7, which is not HDF5",
     "write it again by save('FILE', 'NAME', '-v7.3') in MATLAB or save -hdf5 FILE NAME in Octave, or turn it into npy "
     "by scipy.io.loadmat and numpy.save"},
    {"PAR1", "", "a Parquet file", "write its columns as CSV or npy with the program that made it"},
};

static tra_status refuse_known(const char *spec, const unsigned char *head, size_t n, tra_err *e) {
    size_t len = strlen(spec);
    for (size_t i = 0; i < sizeof refused_kinds / sizeof *refused_kinds; i++) {
        const struct refused_kind *k = &refused_kinds[i];
        size_t m = strlen(k->magic), suffix = strlen(k->suffix);
        if (n < m || memcmp(head, k->magic, m) != 0) continue;
        if (suffix && (len < suffix || strcasecmp(spec + len - suffix, k->suffix) != 0)) continue;
        return tra_fail(e, TRA_INPUT, "%s is %s: %s", strcmp(spec, "-") == 0 ? "standard input" : spec, k->what,
                        k->advice);
    }
    return TRA_OK;
}

/* The same for a file that its format opens by a library. A file that cannot be read is left to that library. */
static tra_status refuse_known_file(const char *path, tra_err *e) {
    unsigned char head[64];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) fclose(f);
    return refuse_known(path, head, n, e);
}

static tra_status decompress(tra_source *s, tra_err *e) {
    int64_t held;
    TRA_TRY(tra_stream_unpack(&s->in, s->o.memory, &held, e));
    s->held += (size_t)held;
    return TRA_OK;
}

static tra_status find_and_open(tra_source *s, tra_err *e) {
    const char *path, *name;
    tra_relspec(s->arena, s->spec, &path, &name);
    bool by_suffix = !s->format && strcmp(s->spec, "-") != 0;
    if (by_suffix) s->format = tra_format_by_suffix(path);
    if (s->format && s->format->opens_itself)
        TRA_TRY(refuse_known_file(path, e));
    else {
        size_t have, cap = (size_t)tra_max64(16 << 10, tra_min64(1 << 20, s->o.memory / 16));
        TRA_TRY(tra_stream_open(s->format ? s->spec : path, cap, &s->in, e));
        TRA_TRY(tra_stream_need(&s->in, 512, &have, e));
        if ((!s->format || s->format->sniff) && tra_is_compressed(s->in.buf + s->in.pos, have)) {
            TRA_TRY(decompress(s, e));
            TRA_TRY(tra_stream_need(&s->in, 512, &have, e));
        }
        /* Text of any kind may be called .txt: its content decides if it is of another format. */
        const tra_format *found = tra_format_sniff(s->in.buf + s->in.pos, have);
        if (by_suffix && s->format == &tra_format_csv && found && found != s->format && !found->opens_itself)
            s->format = found;
        if (!found && (!s->format || s->format->sniff)) TRA_TRY(refuse_known(s->spec, s->in.buf + s->in.pos, have, e));
        if (!s->format) {
            if (have == 0) return tra_fail(e, TRA_INPUT, "%s: is empty", s->in.name);
            s->format = found;
            if (!s->format)
                return tra_fail(e, TRA_INPUT, "%s: neither its name nor its content tells a format; say --from %s",
                                s->spec, tra_format_choices());
            if (s->format->opens_itself && s->in.unpack)
                return tra_fail(e, TRA_INPUT, "%s is a compressed %s file, which is not read forward: unpack it first",
                                s->spec, s->format->name);
            if (s->format->opens_itself) tra_stream_close(&s->in);
        }
    }
    if (s->o.has_elem && !s->o.has_dtype && !s->format->typeless)
        return tra_fail(e, TRA_USAGE, "--dtype %s: relations hold %s; only a raw file can hold this",
                        tra_elem_name(s->o.elem), tra_dtype_choices());
    TRA_TRY(s->format->open(s, e));
    int64_t n, most = s->access == TRA_ACCESS_ENTRIES ? INT64_MAX - 1 : INT64_MAX / 16;
    if ((s->shape.n == 0 || s->shape.v[0] >= 0) && (!tra_dims_product(&s->shape, &n) || n > most)) {
        char text[TRA_DIMTEXT];
        return tra_fail(e, TRA_INPUT, "%s: its shape %s has more elements than any file can hold", s->spec,
                        tra_shape_text(&s->shape, text));
    }
    return TRA_OK;
}

bool tra_csv_by_name(const char *spec) {
    tra_stream in;
    int64_t held;
    size_t have;
    struct stat st;
    const tra_format *f = tra_format_by_suffix(spec);
    if (strcmp(spec, "-") == 0 || (f && f != &tra_format_csv) || stat(spec, &st) != 0) return false;
    /* A pipe is opened but once: who writes to it would be ended, or heard by nobody, when it is closed again. */
    if (!S_ISREG(st.st_mode)) return f != NULL;
    if (tra_stream_open(spec, 16 << 10, &in, NULL) != TRA_OK) return false;
    bool ok = tra_stream_need(&in, 512, &have, NULL) == TRA_OK;
    if (ok && tra_is_compressed(in.buf + in.pos, have))
        ok = tra_stream_unpack(&in, INT64_MAX, &held, NULL) == TRA_OK &&
             tra_stream_need(&in, 512, &have, NULL) == TRA_OK;
    const tra_format *found = ok ? tra_format_sniff(in.buf + in.pos, have) : NULL;
    tra_stream_close(&in);
    return found == &tra_format_csv || (f && !found);
}

tra_status tra_source_open(const char *spec, const tra_format *from, const tra_source_options *o, tra_source **out,
                           tra_err *e) {
    tra_arena *arena = tra_arena_new();
    tra_source *s = tra_new(arena, tra_source);
    *s = (tra_source){.format = from, .spec = spec, .o = *o, .in.fd = -1, .arena = arena};
    s->entries = s->mirrored = -1;
    s->header_lines = s->most_entries = -1;
    *out = NULL;
    tra_status status = find_and_open(s, e);
    if (status == TRA_OK)
        *out = s;
    else
        tra_source_close(s);
    return status;
}

void tra_source_close(tra_source *s) {
    if (!s) return;
    if (s->format && s->format->close && s->state) s->format->close(s);
    tra_lines_close(s);
    tra_stream_close(&s->in);
    tra_arena_free(s->arena);
}
