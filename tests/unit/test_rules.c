/* The rules: every row fires and is refused as its data say, and what it makes evaluates to the same. */
#include "check.h"

#include "../../plans/reference/reference.h"
#include "../../lib/model/rows.h"
#include "../../plans/rules/facts.h"
#include "../../plans/rules/rules.h"
#include "rule_cases.h"
#include "rule_files.h"

/* What the cases of the rules are programs over. E is empty, H has holes, the arrays of R fit in no other. */
static const char inputs[] =
    "input A : f64 [5,7] by [2,3]\ninput B : f64 [7,4] by [3,2]\ninput C : f64 [4,6] by [2,4]\n"
    "input D : f64 [5,7] by [2,3]\ninput S : f64 [6,6] by [2,2]\ninput T : f64 [6,6] by [2,2]\n"
    "input E : f64 [0,7] by [2,3]\ninput V : f64 [7] by [3]\ninput F : f64 [6,3] by [4,3]\n"
    "input trip : table [k: i32, j: i32, x: f64, n: i64, s: bool] rows 100 by 40\n"
    "input shop : table [k: i32, v: f64, b: bool] rows 8\ninput zone : table [j: i32, u: f64] rows 5\n"
    "H = filter(A, (i,j) -> i != j)\nR = filter(A, (i,j) -> i + j == 2 && i != 1)\n";

typedef struct made {
    tra_arena *a;
    tra_script src;
    tra_diags d;
    tra_graph *g;
    tra_memo *m;
    tra_refusals refusals;
} made;

static unsigned sparse_ones; /* inputs that are of sparse type, by their place in the program */

/* Types the program anew, with these inputs sparse. */
static void make_sparse(tra_graph *g, tra_arena *a, unsigned ones) {
    for (int i = 0; i < g->n && ones; i++) {
        tra_node *n = g->v[i];
        tra_err e = {0};
        if (n->op != TRA_OP_INPUT) {
            CHECK_OK(tra_node_type(a, n, NULL, &e), e);
            continue;
        }
        n->type.sparse = ones >> i & 1;
        n->type.layout = n->type.sparse ? &tra_rows : NULL;
        int64_t floats = tra_catalog_elements(n->type.cat);
        if (n->type.sparse) n->type.entries = tra_entries_about(a, &n->type, (double)floats / 3, floats, INT64_MAX);
    }
}

/* The program with `out` as its only output, and what the rule (NULL: all) makes of it. */
static bool make(made *x, const char *body, const char *out, const tra_rule *only) {
    tra_err e = {0};
    *x = (made){.a = tra_arena_new()};
    bool file = strstr(body, "(log, "), matrices = strstr(body, "(matrix, ");
    const char *log = file ? tra_arena_printf(x->a, "input log from \"%s\"\n", log_file()) : "";
    if (matrices) log = matrix_files(x->a);
    const char *text = tra_arena_printf(x->a, "%s%s%soutput %s\n", inputs, log, body, out);
    x->src = (tra_script){.name = "case", .text = text, .n = (int)strlen(text)};
    x->d = (tra_diags){.arena = x->a, .src = &x->src};
    if (tra_graph_build(&x->src, &(tra_building){.dir = "."}, x->a, &x->d, &x->g, &e) != TRA_OK) {
        tra_str s = {0};
        tra_diags_print(&x->d, false, &s);
        check_report("a case does not compile: %s\n%s", body, tra_str_get(&s));
        tra_str_free(&s);
        return false;
    }
    make_sparse(x->g, x->a, strstr(body, "# sparse") ? 511 : sparse_ones);
    x->m = tra_memo_new(x->g, x->a);
    tra_rules_apply(x->m, only, 0, &x->refusals);
    return true;
}

static void done(made *x) {
    if (x->g) tra_graph_close(x->g);
    tra_arena_free(x->a);
}

