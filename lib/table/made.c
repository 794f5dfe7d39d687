/* made.c - strings that only rows tell, value by value. */
#include "made.h"

#include "calls_int.h"

#include <assert.h>

static bool is_coded(const tra_colexpr *x) { return !x->untyped && tra_coltype_is_coded(x->type); }

static bool is_made(const tra_colexpr *x) {
    return x->op < TRA_C_COLUMN && is_coded(x) && !x->dict && tra_colop_class(x->op) == TRA_COLCLASS_CALL;
}

bool tra_colexpr_is_known(const tra_colexpr *x) {
    if (is_coded(x) && !x->dict) return false;
    for (int i = 0; i < x->nkids; i++)
        if (!tra_colexpr_is_known(x->kids[i])) return false;
    return true;
}

bool tra_colexpr_can_be_made(const tra_colexpr *x) {
    if (!is_made(x)) return false;
    for (int i = 0; i < x->nkids; i++)
        if (!tra_colexpr_is_known(x->kids[i]) && !tra_colexpr_can_be_made(x->kids[i])) return false;
    return true;
}

/* A call, or (x NULL) the result of a root of the code, or a constant. */
typedef struct part {
    const tra_colexpr *x;
    int root;
    tra_colvalue at; /* of a root, for the strip at hand; */
    bool constant;
    tra_call_value value;
    struct part *kid;
    tra_call_value *v;
    tra_str text;
} part;

struct tra_made {
    int n, nroots;
    part *v;
    const tra_colexpr **root;
    tra_colrun run;
    int64_t most; /* bytes of a string */
    bool steps;   /* a regular expression took too many */
    bool over;    /* a string would have had more bytes than `most` */
};
static_assert((int)TRA_MADE_ROWS <= (int)TRA_COLSTRIP, "a strip of rows is one of the code");

static int count_roots(const tra_colexpr *x) {
    int n = 0;
    if (!is_made(x)) return 1;
    for (int i = 0; i < x->nkids; i++) n += count_roots(x->kids[i]);
    return n;
}

static part part_of(tra_made *m, tra_arena *a, const tra_colexpr *x) {
    part p = {.root = m->nroots};
    p.constant = x->op == TRA_C_CONST && !x->untyped && !x->null && tra_colexpr_is_known(x);
    if (p.constant) p.value = tra_call_constant(x);
    if (!is_made(x)) return m->root[m->nroots++] = x, p;
    p.x = x;
    p.kid = tra_news(a, part, x->nkids + 1);
    p.v = tra_news(a, tra_call_value, x->nkids + 1);
    for (int i = 0; i < x->nkids; i++) p.kid[i] = part_of(m, a, x->kids[i]);
    return p;
}

tra_made *tra_made_new(tra_arena *a, int n, const tra_colexpr *const *x, int64_t most) {
    tra_made *m = tra_new(a, tra_made);
    int roots = 0;
    for (int k = 0; k < n; k++) roots += count_roots(x[k]);
    *m = (tra_made){.n = n, .most = most, .v = tra_news(a, part, n + 1)};
    m->root = tra_news(a, const tra_colexpr *, roots + 1);
    for (int k = 0; k < n; k++) m->v[k] = part_of(m, a, x[k]);
    tra_colcode *code = tra_colcode_new(a, m->nroots, m->root);
    char *scratch = tra_arena_alloc(a, (size_t)tra_colcode_scratch(code) + 64);
    tra_colrun_begin(&m->run, code, scratch + (64 - (uintptr_t)scratch % 64) % 64);
    return m;
}

/* Prefetches the strings of a strip, where the dictionary is too large for the cache. */
static void fetch_strings(const tra_dictionary *d, const int32_t *code, int n) {
    enum { LARGE = 1 << 14 };
    if (d->n < LARGE) return;
    for (int i = 0; i < n; i++) __builtin_prefetch(&d->begin[code[i]]);
    for (int i = 0; i < n; i++) /* the code of a NULL may be of no string */
        if ((uint32_t)code[i] < (uint64_t)d->n) __builtin_prefetch(d->bytes + d->begin[code[i]]);
}

static void find_roots(tra_made *m, part *p, int n) {
    const tra_colexpr *x = p->x ? NULL : m->root[p->root];
    if (x) p->at = tra_colrun_result(&m->run, p->root);
    if (x && is_coded(x) && !p->constant && x->dict->begin) fetch_strings(x->dict, p->at.values, n);
    for (int i = 0; p->x && i < p->x->nkids; i++) find_roots(m, &p->kid[i], n);
}

