/* findings.c - where the time of a run went: sentences from what was measured, and what would do about it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/durable/durable.h"
#include "../../lib/physical/memory.h"
#include "../../lib/h5/stand_in.h"
#include "findings_int.h"

enum { MOST_FINDINGS = 14 };

void tra_finding(findings *f, const char *fmt, ...) {
    tra_str text = {0};
    va_list ap;
    if (f->n == MOST_FINDINGS) return;
    va_start(ap, fmt);
    tra_str_vprintf(&text, fmt, ap);
    va_end(ap);
    f->v[f->n++] = tra_arena_take(f->a, &text);
}

const char *tra_finding_seconds(const findings *f, double s) {
    char buf[40];
    return tra_arena_printf(f->a, "%s", tra_text_seconds(s, buf, sizeof buf));
}

static const char *size_text(const findings *f, int64_t bytes) {
    char buf[32];
    return tra_arena_printf(f->a, "%s", tra_human(bytes, buf));
}

/* The statement of an operator as it is named in a sentence. */
static const char *line_of(const findings *f, int op) {
    int s = f->lines.of[op];
    return s < 0 ? tra_arena_printf(f->a, "operator #%d", op) : tra_arena_printf(f->a, "line %d", f->lines.v[s].line);
}

/* ---- statements ----------------------------------------------------------------------------------------------- */

/* What would spare a phase. */
static const char *spares(const char *phase) {
    static const struct {
        tra_phase phase;
        const char *told;
    } told[] = {
        {TRA_PHASE_START, ": MPI and the sites are started; runs as short as this are shorter on fewer sites."},
        {TRA_PHASE_ATTEMPT, ": a higher --memory has room for all rows from the beginning."},
        {TRA_PHASE_PLAN, ": tra compile finds the plan once for many runs."},
        {TRA_PHASE_COMPILE, ": later runs find the kernels in TRA_CACHE."},
        {TRA_PHASE_EXPORT, ": outputs to .h5 are not written twice."},
    };
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (strcmp(phase, tra_phase_text(told[i].phase)) == 0) return told[i].told;
    return ".";
}

/* ", 1.2 s of it once, before the first turn": where most work of a statement in a loop is hoisted out of it. */
static const char *once_text(const findings *f, const tra_shown_statement *x) {
    double once = 0;
    for (int i = 0; i < f->s->plan->nops && x->depth > 0; i++)
        if (f->lines.of[i] == (int)(x - f->lines.v) && f->s->plan->ops[i].loop < 0)
            once += tra_profile_sum(f->m, i).seconds / f->m->sites;
    if (once < x->measured.seconds / 2) return "";
    return tra_arena_printf(f->a, ", %s of it once, before the first turn", tra_finding_seconds(f, once));
}

/* Statements and phases that took a quarter of the run, the longest first. conversions: there is a sentence for each
 * file that was converted. */
static void find_longest(findings *f, bool conversions) {
    const double all = f->run, least = 0.25 * all, places = f->m->timeline.phase[TRA_PHASE_PLACE];
    for (double below = INFINITY; below > 0;) {
        const tra_shown_statement *most = NULL;
        for (int i = 0; i < f->lines.n; i++) {
            const tra_shown_statement *x = &f->lines.v[i];
            double s = x->measured.seconds;
            if (s >= least && s < below && (!most || s > most->measured.seconds)) most = x;
        }
        if (!most) return;
        below = most->measured.seconds;
        double share = 100 * below / all;
        if (most->line > 0)
            tra_finding(
                f, "Line %d took %.0f %% of the time%s: %s%s", most->line, share, once_text(f, most), most->text,
                most->kind == TRA_STMT_OUTPUT && places > below / 2 ? ": until the disk had it, and it was put in place"
                                                                    : "");
        else if (!conversions || strcmp(most->text, tra_phase_text(TRA_PHASE_CONVERT)))
            tra_finding(f, "To %s took %.0f %% of the time%s", most->text, share, spares(most->text));
    }
}

static const tra_stand_in *conversion_of(const tra_node *n) {
    const tra_stand_in *s = n->input.rel ? tra_rel_stand_in(n->input.rel) : NULL;
    return s && s->bytes_stored > 0 ? s : NULL;
}

