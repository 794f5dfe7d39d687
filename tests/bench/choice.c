/* choice.c - how good the choice of the optimizer of kernels is: its best plans for random tensors are run and timed.
 *
 * usage: choice [--plans K] [--only TEXT] [--storages] [-v]
 *
 * Each point is a statement, the storages of its operands, a density and a pattern of their entries, and sizes with
 * which the chosen plan takes 20 ms or more. The best five distinct plans by predicted cost are compiled and run in
 * turn, several times; the least time of each counts. A line for each point: what was chosen beside the fastest. -v:
 * the plans. --storages: the chosen plans of one statement in several storages, predicted and measured, as `tra explain
 * --storages` ranks them. */
#include "../../lib/codegen/codegen.h"
#include "../../plans/storel/compose.h"
#include "choice_tensors.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { MOST_REFS = 3, MOST_PLANS = 32, REPEATS = 5, MOST_SQUARE = 3000, MOST_DENSE = 1 << 25 };

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* A statement, e.g. "ik=ij,jk", and how its operands are stored ("again": as the first). Sparse operands have the
 * density, dense ones all elements. */
typedef struct kernel {
    const char *name, *text, *storage[MOST_REFS];
    bool dense;    /* the result is dense */
    double times;  /* the statement is multiplied by this */
    double work;   /* extents are chosen so that there are so many entries, or operations */
    int64_t inner; /* the extent of the labels in is_short */
    const char *is_short;
    double extent; /* of the other labels; 0: it follows from the work */
} kernel;

typedef struct point {
    kernel k;
    int exponent; /* of the density */
    pattern p;
} point;

static const kernel kernels[] = {
    {"MMM", "ik=ij,jk", {"csr", "csr"}, false, 1, 3e7, 0, "", 0},
    {"MMM", "ik=ij,jk", {"csc", "csr"}, true, 1, 3e7, 0, "", 0},
    {"MMM", "ik=ij,jk", {"csr", "dense"}, true, 1, 6e8, 0, "", 0},
    {"SumMMM", "=ij,jk", {"csc", "csr"}, true, 1, 1.6e7, 0, "", 0},
    {"SumMMM", "=ij,jk", {"csr", "csr"}, true, 1, 1.6e7, 0, "", 0},
    {"BATAX", "j=ij,ik,k", {"csr", "again", "dense"}, true, 2, 1e7, 0, "", 0},
    {"BATAX", "j=ij,ik,k", {"csc", "again", "dense"}, true, 2, 8e6, 0, "", 0},
    {"TTM", "ijk=ijl,kl", {"csf", "csc"}, false, 1, 2e6, 25, "k", 0},
    {"TTM", "ijk=ijl,kl", {"csf", "dense"}, false, 1, 2e6, 25, "k", 0},
    {"MTTKRP", "ij=ikl,kj,lj", {"csf", "dense", "dense"}, true, 1, 4e6, 25, "j", 0},
    {"MTTKRP", "ij=ikl,kj,lj", {"csf", "csr", "csr"}, true, 1, 4e6, 25, "j", 0},
    {"SDDMM", "ij=ij,ik,kj", {"csr", "dense", "dense"}, false, 1, 1.2e6, 50, "k", 0},
    {"masked", "ij=ij,ik,kj", {"csr", "csr", "csr"}, false, 1, 1e7, 0, "", 0},
    {"masked", "ij=ij,ik,kj", {"csr", "csr", "csc"}, false, 1, 1e7, 0, "", 0},
};
enum { NKERNELS = sizeof kernels / sizeof kernels[0] };

/* A statement with its operands, and the plans that were found. */
typedef struct problem {
    tra_arena *arena;
    tra_einsum s;
    int64_t extent[TRA_MAXLABELS];
    operand operand[MOST_REFS];
    tra_storel_composed c;
    tra_calc_free *scope;
    tra_codegen_name *how;
    tra_storel_result r;
} problem;

static int label_of(problem *x, char c) {
    for (int i = 0; i < x->s.nlabels; i++)
        if (*x->s.name[i] == c) return i;
    x->s.name[x->s.nlabels] = tra_arena_strndup(x->arena, &c, 1);
    return x->s.nlabels++;
}

static const tra_scalar *scalar_of(tra_arena *a, tra_scalar x) {
    tra_scalar *y = tra_new(a, tra_scalar);
    *y = x;
    return y;
}

