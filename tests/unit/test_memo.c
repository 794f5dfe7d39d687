/* The memo: equal expressions are one, merged groups stay congruent, the order has no cycles, the room ends. */
#include "check.h"

#include "../../plans/rules/memo.h"
#include "../../plans/tra/load.h"

typedef struct made {
    tra_program p;
    tra_memo *m;
} made;

static made make(const char *text) {
    made x = {0};
    tra_err e = {0};
    CHECK_OK(
        tra_program_from_text("test", tra_strdup(text), strlen(text), &(tra_building){.dir = "."}, false, &x.p, &e), e);
    if (x.p.graph) x.m = tra_memo_new(x.p.graph, x.p.arena);
    return x;
}

static void done(made *x) { tra_program_free(&x->p); }

static tra_expr *expr_of(const made *x, const char *name) {
    for (int i = 0; i < x->p.graph->nnames; i++) {
        const tra_named *n = &x->p.graph->names[i];
        if (strcmp(n->name, name) == 0 && x->m->of_node[n->node->id] >= 0) return x->m->v[x->m->of_node[n->node->id]];
    }
    check_report("%s is not in the memo", name);
    abort();
}

static int group_of(const made *x, const char *name) { return tra_memo_find(x->m, expr_of(x, name)->group); }

/* The operator of a statement over other inputs. */
static tra_node over(const made *x, const char *name, const tra_node *l, const tra_node *r) {
    tra_node n = expr_of(x, name)->node;
    n.in[0] = (tra_node *)l;
    n.in[1] = (tra_node *)r;
    return n;
}

TEST(equal_expressions_are_one) {
    made x =
        make("input A : f64 [8,8] by [2,2]\ninput B : f64 [8,8] by [2,2]\n"
             "C = agg(join(A, B, [1], [0], matmul), [0,2], matadd)\n"
             "D = agg(join(A, B, [1], [0], matmul), [0,2], matadd)\n"
             "E = agg(join(A, B, [1], [1], matmul), [0,2], matadd)\nF = filter(C, (i,j) -> i < 2)\n"
             "G = filter(D, (a,b) -> a < 2)\nH = filter(D, (a,b) -> b < 2)\nI = transform(H, x -> x + 1)\n"
             "J = transform(H, y -> y + 1)\nK = transform(H, y -> y + 1.0000000000000002)\nU = transform(A, exp)\n"
             "L = rekey(A, (i,j) -> (j,i))\nM = rekey(B, (i,j) -> (j,i))\n"
             "output C\noutput D\noutput E\noutput F\noutput G\noutput I\noutput J\noutput K\noutput L\noutput M\n");
    CHECK_INT(group_of(&x, "C"), group_of(&x, "D"));
    CHECK(group_of(&x, "C") != group_of(&x, "E"));
    CHECK_INT(group_of(&x, "F"), group_of(&x, "G"));
    CHECK(group_of(&x, "G") != group_of(&x, "H"));
    CHECK_INT(group_of(&x, "I"), group_of(&x, "J"));
    CHECK(group_of(&x, "I") != group_of(&x, "K"));
    CHECK(group_of(&x, "L") != group_of(&x, "M"));
    for (int i = 0; i < x.p.graph->nnames; i++) {
        if (strcmp(x.p.graph->names[i].name, "U") == 0) CHECK_INT(x.m->of_node[x.p.graph->names[i].node->id], -1);
    }
    CHECK_INT(x.m->n, x.m->ngroups);
    CHECK_STR(expr_of(&x, "C")->node.name, "C");
    for (int i = 0; i < x.m->n; i++) {
        CHECK_INT(x.m->v[i]->node.id, i);
        for (int j = 0; j < 2 && x.m->v[i]->node.in[j]; j++)
            CHECK_INT(tra_memo_expr(x.m->v[i]->node.in[j])->group, x.m->v[i]->in[j]);
    }
    done(&x);
}

/* Operators on rows are equal where their arguments are, however these are written; one part of them tells two apart.
 */
