/* machine.h - the rates of this machine that calibrate measured. */
#ifndef TRA_MACHINE_H
#define TRA_MACHINE_H

#include "../lib/run/comm.h"
#include "../plans/search/search.h"

/* The rates of one machine, which the ranks that it runs share. */
typedef struct tra_machine {
    char host[64], cpu[128], kernel[32]; /* measured on; the BLAS kernel */
    char when[32];
    int64_t ranks, threads; /* of all machines; of this machine, all ranks together */
    int64_t memory;         /* bytes that its jobs may use together; 0: not known, as in files of earlier versions */
    tra_rates rates;        /* of this machine; network, touch 0, shares < 0: not measured */
} tra_machine;

/* The sum over the ranks of one machine. */
void tra_rates_sum(const tra_comm *node, tra_rates *r);
/* What all ranks reach: a plan waits for the slowest. */
void tra_rates_least(const tra_comm *comm, tra_rates *r);

/* The file that calibrate writes: in XDG_CONFIG_HOME or ~/.config. From malloc; NULL without a home. */
char *tra_machine_file(void);
/* What was measured: of that file, else of /etc/tra/machine.json. *path (from malloc) tells of which; false: there is
 * none, or (with a warning) it is not what calibrate writes. */
bool tra_machine_load(tra_machine *m, char **path);
/* What calibrate wrote to the file at path; TRA_INPUT names what the file lacks. */
TRA_MUSTUSE tra_status tra_machine_read(const char *path, tra_machine *m, tra_err *e);
void tra_machine_json(const tra_machine *m, tra_str *out);

#endif
