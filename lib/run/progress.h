/* progress.h - how far a run is, on standard error. */
#ifndef TRA_PROGRESS_H
#define TRA_PROGRESS_H

#include "../base/meter.h"
#include "../physical/plan.h"

typedef struct tra_progress {
    tra_progress_form form;
    const tra_plan *plan;
    double begun, due;    /* when it began, when the next line is due */
    double before, total; /* weight (predicted seconds) of the operators that are done, and of all */
    int current;
    int told; /* operators below have had their events */
} tra_progress;

void tra_progress_begin(tra_progress *p, const tra_plan *plan, tra_progress_form form);
void tra_progress_op(tra_progress *p, int op); /* op begins, those before it are done */
/* `done` of the `all` parts of the operator are done. Draws the bar at most four times a second, a line every ten
 * seconds; neither while nobody reads what was written before. */
void tra_progress_show(tra_progress *p, int64_t done, int64_t all);
void tra_progress_end(tra_progress *p);

#endif