/* Inputs of other formats, whose conversion took a quarter of the time; it comes before the plan, and its seconds. Who
 * reads a profile converts them again: of that only the shares are looked at. Were there any? */
static bool find_conversions(findings *f) {
    int before = f->n;
    const tra_graph *g = f->job->program.graph;
    double all = 0, took = f->m->timeline.phase[TRA_PHASE_CONVERT];
    for (int i = 0; i < g->n; i++) all += conversion_of(g->v[i]) ? conversion_of(g->v[i])->seconds : 0;
    for (int i = 0; i < g->n; i++) {
        const tra_stand_in *s = conversion_of(g->v[i]);
        double seconds = s ? s->seconds / fmax(all, 1e-9) * took : 0;
        if (!s || seconds < 0.25 * f->m->seconds) continue;
        tra_finding(f,
                    "The conversion of %s (%s, %s) took %s, %s a second%s%s. --keep-imports keeps what it "
                    "made for later runs; tra import makes a file of it.",
                    s->file, s->format, size_text(f, s->bytes_in), tra_finding_seconds(f, seconds),
                    size_text(f, (int64_t)((double)s->bytes_in / seconds)),
                    s->left ? ", though nothing uses of it " : "", s->left ? s->left : "");
    }
    return f->n > before;
}

/* Statements whose seconds are wrong since an operator had more, or fewer, rows than expected; of each that operator
 * whose seconds are furthest from what was predicted. */
static void find_rows(findings *f) {
    enum { MOST = 3, MANY = 100000 };
    static const double FAR = 1.5, MATTERS = 0.1;
    const tra_plan *p = f->s->plan;
    bool *told = tra_news(f->a, bool, f->lines.n + 1),
         slower = f->m->seconds > p->cost.seconds; /* then what was faster explains nothing */
    for (int n = 0; n < MOST; n++) {
        double most = MATTERS * fmax(f->m->seconds, p->cost.seconds), rows = 0, at_predicted = 0;
        tra_op_report at = {0};
        int op = -1;
        for (int i = 0; i < p->nops; i++) {
            tra_op_report r = tra_profile_sum(f->m, i);
            double expected, error = tra_rows_error(&p->ops[i].type, &r, &expected),
                             predicted = p->ops[i].predicted.cost.seconds * tra_op_times(p, &p->ops[i]);
            if (error < FAR || fmax(expected, (double)r.counted[0]) < MANY || told[f->lines.of[i] + 1]) continue;
            bool less = r.seconds < predicted, fewer = (double)r.counted[0] < expected;
            if (fabs(r.seconds - predicted) < most || (less && slower) || less != fewer) continue;
            most = fabs(r.seconds - predicted), rows = expected, at = r, at_predicted = predicted, op = i;
        }
        if (op < 0) return;
        told[f->lines.of[op] + 1] = true;
        char expected[32], counted[32];
        tra_finding(f, "The %s of %s (#%d) had %s rows, not the %s that were expected, and took %s, not %s.",
                    tra_plan_op_text(p->ops[op].op), line_of(f, op), op,
                    tra_text_number((double)at.counted[0], counted, sizeof counted),
                    tra_text_number(rows, expected, sizeof expected), tra_finding_seconds(f, at.seconds),
                    tra_finding_seconds(f, at_predicted));
    }
}

/* What parts of it the figures are of. */
static void find_extent(findings *f) {
    if (f->m->status != 0)
        tra_finding(f,
                    "The run ended with status %d before its outputs were in place: what was measured is of what ran "
                    "until then, what was predicted is for all of it.",
                    f->m->status);
    if (f->m->resumed)
        tra_finding(f, "The run went on from what a run before had saved: what was predicted is for all of it.");
}

/* ---- sites ---------------------------------------------------------------------------------------------------- */

/* The site that computed longest in an operator; *mean: of all sites. */
static int busiest(const findings *f, int op, double *most, double *mean) {
    int at = 0;
    *most = *mean = 0;
    for (int i = 0; i < f->m->sites; i++) {
        double s = tra_profile_site(f->m, op, i)->kernel_seconds;
        if (s > *most) *most = s, at = i;
        *mean += s / f->m->sites;
    }
    return at;
}

