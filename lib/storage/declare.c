/* declare.c - storage statements as text. */
#include "storage_int.h"

static void print_names(int n, const char *const *v, const char *rest, tra_str *out) {
    for (int i = 0; i < n; i++) tra_str_printf(out, "%s%s", i ? ", " : "", v[i]);
    tra_str_add(out, rest);
}

static void print_trees(int n, const tra_calc *const *v, tra_str *out) {
    for (int i = 0; i < n; i++) {
        if (i) tra_str_add(out, ", ");
        tra_calc_print(v[i], out);
    }
}

void calc_component_print(const tra_component *c, int n, const char *const *names, const int64_t *values,
                          tra_str *out) {
    static const char *const words[] = {
#define X(name, text) text,
        TRA_COMPONENTS(X)
#undef X
    };
    tra_str_printf(out, "%s %s %s", c->real ? "real" : "int", words[c->kind], c->name);
    for (int i = 0; i < c->nsizes; i++) {
        bool apart = c->kind == TRA_COMPONENT_TRIE;
        tra_str_add(out, i == 0 ? "(" : apart ? ")(" : ", ");
        tra_calc_print_with(c->size[i], n, names, values, out);
    }
    if (c->nsizes) tra_str_add(out, ")");
}

void tra_storage_decl_print(const tra_storage_decl *d, tra_str *out) {
    tra_str_printf(out, "storage %s[", d->name);
    print_names(d->ndims, d->dims, !d->more_dims ? "" : d->ndims ? ", ..." : "...", out);
    tra_str_add(out, "]");
    if (d->nparams) {
        tra_str_add(out, "(");
        print_names(d->nparams, d->params, d->more_params ? "..." : "", out);
        tra_str_add(out, ")");
    }
    if (d->origin) {
        tra_str_add(out, " at [");
        print_names(d->ndims, d->origin, "]", out);
    }
    if (d->nlevels) {
        tra_str_add(out, " = levels(");
        for (int i = 0; i < d->nlevels; i++)
            tra_str_printf(out, "%s%s", i ? ", " : "", tra_calc_level_text(d->levels[i]));
        tra_str_add(out, ")");
        if (d->reversed) tra_str_add(out, " order reversed");
        if (d->order_param) tra_str_printf(out, " order %s", d->order_param);
        if (d->norder) {
            tra_str_add(out, " order [");
            print_trees(d->norder, d->order, out);
            tra_str_add(out, "]");
        }
        return;
    }
    tra_str_add(out, " {\n");
    for (int i = 0; i < d->ncomponents; i++) {
        tra_str_add(out, "    ");
        calc_component_print(&d->components[i], 0, NULL, NULL, out);
        tra_str_add(out, "\n");
    }
    tra_str_add(out, "    ");
    tra_calc_print(d->mapping, out);
    tra_str_add(out, "\n}");
}
