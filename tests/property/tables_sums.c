/* tables_sums.c - random sums of products over rows of tables and of joins, and random tensors made of tables. */
#include "tables_int.h"

#include <string.h>

/* ---- over the rows of tables ------------------------------------------------------------------------------------- */

/* The rows of X, u and v, of which perhaps only the run tells how many there are: in every storage, as rows and columns
 * of products, and in sums and means with terms that know nothing of them. */
static void draw_counted(maker *m) {
    static const char *const storages[] = {"csr", "csc",      "coo",   "dcsr",       "dcsc",
                                           "csf", "colmajor", "dense", "band(4000)", NULL};
    static const char *const results[] = {"[n,a]%s = if(X[n,a] > 0, X[n,a], 0)", "[a,n]%s = X[n,a] * 2",
                                          "[n,m]%s = sum X[n,a] * X[m,a]", "[n,b]%s = sum X[n,a] * XX[a,b]",
                                          "[n,a]%s = X[n,a] - mean[m](X[m,a])"};
    static const char *const sums[] = {"sum (X[n,a] + XX[b,c])", "sum (2 * X[n,a] - X[m,b] * 3)",
                                       "mean (X[n,a] * XX[b,a])", "sum (X[n,a] * X[m,b] + XX[a,b])"};
    const char *storage = storages[rng_below(&m->g, 10)];
    const char *as = storage ? tra_arena_printf(m->a, " as %s", storage) : "";
    tra_str_add(&m->text, "XC");
    tra_str_printf(&m->text, results[rng_below(&m->g, 5)], as);
    tra_str_add(&m->text, "\noutput XC to \"XC.h5\"\n");
    tra_str_printf(&m->text, "XD[a,b] = %s\noutput XD to \"XD.h5\"\n", sums[rng_below(&m->g, 4)]);
}

/* Sums of products over the rows of the last table. */
void draw_matrix(maker *m, const table *of) {
    const known *x = some_column(m, of, REAL), *y = some_column(m, of, WHOLE);
    tra_str_printf(&m->text, "N = rows(%s)\noutput N to \"N.h5\"\n", of->name);
    if (!x || !y) return;
    const char *columns =
        tra_arena_printf(m->a, "[u = if(`%s` > 50 || `%s` < -50, 1.0, `%s`), v = `%s` %% 9]%s", x->name, x->name,
                         x->name, y->name, rng_chance(&m->g, 80) ? ", fill = 2" : "");
    tra_str_printf(&m->text, "X = matrix(%s, %s)\nXX[a,b] = sum X[n,a] * X[n,b]\noutput XX to \"XX.h5\"\n", of->name,
                   columns);
    if (rng_chance(&m->g, 60)) draw_counted(m);
    if (rng_chance(&m->g, 30)) tra_str_add(&m->text, "XU, Xs, XV = svd(X)\noutput Xs to \"Xs.h5\"\n");
    if (rng_chance(&m->g, 20)) /* twice the rows: a single row would be refused, since there are more columns */
        tra_str_printf(&m->text,
                       "X2 = union(%s, %s)\nXT = matrix(X2, %s)\nXL = solve(XT, XT)\noutput XL to \"XL.h5\"\n",
                       of->name, of->name, columns);
    if (rng_chance(&m->g, 20))
        tra_str_add(&m->text, "XQ, XR = qr(X)\nXP[n,a] = sum XQ[n,b] * XR[b,a]\n" /* Q R is X, even where X has linearly
                                                                                     dependent columns */
                              "XI[a,b] = sum XP[n,a] * X[n,b]\noutput XI to \"XI.h5\"\n");
}

/* A random column of a matrix, as an expression: a constant, or of columns of a table. */
static const char *feature(maker *m, const table *of) {
    const known *x = some_column(m, of, REAL), *y = some_column(m, of, WHOLE), *z = some_column(m, of, WHOLE);
    switch (rng_below(&m->g, 6)) {
    case 0: return "1";
    case 1: return x ? tra_arena_printf(m->a, "`%s`", x->name) : "2.5";
    case 2: return y && z ? tra_arena_printf(m->a, "(`%s` %% 5) * (`%s` %% 3)", y->name, z->name) : "3";
    case 3: return tra_arena_printf(m->a, "if(%s, 1, 0.5)", truth(m, of, 1));
    case 4: return x && y ? tra_arena_printf(m->a, "`%s` * (`%s` %% 4)", x->name, y->name) : "0.25";
    default: return y ? tra_arena_printf(m->a, "`%s` %% 7", y->name) : "7";
    }
}

static void draw_features(maker *m, const table *of, const char *name) {
    tra_str_printf(&m->text, "%s = matrix(%s, [", name, of->name);
    for (int i = 0, n = (int)rng_range(&m->g, 1, 4); i < n; i++)
        tra_str_printf(&m->text, "%sc%d = %s", i ? ", " : "", i, feature(m, of));
    tra_str_printf(&m->text, "]%s)\n", rng_chance(&m->g, 90) ? ", fill = 0.5" : "");
}