static const tra_node *named(const made *x, const char *name) {
    for (int i = 0; i < x->g->nnames; i++)
        if (strcmp(x->g->names[i].name, name) == 0) return x->g->names[i].node;
    return NULL;
}

/* The expression of a node of the program; NULL when the memo does not have it. */
static tra_expr *find(made *x, const tra_node *n) {
    if (x->m->of_node[n->id] >= 0) return x->m->v[x->m->of_node[n->id]];
    if (n->op == TRA_OP_FILTER && tra_type_eq(&n->type, &n->in[0]->type, NULL)) return find(x, n->in[0]);
    tra_node proto = *n;
    int had = x->m->n;
    for (int i = 0; i < 2 && n->in[i]; i++) {
        tra_expr *in = find(x, n->in[i]);
        if (!in) return NULL;
        proto.in[i] = &in->node;
    }
    int i = tra_memo_add(x->m, &proto, -1, NULL);
    return i < 0 || x->m->n > had ? NULL : x->m->v[i];
}

/* ---- evaluation --------------------------------------------------------------------------------------------- */

static double value(bool special) {
    if (special && check_draw(29) == 0) return check_draw(2) ? NAN : INFINITY;
    return (double)check_draw(4001) / 1000 - 2;
}

static tra_ref_rel *random_input(const tra_node *n, tra_arena *a, bool special) {
    const tra_catalog *c = n->type.cat;
    tra_ref_rel *r = tra_new(a, tra_ref_rel);
    *r = (tra_ref_rel){.k = c->frontier.n, .r = c->bound.n, .dtype = n->type.dtype, .bound = c->bound, .n = c->n};
    r->sparse = n->type.sparse;
    memcpy(r->cut, n->type.cut, sizeof r->cut);
    r->v = tra_news(a, tra_ref_tuple, c->n);
    for (int64_t t = 0; t < c->n; t++) {
        tra_catalog_key(c, t, &r->v[t].key);
        tra_catalog_ext(c, t, &r->v[t].ext);
        int64_t size = tra_catalog_elements_of(c, t);
        r->v[t].data = tra_news(a, ref_num, size);
        for (int64_t i = 0; i < size; i++) r->v[t].data[i] = r->sparse && value(false) < 0.5 ? 0 : value(special);
    }
    return r;
}

/* Keys, extents and, to rounding, elements. */
static const char *differ(const tra_ref_rel *x, const tra_ref_rel *y) {
    if (x->n != y->n || x->k != y->k || x->r != y->r || x->dtype != y->dtype) return "tuples";
    for (int64_t t = 0; t < x->n; t++) {
        int64_t size = 1;
        if (!tra_dims_eq(&x->v[t].key, &y->v[t].key)) return "keys";
        if (!tra_dims_eq(&x->v[t].ext, &y->v[t].ext)) return "extents";
        for (int d = 0; d < x->r; d++) size *= x->v[t].ext.v[d];
        for (int64_t i = 0; i < size; i++) {
            double a = (double)x->v[t].data[i], b = (double)y->v[t].data[i];
            if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b)))) continue;
            return "values";
        }
    }
    return NULL;
}

static const char *text_of(const tra_node *n, tra_arena *a) {
    tra_str s = {0};
    tra_node_print(n, &s);
    const char *text = tra_arena_strndup(a, tra_str_get(&s), s.n);
    tra_str_free(&s);
    return text;
}

/* The reference evaluates no tables operator by operator, no files, and no loops. */
static bool is_evaluated(const made *x) {
    bool plain = x->g->nloops == 0;
    for (int i = 0; i < x->m->n; i++) plain &= !x->m->v[i]->node.type.columns && !x->m->v[i]->node.input.transposed;
    return plain;
}

