/* made_rows.c - values of rows that are read, compared and written where parts of programs run before the rest. */
#include "made_rows.h"

#include <string.h>

tra_vector tra_vector_room(tra_arena *a, const tra_column *c, int64_t rows) {
    tra_vector v = {tra_arena_array(a, (size_t)rows + 1, tra_coltype_size(c->type)), NULL};
    if (tra_column_has_states(c)) v.state = tra_news(a, uint8_t, rows + 1);
    return v;
}

bool tra_values_equal(tra_coltype type, tra_vector x, int64_t i, tra_vector y, int64_t k) {
    int s = x.state ? x.state[i] : TRA_STATE_VALUE, t = y.state ? y.state[k] : TRA_STATE_VALUE;
    if (s != TRA_STATE_VALUE || t != TRA_STATE_VALUE) return s == t;
    tra_dtype held = tra_coltype_held(type);
    if (!tra_dtype_is_float(held)) return tra_element_whole(held, x.values, i) == tra_element_whole(held, y.values, k);
    double a = tra_element_real(held, x.values, i), b = tra_element_real(held, y.values, k);
    return a == b || (a != a && b != b);
}

void tra_value_copy(tra_coltype type, tra_vector to, int64_t i, tra_vector from, int64_t k) {
    size_t size = tra_coltype_size(type);
    memcpy((char *)to.values + (size_t)i * size, (const char *)from.values + (size_t)k * size, size);
    if (to.state) to.state[i] = from.state ? from.state[k] : TRA_STATE_VALUE;
}