TEST(operators_on_rows_are_told_apart_by_their_arguments) {
    static const char *const equal[][2] = {
        {"select(T, k > 2)", "select(T, k > 1 + 1)"},
        {"project(T, k, y = x * 2)", "project(T, k = k, y = (x * 2))"},
        {"group(T, [k], s = sum(x))", "group(T, [k], s = sum((x)))"},
        {"order(T, [k, x desc])", "order(T, [`k`, x desc])"},
        {"join(T, R, k == k && x < v)", "join(T, R, k == k && (x) < v)"},
    };
    static const char *const unlike[][2] = {
        {"select(T, x > 0.1)", "select(T, x > 0.10000000000000002)"},
        {"project(T, k, y = x)", "project(T, k, z = x)"},
        {"group(T, [k], s = quantile(x, 0.5))", "group(T, [k], s = quantile(x, 0.25))"},
        {"order(T, [k, x])", "order(T, [k, x desc])"},
        {"distinct(T, [k])", "distinct(T, [x])"},
        {"limit(T, 5, from = 1)", "limit(T, 5, from = 2)"},
        {"join(T, R, k == k)", "join(T, R, k == k, nulls = match)"},
        {"join(T, R, k == k && x < v)", "join(T, R, k == k && x <= v)"},
        {"join(T, R, k == k, asof = x >= v)", "join(T, R, k == k, asof = x > v)"},
        {"window(T, [k], [x], s = sum(x), frame = rows(-2, 0))",
         "window(T, [k], [x], s = sum(x), frame = rows(-1, 0))"},
    };
    int nequal = (int)(sizeof equal / sizeof *equal), n = nequal + (int)(sizeof unlike / sizeof *unlike);
    for (int i = 0; i < n; i++) {
        char text[512];
        const char *const *two = i < nequal ? equal[i] : unlike[i - nequal];
        snprintf(text, sizeof text,
                 "input T : table [k: i32, x: f64] rows 900000 by 100000\ninput R : table [k: i32, v: f64] rows 50\n"
                 "A = %s\nB = %s\nV = rows(R)\noutput A\noutput B\noutput V\n",
                 two[0], two[1]);
        made x = make(text);
        if ((group_of(&x, "A") == group_of(&x, "B")) != (i < nequal))
            check_report("%s and %s are %s", two[0], two[1], i < nequal ? "two" : "one");
        done(&x);
    }
}

TEST(an_added_expression_is_typed_and_must_fit) {
    made x = make("input A : f64 [9,9] by [2,2]\nB = transform(A, exp)\nC = transform(B, neg)\n"
                  "D = rekey(C, (i,j) -> (j,i))\nE = transform(C, rowsum)\nF = filter(C, (i,j) -> i < 4)\n"
                  "output C\noutput D\noutput E\noutput F\n");
    const char *why = "";
    int n = x.m->n, groups = x.m->ngroups;
    const tra_node *a = &expr_of(&x, "A")->node, *b = &expr_of(&x, "B")->node;
    tra_node p = over(&x, "C", b, NULL); /* known */
    CHECK_INT(tra_memo_add(x.m, &p, -1, &why), expr_of(&x, "C")->node.id);
    CHECK_INT(tra_memo_add(x.m, &p, group_of(&x, "C"), &why), expr_of(&x, "C")->node.id);
    CHECK_INT(x.m->n, n);
    p = over(&x, "D", a, NULL); /* cut otherwise than what it is claimed to equal */
    CHECK_INT(tra_memo_add(x.m, &p, group_of(&x, "A"), &why), -1);
    CHECK(why && strstr(why, "cut"));
    p = over(&x, "E", a, NULL);
    CHECK_INT(tra_memo_add(x.m, &p, group_of(&x, "A"), &why), -1);
    CHECK(why && strstr(why, "bounds"));
    p = over(&x, "F", a, NULL);
    CHECK_INT(tra_memo_add(x.m, &p, group_of(&x, "A"), &why), -1);
    CHECK(why && strstr(why, "frontiers"));
    CHECK_INT(x.m->n, n);
    CHECK_INT(x.m->ngroups, groups);
    p = over(&x, "F", a, NULL);
    int made = tra_memo_add(x.m, &p, -1, &why);
    CHECK_INT(made, n);
    CHECK_INT(x.m->ngroups, groups + 1);
    CHECK_INT(x.m->v[made]->node.type.cat->frontier.v[0], 4);
    CHECK_INT(x.m->v[made]->equality, -1);
    p = over(&x, "D", &expr_of(&x, "D")->node, NULL);
    p.block = (tra_dims){1, {1}};
    p.op = TRA_OP_REPART;
    CHECK_INT(tra_memo_add(x.m, &p, -1, &why), -1); /* does not type */
    CHECK(why && *why);
    done(&x);
}