static void read_statement(problem *x, const kernel *k) {
    const char *text = k->text;
    for (; *text != '='; text++) x->s.out[x->s.nout++] = label_of(x, *text);
    x->s.ref = tra_news(x->arena, tra_einsum_ref, MOST_REFS);
    for (x->s.nrefs = 1, text++; *text; text++) {
        tra_einsum_ref *r = &x->s.ref[x->s.nrefs - 1];
        if (*text == ',')
            x->s.nrefs++;
        else
            r->label[r->n++] = label_of(x, *text);
    }
    x->s.fold = TRA_S_ADD;
    if (k->times != 1) x->s.expr = scalar_of(x->arena, (tra_scalar){.op = TRA_S_CONST, .value = k->times});
    for (int i = 0; i < x->s.nrefs; i++) {
        const tra_scalar *arg = scalar_of(x->arena, (tra_scalar){.op = TRA_S_ARG, .arg = i});
        x->s.expr = x->s.expr ? scalar_of(x->arena, (tra_scalar){.op = TRA_S_MUL, .a = x->s.expr, .b = arg}) : arg;
    }
}

/* The extent of all labels that are not short, with which the kernel does about the work that is wanted. */
static double long_extent(const kernel *k, double density) {
    const char *first = strchr(k->text, '=') + 1;
    double rank = (double)(strcspn(first, ",")), nout = (double)(first - 1 - k->text), n;
    if (k->extent > 0) return k->extent;
    if (strcmp(k->name, "MMM") == 0 || strcmp(k->name, "masked") == 0)
        n = cbrt(k->work / density / (strcmp(k->storage[1], "dense") == 0 ? 1 : density));
    else
        n = pow(k->work / density, 1.0 / rank);
    return k->dense && nout == 2 && !k->inner ? fmin(n, MOST_SQUARE) : n;
}

static void find_extents(problem *x, const kernel *k, double density) {
    double n = long_extent(k, density);
    for (int l = 0; l < x->s.nlabels; l++)
        x->extent[l] = strchr(k->is_short, *x->s.name[l]) && k->inner ? k->inner : (int64_t)n;
}

static tra_status compose(problem *x, const kernel *k, double density, pattern p, tra_err *e) {
    static const char *const names[] = {"A", "B", "C"};
    double extent[TRA_MAXLABELS];
    tra_storel_operand about[MOST_REFS];
    for (int l = 0; l < x->s.nlabels; l++) extent[l] = (double)x->extent[l];
    for (int i = 0; i < x->s.nrefs; i++) {
        const tra_einsum_ref *r = &x->s.ref[i];
        bool again = strcmp(k->storage[i], "again") == 0, dense = strcmp(k->storage[i], "dense") == 0;
        if (again) {
            about[i] = about[0];
            about[i].same = 0;
            continue;
        }
        int64_t of[MOST_RANK];
        for (int d = 0; d < r->n; d++) of[d] = x->extent[r->label[d]];
        /* factors of tensors are as dense as in the paper's experiments */
        double own = dense ? 1 : i && k->inner ? fmax(density, 0.03125) : density;
        entries t = make_entries(r->n, of, own < 1 ? p : UNIFORM, own);
        x->operand[i] = fill(x->arena, &t, k->storage[i]);
        free(t.at);
        const operand *o = &x->operand[i];
        about[i] = (tra_storel_operand){.name = names[i],
                                        .storage = o->storage,
                                        .real = true,
                                        .sparse = !dense,
                                        .same = -1,
                                        .entries = dense ? NAN : (double)o->n};
        for (int d = 0; d < r->n; d++) {
            about[i].positions[d] = o->positions[d];
            about[i].squares[d] = o->squares[d];
        }
    }
    return tra_storel_compose(&x->s, extent, about, x->arena, &x->c, e);
}

/* Sets what the names of the scope stand for, and what the compiler is told of them. */
static void fill_scope(problem *x) {
    const tra_storel_problem *p = &x->c.problem;
    x->scope = tra_news(x->arena, tra_calc_free, p->n);
    x->how = tra_news(x->arena, tra_codegen_name, p->n);
    for (int i = 0; i < p->n; i++) {
        const tra_storel_source *from = &x->c.source[i];
        if (from->kind != TRA_STOREL_COMPONENT) {
            x->scope[i].number = tra_calc_int(from->kind == TRA_STOREL_EXTENT ? x->extent[from->which] : 0);
            x->how[i].natural = true;
            continue;
        }
        const tra_component_data *c = &x->operand[from->operand].data[from->which];
        x->scope[i] = (tra_calc_free){.component = c, .kind = from->component};
        x->how[i] =
            (tra_codegen_name){.component = true, .kind = from->component, .value = c->value.type, .size = from->size};
        int under = p->about[i].below;
        tra_calc_error err;
        const char *name = under ? p->scope[under - 1].name : NULL;
        const tra_calc *y = name ? tra_calc_parse(name, (int)strlen(name), x->arena, &err) : NULL;
        if (y && tra_calc_check(y, p->n, p->scope, x->arena, &err)) x->how[i].below = y;
    }
}

