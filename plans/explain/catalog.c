/* catalog.c - explain --catalog: which keys each relation has, and how large their arrays are. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "explain_int.h"

enum { MAXSHOWN = 6 };

/* The keys whose arrays have the extents `ext`. */
typedef struct same_extents {
    tra_dims first, last, ext; /* first, last: of the keys */
    int64_t n;
} same_extents;

static int by_first_key(const void *a, const void *b, void *frontier) {
    const same_extents *s = a, *t = b;
    int64_t x = tra_linear(frontier, &s->first), y = tra_linear(frontier, &t->first);
    return x < y ? -1 : x > y;
}

/* Groups the keys of a grid. Arrays are smaller where a key dimension that cuts an array dimension unevenly is at its
 * last value: there is a group for each set of such key dimensions. From malloc; returns how many. */
static int group_grid(const tra_catalog *c, same_extents **out) {
    int uneven[TRA_MAXDIM], m = 0, n = 0;
    for (int k = 0; k < c->frontier.n; k++) {
        bool is_uneven = false;
        for (int d = 0; d < c->bound.n; d++) is_uneven |= c->by[d] == k && c->last[d] != c->bound.v[d];
        if (is_uneven) uneven[m++] = k;
    }
    assert(m <= TRA_MAXDIM / 2); /* at most a key for each dimension, and both together are TRA_MAXDIM */
    same_extents *v = tra_calloc((size_t)1 << m, sizeof *v);
    for (uint32_t set = 0; set < 1u << m && c->n > 0; set++) {
        same_extents *x = &v[n];
        uint32_t at_last = 0, before = 0; /* the uneven dimensions: at the last value, and before it */
        for (int i = 0; i < m; i++) *(set >> i & 1 ? &at_last : &before) |= 1u << uneven[i];
        *x = (same_extents){.first.n = c->frontier.n, .last.n = c->frontier.n, .ext = c->bound, .n = 1};
        for (int k = 0; k < c->frontier.n; k++) {
            int64_t last = c->frontier.v[k] - 1 - (before >> k & 1);
            x->first.v[k] = at_last >> k & 1 ? last : 0;
            x->last.v[k] = last;
            x->n *= last - x->first.v[k] + 1;
        }
        for (int d = 0; d < c->bound.n; d++) {
            if (c->by[d] >= 0 && at_last >> c->by[d] & 1) x->ext.v[d] = c->last[d];
        }
        n += x->n > 0;
    }
    *out = v;
    return n;
}

/* Groups the keys of a list. From malloc; returns how many groups there are. */
static int64_t group_list(const tra_catalog *c, same_extents **out) {
    int64_t classes = tra_max64(1, c->nclasses), n = 0;
    same_extents *v = tra_calloc((size_t)classes, sizeof *v);
    for (int64_t t = 0; t < c->n; t++) {
        same_extents *x = &v[c->cls ? c->cls[t] : 0];
        tra_catalog_key(c, t, &x->last);
        if (x->n++ > 0) continue;
        x->first = x->last;
        tra_catalog_ext(c, t, &x->ext);
    }
    for (int64_t i = 0; i < classes; i++) {
        if (v[i].n > 0) v[n++] = v[i];
    }
    *out = v;
    return n;
}

/* Which key dimensions cut each array dimension. */
static void add_cuts(const tra_type *t, tra_str *line) {
    for (int d = 0; d < t->cat->bound.n; d++) {
        tra_str_printf(line, "%sdimension %d", d ? ", " : "", d);
        if (!t->cut[d]) tra_str_add(line, " whole");
        for (int k = 0, n = 0; k < t->cat->frontier.n; k++) {
            if (t->cut[d] >> k & 1) tra_str_printf(line, "%s %d", n++ ? " and" : " cut by key", k);
        }
    }
}

/* A line for each group of keys: the first and the last key, how many there are, and the extents of their arrays. */
static void add_keys(const tra_catalog *c, tra_str *out) {
    char text[TRA_DIMTEXT], ext[TRA_DIMTEXT];
    same_extents *v;
    int64_t n = c->grid ? group_grid(c, &v) : group_list(c, &v), rest = 0;
    int wide = 0, count = 0;
    tra_dims frontier = c->frontier;
    qsort_r(v, (size_t)n, sizeof *v, by_first_key, &frontier);
    for (int pass = 0; pass < 2; pass++) { /* the first finds the width of columns */
        for (int64_t i = 0; i < tra_min64(n, MAXSHOWN); i++) {
            tra_str line = {0};
            tra_str_add(&line, tra_key_text(&v[i].first, text));
            if (v[i].n > 1) tra_str_printf(&line, " .. %s", tra_key_text(&v[i].last, text));
            wide = (int)tra_max64(wide, (int64_t)line.n);
            count = (int)tra_max64(count, snprintf(text, sizeof text, "%" PRId64, v[i].n));
            tra_str_printf(&line, "%*s  %*s key%s  %s", wide - (int)line.n, "", count, text, v[i].n == 1 ? " " : "s",
                           c->bound.n ? tra_shape_text(&v[i].ext, ext) : "scalar");
            if (pass == 1 && (int)line.n <= tra_text_width() - 4)
                tra_str_printf(out, "    %s\n", tra_str_get(&line));
            else if (pass == 1)
                tra_text_wrapped(tra_str_get(&line), 4, 6, out);
            tra_str_free(&line);
        }
    }
    for (int64_t i = MAXSHOWN; i < n; i++) rest += v[i].n;
    if (rest > 0) tra_str_printf(out, "    and %" PRId64 " keys with %" PRId64 " other extents\n", rest, n - MAXSHOWN);
    free(v);
}

void tra_text_catalog(const tra_graph *g, tra_str *out) {
    tra_str_add(out, "\nCatalog: the keys that exist, in order, and the extents of their arrays\n");
    for (int i = 0; i < g->nnames; i++) {
        tra_node named = *g->names[i].node; /* two names may be one relation */
        tra_str line = {0};
        named.name = g->names[i].name;
        tra_node_describe(&named, &line);
        tra_text_wrapped(tra_str_get(&line), 0, 4, out);
        tra_str_free(&line);
        add_cuts(&named.type, &line);
        if (line.n) tra_text_wrapped(tra_str_get(&line), 4, 6, out);
        tra_str_free(&line);
        add_keys(named.type.cat, out);
    }
}
