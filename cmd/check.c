/* check.c - parses and types a program; prints the type of each relation. */
#include "cmd.h"
#include "made.h"
#include "planning.h"

#include "../lib/model/columns.h"
#include "../plans/explain/explain.h"
#include "../plans/tra/load.h"

#include <string.h>

/* Of each node the first EinSum statement that gives it, or NULL; in the arena. */
static const tra_einsum **statements_of(const tra_program *p) {
    const tra_graph *g = p->graph;
    const tra_einsum **of = tra_news(p->arena, const tra_einsum *, g->n);
    for (int i = g->neinsums - 1; i >= 0; i--) of[g->einsums[i]->node->id] = g->einsums[i];
    return of;
}

/* References that have other blocks than their labels. */
static void recut_text(const tra_einsum *s, tra_str *out) {
    for (int i = 0; s && i < s->nrefs; i++) {
        const tra_einsum_ref *r = &s->ref[i];
        const tra_catalog *c = r->node->type.cat;
        tra_dims block = {.n = r->n};
        char has[TRA_DIMTEXT], gets[TRA_DIMTEXT], size[TRA_SIZETEXT];
        if (!r->reblocked || !r->node->name || !c->n) continue;
        for (int d = 0; d < r->n; d++) block.v[d] = s->block[r->label[d]];
        tra_str_printf(out, "  reads %s in blocks %s, not %s: %s\n", r->node->name,
                       block.n ? tra_shape_text(&block, gets) : "scalar",
                       c->grid ? tra_shape_text(&c->bound, has) : "with holes",
                       tra_size_text(tra_type_bytes_all(&r->node->type), size));
    }
}

static void recut_json(const tra_einsum *s, tra_json *j) {
    tra_json_begin(j, "recut", '[');
    for (int i = 0; s && i < s->nrefs; i++) {
        const tra_einsum_ref *r = &s->ref[i];
        int64_t block[TRA_MAXDIM];
        if (!r->reblocked || !r->node->name || !r->node->type.cat->n) continue;
        for (int d = 0; d < r->n; d++) block[d] = s->block[r->label[d]];
        tra_json_begin(j, NULL, '{');
        tra_json_str(j, "name", r->node->name);
        tra_json_ints(j, "block", r->n, block);
        tra_json_end(j, '}');
    }
    tra_json_end(j, ']');
}

static void columns_json(const tra_type *t, tra_json *j) {
    tra_json_begin(j, "columns", '[');
    for (int i = 0; i < t->columns->n; i++) {
        const tra_column *c = &t->columns->v[i];
        tra_json_begin(j, NULL, '{');
        tra_json_str(j, "name", c->name);
        tra_json_str(j, "type", tra_coltype_name(c->type));
        tra_json_bool(j, "nullable", c->nullable);
        tra_json_end(j, '}');
    }
    tra_json_end(j, ']');
}

static void relation_json(const tra_named *r, const tra_einsum *s, tra_json *j) {
    const tra_type *t = &r->node->type;
    tra_explain_relation(r, j);
    if (t->columns) columns_json(t, j);
    tra_json_bool(j, "bounded", t->bounded);
    tra_json_int(j, "holes", tra_catalog_holes(t->cat));
    tra_dims shape;
    if (tra_type_is_tensor(t, NULL)) {
        tra_type_shape(t, &shape);
        tra_json_ints(j, "tensor", shape.n, shape.v);
    } else {
        tra_json_str(j, "tensor", NULL);
    }
    recut_json(s, j);
    tra_json_end(j, '}');
}

static void storages_json(const tra_graph *g, tra_json *j) {
    tra_json_begin(j, "storages", '[');
    for (int i = 0; i < g->nstorages; i++) {
        tra_str text = {0};
        tra_storage_decl_print(g->storages[i], &text);
        tra_json_begin(j, NULL, '{');
        tra_json_str(j, "name", g->storages[i]->name);
        tra_json_str(j, "text", tra_str_get(&text));
        tra_json_end(j, '}');
        tra_str_free(&text);
    }
    tra_json_end(j, ']');
}

static void render(const tra_program *p, tra_json *j) {
    const tra_graph *g = p->graph;
    const tra_einsum **of = statements_of(p);
    if (tra_common_opts.format != TRA_FORMAT_JSON) {
        for (int i = 0; i < g->nstorages; i++) {
            tra_storage_decl_print(g->storages[i], &j->out);
            tra_str_add(&j->out, "\n");
        }
        for (int i = 0; i < g->nnames; i++) {
            tra_node named = *g->names[i].node;
            named.name = g->names[i].name;
            tra_node_describe(&named, &j->out);
            if (g->names[i].stored.levels || g->names[i].stored.mapping || named.type.sparse)
                tra_str_printf(&j->out, ", stored as %s", g->names[i].stored.name);
            bool table = named.type.columns, holes = tra_catalog_holes(named.type.cat) > 0;
            tra_str_add(&j->out, table || holes ? "\n" : ", continuous\n");
            recut_text(of[g->names[i].node->id], &j->out);
        }
        return;
    }
    tra_json_begin(j, NULL, '{');
    tra_json_str(j, "program", p->src.name);
    tra_json_begin(j, "relations", '[');
    for (int i = 0; i < g->nnames; i++) relation_json(&g->names[i], of[g->names[i].node->id], j);
    tra_json_end(j, ']');
    storages_json(g, j);
    tra_json_end(j, '}');
    tra_str_add(&j->out, "\n");
}

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    tra_program p;
    tra_json j = {0};
    tra_request r;
    TRA_TRY(tra_planning_request(0, 0, &r, e));
    tra_made_how making = tra_made_by(&r, false);
    tra_building how = {.ndefines = r.ndefines, .defines = r.defines, .makes = &making.makes};
    TRA_TRY(tra_program_load(argv[0], how, r.colour, &p, e));
    render(&p, &j);
    tra_status s = tra_print(tra_str_get(&j.out), e);
    tra_json_free(&j);
    tra_program_free(&p);
    return s;
}

const tra_cmd tra_cmd_check = {
    .name = "check",
    .group = "Programs",
    .brief = "check a program and print the type of each relation",
    .usage = "[options] PROGRAM",
    .about =
        "Reads a program (- is standard input) and prints its storages, and a line for each relation it names: key "
        "arity and frontier, element type and extents of the largest array, the tensor that the relation stands for "
        "(or tuple layout), tuples, size, of sparse relations how many entries they have or are expected to have and "
        "by which storage they are, or would be, stored, and whether keys below the frontier are missing (holes) or "
        "not (continuous). No data is read, only the headers of input files. Whatever is wrong is reported on "
        "standard error with its place: all independent errors at once. Status 2 when the program is wrong, 3 when an "
        "input cannot be read.",
    .minargs = 1,
    .maxargs = 1,
    .needs = TRA_NEED_HDF5 | TRA_TAKES_JSON | TRA_TAKES_DEFINE,
    .run = run,
};
