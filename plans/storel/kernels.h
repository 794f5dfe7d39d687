/* kernels.h - the physical plans of a program's statements that have a stored operand. */
#ifndef TRA_STOREL_KERNELS_H
#define TRA_STOREL_KERNELS_H

#include "compose.h"

/* How a relation is to be stored, whatever the program and its file say. */
typedef struct tra_storel_choice {
    const char *relation, *storage; /* "csr", "band(5)": of the program or the library; "dense" */
} tra_storel_choice;

typedef struct tra_storel_options {
    uint64_t without;              /* rules */
    int plans;                     /* of each statement; 0: 1 */
    const tra_storel_costs *costs; /* NULL: tra_storel_default_costs */
    int workers;                   /* threads of all sites, which share combinations; 0: 1 */
    int nchoices;
    const tra_storel_choice *choice;
} tra_storel_options;

typedef struct tra_storel_kernel {
    const tra_einsum *statement;
    const char *name;     /* of the statement's relation */
    const char *operands; /* "A as csr, x as dense" */
    const char *reason;   /* why there is no plan; NULL: there is one */
    double combinations;  /* of arrays that meet, each of which runs the plan; all of them are counted */
    int workers;          /* of the options */
    tra_storel_composed composed;
    tra_storel_result result;
} tra_storel_kernel;

/* Finds the plans of each EinSum statement (and tensor statement that is one) with an operand whose type is sparse or
 * that is in the choices. Operands have the storages of their files and declarations; results between statements have
 * the storage that describes the rows in which they are held. Statistics come from the files; without them entries, as
 * they are declared or estimated, count as evenly spread. TRA_USAGE for choices that name no operand or no storage. */
TRA_MUSTUSE tra_status tra_storel_kernels(const tra_graph *g, const tra_storel_options *o, tra_arena *a, int *n,
                                          tra_storel_kernel **out, tra_err *e);

#endif
