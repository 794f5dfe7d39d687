/* chance.h - how many of several things chance reaches: the formulas of all estimates. Numbers need not be whole. */
#ifndef TRA_CHANCE_H
#define TRA_CHANCE_H

/* The chance that one of n independent things happens at least, each of which happens with chance p: 1 - (1 - p)^n,
 * exact also where p is small. Less than one of them happens in proportion. */
double tra_any_of(double p, double n);
/* How many different values so many draws find, each of which is any of the values alike: values (1 - (1 - 1 /
 * values)^draws), never more than there are draws (Cardenas). Of no values it finds none. */
double tra_distinct_after(double values, double draws);
/* How many boxes of `each` places have one of so many items, of which no two are in one place: boxes (1 - C(places -
 * each, items) / C(places, items)), exact where a box or the items are few (Yao). */
double tra_boxes_with_any(double boxes, double each, double items);

#endif
