/* sum_query.h - aggregates of the rows of a join as a query, from which rules Q-9 (sums_before_joins.c) and Q-11
 * (sparse_products.c) make the steps that sum before the join, or with it. Private to plans/rules.
 *
 * A sum distributes over a join, which is a product, where what is summed does not depend on the other table. So it is
 * asked of each column of the query which tables it reads.
 *
 * Source: Yan and Larson, Eager aggregation and lazy aggregation, VLDB 1995; FAQ (Abo Khamis et al., PODS 2016) for
 * sums over other semirings.
 */
#ifndef TRA_SUM_QUERY_H
#define TRA_SUM_QUERY_H

#include "../../lib/table/group.h"
#include "pipeline.h"

enum { LEFT, RIGHT };
enum { READS_LEFT = 1, READS_RIGHT = 2, READS_BOTH = 3 };

/* One table of the join. */
typedef struct side {
    const tra_facts *facts;
    const tra_schema *in;    /* the columns of its rows, */
    const tra_node *rows;    /* which are these, */
    tra_rowwise *pass;       /* after these selections; NULL: there are none */
    const tra_colexpr **by;  /* what the columns of the join that are read are, over them; NULL: of the other table */
    int nkeys;               /* of its groups: the keys of the join, then what of the group's keys is of this table, */
    const tra_colexpr **key; /* over `in` */
    int *joined;             /* of each key of the join its number among these */
    int *column;             /* of each column of the query its number in what is grouped; -1: it is not there */
    int *number;             /* of each aggregate its number here; -1: it is of the other table */
    const tra_group *first;
    const tra_schema *columns; /* its states, under names that differ, or its rows; */
    int counted;               /* the state that is how many rows there are */
} side;

/* group(project(join(L, R, keys), columns), keys, aggregates) */
typedef struct query {
    tra_rewriting *w;
    tra_arena *a;
    tra_expr *group;
    const tra_expr *pass, *join;
    const tra_group *g;
    const tra_lookup *l;
    const tra_lookup_spec *s;
    const tra_node *right;       /* the right table: in one block, or, if it is not an input of the join, in several */
    int nkeys, n;                /* columns: the keys, then what is aggregated, */
    const tra_colexpr *const *x; /* over the columns of the join */
    int *reads;                  /* of each which tables it reads */
    const tra_colexpr **factor[2]; /* of each, if it is a product of one factor of each table, these, over the columns
                                      of the join: f64, and finite, or whole numbers; else NULL */
    int naggregates;
    const tra_group_column *aggregate;
    side of[2];
    const tra_node *before, *slices, *rekey; /* of a join whose pairs are counted before, else NULL */
} query;

/* The table that column i belongs to, if it reads one at most. */
static inline int side_of_column(const query *q, int i) { return q->reads[i] == READS_RIGHT ? RIGHT : LEFT; }

/* Is what aggregate i aggregates, or goes by, a product of a factor of each table? */
static inline bool is_product(const query *q, int i) {
    const tra_group_column *v = &q->aggregate[i];
    bool one = v->column >= 0 && q->factor[LEFT][v->column];
    return one || (tra_aggregate_has_two(v->f) && q->factor[LEFT][v->second]);
}

/* What column n of what is made of one table is called. */
static inline const char *side_name(const query *q, int d, int n) {
    return tra_arena_printf(q->a, "%c%d", d == LEFT ? 'l' : 'r', n);
}

/* The ways to sum that a reason speaks against. */
enum { LEFT_FIRST = 1, BOTH_FIRST = 2, BEFORE = 3, AS_PRODUCT = 4 };

/* The group of rows, not of states, that an expression makes; NULL: it makes none. */
const tra_group *tra_group_of_rows(const tra_expr *x);
/* Calls f for each such group of what a pass makes of the rows of a join. */
void tra_each_group(tra_rewriting *w, tra_expr *pass, tra_expr *join,
                    void (*f)(tra_rewriting *w, tra_expr *group, tra_expr *pass, tra_expr *join));
/* Reads a query; false: it is none, or selects rows above the join. */
bool tra_read_query(query *q, tra_rewriting *w, tra_expr *group, const tra_expr *pass, const tra_expr *join);
/* The first reason against a way to sum; NULL: there is none. */
const char *tra_sums_refused(const query *q, int way);
/* Which tables an expression over the columns of the join reads. */
int tra_sides_read(const query *q, const tra_colexpr *x);

/* Finds the left table below slices whose pairs were counted before the join. The pass over slices, which leaves out
 * the number of pairs, is then one over the left table. */
void tra_find_slices(query *q);

#endif
