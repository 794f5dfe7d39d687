/* levels.c - the components and the mapping that levels stand for.
 *
 * A level turns each position of the one above it (one at the root) into coordinates of one dimension and a position
 * for each: dense has all coordinates, position p*n + i; sparse those in indices_d from pointers_to_d(p) to
 * pointers_to_d(p + 1), and the place there is the position (at the root, all size_d of them); singleton one coordinate
 * at the same position; hash those of a hash map by position and coordinate. */
#include "storage_int.h"

#include <stdlib.h>

typedef struct levels {
    tra_str components, loops; /* the generators of a sum that is open, and lets */
    bool in_sum;
    tra_str position, count; /* of the level, as text; position "" at the root */
    const tra_calc_level *level;
    const int *order;
    int rank;
} levels;

static void set(tra_str *s, const char *text) {
    s->n = 0;
    if (s->s) *s->s = 0;
    tra_str_add(s, text);
}

static bool at_root(const levels *l) { return l->position.n == 0; }

static void add_generator(levels *l, const char *text) {
    tra_str_add(&l->loops, l->in_sum ? ", " : "sum(");
    tra_str_add(&l->loops, text);
    l->in_sum = true;
}

static void close_sum(levels *l) {
    if (l->in_sum) tra_str_add(&l->loops, ") ");
    l->in_sum = false;
}

/* The level has one more generator, position and count of positions; takes the texts. */
static void add_level(levels *l, char *generator, char *position, char *count) {
    add_generator(l, generator);
    set(&l->position, position);
    if (count) set(&l->count, count);
    free(generator);
    free(position);
    free(count);
}

static void add_dense(levels *l, int dim) {
    char *generator = tra_asprintf("<i%d, _> in 0:n%d", dim, dim);
    char *position =
        at_root(l) ? tra_asprintf("i%d", dim) : tra_asprintf("(%s)*n%d + i%d", tra_str_get(&l->position), dim, dim);
    char *count = at_root(l) ? tra_asprintf("n%d", dim) : tra_asprintf("(%s)*n%d", tra_str_get(&l->count), dim);
    add_level(l, generator, position, count);
}

static void add_sparse(levels *l, int d, int dim) {
    char *generator, *count;
    if (at_root(l)) {
        tra_str_printf(&l->components, "int scalar size_%d\nint array indices_%d(size_%d)\n", d, d, d);
        generator = tra_asprintf("<p%d, i%d> in indices_%d", d, dim, d);
        count = tra_asprintf("size_%d", d);
    } else {
        const char *p = tra_str_get(&l->position), *n = tra_str_get(&l->count);
        tra_str_printf(&l->components, "int array pointers_to_%d(%s + 1)\nint array indices_%d(pointers_to_%d(%s))\n",
                       d, n, d, d, n);
        generator =
            tra_asprintf("<p%d, i%d> in indices_%d(pointers_to_%d(%s):pointers_to_%d(%s + 1))", d, dim, d, d, p, d, p);
        count = tra_asprintf("pointers_to_%d(%s)", d, n);
    }
    add_level(l, generator, tra_asprintf("p%d", d), count);
}

static void add_singleton(levels *l, int d, int dim) {
    tra_str_printf(&l->components, "int array indices_%d(%s)\n", d, tra_str_get(&l->count));
    close_sum(l);
    tra_str_printf(&l->loops, "let i%d = indices_%d(%s) in ", dim, d, tra_str_get(&l->position));
}

/* Hash levels from depth d to `to` are one hash map, with the position as its first key unless they are at the root. */
static void add_hash(levels *l, int d, int to) {
    bool last = to == l->rank, root = at_root(l);
    char *map = last ? tra_strdup("values") : tra_asprintf("positions_%d", d);
    tra_str sizes = {0}, keys = {0};
    if (!root) tra_str_printf(&sizes, "%s, ", tra_str_get(&l->count));
    for (int k = d; k < to; k++) {
        tra_str_printf(&sizes, "%sn%d", k > d ? ", " : "", l->order[k]);
        tra_str_printf(&keys, "%si%d", k > d ? ", " : "", l->order[k]);
    }
    tra_str_printf(&l->components, "%s hashmap %s(%s)\n", last ? "real" : "int", map, tra_str_get(&sizes));
    char *from = root ? tra_strdup(map) : tra_asprintf("%s(%s)", map, tra_str_get(&l->position));
    char *generator = tra_asprintf("<(%s), p%d> in %s", tra_str_get(&keys), d, from), *count = NULL;
    if (!last) {
        /* as many positions as the hash map has keys */
        tra_str names = {0};
        for (int k = d - !root; k < to; k++) tra_str_printf(&names, "%s_", k > d - !root ? ", " : "");
        count = tra_asprintf("(sum(<(%s), _> in %s) 1)", tra_str_get(&names), map);
        tra_str_free(&names);
    }
    add_level(l, generator, tra_asprintf("p%d", d), count);
    free(map);
    free(from);
    tra_str_free(&sizes);
    tra_str_free(&keys);
}

void calc_levels_text(int rank, const tra_calc_level *level, const int *order, tra_str *out) {
    levels l = {.level = level, .order = order, .rank = rank};
    set(&l.count, "1");
    bool hashed = false;
    for (int d = 0; d < rank; d++) {
        int to = d + 1;
        switch (level[d]) {
        case TRA_CALC_LEVEL_DENSE: add_dense(&l, order[d]); break;
        case TRA_CALC_LEVEL_SPARSE: add_sparse(&l, d, order[d]); break;
        case TRA_CALC_LEVEL_SINGLETON: add_singleton(&l, d, order[d]); break;
        case TRA_CALC_LEVEL_HASH:
            while (to < rank && level[to] == TRA_CALC_LEVEL_HASH) to++;
            add_hash(&l, d, to);
            hashed = to == rank;
            d = to - 1;
            break;
        }
    }
    close_sum(&l);
    tra_str_add(out, tra_str_get(&l.components));
    if (!hashed) tra_str_printf(out, "real array values(%s)\n", tra_str_get(&l.count));
    tra_str_printf(out, "%s{@unique (", tra_str_get(&l.loops));
    for (int i = 0; i < rank; i++) tra_str_printf(out, "%si%d", i ? ", " : "", i);
    if (hashed)
        tra_str_printf(out, ") -> %s}", tra_str_get(&l.position));
    else
        tra_str_printf(out, ") -> values(%s)}", rank ? tra_str_get(&l.position) : "0");
    tra_str_free(&l.components);
    tra_str_free(&l.loops);
    tra_str_free(&l.position);
    tra_str_free(&l.count);
}