/* Elements of FXX, whose rows and columns are called c0, c1, ..., by these names. */
static void draw_entries(maker *m) {
    static const char *const by[] = {">", ">=", "<", "==", "!="};
    tra_str_printf(&m->text, "FE = select(entries(FXX), a %s \"c%d\" && b %s \"c%d\")\noutput FE to \"FE.h5\"\n",
                   by[rng_below(&m->g, 5)], (int)rng_below(&m->g, 4), by[rng_below(&m->g, 5)],
                   (int)rng_below(&m->g, 4));
}

/* Sums of the rows and columns of FX, and its products with arrays that are no matrices of a table. */
static void draw_products(maker *m) {
    tra_str_add(&m->text, "FC[a] = sum FX[n,a]\noutput FC to \"FC.h5\"\n");
    if (rng_chance(&m->g, 50))
        tra_str_add(&m->text, "FN[n] = sum FX[n,a]\nFNT = table(FN)\noutput FNT to \"FNT.h5\"\n");
    if (rng_chance(&m->g, 50))
        tra_str_add(&m->text, "FW[a,b] = FXX[a,b] / (1 + abs(FXX[a,b]))\nFZ[n,b] = sum FX[n,a] * FW[a,b]\n"
                              "FZT = table(FZ)\noutput FZT to \"FZT.h5\"\n");
    if (rng_chance(&m->g, 50))
        tra_str_add(&m->text, "FV[n] = max FX[n,a]\nFG[a] = sum FX[n,a] * FV[n]\noutput FG to \"FG.h5\"\n");
}

/* Sums of products over joins by whole numbers, which are there more than once, not at all, or NULL: what rules make
 * without the rows of the join. */
void draw_factorised(maker *m) {
    const table *at = &m->t[0];
    int joins = (int)rng_range(&m->g, 1, 3);
    for (int j = 0; j < joins; j++) {
        static const char *const hows[] = {"inner", "inner", "inner", "left", "semi"};
        const table *with = &m->t[1 + rng_below(&m->g, INPUTS - 1)];
        const char *how =
            j == 2 ? "semi" : hows[rng_below(&m->g, 5)]; /* few rows, so that the reference does not take long */
        const known *key = some_column(m, at, WHOLE);
        char name[64];
        table *t = begin(m, at);
        tra_str_printf(&m->text, "join(%s, %s, `%s` == k, how = %s, prefix = \"f%d_\"%s)\n", at->name, with->name,
                       key->name, how, j, rng_chance(&m->g, 20) ? ", nulls = match" : "");
        t->small = false;
        for (int i = 0; i < with->n && *how != 's'; i++) {
            bool shared = !strcmp(with->c[i].name, "k") && !strcmp(key->name, "k");
            snprintf(name, sizeof name, "f%d_%s", j, with->c[i].name);
            if (!shared && strlen(name) < sizeof t->c->name) add_column(t, name, with->c[i].k);
        }
        at = t;
        if (rng_chance(&m->g, 40)) draw_select(m, at), at = &m->t[m->ntables - 1];
    }
    if (rng_chance(&m->g, 30)) tra_str_printf(&m->text, "output %s to \"FT.h5\"\n", at->name);
    draw_features(m, at, "FX");
    tra_str_add(&m->text, "FXX[a,b] = sum FX[n,a] * FX[n,b]\noutput FXX to \"FXX.h5\"\n");
    if (rng_chance(&m->g, 30)) draw_entries(m);
    if (rng_chance(&m->g, 60)) draw_products(m);
    if (rng_chance(&m->g, 50)) return;
    draw_features(m, at, "FY");
    tra_str_add(&m->text, "FXY[a,b] = sum FX[n,a] * FY[n,b]\noutput FXY to \"FXY.h5\"\n");
}

/* ---- across the border ------------------------------------------------------------------------------------------- */

/* A key of a pivot, called `name`: a column, *c, or what is computed of it; its kind. False: there is none. */
static bool pivot_key(maker *m, const table *of, const char *name, const known **c, kind *k, const char **text) {
    static const kind kinds[] = {WHOLE, WHOLE, WORD, WORD, DAY, TRUTH};
    *k = kinds[rng_below(&m->g, 6)];
    if (!(*c = some_column(m, of, *k)) || !(*c)->some) return false; /* else the matrix might have no rows */
    bool computed = rng_chance(&m->g, 30);
    *text = tra_arena_printf(m->a, "%s = `%s`", name, (*c)->name);
    if (computed && *k == WHOLE) *text = tra_arena_printf(m->a, "%s = ifnull(`%s`, 7) %% 5", name, (*c)->name);
    if (computed && *k == DAY) {
        *text = tra_arena_printf(m->a, "%s = month(`%s`)", name, (*c)->name);
        *k = WHOLE;
    }
    return true;
}

