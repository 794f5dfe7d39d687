/* kernel_run.h - what the kernels of one run share. Each thread of the run says so with tra_kernel_enter. */
#ifndef TRA_KERNEL_RUN_H
#define TRA_KERNEL_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tra_made tra_made;
typedef struct tra_kernel_run {
    atomic_bool stop; /* while set, what may take long returns early, without its result, which is dropped */
    int64_t granted;  /* bytes that each thread's dictionaries of programs may take beyond what is set aside for them */
    tra_made *made;   /* the programs of its plan, ready to be called (program.h) */
} tra_kernel_run;
/* The run of the kernels that this thread runs from now on, NULL: none, as at first. Returns the one before. */
tra_kernel_run *tra_kernel_enter(tra_kernel_run *run);
extern _Thread_local tra_kernel_run *tra_kernel_here;
static inline const atomic_bool *tra_kernel_stop(void) { return tra_kernel_here ? &tra_kernel_here->stop : NULL; }
static inline int64_t tra_kernel_granted(void) { return tra_kernel_here ? tra_kernel_here->granted : 0; }
static inline bool tra_cancelled(void) {
    return tra_kernel_here && atomic_load_explicit(&tra_kernel_here->stop, memory_order_relaxed);
}

#endif
