/* run_reference.c - tra run --engine reference: one process, all of it in memory. */
#include "../plans/reference/reference.h"
#include "run.h"

#include "../lib/relation/store.h"

tra_status tra_run_with_reference(const tra_graph *g, tra_arena *a, const tra_write_options *o, uint64_t step,
                                  tra_err *e) {
    const tra_ref_rel **v;
    TRA_TRY(tra_reference_run(g, false, a, &v, e));
    tra_writer **w = tra_news(a, tra_writer *, g->noutputs);
    const char **digests = tra_news(a, const char *, g->noutputs);
    tra_status s = TRA_OK;
    int n = 0;
    for (int i = 0; i < g->noutputs && s == TRA_OK; i++) {
        const tra_output *out = &g->outputs[i];
        if (out->sink != TRA_SINK_FILE) continue;
        char *digest = tra_news(a, char, 33);
        digests[n] = digest;
        tra_write_options own = *o;
        own.levels = out->stored.levels;
        own.labels = out->labels;
        own.mapping = out->stored.mapping ? out->stored.mapping->storage : NULL;
        s = tra_reference_fill(v[out->node->id], &out->node->type, out->path, &own, a, &w[n++], digest, e);
    }
    tra_commit_note note = {.step = step};
    if (s == TRA_OK) return tra_writers_commit(w, digests, n, step ? &note : NULL, false, e);
    for (int i = 0; i + 1 < n; i++) tra_writer_abort(w[i]); /* the last was not made */
    return s;
}