/* Evaluates every expression of the memo; all of a group must agree. */
static void evaluate(made *x, bool special) {
    const tra_memo *m = x->m;
    if (!is_evaluated(x)) return;
    const tra_ref_rel **v = tra_news(x->a, const tra_ref_rel *, m->n);
    for (int i = 0; i < m->n; i++) {
        const tra_node *n = &m->v[i]->node;
        tra_ref_rel *r = tra_new(x->a, tra_ref_rel);
        tra_err e = {0};
        v[i] = n->op == TRA_OP_INPUT ? random_input(n, x->a, special) : r;
        if (n->op != TRA_OP_INPUT)
            CHECK_OK(tra_reference_apply(n, v[n->in[0]->id], n->in[1] ? v[n->in[1]->id] : NULL, x->a, r, &e), e);
        CHECK_OK(tra_reference_matches(v[i], &n->type, &e), e);
        const tra_expr *first = m->v[m->group[tra_memo_find(m, m->v[i]->group)].expr[0]];
        const char *how = first->node.id < i ? differ(v[first->node.id], v[i]) : NULL;
        if (how)
            check_report("%s differ: %s by %s is not %s\n#   in %s", how, text_of(n, x->a),
                         m->v[i]->rule ? m->v[i]->rule->name : "the program", text_of(&first->node, x->a), x->src.text);
    }
}

/* ---- the table ---------------------------------------------------------------------------------------------- */

static void fires(const tra_rule *r, const rule_case *c, const char *from, const char *to) {
    made x;
    if (make(&x, c->program, from, r)) {
        tra_expr *there = find(&x, named(&x, to)), *here = find(&x, named(&x, from));
        for (int i = 0; !there && i < x.refusals.n; i++) check_report("  refused: %s", x.refusals.v[i].reason);
        if (!there)
            check_report("%s does not make %s of %s in\n%s", r->name, to, from, c->program);
        else if (tra_memo_find(x.m, there->group) != tra_memo_find(x.m, here->group))
            check_report("%s has %s and %s in two groups:\n%s", r->name, from, to, c->program);
        evaluate(&x, false);
        if (!c->finite) evaluate(&x, true);
    }
    done(&x);
}

/* Of tables, which no rule's reference evaluates operator by operator: the rule makes such an expression. */
static void plans_as(const tra_rule *r, const rule_case *c) {
    made x;
    if (make(&x, c->program, "Z", r)) {
        bool found = false;
        for (int i = 0; i < x.m->n; i++)
            found |= x.m->v[i]->rule == r && strstr(text_of(&x.m->v[i]->node, x.a), c->makes);
        for (int i = 0; !found && i < x.refusals.n; i++) check_report("  refused: %s", x.refusals.v[i].reason);
        for (int i = 0; !found && i < x.m->n; i++)
            if (x.m->v[i]->rule == r) check_report("  made: %s", text_of(&x.m->v[i]->node, x.a));
        if (!found) check_report("%s makes no \"%s\" in\n%s", r->name, c->makes, c->program);
    }
    done(&x);
}

static void is_refused(const tra_rule *r, const rule_case *c) {
    made x;
    bool found = false;
    if (make(&x, c->program, "Z", r)) {
        for (int i = 0; i < x.refusals.n; i++) found |= strstr(x.refusals.v[i].reason, c->refused) != NULL;
        if (!found) {
            check_report("%s is not refused for \"%s\" in\n%s", r->name, c->refused, c->program);
            for (int i = 0; i < x.refusals.n; i++) check_report("  but for \"%s\"", x.refusals.v[i].reason);
        }
        for (int i = 0; i < x.refusals.n; i++) CHECK(x.refusals.v[i].rule == r && x.refusals.v[i].expr < x.m->n);
        evaluate(&x, false);
    }
    done(&x);
}

