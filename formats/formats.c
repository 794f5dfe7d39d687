/* formats.c - the table of formats, and opening a source. */
#include "lines.h"
#include "reading.h"

#include <string.h>
#include <strings.h>

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

/* *stem: the length of the path without suffixes. */
static const tra_format *by_suffix(const char *path, size_t *stem) {
    size_t n = strlen(path);
    for (const char *const *p = (const char *const[]){".gz", ".zst", NULL}; *p; p++) /* what is packed in it */
        if (n > strlen(*p) && strcasecmp(path + n - strlen(*p), *p) == 0) n -= strlen(*p);
    *stem = n;
    for (const tra_format *const *f = tra_formats; *f; f++)
        for (const char *s = (*f)->suffixes; *s;) {
            size_t len = strcspn(s, " ");
            if (n > len && strncasecmp(path + n - len, s, len) == 0) return *stem = n - len, *f;
            s += len;
            s += strspn(s, " ");
        }
    return NULL;
}

const tra_format *tra_format_by_suffix(const char *path) {
    size_t stem;
    return by_suffix(path, &stem);
}

size_t tra_format_stem(const char *path) {
    size_t stem;
    by_suffix(path, &stem);
    return stem;
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

#define MAT_ADVICE                                                                                                     \
    "write it again by save('FILE', 'NAME', '-v7.3') in MATLAB or save -hdf5 FILE NAME in Octave, or turn it into "    \
    "npy "                                                                                                             \
    "by scipy.io.loadmat and numpy.save"
#define COLUMNS_ADVICE     "write its columns as CSV or npy with the program that made it"
#define UTF_ADVICE(digits) "iconv -f UTF-" digits " -t UTF-8 makes a file of it that can be read"

/* Files that no format reads, by the bytes with which they begin, with what to do about them. */
#define MAGIC(bytes) bytes, sizeof bytes - 1
static const struct refused_kind {
    const char *magic; /* the first bytes */
    size_t n;
    const char *suffix; /* of the name; "": any */
    const char *what, *advice;
} refused_kinds[] = {
    {MAGIC("\x1f\x8b"), "", "compressed by gzip", "gunzip it first, since this format is not read forward"},
    {MAGIC("\x28\xb5\x2f\xfd"), "", "compressed by zstd", "unzstd it first, since this format is not read forward"},
    {MAGIC("\xfd"
           "7zXZ"),
     "", "compressed by xz", "xz -dc FILE | tra import - imports what is in it"},
    {MAGIC("BZh"), "", "compressed by bzip2", "bzip2 -dc FILE | tra import - imports what is in it"},
    {MAGIC("\x04\x22\x4d\x18"), "", "compressed by lz4", "lz4 -dc FILE | tra import - imports what is in it"},
    {MAGIC("7z\xbc\xaf\x27\x1c"), "", "a 7z archive", "7z x -so FILE NAME | tra import - imports what is in it"},
    {MAGIC("Rar!\x1a\x07"), "", "a RAR archive", "unrar p -inul FILE NAME | tra import - imports what is in it"},
    {MAGIC("PK\3\4"), ".xlsx", "a workbook", "save the sheet as CSV and import that"},
    {MAGIC("PK\3\4"), ".ods", "a workbook", "save the sheet as CSV and import that"},
    {MAGIC("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "", "a workbook or document of older Office programs",
     "save the sheet as CSV and import that"},
    {MAGIC("PK\3\4"), "", "a zip archive",
     "unzip -l FILE lists what is in it, and unzip -p FILE NAME | tra import - imports that"},
    {MAGIC("MATLAB 5.0 MAT-file"), "", "a MAT-file of versions 5 to 7, which is not HDF5", MAT_ADVICE},
    {MAGIC("\x0e\x03\x13\x01"), "", "an HDF4 file, which is not HDF5", "h4toh5 FILE makes an HDF5 file of it"},
    {MAGIC("PAR1"), "", "a Parquet file", COLUMNS_ADVICE},
    {MAGIC("ARROW1"), "", "an Arrow or Feather file", COLUMNS_ADVICE},
    {MAGIC("FEA1"), "", "a Feather file", COLUMNS_ADVICE},
    {MAGIC("ORC"), "", "an ORC file", COLUMNS_ADVICE},
    {MAGIC("Obj\1"), "", "an Avro file", COLUMNS_ADVICE},
    {MAGIC("SQLite format 3"), "", "an SQLite database",
     "sqlite3 -csv -header FILE 'select ...' | tra import - -o OUT"},
    {MAGIC("\x80\4\x95"), "", "a pickle of Python", "write the array by numpy.save, or the table by to_csv"},
    {MAGIC("%PDF"), "", "a PDF document", "tra reads no documents"},
    {MAGIC("\xff\xfe\0\0"), "", "UTF-32", UTF_ADVICE("32")},
    {MAGIC("\0\0\xfe\xff"), "", "UTF-32", UTF_ADVICE("32")},
    {MAGIC("\xff\xfe"), "", "UTF-16", UTF_ADVICE("16")},
    {MAGIC("\xfe\xff"), "", "UTF-16", UTF_ADVICE("16")},
    {MAGIC("version https://git-lfs.github.com/spec/"), "", "a pointer of Git LFS, not the file it stands for",
     "git lfs pull fetches that"},
    {MAGIC("<!DOCTYPE"), "", "a page of HTML", "a server may have sent it in place of the file"},
    {MAGIC("<html"), "", "a page of HTML", "a server may have sent it in place of the file"},
    {MAGIC("<?xml"), "", "XML", "write its records as CSV with the program that made it"},
    {MAGIC("{\rtf"), "", "a document of a word processor", "save it as CSV"},
};

/* JSON: an object, or a list of objects or lists. */
static bool is_json(const char *p, const char *end) {
    static const char blanks[] = " \t\r\n";
    if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3;
    while (p < end && strchr(blanks, *p) && *p) p++;
    bool list = p < end && *p == '[';
    if (list) p++;
    while (p < end && strchr(blanks, *p) && *p) p++;
    if (p < end && list && *p == '[') return true;
    if (p == end || *p++ != '{') return false;
    while (p < end && strchr(blanks, *p) && *p) p++;
    return p == end || *p == '"' || *p == '}';
}

/* A MAT-file of version 4 has no mark: its header is five numbers, and then a name. */
static bool is_mat4(const unsigned char *head, size_t n) {
    uint32_t v[5];
    if (n < sizeof v + 2) return false;
    memcpy(v, head, sizeof v);
    for (int turned = 0; turned < 2; turned++) {
        uint32_t t = v[0], name = v[4];
        if (t < 5000 && t / 100 % 10 == 0 && t / 10 % 10 < 6 && t % 10 < 3 && v[3] < 2 && name > 1 && name < 65 &&
            sizeof v + name <= n && head[sizeof v + name - 1] == 0 && head[sizeof v] >= 'A')
            return true;
        for (int i = 0; i < 5; i++) v[i] = __builtin_bswap32(v[i]);
    }
    return false;
}

static tra_status refuse_as(const char *spec, const char *what, const char *advice, tra_err *e) {
    return tra_fail(e, TRA_INPUT, "%s is %s: %s", strcmp(spec, "-") == 0 ? "standard input" : spec, what, advice);
}

static tra_status refuse_known(const char *spec, const unsigned char *head, size_t n, tra_err *e) {
    size_t len = strlen(spec);
    for (size_t i = 0; i < sizeof refused_kinds / sizeof *refused_kinds; i++) {
        const struct refused_kind *k = &refused_kinds[i];
        size_t suffix = strlen(k->suffix);
        if (n < k->n || memcmp(head, k->magic, k->n) != 0) continue;
        if (suffix && (len < suffix || strcasecmp(spec + len - suffix, k->suffix) != 0)) continue;
        return refuse_as(spec, k->what, k->advice, e);
    }
    if (is_mat4(head, n)) return refuse_as(spec, "a MAT-file of version 4, which is not HDF5", MAT_ADVICE, e);
    if (n > 262 && memcmp(head + 257, "ustar", 5) == 0)
        return refuse_as(spec, "a tar archive", "tar -xOf FILE NAME | tra import - imports what is in it", e);
    if (is_json((const char *)head, (const char *)head + n))
        return refuse_as(spec, "JSON", "write its records as CSV, as in jq -r '[.a, .b] | @csv' FILE", e);
    return TRA_OK;
}

/* The same for a file that its format opens by a library. A file that cannot be read is left to that library. */
static tra_status refuse_known_file(const char *path, tra_err *e) {
    unsigned char head[512];
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
    bool from = s->format != NULL, by_suffix = !from && strcmp(s->spec, "-") != 0;
    if (by_suffix) s->format = tra_format_by_suffix(path);
    if (s->format && s->format->opens_itself)
        TRA_TRY(refuse_known_file(path, e));
    else {
        size_t have, cap = (size_t)tra_max64(16 << 10, tra_min64(1 << 20, s->o.memory / 16));
        bool members = s->format && s->format->members;
        if (members) s->member = name;
        TRA_TRY(tra_stream_open(s->format && !members ? s->spec : path, cap, &s->in, e));
        TRA_TRY(tra_stream_need(&s->in, 512, &have, e));
        if ((!s->format || s->format->sniff) && tra_is_compressed(s->in.buf + s->in.pos, have)) {
            TRA_TRY(decompress(s, e));
            TRA_TRY(tra_stream_need(&s->in, 512, &have, e));
        }
        /* Text of any kind may be called .txt: its content decides if it is of another format. */
        const tra_format *found = tra_format_sniff(s->in.buf + s->in.pos, have);
        if (by_suffix && s->format == &tra_format_csv && found && found != s->format && !found->opens_itself)
            s->format = found;
        bool text = found == &tra_format_csv && !from; /* who says that it is CSV is believed */
        if ((!found || text) && (!s->format || s->format->sniff))
            TRA_TRY(refuse_known(s->spec, s->in.buf + s->in.pos, have, e));
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
    const char *option = s->o.text ? s->o.text->table_option : NULL;
    if (option && s->format != &tra_format_csv)
        return tra_fail(e, TRA_USAGE,
                        "--%s is for tables of CSV files, and %s is %s by %s (--from csv reads it as CSV)", option,
                        s->spec, s->format->name,
                        from        ? "--from"
                        : by_suffix ? "its name"
                                    : "its content");
    char d = s->o.text ? s->o.text->delimiter : 0;
    if (d && s->format != &tra_format_csv) TRA_TRY(tra_csv_delimiter((char[]){d, 0}, &d, e));
    TRA_TRY(s->format->open(s, e));
    int64_t n, most = s->access == TRA_ACCESS_ENTRIES ? INT64_MAX - 1 : INT64_MAX / 16;
    if (!tra_dims_product(&s->shape, &n) || n > most) {
        char text[TRA_DIMTEXT];
        return tra_fail(e, TRA_INPUT, "%s: its shape %s has more elements than any file can hold", s->spec,
                        tra_shape_text(&s->shape, text));
    }
    return TRA_OK;
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
