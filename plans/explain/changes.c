/* changes.c - what would change a plan: the program planned again with other options, with other blocks or other
 * numbers of its inputs, and with factors outside of sums and maxima. Each sentence is the difference of two plans. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/base/crew.h"
#include "../../lib/physical/memory.h"
#include "../../lib/model/block.h"
#include "../../lib/h5/stand_in.h"
#include "../search/cost.h"
#include "apart.h"
#include "explain_int.h"

enum { MOST_CHANGES = 8, MB = 1 << 20 };

static const double WORTH = TRA_CHANGE_WORTH, LEAST_GAIN = TRA_CHANGE_LEAST;

/* What is told of a plan. */
typedef struct picture {
    bool fits;
    double seconds;
    int64_t read, scratch, least, peak; /* least: ceiling; peak: of memory */
    int scans;                          /* stages that read an input together with another stage */
    const char *shared;                 /* the input of such a scan; NULL: none */
    int ninputs;
    struct input {
        const char *name;
        int64_t read; /* bytes in all */
    } * inputs;
} picture;

typedef struct changes {
    const tra_job *job;
    const tra_profile *m; /* what was measured of the plan; NULL: nothing */
    tra_rates_fn *rates;
    tra_arena *a;
    double until; /* by tra_now: no plan is begun after that */
    int ndefines;
    const char *const *defines;
    int n;
    const char **v;
    picture now;
    tra_ast_program ast;
    bool parsed;
} changes;

static const char *copy(tra_arena *a, const char *s) { return s ? tra_arena_strndup(a, s, strlen(s)) : ""; }

/* In the arena, so that the plan may go. */
static picture picture_of(const tra_plan *p, int64_t memory, tra_arena *a) {
    picture x = {.fits = memory == 0 || p->least_memory <= memory,
                 .seconds = p->cost.seconds,
                 .read = p->cost.disk_read.expected,
                 .scratch = p->scratch,
                 .least = p->least_memory,
                 .peak = p->cost.peak_memory};
    x.inputs = tra_news(a, struct input, p->nops);
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        const tra_op_scan *s = &o->method.scan;
        if (tra_op_is(o->op, TRA_READS) && o->spec.name && tra_is_plain_name(o->spec.name)) /* the program's own */
            x.inputs[x.ninputs++] = (struct input){copy(a, o->spec.name), o->predicted.read};
        if (s->first < 0 || s->first == i) continue;
        x.scans++;
        if (s->input >= 0) x.shared = copy(a, p->ops[s->input].spec.name);
    }
    return x;
}

/* Plans graph g with other options. The arena begins with as many bytes as the job's has, which count as the program.
 */
static bool plan_so(const changes *c, const tra_graph *g, tra_plan_options o, picture *out) {
    tra_plans plans;
    tra_err ignored = {0};
    o.over = true;
    o.first = 1;
    o.also = 0;
    if (tra_now() > c->until) return false;
    tra_arena *a = tra_arena_new();
    tra_arena_alloc(a, tra_arena_bytes(c->job->program.arena));
    bool ok = tra_optimize(g, &o, a, &plans, &ignored) == TRA_OK && plans.n > 0;
    if (ok) *out = picture_of(plans.v[0], o.memory, c->a);
    tra_arena_free(a);
    return ok;
}

/* The same under another ceiling. */
static bool plan_again(const changes *c, const tra_graph *g, int64_t memory, picture *out) {
    tra_plan_options o = c->job->options;
    o.memory = memory;
    return plan_so(c, g, o, out);
}

static bool is_faster(const changes *c, const picture *x) {
    double gain = c->now.seconds - x->seconds;
    return x->fits >= c->now.fits && gain >= WORTH * c->now.seconds && gain >= LEAST_GAIN;
}

