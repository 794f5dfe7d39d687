/* job_script.c - jobs of a scheduler, of mpirun and of cron, made of the scripts of share/batch. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/run/comm.h"
#include "launch.h"
#include "planning.h"
#include "request.h"

/* ---- words of a shell ------------------------------------------------------------------------------------------- */

static bool is_plain(const char *s) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:@";
    return *s && s[strspn(s, plain)] == '\0';
}

static void add_word(tra_str *out, const char *s) {
    tra_str_add(out, " ");
    if (is_plain(s)) {
        tra_str_add(out, s);
        return;
    }
    tra_str_add(out, "'");
    for (; *s; s++) {
        if (*s == '\'')
            tra_str_add(out, "'\\''");
        else
            tra_str_addn(out, s, 1);
    }
    tra_str_add(out, "'");
}

static void add_option(tra_str *out, const char *name, const char *value) {
    add_word(out, name);
    add_word(out, value);
}

/* A program may have a name that looks like an option. */
static void add_program(tra_str *out, const char *program) {
    char *path = tra_asprintf("%s%s", *program == '-' ? "./" : "", program);
    add_word(out, path);
    free(path);
}

/* The options that shape the plan; what follows from the point is not among them. */
static void add_settings(tra_str *out) {
    const tra_planning *p = &tra_planning_opts;
    static const char *const codegen[] = {"auto", "require", "off"};
    if (p->cost_given) add_option(out, "--cost", tra_cost_model_text((tra_cost_model)p->cost));
    if (p->optimizer_given) add_option(out, "--optimizer", tra_optimizer_text((tra_optimizer)p->optimizer));
    if (p->reproducible) add_word(out, "--reproducible");
    if (p->without) add_option(out, "--without", p->without);
    if (p->codec_given) add_option(out, "--codec", p->codec);
    if (p->codegen) add_option(out, "--codegen", codegen[p->codegen]);
    for (int i = 0; i < tra_common_opts.define.n; i++) add_option(out, "-D", tra_common_opts.define.v[i]);
}

static void add_memory(tra_str *out, const tra_point *p) {
    tra_str_printf(out, " --memory %" PRId64 "M", tra_ceil_div(p->memory, 1 << 20));
}

static void add_resources(tra_str *out, const tra_point *p) {
    tra_str_printf(out, " --threads %d", p->threads);
    add_memory(out, p);
}

static void add_launcher(tra_str *out, const tra_point *p) {
    tra_launch_words(p->sites, p->machines > 1 ? p->here : 0, out);
}

void tra_job_command(const char *program, const tra_point *p, tra_str *out) {
    if (p->machines > 1) add_launcher(out, p);
    tra_str_add(out, " tra run");
    if (p->machines == 1 && p->sites > 1) tra_str_printf(out, " --sites %d", p->sites);
    add_resources(out, p);
    add_settings(out);
    add_program(out, program);
}

/* ---- jobs ------------------------------------------------------------------------------------------------------- */

static const char *template(const char *name) {
    for (const tra_job_template *t = tra_job_templates; t->name; t++)
        if (strcmp(t->name, name) == 0) return t->text;
    return "";
}

static void add_about(tra_str *out, const tra_point *p) {
    char memory[32], scratch[32], time[TRA_SPANTEXT];
    tra_str_printf(
        out, "# Made by tra explain --request: %d site%s, %d thread%s and %s each; about %s, %s of scratch each.\n",
        p->sites, p->sites == 1 ? "" : "s", p->threads, p->threads == 1 ? "" : "s", tra_human(p->memory, memory),
        tra_span_text(p->seconds, time), p->scratch ? tra_human(p->scratch, scratch) : "none");
}

/* What stands in place of a line of the template that begins with `option`; whole minutes, as Slurm counts. */
static void slurm_option(tra_str *out, const char *line, size_t n, const tra_point *p, double limit) {
    enum { SLACK = 64 }; /* MiB for mpirun and the shell */
    int64_t minutes = (int64_t)fmin(ceil(limit / 60), 1e6), mib = tra_ceil_div(p->memory, 1 << 20) * p->here + SLACK;
    struct {
        const char *option;
        char text[64];
    } own[] = {{"--nodes=", ""}, {"--ntasks-per-node=", ""}, {"--cpus-per-task=", ""}, {"--time=", ""}};
    snprintf(own[0].text, 64, "%d", p->machines);
    snprintf(own[1].text, 64, "%d\n#SBATCH --ntasks=%d\n#SBATCH --mem=%" PRId64 "M", p->here, p->sites, mib);
    snprintf(own[2].text, 64, "%d", p->threads);
    snprintf(own[3].text, 64, "%" PRId64 "-%02d:%02d:00", minutes / 1440, (int)(minutes / 60 % 24),
             (int)(minutes % 60));
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        size_t m = strlen("#SBATCH ") + strlen(own[i].option);
        if (n < m || strncmp(line + strlen("#SBATCH "), own[i].option, strlen(own[i].option)) != 0) continue;
        tra_str_addn(out, line, m);
        tra_str_printf(out, "%s\n", own[i].text);
        return;
    }
    tra_str_addn(out, line, n);
    tra_str_add(out, "\n");
}

