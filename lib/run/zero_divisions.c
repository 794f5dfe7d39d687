/* zero_divisions.c - counting values that are NULL since an integer was divided by zero, or there is no such date. Only
 * operators that have such values take memory: eight bytes for each tuple. */
#include "zero_divisions.h"

#include <stdlib.h>
#include <string.h>

void tra_zero_divisions_init(tra_zero_divisions *z, const tra_plan *p) {
    *z = (tra_zero_divisions){.nops = p->nops};
    z->counts = tra_calloc((size_t)p->nops + 1, sizeof *z->counts);
    z->where = tra_calloc((size_t)p->nops + 1, sizeof *z->where);
    z->causes = tra_calloc((size_t)p->nops + 1, sizeof *z->causes);
    pthread_mutex_init(&z->lock, NULL);
}

void tra_zero_divisions_free(tra_zero_divisions *z) {
    for (int i = 0; i < z->nops; i++) free(z->counts[i]);
    free(z->counts);
    free(z->where);
    free(z->causes);
    pthread_mutex_destroy(&z->lock);
}

static int64_t *tuples_of(const tra_op *op) { return tra_calloc((size_t)op->type.cat->n + 1, sizeof(int64_t)); }

void tra_zero_divisions_collect(tra_zero_divisions *z, const tra_op *op, int64_t ordinal, bool whole) {
    tra_table_notes notes;
    if (!tra_table_noted(&notes)) return;
    pthread_mutex_lock(&z->lock);
    int64_t **v = &z->counts[op->id];
    if (!*v) {
        *v = tuples_of(op);
        memcpy(z->where[op->id], notes.where, TRA_WHERE);
    }
    z->causes[op->id] |= notes.causes;
    (*v)[ordinal] = notes.by_zero + (whole ? 0 : (*v)[ordinal]);
    pthread_mutex_unlock(&z->lock);
}

void tra_zero_divisions_gather(const tra_zero_divisions *z, const tra_plan *p, const tra_comm *comm, tra_report *r) {
    enum { WORDS = TRA_WHERE / sizeof(int64_t) };
    enum { CAUSES = 3 };
    int64_t *any = tra_calloc((1 + CAUSES) * (size_t)p->nops + 1, sizeof *any), /* any values, and for which causes */
        *where = tra_calloc((size_t)comm->size * WORDS, sizeof *where);
    for (int i = 0; i < p->nops; i++) {
        any[(1 + CAUSES) * i] = z->counts[i] != NULL;
        for (int k = 0; k < CAUSES; k++) any[(1 + CAUSES) * i + 1 + k] = z->causes[i] >> k & 1;
    }
    tra_comm_max(comm, any, (1 + CAUSES) * (int64_t)p->nops);
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        if (!any[(1 + CAUSES) * i]) continue;
        for (int k = 0; k < CAUSES; k++) r->ops[i].causes |= any[(1 + CAUSES) * i + 1 + k] ? 1u << k : 0u;
        int64_t n = op->type.cat->n, *all = tuples_of(op), words[WORDS];
        if (z->counts[i]) memcpy(all, z->counts[i], (size_t)n * sizeof *all);
        if (op->what.partial)
            tra_comm_sum(comm, all, n);
        else
            tra_comm_max(comm, all, n);
        memcpy(words, z->where[i], sizeof words);
        tra_comm_gather(comm, words, where, WORDS);
        for (int s = comm->size - 1; s >= 0 && comm->rank == 0; s--)
            if (where[s * WORDS]) memcpy(r->ops[i].where, where + s * WORDS, TRA_WHERE);
        for (int64_t t = 0; t < n && comm->rank == 0; t++) r->ops[i].by_zero += all[t];
        free(all);
    }
    free(any);
    free(where);
}
