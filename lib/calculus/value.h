/* value.h - what expressions evaluate to: numbers, dictionaries that the interpreter builds, and views of dictionaries
 * that others hold. Private to lib/calculus. */
#ifndef TRA_CALC_VALUE_H
#define TRA_CALC_VALUE_H

#include "calc_parse.h"

/* A dictionary that was built. From malloc. */
typedef struct calc_dict calc_dict;
typedef union calc_cell {
    int64_t i;
    double r;
    calc_dict *dict;
} calc_cell;
struct calc_dict {
    int depth; /* at least 1 */
    bool real;
    bool sorted; /* finished: ascending, without values that are 0 */
    int64_t n, cap, nslots;
    int64_t *key;
    calc_cell *cell;
    int64_t *slot; /* while it is built: place of a key + 1 by its hash, or 0 */
};
bool calc_is_full(void); /* do dictionaries take more than tra_calc_limit allows? */
calc_dict *calc_dict_new(int depth, bool real);
void calc_dict_free(calc_dict *d);
/* Adds a number at a key of d->depth parts; false where integers overflow. */
bool calc_dict_add(calc_dict *d, const int64_t *key, tra_calc_number v);
void calc_dict_finish(calc_dict *d);

typedef enum calc_value_kind {
    CALC_VALUE_NUMBER,
    CALC_VALUE_RANGE,
    CALC_VALUE_COMPONENT,
    CALC_VALUE_OPERAND,
    CALC_VALUE_DICT
} calc_value_kind;

/* A number, or a view of a dictionary: what is left of it after some keys, restricted to keys lo..hi-1. */
typedef struct calc_value {
    calc_value_kind kind;
    int depth; /* 0: a number */
    tra_calc_number number;
    bool unknown;    /* an element of a component that is not given: only its place counts */
    int component;   /* index in the scope that the number comes from, or the component looked into; or -1 */
    int64_t element; /* NUMBER of a component */
    int64_t lo, hi;
    const tra_component_data *data; /* COMPONENT */
    tra_component_kind held;
    int level;           /* COMPONENT, OPERAND: keys that were given already */
    int64_t first, last; /* COMPONENT of keys: the entries that have these keys */
    const tra_calc_operand *operand;
    const int64_t *prefix; /* OPERAND: the keys */
    const calc_dict *dict; /* DICT; NULL: the empty one */
} calc_value;

calc_value calc_number(tra_calc_number v);
/* The 0 of a type. */
calc_value calc_zero(tra_calc_type t);
calc_value calc_dict_value(const calc_dict *d, int depth);
calc_value calc_component_value(int index, const tra_calc_free *f, tra_calc_type t);
/* The keys lo..hi-1 of dimension d of an operand, which has some. */
void calc_operand_bounds(const tra_calc_operand *o, int d, calc_value *v);
/* The value at a key, 0 where it has none. prefix: room for the keys of an operand, which the result may look into. */
tra_status calc_value_get(const calc_value *v, bool real, int64_t key, int64_t *prefix, calc_value *out, tra_err *e);
/* The least key that is not below *key: false where there is none. */
bool calc_value_next(const calc_value *v, int64_t *key);

#endif
