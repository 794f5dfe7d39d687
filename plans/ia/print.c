/* print.c - operators and plans as text. */
#include <xxhash.h>

#include "../../lib/storage/mapped.h"
#include "../../lib/tablefile/table_file.h"
#include "../../lib/storage/stored.h"
#include "ia.h"

static void print_dims(const tra_dims *d, tra_str *out) {
    char buf[TRA_DIMTEXT];
    tra_str_add(out, tra_dims_text(d, "[", ",", "]", buf, sizeof buf));
}

static void print_kernel(const tra_kernel *k, tra_str *out) {
    tra_str_add(out, " ");
    tra_kernel_print(k, out);
}

/* The name of the levels if they have one, which means the same levels in every program. */
static void print_levels(const tra_levels *l, tra_str *out) {
    char text[TRA_LEVELTEXT];
    const char *alias = tra_levels_alias(l);
    tra_str_printf(out, " as %s", alias ? alias : tra_levels_text(l, text));
}

/* The extents of a result's arrays, and the layout in which they are held. */
static void print_arrays(const tra_type *t, tra_str *out) {
    char buf[TRA_DIMTEXT];
    tra_str_printf(out, " of %s", tra_shape_text(&t->cat->bound, buf));
    if (t->layout) tra_str_printf(out, " %s", t->layout->name);
}

static void print_columns(const tra_schema *s, tra_str *out) {
    for (int i = 0; i < s->n; i++) {
        tra_str_add(out, i ? ", " : " of ");
        tra_name_print(s->v[i].name, out);
    }
}

void tra_op_print(const tra_op *o, tra_str *out) {
    tra_dims shape;
    tra_str_add(out, tra_plan_op_text(o->op));
    switch (o->op) {
    case TRA_PLAN_INPUT:
    case TRA_PLAN_READALL:
        if (o->spec.transposed) tra_str_add(out, " by columns");
        if (o->type.columns && tra_type_skipped(&o->type) > 0)
            tra_str_printf(out, " %" PRId64 " of %" PRId64 " blocks", o->type.cat->n - tra_type_skipped(&o->type),
                           o->type.cat->n);
        if (o->type.columns && tra_schema_is_chosen(o->type.columns)) print_columns(o->type.columns, out);
        break;
    case TRA_PLAN_BCAST:
    case TRA_PLAN_SHUF: break;
    case TRA_PLAN_OUTPUT:
        if (o->spec.turned) tra_str_add(out, " by columns");
        if (o->spec.levels) print_levels(o->spec.turned ? o->spec.turned->file_levels : o->spec.levels, out);
        if (o->spec.mapping) tra_str_printf(out, " as %s", o->spec.mapping->name);
        break;
    case TRA_PLAN_FILTER:
    case TRA_PLAN_REKEY:
        tra_str_add(out, " ");
        tra_keyfn_print(o->spec.keyfn, o->op == TRA_PLAN_FILTER, out);
        break;
    case TRA_PLAN_MAP: print_kernel(o->spec.map, out); break;
    case TRA_PLAN_TILE: tra_str_printf(out, " dimension %d by %" PRId64, o->spec.dim, o->spec.size); break;
    case TRA_PLAN_CONCAT:
        tra_str_printf(out, " key %d along dimension %d", o->spec.keydim, o->spec.dim);
        if (o->spec.most_rows) tra_str_printf(out, ", at most %" PRId64 " rows", o->spec.most_rows);
        break;
    case TRA_PLAN_REPART:
        tra_str_add(out, " ");
        print_dims(&o->type.cat->bound, out);
        if (o->spec.origin.n == 0) break;
        tra_type_shape(&o->type, &shape);
        tra_str_add(out, " from ");
        print_dims(&o->spec.origin, out);
        tra_str_add(out, " extents ");
        print_dims(&shape, out);
        if (o->spec.origins) tra_str_printf(out, " moving %016" PRIx64, o->spec.origins_digest);
        break;
    case TRA_PLAN_JOIN:
    case TRA_PLAN_JOINAGG:
        if (o->spec.triangle) tra_str_add(out, " triangle");
        if (o->spec.joinl.n > 0) { /* else every pair meets; joins of tables have their keys in the kernel */
            tra_str_add(out, " ");
            print_dims(&o->spec.joinl, out);
            tra_str_add(out, "=");
            print_dims(&o->spec.joinr, out);
        }
        print_kernel(o->spec.join, out);
        if (o->op == TRA_PLAN_JOIN) break;
        tra_str_add(out, ",");
        /* fall through */
    case TRA_PLAN_AGG:
        tra_str_add(out, " group ");
        print_dims(&o->spec.group, out);
        print_kernel(o->spec.agg, out);
        if (o->spec.partial) tra_str_add(out, ", partial");
        break;
    case TRA_PLAN_MERGE: print_kernel(o->spec.agg, out); break;
    case TRA_PLAN_LOOP_OPS:
        if (o->spec.item >= 0) tra_str_printf(out, " %d", o->spec.item);
        tra_str_printf(out, " of loop %d", o->spec.loop);
        break;
    case TRA_PLAN_COUNT: break;
    }
}

