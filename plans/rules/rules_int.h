/* rules_int.h - what rewriting rules are written with. Private to plans/rules. */
#ifndef TRA_RULES_INT_H
#define TRA_RULES_INT_H

#include "rules.h"

/* All rules, in the order of the manual; each is defined, as tra_rule_NAME, in a file of this folder. */
// clang-format off
#define TRA_RULES(X) \
    X(r1_1) X(r1_2) X(r1_3) X(r1_4) X(r1_5) X(r1_6) X(r1_7) X(r1_8) X(r1_9) X(r1_10) \
    X(r2_1) X(r2_2) X(r2_3) X(r2_4) X(r2_5) X(r2_6) X(r2_7) \
    X(d_1) X(d_2) X(d_3) \
    X(q_1) X(q_2) X(q_3) X(q_4) X(q_5) X(q_6) X(q_7) X(q_8) X(q_9) X(q_10) X(q_11) X(q_12) X(q_13) \
    X(q_14) X(q_15)
// clang-format on
#define X(name) extern const tra_rule tra_rule_##name;
TRA_RULES(X)
#undef X

/* What copying one column costs a join or a pass over rows, in operations for each row. */
#define TRA_COLUMN_FLOPS 0.25
/* The rule by which two passes over rows, x over y, become one; NULL: no rule on tables, but R1-2. */
const tra_rule *tra_rule_of_passes(const tra_expr *x, const tra_expr *y);
/* Q-5 where rows are selected from the entries of a tensor (x: the selection, y: the entries). */
void tra_slice_entries(tra_rewriting *w, tra_expr *x, tra_expr *y);
/* Q-5 for scattered rows of a product: where a join x, or a selection x of a join y, leaves some of them; and where
 * they are selected by their labels, y having the rows, of which the share `share` stays. */
void tra_select_scattered(tra_rewriting *w, tra_expr *x, tra_expr *y);
void tra_select_scattered_labels(tra_rewriting *w, tra_expr *x, tra_expr *y, double share);
/* Q-6, which looks at the whole program at once. */
void tra_narrow_tables(tra_rewriting *w);

/* An expression alone, or over one of its input, that rules are applied to in one direction. */
typedef struct tra_match {
    bool back;
    int side;
    tra_expr *y; /* NULL: alone */
} tra_match;

struct tra_rewriting {
    tra_memo *m;
    const tra_rule *rule; /* the one that is being applied */
    tra_refusals *refusals;
    int room; /* how many expressions the memo may have in the phase that is under way */
    int side; /* which input of the expression at hand the one below it is */
    bool changed;
    uint64_t *tried; /* a hash set of the matches that were tried; 0: an empty slot */
    int64_t ntried, captried;
    int nmatches, capmatches;
    tra_match *match; /* those of the expression at hand */
    uint64_t *seen;   /* of each expression the neighbourhoods in which all matches were tried: forth; forth and back */
};

/* Records that the rule's condition does not hold for x, and why. Returns NULL, which is also false. */
void *tra_refuse(tra_rewriting *w, const tra_expr *x, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Is there a reason why not? It is recorded as above. */
bool tra_refused(tra_rewriting *w, const tra_expr *x, const char *why);
/* Adds an expression in a group of its own, which belongs to x's statement if it says no other, or returns an equal one
 * (for a filter that removes nothing: its input). NULL when it does not type, which is recorded as a refusal at x, when
 * the memo is full, or when an input or the kernel is NULL, since that could not be made. */
tra_expr *tra_make_below(tra_rewriting *w, const tra_expr *x, tra_node proto);
/* Claims that proto computes what x does: adds it to x's group. y: the expression that was matched below x; l, r: those
 * that were made for proto's inputs; each may be NULL, they are kept for derivations. When proto does not type, or not
 * as x does, that is recorded as a refusal; an input or a kernel that is NULL claims nothing. */
void tra_claim(tra_rewriting *w, const tra_expr *x, const tra_expr *y, tra_node proto, const tra_expr *l,
               const tra_expr *r);
/* Claims that x computes the same as `in`, an expression of the memo: their groups are merged. */
void tra_claim_same(tra_rewriting *w, const tra_expr *x, const tra_node *in);
/* Exchanges two operators of one input: x over y becomes y over x, each with its own arguments. */
void tra_swap(tra_rewriting *w, tra_expr *x, tra_expr *y);
/* Adds `what` to the set of what was tried; was it there already? */
bool tra_tried(tra_rewriting *w, uint64_t what);

/* ---- prototypes: operators that are not typed, nor in the memo, yet ------------------------------------------ */

static inline tra_node *node_of(const tra_expr *x) { return (tra_node *)x; } /* NULL of NULL */
/* x's operator over another input, `in`. */
tra_node tra_over(const tra_expr *x, const tra_node *in);
tra_node tra_proto_transform(const tra_kernel *k, const tra_node *in);
/* An operator on rows: of l alone, or with r NULL not, of both: all pairs of blocks, or those of equal keys, of which
 * each has one. */
tra_node tra_proto_rows(tra_rewriting *w, const tra_rows_kernel *op, const tra_node *l, const tra_node *r);
tra_node tra_proto_rows_by(tra_rewriting *w, const tra_rows_kernel *op, const tra_node *l, const tra_node *r);
/* The relation with those n expressions of its keys as keys (tra_keyfn_new). */
tra_node tra_proto_rekey(tra_rewriting *w, const tra_node *in, const char *const *names, int n,
                         const tra_keyexpr *const *expr);
tra_node tra_proto_agg(const tra_kernel *k, const tra_dims *group, const tra_node *in);
const char *tra_kernel_name(tra_rewriting *w, const tra_kernel *k);

/* ---- predicates --------------------------------------------------------------------------------------------- */

/* A predicate as the conjunction of its parts, in the order in which they are evaluated. */
enum { MAX_CONJUNCTS = 32 };
typedef struct conjuncts {
    int n;
    const tra_keyexpr *v[MAX_CONJUNCTS];
} conjuncts;
void tra_split_predicate(const tra_keyfn *f, conjuncts *out);
/* Appends x unless it is there already; false when there is no room. */
bool tra_add_conjunct(conjuncts *c, const tra_keyexpr *x);
void tra_sort_conjuncts(conjuncts *c);
/* filter(in, conjunction); names: of the key components, NULL where there is none. */
tra_node tra_proto_filter(tra_rewriting *w, const conjuncts *c, const char *const *names, const tra_node *in);
/* Variable i of x becomes variable to[i], which must be >= 0 for those that x reads. */
const tra_keyexpr *tra_rename_vars(tra_rewriting *w, const tra_keyexpr *x, const int *to);

#endif