/* A placement as explain writes it; owned: dealt out one by one. */
static tra_placement parse_place(const char *text, int sites, const tra_catalog *c, tra_arena *a) {
    tra_placement p = {.sites = sites};
    if (strcmp(text, "all") == 0) return tra_place_all(sites);
    if (strcmp(text, "partial") == 0) return (tra_placement){sites, 1, {{TRA_AXIS_PARTIAL, .sites = sites}}, NULL};
    if (strcmp(text, "owned") == 0) {
        int32_t *owner = tra_news(a, int32_t, c->n);
        for (int64_t t = 0; t < c->n; t++) owner[t] = (int32_t)(t % sites);
        p.owner = owner;
        return p;
    }
    if (strncmp(text, "part(", 5) == 0) {
        int8_t dims[TRA_MAXAXISDIMS];
        int n = 0;
        for (const char *s = text + 5; *s != ')'; s++)
            if (*s != ',') dims[n++] = (int8_t)(*s - '0');
        return tra_place_part(sites, c, n, dims);
    }
    for (const char *s = text + 5; *s && *s != ')'; s += 4) { /* grid(0:2,*:2) */
        tra_axis *x = &p.axis[p.naxes++];
        *x = (tra_axis){.kind = *s == '*' ? TRA_AXIS_COPY : TRA_AXIS_PART, .sites = s[2] - '0'};
        if (*s == '*') continue;
        x->n = 1;
        x->dim[0] = (int8_t)(*s - '0');
        x->ext[0] = c->frontier.v[*s - '0'];
    }
    return p;
}

static void holds(const tra_rule *r, const rule_case *c) {
    made x;
    char why[256], text[64];
    if (make(&x, c->program, "Z", r)) {
        const tra_node *n = named(&x, "Z");
        tra_placement p[3];
        tra_placed placed = {.n = n};
        for (int i = 0; i < 2; i++) {
            if (!c->in[i]) continue;
            p[i] = parse_place(c->in[i], c->sites, n->in[i] ? n->in[i]->type.cat : n->type.cat, x.a);
            CHECK_STR(tra_place_text(&p[i], text, sizeof text), c->in[i]);
            placed.in[i] = &p[i];
        }
        if (c->out) p[2] = parse_place(c->out, c->sites, n->type.cat, x.a), placed.out = &p[2];
        const char *no = r->holds(&placed, why);
        if (!c->refused && no) check_report("%s is refused for \"%s\" in\n%s", r->name, no, c->program);
        if (c->refused && (!no || !strstr(no, c->refused)))
            check_report("%s is not refused for \"%s\" but \"%s\" in\n%s", r->name, c->refused, no ? no : "",
                         c->program);
    }
    done(&x);
}

TEST(rules_of_relations_keep_values_and_those_of_tables_plan_as_they_say) {
    for (const tra_rule *const *r = tra_rules; *r; r++) {
        int fired = 0, refused = 0;
        for (const rule_case *c = cases_of((*r)->name); c->program; c++) {
            c->refused ? refused++ : fired++;
            if ((*r)->holds)
                holds(*r, c);
            else if (c->refused)
                is_refused(*r, c);
            else if (c->makes)
                plans_as(*r, c);
            else
                fires(*r, c, "Z", "W");
            if (!(*r)->holds && !c->refused && !c->makes && !c->one_way) fires(*r, c, "W", "Z");
        }
        if (!fired || !refused) check_report("%s has %d cases and %d refused ones", (*r)->name, fired, refused);
    }
}

TEST(all_rules_together_keep_every_group_equal) {
    for (const tra_rule *const *r = tra_rules; *r; r++) {
        for (const rule_case *c = cases_of((*r)->name); c->program; c++) {
            made x;
            bool is_made = make(&x, c->program, "Z", NULL);
            if (is_made) evaluate(&x, false);
            if (is_made) CHECK(!x.m->bounded || !is_evaluated(&x));
            done(&x);
        }
    }
}

/* The one rule of values: what annihilates may not change. */
TEST(every_rule_keeps_what_inputs_of_sparse_type_make) {
    for (const tra_rule *const *r = tra_rules; *r; r++) {
        for (const rule_case *c = cases_of((*r)->name); c->program && !(*r)->holds && !c->makes; c++) {
            for (int i = 0; i < 8; i++) {
                made x;
                sparse_ones = i == 0 ? 511 : (unsigned)(value(false) * 1000 + 4000) * 2654435761u >> 23;
                if (make(&x, c->program, "Z", *r)) {
                    evaluate(&x, false);
                    if (!c->finite && !c->refused) evaluate(&x, true);
                }
                done(&x);
            }
        }
    }
    sparse_ones = 0;
}

