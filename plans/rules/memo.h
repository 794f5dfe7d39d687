/* memo.h - a memo of equivalent expressions: the e-graph that the rules fill and the search extracts from.
 *
 * An expression is one operator whose inputs are groups; a group is a set of expressions that have the same type and
 * compute the same set of (key, array) pairs. Expressions are hash-consed: one operator with the same arguments over
 * the same groups is one expression (congruence), and when two groups turn out to hold one expression they are merged.
 * Exchanges are no expressions: they are what the search puts between placements.
 */
#ifndef TRA_MEMO_H
#define TRA_MEMO_H

#include "../tra/tra.h"

typedef struct tra_expr {
    tra_node node;    /* the operator, typed. First, so that a pointer to it is one to the expression. id: the
                         expression's number. in[i]: some node of the input group: it has the type of all of them. name:
                         what the program calls it, or its group when a rule made it; may be NULL */
    int group;        /* number; tra_memo_find makes it canonical */
    int in[2];        /* input groups, -1; canonical after tra_memo_rebuild */
    const char *text; /* operator and arguments, the same for equal ones */
    const struct tra_rule *rule; /* that made it; NULL: of the program itself */
    int equality;                /* of the memo: the one for which it was made; -1: none */
} tra_expr;

/* Two expressions of one group that a rule proved equal: it made b of a. */
typedef struct tra_equality {
    int a, b;
    int below[2]; /* the expressions of a's inputs that the rule matched, -1 */
    int made[2];  /* the expressions of b's inputs that it made, -1 */
    const struct tra_rule *rule;
} tra_equality;

/* The expressions of a group that are made as the program has it (by no rule, or with the columns that are read alone)
 * end an operator on tables: it makes them of the rows of another group, however that is done. */
typedef struct tra_made_rows {
    const struct tra_table_op *op;
    int group, rows;
    const struct tra_rule *rule; /* of the expressions: NULL, or Q-6 */
} tra_made_rows;

typedef struct tra_memo_group {
    int parent;        /* union-find; itself: canonical */
    int n, cap, *expr; /* numbers of its expressions, in the order in which they were added, each once. A canonical
                          group has those of all groups that were merged into it */
    int nusers, capusers, *user; /* numbers of the expressions that have it as an input, once for each input */
    struct tra_facts *facts; /* what is known of the table that it is (facts.h); NULL: nobody has asked */
    int nfacts;              /* by so many of its expressions */
} tra_memo_group;

typedef struct tra_memo {
    tra_arena *arena;
    const tra_graph *g;
    int n; /* expressions; at most `limit` */
    int limit;
    tra_expr **v;
    int ngroups;
    tra_memo_group *group;
    int *of_node; /* expression of each needed node of g, -1: not needed */
    int nequal, capequal;
    tra_equality *equal; /* one for every application of a rule */
    int nmade, capmade;
    tra_made_rows *made;
    bool bounded;       /* the limit ended the rewriting before it was complete */
    int *table, ntable; /* private: expressions by their hash, -1 */
} tra_memo;

/* A memo of the nodes of a program that its outputs need, one expression for each; equal nodes share one. It has room
 * for rules to add several times as many. In the arena; valid as long as the graph. */
tra_memo *tra_memo_new(const tra_graph *g, tra_arena *a);
int tra_memo_find(const tra_memo *m, int group);                                   /* the canonical group */
static inline tra_expr *tra_memo_expr(const tra_node *n) { return (tra_expr *)n; } /* n: a node of a memo */
/* The expressions that have the group as an input, *n of them; the list stays as it is while the memo grows. */
const int *tra_memo_users(const tra_memo *m, int group, int *n);
/* Adds an expression: `proto` has op, arguments, name and in[] (each a node of some expression of this memo). Types it.
 * group: the group it is claimed to belong to, or -1 for that of an equal one, else a new one. Returns its number (an
 * equal one's if there is), or -1 when it does not type, or not as its group does (*why, may be NULL, gets the reason),
 * or when the memo is full (then `bounded` is set). A new one is last (number m->n - 1) and its rule
 * NULL. May merge groups; tra_memo_rebuild restores congruence. */
int tra_memo_add(tra_memo *m, const tra_node *proto, int group, const char **why);
/* Restores congruence after merges: expressions that have become equal merge their groups, and only the first of them
 * stays in its group's list. */
void tra_memo_rebuild(tra_memo *m);
/* After a rebuild: the first expression that is equal to x. */
int tra_memo_equal(const tra_memo *m, int x);
/* The operator on tables that x ends; NULL: there is none, or a rule has made x. */
const tra_made_rows *tra_memo_made(const tra_memo *m, const tra_expr *x);
void tra_memo_add_made(tra_memo *m, tra_made_rows made);
/* After a rebuild: the canonical groups that the outputs need, each after the groups of its expressions' inputs; *n of
 * them. Expressions that would close a cycle (a group computed from itself) are left out: skip[expr] is set; each group
 * keeps one at least. Deterministic. Both from the memo's arena. */
int *tra_memo_order(const tra_memo *m, int *n, bool **skip);

#endif
