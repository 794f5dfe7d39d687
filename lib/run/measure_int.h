/* measure_int.h - what the files that measure rates share. Private to lib/run. */
#ifndef TRA_MEASURE_INT_H
#define TRA_MEASURE_INT_H

#include "../base/crew.h"
#include "measure.h"

/* Workers count the units that they do until then. */
typedef struct tra_measure_work {
    double until;
    int64_t *done; /* by worker */
    void *ctx;
} tra_measure_work;

/* Units per second that this rank's workers do while all ranks' do, of the second best of some tries, since a run goes
 * on for longer than a processor is at its fastest; the first warms up. The function has the work, or a struct that
 * begins with it, as its context. */
TRA_MUSTUSE tra_status tra_measure_units(const tra_comm *comm, tra_work_fn *fn, tra_measure_work *w, int threads,
                                         double *rate, tra_err *e);

#endif
