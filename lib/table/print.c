/* print.c - expressions as text: for readers, and as what tells one kernel from another. */
#include "../model/spooled.h"
#include "table_int.h"

#include <string.h>
#include <stdatomic.h>
#include <xxhash.h>

static uint64_t compute_digest(const tra_colexpr *x) {
    const tra_dictionary *from = x->nkids ? x->kids[0]->dict : NULL, *to = x->dict;
    size_t n = !x->table ? 0 : x->op == TRA_C_PICK ? (size_t)x->entries : from ? (size_t)from->n : 0;
    uint64_t h = n ? XXH64(x->table, n * tra_coltype_size(x->type), 0) : 0;
    if (n && x->tstate) h = XXH64(x->tstate, n, h);
    if (x->recoding && from)
        h = XXH64(x->recoding->at, (size_t)((from->n >> x->recoding->shift) + 1) * sizeof *x->recoding->at, h);
    if (to && to->mark[0]) return XXH64(to->mark, sizeof to->mark, h);
    if (to) h = XXH64(to->begin, (size_t)(to->n + 1) * sizeof *to->begin, h);
    if (to) h = XXH64(to->bytes, (size_t)to->begin[to->n], h);
    return h;
}

/* What a function of a dictionary's entries gives for each: what was computed when the program was compiled. That may
 * be megabytes, and planning prints an expression often, so that the digest stays with it. */
static uint64_t table_digest(const tra_colexpr *x) {
    uint64_t h = atomic_load_explicit(&x->digest, memory_order_relaxed);
    if (h) return h;
    h = compute_digest(x);
    atomic_store_explicit(&((tra_colexpr *)x)->digest, h, memory_order_relaxed);
    return h;
}

static void add_constant(const tra_colexpr *x, tra_str *out) {
    char text[TRA_DATETEXT];
    if (x->null) {
        tra_str_add(out, "null");
        return;
    }
    switch (x->type) {
    case TRA_COL_NUMBERS:
        if (tra_coltype_is_float(x->type))
            tra_str_printf(out, "%.17g", x->value.f);
        else if (x->type == TRA_COL_BOOL)
            tra_str_add(out, x->value.i ? "true" : "false");
        else
            tra_str_printf(out, "%" PRId64, x->value.i);
        return;
    case TRA_COL_DATE: tra_str_printf(out, "date \"%s\"", tra_date_text((int32_t)x->value.i, text)); return;
    case TRA_COL_TIMESTAMP: tra_str_printf(out, "timestamp \"%s\"", tra_timestamp_text(x->value.i, text)); return;
    case TRA_COL_STRING:
    case TRA_COL_TEXT: break;
    }
    int64_t len;
    char buf[TRA_ENTRYTEXT];
    const char *s = tra_dictionary_text(x->dict, x->value.i, buf, &len);
    tra_str_add(out, "\"");
    tra_str_addn(out, s, (size_t)len);
    tra_str_add(out, "\"");
}

void tra_colexpr_print(const tra_colexpr *x, const tra_schema *s, tra_str *out) {
    const char *name = tra_colop_text(x->op);
    switch (x->op) {
    case TRA_C_COLUMN: tra_str_add(out, s->v[x->column].name); return;
    case TRA_C_CONST: add_constant(x, out); return;
    case TRA_C_CONVERT: name = tra_coltype_name(x->type); break;
    case TRA_C_RECODE:
    case TRA_C_PICK:
    case TRA_C_LOOKUP: tra_str_printf(out, "by_entry_%08x", (unsigned)table_digest(x)); break;
    default:
        if (x->nkids != 2 || (name[0] >= 'a' && name[0] <= 'z' && x->op != TRA_C_IDIV)) break;
        tra_str_add(out, "(");
        tra_colexpr_print(x->kids[0], s, out);
        tra_str_printf(out, " %s ", name);
        tra_colexpr_print(x->kids[1], s, out);
        tra_str_add(out, ")");
        return;
    }
    tra_str_printf(out, "%s(", name);
    for (int i = 0; i < x->nkids; i++) {
        tra_str_add(out, i ? ", " : "");
        tra_colexpr_print(x->kids[i], s, out);
    }
    tra_str_add(out, ")");
}

void tra_step_print(tra_arena *a, tra_rowwise_step *s, const tra_schema *in, bool brief, tra_str *out) {
    enum { LONG = 256, BEGINNING = 100 };
    tra_str text = {0};
    for (int i = 0; i < s->n && !s->text; i++) {
        tra_str_add(&text, i ? ", " : "");
        if (!s->selects) tra_str_add(&text, s->names[i]), tra_str_add(&text, " = ");
        tra_colexpr_print(s->x[i], in, &text);
    }
    if (!s->text) s->text = tra_arena_take(a, &text);
    size_t len = strlen(s->text);
    bool cut = brief && len > LONG;
    XXH128_hash_t h = XXH3_128bits(s->text, cut ? len : 0);
    tra_str_addn(out, s->text, cut ? BEGINNING : len);
    if (cut) tra_str_printf(out, "%016" PRIx64 "%016" PRIx64, (uint64_t)h.high64, (uint64_t)h.low64);
}
