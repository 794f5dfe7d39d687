/* fused_sampled.c - fused statements that a mask samples: a sparse operand with the labels of the result, outside of
 * whose entries the expression is 0, as in max[k] (A[i,j] != 0) * (U[i,k] + V[j,k]). Any function and any fold, which
 * the calculus need not have: lib/kernel/fused_sampled.c computes strips of the mask's entries. */
#include "fused_int.h"

#include <math.h>

static bool has(const int *label, int n, int l) {
    for (int d = 0; d < n; d++)
        if (label[d] == l) return true;
    return false;
}

/* Are the labels of a reference all different, and all of the result? */
static bool is_within(const tra_einsum *s, const tra_einsum_ref *r) {
    for (int d = 0; d < r->n; d++)
        if (!has(s->out, s->nout, r->label[d]) || has(r->label, d, r->label[d])) return false;
    return true;
}

/* Is the expression 0 where this reference is? */
static bool annihilates(const tra_einsum *s, int ref) {
    bool sparse[TRA_MAXLABELS] = {false};
    sparse[ref] = true;
    return tra_scalar_sparse(s->expr, sparse);
}

static bool is_rows(const tra_einsum_ref *r) { return r->node->type.sparse && r->node->type.layout; }

int fused_sampling_mask(const tra_einsum *s) {
    int mask = -1;
    bool cut = false, once = s->fold == TRA_S_MUL || tra_fold_places(s->fold);
    const tra_type *result = &s->node->type;
    if (s->nrefs > TRA_CODE_ARGS || s->nlabels > TRA_PROGRAM_MOST || s->shared || !result->sparse || !result->layout)
        return -1;
    for (int l = 0; l < s->nlabels; l++) {
        if (s->extent[l] < 1 || s->extent[l] >= INT32_MAX) return -1;
        cut = cut || (!has(s->out, s->nout, l) && fused_block_of(s, l) < s->extent[l]);
    }
    if (once && cut) return -1;
    for (int i = 0; i < s->nrefs; i++) {
        const tra_einsum_ref *r = &s->ref[i];
        if (r->diagonal || (r->node->type.sparse && !(is_rows(r) && is_within(s, r)))) return -1;
        bool masks = is_rows(r) && r->n == s->nout && annihilates(s, i);
        double n = masks ? (double)tra_type_entries(&r->node->type).expected : 0;
        if (masks && (mask < 0 || n < (double)tra_type_entries(&s->ref[mask].node->type).expected)) mask = i;
    }
    return mask;
}

bool fused_sampled_plan(fusing *f, int held, tra_fused_plan *x) {
    tra_arena *a = f->m->arena;
    const tra_einsum *s = f->s;
    tra_calc_program *p = f->p;
    tra_fused_sampled *k = tra_new(a, tra_fused_sampled);
    int mask = fused_sampling_mask(s);
    double blocks = 1, each = 1;
    const char *names[TRA_CODE_ARGS];
    tra_str text = {0};
    if (mask < 0 || !tra_fused_has_rows(p, f->of_ref[mask], held)) return false;
    *k = (tra_fused_sampled){tra_scalar_compile(a, s->expr), s->fold, f->of_ref[mask], s->nrefs, .nfolded = 0};
    for (int l = 0; l < s->nlabels; l++) {
        double parts = (double)tra_ceil_div(s->extent[l], fused_block_of(s, l));
        if (has(s->out, s->nout, l))
            blocks *= parts;
        else
            k->folded[k->nfolded++] = (int8_t)l, each *= (double)s->extent[l] / parts;
    }
    x->ascends = true;
    for (int i = 0; i < s->nrefs; i++) {
        const tra_einsum_ref *r = &s->ref[i];
        k->arg[i].operand = f->of_ref[i];
        k->arg[i].sparse = r->node->type.sparse;
        if (k->arg[i].sparse && !tra_fused_has_rows(p, f->of_ref[i], held)) return false;
        for (int d = 0; d < r->n; d++) k->arg[i].label[d] = (int8_t)r->label[d];
        names[i] = f->operand[f->of_ref[i]]->text;
    }
    for (int d = 0; d < s->nout; d++) x->ascends = x->ascends && s->ref[mask].label[d] == s->out[d];
    const tra_storel_costs *c = f->o->costs ? f->o->costs : &tra_storel_default_costs;
    double entries = (double)tra_type_entries(&s->ref[mask].node->type).expected / blocks;
    x->sampled = k;
    x->operations = fmax(1, entries * each * tra_code_flops(k->code));
    x->nanoseconds = entries * (each * (s->nrefs * c->element + k->code->n * c->op) + s->nrefs * c->lookup);
    x->entries = entries;
    tra_scalar_print(s->expr, names, &text);
    const char *fold = s->fold == TRA_S_ARGMAX ? "argmax" : s->fold == TRA_S_ARGMIN ? "argmin" : NULL;
    p->text = tra_arena_printf(a, "sampled %s %s", fold ? fold : tra_scalar_text(s->fold), tra_str_get(&text));
    tra_str_free(&text);
    for (int i = 0; i < s->nrefs; i++) {
        p->text = tra_arena_printf(a, "%s%s", p->text, i ? "," : " at");
        const tra_einsum_ref *r = &s->ref[i];
        for (int d = 0; d < r->n; d++) p->text = tra_arena_printf(a, "%s %s", p->text, s->name[r->label[d]]);
    }
    p->text = tra_arena_printf(a, "%s to", p->text);
    for (int d = 0; d < s->nout; d++) p->text = tra_arena_printf(a, "%s %s", p->text, s->name[s->out[d]]);
    return true;
}
