/* print.c - nodes as text and in JSON. */
#include "../../lib/model/columns.h"
#include "tra.h"

#include <string.h>
#include <xxhash.h>

static const char *const texts[] = {
#define X(name, arity, text) [TRA_OP_##name] = text,
    TRA_OPS(X)
#undef X
};
static const int arities[] = {
#define X(name, arity, text) [TRA_OP_##name] = arity,
    TRA_OPS(X)
#undef X
};

const char *tra_opcode_text(tra_opcode op) { return texts[op]; }

/* The share of elements that are expected to be entries. */
static double density_of(const tra_type *t) {
    double elements = (double)tra_catalog_elements(t->cat);
    return elements > 0 ? (double)tra_type_entries(t).expected / elements : 0;
}

static void describe_entries(const tra_type *t, tra_str *out) {
    tra_size n = tra_type_entries(t);
    tra_str_printf(out, ", sparse: %s%" PRId64 " entries, density %.3g", n.exact ? "" : "about ", n.expected,
                   density_of(t));
    if (!t->layout) tra_str_add(out, ", held densely");
}

void tra_json_size(tra_json *j, const char *key, tra_size s) {
    char name[64];
    tra_json_int(j, key, s.expected);
    snprintf(name, sizeof name, "%s_kind", key);
    tra_json_str(j, name, tra_size_known(s) ? "exact" : "estimate");
    snprintf(name, sizeof name, "%s_bound", key);
    if (!tra_size_known(s)) tra_json_int(j, name, s.bound);
}

void tra_type_json(const tra_type *t, tra_json *j) {
    tra_size n = t->sparse || t->bounded ? tra_type_entries(t) : tra_size_exactly(tra_catalog_elements(t->cat));
    tra_json_str(j, "dtype", t->columns ? "table" : tra_dtype_name(t->dtype));
    tra_json_bool(j, "sparse", t->sparse);
    tra_json_str(j, "held", t->layout ? t->layout->name : "dense");
    tra_json_size(j, t->columns ? "rows" : "entries", n);
    if (t->columns)
        tra_json_int(j, "row_bytes", tra_schema_row_bytes(t->columns));
    else
        tra_json_num(j, "density", t->sparse ? density_of(t) : 1);
}

/* How many rows there are: "9983412"; "<= 9983412", or "about 1200000 of <= 9983412", if only the
 * run counts them. */
static void describe_rows(const tra_type *t, tra_str *out) {
    int64_t bound = tra_catalog_elements(t->cat);
    if (!t->bounded)
        tra_str_printf(out, "%" PRId64, bound);
    else if (t->entries && !t->entries->all.exact)
        tra_str_printf(out, "about %" PRId64 " of <= %" PRId64, t->entries->all.expected,
                       tra_min64(bound, t->entries->all.bound));
    else
        tra_str_printf(out, "<= %" PRId64, bound);
}

static void describe_table(const tra_node *n, tra_str *out) {
    const tra_type *t = &n->type;
    const tra_schema *s = t->columns;
    char size[TRA_SIZETEXT];
    size_t width = 0;
    if (n->name) tra_str_printf(out, "%s: ", n->name);
    tra_str_add(out, "table of ");
    describe_rows(t, out);
    tra_str_printf(out, " rows x %d, %" PRId64 " block%s of up to %" PRId64 " rows, %s", s->n, t->cat->n,
                   t->cat->n == 1 ? "" : "s", t->cat->bound.v[0], tra_size_text(tra_type_bytes_all(t), size));
    for (int i = 0; i < s->n; i++) width = strlen(s->v[i].name) > width ? strlen(s->v[i].name) : width;
    for (int i = 0; i < s->n; i++) {
        const tra_column *c = &s->v[i];
        char name[TRA_NAMETEXT];
        tra_str_printf(out, "\n  %-*s  %s", (int)(width > 40 ? 40 : width), tra_printable_name(c->name, name),
                       tra_coltype_name(c->type));
        if (tra_coltype_is_coded(c->type) && c->dict)
            tra_str_printf(out, " of %" PRId64 " value%s", c->dict->n, c->dict->n == 1 ? "" : "s");
        if (c->nullable) tra_str_add(out, ", may be NULL");
    }
}

/* "3500 x 2", or "<= 3500 x 2" where only the run tells. */
static void describe_shape(const tra_type *t, tra_str *out) {
    tra_dims shape;
    char buf[TRA_DIMTEXT];
    tra_type_shape(t, &shape);
    tra_str_printf(out, "tensor %s%s, ", t->bounded ? "<= " : "", shape.n ? tra_shape_text(&shape, buf) : "scalar");
}

