/* plan.c - the table of operators, questions about operators of a plan, and whether a plan is valid. */
#include "plan.h"

#include "../model/columns.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *text;
    int arity;
    unsigned like;
} ops[] = {
#define X(name, arity, text, like) [TRA_PLAN_##name] = {text, arity, like},
    TRA_PLAN_OPS(X)
#undef X
};

const char *tra_plan_op_text(tra_plan_op op) { return ops[op].text; }

bool tra_op_is(tra_plan_op op, unsigned like) { return ops[op].like & like; }

/* Where the statement begins that the place is in: a line that is in no brackets. */
static int statement_at(const char *text, int at) {
    int start = 0, depth = 0;
    for (int i = 0; i < at && text[i]; i++) {
        char c = text[i];
        if (c == '#') i += (int)strcspn(text + i, "\n");
        if (c == '"') i += 1 + (int)strcspn(text + i + 1, "\"\n");
        if (i >= at || !text[i]) break;
        depth += (strchr("([{", text[i]) != NULL) - (strchr(")]}", text[i]) != NULL);
        if (text[i] == '\n' && depth <= 0) start = i + 1, depth = 0;
    }
    return start;
}

/* The name that the statement gives its result: of operators that have none, such as those that make summands of it. */
static int statement_name(const char *text, int at, const char **name) {
    const char *s = text + statement_at(text, at);
    s += strspn(s, " \t");
    int n = (int)strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    const char *after = s + n + strspn(s + n, " \t");
    *name = s;
    return *after == '=' || *after == '[' ? n : 0;
}

int tra_program_line(const tra_program_text *p, int at) {
    int line = 1;
    for (int i = p ? p->first : 0; p && i < at; i++) line += p->text[i] == '\n';
    return line;
}

char *tra_op_text(const tra_op *op, char *buf, size_t n) {
    const tra_program_text *p = op->spec.program;
    const char *name = op->spec.name ? op->spec.name : "";
    int line = tra_program_line(p, op->spec.text_at), len = (int)strlen(name);
    if (len == 0 && p) len = statement_name(p->text, op->spec.text_at, &name);
    size_t at = p ? (size_t)snprintf(buf, n, "%.200s:%d: ", p->file, line) : 0;
    if (at < n) snprintf(buf + at, n - at, "%.*s%s", len < 200 ? len : 200, name, len ? ": " : "");
    return buf;
}

tra_status tra_op_fits(const tra_op *op, const tra_type *type, int64_t ordinal, tra_err *e) {
    bool over = tra_kernel_overflowed();
    const char *failure = tra_kernel_failure();
    if (!over && !failure) return TRA_OK;
    char key[TRA_DIMTEXT], place[512];
    tra_dims k;
    tra_catalog_key(type->cat, ordinal, &k);
    if (failure) {
        tra_status s = tra_kernel_failure_status();
        tra_fail(e, s, "%s%s, in the tuple %s", tra_op_text(op, place, sizeof place), failure, tra_key_text(&k, key));
        tra_kernel_failure_clear();
        return s;
    }
    return tra_fail(e, TRA_INPUT, "%san integer does not fit %s in the tuple %s", tra_op_text(op, place, sizeof place),
                    tra_dtype_name(type->dtype), tra_key_text(&k, key));
}

bool tra_op_accumulates(const tra_plan *p, const tra_op *op) {
    if (!op->spec.join || !op->spec.agg) return false;
    assert(op->in[1] >= 0);
    tra_dtype l = p->ops[op->in[0]].type.dtype, r = p->ops[op->in[1]].type.dtype;
    if (l != r && (tra_dtype_is_float(l) || tra_dtype_is_float(r))) return false;
    /* its sums are of the products' type */
    if (op->spec.partial && op->type.dtype != tra_kernel_dtype(op->spec.join, TRA_USE_JOIN, l, r)) return false;
    return tra_kernel_fuses(op->spec.join, tra_kernel_first(op->spec.agg));
}