/* "2 s instead of 3 s" */
static const char *gain_text(const changes *c, const picture *x) {
    char after[40], before[40], took[40];
    return tra_arena_printf(c->a, "%s instead of %s%s%s", tra_text_seconds(x->seconds, after, sizeof after),
                            tra_text_seconds(c->now.seconds, before, sizeof before),
                            c->m ? " by what was predicted; the run took " : "",
                            c->m ? tra_text_seconds(c->m->seconds, took, sizeof took) : "");
}

const tra_node *tra_input_named(const tra_job *job, const char *name) {
    const tra_graph *g = job->program.graph;
    for (int i = 0; i < g->n && name; i++)
        if (g->v[i]->op == TRA_OP_INPUT && g->v[i]->name && !strcmp(g->v[i]->name, name)) return g->v[i];
    return NULL;
}

static void add(changes *c, const char *text) {
    if (c->n < MOST_CHANGES) c->v[c->n++] = text;
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

static bool is_less(int64_t v, int64_t than) { return (double)v < 0.95 * (double)than; }

/* "A once instead of three times, ": the inputs that a plan reads less often, as far as it matters. */
static const char *reads_text(const changes *c, const picture *best) {
    const char *text = "";
    for (int i = 0; i < c->now.ninputs; i++) {
        const struct input *x = &c->now.inputs[i];
        const tra_node *n = tra_input_named(c->job, x->name);
        int64_t all = n ? tra_file_bytes(&n->type, n->type.layout, n->type.cat->n).expected : 0, after = 0;
        for (int k = 0; k < best->ninputs; k++)
            if (strcmp(best->inputs[k].name, x->name) == 0) after = best->inputs[k].read;
        all = tra_min64(all, after); /* of a table only some columns are read */
        if (all == 0 || !is_less(after, x->read)) continue;
        if ((double)(x->read - after) < 0.05 * (double)(c->now.read - best->read)) continue;
        text = tra_arena_printf(c->a, "%s%s%s %s instead of %s", text, *text ? ", " : "", x->name,
                                tra_text_times(c->a, (double)after / (double)all),
                                tra_text_times(c->a, (double)x->read / (double)all));
    }
    return text;
}

/* The least ceiling above `low` that gives what `best` is, to 1 %, but at least to a mebibyte. */
static int64_t least_ceiling(const changes *c, int64_t low, picture best, picture *found) {
    int64_t high = low;
    picture x;
    do {
        high = tra_mul_most(high, 2);
        if (!plan_again(c, c->job->program.graph, high, &x)) return 0;
    } while (high < (int64_t)1 << 50 && (x.read > best.read || x.scratch > best.scratch || !x.fits));
    if (high >= (int64_t)1 << 50) return 0;
    low = tra_max64(low, high / 2);
    *found = x;
    while (high - low > tra_max64(MB, high / 100)) {
        int64_t middle = (low + high) / 2;
        if (!plan_again(c, c->job->program.graph, middle, &x)) break;
        bool enough = x.fits && x.read <= best.read && x.scratch <= best.scratch;
        *(enough ? &high : &low) = middle;
        if (enough) *found = x;
    }
    return tra_ceil_div(high, MB) * MB;
}

static void try_memory(changes *c) {
    char a[32], b[32];
    picture best, found;
    int64_t memory = c->job->options.memory;
    tra_op_report all = c->m ? tra_profile_sum(c->m, c->m->nops) : (tra_op_report){0};
    if (memory == 0 || !plan_again(c, c->job->program.graph, 0, &best)) return;
    bool reads = is_less(best.read, c->now.read), spills = is_less(best.scratch, c->now.scratch);
    if (c->m && !is_less(best.read, all.disk_read)) reads = false; /* what was feared did not happen */
    if (c->m && all.spilled < c->now.scratch / 4) spills = false;
    int64_t enough = reads || spills || !c->now.fits ? least_ceiling(c, memory, best, &found) : 0;
    if (enough == 0) return;
    const char *what = reads ? reads_text(c, &best) : "", *text = "";
    if (*what)
        text = tra_arena_printf(c->a, "read %s: %s instead of %s", what, tra_human(best.read, a),
                                tra_human(c->now.read, b));
    else if (reads)
        text = tra_arena_printf(c->a, "read %s instead of %s", tra_human(best.read, a), tra_human(c->now.read, b));
    if (spills)
        text = tra_arena_printf(c->a, "%s%sneed %s of scratch instead of %s", text, *text ? ", and " : "",
                                best.scratch ? tra_human(best.scratch, a) : "none", tra_human(c->now.scratch, b));
    if (!*text) text = tra_arena_printf(c->a, "be enough");
    if (found.seconds < 0.95 * c->now.seconds)
        text = tra_arena_printf(c->a, "%s, and take %s", text, gain_text(c, &found));
    add(c, tra_arena_printf(c->a, "--memory %" PRId64 "M would %s", enough / MB, text));
}

/* ---- other options -------------------------------------------------------------------------------------------- */

/* Did, or will, all sites share this machine? */
static bool is_here(const tra_profile *m) {
    char host[TRA_HOSTNAME] = "";
    if (gethostname(host, sizeof host - 1) != 0) return false;
    for (int i = 0; m && i < m->sites; i++)
        if (strcmp(m->host[i], host)) return false;
    return true;
}

static void try_options(changes *c) {
    const tra_plan_options *given = &c->job->options;
    const tra_graph *g = c->job->program.graph;
    tra_plan_options o = *given;
    picture x;
    bool here = is_here(c->m);
    o.threads = tra_cores() / given->sites;
    o.rates = c->rates(given->sites, o.threads);
    if (here && o.threads > given->threads && plan_so(c, g, o, &x) && is_faster(c, &x))
        add(c, tra_arena_printf(c->a, "--threads %d would take %s", o.threads, gain_text(c, &x)));
    o = *given, o.reproducible = false;
    if (given->reproducible && plan_so(c, g, o, &x) && is_faster(c, &x))
        add(c, tra_arena_printf(c->a, "without --reproducible it would take %s", gain_text(c, &x)));
    o = *given, o.without = o.without_rules = 0;
    if ((given->without || given->without_rules) && plan_so(c, g, o, &x) && is_faster(c, &x))
        add(c, tra_arena_printf(c->a, "without --without it would take %s", gain_text(c, &x)));
    o = *given, o.optimizer = TRA_OPT_SEARCH, o.cost = TRA_COST_TIME;
    if ((given->optimizer != o.optimizer || given->cost != o.cost) && plan_so(c, g, o, &x) && is_faster(c, &x))
        add(c, tra_arena_printf(c->a, "--cost time --optimizer search, the defaults, would take %s", gain_text(c, &x)));
}

/* ---- another text ------------------------------------------------------------------------------------------------ */

/* Plans this text in place of the program, without what the request says of an input (NULL: with all of it). */
static bool plan_text_in(const changes *c, const char *text, const char *without, tra_tables_room room, picture *out) {
    if (tra_now() > c->until) return false;
    const char **defines = tra_news(c->a, const char *, c->ndefines);
    const char *path = c->job->program.src.name;
    int n = 0;
    tra_program again;
    tra_err ignored = {0};
    for (int i = 0; i < c->ndefines; i++) {
        size_t length = without ? strlen(without) : 0;
        bool is_of = without && strncmp(c->defines[i], without, length) == 0 && c->defines[i][length] == '=';
        if (!is_of) defines[n++] = c->defines[i];
    }
    bool mute = tra_log_mute;
    tra_log_mute = true;
    tra_str mine = {0}; /* which the program takes over */
    tra_str_add(&mine, text);
    const tra_building how = {tra_program_dir(c->a, path), n, defines, room, c->job->built.makes};
    tra_status s = tra_program_from_text(path, mine.s, mine.n, &how, false, &again, &ignored);
    tra_log_mute = mute;
    if (s != TRA_OK) return false;
    bool ok = plan_again(c, again.graph, c->job->options.memory, out);
    tra_program_free(&again);
    return ok;
}

static bool plan_text(const changes *c, const char *text, const char *without, picture *out) {
    return plan_text_in(c, text, without, c->job->built.room, out);
}

/* NULL: it does not parse. */
static const tra_ast_program *parsed(changes *c) {
    tra_diags diags = {.arena = c->a, .src = &c->job->program.src};
    if (!c->parsed) tra_parse(&c->job->program.src, c->a, &diags, &c->ast);
    c->parsed |= diags.errors == 0;
    return c->parsed ? &c->ast : NULL;
}

/* The program with other text in place of that at `at`. */
static const char *with_text(const changes *c, tra_span at, const char *text) {
    const tra_script *src = &c->job->program.src;
    return tra_arena_printf(c->a, "%.*s%s%s", at.at, src->text, text, src->text + at.at + at.len);
}

/* ---- blocks of an input --------------------------------------------------------------------------------------- */

static void add_shape(const tra_dims *d, tra_str *out) {
    tra_str_add(out, "[");
    for (int i = 0; i < d->n; i++) tra_str_printf(out, "%s%" PRId64, i ? ", " : "", d->v[i]);
    tra_str_add(out, "]");
}

/* The program with the statement of input n declared as `type` in blocks of `block`: the file's own are not looked at.
 */
static const char *with_input(changes *c, const tra_node *n, tra_dtype type, const tra_dims *block) {
    const tra_ast_program *ast = parsed(c);
    tra_dims all;
    for (int i = 0; ast && i < ast->n; i++) {
        const tra_stmt *s = &ast->v[i];
        if (s->kind != TRA_STMT_INPUT || strcmp(s->name, n->name)) continue;
        tra_str out = {0};
        tra_str_add(&out, "input ");
        tra_name_print(n->name, &out);
        tra_str_printf(&out, " : %s ", tra_dtype_name(type));
        tra_type_shape(&n->type, &all);
        add_shape(&all, &out);
        tra_str_add(&out, " by ");
        add_shape(block, &out);
        if (tra_is_held(&n->type)) tra_str_printf(&out, " as csr nnz %" PRId64, tra_type_entries(&n->type).expected);
        const char *text = with_text(c, s->span, tra_str_get(&out));
        tra_str_free(&out);
        return text;
    }
    return NULL;
}

/* Is it a dense tensor, or a sparse matrix, in a file, or one that is declared, whose blocks a user may choose? */
static bool has_free_blocks(const tra_node *n) {
    if (n->op != TRA_OP_INPUT || n->input.leaf || !tra_type_is_blocked(&n->type, NULL) || n->type.columns) return false;
    bool dense = !n->type.layout && !n->type.sparse, matrix = tra_is_held(&n->type) && n->type.cat->bound.n == 2;
    return (dense || matrix) && n->name && tra_is_plain_name(n->name) &&
           !(n->input.rel && tra_rel_stand_in(n->input.rel));
}

/* "read 2 MiB instead of 3 MiB, in 2 s instead of 3 s", or "take .." where as much is read. */
static const char *reads_and_gain(const changes *c, const picture *x) {
    char read[32], now[32];
    if (!is_less(x->read, c->now.read)) return tra_arena_printf(c->a, "take %s", gain_text(c, x));
    return tra_arena_printf(c->a, "read %s instead of %s, in %s", tra_human(x->read, read), tra_human(c->now.read, now),
                            gain_text(c, x));
}

/* reads: it is also worth a line if less is read. */
static bool try_blocks(changes *c, const tra_node *n, const tra_dims *block, bool reads) {
    char shape[TRA_DIMTEXT];
    picture x;
    const char *text = with_input(c, n, n->type.dtype, block);
    if (!text || !plan_text(c, text, n->name, &x) || !x.fits) return false;
    bool reads_less = reads && is_less(x.read, c->now.read) && x.seconds < c->now.seconds;
    if (!reads_less && !is_faster(c, &x)) return false;
    tra_dims_text(block, "", "x", "", shape, sizeof shape);
    bool shares = x.scans > c->now.scans && x.shared;
    add(c, tra_arena_printf(c->a, "%s in blocks of %s (tra import --block %s) would %s%s%s%s", n->name, shape, shape,
                            shares ? "share the scan of " : "", shares ? x.shared : "", shares ? ", and " : "",
                            reads_and_gain(c, &x)));
    return true;
}

/* Blocks that the plan cuts an input into by itself, before anything else is done with it. */
static void try_repartitions(changes *c) {
    const tra_plan *p = c->job->plan;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        if (o->op != TRA_PLAN_REPART || !tra_op_is(p->ops[o->in[0]].op, TRA_READS)) continue;
        const tra_node *n = tra_input_named(c->job, p->ops[o->in[0]].spec.name);
        if (n && has_free_blocks(n)) try_blocks(c, n, &o->type.cat->bound, true);
    }
}

