/* planning.c - the options that compile, explain, cost and run share, and their defaults. */
#include "planning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/base/limits.h"
#include "../lib/codegen/codegen.h"
#include "../lib/physical/needs.h"
#include "common.h"
#include "machine.h"

tra_planning tra_planning_opts = {.sites = 1, .codec = "none"};

/* ---- the request -------------------------------------------------------------------------------------------- */

static tra_status range(const char *name, int64_t v, int64_t min, int64_t max, tra_err *e) {
    if (v >= min && v <= max) return TRA_OK;
    if (max == INT64_MAX) return tra_fail(e, TRA_USAGE, "%s %" PRId64 ": at least %" PRId64, name, v, min);
    return tra_fail(e, TRA_USAGE, "%s %" PRId64 ": from %" PRId64 " to %" PRId64, name, v, min, max);
}

/* A share that was not measured is negative. */
static double or_else(double measured, double builtin) { return measured >= 0 ? measured : builtin; }

/* The cores that one of `here` sites with so many threads has: no more than its share, unless --threads insists. */
static double cores_of_site(int here, int threads, int cores) {
    return tra_planning_opts.threads_given ? threads : fmin(threads, (double)cores / here);
}

/* The rates of one of `here` sites with so many threads on machine m. */
static tra_rates share_of(const tra_machine *m, int here, int threads, int cores) {
    tra_rates r = tra_rates_builtin();
    double own = cores_of_site(here, threads, (int)tra_max64(m->threads, cores));
    double part = own / (double)m->threads, most = fmin(part, 1);
    return (tra_rates){.network = m->rates.network > 0 ? m->rates.network / here : r.network,
                       .one_way = m->rates.one_way / here,
                       .disk_read = m->rates.disk_read / here,
                       .disk_write = m->rates.disk_write / here,
                       .flops_f64 = m->rates.flops_f64 * part,
                       .flops_f32 = m->rates.flops_f32 * part,
                       .memory = m->rates.memory * most,
                       .touch = m->rates.touch * most,
                       .entries = m->rates.entries * part,
                       .gathers = m->rates.gathers * part,
                       .inserts = m->rates.inserts * part,
                       .merges = m->rates.merges * part,
                       .hashes = m->rates.hashes * part,
                       .operations = m->rates.operations * part,
                       .follows = m->rates.follows * part,
                       .threads = fmax(1, own),
                       .network_unhidden = or_else(m->rates.network_unhidden, r.network_unhidden),
                       .disk_unhidden = or_else(m->rates.disk_unhidden, r.disk_unhidden)};
}

/* The built-in rates of such a site; cores: those of the machine. One core draws PART of the bandwidth of memory. Sites
 * of a machine share that bandwidth, unless --threads says how many cores each has. */
static tra_rates share_of_builtin(int here, int threads, int cores) {
    static const double PART = 0.75;
    double own = cores_of_site(here, threads, cores);
    tra_rates r = tra_rates_builtin();
    r.flops_f64 *= own;
    r.flops_f32 *= own;
    r.threads = own;
    int sharers = tra_planning_opts.threads_given ? 1 : here;
    r.memory *= fmin(1, sharers * own * PART) / sharers;
    return r;
}

tra_rates tra_planning_rates(const tra_machine *m, int here, int threads, int cores) {
    if (!cores) cores = tra_cores();
    tra_rates r = share_of_builtin(here, threads, cores);
    tra_machine own;
    char *path = NULL;
    if (m) {
        r = share_of(m, here, threads, cores);
    } else if (tra_machine_load(&own, &path)) {
        tra_info(1, "rates of %s", path);
        r = share_of(&own, here, threads, cores);
    }
    free(path);
    bool compiled = tra_planning_opts.codegen != TRA_CODEGEN_OFF && tra_codegen_has_compiler();
    return compiled ? r : tra_rates_interpreted(r, threads);
}

tra_rates tra_planning_rates_here(int here, int threads) { return tra_planning_rates(NULL, here, threads, 0); }

tra_status tra_planning_request(int here, int cores, tra_request *r, tra_err *e) {
    const tra_planning *p = &tra_planning_opts;
    tra_codec codec;
    TRA_TRY(range("--sites", p->sites, 1, TRA_MAXSITES, e));
    if (p->memory_given) TRA_TRY(range("--memory", p->memory, 1, INT64_MAX, e));
    if (p->plan_given) TRA_TRY(range("--plan", p->plan, 1, INT64_MAX, e));
    if (p->threads_given)
        TRA_TRY(range("--threads", p->threads, 1, TRA_MAXWORKERS, e));
    else
        TRA_TRY(tra_threads_check(e));
    if (!tra_codec_parse(p->codec, &codec))
        return tra_fail(e, TRA_USAGE, "--codec %s: none, zstd or zstd:LEVEL", p->codec);
    if (p->codegen == TRA_CODEGEN_OFF) tra_plan_cache_only_read();
    if (here <= 0) here = (int)p->sites;
    int threads = p->threads ? (int)p->threads : (int)tra_max64(1, (cores ? cores : tra_cores()) / here);
    *r = (tra_request){
        .options = {.sites = (int)p->sites,
                    .memory = p->memory ? p->memory : tra_machine_memory(NULL) / here,
                    .cost = (tra_cost_model)p->cost,
                    .optimizer = (tra_optimizer)p->optimizer,
                    .threads = threads,
                    .threads_given = p->threads_given,
                    .reproducible = p->reproducible,
                    .first = 1,
                    .compress = codec.zstd ? codec.level : 0,
                    .rates = tra_planning_rates(NULL, here, threads, cores)},
        .sites_given = p->sites_given,
        .memory_given = p->memory > 0,
        .cost_given = p->cost_given,
        .optimizer_given = p->optimizer_given,
        .codec_given = p->codec_given,
        .threads_given = p->threads > 0,
        .plan = p->plan,
        .digest = p->plan_digest,
        .ndefines = tra_common_opts.define.n,
        .defines = tra_common_opts.define.v,
        .colour = tra_colour(stderr),
    };
    return p->without ? tra_plan_without(p->without, &r->options, e) : TRA_OK;
}

int64_t tra_planning_before(int sites) {
    int64_t checked = tra_buffer_checked();
    return checked > 0 && sites > 1 ? checked + TRA_PROCESS_MPI - TRA_PROCESS : checked;
}
