/* storel_program.h - random expressions of the calculus over the tensors A, B (two dimensions), C, D (one). */
#ifndef TRA_STOREL_PROGRAM_H
#define TRA_STOREL_PROGRAM_H

#include "storel_draw.h"

/* Writes a random expression. Names that are bound are numbered, by what they stand for. */
typedef struct writer {
    tra_str out;
    int next, nints, nreals, nrows, ints[64], reals[64], rows[64];
} writer;

static void expression(writer *w, int depth, int left);

static void add(writer *w, const char *text) { tra_str_add(&w->out, text); }

static void whole(writer *w, int left) {
    static const char *const extents[] = {"n_i", "n_j", "n_k"};
    int what = below(left > 0 ? 8 : 3);
    if (what < 3 && w->nints && below(4)) {
        tra_str_printf(&w->out, "i%d", w->ints[below(w->nints)]);
    } else if (what < 2) {
        tra_str_printf(&w->out, "%d", below(5));
    } else if (what == 2) {
        add(w, extents[below(3)]);
    } else if (what == 7) {
        add(w, "max(");
        whole(w, left - 1);
        tra_str_printf(&w->out, ", %d)", below(4));
    } else {
        static const char *const ops[] = {" + 1)", " - 1)", " / 2)", " % 3)"};
        add(w, "(");
        whole(w, left - 1);
        add(w, ops[what - 3]);
    }
}

static void condition(writer *w, int left) {
    static const char *const ops[] = {" == ", " < ", " >= ", " != "};
    int what = below(5);
    if (what == 0 && left > 0) {
        condition(w, left - 1);
        add(w, below(2) ? " && " : " || ");
        condition(w, left - 1);
    } else if (what == 1 && left > 0) {
        expression(w, 0, left - 1);
        add(w, " > 0");
    } else {
        whole(w, left - 1);
        add(w, ops[below(4)]);
        whole(w, left - 1);
    }
}

/* One generator, whose names are bound from then on. */
static void generator(writer *w, int left) {
    int what = below(4), i = w->next++, v = w->next++, j = w->next++;
    if (what == 0) {
        tra_str_printf(&w->out, "<i%d, _> in 0:", i);
        whole(w, 0);
    } else if (what == 1) {
        tra_str_printf(&w->out, "<i%d, r%d> in ", i, v);
        expression(w, 1, left - 1);
        w->reals[w->nreals++] = v;
    } else if (what == 2) {
        tra_str_printf(&w->out, "<i%d, d%d> in ", i, v);
        expression(w, 2, left - 1);
        w->rows[w->nrows++] = v;
    } else {
        /* a name that is bound already must be equal to the new value */
        if (below(3) == 0) j = i;
        tra_str_printf(&w->out, "<(i%d, i%d), r%d> in ", i, j, v);
        expression(w, 2, left - 1);
        w->reals[w->nreals++] = v;
        w->ints[w->nints++] = j;
    }
    w->ints[w->nints++] = i;
}

static void sum(writer *w, int depth, int left) {
    writer before = *w;
    add(w, "(sum(");
    generator(w, left);
    if (below(3) == 0) {
        add(w, ", ");
        generator(w, left);
    }
    add(w, ") ");
    expression(w, depth, left - 1);
    add(w, ")");
    w->nints = before.nints, w->nreals = before.nreals, w->nrows = before.nrows;
}

static void let(writer *w, int depth, int left) {
    int v = w->next++, what = below(2);
    writer before = *w;
    tra_str_printf(&w->out, "(let %c%d = ", what ? 'd' : 'r', v);
    expression(w, what, left - 1);
    add(w, " in ");
    if (what)
        w->rows[w->nrows++] = v;
    else
        w->reals[w->nreals++] = v;
    expression(w, depth, left - 1);
    add(w, ")");
    w->nints = before.nints, w->nreals = before.nreals, w->nrows = before.nrows;
}