void tra_node_describe(const tra_node *n, tra_str *out) {
    if (n->type.columns) {
        describe_table(n, out);
        return;
    }
    const tra_catalog *c = n->type.cat;
    char buf[TRA_DIMTEXT], size[TRA_SIZETEXT];
    if (n->name) tra_str_printf(out, "%s: ", n->name);
    tra_str_printf(out, "keys %d %s, %s ", c->frontier.n, tra_key_text(&c->frontier, buf),
                   tra_dtype_name(n->type.dtype));
    tra_str_printf(out, "%s, ", c->bound.n ? tra_shape_text(&c->bound, buf) : "scalar");
    if (tra_type_is_tensor(&n->type, NULL))
        describe_shape(&n->type, out);
    else
        tra_str_add(out, "tuple layout, ");
    tra_str_printf(out, "%" PRId64 " tuple%s, %s", c->n, c->n == 1 ? "" : "s",
                   tra_size_text(tra_type_bytes_all(&n->type), size));
    if (n->type.sparse) describe_entries(&n->type, out);
    int64_t holes = tra_catalog_holes(c);
    if (holes > 0) tra_str_printf(out, ", %" PRId64 " hole%s", holes, holes == 1 ? "" : "s");
}

static void add_list(tra_str *out, const tra_dims *d) {
    char buf[TRA_DIMTEXT];
    tra_str_add(out, tra_dims_text(d, "[", ",", "]", buf, sizeof buf));
}

static void add_operand(tra_str *out, const tra_node *n) {
    if (n->name)
        tra_str_add(out, n->name);
    else
        tra_str_printf(out, "#%d", n->id);
}

static void print_columns(const tra_schema *s, tra_str *out) {
    tra_str_add(out, ": table [");
    for (int i = 0; i < s->n; i++) {
        if (i) tra_str_add(out, ", ");
        tra_name_print(s->v[i].name, out);
        tra_str_printf(out, ": %s", tra_coltype_name(s->v[i].type));
    }
    tra_str_add(out, "]");
}

static void print_input(const tra_node *n, tra_str *out) {
    tra_str_printf(out, "input %s %s", n->name ? n->name : "_", n->input.transposed ? "by columns " : "");
    if (n->input.path) {
        tra_str_printf(out, "from \"%s\"", n->input.path);
    } else {
        tra_dims shape;
        tra_type_shape(&n->type, &shape);
        if (n->type.columns) {
            print_columns(n->type.columns, out);
            tra_str_printf(out, " rows %" PRId64 " by %" PRId64, shape.v[0], n->type.cat->bound.v[0]);
            return;
        }
        tra_str_printf(out, ": %s ", tra_dtype_name(n->type.dtype));
        add_list(out, &shape);
        tra_str_add(out, " by ");
        add_list(out, &n->type.cat->bound);
    }
    if (n->input.at == TRA_AT_ALL) tra_str_add(out, " at all");
    if (n->input.at == TRA_AT_PART) {
        char buf[TRA_DIMTEXT];
        tra_str_printf(out, " at part%s", tra_dims_text(&n->input.at_dims, "(", ",", ")", buf, sizeof buf));
    }
}

void tra_node_print(const tra_node *n, tra_str *out) {
    if (n->op == TRA_OP_INPUT) {
        print_input(n, out);
        return;
    }
    tra_str_printf(out, "%s(", n->op == TRA_OP_REPART ? "reblock" : texts[n->op]);
    for (int i = 0; i < arities[n->op]; i++) {
        if (i) tra_str_add(out, ", ");
        add_operand(out, n->in[i]);
    }
    tra_str_add(out, ", ");
    switch (n->op) {
    case TRA_OP_INPUT: break;
    case TRA_OP_JOIN:
        add_list(out, &n->join.l);
        tra_str_add(out, ", ");
        add_list(out, &n->join.r);
        tra_str_add(out, ", ");
        tra_kernel_print(n->kernel, out);
        break;
    case TRA_OP_AGG:
        add_list(out, &n->group);
        tra_str_add(out, ", ");
        tra_kernel_print(n->kernel, out);
        break;
    case TRA_OP_REKEY: tra_keyfn_print(n->keyfn, false, out); break;
    case TRA_OP_FILTER: tra_keyfn_print(n->keyfn, true, out); break;
    case TRA_OP_TRANSFORM: tra_kernel_print(n->kernel, out); break;
    case TRA_OP_TILE: tra_str_printf(out, "%d, %" PRId64, n->dim, n->size); break;
    case TRA_OP_CONCAT: tra_str_printf(out, "%d, %d", n->keydim, n->dim); break;
    case TRA_OP_REPART:
        add_list(out, &n->block);
        if (n->slice.origin.n == 0) break;
        tra_str_add(out, ", from ");
        add_list(out, &n->slice.origin);
        tra_str_add(out, " extents ");
        add_list(out, &n->slice.extent);
        if (n->slice.turn) tra_str_printf(out, " moving %016" PRIx64, n->slice.digest);
        break;
    }
    tra_str_add(out, ")");
}