void tra_made_batch(tra_made *m, const tra_batch *in, int64_t first, int64_t from, int n, tra_vector *strip) {
    const tra_schema *s = in->schema;
    for (int c = 0; c < s->n; c++) {
        if (!in->v[c].values) continue;
        strip[c].values = (char *)in->v[c].values + (size_t)from * tra_coltype_size(s->v[c].type);
        strip[c].state = in->v[c].state ? in->v[c].state + from : NULL;
    }
    tra_colrun_strip(&m->run, strip, first + from, n);
    for (int k = 0; k < m->n; k++) find_roots(m, &m->v[k], n);
}

static tra_call_value value_of(tra_made *m, part *p, int i) {
    if (p->constant) return p->value;
    if (!p->x) {
        const tra_colexpr *x = m->root[p->root];
        int state = p->at.state ? p->at.state[i] : TRA_STATE_VALUE;
        if (state == TRA_STATE_VALUE) return tra_call_value_of(x, p->at.values, i);
        return (tra_call_value){.type = x->type, .state = state};
    }
    int state = TRA_STATE_VALUE;
    for (int k = 0; k < p->x->nkids; k++) {
        p->v[k] = value_of(m, &p->kid[k], i);
        state = p->v[k].state > state ? p->v[k].state : state;
    }
    if (state != TRA_STATE_VALUE) return (tra_call_value){.type = p->x->type, .state = state};
    p->text.n = 0;
    tra_call c = {.op = p->x->op, .n = p->x->nkids, .v = p->v, .prepared = p->x->prepared, .text = &p->text};
    c.most = m->most;
    tra_call_run(&c);
    m->over = m->over || c.over;
    if (c.over) c.out.state = TRA_STATE_ERROR;
    if (c.out.state == TRA_STATE_ERROR) m->steps = tra_call_takes(c.op, 1) == 'p';
    return c.out;
}

int tra_made_string(tra_made *m, int k, int i, const char **s, int64_t *len) {
    tra_call_value v = value_of(m, &m->v[k], i);
    *s = v.s;
    *len = v.n;
    return v.state;
}

tra_call_value tra_made_value(tra_made *m, int k, int i) { return value_of(m, &m->v[k], i); }

int tra_made_pieces(const tra_made *m, int k) {
    const part *p = &m->v[k];
    bool plain = p->x && p->x->op == (tra_colop)TRA_C_CONCAT;
    for (int i = 0; plain && i < p->x->nkids; i++) plain = !p->kid[i].x;
    return plain ? p->x->nkids : 0;
}

int tra_made_pieces_state(const tra_made *m, int k, int i) {
    const part *p = &m->v[k];
    int state = TRA_STATE_VALUE;
    for (int j = 0; j < p->x->nkids; j++)
        if (p->kid[j].at.state && p->kid[j].at.state[i] > state) state = p->kid[j].at.state[i];
    return state;
}

void tra_made_piece(tra_made *m, int k, int piece, int i, const char **s, int64_t *len) {
    part *p = &m->v[k];
    tra_call_value v = value_of(m, &p->kid[piece], i);
    *s = v.s, *len = v.n;
    if (tra_coltype_is_coded(v.type)) return;
    p->text.n = 0;
    tra_call c = {.op = p->x->op, .n = 1, .v = &v, .prepared = p->x->prepared, .text = &p->text, .most = m->most};
    tra_call_run(&c);
    *s = c.out.s, *len = c.out.n;
}

bool tra_made_is_long(const tra_made *m) { return m->over; }
bool tra_made_took_long(const tra_made *m) { return m->steps; }
const char *tra_made_why(const tra_made *m) { return m->steps ? "takes too many steps" : "could not be computed"; }

static void free_part(part *p) {
    for (int i = 0; p->x && i < p->x->nkids; i++) free_part(&p->kid[i]);
    tra_str_free(&p->text);
}

void tra_made_free(tra_made *m) {
    for (int k = 0; m && k < m->n; k++) free_part(&m->v[k]);
}

int64_t tra_made_room(const tra_schema *s, int nkept, int n) {
    enum { LEAST = 2 << 20 };
    return LEAST + 2 * TRA_MADE_ROWS * (tra_schema_row_bytes(s) + 16 * ((int64_t)nkept + 2 * n));
}
