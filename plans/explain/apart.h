/* apart.h - factors and terms that do not depend on what is aggregated. Private to plans/explain. */
#ifndef TRA_APART_H
#define TRA_APART_H

#include "../lang/lang.h"

/* What may stand outside of an aggregation: in sum[n](A[n,i] / s[i]) it is "/ s[i]". */
typedef struct tra_apart {
    int line;
    tra_span at;      /* of the aggregation in the source */
    const char *text; /* what may stand in its place: "sum[n](A[n, i]) / s[i]" */
    const char *what; /* the factors or terms */
    const char *over; /* the labels that they do not depend on: "n" */
    bool product;     /* they are factors */
    bool positive;    /* it is the same only where these are positive */
} tra_apart;

/* Finds all of them in sums, means, maxima and minima of a program, in the arena. Returns how many. */
int tra_apart_find(const tra_script *src, const tra_ast_program *p, tra_arena *a, tra_apart **out);

#endif
