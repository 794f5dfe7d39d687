/* interp.h - a run of the interpreter: what its two halves share. eval.c computes values, contribute.c gives the
 * numbers of dictionaries one by one, wherever they go. Private to these. */
#ifndef TRA_CALC_INTERP_H
#define TRA_CALC_INTERP_H

#include "eval.h"

/* Something from malloc that is freed when the evaluation that made it ends: a dictionary or the keys of an operand. */
typedef struct owned {
    calc_dict *dict;
    int64_t *prefix;
} owned;

typedef struct interp {
    int n, loops;
    const tra_calc_free *scope;
    int64_t steps;
    int nenv;
    calc_value *env; /* by level */
    int nowned, cap;
    owned *owned;
    tra_err *e;
} interp;

/* Where contributions go: the keys around them, and what @unique has seen. */
typedef struct chain {
    tra_calc_sink *sink;
    void *ctx;
    bool real, places; /* places: elements that are not given may stand for themselves */
    bool unwatched;    /* keys may come twice under @unique: nobody keeps them */
    int nkeys;
    int64_t key[TRA_CALC_MAXRANK];
    calc_seen *seen;
} chain;

/* A sum whose body is given to a chain, or added up where it is a number. */
typedef struct loop {
    const tra_calc *x;
    chain *out;           /* or NULL */
    tra_calc_number *sum; /* or NULL */
} loop;

/* The value of x; the number that x is, which is whole. */
tra_status calc_eval(interp *in, const tra_calc *x, calc_value *v);
tra_status calc_eval_whole(interp *in, const tra_calc *x, int64_t *out);
tra_status calc_eval_condition(interp *in, const tra_calc *x, bool *out);
/* Binds the names of a LET. */
tra_status calc_bind_let(interp *in, const tra_calc *x);
tra_status calc_run_loop(interp *in, const loop *l);

/* The contributions of x, one by one (contribute.c). */
tra_status calc_contribute(interp *in, const tra_calc *x, chain *out);

/* "WHAT in X", with that status; check: as an error if w is one. */
tra_status calc_fail_in(interp *in, const tra_calc *x, tra_status s, const char *what);
tra_status calc_check(interp *in, const tra_calc *x, tra_calc_wrong w);
/* That an element of a component is needed of which only the place is known. */
tra_status calc_fail_unknown(interp *in, const tra_calc *x);
/* Counts a step, of which there may be so many, and looks whether dictionaries have become too large. */
static inline tra_status calc_step(interp *in, const tra_calc *x) {
    if (calc_is_full())
        return calc_fail_in(in, x, TRA_RESOURCE,
                            "dictionaries that are built take more memory than is set aside for them");
    if (in->steps-- > 0) return TRA_OK;
    return calc_fail_in(in, x, TRA_RESOURCE, "more steps than were allowed");
}

#endif
