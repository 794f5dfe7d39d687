/* changes_inputs.c - what would change inputs: columns of tables that nothing uses, and files that are converted before
 * each run. */
#include <string.h>

#include "../../lib/h5/stand_in.h"
#include "explain_int.h"

/* Bytes of a column's strings in a file, besides their letters, which are not known before they are read: of each where
 * it ends, a reference to it, and the head of an object of HDF5. */
static double strings_bytes(const tra_column *c) {
    enum { EACH = 8 + 16 + 16 };
    return c->dict ? EACH * (double)c->dict->n : 0;
}

/* What of an input nothing uses. */
typedef struct unused {
    double bytes; /* of its file */
    const char *sentence;
} unused;

/* sentence NULL: it is no good part of the file. */
static unused unused_of(const tra_job *job, const tra_op *o, tra_arena *a) {
    static const double PART = 0.2;
    enum { MANY = 200 }; /* letters of names */
    bool reads = tra_op_is(o->op, TRA_READS) && o->type.columns;
    const tra_node *input = reads ? tra_input_named(job, o->spec.name) : NULL;
    const tra_rel *rel = input ? input->input.rel : NULL;
    const tra_schema *all = rel ? tra_rel_type(rel)->columns : NULL;
    const char *none = "", *used = "", **to;
    double strings = 0, unread = 0; /* of all columns, and of those that are not used */
    int count = 0;
    char size[32];
    if (!all) return (unused){0};
    for (int k = 0; k < all->n; k++) {
        bool is_read = tra_schema_find(o->type.columns, all->v[k].name) >= 0;
        const char *name = is_read || strlen(none) < MANY ? all->v[k].name : "...";
        to = is_read ? &used : &none;
        if (is_read || !strstr(none, ",...")) *to = tra_arena_printf(a, "%s%s%s", *to, **to ? "," : "", name);
        strings += strings_bytes(&all->v[k]);
        if (is_read) continue;
        unread += strings_bytes(&all->v[k]), count++;
    }
    double of_all = (double)tra_type_bytes_all(tra_rel_type(rel)).expected;
    double bytes = of_all - (double)tra_type_bytes_all(&o->type).expected + unread;
    if (count == 0 || bytes < PART * (of_all + strings)) return (unused){0};
    const char *sentence =
        tra_arena_printf(a,
                         "nothing uses the column%s %s of %s, and nothing reads %s: tra import --columns %s "
                         "would make the file %s%s smaller",
                         count > 1 ? "s" : "", none, o->spec.name, count > 1 ? "them" : "it", used,
                         unread > 0 ? "at least " : "", tra_human((int64_t)bytes, size));
    return (unused){.bytes = bytes, .sentence = sentence};
}

const char *tra_explain_unused(const tra_job *job, tra_arena *a) {
    unused most = {0};
    for (int i = 0; i < job->plan->nops; i++) {
        unused u = unused_of(job, &job->plan->ops[i], a);
        if (u.sentence && u.bytes > most.bytes) most = u;
    }
    return most.sentence;
}

int tra_explain_conversions(const tra_job *job, double seconds, int most, const char **out, tra_arena *a) {
    const tra_graph *g = job->program.graph;
    int count = 0;
    for (int i = 0; i < g->n && count < most; i++) {
        const tra_node *n = g->v[i];
        const tra_stand_in *s = n->input.rel ? tra_rel_stand_in(n->input.rel) : NULL;
        const tra_schema *used = n->type.columns;
        const char *columns = "";
        char took[40];
        if (!s || !s->how || strcmp(s->how, "converted") || s->seconds < TRA_CHANGE_LEAST ||
            s->seconds < TRA_CHANGE_WORTH * (seconds + s->seconds))
            continue;
        for (int k = 0; used && k < used->n; k++)
            columns = tra_arena_printf(a, "%s%s%s", columns, k ? "," : " --table --columns ", used->v[k].name);
        out[count++] =
            tra_arena_printf(a, "tra import%s, once, would spare each run the %s in which %s is converted%s%s", columns,
                             tra_text_seconds(s->seconds, took, sizeof took), s->file,
                             s->left ? "; nothing uses of it " : "", s->left ? s->left : "");
    }
    return count;
}
