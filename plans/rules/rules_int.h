/* rules_int.h - what rewriting rules are written with. Private to plans/rules. */
#ifndef TRA_RULES_INT_H
#define TRA_RULES_INT_H

#include "rules.h"

extern const tra_rule tra_rule_r1_1, tra_rule_r1_2, tra_rule_r1_3, tra_rule_r1_4, tra_rule_r1_5, tra_rule_r1_6,
    tra_rule_r1_7, tra_rule_r2_1, tra_rule_r2_2, tra_rule_r2_3, tra_rule_r2_4, tra_rule_r2_5, tra_rule_r2_6,
    tra_rule_r2_7, tra_rule_d_1, tra_rule_d_2, tra_rule_q_1, tra_rule_q_2, tra_rule_q_3, tra_rule_q_4, tra_rule_q_5,
    tra_rule_q_6, tra_rule_q_7, tra_rule_q_8, tra_rule_q_9, tra_rule_q_10, tra_rule_q_11, tra_rule_q_12, tra_rule_q_13;

/* In test data: an output Z of these columns of the table P. */
#define SUM_OF(columns) "X = matrix(P, [" columns "])\nZ[a,b] = sum X[n,a] * X[n,b]\n"

/* What a column that is carried along costs, in operations for each row. */
#define TRA_COLUMN_FLOPS 0.25
/* The rule that brings two passes over rows together, x over y; NULL: none of its own (R1-2). */
const tra_rule *tra_rule_of_passes(const tra_expr *x, const tra_expr *y);
/* Q-5, of rows that are selected of the entries of a tensor. */
void tra_slice_entries(tra_rewriting *w, tra_expr *x, tra_expr *y);
/* Q-6, of the whole program at once. */
void tra_narrow_tables(tra_rewriting *w);

struct tra_rewriting {
    tra_memo *m;
    const tra_rule *rule; /* at work */
    tra_refusals *refusals;
    int room; /* expressions that the memo may have for now */
    bool changed;
    uint64_t *tried; /* what has been matched: a set, 0 where empty */
    int64_t ntried, captried;
};

/* Notes that the rule's condition does not hold for x. */
void tra_refuse(tra_rewriting *w, const tra_expr *x, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* An expression in a group of its own, or an equal one (of a filter that removes nothing: its input); NULL when it
 * cannot be, which is noted as a refusal at x. */
tra_expr *tra_make_below(tra_rewriting *w, const tra_expr *x, const tra_node *proto);
/* proto computes what x does. y: what was matched below x, in input `side`; l, r: what was made for proto's inputs.
 * Each may be NULL. When proto does not type, or not as x does, that is noted. */
void tra_claim(tra_rewriting *w, const tra_expr *x, const tra_expr *y, int side, const tra_node *proto,
               const tra_expr *l, const tra_expr *r);
/* x removes nothing from its input: they are one relation. */
void tra_claim_same(tra_rewriting *w, const tra_expr *x, const tra_node *in);
/* x over y becomes y over x: the operators stay what they are. */
void tra_swap(tra_rewriting *w, tra_expr *x, tra_expr *y);
/* Has this been asked before? */
bool tra_tried(tra_rewriting *w, uint64_t what);

/* ---- protos ------------------------------------------------------------------------------------------------- */

static inline tra_node *node_of(const tra_expr *x) { return (tra_node *)&x->node; }
/* x's operator over another input. */
tra_node tra_over(const tra_expr *x, const tra_node *in);
tra_node tra_proto_transform(const tra_kernel *k, const tra_node *in);
tra_node tra_proto_agg(const tra_kernel *k, const tra_dims *group, const tra_node *in);
const char *tra_kernel_name(tra_rewriting *w, const tra_kernel *k);

/* ---- predicates --------------------------------------------------------------------------------------------- */

/* A predicate as the conjunction of its parts, in the order of evaluation. */
enum { MAX_CONJUNCTS = 32 };
typedef struct conjuncts {
    int n;
    const tra_keyexpr *v[MAX_CONJUNCTS];
} conjuncts;
void tra_split_predicate(const tra_keyfn *f, conjuncts *out);
/* Appends; false when there is no room. One that is there already is not repeated. */
bool tra_add_conjunct(conjuncts *c, const tra_keyexpr *x);
void tra_sort_conjuncts(conjuncts *c);
/* filter(in, conjunction); names: of the key components, NULL where there is none. */
tra_node tra_proto_filter(tra_rewriting *w, const conjuncts *c, const char *const *names, const tra_node *in);
/* Variable i of x becomes variable to[i], which must be >= 0 for those that x reads. */
const tra_keyexpr *tra_rename_vars(tra_rewriting *w, const tra_keyexpr *x, const int *to);

#endif