/* ---- facts -------------------------------------------------------------------------------------------------- */

static const tra_facts *facts_of(made *x, const char *text) {
    for (int i = x->m->n; i-- > 0;) /* the last: the join itself, not that of its parts */
        if (!x->m->v[i]->rule && strstr(x->m->v[i]->text, text)) return tra_memo_facts(x->m, x->m->v[i]->group);
    check_report("%s is not there", text);
    return tra_memo_facts(x->m, 0);
}

static bool has_key(const tra_facts *f, int column) {
    for (int i = 0; i < f->nkeys; i++)
        if (f->key[i].n == 1 && f->key[i].column[0] == column) return true;
    return false;
}

/* Keys come from files and groups, and go through passes, joins with one partner, and merges of groups. */
TEST(facts_live_with_the_groups_of_the_memo) {
    made x;
    const char *program = "L = select(project(log, y = x, s = t * 1.0, t), t > 3)\nG = group(shop, [k], w = max(v))\n"
                          "J = join(join(L, G, t == k, how = left), project(log, t), t == t)\n"
                          "M = join(L, trip, t == k)\n"
                          "P = group(J, [], a = count(), b = sum(s), c = sum(w))\nQ = group(M, [], d = count())\n"
                          "Z = cross(P, Q) # (log, \n";
    if (make(&x, program, "Z", NULL)) {
        const tra_facts *l = facts_of(&x, "transform select("), *g = facts_of(&x, "transform group([k]"),
                        *j = facts_of(&x, "join(t == t"), *m = facts_of(&x, "join(t == k)");
        CHECK(has_key(l, 2) && !has_key(l, 0));
        CHECK(has_key(g, 0));
        CHECK(has_key(j, 2));
        CHECK(!has_key(m, 2));
        CHECK(l->column[0].lo == 0 && l->column[0].hi == 6 && l->column[0].distinct == 7);
        CHECK(l->column[1].lo == 0 && l->column[1].hi == 99);
        CHECK_INT(j->column[3].by, 2); /* w follows from t */
        CHECK_INT(m->column[3].by, -1);
    }
    done(&x);
}

/* ---- D-2 ---------------------------------------------------------------------------------------------------- */

static const tra_rule *rule(const char *name) {
    for (const tra_rule *const *r = tra_rules; *r; r++)
        if (strcmp((*r)->name, name) == 0) return *r;
    return NULL;
}

static int aggregations(const tra_memo *m) {
    int n = 0;
    for (int g = 0; g < m->ngroups; g++) {
        if (tra_memo_find(m, g) != g) continue;
        for (int i = 0; i < m->group[g].n; i++) n += m->v[m->group[g].expr[i]]->node.op == TRA_OP_AGG;
    }
    return n;
}

/* The chain of n square matrices in one EinSum statement, or multiplied from the left. */
static const char *chain(int n, char *text, size_t size) {
    int at = 0;
    at += snprintf(text + at, size - (size_t)at, "P1 = S\n");
    for (int i = 2; i <= n; i++)
        at += snprintf(text + at, size - (size_t)at, "P%d = agg(join(P%d, %s, [1], [0], matmul), [0,2], matadd)\n", i,
                       i - 1, i % 2 ? "S" : "T");
    at += snprintf(text + at, size - (size_t)at, "Z = P%d\n", n);
    return text;
}

