/* op_notes.c - collecting what kernels noted: values that are NULL since an integer was divided by zero, or since there
 * is no such date, and keys that many rows have. Only operators that have such values or keys take memory. */
#include "op_notes.h"

#include <stdlib.h>
#include <string.h>

void tra_op_notes_init(tra_op_notes *noted, const tra_plan *p) {
    *noted = (tra_op_notes){.nops = p->nops};
    noted->counts = tra_calloc((size_t)p->nops + 1, sizeof *noted->counts);
    noted->where = tra_calloc((size_t)p->nops + 1, sizeof *noted->where);
    noted->causes = tra_calloc((size_t)p->nops + 1, sizeof *noted->causes);
    noted->keys = tra_calloc((size_t)p->nops + 1, sizeof *noted->keys);
    pthread_mutex_init(&noted->lock, NULL);
}

void tra_op_notes_free(tra_op_notes *noted) {
    for (int i = 0; i < noted->nops; i++) {
        free(noted->counts[i]);
        for (int side = 0; side < 2; side++) free(noted->keys[i][side]);
    }
    free(noted->keys);
    free(noted->counts);
    free(noted->where);
    free(noted->causes);
    pthread_mutex_destroy(&noted->lock);
}

static int64_t *tuples_of(const tra_op *op) { return tra_calloc((size_t)op->type.cat->n + 1, sizeof(int64_t)); }

/* What one block or site found joins what others found: a key takes the place of that with the fewest rows or pairs. */
static void add_key(tra_noted_keys *k, const tra_heavy_key *x) {
    int at = 0;
    for (int i = 0; i < TRA_KEYS_NOTED && x->rows > 0; i++) {
        const tra_heavy_key *v = &k->v[i];
        bool same = strcmp(v->values, x->values) == 0;
        if (same || v->rows + v->pairs < k->v[at].rows + k->v[at].pairs) at = i;
        if (same) break;
    }
    tra_heavy_key *v = &k->v[at];
    bool same = strcmp(v->values, x->values) == 0;
    if (x->rows == 0 || (!same && v->rows + v->pairs >= x->rows + x->pairs)) return;
    int64_t rows = same ? v->rows : 0, pairs = same ? v->pairs : 0;
    *v = *x;
    v->rows += rows;
    v->pairs += pairs;
}

static void add_rows(tra_noted_keys *k, int64_t rows, int64_t pairs, int64_t different) {
    k->rows += rows;
    k->pairs += pairs;
    k->different = tra_max64(k->different, different);
}

static void collect_keys(tra_op_notes *noted, const tra_op *op) {
    tra_heavy_key found[2];
    if (!tra_table_noted_keys(found)) return;
    pthread_mutex_lock(&noted->lock);
    for (int side = 0; side < 2; side++) {
        tra_noted_keys **k = &noted->keys[op->id][side];
        if (found[side].all == 0) continue;
        if (!*k) *k = tra_calloc(1, sizeof **k);
        add_rows(*k, found[side].all, found[side].all_pairs, found[side].different);
        add_key(*k, &found[side]);
    }
    pthread_mutex_unlock(&noted->lock);
}

void tra_op_notes_collect(tra_op_notes *noted, const tra_op *op, int64_t ordinal, bool whole) {
    tra_table_notes notes;
    collect_keys(noted, op);
    if (!tra_table_noted(&notes)) return;
    pthread_mutex_lock(&noted->lock);
    int64_t **v = &noted->counts[op->id];
    if (!*v) {
        *v = tuples_of(op);
        memcpy(noted->where[op->id], notes.where, TRA_WHERE);
    }
    noted->causes[op->id] |= notes.causes;
    (*v)[ordinal] = notes.by_zero + (whole ? 0 : (*v)[ordinal]);
    pthread_mutex_unlock(&noted->lock);
}

/* Of all sites the key of an operand that most rows have, or that makes most pairs; rows 0: none stands out. On rank 0.
 * Collective. */