/* Does the operator call LAPACK, or one that it computes while it reads? */
static bool does_linear_algebra(const tra_plan *p, int op) {
    const tra_op *o = &p->ops[op];
    const tra_kernel *kernel = o->spec.join ? o->spec.join : o->spec.map;
    if (kernel && o->in[0] >= 0 && tra_kernel_lapack_share(kernel, &p->ops[o->in[0]].type.cat->bound) > 0) return true;
    for (int k = 0; k < 2; k++)
        if (o->in[k] >= 0 && tra_op_is_view(&p->ops[o->in[k]]) && does_linear_algebra(p, o->in[k])) return true;
    return false;
}

/* Why one site has more of an operator's work than others, and what would do. */
static const char *why_busy(const findings *f, int op, int site) {
    const tra_op *o = &f->s->plan->ops[op];
    int64_t rows = tra_profile_site(f->m, op, site)->counted[0], all = tra_profile_sum(f->m, op).counted[0];
    if (o->type.columns && o->type.bounded && all > 0 && rows * f->m->sites > all * 5 / 4)
        return tra_arena_printf(
            f->a,
            "It made %.0f %% of the rows of%.60s: rows with one value of its key are all made by one site. A key "
            "with more values, or values that repeat less, would spread them; more sites would not.",
            100 * (double)rows / (double)all, f->s->ops[op].label + strlen(tra_plan_op_text(o->op)));
    if (does_linear_algebra(f->s->plan, op))
        return "Linear algebra on a matrix is done by one site: more threads (--threads) make it faster, more sites do "
               "not.";
    int64_t tuples = o->type.cat->n;
    for (int k = 0; k < 2 && o->in[k] >= 0; k++) tuples = tra_max64(tuples, f->s->plan->ops[o->in[k]].type.cat->n);
    if (tuples < f->m->sites)
        return tra_arena_printf(f->a,
                                "It is made of %" PRId64 " block%s, which no more sites can share: smaller blocks "
                                "(tra import --block, \"by\" of gen) would let all sites compute.",
                                tuples, tuples == 1 ? "" : "s");
    if (strcmp(f->s->ops[op].place, "part()") == 0)
        return "Its result is made on one site (part()), since it is one block or to move its operands would take "
               "longer; fewer sites would take as long.";
    return "The others wait for it.";
}

/* Operators in which one site computed far longer than the others, and which mattered. Were there any? */
static bool find_uneven(findings *f) {
    static const double UNEVEN = 1.4, MATTERS = 0.05;
    int last = -1, n = f->n;
    for (int i = 0; i < f->s->plan->nops && f->m->sites > 1; i++) {
        double most, mean;
        int site = busiest(f, i, &most, &mean), s = f->lines.of[i];
        if (most < UNEVEN * mean || most - mean < MATTERS * f->run || (s >= 0 && s == last)) continue;
        last = s;
        tra_finding(f, "In %s (#%d %s) site %d computed %s, the sites %s on average%s. %s", line_of(f, i), i,
                    tra_plan_op_text(f->s->plan->ops[i].op), site, tra_finding_seconds(f, most),
                    tra_finding_seconds(f, mean), f->s->plan->ops[i].loop >= 0 ? ", in all turns" : "",
                    why_busy(f, i, site));
    }
    return f->n > n;
}

/* ---- keys ----------------------------------------------------------------------------------------------------- */

/* Does the program, or a file of it, name the column? Rules make others. */
static bool is_known_column(const findings *f, const char *name, size_t n) {
    const tra_graph *g = f->job->program.graph;
    for (int i = 0; i < g->nnames; i++) {
        const tra_schema *s = g->names[i].node->type.columns;
        for (int c = 0; s && c < s->n; c++)
            if (strlen(s->v[c].name) == n && memcmp(s->v[c].name, name, n) == 0) return true;
    }
    return false;
}

