/* test_eindecomp.c - EinDecomp: the values of the paper, what is a vertex, degenerate cases. */
#include "eindecomp_util.h"

static const char matmul8[] = "input X : f64 [8,8] by [2,2]\ninput Y : f64 [8,8] by [2,2]\n"
                              "Z[i,k] = sum X[i,j] * Y[j,k]\noutput Z\n";

/* ---- the paper's values ------------------------------------------------------------------------------------- */

TEST(worked_values) {
    made m = make(matmul8);
    const tra_vertex *v = &m.g->v[0];
    CHECK_INT(m.g->nvertices, 1);
    CHECK_STR(printed(&m, 0), "Z[i,k] = X[i,j] Y[j,k]");
    int outer[] = {4, 1, 4}, inner[] = {2, 2, 4}, from[] = {2, 4}, to[] = {4, 1}; /* i, j, k */
    CHECK_NEAR(tra_ein_join_cost(m.g, v, outer), 512, 0);
    CHECK_NEAR(tra_ein_agg_cost(m.g, v, outer), 0, 0);
    CHECK_NEAR(tra_ein_agg_cost(m.g, v, inner), 64, 0);
    CHECK_NEAR(tra_ein_repart_cost(&m.g->rel[v->out.rel], from, to), 320, 0);
    CHECK_NEAR(tra_ein_repart_cost(&m.g->rel[v->out.rel], from, from), 0, 0);
    CHECK_INT(tra_ein_kernel_calls(v, inner), 16);
    done(&m);
}

TEST(number_of_vectors) {
    made m = make("input X : f64 [1024,1024,1024] by [64,64,64]\ninput Y : f64 [1024,1024,1024] by [64,64,64]\n"
                  "Z[a,b,c] = sum X[a,b,d] * Y[c,e,f]\noutput Z\n");
    tra_vectors v = tra_ein_vectors(&m.g->v[0], 1024, false, m.a);
    CHECK_INT(v.n, 3003);
    CHECK_INT(v.product, 1024);
    CHECK_INT(tra_ein_vectors(&m.g->v[0], 600, false, m.a).n, 3003); /* rounded up */
    CHECK_INT(tra_ein_vectors(&m.g->v[0], 6, true, m.a).n, 36);      /* 2 and 3, each at one of six labels */
    CHECK_INT(tra_ein_vectors(&m.g->v[0], 1, false, m.a).n, 1);
    done(&m);
}

TEST(more_vectors_than_are_tried) {
    made m = make("input X : f64 [64,64,64,64,64,64] by [8,8,8,8,8,8]\ninput Y : f64 [64,64,64] by [8,8,8]\n"
                  "Z[] = sum X[a,b,c,d,e,f] * Y[g,h,i]\noutput Z\n");
    tra_vectors v = tra_ein_vectors(&m.g->v[0], 1024, false, m.a);
    CHECK_INT(v.n, TRA_EIN_MAXVECTORS);
    CHECK(v.cut_off);
    CHECK(tra_ein_label(m.g, TRA_EIN_PAPER, 1024, false, m.a, NULL)->cut_off);
    CHECK(!tra_ein_vectors(&m.g->v[0], 64, false, m.a).cut_off);
    CHECK(!tra_ein_label(m.g, TRA_EIN_PAPER, 64, false, m.a, NULL)->cut_off);
    done(&m);
}

TEST(programs_without_statements) {
    made m = make("input X : f64 [8,8] by [2,2]\noutput X\n");
    CHECK_INT(m.g->nvertices, 0);
    CHECK_NEAR(tra_ein_label(m.g, TRA_EIN_PAPER, 4, false, m.a, NULL)->cost, 0, 0);
    CHECK_NEAR(tra_ein_exact(m.g, TRA_EIN_PAPER, 4, false, m.a)->cost, 0, 0);
    CHECK_NEAR(tra_ein_sqrt(m.g, 4, m.a)->cost, 0, 0);
    done(&m);
}

/* ---- what is a vertex --------------------------------------------------------------------------------------- */

