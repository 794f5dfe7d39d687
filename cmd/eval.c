/* eval.c - tra eval: a program given as text, on files of any format. */
#include "cmd.h"
#include "common.h"
#include "format_options.h"
#include "head.h"
#include "run.h"

#include "../formats/spec.h"
#include "../formats/stand_in.h"
#include "../plans/lang/lang.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *output, *to;
static bool explain;

enum { TERMINAL_ROWS = 40 };

/* A file on the command line. */
typedef struct eval_file {
    const char *name, *spec;
} eval_file;

static struct {
    const char *program;
    int n;
    char **args;
    tra_arena *arena;
    char *shown; /* the relation that is printed on a terminal, or NULL */
} eval;

/* ---- files ----------------------------------------------------------------------------------------------------- */

static size_t name_length(const char *s) {
    size_t n = 0;
    if (isalpha((unsigned char)*s) || *s == '_')
        while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
    return n;
}

/* The input's name after its file: without folders, suffixes, format and dataset. */
static const char *own_name(const char *spec) {
    tra_file_spec at;
    tra_spec_parse(spec, eval.arena, &at);
    const char *slash = strrchr(at.path, '/'), *name = slash ? slash + 1 : at.path;
    return tra_arena_strndup(eval.arena, name, tra_format_stem(name));
}

/* Splits [NAME=]FILE; a file that has all of it as its name is one. */
static tra_status split(const char *arg, eval_file *f, tra_err *e) {
    struct stat st;
    size_t n = name_length(arg);
    bool named = n > 0 && arg[n] == '=' && lstat(arg, &st) != 0;
    f->spec = named ? arg + n + 1 : arg;
    f->name = named ? tra_arena_strndup(eval.arena, arg, n) : own_name(arg);
    tra_file_spec at;
    tra_spec_parse(f->spec, eval.arena, &at);
    if (!*f->spec) return tra_fail(e, TRA_USAGE, "%s: a file is expected after =", arg);
    if (!named && strcmp(at.path, "-") == 0)
        return tra_fail(e, TRA_USAGE, "say the name of what is read from standard input: NAME=%s", f->spec);
    if (!named && strpbrk(at.path, "*?[") && lstat(at.path, &st) != 0)
        return tra_fail(e, TRA_USAGE, "%s is a pattern of files, which needs a name: NAME='%s'", f->spec, f->spec);
    if (name_length(f->name) != strlen(f->name) || !tra_is_plain_name(f->name))
        return tra_fail(e, TRA_USAGE, "'%s' cannot be the name of an input: say NAME=%s", f->name, f->spec);
    return TRA_OK;
}

static bool is_stdin(const eval_file *f) {
    tra_file_spec at;
    tra_spec_parse(f->spec, eval.arena, &at);
    return strcmp(at.path, "-") == 0;
}

/* A file that the program does not name: perhaps it calls it by its dataset, or names only columns. */
static tra_status not_named(const eval_file *f, const tra_last *last, tra_err *e) {
    tra_file_spec at;
    tra_spec_parse(f->spec, eval.arena, &at);
    const char *slash = at.dataset ? strrchr(at.dataset, '/') : NULL, *own = slash ? slash + 1 : at.dataset;
    for (int k = 0; own && k < last->nnames; k++)
        if (strcmp(last->names[k], own) == 0)
            return tra_fail(e, TRA_USAGE, "%s is input %s, and the program names %s: say %s=%s", f->spec, f->name, own,
                            own, f->spec);
    return tra_fail(e, TRA_USAGE,
                    "%s is input %s, which the program does not name: write it where it is meant, as in group(%s, [], "
                    "n = count()) or sum %s[i,j], or say NAME=%s with the name that the program has for it",
                    f->spec, f->name, f->name, f->name, f->spec);
}

