/* npy.c - numpy's .npy files, versions 1 to 3, both orders and both byte orders. */
#include "reading.h"
#include "npy.h"

#include <stdlib.h>
#include <string.h>

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};
enum { LONGEST_HEADER = 1 << 20 };

static bool sniff(const unsigned char *head, size_t n) {
    return n >= sizeof magic && memcmp(head, magic, sizeof magic) == 0;
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

typedef struct header {
    const char *p, *end; /* what is left of the text */
    char descr[32];
    bool has_descr, has_order, has_shape, fortran;
    tra_dims shape;
} header;

static void blanks(header *h) { h->p += strspn(h->p, " \t\r\n"); }

static bool accept(header *h, const char *token) {
    blanks(h);
    size_t n = strlen(token);
    if (strncmp(h->p, token, n) != 0) return false;
    h->p += n;
    return true;
}

static bool quoted(header *h, char *to, size_t cap) {
    blanks(h);
    char q = *h->p;
    if (q != '\'' && q != '"') return false;
    const char *end = strchr(h->p + 1, q);
    if (!end || (size_t)(end - h->p) > cap) return false;
    memcpy(to, h->p + 1, (size_t)(end - h->p - 1));
    to[end - h->p - 1] = '\0';
    h->p = end + 1;
    return true;
}

static bool shape_tuple(header *h) {
    if (!accept(h, "(")) return false;
    h->has_shape = true;
    while (!accept(h, ")")) {
        blanks(h);
        size_t n = strspn(h->p, "-+0123456789");
        if (h->shape.n == TRA_MAXDIM || !tra_scan_int(h->p, n, &h->shape.v[h->shape.n]) || h->shape.v[h->shape.n] < 0)
            return false;
        h->shape.n++;
        h->p += n;
        accept(h, "L"); /* Python 2 */
        bool more = accept(h, ",");
        if (!more && (h->shape.n == 1 || (blanks(h), *h->p != ')'))) return false; /* (3) is no tuple */
    }
    return true;
}

static bool parse_header(header *h) {
    char key[32];
    if (!accept(h, "{")) return false;
    while (!accept(h, "}")) {
        if (!quoted(h, key, sizeof key) || !accept(h, ":")) return false;
        if (strcmp(key, "descr") == 0) {
            if (h->has_descr) return false;
            h->has_descr = true;
            blanks(h);
            if (*h->p == '[') { /* a list of fields; nothing after it matters */
                strcpy(h->descr, "V");
                return true;
            }
            if (!quoted(h, h->descr, sizeof h->descr)) return false;
        } else if (strcmp(key, "fortran_order") == 0) {
            if (h->has_order) return false;
            h->has_order = true;
            if (accept(h, "True"))
                h->fortran = true;
            else if (!accept(h, "False"))
                return false;
        } else if (strcmp(key, "shape") == 0) {
            if (h->has_shape || !shape_tuple(h)) return false;
        } else
            return false;
        if (!accept(h, ",") && (blanks(h), *h->p != '}')) return false;
    }
    blanks(h);
    return h->has_descr && h->has_order && h->has_shape && h->p == h->end;
}

/* "<f8" to an element type and its byte order. */
static tra_status parse_descr(const char *spec, const char *descr, tra_elem *elem, bool *swap, tra_err *e) {
    static const struct {
        const char *text;
        tra_elem elem;
    } types[] = {
        {"f8", TRA_ELEM_F64}, {"f4", TRA_ELEM_F32},  {"f2", TRA_ELEM_F16}, {"i1", TRA_ELEM_I8},   {"i2", TRA_ELEM_I16},
        {"i4", TRA_ELEM_I32}, {"i8", TRA_ELEM_I64},  {"u1", TRA_ELEM_U8},  {"u2", TRA_ELEM_U16},  {"u4", TRA_ELEM_U32},
        {"u8", TRA_ELEM_U64}, {"b1", TRA_ELEM_BOOL}, {"?", TRA_ELEM_BOOL}, {"f16", TRA_ELEM_F80},
    };
    static const struct {
        char kind;
        const char *what;
    } refused[] = {
        {'O', "Python objects"},
        {'V', "structured records"},
        {'c', "complex numbers"},
        {'S', "text"},
        {'U', "text"},
        {'a', "text"},
        {'M', "dates"},
        {'m', "time spans"},
        {'f', "floats of this size"},
    };
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    const char *t = descr + (*descr && strchr("<>=|", *descr) != NULL);
    *swap = (*descr == '>' && little) || (*descr == '<' && !little);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(t, types[i].text) == 0) {
            *elem = types[i].elem;
            size_t size = tra_elem_size(*elem);
            if (size == 1) *swap = false;
            if (*elem != TRA_ELEM_F80 || (size == 16 && !*swap)) return TRA_OK;
        }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (*t == refused[i].kind)
            return tra_fail(e, TRA_INPUT,
                            "%s: holds %s (numpy type \"%s\"); tra takes real numbers, integers and booleans", spec,
                            refused[i].what, descr);
    return tra_fail(e, TRA_INPUT, "%s: numpy type \"%s\" is not known", spec, descr);
}