TEST(operators_are_vertices_too) {
    made m = make("input A : f64 [8,8] by [2,2]\nP = join(A, A, [1], [0], matmul)\nC = agg(P, [0,2], matadd)\n"
                  "D = repart(C, [2,2])\nE = rekey(D, (i,j) -> (j, i+j))\nF = filter(C, (i,j) -> i < 3)\n"
                  "T = tile(C, 0, 1)\nU = concat(T, 2, 0)\nM = transform(A, exp)\n"
                  "output E\noutput F\noutput U\noutput M\n");
    CHECK_INT(m.g->nvertices, 6);
    CHECK_STR(printed(&m, 0), "C[k0,k2] = A[k0,k1] A[k1,k2]");
    CHECK_STR(printed(&m, 1), "E[k1,.] = C[k0,k1]");
    CHECK_STR(printed(&m, 2), "F[k0,k1] = C[k0,k1]");
    CHECK_STR(printed(&m, 3), "T[k0,k1,.] = C[k0,k1]");
    CHECK_STR(printed(&m, 4), "U[k0,k1] = T[k0,k1,k2]");
    CHECK_STR(printed(&m, 5), "M[k0,k1] = A[k0,k1]");
    int d[] = {4, 1, 4}; /* as the EinSum statement */
    CHECK_NEAR(tra_ein_join_cost(m.g, &m.g->v[0], d), 512, 0);
    CHECK_INT(m.g->v[0].summed[1], 1);
    CHECK_INT(m.g->v[1].summed[0], 0);    /* a key that rekey drops is not aggregated */
    CHECK_INT(m.g->v[4].max_parts[2], 1); /* tiles to be put together are in one place */
    CHECK_INT(m.g->consumers[0], 3);
    done(&m);
}

/* What one statement or operator makes to help may be what another makes for all. */
TEST(nodes_that_are_shared_are_relations) {
    made m = make("input A : f64 [8,8] by [2,2]\ninput X : f64 [6] by [1]\nP = join(A, A, [1], [0], matmul)\n"
                  "C[i,k] = sum A[i,j] * A[j,k]\nD = transform(P, exp)\nV[b] = sum X[c] * X[b]\nS[] = sum X[c]\n"
                  "T[b] = S[] * V[b]\nU[b] = X[b]\nW[e] = exp(U[e])\noutput C\noutput D\noutput T\noutput W\n");
    CHECK_INT(m.g->nvertices, 7);
    CHECK_STR(printed(&m, 0), "P[k0,k1,k2] = A[k0,k1] A[k1,k2]");
    CHECK_STR(printed(&m, 1), "C[i,k] = A[i,j] A[j,k]");
    CHECK_STR(printed(&m, 2), "D[k0,k1,k2] = P[k0,k1,k2]");
    CHECK_STR(printed(&m, 3), "S[] = X[c]");
    CHECK_STR(printed(&m, 4), "V[b] = X[c] X[b]");
    CHECK_STR(printed(&m, 5), "T[b] = S[] V[b]");
    CHECK_STR(printed(&m, 6), "W[e] = X[e]");
    done(&m);
    /* nobody reads P and S: they are no vertices */
    m = make("input A : f64 [8,8] by [2,2]\nP = join(A, A, [1], [0], matmul)\nC[i,k] = sum A[i,j] * A[j,k]\n"
             "S[] = sum A[i,j]\nV[i,j] = sum A[i,j] * A[k,l]\noutput C\noutput V\n");
    CHECK_INT(m.g->nvertices, 2);
    CHECK_INT(m.g->vertex_of[1], 0); /* P */
    done(&m);
}

TEST(keys_that_cut_nothing_count_values) { /* arrays of 4 x 5 under keys that no dimension knows */
    made m = make("input A : f64 [8,10] by [4,5]\nP = join(A, A, [], [], matadd)\n"
                  "output P\n");
    const tra_ein_rel *r = &m.g->rel[m.g->v[0].out.rel];
    CHECK_INT(r->n, 4);
    CHECK_INT(r->ext[0], 8);
    CHECK_INT(r->ext[2], 2);
    CHECK_NEAR(r->weight * 8 * 10 * 2 * 2, 16 * 20, 1e-9);
    done(&m);
}

