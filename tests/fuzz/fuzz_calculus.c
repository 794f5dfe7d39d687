/* Any bytes as an expression, a storage or a tensor statement: what parses prints to text that parses to the same; what
 * is typed runs within its steps on components and relations of any contents, inside their memory. */
#include "../../lib/storage/storage.h"
#include "bytes.h"

enum { STEPS = 20000 };

static const tra_calc_name names[] = {
    {.name = "v", .type = {true, false, 1}},
    {.name = "p", .type = {false, false, 1}},
    {.name = "h", .type = {true, true, 2}},
    {.name = "n", .type = {0}},
    {.name = "x", .type = {.real = true}},
    {.name = "A", .type = {true, true, 2}, .relation = true},
    {.name = "D", .type = {false, false, 1}, .relation = true},
};
enum { NNAMES = sizeof names / sizeof names[0] };

static tra_status get(void *ctx, const int64_t *at, tra_calc_number *v, tra_err *e) {
    const tra_calc_operand *o = ctx;
    (void)e;
    for (int d = 0; d < o->rank; d++)
        if (at[d] < 0 || at[d] >= o->extent[d]) abort();
    *v = o->real ? tra_calc_real((double)(at[0] % 3)) : tra_calc_int(at[0] % 3);
    return TRA_OK;
}

static bool next(void *ctx, int n, const int64_t *prefix, int64_t *key) {
    const tra_calc_operand *o = ctx;
    if (*key < 0 || n >= o->rank || (n && (prefix[0] < 0 || prefix[0] >= o->extent[0]))) abort();
    while (n == 0 && *key % 3 == 0) ++*key;
    return *key < o->extent[n] && (n == 0 || prefix[0] % 3 != 0);
}

static tra_status take(void *ctx, const tra_calc_entry *x, tra_err *e) {
    int64_t *sum = ctx;
    (void)e;
    *sum ^= x->value.real ? (int64_t)(x->value.r == x->value.r) : x->value.i;
    return TRA_OK;
}

/* n elements, in memory of exactly their size, so that the sanitizer sees a read outside; sometimes they are missing.
 */
static tra_elements elements(fuzz_bytes *b, tra_element type, int64_t n, bool may_lack) {
    size_t size = tra_element_size(type);
    uint8_t *data = may_lack && fuzz_below(b, 4) == 0 ? NULL : malloc((size_t)n * size + (n == 0));
    for (int64_t i = 0; data && i < n; i++) {
        int64_t v = fuzz_int(b);
        double r = (double)v;
        float f = (float)v;
        memcpy(data + (size_t)i * size,
               type == TRA_ELEMENT_F64   ? (void *)&r
               : type == TRA_ELEMENT_F32 ? (void *)&f
                                         : &v,
               size);
    }
    return (tra_elements){type, n, data};
}

static tra_element element_type(fuzz_bytes *b) { return (tra_element)fuzz_below(b, TRA_ELEMENT_U32 + 1); }

static tra_component_data component(fuzz_bytes *b, int nkeys, int64_t n, bool may_lack) {
    tra_component_data c = {.value = elements(b, element_type(b), n, may_lack)};
    for (int k = 0; k < nkeys; k++) c.key[k] = elements(b, element_type(b), n, may_lack);
    return c;
}

static void free_component(tra_component_data *c) {
    free((void *)c->value.data);
    for (int k = 0; k < TRA_CALC_MAXRANK; k++) free((void *)c->key[k].data);
}

static void check_status(tra_status s, const tra_err *e) {
    if (s != e->status || s == TRA_INTERNAL) abort();
}

static void expression(const char *text, int n, tra_arena *a, fuzz_bytes *b) {
    tra_calc_error err;
    const tra_calc *x = tra_calc_parse(text, n, a, &err);
    if (!x) {
        if (err.at < 0 || err.at > n || err.len < 0 || err.at + err.len > n || !*err.msg) abort();
        return;
    }
    tra_str out = {0};
    tra_calc_print(x, &out);
    const tra_calc *y = tra_calc_parse(tra_str_get(&out), (int)out.n, a, &err);
    if (!y || !tra_calc_equal(x, y)) abort();
    tra_str_free(&out);
    if (!tra_calc_check(x, NNAMES, names, a, &err)) return;
    tra_component_data v = component(b, 0, fuzz_below(b, 9), true), p = component(b, 0, fuzz_below(b, 9), true),
                       h = component(b, 2, fuzz_below(b, 9), true);
    tra_calc_operand A = {.ctx = &A, .rank = 2, .real = true, .sparse = true, .get = get, .next = next};
    tra_calc_operand D = {.ctx = &D, .rank = 1, .extent = {fuzz_below(b, 5)}, .get = get};
    for (int d = 0; d < A.rank; d++) A.extent[d] = fuzz_below(b, 5);
    tra_calc_free scope[NNAMES] = {{.component = &v, .kind = TRA_COMPONENT_ARRAY},
                                   {.component = &p, .kind = TRA_COMPONENT_ARRAY},
                                   {.component = &h, .kind = TRA_COMPONENT_HASHMAP},
                                   {.number = tra_calc_int(fuzz_int(b))},
                                   {.number = tra_calc_real((double)fuzz_int(b) / 4)},
                                   {.operand = &A},
                                   {.operand = &D}};
    tra_err e = {0};
    int64_t sum = 0;
    check_status(tra_calc_run(x, NNAMES, scope, STEPS, take, &sum, &e), &e);
    e = (tra_err){0};
    check_status(tra_calc_run_summed(x, NNAMES, scope, STEPS, take, &sum, &e), &e);
    free_component(&v);
    free_component(&p);
    free_component(&h);
}

