/* machine.h - the rates of this machine that calibrate measured. */
#ifndef TRA_MACHINE_H
#define TRA_MACHINE_H

#include "../lib/base/base.h"

/* The rates of one machine, which the ranks that it runs share. */
typedef struct tra_machine {
    char host[64], cpu[128], kernel[32]; /* measured on; the BLAS kernel */
    char when[32];
    int64_t ranks, threads;               /* of all machines; of this machine, all ranks together */
    double network;                       /* bytes/s; 0: not measured */
    double disk_read, disk_write, memory; /* bytes/s */
    double flops_f64, flops_f32;
    double touch;    /* bytes/s of memory that is touched for the first time; 0: not measured */
    double unhidden; /* share of an exchange that computing beside it does not hide; < 0: not measured */
} tra_machine;

/* The file that calibrate writes: in XDG_CONFIG_HOME or ~/.config. From malloc; NULL without a home. */
char *tra_machine_file(void);
/* What was measured: of that file, else of /etc/tra/machine.json. *path (from malloc) tells of which; false: there is
 * none, or (with a warning) it is not what calibrate writes. */
bool tra_machine_load(tra_machine *m, char **path);
void tra_machine_json(const tra_machine *m, tra_str *out);

#endif
