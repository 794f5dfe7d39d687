/* profile.c - bringing together what the sites measured. */
#include "profile.h"

#include "../base/limits.h"

#include "../kernel/kernel.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIGURES = 16 };

static void pack(const tra_op_report *r, int64_t *v) {
    v[0] = (int64_t)(r->seconds * 1e9);
    v[1] = r->sent;
    v[2] = r->received;
    v[3] = r->disk_read;
    v[4] = r->disk_write;
    v[5] = r->spilled;
    v[6] = r->unspilled;
    v[7] = r->peak_memory;
    v[8] = (int64_t)(r->kernel_seconds * 1e9);
    v[9] = r->counted[0];
    v[10] = r->counted[1];
    v[11] = r->by_zero;
    v[12] = r->scratch;
    v[13] = (int64_t)(r->cpu_seconds * 1e9);
    v[14] = (int64_t)(r->scratch_seconds * 1e9);
    v[15] = (int64_t)(r->read_seconds * 1e9);
}

static tra_op_report unpack(const int64_t *v) {
    return (tra_op_report){.seconds = (double)v[0] * 1e-9,
                           .sent = v[1],
                           .received = v[2],
                           .disk_read = v[3],
                           .disk_write = v[4],
                           .spilled = v[5],
                           .unspilled = v[6],
                           .peak_memory = v[7],
                           .kernel_seconds = (double)v[8] * 1e-9,
                           .counted = {v[9], v[10]},
                           .by_zero = v[11],
                           .scratch = v[12],
                           .cpu_seconds = (double)v[13] * 1e-9,
                           .scratch_seconds = (double)v[14] * 1e-9,
                           .read_seconds = (double)v[15] * 1e-9};
}

void tra_profile_gather(const tra_comm *comm, tra_report *r, const tra_plan *plan, tra_profile *out) {
    int nops = plan->nops;
    enum { NAME = TRA_HOSTNAME / sizeof(int64_t) };
    int64_t n = (int64_t)(nops + 1) * FIGURES, each = n + NAME;
    int64_t *mine = tra_calloc((size_t)each, sizeof *mine),
            *all = tra_calloc((size_t)each * (size_t)comm->size, sizeof *all);
    *out = (tra_profile){.sites = comm->size, .nops = nops, .nloops = plan->nloops, .resumed = r->resumed};
    for (int i = 0; i < nops; i++) pack(&r->ops[i], mine + i * FIGURES);
    pack(&r->total, mine + nops * FIGURES);
    gethostname((char *)(mine + n), TRA_HOSTNAME - 1);
    tra_comm_gather(comm, mine, all, each);
    out->of = tra_calloc((size_t)(nops + 1) * (size_t)comm->size, sizeof *out->of);
    out->host = tra_calloc((size_t)comm->size, sizeof *out->host);
    for (int s = 0; s < comm->size; s++) {
        for (int i = 0; i <= nops; i++) out->of[i * comm->size + s] = unpack(all + s * each + i * FIGURES);
        memcpy(out->host[s], all + s * each + n, TRA_HOSTNAME);
    }
    out->processors = comm->size == 1 ? tra_machine_cores() : (int)sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(out->kernel, sizeof out->kernel, "%s", tra_blas_kernel());
    free(mine);
    free(all);
    out->loops = tra_calloc((size_t)plan->nloops + 1, sizeof *out->loops);
    if (plan->nloops > 0 && r->loops) memcpy(out->loops, r->loops, (size_t)plan->nloops * sizeof *r->loops);
    out->heavy = tra_calloc((size_t)nops + 1, sizeof *out->heavy);
    if (r->heavy) memcpy(out->heavy, r->heavy, (size_t)nops * sizeof *r->heavy);
    out->timeline = tra_timeline_gather(comm, r->record);
    tra_record_free(r->record);
    r->record = NULL;
}

void tra_profile_free(tra_profile *p) {
    free(p->of);
    free(p->host);
    free(p->loops);
    free(p->heavy);
    tra_timeline_free(&p->timeline);
    *p = (tra_profile){0};
}

const tra_op_report *tra_profile_site(const tra_profile *p, int op, int site) { return &p->of[op * p->sites + site]; }

tra_op_report tra_profile_sum(const tra_profile *p, int op) {
    tra_op_report sum = {0};
    for (int s = 0; s < p->sites; s++) {
        const tra_op_report *r = tra_profile_site(p, op, s);
        sum.sent += r->sent;
        sum.received += r->received;
        sum.disk_read += r->disk_read;
        sum.disk_write += r->disk_write;
        sum.spilled += r->spilled;
        sum.unspilled += r->unspilled;
        sum.scratch_seconds += r->scratch_seconds;
        sum.read_seconds += r->read_seconds;
        sum.by_zero += r->by_zero;
        sum.cpu_seconds += r->cpu_seconds;
        for (int k = 0; k < 2; k++) sum.counted[k] += r->counted[k];
        sum.seconds = r->seconds > sum.seconds ? r->seconds : sum.seconds;
        sum.kernel_seconds = r->kernel_seconds > sum.kernel_seconds ? r->kernel_seconds : sum.kernel_seconds;
        sum.scratch = tra_max64(sum.scratch, r->scratch);
        sum.peak_memory = tra_max64(sum.peak_memory, r->peak_memory);
    }
    return sum;
}