bool tra_mirror_of(const tra_kernel *join, const tra_kernel *agg, int n, const tra_dims *joinl, const tra_dims *joinr,
                   const tra_dims *group, tra_mirror *out) {
    int own = -1;
    *out = (tra_mirror){.key = {-1, -1}};
    if (!tra_kernel_fuses(join, tra_kernel_first(agg)) || !tra_dims_eq(joinl, joinr) || joinl->n != n - 1) return false;
    if (!tra_kernel_mirrors(join, &out->dim[0], &out->dim[1], &out->own)) return false;
    for (int d = 0; d < n; d++) {
        bool joined = false;
        for (int i = 0; i < joinl->n; i++) joined |= joinl->v[i] == d;
        if (!joined) own = d;
    }
    if (own < 0) return false;
    out->label[0] = own, out->label[1] = tra_join_key(joinl, joinr, n, own);
    for (int i = 0; i < group->n; i++)
        for (int side = 0; side < 2; side++)
            if (group->v[i] == out->label[side]) out->key[side] = i;
    return out->key[0] >= 0 && out->key[1] >= 0;
}

bool tra_op_mirror(const tra_plan *p, const tra_op *op, tra_mirror *out) {
    const tra_op_spec *w = &op->spec;
    if (!w->triangle) return false;
    return tra_mirror_of(w->join, w->agg, p->ops[op->in[0]].type.cat->frontier.n, &w->joinl, &w->joinr, &w->group, out);
}

static bool joinable(const tra_op *l, const tra_op *r, const tra_op *op, const char **why) {
    if (l->place.sites != r->place.sites) return *why = "the inputs of a join are on different numbers of sites", false;
    if (l->place.owner || r->place.owner) {
        bool other_all = tra_place_is_all(l->place.owner ? &r->place : &l->place);
        return other_all || (*why = "an input of a join is scattered and the other not everywhere", false);
    }
    if (tra_place_is_all(&l->place) || tra_place_is_all(&r->place)) return true;
    if (l->place.naxes != r->place.naxes) return *why = "the inputs of a join have different axes", false;
    for (int i = 0; i < l->place.naxes; i++) {
        const tra_axis *a = &l->place.axis[i], *b = &r->place.axis[i];
        if (a->sites != b->sites) return *why = "the inputs of a join have axes of different size", false;
        if (a->sites == 1 || a->kind == TRA_AXIS_COPY || b->kind == TRA_AXIS_COPY) continue;
        bool same = a->n == b->n;
        for (int m = 0; same && m < a->n; m++) {
            bool partners = false;
            for (int j = 0; j < op->spec.joinl.n; j++)
                partners |= op->spec.joinl.v[j] == a->dim[m] && op->spec.joinr.v[j] == b->dim[m];
            same = partners && a->ext[m] == b->ext[m];
        }
        if (!same) return *why = "the inputs of a join are partitioned by keys that do not meet", false;
    }
    return true;
}

bool tra_op_is_view(const tra_op *op) { return tra_op_is(op->op, TRA_RENAMES) || op->method.fused; }

bool tra_op_is_stage(const tra_op *op) { return !tra_op_is(op->op, TRA_READS) && !tra_op_is_view(op); }

bool tra_op_grows(const tra_op *op) {
    const tra_kernel *agg = op->spec.agg;
    if (!agg || !op->type.layout || tra_kernel_needs_tensor(agg)) return false;
    /* of entries the identity of other folds than sums is not the absent element */
    return !op->spec.partial || tra_kernel_is_sum(agg) || op->type.layout == &tra_counted;
}

bool tra_op_counts_first(const tra_op *op) {
    return op->op == TRA_PLAN_OUTPUT && (op->spec.levels || op->spec.mapping || op->type.columns || op->type.bounded);
}

bool tra_op_shares_blocks(const tra_op *op) { return tra_op_is_view(op) || tra_op_is(op->op, TRA_FORWARDS); }

bool tra_op_exchanges(const tra_op *op) { return tra_op_is(op->op, TRA_EXCHANGES) && !op->method.gathers; }