/* The template, with what is asked for in its lines, and with its arguments. */
static void slurm(const char *program, const tra_point *p, double limit, tra_str *out) {
    bool asked = false, first = true;
    for (const char *line = template("slurm"); *line; first = false) {
        size_t n = strcspn(line, "\n");
        bool option = strncmp(line, "#SBATCH ", 8) == 0;
        if (asked && !option) {
            tra_str_add(out, "set --");
            add_memory(out, p);
            add_settings(out);
            add_program(out, program);
            tra_str_add(out, "\n");
            asked = false;
        }
        if (option)
            asked = true, slurm_option(out, line, n, p, limit);
        else
            tra_str_addn(out, line, n), tra_str_add(out, "\n");
        if (first) add_about(out, p);
        line += n + (line[n] == '\n');
    }
}

static void by_mpirun(const char *program, const tra_point *p, double limit, tra_str *out) {
    tra_str_add(out, "#!/bin/bash\n");
    add_about(out, p);
    tra_str_add(out, "exec");
    add_launcher(out, p);
    tra_str_add(out, " tra run --resume");
    if (tra_request_opts.deadline) tra_str_printf(out, " --deadline %.9gs", limit);
    add_resources(out, p);
    add_settings(out);
    add_program(out, program);
    tra_str_add(out, "\n");
}

/* The script for cron, of an installation or of a checkout. From malloc; NULL: it is not there. */
static char *cron_script(void) {
    char self[PATH_MAX] = "";
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    static const char *const beside[] = {"/../share/tra/batch/cron.sh", "/../share/batch/cron.sh"};
    char *slash = n > 0 ? strrchr(self, '/') : NULL;
    for (int i = 0; slash && i < 2; i++) {
        *slash = '\0';
        char *path = tra_asprintf("%s%s", self, beside[i]), *real = realpath(path, NULL);
        free(path);
        if (real) return real;
    }
    return NULL;
}

/* Every night; % is a newline in a crontab, and a newline the end. */
static tra_status by_cron(const char *program, const tra_point *p, double limit, tra_str *out, tra_err *e) {
    char dir[PATH_MAX];
    if (p->machines > 1)
        return tra_fail(e, TRA_USAGE,
                        "cron starts jobs on one machine, and this one takes %d: ask for less with "
                        "--sites, or for --job slurm",
                        p->machines);
    if (!getcwd(dir, sizeof dir)) return tra_fail_errno(e, TRA_INPUT, "the current directory");
    char *script = cron_script();
    if (!script)
        return tra_fail(e, TRA_INPUT, "share/tra/batch/cron.sh is not beside this program: make install puts it there");
    tra_str line = {0};
    tra_str_add(&line, "0 22 * * * bash");
    add_word(&line, script);
    add_word(&line, dir);
    add_program(&line, program);
    if (tra_request_opts.deadline)
        tra_str_printf(&line, " %.6f", limit / 3600); /* not rounded up, as what was predicted may be */
    else
        tra_str_printf(&line, " %.2f", limit / 3600);
    if (p->sites > 1) tra_str_printf(&line, " --sites %d", p->sites);
    add_resources(&line, p);
    add_settings(&line);
    free(script);
    bool broken = strchr(tra_str_get(&line), '\n') != NULL;
    for (const char *c = tra_str_get(&line); *c; c++) {
        if (*c == '%') tra_str_add(out, "\\");
        tra_str_addn(out, c, 1);
    }
    tra_str_add(out, "\n");
    tra_str_free(&line);
    if (broken) return tra_fail(e, TRA_USAGE, "a line of a crontab holds no newline, and a name has one");
    return TRA_OK;
}

tra_status tra_job_script(int kind, const char *program, const tra_point *p, double limit, tra_str *out, tra_err *e) {
    if (strcmp(program, "-") == 0)
        return tra_fail(e, TRA_USAGE, "--job needs the program in a file, which the job reads");
    if (p->sites > 1 && tra_comm_built_with() == TRA_MPI_NONE)
        return tra_fail(e, TRA_USAGE,
                        "this tra was built without MPI and has one site, the job asks for %d: --sites 1, or use a tra "
                        "that was built with MPI",
                        p->sites);
    switch (kind) {
    case TRA_JOB_SLURM: slurm(program, p, limit, out); return TRA_OK;
    case TRA_JOB_MPIRUN: by_mpirun(program, p, limit, out); return TRA_OK;
    default: return by_cron(program, p, limit, out, e);
    }
}
