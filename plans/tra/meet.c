/* meet.c - dimensions that meet in a statement or an operator: their positions must stand for the same things in one
 * order (lib/model/labels.h), as far as that is known. */
#include "build.h"

#include <string.h>

const tra_dim_order *tra_order_of_dim(const tra_node *n, int d) { return n->order ? n->order[d] : NULL; }

const tra_dim_order *tra_dim_order_new(tra_build *b, int by, const char *of) {
    tra_dim_order *o = tra_new(b->arena, tra_dim_order);
    o->by = by;
    o->of = of ? of : "a table";
    return o;
}

void tra_set_dim(tra_build *b, tra_node *n, int d, const tra_dim_labels *labels, const tra_dim_order *order) {
    if (labels || n->labels) {
        const tra_dim_labels **l = tra_news(b->arena, const tra_dim_labels *, TRA_MAXDIM);
        if (n->labels) memcpy(l, n->labels, TRA_MAXDIM * sizeof(*l));
        l[d] = labels;
        n->labels = l;
    }
    if (order || n->order) {
        const tra_dim_order **o = tra_news(b->arena, const tra_dim_order *, TRA_MAXDIM);
        if (n->order) memcpy(o, n->order, TRA_MAXDIM * sizeof(*o));
        o[d] = order;
        n->order = o;
    }
}

/* ---- what meets what -------------------------------------------------------------------------------------------- */

static const char *name_of(const tra_node *n, const char *other) { return n->name ? n->name : other; }

/* "the values of 'id' in ascending order", "the rows of t in their order", "positions of x.h5". */
static const char *order_text(tra_build *b, const tra_dim_order *o) {
    switch (o->by) {
    case TRA_ORDER_KEYS:
        return tra_arena_printf(b->arena, "the values of '%s' in ascending order, as pivot has them", o->of);
    case TRA_ORDER_ROWS: return tra_arena_printf(b->arena, "the rows of %s in their order", o->of);
    case TRA_ORDER_FILE: break;
    }
    return tra_arena_printf(b->arena, "positions that %s does not label", o->of);
}

/* Says that keys meet what nobody has put in their order: an error where that is rows, else a warning. */
static bool refuse_orders(tra_build *b, tra_span span, const char *what, const tra_node *x, const tra_dim_order *keys,
                          const tra_node *y, const tra_dim_order *other) {
    const char *text = tra_arena_printf(b->arena, "%s stands for %s in %s, and for %s in %s", what, order_text(b, keys),
                                        name_of(x, "one reference"), order_text(b, other), name_of(y, "another"));
    const char *key = tra_is_plain_name(keys->of) ? keys->of : tra_arena_printf(b->arena, "`%s`", keys->of);
    if (other->by == TRA_ORDER_FILE) {
        tra_diag_warn_always(b->d, span,
                             "label(X, d, T, column) says what its positions stand for, align(X, d, Y, e) brings them "
                             "into the order of another's; unlabel(X, d) insists on positions",
                             "%s: they are paired by position", text);
        return true;
    }
    return tra_diag_error(b->d, span,
                          tra_arena_printf(b->arena,
                                           "label the rows, matrix(T, [..], rows = %s), and bring them into one order: "
                                           "align(X, d, Y, e) or order(T, [%s]); unlabel(X, d) insists on positions",
                                           key, key),
                          "%s", text);
}

static const char *label_text(tra_build *b, const tra_dim_labels *l, int64_t at) {
    return at < l->n ? tra_dim_labels_text(b->arena, l, at) : "nothing";
}

bool tra_meeting_add(tra_build *b, tra_span span, tra_meeting *m, const char *what, const tra_node *x, int d) {
    const tra_dim_labels *own = x->labels ? x->labels[d] : NULL;
    const tra_dim_order *order = tra_order_of_dim(x, d);
    int64_t at = own && m->labels ? tra_dim_labels_differ(m->labels, own) : -1;
    if (at >= 0)
        return tra_diag_error(
            b->d, span,
            "align(X, d, Y, e) brings them into one order, unlabel(X, d) insists on positions; or select "
            "the same columns of both",
            "%s stands for different things: position %" PRId64 " is '%s' in %s, '%s' in %s", what, at,
            label_text(b, m->labels, at), name_of(m->labelled, "one reference"), label_text(b, own, at),
            name_of(x, "another"));
    if (own && !m->labels) m->labels = own, m->labelled = x;
    if (!order) return true;
    /* of what has labels these were compared */
    int by = order->by == TRA_ORDER_KEYS ? TRA_ORDER_KEYS : own ? -1 : (int)order->by;
    if (by >= 0 && !m->order[by]) {
        m->order[by] = order;
        m->by[by] = x;
        for (int i = TRA_ORDER_ROWS; i >= TRA_ORDER_FILE && by == TRA_ORDER_KEYS; i--)
            if (m->order[i] && !refuse_orders(b, span, what, x, order, m->by[i], m->order[i])) return false;
        if (by != TRA_ORDER_KEYS && m->order[TRA_ORDER_KEYS])
            return refuse_orders(b, span, what, m->by[TRA_ORDER_KEYS], m->order[TRA_ORDER_KEYS], x, order);
    }
    return true;
}

const tra_dim_order *tra_meeting_order(const tra_meeting *m) {
    for (int i = TRA_ORDER_KEYS; i >= TRA_ORDER_FILE; i--)
        if (m->order[i]) return m->order[i];
    return NULL;
}
