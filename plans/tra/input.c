/* input.c - inputs and outputs: files, declared types, placements. */
#include "build.h"
#include "table_build.h"

#include "../../lib/h5/stand_in.h"
#include "../../lib/tablefile/table_file.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a path before the file. */
static int prefix_of(const char *path) {
    return (int)(tra_file_hooks_set ? tra_file_hooks_set->prefix(path) : tra_relspec_raw(path));
}

/* A path that stands in the program, which is relative to the program's folder dir. */
static const char *resolve(const char *dir, const char *path, tra_arena *a) {
    bool here = !dir || !*dir || strcmp(dir, ".") == 0;
    int prefix = prefix_of(path);
    if (path[prefix] == '/' || here || strcmp(path + prefix, "-") == 0) return path;
    return tra_arena_printf(a, "%.*s%s/%s", prefix, path, dir, path + prefix);
}

/* Appends the value of an option as files' specs have it. */
static void put_option(const tra_ast *x, tra_str *out) {
    if (x->kind == TRA_AST_LIST) {
        for (int i = 0; i < x->nkids; i++) {
            tra_str_add(out, i ? "," : "[");
            put_option(x->kids[i], out);
        }
        tra_str_add(out, "]");
        return;
    }
    tra_str_add(out, "\"");
    for (const char *p = x->text; *p; p++) {
        if (*p == '"' || *p == '\\') tra_str_add(out, "\\");
        tra_str_addn(out, p, 1);
    }
    tra_str_add(out, "\"");
}

/* The path of an input with its options before it: "csv(header=no):trips.csv". */
static const char *with_options(const tra_stmt *st, const char *path, tra_arena *a) {
    if (st->noptions == 0) return path;
    int prefix = prefix_of(path);
    tra_str s = {0};
    tra_str_printf(&s, "%.*s(", prefix ? prefix - 1 : 0, path);
    for (int i = 0; i < st->noptions; i++) {
        tra_str_printf(&s, "%s%s=", i ? "," : "", st->options[i]->text);
        put_option(st->options[i]->kids[0], &s);
    }
    tra_str_printf(&s, "):%s", path + prefix);
    return tra_arena_take(a, &s);
}

/* What the positions of an open input follow. What gen made up has no order that anything else could have. */
static void set_file_order(tra_build *b, tra_node *n) {
    const char *history = tra_rel_info(n->input.rel)->history, *why, *colon = history ? strchr(history, ':') : NULL;
    bool made_up = colon && strncmp(colon, ": gen ", 6) == 0;
    if (n->type.columns || !tra_type_is_tensor(&n->type, &why)) return;
    for (int d = 0; d < n->type.cat->bound.n; d++) {
        const tra_dim_labels *l = tra_labels_of_dim(n, d);
        if (l && l->keys)
            tra_set_dim(b, n, d, l, tra_dim_order_new(b, TRA_ORDER_KEYS, l->name));
        else if (!l && !made_up)
            tra_set_dim(b, n, d, NULL, tra_dim_order_new(b, TRA_ORDER_FILE, n->input.path));
    }
}

void *tra_build_unreadable(tra_build *b, tra_span span, const char *advice, const tra_err *why) {
    int before = b->d->errors; /* which the same error at the same place leaves as it is */
    tra_diag_error(b->d, span, advice, "%s", why->msg);
    if (b->d->errors == before || b->unreadable++ > 0) return NULL;
    b->unreadable_as = why->status;
    int line, column;
    tra_script_place(b->g->src, span.at, &line, &column);
    b->first_unreadable = tra_arena_printf(b->arena, "%s:%d:%d: %s", b->g->src->name, line, column, why->msg);
    return NULL;
}

/* Finds the strings of those columns of the open table that the program may use. name: of the input; NULL: it has none.
 */
static tra_status find_strings(const tra_build *b, const char *name, tra_rel *rel, tra_err *e) {
    const tra_schema *s = tra_rel_type(rel)->columns;
    bool *of = tra_news(b->arena, bool, (s ? s->n : 0) + 1);
    for (int i = 0; s && i < s->n; i++) of[i] = !name || tra_build_may_use(b, name, s->v[i].name);
    return tra_rel_find_strings(rel, of, e);
}