/* Rows of BE that a join with a table, by the labels of its rows or columns, leaves; or a predicate on labels. */
static void draw_left(maker *m, const table *be, kind row, kind column) {
    static const char *const hows[] = {"inner", "inner", "semi", "semi", "left", "anti"};
    const table *with = &m->t[rng_below(&m->g, INPUTS)];
    bool by_row = rng_chance(&m->g, 80);
    const known *key = some_column(m, with, by_row ? row : column);
    if (!key || rng_chance(&m->g, 30)) {
        draw_select(m, be);
        return;
    }
    const char *how = hows[rng_below(&m->g, 6)];
    if (rng_chance(&m->g, 25)) {
        (void)begin(m, with);
        tra_str_printf(&m->text, "join(%s, %s, `%s` == %s, how = %s, prefix = \"b_\")\n", with->name, be->name,
                       key->name, by_row ? "a" : "b", how);
        return;
    }
    table *t = begin(m, be);
    tra_str_printf(&m->text, "join(%s, %s, %s == `%s`%s, how = %s, prefix = \"b_\")\n", be->name, with->name,
                   by_row ? "a" : "b", key->name, rng_chance(&m->g, 20) ? " && value > 2" : "", how);
    for (int i = 0; i < with->n && *how != 's' && *how != 'a'; i++) {
        char name[64];
        snprintf(name, sizeof name, "b_%s", with->c[i].name);
        if (strlen(name) < sizeof t->c->name) add_column(t, name, with->c[i].k);
    }
    if (rng_chance(&m->g, 60)) draw_select(m, t);
}

/* A matrix of counts or sums by two keys, which are there more than once, or not at all; products of it; and what is
 * left of their elements by joins and predicates. */
void draw_border(maker *m) {
    static const char *const aggs[] = {"sum", "sum", "count", "max"};
    static const char *const products[] = {"BX[a,b] = sum BP[n,a] * BP[n,b]\n", "BX[a,b] = sum BP[a,n] * BP[b,n]\n",
                                           "BQ[a,n] = sum BP[a,k] * BP[n,k]\nBX[a,b] = sum BQ[a,n] * BP[n,b]\n"};
    const table *of = &m->t[rng_below(&m->g, INPUTS)];
    const known *rc, *cc, *v = some_column(m, of, WHOLE);
    const char *r, *c;
    kind row, column;
    int form = (int)rng_below(&m->g, 3);
    if (!pivot_key(m, of, "r", &rc, &row, &r) || !pivot_key(m, of, "c", &cc, &column, &c) || !v) return;
    tra_str_printf(&m->text,
                   "BP = pivot(select(%s, !isnull(`%s`) && !isnull(`%s`)), %s, %s, ifnull(`%s`, 3) %% 9, %s)\n%s",
                   of->name, rc->name, cc->name, r, c, v->name, aggs[rng_below(&m->g, 4)], products[form]);
    bool mapped = rng_chance(&m->g, 40);
    if (mapped) tra_str_add(&m->text, "BS[a] = sum BX[a,b]\nBC[a,b] = (BX[a,b] - BS[a] / 4) * 0.5\n");
    if (rng_chance(&m->g, 20)) tra_str_add(&m->text, "BT = table(BX)\noutput BT to \"BT.h5\"\n");
    if (rng_chance(&m->g, 15)) tra_str_add(&m->text, "BU, Bs, BV = svd(BP)\noutput Bs to \"Bs.h5\"\n");
    if (rng_chance(&m->g, 15) && form < 2) tra_str_add(&m->text, "Bw, BV2 = eigh(BX)\noutput Bw to \"Bw.h5\"\n");
    kind first = form == 0 ? column : row, second = form == 1 ? row : column;
    table like = {.n = 0};
    add_column(&like, "a", first);
    add_column(&like, "b", second);
    add_column(&like, "value", mapped ? REAL : WHOLE);
    const table *be = begin(m, &like);
    tra_str_printf(&m->text, "entries(%s)\n", mapped ? "BC" : "BX");
    draw_left(m, be, first, second);
    const table *last = &m->t[m->ntables - 1];
    tra_str_printf(&m->text, "output %s to \"BL.h5\"\n", last->name);
    if (second == WORD || !rng_chance(&m->g, 40)) return; /* of words a column might be called as the labels are */
    like = (table){.n = 0};
    add_column(&like, "a", first);
    be = begin(m, &like);
    tra_str_printf(&m->text, "table(%s)\n", mapped ? "BC" : "BX");
    draw_select(m, be);
    tra_str_printf(&m->text, "output %s to \"BW.h5\"\n", m->t[m->ntables - 1].name);
}