TEST(softmax_is_four) {
    const char *const blocks[] = {"2,2", "2,8"};
    for (int i = 0; i < 2; i++) { /* four statements, or one kernel where rows are whole */
        char text[200];
        snprintf(text, sizeof text, "input X : f64 [8,8] by [%s]\nY = softmax(X)\noutput Y\n", blocks[i]);
        made m = make(text);
        CHECK_INT(m.g->nvertices, 4);
        double join = 0;
        for (int v = 0; v < m.g->nvertices; v++) {
            int d[] = {4, 1};
            join += tra_ein_join_cost(m.g, &m.g->v[v], d);
            CHECK_INT(m.g->v[v].nrefs, v % 2 + 1);
        }
        CHECK_NEAR(join, 64 + (64 + 8) + 64 + (64 + 8), 0);
        CHECK_INT(m.g->consumers[1], 2);
        CHECK_INT(m.g->v[3].out.rel, m.g->rel_of[m.program.graph->outputs[0].node->id]);
        CHECK_INT(m.g->vertex_of[m.program.graph->outputs[0].node->id], 3);
        done(&m);
    }
}

TEST(results_without_a_name_have_the_number_of_their_statement) {
    made m = make("input X : f64 [8,4] by [2,2]\nY = softmax(X)\noutput Y\n");
    CHECK_STR(printed(&m, 0), "(0)[i] = X[i,j]");
    CHECK_STR(printed(&m, 1), "(1)[i,j] = X[i,j] (0)[i]");
    CHECK_STR(printed(&m, 3), "Y[i,j] = (1)[i,j] (2)[i]");
    done(&m);
}

TEST(nodes_of_statements_know_their_labels) {
    made m = make("input X : f64 [8,6] by [2,1]\ninput Y : f64 [6,4] by [2,4]\ninput V : f64 [6,6] by [3,3]\n"
                  "Z[i,k] = sum X[i,j] * Y[j,k] * V[j,j]\nR[k,j] = max exp(X[i,j]) + V[j,k]\nS[] = sum 2 * X[i,j]\n"
                  "output Z\noutput R\noutput S\n");
    const tra_graph *t = m.program.graph;
    int labelled = 0;
    for (int i = 0; i < t->neinsums; i++) {
        const tra_einsum *s = t->einsums[i];
        for (int n = 0; n < t->n; n++) {
            const tra_node *x = t->v[n];
            if (m.g->vertex_of[n] != i || x->op == TRA_OP_REPART) continue;
            CHECK(x->label);
            labelled++;
            for (int d = 0; x->label && d < x->type.cat->frontier.n; d++) {
                int l = x->label[d];
                CHECK_INT(x->type.cat->frontier.v[d], (s->extent[l] + s->block[l] - 1) / s->block[l]);
            }
        }
    }
    CHECK_INT(m.g->nvertices, 3);
    CHECK(labelled > 8);
    done(&m);
}

TEST(relations_count_as_often_as_they_are_named) {
    made m = make("input X : f64 [8] by [2]\nY[i] = X[i] * X[i]\nZ[i,j] = Y[i] + Y[j]\noutput Z\n");
    int one[] = {4}, two[] = {2, 2};
    CHECK_INT(m.g->v[0].nrefs, 2);
    CHECK_NEAR(tra_ein_join_cost(m.g, &m.g->v[0], one), 4 * (2 + 2), 0);
    CHECK_NEAR(tra_ein_join_cost(m.g, &m.g->v[1], two), 4 * (4 + 4), 0);
    CHECK_INT(m.g->consumers[0], 1);
    CHECK_STR(tra_ein_label(m.g, TRA_EIN_PAPER, 4, false, m.a, NULL)->how, "tree");
    done(&m);
}

/* ---- degenerate cases --------------------------------------------------------------------------------------- */

TEST(one_processor) {
    made m = make(matmul8);
    tra_labelling *l = tra_ein_label(m.g, TRA_EIN_PAPER, 1, false, m.a, NULL);
    CHECK_NEAR(l->cost, 128, 0);
    CHECK_INT(l->below_p, 0);
    CHECK_STR(cut_text(&m, l, 0), "");
    done(&m);
}

