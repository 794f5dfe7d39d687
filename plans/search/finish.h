/* finish.h - a plan as it runs, made of the implementations that the search chose: its operators (finish.c), those of
 * loops (finish_loop.c), and the layouts of results (finish_layout.c). For these files alone. */
#ifndef TRA_SEARCH_FINISH_H
#define TRA_SEARCH_FINISH_H

#include "search_int.h"

/* An operator of the plan, as it follows from the implementation of a group. */
typedef struct part {
    tra_plan_op op;
    int group;
    const tra_node *node; /* what it computes or moves; JOINAGG: the aggregation */
    int in[2];            /* the operators whose results it reads */
    int place;
    bool partial;              /* AGG, JOINAGG: leaves summands; SHUF: moves them */
    int loop;                  /* the loop in whose turns it runs; -1: none */
    const char *name;          /* of a loop's own operators: of the state or trace; NULL: none */
    int of_loop, item, column; /* of a loop's own operators: which loop; which state or trace; which column */
} part;

typedef struct finish {
    search *s;
    reading reading;
    const entry *x;
    tra_arena *work; /* freed at the end */
    tra_plan *plan;
    tra_program_text *program;
    int n, cap;
    part *v;
    int **at; /* of each group (NULL: not needed) the operators that have its relation: [0] where it is made, [i + 1] at
               * the placement of demand i; -1: none yet */
    int *order; /* the groups in the order in which they are made */
    int norder;
    const int *sorted; /* all groups of the plan, in the order of the program where there is a choice */
    int nsorted;
    int loop;         /* in whose turns what comes next runs; -1: none */
    uint64_t *inside; /* of each group the loops (bits) whose turns compute it, by the plan that was chosen */
    bool *begun;      /* of each loop: its operators are there, or are being made */
    int *from, *to;   /* of each loop: the first and the last operator of its turns */
} finish;

static inline const supply *supply_at(const finish *f, int g) { return &f->s->supplies.v[f->x->supply[g]]; }

/* Adds an operator to the turns of f->loop; returns its number. */
int tra_finish_push(finish *f, part x);
/* The operator that has group g's relation at the place: an exchange, when it is needed for the first time. */
int tra_finish_bring(finish *f, int g, int place);
/* Adds the operators of group g, after those of its inputs, unless they are there. */
void tra_finish_emit(finish *f, int g);

/* Adds the outputs of group g, which are written from where its relation is made. */
void tra_finish_outputs(finish *f, int g);

/* Finds f->inside. */
void tra_finish_find_loops(finish *f);
/* What the loop takes at the end of a turn, in the order of the program; -1: what is required outside of loops. */
void tra_finish_turn(finish *f, int loop);
/* Is the group a leaf of a loop? The leaves of a loop come with it; what stands after a loop brings the loop. */
bool tra_finish_leaf(finish *f, int g);
/* Sets the loops of the plan, whose operators are there. */
void tra_finish_set_loops(finish *f);

/* ---- layouts: finish_layout.c ----------------------------------------------------------------------------------- */

/* Sets the layout in which a result is held, which may differ from that of its group's type. */
void tra_finish_hold(tra_plan *p, tra_op *o);
/* The values of a state are held alike in all turns, as those who read it expect. Returns the operator whose result is
 * that of `in`, in the layout of the state. */
int tra_finish_as_state(finish *f, int in, const tra_node *state);
/* Sums of products of sparse matrices whose file has their entries are held by these, however many they are: so they
 * are made strip by strip (panels.c), where an array of all elements would have to fit. Before memory is planned. */
void tra_finish_hold_rows(tra_plan *p);

#endif