static void free_problem(problem *x) {
    for (int i = 0; i < MOST_REFS; i++) free_operand(&x->operand[i]);
    tra_arena_free(x->arena);
}

static bool make_problem(problem *x, const kernel *k, int exponent, pattern p, int plans) {
    tra_err e = {0};
    *x = (problem){.arena = tra_arena_new()};
    state = 88172645463325252u;
    read_statement(x, k);
    find_extents(x, k, pow(2, exponent));
    tra_status s = compose(x, k, pow(2, exponent), p, &e);
    x->c.problem.plans = plans;
    x->c.problem.dense = k->dense;
    if (s == TRA_OK) s = tra_storel_optimize(&x->c.problem, x->arena, &x->r, &e);
    if (s != TRA_OK) fprintf(stderr, "%s: %s\n", k->name, e.msg);
    if (s == TRA_OK) fill_scope(x);
    return s == TRA_OK;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

typedef struct timed {
    const tra_codegen_kernel *kernel;
    tra_codegen_spec spec;
    double seconds, sum; /* seconds: INFINITY where it takes too long, or cannot be compiled; sum: of the result */
    const char *why;
} timed;

static atomic_bool stop;
static void ring(int signal) {
    (void)signal;
    stop = true;
}

static void compile(tra_codegen *g, problem *x, int i, bool dense, timed *t) {
    tra_err e = {0};
    const tra_calc *plan = x->r.plan[i].tree;
    *t = (timed){.seconds = INFINITY};
    t->spec = (tra_codegen_spec){.name = "Z",
                                 .plan = plan,
                                 .n = x->c.problem.n,
                                 .scope = x->c.problem.scope,
                                 .how = x->how,
                                 .type = TRA_ELEMENT_F64};
    t->spec.result = plan->type.depth == 0 ? TRA_CODEGEN_SCALAR : dense ? TRA_CODEGEN_DENSE : TRA_CODEGEN_ROWS;
    for (int d = 0; d < plan->type.depth; d++) {
        tra_calc_error err;
        const char *name = x->c.problem.scope[x->c.problem.extent[d] - 1].name;
        const tra_calc *y = tra_calc_parse(name, (int)strlen(name), x->arena, &err);
        if (!y || !tra_calc_check(y, x->c.problem.n, x->c.problem.scope, x->arena, &err)) return;
        t->spec.extent[d] = y;
    }
    if (tra_codegen_make(g, &t->spec, true, &t->kernel, &e) != TRA_OK || !tra_codegen_compiled(t->kernel)) {
        t->why = tra_arena_printf(x->arena, "not compiled: %s", e.msg);
        t->kernel = NULL;
    }
}

/* Processor time of this thread, which depends less on what else the machine does. */
static double processor_seconds(void) {
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs the plan once, and gives it up after `most` seconds. */
static void run_once(problem *x, timed *t, double most) {
    tra_err e = {0};
    int64_t n = 1, rows = 0;
    for (int d = 0; d < x->s.nout; d++) n *= x->extent[x->s.out[d]];
    tra_codegen_rows out = {0};
    tra_codegen_call c = {.scope = x->scope, .rows = &out, .stop = &stop};
    stop = false;
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value = {(time_t)most, (suseconds_t)(fmod(most, 1) * 1e6)}},
              NULL);
    if (t->spec.result == TRA_CODEGEN_ROWS) {
        if (tra_codegen_count(t->kernel, &c, &rows, &n, &e) != TRA_OK) n = rows = 0;
        out.row = tra_malloc((size_t)(rows + 1) * 8);
        out.begin = tra_malloc((size_t)(rows + 2) * 8);
        out.column = tra_malloc((size_t)(n + 1) * 4);
        out.room_rows = rows;
        out.room = n;
    }
    double *v = tra_calloc((size_t)n + 1, sizeof *v), sum = 0;
    memset(v, 0, (size_t)n * sizeof *v); /* so that its pages are there */
    out.value = c.out = v;
    double from = processor_seconds();
    tra_status s = stop ? TRA_INTERNAL : tra_codegen_run(t->kernel, &c, &e);
    double seconds = processor_seconds() - from;
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){0}, NULL);
    if (s == TRA_OK && !stop) {
        if (t->spec.result == TRA_CODEGEN_ROWS) n = out.n;
        for (int64_t i = 0; i < n; i++) sum += v[i];
        t->sum = sum;
        t->seconds = fmin(t->seconds, seconds);
    } else {
        t->kernel = NULL;
        t->seconds = INFINITY;
        t->why = stop ? "takes long" : tra_arena_strndup(x->arena, e.msg, strlen(e.msg));
    }
    free(v), free(out.row), free(out.begin), free(out.column);
}