/* Opens the file n->path of an input and sets what follows from it. defined: the path is from -D. */
static bool open_input(tra_build *b, const char *name, tra_span span, tra_node *n, bool defined) {
    tra_err e = {0};
    if (tra_rel_open_bare(n->input.path, NULL, &n->input.rel, &e) == TRA_OK &&
        find_strings(b, name, n->input.rel, &e) == TRA_OK) {
        n->type = *tra_rel_type(n->input.rel);
        n->units = tra_units_of_file(n->input.rel);
        if (n->type.bounded) n->rows = tra_table_own_rows(b, n);
        if (tra_rel_labels(n->input.rel, &n->labels, &e) == TRA_OK) {
            set_file_order(b, n);
            return true;
        }
    }
    return tra_build_unreadable(b, span, defined ? "the file is the one that -D names" : NULL, &e);
}

/* Sets the type of "input A : f64 [..] by [..] as csr nnz N". */
static bool declare_input(tra_build *b, const tra_stmt *st, tra_node *n, tra_storage_choice *stored) {
    tra_dims shape, block;
    tra_err e = {0};
    bool ok = tra_dtype_parse(st->dtype, &n->type.dtype);
    if (!ok)
        tra_diag_error(b->d, st->dtype_span, tra_arena_printf(b->arena, "write one of %s", tra_dtype_choices()),
                       "there is no element type '%s'", st->dtype);
    ok = tra_build_ints(b, st->shape, "an extent", 0, &shape) && ok;
    if (st->block) ok = tra_build_ints(b, st->block, "a block extent", 1, &block) && ok;
    if (!ok) return false;
    if (shape.n > TRA_MAXDIM / 2)
        return tra_diag_error(b->d, st->shape->span, NULL, "a tensor in blocks has at most %d dimensions",
                              TRA_MAXDIM / 2);
    if (!st->block) block = shape;
    if (block.n != shape.n)
        return tra_diag_error(b->d, st->block->span, NULL, "the block has %d dimensions, the tensor %d", block.n,
                              shape.n);
    tra_catalog *c = tra_new(b->arena, tra_catalog);
    if (tra_catalog_blocks(&shape, &block, c, &e) != TRA_OK)
        return tra_diag_error(b->d, st->shape->span, NULL, "%s", e.msg);
    n->type.cat = c;
    for (int d = 0; d < shape.n; d++) n->type.cut[d] = 1u << d;
    tra_build_declared(b, st, &n->type, stored);
    return true;
}

/* How the file stores the relation. */
static tra_storage_choice stored_in(tra_build *b, const tra_rel *rel, int rank) {
    const char *text = tra_rel_info(rel)->storage, *alias;
    tra_levels *l = tra_new(b->arena, tra_levels);
    if (!text || tra_levels_parse(text, rank, l, NULL) != TRA_OK)
        return (tra_storage_choice){.name = text ? text : "dense"};
    alias = tra_levels_alias(l);
    return (tra_storage_choice){.name = alias ? alias : text, .levels = l};
}

/* Sets where the program says that the input is: at any, all or part(..). */
static bool place_input(tra_build *b, const tra_ast *at, tra_node *n) {
    bool name = at->kind == TRA_AST_NAME;
    if (name && strcmp(at->text, "any") == 0) return n->input.at = TRA_AT_ANY, true;
    if (name && strcmp(at->text, "all") == 0) return n->input.at = TRA_AT_ALL, true;
    if (at->kind != TRA_AST_CALL || strcmp(at->text, "part") != 0 || at->nkids == 0)
        return tra_diag_error(b->d, at->span, "write at part(0), at all or at any", "this is no placement");
    if (at->nkids > TRA_MAXAXISDIMS)
        return tra_diag_error(b->d, at->span, NULL, "a relation is partitioned by at most %d key dimensions",
                              TRA_MAXAXISDIMS);
    int k = n->type.cat->frontier.n;
    bool ok = true;
    n->input.at = TRA_AT_PART;
    n->input.at_dims.n = at->nkids;
    for (int i = 0; i < at->nkids; i++) {
        int64_t *v = &n->input.at_dims.v[i];
        if (!tra_build_int(b, at->kids[i], "a key dimension", 0, v)) {
            ok = false;
            continue;
        }
        bool twice = false;
        for (int j = 0; j < i; j++) twice |= n->input.at_dims.v[j] == *v;
        if (*v >= k || twice) {
            tra_diag_error(b->d, at->kids[i]->span, NULL,
                           twice ? "key dimension %" PRId64 " stands twice"
                                 : "there is no key dimension %" PRId64 " in this relation",
                           *v);
            ok = false;
        }
    }
    return ok;
}