bool tra_op_may_outgrow(const tra_op *op) {
    const tra_rows_kernel *rows = op->spec.join ? tra_kernel_rows(op->spec.join) : NULL;
    return (op->op == TRA_PLAN_CONCAT && op->spec.most_rows > 0) || (rows && rows->expected);
}

bool tra_op_appends(const tra_plan *p, const tra_op *op) {
    return op->op == TRA_PLAN_CONCAT && op->type.columns && !op->spec.most_rows && !p->ops[op->in[0]].type.bounded;
}

bool tra_op_gathers(const tra_plan *p, const tra_op *op) {
    return (tra_op_is(op->op, TRA_GATHERS) && !tra_op_appends(p, op)) || op->method.gathers;
}

bool tra_op_overlaps(const tra_op *op) { return op->method.ends > op->id; }

bool tra_op_input_overlaps(const tra_plan *p, const tra_op *op, int side) {
    return op->spec.join && op->in[side] >= 0 && tra_op_overlaps(&p->ops[op->in[side]]);
}

void tra_op_label(const tra_plan *p, const tra_op *op, int side, int d, bool *joined, bool *grouped) {
    const tra_dims *v = side == 0 ? &op->spec.joinl : &op->spec.joinr;
    int label = side == 0 ? d : tra_join_key(&op->spec.joinl, v, p->ops[op->in[0]].type.cat->frontier.n, d);
    *joined = false;
    *grouped = !op->spec.agg;
    for (int i = 0; i < v->n; i++) *joined |= v->v[i] == d;
    for (int i = 0; op->spec.agg && i < op->spec.group.n; i++) *grouped |= op->spec.group.v[i] == label;
}

int tra_op_viewed(const tra_plan *p, int i, bool *many) {
    for (; tra_op_is_view(&p->ops[i]); i = p->ops[i].in[0]) *many |= tra_op_is(p->ops[i].op, TRA_SPLITS);
    return i;
}

int tra_op_holder(const tra_plan *p, int i, bool *many) {
    for (; tra_op_shares_blocks(&p->ops[i]); i = p->ops[i].in[0]) *many |= tra_op_is(p->ops[i].op, TRA_SPLITS);
    return i;
}

double tra_op_times(const tra_plan *p, const tra_op *op) {
    double times = 1;
    for (int l = p->nloops ? op->loop : -1; l >= 0; l = p->loops[l].outer) times *= (double)p->loops[l].most;
    return times;
}

double tra_unit_seconds(const tra_plan *p, const tra_op *op, int threads) {
    double n = op->type.cat ? (double)tra_max64(1, op->type.cat->n) : 1, all = op->predicted.stage_seconds;
    return fmin(all, all * p->sites * threads / n);
}

bool tra_loop_within(const tra_plan *p, int inner, int outer) {
    if (p->nloops == 0) return true;
    while (inner >= 0 && inner != outer) inner = p->loops[inner].outer;
    return inner == outer;
}

bool tra_op_is_outside(const tra_plan *p, int i, int j) { return !tra_loop_within(p, p->ops[i].loop, p->ops[j].loop); }

int tra_op_until(const tra_plan *p, int i, int j) {
    int until = j;
    for (int l = p->nloops ? p->ops[j].loop : -1; l >= 0 && !tra_loop_within(p, p->ops[i].loop, l);
         l = p->loops[l].outer)
        until = p->loops[l].last;
    return until;
}

void tra_plan_list_reads(tra_plan *p) {
    for (int i = 0; i < p->nops; i++) {
        tra_op *op = &p->ops[i];
        op->reads = 0;
        for (int side = 0; side < 2 && op->in[side] >= 0; side++) { /* an edge is 2 op + side + 1; 0: none */
            tra_op *in = &p->ops[op->in[side]];
            op->next_read[side] = in->reads;
            in->reads = 2 * i + side + 1;
        }
    }
}