static tra_status read_files(eval_file *v, const tra_last *last, tra_err *e) {
    const char *from_stdin = strcmp(eval.program, "-") == 0 ? "the program" : NULL;
    for (int i = 0; i < eval.n; i++) {
        TRA_TRY(split(eval.args[i], &v[i], e));
        for (int j = 0; j < i; j++)
            if (strcmp(v[i].name, v[j].name) == 0)
                return tra_fail(e, TRA_USAGE, "%s and %s would both be %s: name one of them, as in %s2=%s", v[j].spec,
                                v[i].spec, v[i].name, v[i].name, v[i].spec);
        bool piped = is_stdin(&v[i]), used = false;
        if (piped && from_stdin)
            return tra_fail(e, TRA_USAGE, "%s: standard input is read once, and %s is read from it", eval.args[i],
                            from_stdin);
        if (piped) from_stdin = v[i].name;
        for (int k = 0; k < last->nnames; k++) used |= strcmp(last->names[k], v[i].name) == 0;
        if (!used) return not_named(&v[i], last, e);
    }
    return TRA_OK;
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

static void quote(tra_str *out, const char *s) {
    tra_str_add(out, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') tra_str_add(out, "\\");
        tra_str_addn(out, s, 1);
    }
    tra_str_add(out, "\"");
}

/* A name that does not stand in the program. */
static const char *new_name(const tra_last *last) {
    const char *name = "result";
    for (int i = 2, k = 0; k < last->nnames; k++)
        if (strcmp(last->names[k], name) == 0) {
            name = tra_arena_printf(eval.arena, "result%d", i++);
            k = -1;
        }
    return name;
}

/* Ranks that tra eval --sites launched have a terminal of mpirun: the one that counts is that of the launcher. */
static bool is_terminal(void) {
    const char *told = getenv("TRA_STDOUT");
    if (!told || !getenv("TRA_LAUNCHED")) {
        told = isatty(STDOUT_FILENO) ? "terminal" : "other";
        setenv("TRA_STDOUT", told, 1);
    }
    return strcmp(told, "terminal") == 0;
}

/* Where the last value goes; NULL: nowhere, since the program has outputs of its own. */
static const char *destination(const tra_last *last) {
    const char *format = to ? to : "csv";
    if (output && !to) return output;
    if (output) return tra_arena_printf(eval.arena, "%s:%s", to, output);
    if (last->outputs) return NULL;
    if (to || explain || !is_terminal()) return tra_arena_printf(eval.arena, "%s:-", format);
    eval.shown = tra_asprintf("%s/" TRA_OUTPUT_NAME "%016lx.h5", tra_stand_ins.scratch, (long)getpid());
    tra_cleanup_add(eval.shown);
    return eval.shown;
}

/* The whole program: inputs, what the user wrote, and the output of its last value. */
static tra_status compose(const char *text, size_t n, tra_str *out, tra_err *e) {
    tra_last last;
    tra_script src = {.name = "eval", .text = text, .n = (int)n};
    eval_file *v = tra_news(eval.arena, eval_file, eval.n + 1);
    tra_last_value(&src, eval.arena, &last);
    TRA_TRY(read_files(v, &last, e));
    for (int i = 0; i < eval.n; i++) {
        tra_str_printf(out, "input %s from ", v[i].name);
        quote(out, v[i].spec);
        tra_str_add(out, "\n");
    }
    if (eval.n > 0) tra_str_add(out, TRA_FIRST_LINE);
    const char *name = last.bare ? new_name(&last) : last.name;
    if (last.bare && last.einsum && *last.free_labels)
        return tra_fail(e, TRA_PROGRAM,
                        "nothing is summed over %s: write C[%s] = ... for a result with these labels, or sum before "
                        "the expression",
                        last.free_labels, last.free_labels);
    tra_str_addn(out, text, last.bare ? (size_t)last.at : n);
    if (last.bare) tra_str_printf(out, "%s%s = %s", name, last.einsum ? "[]" : "", text + last.at);
    const char *where = destination(&last);
    if (!where) return TRA_OK;
    if (!name)
        return tra_fail(e, TRA_PROGRAM, "the program has no value: its last statement assigns none, as C = ... would");
    if (!last.bare && last.several)
        return tra_fail(e, TRA_PROGRAM, "the last statement has several results: add a line with the name of one");
    tra_str_printf(out, "\noutput %s to ", name);
    quote(out, where);
    tra_str_add(out, "\n");
    return TRA_OK;
}

static tra_status read_text(const char *path, char **text, size_t *n, tra_err *e) {
    tra_str all = {0};
    char *own = NULL;
    size_t size = strlen(eval.program);
    (void)path;
    if (strcmp(eval.program, "-") == 0) TRA_TRY(tra_slurp("-", TRA_MAX_PROGRAM, &own, &size, e));
    tra_status s = compose(own ? own : eval.program, size, &all, e);
    free(own);
    if (s == TRA_OK) *text = tra_strdup(tra_str_get(&all));
    *n = all.n;
    tra_str_free(&all);
    return s;
}

/* ---- command --------------------------------------------------------------------------------------------------- */

static tra_status show(const tra_job *job, tra_err *e) {
    if (!eval.shown) return TRA_OK;
    const tra_graph *g = job->program.graph;
    const tra_type *t = &g->outputs[g->noutputs - 1].node->type;
    int64_t memory = job->options.memory;
    if (t->columns || t->cat->bound.n <= 2) return tra_head_print(eval.shown, TERMINAL_ROWS, memory, true, e);
    tra_export_receipt r;
    tra_export_job all = {.from = eval.shown, .to = "-", .format = tra_format_find("csv"), .memory = memory};
    return tra_export(&all, &r, e);
}

static tra_status run(int argc, char **argv, tra_err *e) {
    if (strpbrk(argv[0], "./") && access(argv[0], F_OK) == 0)
        return tra_fail(e, TRA_USAGE,
                        "%s is a file; the program comes first, as in tra eval 'limit(t, 10)' t=%s (tra run "
                        "runs the program in a file)",
                        argv[0], argv[0]);
    eval.program = argv[0];
    eval.n = argc - 1;
    eval.args = argv + 1;
    eval.arena = tra_arena_new();
    if (to && !tra_format_find(to))
        return tra_fail(e, TRA_USAGE, "--to %s: no such format; it is one of %s", to, tra_format_choices());
    tra_stand_ins.reading = &tra_reading_opts;
    tra_run_source source = {
        .path = "eval", .read = read_text, .dry = explain, .quiet = tra_common_opts.verbose == 0, .after = show};
    tra_status s = tra_run_program(&source, e);
    if (eval.shown) {
        (void)unlink(eval.shown);
        tra_cleanup_drop(eval.shown);
    }
    free(eval.shown);
    tra_arena_free(eval.arena);
    return s;
}

const tra_cmd tra_cmd_eval = {
    .name = "eval",
    .group = "At once",
    .brief = "compute an expression on files of any format",
    .usage = "[options] PROGRAM [[NAME=][FORMAT:]FILE[:DATASET]]...",
    .about =
        "Carries out a program that is given as text (- is standard input): statements, of which the last may be an "
        "expression alone. Each file is an input, by NAME or by the name of the file without its suffix; - is standard "
        "input, and a pattern such as 'trips-*.csv' is the union of the tables. The last value goes to standard output "
        "as CSV, on a terminal as an aligned table, or to the file of -o in the format of its suffix.\n\n"
        "  tra eval 'group(trips, [start], n = count())' trips.csv\n"
        "  tra eval 'C[i,k] = sum A[i,j] * B[j,k]' A.npy B.npy -o C.npy\n"
        "  cat trips.csv | tra eval 'limit(order(t, [duration desc]), 10)' t=-\n\n"
        "Options of formats are for all files of that format.",
    .opts =
        (const tra_opt[]){
            TRA_ROW('o', "output", TRA_OPT_STR, &output, "FILE|-",
                    "where the last value goes (default: standard output)"),
            TRA_ROW(0, "to", TRA_OPT_STR, &to, "FORMAT",
                    "npy, npz, mtx, tns, edges, csv, raw, h5ad, binsparse or h5 (default: by suffix, else csv)"),
            TRA_ROW(0, "explain", TRA_OPT_FLAG, &explain, NULL, "show the plan, and do nothing"),
            {.name = NULL}},
    .more = tra_run_rows,
    .minargs = 1,
    .maxargs = -1,
    .needs = TRA_NEED_MPI | TRA_NEED_BLAS | TRA_NEED_HDF5 | TRA_TAKES_JSON | TRA_TAKES_DEFINE | TRA_TAKES_READING,
    .run = run,
};