/* Other blocks of input n: those that import chooses, and smaller ones where there are fewer blocks than threads. */
static void try_blocks_of(changes *c, const tra_node *n) {
    const tra_plan_options *o = &c->job->options;
    tra_dims all, block;
    tra_type_shape(&n->type, &all);
    tra_block_choose(&all, &block);
    bool sparse = tra_is_held(&n->type), other = !tra_dims_eq(&block, &n->type.cat->bound);
    if (!sparse && (!other || try_blocks(c, n, &block, false))) return;
    int64_t parts = n->type.cat->n, workers = (int64_t)o->sites * o->threads;
    if (parts >= workers) return;
    block = n->type.cat->bound;
    while (parts < 2 * workers) {
        int d = 0;
        for (int k = 1; k < block.n; k++) d = block.v[k] > block.v[d] ? k : d;
        if (block.n == 0 || block.v[d] < 2) break;
        block.v[d] = tra_ceil_div(block.v[d], 2), parts *= 2;
    }
    try_blocks(c, n, &block, false);
}

/* What an input costs, as bytes: its elements, and its blocks, each of which is planned and found. */
static double weight_of(const tra_node *n) {
    enum { BLOCK = 4096 };
    return (double)tra_type_bytes_all(&n->type).expected + BLOCK * (double)n->type.cat->n;
}