/* "cust = 7"; "a, b = 7, 8"; names that the program does not have are left out. */
static const char *key_text(const findings *f, const tra_heavy_key *k) {
    for (const char *c = k->columns; *c;) {
        size_t n = strcspn(c, ",");
        if (!is_known_column(f, c, n)) return k->values;
        c += n + strspn(c + n, ", ");
    }
    return tra_arena_printf(f->a, "%s = %s", k->columns, k->values);
}

static int64_t percent(int64_t part, int64_t all) { return (int64_t)(100 * (double)part / fmax(1, (double)all) + 0.5); }

/* Operators which took a while, and where one key has far more rows, or makes more pairs of rows, than others. */
static void find_keys(findings *f) {
    static const double MATTERS = 0.1;
    for (int i = 0; i < f->s->plan->nops; i++) {
        const tra_heavy_key *k = f->m->heavy[i], *l = &k[0], *r = &k[1];
        const tra_op *o = &f->s->plan->ops[i];
        bool join = o->spec.join && r->all > 0, by_blocks = strstr(f->s->ops[i].label, "partial group");
        tra_str told = {0};
        if ((!l->rows && !r->rows) || tra_profile_sum(f->m, i).seconds < MATTERS * f->run) continue;
        for (int side = 0; side < 2; side++) {
            const tra_heavy_key *x = &k[side];
            if (x->rows == 0) continue;
            tra_str_printf(&told, "%s%s has %" PRId64 " %% of the rows%s", told.n ? ", and " : "", key_text(f, x),
                           percent(x->rows, x->all),
                           !join  ? ""
                           : side ? " of the right table"
                                  : " of the left table");
            if (x->pairs > 0)
                tra_str_printf(&told, " and makes %" PRId64 " %% of the pairs", percent(x->pairs, x->all_pairs));
        }
        tra_finding(
            f, "In %s (#%d %s), which took %s, one key stands out: %s. %s", line_of(f, i), i, tra_plan_op_text(o->op),
            tra_finding_seconds(f, tra_profile_sum(f->m, i).seconds), tra_str_get(&told),
            l->pairs > l->rows ? "Rows that are selected or grouped before the join, or a further key, would make "
                                 "fewer pairs."
            : by_blocks        ? "A selection before it would make these rows fewer."
                               : "Rows of one key are one site's and one worker's work: a further key would "
                                 "divide them, a selection before make them fewer.");
        tra_str_free(&told);
    }
}

/* ---- memory and disk ------------------------------------------------------------------------------------------ */

/* Inputs that were read more than once, as far as the plan tells and the bytes confirm. */
static void find_reads(findings *f) {
    const tra_plan *p = f->s->plan;
    tra_op_report all = tra_profile_sum(f->m, f->m->nops);
    const char *which = "";
    int64_t files = 0;
    for (int i = 0; i < p->nops; i++) {
        const tra_op *o = &p->ops[i];
        const tra_node *n = tra_input_named(f->job, o->spec.name);
        if (!tra_op_is(o->op, TRA_READS) || !n || !tra_is_plain_name(o->spec.name)) continue;
        int64_t bytes = tra_file_bytes(&n->type, n->type.layout, n->type.cat->n).expected;
        files += bytes;
        if (bytes > 0 && o->predicted.read > bytes + bytes / 2)
            which = tra_arena_printf(f->a, "%s%s%s", which, *which ? ", " : "", o->spec.name);
    }
    if (files == 0 || all.disk_read < files + files / 2) return;
    tra_finding(
        f,
        "%s were read, %.1f times what the inputs have%s%s, which takes %s more of a disk as fast as was counted "
        "on: they do not stay in memory under this ceiling, and are read again. A higher --memory would keep "
        "them.",
        size_text(f, all.disk_read), (double)all.disk_read / (double)files, *which ? ": " : "", which,
        tra_finding_seconds(f, (double)(all.disk_read - files) / f->job->options.rates.disk_read / f->m->sites));
}

/* "with 20 MiB a second, where 700 MiB a second were counted on: " and what is told then: what a thread had of a disk
 * that should have moved the bytes in so many seconds of all threads. *slow: it is far less. */