TEST(a_chain_has_all_its_orders) {
    char text[8192];
    /* distinct operands: groups are intervals; each has a way for every place to cut it */
    const char *four = "X[i,k] = sum A[i,j] * B[j,k]\nY[i,l] = sum X[i,k] * C[k,l]\nZ[i,m] = sum Y[i,l] * F[l,m]\n";
    made x;
    if (make(&x, four, "Z", rule("D-2"))) {
        CHECK_INT(aggregations(x.m), 3 * 1 + 2 * 2 + 1 * 3);
        CHECK(!x.m->bounded);
        evaluate(&x, false);
    }
    done(&x);
    for (int n = 2; n < 40; n += 7) {
        if (make(&x, chain(n, text, sizeof text), "Z", rule("D-2"))) {
            CHECK(!x.m->bounded);
            if (n > 2) CHECK(x.m->n > x.g->n - 4);
            CHECK(x.m->n < 60 * n);
            evaluate(&x, false);
        }
        done(&x);
    }
}

TEST(orders_of_products_of_all_kinds) {
    static const char *const programs[] = {
        "Z[i,m] = sum A[i,j] * B[j,k] * C[k,l] * F[l,m]\n",
        "Z[i] = sum S[i,j] * T[j,i] * S[i,i]\n",
        "Z[b,i] = sum S[b,j] * T[b,j] * S[j,i] * T[b,i]\n",
        "Z[k,i] = sum A[i,j] * D[i,j] * B[j,k]\n",
        "Z[l,k] = sum A[i,j] * B[j,k] * D[i,l] * V[j]\n",
        "Z[] = sum A[i,j] * B[j,k] * D[i,j] * V[j]\n",
        "X[i,j,k] = A[i,j] * B[j,k]\nY[i,j,k,l] = X[i,j,k] * C[k,l]\nZ[i,l] = sum Y[i,j,k,l] * D[i,j]\n",
        "X = transpose(A)\nY = transpose(B)\nZ[k,i] = sum Y[k,j] * X[j,i] * D[i,j]\n",
        "X = join(S, T, [1], [0], outer)\nZ = agg(join(X, S, [2], [0], \"ijkl,kj->il\"), [0,3], matadd)\n",
        "X = agg(join(H, B, [1], [0], matmul), [2,0], matadd)\nZ = agg(join(C, X, [0], [0], \"kl,ik->il\"), [2,1], "
        "matadd)\n",
        "X = agg(join(S, S, [1], [0], matmul), [0,2], matadd)\nZ = agg(join(X, X, [0,1], [0,1], elemmul), [0], "
        "matadd)\n",
        "X = agg(join(E, B, [1], [0], matmul), [0,2], matadd)\nZ = agg(join(X, C, [1], [0], matmul), [], matadd)\n",
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        made x;
        if (make(&x, programs[i], "Z", rule("D-2"))) {
            int before = 0;
            for (int j = 0; j < x.m->n; j++) before += x.m->v[j]->rule == NULL;
            if (x.m->n == before) check_report("one order only: %s", programs[i]);
            evaluate(&x, false);
        }
        done(&x);
        if (make(&x, programs[i], "Z", NULL)) {
            CHECK(!x.m->bounded);
            evaluate(&x, false);
        }
        done(&x);
    }
}

TEST(many_operators_stay_within_their_room) {
    tra_str s = {0};
    tra_str_add(&s, "L0 = S\n");
    for (int i = 0; i < 50; i++)
        tra_str_printf(&s,
                       "M%d = agg(join(L%d, T, [1], [0], matmul), [0,2], matadd)\nN%d = transform(M%d, relu)\n"
                       "L%d = join(N%d, S, [0,1], [0,1], matadd)\n",
                       i, i, i, i, i + 1, i);
    tra_str_add(&s, "Z = L50\n");
    made x;
    if (make(&x, tra_str_get(&s), "Z", NULL)) {
        printf("# %d nodes, %d expressions%s\n", x.g->n, x.m->n, x.m->bounded ? ", bounded" : "");
        CHECK(x.m->n < 20 * x.g->n);
        evaluate(&x, false);
    }
    done(&x);
    tra_str_free(&s);
}