static void two(writer *w, int a, const char *op, int b, int left) {
    add(w, "(");
    expression(w, a, left - 1);
    add(w, op);
    expression(w, b, left - 1);
    add(w, ")");
}

static void number(writer *w, int left) {
    int what = below(8);
    if (what < 3 && w->nreals) {
        tra_str_printf(&w->out, "r%d", w->reals[below(w->nreals)]);
    } else if (what < 3) {
        add(w, below(2) ? "2.0" : "3.0");
    } else if (what == 3 && w->nrows) {
        tra_str_printf(&w->out, "d%d(", w->rows[below(w->nrows)]);
        whole(w, 1);
        add(w, ")");
    } else if (what == 3 && left > 0) {
        expression(w, 1, left - 1);
        add(w, "(");
        whole(w, 1);
        add(w, ")");
    } else if (what == 4) {
        add(w, below(2) ? "A(" : "B(");
        whole(w, 1);
        add(w, ", ");
        whole(w, 1);
        add(w, ")");
    } else if (what == 5 && left > 0) {
        static const char *const calls[][2] = {{"max(", ", 1.0)"},  {"min(", ", 2.0)"}, {"abs(", ")"},
                                               {"(", " / 2.0)"},    {"sqrt(", ")"},     {"exp(min(", ", 2.0))"},
                                               {"log(1.0 + ", ")"}, {"(", " / 3.0)"}};
        const char *const *call = calls[below(drawn == ROUNDED ? 8 : 4)];
        add(w, call[0]);
        expression(w, 0, left - 1);
        add(w, call[1]);
    } else {
        add(w, below(2) ? "C(" : "D(");
        whole(w, 1);
        add(w, ")");
    }
}

/* A dictionary of that depth, or a number. */
static void leaf(writer *w, int depth) {
    if (depth == 2) {
        add(w, below(2) ? "A" : "B");
    } else if (depth == 1 && w->nrows && below(2)) {
        tra_str_printf(&w->out, "d%d", w->rows[below(w->nrows)]);
    } else if (depth == 1 && below(3) == 0) {
        add(w, below(2) ? "A(" : "B(");
        whole(w, 1);
        add(w, ")");
    } else if (depth == 1) {
        add(w, below(2) ? "C" : "D");
    } else {
        number(w, 0);
    }
}

static void expression(writer *w, int depth, int left) {
    if (left <= 0 || w->next > 40) {
        leaf(w, depth);
        return;
    }
    switch (below(12)) {
    case 0:
    case 1:
    case 2: sum(w, depth, left); return;
    case 3: let(w, depth, left); return;
    case 4: two(w, depth, drawn == ROUNDED || below(3) ? " + " : " - ", depth, left); return;
    case 5: two(w, depth, " * ", 0, left); return;
    case 6: two(w, below(2) ? depth : 0, " * ", depth, left); return;
    case 7:
        add(w, "(if (");
        condition(w, left);
        add(w, ") ");
        expression(w, depth, left - 1);
        add(w, ")");
        return;
    case 8:
        if (depth == 0) break;
        if (below(3) == 0) { /* a quotient of a dictionary is one of each of its numbers */
            add(w, "(");
            expression(w, depth, left - 1);
            add(w, " / 2.0)");
            return;
        }
        add(w, drawn != ROUNDED && below(2) ? "(-" : "(0.5 * ");
        expression(w, depth, left - 1);
        add(w, ")");
        return;
    case 9:
        if (depth == 0) break;
        expression(w, depth, below(2) ? left - 1 : 0);
        add(w, "(");
        whole(w, 1);
        add(w, ":");
        whole(w, 1);
        add(w, ")");
        return;
    default:
        if (depth == 0) break;
        add(w, "{");
        whole(w, 1);
        add(w, " -> ");
        expression(w, depth - 1, left - 1);
        add(w, "}");
        return;
    }
    if (depth)
        leaf(w, depth);
    else
        number(w, left);
}

#endif