static const char *pace(const findings *f, int64_t bytes, double seconds, double counted, const char *told,
                        bool *slow) {
    static const double FAR = 3;
    double rate = (double)bytes / fmax(seconds, 1e-9), each = (double)bytes / counted / f->job->options.threads;
    *slow = rate * FAR < each;
    const char *than =
        tra_arena_printf(f->a, ", where %s a second were counted on: %s", size_text(f, (int64_t)each), told);
    return tra_arena_printf(f->a, "with %s a second%s", size_text(f, (int64_t)rate), *slow ? than : "");
}

/* Is it an input, or output, of a file? */
static bool is_file(const tra_op *o, bool reads) {
    return tra_op_is(o->op, TRA_FILE) && tra_op_is(o->op, TRA_READS) == reads && o->spec.path &&
           !tra_rel_is_made(o->spec.path);
}

/* Its path; of an output of another format, which is written to scratch first, that of scratch. */
static const char *file_text(const findings *f, const tra_op *o) {
    const char *slash = strrchr(o->spec.path, '/'), *name = slash ? slash + 1 : o->spec.path;
    if (strncmp(name, TRA_OUTPUT_NAME, strlen(TRA_OUTPUT_NAME)) != 0) return o->spec.path;
    return tra_arena_printf(f->a, "the scratch directory %.*s", (int)(name - o->spec.path), o->spec.path);
}

/* The input, or output, that has the most bytes; NULL: there is none. */
static const tra_op *largest(const tra_plan *p, bool reads) {
    double most = 0;
    const tra_op *is = NULL;
    for (const tra_op *o = p->ops; o < p->ops + p->nops; o++) {
        double bytes = (double)tra_type_bytes_all(&o->type).expected;
        if (is_file(o, reads) && bytes > most) most = bytes, is = o;
    }
    return is;
}

/* The input that threads waited for longest, or of old profiles the largest. *which: where there are several, how long
 * for each. */
static const tra_op *slowest(const findings *f, const char **which) {
    const tra_plan *p = f->s->plan;
    const tra_op *is = NULL;
    double most = 0;
    int n = 0;
    tra_str told = {0};
    for (const tra_op *o = p->ops; o < p->ops + p->nops; o++) {
        double seconds = is_file(o, true) ? tra_profile_sum(f->m, o->id).read_seconds : 0;
        if (seconds <= 0) continue;
        if (seconds > most) most = seconds, is = o;
        tra_str_printf(&told, "%s%s for %s of %s", n++ ? ", " : "", tra_finding_seconds(f, seconds),
                       size_text(f, tra_type_bytes_all(&o->type).expected), o->spec.path);
    }
    *which = n > 1 ? tra_arena_printf(f->a, " (%s)", tra_str_get(&told)) : "";
    tra_str_free(&told);
    return is ? is : largest(p, true);
}

/* "small.h5 has 10000 blocks of 3 KiB each"; NULL: it has larger ones, or few. */
static const char *small_blocks(const findings *f, const tra_op *o) {
    enum { SMALL = 1 << 15, MANY = 1000 };
    int64_t n = o ? o->type.cat->n : 0;
    double each = n > 0 ? (double)tra_type_bytes_all(&o->type).expected / (double)n : SMALL;
    if (n < MANY || each >= SMALL) return NULL;
    return tra_arena_printf(f->a, "%s has %" PRId64 " blocks of %s each", o->spec.path, n, size_text(f, (int64_t)each));
}

/* Inputs or outputs of so many small blocks that the overhead of a block matters more than its bytes. */
static bool find_blocks(findings *f) {
    static const double MOSTLY = 0.5;
    double computed = 0, all = tra_profile_sum(f->m, f->m->nops).seconds;
    for (int s = 0; s < f->m->sites; s++)
        computed = fmax(computed, tra_profile_site(f->m, f->m->nops, s)->kernel_seconds);
    for (int reads = 1; reads >= 0; reads--) {
        const tra_op *o = largest(f->s->plan, reads);
        const char *blocks = small_blocks(f, o);
        int64_t n = o ? o->type.cat->n : 1;
        if (!blocks || computed > MOSTLY * all) continue;
        tra_finding(
            f,
            "%s, and workers computed %.0f %% of the time: each block takes a worker %s, whatever its size. Blocks "
            "of 1 MiB or more (%s) take less.",
            blocks, 100 * computed / all,
            tra_finding_seconds(f, f->job->options.threads * (all - computed) / (double)n),
            reads ? "tra import --block" : "they follow from those of the inputs");
        return true;
    }
    return false;
}