static tra_heavy_key gather_key(const tra_noted_keys *mine, const tra_comm *comm) {
    enum { WORDS = sizeof(tra_noted_keys) / sizeof(int64_t), SHARE = 10, TIMES = 4 };
    static const tra_noted_keys none;
    tra_noted_keys sum = none, *all = tra_calloc((size_t)comm->size, sizeof *all);
    tra_heavy_key most = {0};
    tra_comm_gather(comm, (const int64_t *)(mine ? mine : &none), (int64_t *)all, WORDS);
    for (int s = 0; s < comm->size; s++) {
        add_rows(&sum, all[s].rows, all[s].pairs, all[s].different);
        for (int i = 0; i < TRA_KEYS_NOTED; i++) add_key(&sum, &all[s].v[i]);
    }
    for (int i = 0; i < TRA_KEYS_NOTED; i++) {
        const tra_heavy_key *v = &sum.v[i];
        bool rows = v->rows * SHARE >= sum.rows && v->rows * sum.different >= TIMES * sum.rows;
        bool pairs = v->pairs * SHARE >= sum.pairs && v->pairs * sum.different >= TIMES * sum.pairs && sum.pairs > 0;
        if ((rows || pairs) && v->rows + v->pairs > most.rows + most.pairs) most = *v;
    }
    most.all = sum.rows, most.all_pairs = sum.pairs, most.different = sum.different;
    free(all);
    return most;
}

static void gather_keys(const tra_op_notes *noted, const tra_plan *p, const tra_comm *comm, tra_report *r) {
    int64_t *any = tra_calloc(2 * (size_t)p->nops + 1, sizeof *any);
    for (int i = 0; i < 2 * p->nops; i++) any[i] = noted->keys[i / 2][i % 2] != NULL;
    tra_comm_max(comm, any, 2 * (int64_t)p->nops);
    for (int i = 0; i < 2 * p->nops; i++)
        if (any[i]) r->heavy[i / 2][i % 2] = gather_key(noted->keys[i / 2][i % 2], comm);
    free(any);
}

void tra_op_notes_gather(const tra_op_notes *noted, const tra_plan *p, const tra_comm *comm, tra_report *r) {
    enum { WORDS = TRA_WHERE / sizeof(int64_t) };
    enum { CAUSES = 3 };
    int64_t *any = tra_calloc((1 + CAUSES) * (size_t)p->nops + 1, sizeof *any), /* any values, and for which causes */
        *where = tra_calloc((size_t)comm->size * WORDS, sizeof *where);
    for (int i = 0; i < p->nops; i++) {
        any[(1 + CAUSES) * i] = noted->counts[i] != NULL;
        for (int k = 0; k < CAUSES; k++) any[(1 + CAUSES) * i + 1 + k] = noted->causes[i] >> k & 1;
    }
    tra_comm_max(comm, any, (1 + CAUSES) * (int64_t)p->nops);
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        if (!any[(1 + CAUSES) * i]) continue;
        for (int k = 0; k < CAUSES; k++) r->ops[i].causes |= any[(1 + CAUSES) * i + 1 + k] ? 1u << k : 0u;
        int64_t n = op->type.cat->n, *all = tuples_of(op), words[WORDS];
        if (noted->counts[i]) memcpy(all, noted->counts[i], (size_t)n * sizeof *all);
        if (op->spec.partial)
            tra_comm_sum(comm, all, n);
        else
            tra_comm_max(comm, all, n);
        memcpy(words, noted->where[i], sizeof words);
        tra_comm_gather(comm, words, where, WORDS);
        for (int s = comm->size - 1; s >= 0 && comm->rank == 0; s--)
            if (where[s * WORDS]) memcpy(r->ops[i].where, where + s * WORDS, TRA_WHERE);
        for (int64_t t = 0; t < n && comm->rank == 0; t++) r->ops[i].by_zero += all[t];
        free(all);
    }
    free(any);
    free(where);
    gather_keys(noted, p, comm, r);
}