tra_status tra_npy_read(tra_stream *in, tra_arena *a, const char *spec, tra_npy *out, tra_err *e) {
    unsigned char pre[12];
    size_t have;
    TRA_TRY(tra_stream_need(in, sizeof pre, &have, e));
    if (have < 10 || !sniff(in->buf + in->pos, have)) return tra_fail(e, TRA_INPUT, "%s: is not an npy file", spec);
    TRA_TRY(tra_stream_take(in, pre, 8, e));
    if (pre[6] < 1 || pre[6] > 3)
        return tra_fail(e, TRA_INPUT, "%s: npy version %d.%d is not known", spec, pre[6], pre[7]);
    size_t width = pre[6] == 1 ? 2 : 4, len = 0;
    TRA_TRY(tra_stream_take(in, pre, width, e));
    for (size_t i = width; i-- > 0;) len = len << 8 | pre[i];
    if (len > LONGEST_HEADER) return tra_fail(e, TRA_INPUT, "%s: is damaged: its header claims %zu bytes", spec, len);
    char *text = tra_arena_alloc(a, len + 1);
    TRA_TRY(tra_stream_take(in, text, len, e));
    text[len] = '\0';
    header h = {.p = text, .end = text + len};
    if (!parse_header(&h)) return tra_fail(e, TRA_INPUT, "%s: is damaged: its header cannot be read", spec);
    *out = (tra_npy){.shape = h.shape, .fortran = h.fortran && h.shape.n > 1};
    memcpy(out->descr, h.descr, sizeof out->descr);
    return TRA_OK;
}

tra_status tra_npy_elem(tra_npy *h, const char *spec, tra_err *e) {
    return parse_descr(spec, h->descr, &h->elem, &h->swap, e);
}

static tra_status open_npy(tra_source *s, tra_err *e) {
    tra_npy h;
    TRA_TRY(tra_npy_read(&s->in, s->arena, s->spec, &h, e));
    TRA_TRY(tra_npy_elem(&h, s->spec, e));
    tra_flat *f = tra_new(s->arena, tra_flat);
    f->elem = h.elem;
    f->swap = h.swap;
    s->shape = h.shape;
    s->fortran = h.fortran;
    f->fortran = s->fortran;
    f->dims = s->fortran ? tra_reversed(&h.shape) : h.shape;
    f->offset = tra_stream_position(&s->in);
    int64_t n, bytes, end;
    char shape[TRA_DIMTEXT];
    if (!tra_dims_product(&h.shape, &n) || !tra_mul(n, (int64_t)tra_elem_size(f->elem), &bytes) ||
        !tra_add(bytes, f->offset, &end))
        return tra_fail(e, TRA_INPUT, "%s: is damaged: its header claims %s elements", s->spec,
                        tra_shape_text(&h.shape, shape));
    if (s->in.seekable && end != s->in.size)
        return tra_fail(e, TRA_INPUT, "%s: has %" PRId64 " bytes, but %s elements of type %s end at byte %" PRId64,
                        s->spec, s->in.size, tra_shape_text(&h.shape, shape), tra_elem_name(f->elem), end);
    s->access = s->in.seekable ? TRA_ACCESS_BOX : TRA_ACCESS_STREAM;
    s->dtype = s->o.has_dtype ? s->o.dtype : tra_elem_dtype(f->elem);
    s->type_text = tra_elem_name(f->elem);
    for (int d = 0; d < (s->grain.n = s->shape.n); d++) s->grain.v[d] = 1;
    tra_flat_init(f, s->arena, s->o.memory);
    s->state = f;
    return TRA_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------------- */

void tra_npy_header(tra_str *to, tra_dtype t, const tra_dims *shape) {
    tra_str h = {0};
    char order = tra_dtype_size(t) == 1 ? '|' : __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    tra_str_printf(&h, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, tra_dtype_rows[t].numpy);
    for (int d = 0; d < shape->n; d++)
        tra_str_printf(&h, "%s%" PRId64 "%s", d ? " " : "", shape->v[d], d + 1 < shape->n || shape->n == 1 ? "," : "");
    tra_str_add(&h, "), }");
    while ((10 + h.n + 1) % 64 != 0) tra_str_add(&h, " "); /* the data begins at a multiple of 64 */
    tra_str_add(&h, "\n");
    unsigned char pre[10] = {0};
    memcpy(pre, magic, sizeof magic);
    pre[6] = 1;
    pre[8] = (unsigned char)(h.n & 255);
    pre[9] = (unsigned char)(h.n >> 8);
    tra_str_addn(to, (const char *)pre, sizeof pre);
    tra_str_addn(to, h.s, h.n);
    tra_str_free(&h);
}

static tra_status begin(tra_sink *k, tra_err *e) {
    tra_str h = {0};
    tra_npy_header(&h, k->dtype, &k->shape);
    tra_status s = tra_newfile_write(&k->out, h.s, h.n, e);
    tra_str_free(&h);
    return s;
}

const tra_format tra_format_npy = {
    .name = "npy",
    .says = "an array of numpy; in C order it is read where it is",
    .suffixes = ".npy",
    .binary = true,
    .sniff = sniff,
    .reads = TRA_OPTIONS(TRA_READS_COMMON),
    .tables = true,
    .open = open_npy,
    .box = tra_flat_source_box,
    .next = tra_flat_source_next,
    .begin = begin,
    .put = tra_flat_put,
};