/* Runs n plans in turn, REPEATS times: the least seconds of each count. */
static void run_all(tra_codegen *g, problem *x, bool dense, int n, timed *t) {
    double best = 1;
    for (int i = 0; i < n; i++) compile(g, x, i, dense, &t[i]);
    for (int r = 0; r < REPEATS; r++)
        for (int i = 0; i < n; i++) {
            if (!t[i].kernel || (r > 1 && t[i].seconds > 3 * best)) continue;
            run_once(x, &t[i], fmax(0.5, 5 * best));
            best = fmin(best, t[i].seconds);
        }
    for (int i = 1; i < n; i++)
        if (isfinite(t[i].seconds) && isfinite(t[0].seconds) && fabs(t[i].sum - t[0].sum) > 1e-9 * fabs(t[0].sum))
            printf("  plan %d gives another result: %.17g, not %.17g\n", i + 1, t[i].sum, t[0].sum);
}

static void print_plan(const problem *x, int i, const timed *t) {
    tra_str s = {0};
    tra_calc_print(x->r.plan[i].tree, &s);
    printf("    %d: predicted %.2f ms, took %.2f ms%s%s: %s\n", i + 1, 1e-6 * x->r.plan[i].cost, 1e3 * t->seconds,
           t->why ? ", " : "", t->why ? t->why : "", tra_str_get(&s));
    tra_str_free(&s);
}

static const char *storages_of(const kernel *k, tra_arena *a) {
    const char *text = "";
    for (int i = 0; i < MOST_REFS && k->storage[i]; i++)
        text = tra_arena_printf(a, "%s%s%s", text, i ? "," : "", k->storage[i]);
    return text;
}

static struct { int points, good, quick; } total;

static void run_point(tra_codegen *g, const point *pt, int plans, bool verbose) {
    static timed t[MOST_PLANS];
    problem x;
    if (!make_problem(&x, &pt->k, pt->exponent, pt->p, plans)) {
        free_problem(&x);
        return;
    }
    int n = (int)tra_min64(plans, x.r.n), fastest = 0;
    run_all(g, &x, pt->k.dense, n, t);
    for (int i = 1; i < n; i++)
        if (t[i].seconds < t[fastest].seconds) fastest = i;
    double ratio = t[0].seconds / t[fastest].seconds;
    bool good = ratio <= 1.25;
    total.points++;
    total.good += good;
    total.quick += t[fastest].seconds < 0.02;
    printf("%-8s %-16s 2^%-3d %-8s %9.2f %9.2f  %2d/%d %9.2f %6.2f%s\n", pt->k.name, storages_of(&pt->k, x.arena),
           pt->exponent, pattern_names[pt->p], 1e-6 * x.r.plan[0].cost, 1e3 * t[0].seconds, fastest + 1, n,
           1e3 * t[fastest].seconds, ratio, good ? "" : "  *");
    for (int i = 0; i < n && (verbose || !good); i++)
        if (verbose || i == 0 || i == fastest) print_plan(&x, i, &t[i]);
    fflush(stdout);
    free_problem(&x);
}

/* ---- storages side by side --------------------------------------------------------------------------------------- */

static const struct {
    int like; /* the number of a kernel, for its statement and sizes */
    const char *storage[4][MOST_REFS];
} sides[] = {
    {0, {{"csr", "csr"}, {"csc", "csr"}, {"csr", "csc"}, {"csr", "dense"}}},
    {3, {{"csc", "csr"}, {"csr", "csr"}, {"csr", "csc"}, {"dense", "csr"}}},
    {5, {{"csr", "again", "dense"}, {"csc", "again", "dense"}, {"coo", "again", "dense"}, {"dense", "again", "dense"}}},
    {9, {{"csf", "dense", "dense"}, {"coo", "dense", "dense"}, {"csf", "csr", "csr"}, {NULL}}},
    {11, {{"csr", "dense", "dense"}, {"coo", "dense", "dense"}, {"dcsr", "dense", "dense"}, {NULL}}},
};