/* The extents of the dimensions by which the placement partitions. */
static void print_extents(const tra_placement *p, tra_str *out) {
    for (int x = 0; x < p->naxes; x++) {
        for (int d = 0; p->axis[x].kind == TRA_AXIS_PART && d < p->axis[x].n; d++)
            tra_str_printf(out, " %" PRId64, p->axis[x].ext[d]);
    }
}

void tra_plan_print(const tra_plan *p, tra_str *out) {
    char buf[TRA_DIMTEXT], place[256];
    tra_str_printf(out, "plan %s on %d sites%s\n", p->strategy, p->sites, p->reproducible ? ", reproducible" : "");
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        tra_str_printf(out, "%d: ", o->id);
        tra_op_print(o, out);
        for (int j = 0; j < 2 && o->in[j] >= 0; j++) tra_str_printf(out, "%s%d", j ? "," : " of ", o->in[j]);
        if (o->spec.name) tra_str_printf(out, " = %s", o->spec.name);
        tra_str_printf(out, " @ %s ext", tra_place_text(&o->place, place, sizeof place));
        print_extents(&o->place, out);
        tra_str_printf(out, ": %s %s", tra_dtype_name(o->type.dtype), tra_key_text(&o->type.cat->frontier, buf));
        print_arrays(&o->type, out);
        tra_str_add(out, "\n");
    }
}

uint64_t tra_plan_digest(const tra_plan *p) {
    tra_str text = {0};
    tra_plan_print(p, &text);
    uint64_t h = XXH64(tra_str_get(&text), text.n, 0);
    tra_str_free(&text);
    return h;
}

/* All that what a loop leaves follows from: what its turns compute, and how many they are. */
static void print_loop_value(const tra_plan *p, const tra_plan_loop *l, const uint64_t *values, tra_str *out) {
    tra_str_printf(out, " after %" PRId64 " turns of", l->most);
    for (int i = l->first; i <= l->last; i++)
        if (tra_op_is_end_of_turn(p->ops[i].op)) tra_str_printf(out, " %016" PRIx64, values[i]);
}

/* All that the bits of operator i's result follow from, but the seed. */
static void print_value(const tra_plan *p, int i, const char *const *identities, const uint64_t *values, tra_str *out) {
    char buf[TRA_DIMTEXT], place[256];
    const tra_op *o = &p->ops[i];
    bool input = tra_op_is(o->op, TRA_READS);
    if (input) /* also where all sites read it */
        tra_str_printf(out, "%s%s", tra_plan_op_text(TRA_PLAN_INPUT), o->spec.transposed ? " by columns" : "");
    else
        tra_op_print(o, out);
    tra_str_printf(out, ": %s %s", tra_dtype_name(o->type.dtype), tra_key_text(&o->type.cat->frontier, buf));
    print_arrays(&o->type, out);
    for (int j = 0; j < 2 && o->in[j] >= 0; j++) {
        tra_str_printf(out, " %016" PRIx64, values[o->in[j]]);
        if (!o->spec.partial) continue;
        const tra_placement *in = &p->ops[o->in[j]].place;
        tra_str_printf(out, " on %d sites @ %s ext", p->sites, tra_place_text(in, place, sizeof place));
        print_extents(in, out);
    }
    if (p->reproducible && o->spec.agg) tra_str_add(out, " by a tree");
    if (o->op == TRA_PLAN_LAST || o->op == TRA_PLAN_TRACED) print_loop_value(p, &p->loops[o->spec.loop], values, out);
    if (input) tra_str_printf(out, " %s", identities[i]);
    if (o->op == TRA_PLAN_OUTPUT) tra_str_printf(out, " to %s", o->spec.path);
    /* programs may have different storages of one name */
    if (o->spec.mapping) tra_storage_print(o->spec.mapping->storage, out);
}

void tra_plan_values(const tra_plan *p, uint64_t seed, const char *const *identities, uint64_t *values) {
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        /* An exchange has the value of its input. A state, its next and its last value have others in each turn. */
        if (tra_op_is(o->op, TRA_FORWARDS) && tra_op_is(o->op, TRA_EXCHANGES)) {
            values[i] = values[o->in[0]];
            continue;
        }
        tra_str text = {0};
        print_value(p, i, identities, values, &text);
        values[i] = XXH64(tra_str_get(&text), text.n, seed);
        tra_str_free(&text);
    }
}