static void run_block(const tra_storage *s, fuzz_bytes *b) {
    int64_t extent[TRA_CALC_MAXRANK], origin[TRA_CALC_MAXRANK], sum = 0;
    tra_component_data *c = tra_calloc((size_t)s->ncomponents + 1, sizeof *c);
    tra_storage_block block = {extent, origin, c};
    tra_storage_places p;
    for (int d = 0; d < s->rank; d++) extent[d] = fuzz_below(b, 6), origin[d] = fuzz_int(b);
    for (int k = 0; k < s->ncomponents; k++) {
        int nkeys = s->components[k].kind >= TRA_COMPONENT_HASHMAP ? s->components[k].nsizes : 0;
        int64_t size[TRA_CALC_MAXRANK] = {1};
        tra_err ignored = {0};
        bool told = nkeys == 0 && fuzz_below(b, 2) && tra_component_sizes(s, &block, k, size, &ignored) == TRA_OK;
        c[k] = component(b, nkeys, told && size[0] < 64 ? size[0] : fuzz_below(b, 9), fuzz_below(b, 2));
    }
    tra_err e = {0};
    bool given = true;
    for (int k = 0; k < s->ncomponents; k++) given &= c[k].value.data != NULL;
    for (int k = 0; k < s->ncomponents; k++)
        for (int d = 0; d < s->components[k].nsizes && s->components[k].kind >= TRA_COMPONENT_HASHMAP; d++)
            given &= c[k].key[d].data != NULL;
    if (given) check_status(tra_component_check(s, &block, "fuzz", &e), &e);
    e = (tra_err){0};
    check_status(tra_storage_run(s, &block, STEPS, take, &sum, &e), &e);
    e = (tra_err){0};
    tra_status status = tra_storage_trace(s, &block, STEPS, &p, &e);
    check_status(status, &e);
    for (int64_t i = 0; status == TRA_OK && i < p.n; i++)
        if (p.v[i].component < 0 || p.v[i].component >= s->ncomponents || p.v[i].element < 0 ||
            p.v[i].element >= c[p.v[i].component].value.n)
            abort();
    tra_storage_places_free(&p);
    tra_storage_is_total(s, &block);
    for (int k = 0; k < s->ncomponents; k++) free_component(&c[k]);
    free(c);
}

static void storage(const char *text, int n, tra_arena *a, fuzz_bytes *b) {
    tra_calc_error err;
    int end;
    const tra_storage_decl *d = tra_storage_parse(text, n, 0, a, &end, &err);
    if (end < 0 || end > n) abort();
    if (!d) return;
    tra_str first = {0}, second = {0};
    tra_storage_decl_print(d, &first);
    const tra_storage_decl *again = tra_storage_parse(tra_str_get(&first), (int)first.n, 0, a, &end, &err);
    if (!again || end != (int)first.n) abort();
    tra_storage_decl_print(again, &second);
    if (strcmp(first.s, second.s) != 0) abort();
    tra_str_free(&first);
    tra_str_free(&second);
    int64_t args[TRA_CALC_MAXRANK];
    int rank = d->ndims + (d->more_dims ? fuzz_below(b, 3) : 0), nargs = d->nparams;
    tra_storage *s;
    tra_err e = {0};
    for (int i = 0; i < nargs; i++) args[i] = fuzz_int(b) % 9;
    tra_status status = rank <= 5 ? tra_storage_make(d, rank, nargs, args, fuzz_below(b, 2), a, &s, &e) : TRA_PROGRAM;
    if (status != TRA_OK) return;
    tra_storage_decl_print(tra_storage_parse(s->text, (int)strlen(s->text), 0, a, &end, &err), &first);
    tra_str_free(&first);
    run_block(s, b);
}

static void tensor(const char *text, int n, tra_arena *a) {
    tra_calc_error err;
    int end;
    tra_tensor_parse(text, n, 0, a, &end, &err);
    if (end < 0 || end > n) abort();
}

/* The text of the expression, then a byte 0, then bytes that choose what it is run on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 14) return 0;
    const uint8_t *zero = memchr(data, 0, size);
    int n = zero ? (int)(zero - data) : (int)size;
    fuzz_bytes b = {zero ? zero + 1 : data, data + size};
    tra_arena *a = tra_arena_new();
    char *text = malloc((size_t)n + (n == 0)); /* without a 0 at its end, so that the sanitizer sees a read beyond it */
    memcpy(text, data, (size_t)n);
    if (n >= 8 && memcmp(text, "storage ", 8) == 0)
        storage(text, n, a, &b);
    else if (n >= 7 && memcmp(text, "tensor ", 7) == 0)
        tensor(text, n, a);
    else
        expression(text, n, a, &b);
    free(text);
    tra_arena_free(a);
    return 0;
}