typedef struct side {
    const char *storages;
    double predicted, seconds;
} side;

static int by_predicted(const void *a, const void *b) {
    const side *x = a, *y = b;
    return (x->predicted > y->predicted) - (x->predicted < y->predicted);
}

/* The extent of tensors that all storages share, so that dense ones fit in memory. */
static double side_extent(int which, double density) {
    const kernel *k = &kernels[sides[which].like];
    double n = long_extent(k, density);
    const char *rank = strchr(k->text, '=') + 1;
    for (int i = 0; i < 4; i++)
        for (int o = 0; o < MOST_REFS && sides[which].storage[i][o]; o++, rank += strcspn(rank, ",") + 1) {
            if (o == 0) rank = strchr(k->text, '=') + 1;
            if (strcmp(sides[which].storage[i][o], "dense") != 0) continue;
            double long_ones = 0;
            for (const char *l = rank; *l && *l != ','; l++) long_ones += !k->inner || !strchr(k->is_short, *l);
            if (long_ones > 0) n = fmin(n, floor(pow(MOST_DENSE, 1 / long_ones)));
        }
    return n;
}

static void run_sides(tra_codegen *g, int which, int exponent) {
    static timed t[MOST_PLANS];
    tra_arena *a = tra_arena_new();
    side v[4];
    int n = 0, wrong = 0, pairs = 0;
    for (int i = 0; i < 4 && sides[which].storage[i][0]; i++) {
        problem x;
        kernel k = kernels[sides[which].like];
        memcpy(k.storage, sides[which].storage[i], sizeof k.storage);
        k.extent = side_extent(which, pow(2, exponent));
        if (make_problem(&x, &k, exponent, UNIFORM, 1)) {
            run_all(g, &x, k.dense, 1, t);
            v[n++] = (side){storages_of(&k, a), 1e-9 * x.r.plan[0].cost, t[0].seconds};
        }
        free_problem(&x);
    }
    qsort(v, (size_t)n, sizeof *v, by_predicted);
    for (int i = 0; i < n; i++) {
        printf("%-8s 2^%-3d %-20s predicted %9.2f ms, took %9.2f ms\n", kernels[sides[which].like].name, exponent,
               v[i].storages, 1e3 * v[i].predicted, 1e3 * v[i].seconds);
        for (int k = i + 1; k < n; k++) pairs++, wrong += v[i].seconds > 1.25 * v[k].seconds;
    }
    printf("         %d of %d pairs ranked as they run (within 25 %%)\n", pairs - wrong, pairs);
    fflush(stdout);
    tra_arena_free(a);
}

int main(int argc, char **argv) {
    int plans = 5;
    bool verbose = false, storages = false;
    const char *only = "";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0)
            verbose = true;
        else if (strcmp(argv[i], "--storages") == 0)
            storages = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--plans") == 0 && i + 1 < argc)
            plans = atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: choice [--plans K] [--only TEXT] [--storages] [-v]\n");
            return 2;
        }
    }
    if (plans < 1 || plans > MOST_PLANS) plans = MOST_PLANS;
    signal(SIGVTALRM, ring);
    tra_codegen *g = tra_codegen_open(TRA_CODEGEN_AUTO);
    if (storages) {
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
            for (int exponent = -2; exponent >= -8; exponent -= 3) run_sides(g, (int)i, exponent);
    } else {
        printf("kernel   storages         dens. pattern  predicted    chosen  fastest of them, ms  ratio\n");
        for (int i = 0, drawn = 0; i < NKERNELS; i++)
            for (int e = 0; e >= -10; e -= 4, drawn++) {
                point pt = {kernels[i], e - (e < 0) * 2 * (i % 2), (pattern)(drawn % 4)};
                char name[128];
                if (pt.exponent < -10) pt.exponent = -10;
                snprintf(name, sizeof name, "%s %s %d %s", pt.k.name, pt.k.storage[0], pt.exponent,
                         pattern_names[pt.p]);
                if (strstr(name, only)) run_point(g, &pt, plans, verbose);
            }
        printf("%d points, in %d the chosen plan is the fastest of the best %d or within 25 %%; in %d it takes less "
               "than 20 "
               "ms\n",
               total.points, total.good, plans, total.quick);
    }
    tra_codegen_close(g);
    return 0;
}
