/* chance.c - how many of several things chance reaches. */
#include "chance.h"

#include <math.h>

double tra_any_of(double p, double n) {
    if (!(p > 0) || !(n > 0)) return 0;
    if (n < 1 || p >= 1) return fmin(1, p) * fmin(1, n);
    return -expm1(n * log1p(-p));
}

double tra_distinct_after(double values, double draws) {
    return values > 0 ? fmin(draws, fmax(1, values) * tra_any_of(1 / fmax(1, values), draws)) : 0;
}

/* A box is empty if none of its places is one of the items', nor any item's place one of its. So the lesser number of
 * both are drawn, each from what the others have left. */
double tra_boxes_with_any(double boxes, double each, double items) {
    enum { EXACT = 64 };
    double places = boxes * each, few = fmin(each, items), many = fmax(each, items), log_none = 0;
    if (!(items > 0) || !(places > 0)) return 0;
    if (few + many > places) return boxes;
    double drawn = 0, step;
    for (; few - drawn > 0; drawn += step) {
        step = drawn < EXACT ? fmin(1, few - drawn) : few - drawn;
        double left = places - drawn - fmax(0, step - 1) / 2; /* for the last ones at once: on average */
        log_none += step * log1p(-many / left);
    }
    return fmin(items, -boxes * expm1(log_none));
}