bool tra_next_read(const tra_plan *p, int i, bool (*through)(const tra_op *), tra_read *r) {
    int at = r->op, edge = at < 0 ? p->ops[i].reads : through && through(&p->ops[at]) ? p->ops[at].reads : 0;
    for (int side = r->side; edge == 0 && at >= 0 && at != i; side = 0) { /* up again, until there is another edge */
        edge = p->ops[at].next_read[side];
        at = p->ops[at].in[side];
    }
    *r = edge ? (tra_read){(edge - 1) / 2, (edge - 1) % 2} : (tra_read){-1, 0};
    return edge;
}

/* Is the result of operator i, or the blocks of it, read in other turns too? Values of states are parts that others
 * hold. */
static bool lasts(const tra_plan *p, int i, const tra_op *reader) {
    bool state = p->ops[i].op == TRA_PLAN_STATE || p->ops[i].op == TRA_PLAN_LAST;
    return state || tra_op_is_outside(p, i, reader->id);
}

/* Has operator j ended when op runs? */
static bool has_ended(const tra_plan *p, const tra_op *op, int j) {
    return j < (op->method.scan.first >= 0 ? op->method.scan.first : op->id) && !tra_op_overlaps(&p->ops[j]);
}

bool tra_op_is_only_reader(const tra_plan *p, const tra_op *op, int side, bool together) {
    bool many = tra_op_is(op->op, TRA_SPLITS);
    int mine = tra_op_viewed(p, op->in[side], &many), readers = 0;
    if (many || lasts(p, mine, op)) return false;
    for (tra_read r = {-1, 0}; readers < 2 && tra_next_read(p, mine, tra_op_is_view, &r);) {
        bool other = r.op != op->id || (r.side != side && !together);
        readers += other && !tra_op_is_view(&p->ops[r.op]) && !has_ended(p, op, r.op);
    }
    return readers == 0;
}

bool tra_op_is_only_block_reader(const tra_plan *p, const tra_op *op, int side, bool together) {
    bool many = tra_op_is(op->op, TRA_SPLITS);
    int mine = tra_op_holder(p, op->in[side], &many);
    if (many || lasts(p, mine, op) || lasts(p, tra_op_viewed(p, op->in[side], &many), op)) return false;
    for (tra_read r = {-1, 0}; tra_next_read(p, mine, tra_op_shares_blocks, &r);)
        if (!has_ended(p, op, r.op) && (r.op != op->id || (r.side != side && !together))) return false;
    return true;
}

bool tra_plan_valid(const tra_plan *p, const char **why) {
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        if (op->id != i) return *why = "operators are not numbered in order", false;
        if (!op->type.cat) return *why = "a relation has no catalog", false;
        if (op->place.sites != p->sites) return *why = "a relation is placed on another number of sites", false;
        for (int j = 0; j < 2; j++) {
            if ((op->in[j] >= 0) != (j < ops[op->op].arity))
                return *why = "an operator has the wrong number of inputs", false;
            if (op->in[j] >= i) return *why = "an input does not come before its operator", false;
            if (op->in[j] < 0) continue;
            const tra_op *in = &p->ops[op->in[j]];
            bool partial = tra_place_is_partial(&in->place), forwards = tra_op_is(op->op, TRA_FORWARDS);
            if (partial && !forwards) return *why = "only an exchange may take a partial relation", false;
            bool summands = tra_op_is(in->op, TRA_FORWARDS) && tra_place_is_partial(&p->ops[in->in[0]].place);
            if (summands != (op->op == TRA_PLAN_MERGE))
                return *why = "merge and exchanged summands belong together", false;
        }
        if (ops[op->op].arity == 2 && !joinable(&p->ops[op->in[0]], &p->ops[op->in[1]], op, why)) return false;
        if ((op->op == TRA_PLAN_AGG || op->op == TRA_PLAN_JOINAGG) &&
            op->spec.partial != tra_place_is_partial(&op->place))
            return *why = "a partial aggregation and its placement disagree", false;
    }
    return true;
}