static int heavier_first(const void *a, const void *b) {
    const tra_node *m = *(tra_node *const *)a, *n = *(tra_node *const *)b;
    double x = weight_of(m), y = weight_of(n);
    return x == y ? m->id - n->id : (x < y) - (x > y);
}

/* Of each input that may have other blocks these are tried, the heaviest first; not of those that are too light to
 * change the picture. Of the largest of numbers in f64, numbers of half the width. */
static void try_inputs(changes *c) {
    const tra_graph *g = c->job->program.graph;
    static const double LONG = 1, MUCH = 0.4; /* seconds, and their share, for which one may think of fewer digits */
    static const double LIGHT = 0.01;         /* share of what all inputs weigh */
    const tra_node **v = tra_news(c->a, const tra_node *, g->n), *largest = NULL;
    double all = 0;
    int count = 0;
    picture x;
    for (int i = 0; i < g->n && c->now.seconds >= LEAST_GAIN; i++)
        if (has_free_blocks(g->v[i])) all += weight_of(v[count++] = g->v[i]);
    qsort(v, (size_t)count, sizeof *v, heavier_first);
    for (int i = 0; i < count && weight_of(v[i]) >= LIGHT * all; i++) {
        try_blocks_of(c, v[i]);
        if (!largest && v[i]->type.dtype == TRA_F64 && !tra_is_held(&v[i]->type)) largest = v[i];
    }
    const char *text = largest ? with_input(c, largest, TRA_F32, &largest->type.cat->bound) : NULL;
    if (text && plan_text(c, text, largest->name, &x) && c->now.seconds >= LONG &&
        x.seconds <= (1 - MUCH) * c->now.seconds && x.fits >= c->now.fits)
        add(c, tra_arena_printf(c->a, "%s as f32, which keeps 7 digits of 16 (tra import --dtype f32), would %s",
                                largest->name, reads_and_gain(c, &x)));
}

