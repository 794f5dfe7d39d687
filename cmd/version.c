/* version.c - the versions of tra and of the libraries in use. */
#include "cmd.h"

#include "../lib/run/comm.h"

#include <cblas.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

typedef struct versions {
    char hdf5[32], *mpi, blas[64];
    const char *kernel, *zstd;
} versions;

static void collect(versions *v) {
    unsigned a = 0, b = 0, c = 0;
    H5get_libversion(&a, &b, &c);
    snprintf(v->hdf5, sizeof v->hdf5, "%u.%u.%u", a, b, c);
    v->mpi = tra_comm_library();
    const char *config = openblas_get_config(); /* "OpenBLAS 0.3.21 NO_LAPACKE ..." */
    int words = (int)strcspn(config, " ");
    if (config[words]) words += 1 + (int)strcspn(config + words + 1, " ");
    snprintf(v->blas, sizeof v->blas, "%.*s", words, config);
    v->kernel = openblas_get_corename();
    v->zstd = ZSTD_versionString();
}

static tra_status run(int argc, char **argv, tra_err *e) {
    (void)argc;
    (void)argv;
    versions v;
    collect(&v);
    tra_json j = {0};
    if (tra_common_opts.format == TRA_FORMAT_JSON) {
        tra_json_begin(&j, NULL, '{');
        tra_json_str(&j, "tra", TRA_VERSION);
        tra_json_str(&j, "hdf5", v.hdf5);
        tra_json_str(&j, "mpi", v.mpi);
        tra_json_str(&j, "blas", v.blas);
        tra_json_str(&j, "blas_kernel", v.kernel);
        tra_json_str(&j, "zstd", v.zstd);
        if (tra_common_opts.verbose) tra_json_int(&j, "process_bytes", -tra_buffer_bytes(0));
        tra_json_end(&j, '}');
        tra_str_add(&j.out, "\n");
    } else {
        tra_str_printf(&j.out, "tra %s\nHDF5 %s\n%s\n%s, kernel %s\nzstd %s\n", TRA_VERSION, v.hdf5, v.mpi, v.blas,
                       v.kernel, v.zstd);
        if (tra_common_opts.verbose)
            tra_str_printf(&j.out, "bytes of a process that streams: %" PRId64 "\n", -tra_buffer_bytes(0));
    }
    tra_status s = tra_print(tra_str_get(&j.out), e);
    tra_json_free(&j);
    free(v.mpi);
    return s;
}

const tra_cmd tra_cmd_version = {
    .name = "version",
    .group = "About tra",
    .brief = "print the versions of tra and of the libraries in use",
    .usage = "[options]",
    .about = "Prints the versions of tra, HDF5, MPI, BLAS (with the kernel that it chose for this processor) and zstd, "
             "as they are at run time.",
    .maxargs = 0,
    .needs = TRA_NEED_BLAS | TRA_TAKES_JSON,
    .run = run,
};