TEST(labels_too_short) { /* 3 x 1 times 1 x 2: at most 3 * 2 calls */
    made m = make("input X : f64 [3,1] by [1,1]\ninput Y : f64 [1,2] by [1,1]\nZ[i,k] = sum X[i,j] * Y[j,k]\n"
                  "T[] = sum Z[i,k]\nU[] = T[] + 1\noutput U\n");
    tra_labelling *l = tra_ein_label(m.g, TRA_EIN_PAPER, 16, false, m.a, NULL);
    CHECK_STR(cut_text(&m, l, 0), "i2 k2");
    CHECK_STR(cut_text(&m, l, 2), "");
    CHECK_INT(l->below_p, 3);
    l = tra_ein_label(m.g, TRA_EIN_PAPER, 16, true, m.a, NULL);
    CHECK_STR(cut_text(&m, l, 0), "i3 k2");
    CHECK_INT(tra_ein_kernel_calls(&m.g->v[0], l->d[0]), 6);
    l = tra_ein_label(m.g, TRA_EIN_PAPER, 3, true, m.a, NULL);
    CHECK_STR(cut_text(&m, l, 0), "i3");
    CHECK_INT(l->below_p, 1); /* U alone */
    done(&m);
}

TEST(empty_relations_cost_nothing) {
    made m = make("input X : f64 [0,4] by [2,2]\nY[i,j] = X[i,j] + 1\nZ[i,j] = Y[i,j] * 2\noutput Z\n");
    tra_labelling *l = tra_ein_label(m.g, TRA_EIN_PAPER, 4, false, m.a, NULL);
    CHECK_NEAR(l->cost, 0, 0);
    CHECK_STR(cut_text(&m, l, 0), "j4");
    done(&m);
}

TEST(rules_cut_what_they_say) {
    made m = make("input X : f64 [64,64] by [8,8]\ninput Y : f64 [64,2] by [8,1]\nZ[i,k] = sum X[i,j] * Y[j,k]\n"
                  "W[i,j] = sum X[i,a] * X[a,j]\nS[i] = sum X[i,j]\noutput Z\noutput W\noutput S\n");
    tra_labelling *l = tra_ein_sqrt(m.g, 32, m.a);
    CHECK_STR(cut_text(&m, l, 0), "i16 k2"); /* k takes no more */
    CHECK_STR(cut_text(&m, l, 1), "i8 j4");
    CHECK_STR(cut_text(&m, l, 2), "i8 j4");
    l = tra_ein_sqrt(m.g, 10, m.a);
    CHECK_STR(cut_text(&m, l, 1), "i4 j4");
    l = tra_ein_data(m.g, 128, m.a);
    CHECK_STR(cut_text(&m, l, 1), "i64 a2");
    CHECK_STR(l->how, "data");
    done(&m);
}

TEST(chain_of_one_is_cut_where_it_is_cheapest) { /* long contraction: the sum is cut; square: grids */
    made m = make("input X : f64 [64,4096] by [8,64]\ninput Y : f64 [4096,64] by [64,8]\n"
                  "Z[i,k] = sum X[i,j] * Y[j,k]\noutput Z\n");
    tra_labelling *l = tra_ein_label(m.g, TRA_EIN_PAPER, 4, false, m.a, NULL);
    CHECK_STR(cut_text(&m, l, 0), "j4");
    CHECK_NEAR(l->cost, 2 * 64 * 4096 + 3 * 64 * 64, 0);
    done(&m);
}

TEST(ties_follow_the_blocks) {
    made m = make("input X : f64 [64,64] by [64,8]\nY[i,j] = exp(X[i,j])\noutput Y\n");
    CHECK_STR(cut_text(&m, tra_ein_label(m.g, TRA_EIN_PAPER, 4, false, m.a, NULL), 0), "j4");
    CHECK_STR(cut_text(&m, tra_ein_label(m.g, TRA_EIN_PAPER, 16, false, m.a, NULL), 0), "i2 j8");
    done(&m);
}

TEST(labels_of_inputs_alone_are_cut_best) { /* j and l touch nothing that others read or need */
    made m =
        make("input X : f64 [4,64] by [2,8]\ninput Y : f64 [4,8] by [2,2]\nZ[i] = sum Y[i,j] * X[i,l]\noutput Z\n");
    tra_labelling *l = tra_ein_label(m.g, TRA_EIN_PAPER, 8, false, m.a, NULL),
                  *x = tra_ein_exact(m.g, TRA_EIN_PAPER, 8, false, m.a);
    CHECK_NEAR(l->cost, x->cost, 0);
    CHECK_STR(cut_text(&m, l, 0), "i4 l2");
    CHECK_STR(cut_text(&m, x, 0), "i4 l2");
    done(&m);
}