const char *tra_input_path(tra_build *b, const tra_stmt *st, const tra_symbol *s) {
    if (s->define) return s->define;
    return st->path ? with_options(st, resolve(b->dir, st->path, b->arena), b->arena) : NULL;
}

tra_node *tra_build_input(tra_build *b, const tra_stmt *st, tra_symbol *s) {
    tra_node *n = tra_build_node(b, TRA_OP_INPUT, st->span);
    n->input.at = TRA_AT_ANY;
    s->stored.name = "dense";
    bool declared = st->shape && declare_input(b, st, n, &s->stored);
    if (st->shape && !declared) return NULL;
    if (st->rows && !tra_build_declared_table(b, st, n)) return NULL;
    n->input.path = tra_input_path(b, st, s);
    const tra_type as_declared = n->type;
    if (n->input.path && !open_input(b, st->name, st->path ? st->path_span : st->name_span, n, s->define)) return NULL;
    if (n->input.path) s->stored = stored_in(b, n->input.rel, n->type.cat->bound.n);
    s->stored.said = false; /* it is said of this input, not of outputs of it */
    if (n->input.path && declared) {
        tra_dims want, have;
        char x[TRA_DIMTEXT], y[TRA_DIMTEXT];
        tra_type_shape(&as_declared, &want);
        tra_type_shape(&n->type, &have);
        if (!tra_dims_eq(&want, &have))
            tra_diag_warn(b->d, st->shape->span, NULL, "%s holds %s, not the %s that is declared here; the file counts",
                          n->input.path, tra_shape_text(&have, x), tra_shape_text(&want, y));
    }
    if (st->at && !place_input(b, st->at, n)) return NULL;
    return n;
}

tra_node *tra_build_made_input(tra_build *b, tra_span span, const char *path) {
    tra_node *n = tra_build_node(b, TRA_OP_INPUT, span);
    n->input.at = TRA_AT_ANY;
    n->input.path = path;
    n->name = tra_arena_printf(b->arena, "strings %d", b->nmade++);
    return open_input(b, NULL, span, n, false) ? n : NULL;
}

/* ---- outputs ------------------------------------------------------------------------------------------------ */

/* File and relation of an output, with a line end between them, such that two names of one file give the same text: the
 * path of the file from the root and without links; if its folder is missing, the path without "./" and double
 * slashes. */
static const char *canonical(tra_build *b, const char *spec) {
    const char *path, *name;
    tra_relspec(b->arena, spec, &path, &name);
    char *file = tra_resolve_links(path), *real = tra_resolve_folder(file);
    char *out = tra_arena_printf(b->arena, "%s\n%s", real, name ? name : "data"), *to = out;
    free(file);
    free(real);
    for (const char *from = out; *from;) {
        bool begins = to == out || to[-1] == '/';
        if (begins && from[0] == '.' && from[1] == '/')
            from += 2;
        else if (begins && to > out && from[0] == '/')
            from++;
        else
            *to++ = *from++;
    }
    *to = 0;
    return out;
}

static const char *spec_of_output(const tra_stmt *st, const char *dir, tra_arena *a) {
    if (st->path_here) return st->path;
    return resolve(dir, st->path ? st->path : tra_arena_printf(a, "%s.h5", st->name), a);
}

const char *tra_output_path(const tra_stmt *st, const char *dir, tra_arena *a) {
    const char *spec = spec_of_output(st, dir, a), *path = spec;
    bool other;
    if (tra_file_hooks_set && tra_file_hooks_set->output(spec, a, &path, &other, NULL) != TRA_OK) return spec;
    return path;
}

static const tra_stmt *named(const tra_names *t, const char *name) {
    int at = tra_names_find(t, name);
    return at < 0 ? NULL : t->value[at];
}

/* Its file, and each HDF5 group that it lies in, by the ends of the parts of its canonical text; whole: an output that
 * replaces its file. The first output of each stays. */