/* ---- what does not depend on what is aggregated ----------------------------------------------------------------- */

static void try_apart(changes *c) {
    const tra_ast_program *ast = parsed(c);
    tra_apart *v;
    picture x;
    int n = ast ? tra_apart_find(&c->job->program.src, ast, c->a, &v) : 0;
    for (int i = 0; i < n; i++) {
        const tra_apart *t = &v[i];
        if (!plan_text(c, with_text(c, t->at, t->text), NULL, &x)) continue;
        if (x.fits < c->now.fits || x.seconds > (1 - WORTH) * c->now.seconds) continue;
        add(c,
            tra_arena_printf(c->a, "line %d: the %s %s does not depend on %s: %s%s would take %s", t->line,
                             t->product ? "factor" : "term", t->what, t->over, t->text,
                             t->positive ? ", which is the same where the factor is positive," : "", gain_text(c, &x)));
    }
}

/* ---- more rows than were expected ------------------------------------------------------------------------------- */

/* May the run find more rows than the plan has room for? */
static bool may_be_outgrown(const tra_plan *p) {
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        int64_t most = op->spec.most_rows; /* of a CONCAT: its operand may have no more */
        if (tra_op_may_outgrow(op) && (!most || tra_type_entries(&p->ops[op->in[0]].type).bound > most)) return true;
    }
    return false;
}