/* neg(neg(A)) = A makes exp(neg(neg(A))) and exp(A) one, and what is computed from them. */
TEST(merged_groups_are_congruent) {
    made x = make("input A : f64 [8] by [2]\nB = transform(A, neg)\nC = transform(B, neg)\nD = transform(C, exp)\n"
                  "E = transform(A, exp)\nF = join(D, E, [0], [0], matvecadd)\nG = join(E, E, [0], [0], matvecadd)\n"
                  "H = join(E, D, [0], [0], matvecsub)\noutput F\noutput G\noutput H\n");
    tra_node p = over(&x, "E", &expr_of(&x, "C")->node, NULL);
    CHECK(group_of(&x, "D") != group_of(&x, "E"));
    CHECK_INT(tra_memo_add(x.m, &p, group_of(&x, "E"), NULL), expr_of(&x, "D")->node.id); /* claims D = E */
    tra_memo_rebuild(x.m);
    CHECK_INT(group_of(&x, "D"), group_of(&x, "E"));
    CHECK_INT(group_of(&x, "F"), group_of(&x, "G"));
    CHECK(group_of(&x, "F") != group_of(&x, "H"));
    CHECK(expr_of(&x, "F") == expr_of(&x, "G"));
    const tra_memo_group *g = &x.m->group[group_of(&x, "F")];
    CHECK_INT(g->n, 1);
    CHECK_INT(x.m->group[group_of(&x, "D")].n, 2);
    int n;
    bool *skip;
    int *order = tra_memo_order(x.m, &n, &skip);
    for (int i = 0; i < n; i++) CHECK_INT(tra_memo_find(x.m, order[i]), order[i]);
    for (int i = 0; i < x.m->n; i++) CHECK(!skip[i]);
    CHECK_INT(n, 6); /* A B C DE FG H */
    done(&x);
}

/* Each group after its inputs', unless skipped; every group has what is not. */
static void check_order(const made *x, int want) {
    int n;
    bool *skip;
    int *order = tra_memo_order(x->m, &n, &skip), *at = tra_calloc((size_t)x->m->ngroups, sizeof *at);
    CHECK_INT(n, want);
    for (int i = 0; i < n; i++) at[order[i]] = i + 1;
    for (int i = 0; i < n; i++) {
        const tra_memo_group *g = &x->m->group[order[i]];
        int kept = 0;
        for (int k = 0; k < g->n; k++) {
            const tra_expr *e = x->m->v[g->expr[k]];
            if (skip[g->expr[k]]) continue;
            kept++;
            for (int j = 0; j < 2 && e->in[j] >= 0; j++) CHECK(at[e->in[j]] > 0 && at[e->in[j]] <= i);
        }
        CHECK(kept > 0);
    }
    for (int i = 0; i < x->p.graph->noutputs; i++)
        CHECK(at[x->m->v[x->m->of_node[x->p.graph->outputs[i].node->id]]->group] > 0);
    free(at);
}

TEST(the_order_has_no_cycles) {
    made x = make("input A : f64 [8] by [2]\nB = transform(A, relu)\nC = transform(B, relu)\nD = transform(C, exp)\n"
                  "E = transform(D, abs)\nF = join(E, B, [0], [0], matvecadd)\noutput F\noutput C\n");
    check_order(&x, 6);
    tra_node p = over(&x, "B", &expr_of(&x, "B")->node, NULL);
    CHECK(tra_memo_add(x.m, &p, group_of(&x, "B"), NULL) >= 0); /* relu(B) = B: B is computed from itself */
    tra_memo_rebuild(x.m);
    CHECK_INT(group_of(&x, "B"), group_of(&x, "C"));
    check_order(&x, 5);
    p = over(&x, "E", &expr_of(&x, "D")->node, NULL);
    CHECK(tra_memo_add(x.m, &p, group_of(&x, "D"), NULL) >= 0);
    p = over(&x, "B", &expr_of(&x, "D")->node, NULL); /* a longer cycle: B = relu(D), D = exp(B) */
    CHECK(tra_memo_add(x.m, &p, group_of(&x, "B"), NULL) >= 0);
    tra_memo_rebuild(x.m);
    check_order(&x, 4);
    done(&x);
}

TEST(the_room_ends) {
    made x = make("input A : f64 [8] by [2]\nB = transform(A, exp)\noutput B\n");
    const tra_node *at = &expr_of(&x, "B")->node;
    int added = 0;
    for (; added < 100000; added++) {
        tra_node p = over(&x, "B", at, NULL);
        int i = tra_memo_add(x.m, &p, -1, NULL);
        if (i < 0) break;
        at = &x.m->v[i]->node;
    }
    CHECK(added >= 100 && added < 100000);
    CHECK(x.m->bounded);
    CHECK_INT(x.m->n, x.m->limit);
    check_order(&x, 2);
    done(&x);
}