static void note_output(tra_build *b, const char *text, bool whole, tra_stmt *st) {
    size_t file = (size_t)(strchr(text, '\n') + 1 - text);
    for (const char *end = text + file; end; end = strchr(end + 1, '/')) {
        const char *part = tra_arena_strndup(b->arena, text, (size_t)(end - text));
        if (!named(&b->holding, part)) tra_names_add(&b->holding, part, st);
    }
    if (whole) tra_names_add(&b->holding, tra_arena_printf(b->arena, "%.*s\n", (int)file, text), st);
    tra_names_add(&b->written, text, st);
}

/* An earlier output that cannot be written beside the one of this canonical text; NULL: none. whole: this one has
 * no relation's name, so it replaces its file, and the other relations in it. *nested: the names of both relations are
 * their own, but one of the two would be a group that holds the other. */
static const tra_stmt *conflicting_output(tra_build *b, const char *text, bool whole, bool *nested) {
    size_t file = (size_t)(strchr(text, '\n') + 1 - text);
    const tra_stmt *other = named(&b->written, text);
    *nested = false;
    if (!other) other = named(&b->holding, tra_arena_printf(b->arena, "%.*s%s", (int)file, text, whole ? "" : "\n"));
    if (other) return other;
    other = named(&b->holding, text);
    for (const char *end = strchr(text + file, '/'); end && !other; end = strchr(end + 1, '/'))
        other = named(&b->written, tra_arena_strndup(b->arena, text, (size_t)(end - text)));
    *nested = other;
    return other;
}

/* Checks that the relation can be written to that path beside the outputs before, and notes that it is. */
static bool take_path(tra_build *b, tra_stmt *st, const char *path, tra_span span) {
    const char *text = canonical(b, path), *file, *relation;
    bool nested;
    tra_relspec(b->arena, path, &file, &relation);
    const tra_stmt *other = conflicting_output(b, text, !relation, &nested);
    if (!other) return note_output(b, text, !relation, st), true;
    if (nested)
        tra_diag_error(b->d, span, "give the two relations names of which none begins with the other",
                       "%s cannot be a relation and hold another one", path);
    else
        tra_diag_error(b->d, span, "write output C to \"file.h5:name\"", "%s is the file of another output already",
                       st->path ? st->path : path);
    tra_diag_also(b->d, other->span, "the other output");
    return false;
}

void tra_build_output(tra_build *b, tra_stmt *st) {
    tra_graph *g = b->g;
    tra_symbol *s = tra_build_relation_symbol(b, st->name, st->name_span);
    if (!s) return;
    const tra_span span = st->path ? st->path_span : st->name_span;
    const tra_catalog *c = s->node && s->node->type.cat ? s->node->type.cat : NULL;
    if (c && c->frontier.n + c->bound.n > TRA_MAXDIM) {
        tra_diag_error(b->d, span, NULL, "%s has %d key and %d array dimensions; a file has at most %d together",
                       st->name, c->frontier.n, c->bound.n, TRA_MAXDIM);
        return;
    }
    const char *target = spec_of_output(st, b->dir, b->arena), *path = target;
    bool other = false;
    tra_err why = {0};
    if (tra_file_hooks_set && tra_file_hooks_set->output(target, b->arena, &path, &other, &why) != TRA_OK) {
        tra_diag_error(b->d, span, NULL, "%s", why.msg);
        return;
    }
    if (!take_path(b, st, path, span)) return;
    tra_storage_choice stored = s->stored;
    if (st->as.name && !tra_build_stored(b, &st->as, &s->node->type, &stored)) return;
    if (!stored.said) stored = tra_storage_default(b->arena, &s->node->type);
    TRA_ARENA_DOUBLE(b->arena, g->outputs, g->noutputs);
    g->outputs[g->noutputs++] = (tra_output){.node = s->node,
                                             .name = st->name,
                                             .path = path,
                                             .target = other ? target : NULL,
                                             .stored = stored,
                                             .labels = tra_labels_of_output(b, s->node),
                                             .units = s->node->units};
    tra_build_turned(b, &g->outputs[g->noutputs - 1], span);
    if (!g->outputs[g->noutputs - 1].transpose) s->node->uses++;
}

void tra_graph_close(tra_graph *g) {
    for (int i = 0; g && i < g->n; i++) {
        tra_rel_close(g->v[i]->input.rel);
        g->v[i]->input.rel = NULL;
    }
}