/* Says what a run takes that finds more rows: it is planned again, with room for as many as there can be. */
static void try_rows(changes *c) {
    const tra_tables_room rooms[] = {{c->job->built.room.whole, 0}, {1, 0}, {TRA_WHOLE_ANY, 0}};
    char memory[32], scratch[32];
    picture x, least = {.least = INT64_MAX};
    if (c->m || !c->job->program.graph->expected_room || !may_be_outgrown(c->job->plan)) return;
    for (int i = 0; i < 3 && !least.fits; i++)
        if (plan_text_in(c, c->job->program.src.text, NULL, rooms[i], &x) && (x.fits || x.least < least.least))
            least = x;
    if (least.least == INT64_MAX) return;
    add(c, tra_arena_printf(c->a,
                            "more rows than are expected would make the run begin again, planned for as many as there "
                            "can be: %s %s of memory%s%s%s",
                            least.fits ? "with up to" : "it would not fit, and need at least",
                            tra_human(least.fits ? least.peak : least.least, memory),
                            least.fits && least.scratch ? " and " : "",
                            least.fits && least.scratch ? tra_human(least.scratch, scratch) : "",
                            least.fits && least.scratch ? " of scratch" : ""));
}

int tra_explain_changes(const tra_job *job, const tra_profile *m, tra_rates_fn *rates, int ndefines,
                        const char *const *defines, double seconds, tra_arena *a, const char *const **out) {
    changes c = {.job = job,
                 .m = m,
                 .rates = rates,
                 .a = a,
                 .until = tra_now() + seconds,
                 .ndefines = ndefines,
                 .defines = defines,
                 .v = tra_news(a, const char *, MOST_CHANGES)};
    *out = c.v;
    if (job->plan->rank != 1) return 0;
    c.now = picture_of(job->plan, job->options.memory, a);
    try_memory(&c);
    if (!job->compiled) try_apart(&c);
    try_options(&c);
    if (!job->compiled) try_repartitions(&c), try_inputs(&c);
    if (!m) c.n += tra_explain_conversions(job, c.now.seconds, MOST_CHANGES - c.n, c.v + c.n, a);
    if (!job->compiled) try_rows(&c);
    const char *unused = tra_explain_unused(job, a);
    if (unused) add(&c, unused);
    return c.n;
}
