/* resume.c - digests and descriptions of what a run makes. */
#include "resume.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "../lib/h5/stand_in.h"
#include "../plans/ia/ia.h"
#include "../plans/search/planfile.h"
#include "cmd.h"

/* ---- steps that are done ---------------------------------------------------------------------------------------- */

/* The files that the text at path writes or reads. */
static const char *const *files(const char *path, const char *text, size_t n, bool inputs, tra_arena *a) {
    tra_planfile f;
    tra_err none = {0};
    if (!tra_planfile_sniff(text, n))
        return tra_program_files(text, n, tra_program_dir(a, path), tra_common_opts.define.n,
                                 (const char *const *)tra_common_opts.define.v, inputs, a);
    if (tra_planfile_parse(path, text, n, a, &f, &none) != TRA_OK) return tra_news(a, const char *, 1);
    return tra_program_files(f.program, f.size, f.dir, f.ndefines, f.defines, inputs, a);
}

static bool is_among(const char *file, const char *const *v) {
    char *real = tra_resolve_folder(file);
    bool found = false;
    for (; *v && !found; v++) {
        char *other = tra_resolve_folder(*v);
        found = strcmp(real, other) == 0;
        free(other);
    }
    free(real);
    return found;
}

/* An input that the run replaces by an output is another file when the run is done; so it does not count. */
uint64_t tra_resume_step(const char *path, const char *text, size_t n) {
    tra_arena *a = tra_arena_new();
    const char *const *in = files(path, text, n, true, a), *const *out = files(path, text, n, false, a);
    tra_str all = {0};
    tra_str_addn(&all, text, n);
    for (int i = 0; i < tra_common_opts.define.n; i++) tra_str_printf(&all, "\n-D %s", tra_common_opts.define.v[i]);
    for (int i = 0; in[i]; i++) {
        const char *file, *name;
        struct stat st;
        tra_relspec(a, in[i], &file, &name);
        if (is_among(file, out) || stat(file, &st) != 0) continue;
        tra_str_printf(&all, "\n%s %lld %lld %lld %lld.%09ld", in[i], (long long)st.st_dev, (long long)st.st_ino,
                       (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    }
    uint64_t step = XXH64(tra_str_get(&all), all.n, 0);
    tra_str_free(&all);
    tra_arena_free(a);
    return step ? step : 1;
}

const char *tra_resume_output(const char *path, const char *text, size_t n, tra_arena *a) {
    return files(path, text, n, false, a)[0];
}

tra_status tra_resume_done(const char *path, const char *text, size_t n, bool *done, tra_err *e) {
    tra_arena *a = tra_arena_new();
    const char *const *out = files(path, text, n, false, a);
    tra_status s = TRA_OK;
    for (int i = 0; out[i] && s == TRA_OK; i++) s = tra_commit_settle(out[i], e);
    *done = s == TRA_OK && out[0] && tra_commit_done(out[0], tra_resume_step(path, text, n));
    for (int i = 0; out[i]; i++) *done &= !tra_is_intermediate(out[i]); /* it was not exported yet */
    tra_arena_free(a);
    return s;
}

/* ---- what is saved ---------------------------------------------------------------------------------------------- */

/* The node of an INPUT of the plan. */
static const tra_node *input_of(const tra_graph *g, const tra_op *op) {
    for (int i = 0; i < g->n; i++) {
        const tra_node *n = g->v[i];
        if (n->op == TRA_OP_INPUT && n->input.rel && strcmp(n->name, op->spec.name) == 0) return n;
    }
    return NULL;
}

tra_journal_request tra_resume_request(const tra_job *job, const char *dir, bool resume) {
    tra_codec codec = tra_job_codec(job);
    const tra_plan *p = job->plan;
    tra_arena *a = job->program.arena;
    const char **identity = tra_news(a, const char *, p->nops);
    uint64_t *values = tra_news(a, uint64_t, p->nops);
    tra_str about = {0};
    size_t made;
    tra_str_printf(&about, "program %016" PRIx64 "\n",
                   (uint64_t)XXH64(job->program.src.text, (size_t)job->program.src.n, 0));
    for (int i = 0; i < p->nops; i++) {
        const tra_op *op = &p->ops[i];
        const tra_node *n = tra_op_is(op->op, TRA_READS) ? input_of(job->program.graph, op) : NULL;
        identity[i] = n ? tra_rel_identity(n->input.rel, a) : "";
        if (n) tra_str_printf(&about, "input %s %s %s\n", op->spec.name, op->spec.path, identity[i]);
    }
    for (int i = 0; i < tra_common_opts.define.n; i++) tra_str_printf(&about, "-D %s\n", tra_common_opts.define.v[i]);
    made = about.n;
    /* the bits follow from these too, or the bytes of what is saved do */
    tra_str_printf(&about, "tra %s\nBLAS kernel %s\n--codec %s", TRA_VERSION, openblas_get_corename(),
                   codec.zstd ? "zstd" : "none");
    if (codec.zstd) tra_str_printf(&about, ":%d", codec.level);
    tra_str_add(&about, "\n");
    uint64_t seed = XXH64(about.s + made, about.n - made, 0);
    /* for a message alone: what most likely makes the values others comes first */
    tra_str_printf(&about, "%s--reproducible\n--optimizer %s\n--cost %s\n", p->reproducible ? "" : "no ",
                   tra_optimizer_text(job->options.optimizer), tra_cost_model_text(job->options.cost));
    tra_str_printf(&about, "--sites %d\n--plan %d\n--memory %" PRId64 "\n", p->sites, p->rank, p->memory);
    tra_plan_values(p, seed, identity, values);
    const char *text = tra_arena_strndup(a, about.s, about.n);
    tra_str_free(&about);
    return (tra_journal_request){.dir = dir, .resume = resume, .values = values, .about = text};
}