/* How long threads waited for inputs or outputs, where that matters. */
static void find_disk(findings *f, const char *what, int64_t bytes, double seconds, double rate, const char *told) {
    enum { LEAST = 1 << 20 };
    static const double MUCH = 0.3, SOME = 0.05; /* share of the time of a thread */
    int threads = f->m->timeline.threads * f->m->sites;
    bool slow;
    if (bytes < LEAST || seconds < TRA_SHORT_RUN) return; /* of few bytes the pace says nothing of a disk */
    told = pace(f, bytes, seconds, (double)bytes / rate, told, &slow);
    if (seconds > (slow ? SOME : MUCH) * threads * f->run)
        tra_finding(f, "%d threads waited %s in all for %s, %s, each %s.", threads, tra_finding_seconds(f, seconds),
                    what, size_text(f, bytes), told);
}

static void find_disks(findings *f) {
    tra_op_report all = tra_profile_sum(f->m, f->m->nops);
    const tra_rates *rates = &f->job->options.rates;
    const char *which;
    const tra_op *in = slowest(f, &which), *out = largest(f->s->plan, false);
    const tra_node *n = in ? tra_input_named(f->job, in->spec.name) : NULL;
    const tra_relinfo *file = n && n->input.rel ? tra_rel_info(n->input.rel) : NULL;
    bool packed = file && strcmp(file->codec, "none") != 0, slow;
    if (in && !small_blocks(f, in))
        find_disk(
            f, tra_arena_printf(f->a, "inputs%s", which), all.disk_read,
            tra_finding_did(f, TRA_DO_READ) - all.scratch_seconds, rates->disk_read,
            tra_arena_printf(f->a,
                             packed ? "%s is packed by %s: unpacking takes long, or its disk is slow"
                                    : "the disk of %s is slow, or others use it: a copy on a faster disk%s would help",
                             file ? file->path : in->spec.path, packed ? file->codec : ""));
    if (out && !small_blocks(f, out))
        find_disk(f, "outputs", all.disk_write, tra_finding_did(f, TRA_DO_WRITE), rates->disk_write,
                  tra_arena_printf(f->a, "the disk of %s is slow, or others use it: a faster one would help",
                                   file_text(f, out)));
    if (all.spilled < (all.disk_read + all.disk_write) / 10 || all.spilled < (1 << 20)) return;
    const char *told = pace(f, all.spilled + all.unspilled, all.scratch_seconds,
                            (double)all.spilled / rates->disk_write + (double)all.unspilled / rates->disk_read,
                            "--scratch may name a faster disk", &slow);
    if (all.scratch_seconds >= TRA_SHORT_RUN)
        told = tra_arena_printf(f->a, ": threads waited %s in all for it, each %s",
                                tra_finding_seconds(f, all.scratch_seconds), told);
    tra_finding(f,
                "%s of intermediate results did not fit in memory: they were written to scratch, and "
                "%s read back%s.",
                size_text(f, all.spilled), size_text(f, all.unspilled),
                all.scratch_seconds >= TRA_SHORT_RUN ? told : "");
}

int tra_explain_findings(const tra_job *job, const tra_shown_plan *s, const tra_profile *m, tra_arena *a,
                         const char *const **out) {
    findings f = {.job = job, .s = s, .m = m, .a = a, .v = tra_news(a, const char *, MOST_FINDINGS)};
    f.run = fmax(m->seconds, m->process_seconds);
    f.lines = tra_explain_statements(job, s->plan, m, a);
    *out = f.v;
    find_extent(&f);
    if (m->seconds < TRA_SHORT_RUN) return f.n;
    bool busy = tra_find_shares(&f);
    find_longest(&f, find_conversions(&f));
    bool uneven = find_uneven(&f);
    find_keys(&f);
    bool many = find_blocks(&f);
    find_disks(&f);
    tra_find_waits(&f, busy, many || uneven);
    find_reads(&f);
    find_rows(&f);
    return f.n;
}