/* ---- identity ------------------------------------------------------------------------------------------- */

static void add_scalar(const tra_scalar *s, tra_str *out) {
    tra_str_printf(out, "(%s", tra_scalar_text(s->op));
    if (s->op == TRA_S_CONST) tra_str_printf(out, " %.17g %d %" PRId64, s->value, (int)s->form, s->whole);
    if (s->op == TRA_S_ARG) tra_str_printf(out, " %d", s->arg);
    if (s->a) add_scalar(s->a, out);
    if (s->b) add_scalar(s->b, out);
    if (s->c) add_scalar(s->c, out);
    tra_str_add(out, ")");
}

static void add_kernel(const tra_kernel *k, tra_str *out) {
    for (; k; k = tra_kernel_rest(k)) {
        tra_kernel_desc d = tra_kernel_describe(tra_kernel_first(k));
        tra_str_add(out, " ");
        if (d.rows) {
            tra_rows_identity(d.rows, out);
            continue;
        }
        tra_str_printf(out, "%s %.17g", d.name ? d.name : "-", d.arg);
        if (d.einsum) tra_str_printf(out, " %s %s", d.einsum, tra_scalar_text(d.fold));
        if (d.scalar) add_scalar(d.scalar, out);
    }
}

static void add_keyexpr(const tra_keyexpr *x, tra_str *out) {
    tra_str_printf(out, "(%d", x->op);
    if (x->op == TRA_KEY_INT) tra_str_printf(out, " %" PRId64, x->value);
    if (x->op == TRA_KEY_VAR) tra_str_printf(out, " %d", x->var);
    if (x->a) add_keyexpr(x->a, out);
    if (x->b) add_keyexpr(x->b, out);
    tra_str_add(out, ")");
}

static void add_dims(const tra_dims *d, tra_str *out) {
    char buf[TRA_DIMTEXT];
    tra_str_add(out, tra_dims_text(d, " [", ",", "]", buf, sizeof buf));
}

char *tra_node_text(tra_arena *a, const tra_node *n) {
    tra_str s = {0};
    tra_str_add(&s, tra_opcode_text(n->op));
    switch (n->op) {
    case TRA_OP_INPUT:
        tra_str_printf(&s, " %s%s", n->name, n->input.transposed ? " by columns" : "");
        if (n->input.leaf)
            tra_str_printf(&s, ", %d of loop %d, item %d", (int)n->input.leaf, n->input.loop, n->input.item);
        for (int i = 0; n->type.columns && i < n->type.columns->n; i++)
            tra_str_printf(&s, " %s", n->type.columns->v[i].name);
        if (n->type.columns && tra_type_skipped(&n->type) > 0)
            tra_str_printf(&s, ", blocks %016" PRIx64,
                           (uint64_t)XXH64(n->type.entries->of, (size_t)n->type.cat->n * sizeof(int64_t), 0));
        break;
    case TRA_OP_JOIN:
        add_dims(&n->join.l, &s);
        add_dims(&n->join.r, &s);
        add_kernel(n->kernel, &s);
        break;
    case TRA_OP_AGG:
        add_dims(&n->group, &s);
        add_kernel(n->kernel, &s);
        break;
    case TRA_OP_TRANSFORM: add_kernel(n->kernel, &s); break;
    case TRA_OP_REKEY:
    case TRA_OP_FILTER:
        for (int i = 0; i < n->keyfn->n; i++) add_keyexpr(n->keyfn->expr[i], &s);
        break;
    case TRA_OP_TILE: tra_str_printf(&s, " %d %" PRId64, n->dim, n->size); break;
    case TRA_OP_CONCAT: tra_str_printf(&s, " %d %d %" PRId64, n->keydim, n->dim, n->most); break;
    case TRA_OP_REPART:
        add_dims(&n->block, &s);
        add_dims(&n->slice.origin, &s);
        add_dims(&n->slice.extent, &s);
        if (n->slice.turn) tra_str_printf(&s, " moving %016" PRIx64, n->slice.digest);
        break;
    }
    return tra_arena_take(a, &s);
}

uint64_t tra_graph_digest(const tra_graph *g) {
    tra_arena *a = tra_arena_new();
    uint64_t h = XXH64(&g->expected_room, sizeof g->expected_room, (uint64_t)g->n);
    for (int i = 0; i < g->n; i++) {
        const tra_node *n = g->v[i];
        const char *text = tra_node_text(a, n);
        int in[2] = {n->in[0] ? n->in[0]->id : -1, n->in[1] ? n->in[1]->id : -1};
        h = XXH64(in, sizeof in, XXH64(text, strlen(text), h));
    }
    tra_arena_free(a);
    return h;
}
