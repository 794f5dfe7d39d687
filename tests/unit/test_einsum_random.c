/* test_einsum_random.c - random EinSum statements: the operators that they become against their definition. */
#include "einsum_util.h"

static const char *const label_names[] = {"i", "j", "k", "long", "m"};
static const int64_t label_extents[] = {5, 4, 3, 2, 1};

typedef struct source {
    int n, label[3];
} source;

static void random_expr(int depth, int nsources, const source *src, unsigned *used, tra_str *out) {
    int64_t what = check_draw(100);
    if (depth == 0 || what < 15) {
        if (what < 2) {
            tra_str_add(out, check_draw(2) ? "p" : "0.75");
            return;
        }
        int x = (int)check_draw(nsources);
        tra_str_printf(out, "X%d[", x);
        for (int d = 0; d < src[x].n; d++) {
            tra_str_printf(out, "%s%s", d ? "," : "", label_names[src[x].label[d]]);
            *used |= 1u << src[x].label[d];
        }
        tra_str_add(out, "]");
        return;
    }
    static const char *const forms[] = {
        "(@ + @)",      "@ * @",      "@ * @",  "@ * @ * @",   "(@ - @)",     "@ / (1 + abs(@))", "max(@, @)",
        "min(@, @)",    "(@ < @)",    "-@",     "tanh(@)",     "relu(@)",     "exp(-abs(@))",     "sqrt(abs(@))",
        "(@)^2",        "sigmoid(@)", "2 * @",  "@ / 4",       "if(@, @, @)", "if(@ > @, @, @)",  "if(@ < @, 1, 0)",
        "(@ > 0 && @)", "(!@ || @)",  "sin(@)", "hypot(@, @)", "round(4 * @)"};
    const char *form = forms[check_draw(sizeof forms / sizeof *forms)];
    tra_str_add(out, "("); /* -x^2 is not (-x)^2 */
    for (; *form; form++) {
        if (*form == '@')
            random_expr(depth - 1, nsources, src, used, out);
        else
            tra_str_addn(out, form, 1);
    }
    tra_str_add(out, ")");
}

/* A program with one statement, Z. */
static void random_program(tra_str *out) {
    source src[4];
    unsigned used = 0;
    int nsources = 1 + (int)check_draw(4);
    static const char *const words[] = {"sum", "sum", "sum", "max", "min", "prod"};
    for (int x = 0; x < nsources; x++) {
        int64_t block[3];
        src[x].n = (int)check_draw(4);
        tra_str_printf(out, "input X%d : %s [", x, check_draw(4) ? "f64" : "f32");
        for (int d = 0; d < src[x].n; d++) {
            src[x].label[d] = (int)check_draw(5);
            block[d] = 1 + check_draw(label_extents[src[x].label[d]]);
            tra_str_printf(out, "%s%d", d ? "," : "", (int)label_extents[src[x].label[d]]);
        }
        tra_str_add(out, "] by [");
        for (int d = 0; d < src[x].n; d++) tra_str_printf(out, "%s%d", d ? "," : "", (int)block[d]);
        tra_str_add(out, "]\n");
    }
    tra_str e = {0};
    do {
        e.n = 0;
        used = 0;
        random_expr(1 + (int)check_draw(4), nsources, src, &used, &e);
    } while (!strchr(tra_str_get(&e), '['));
    tra_str_add(out, "param p = 1.5\nZ[");
    unsigned left = used & (unsigned)check_draw(32), order = left;
    if (check_draw(4) == 0) left = order = used;
    while (order) {
        int l = (int)check_draw(5);
        if (!(order >> l & 1)) continue;
        if (out->s[out->n - 1] != '[') tra_str_add(out, ",");
        tra_str_add(out, label_names[l]);
        order &= ~(1u << l);
    }
    tra_str_printf(out, "] = %s %s\n", left == used ? "" : words[check_draw(6)], tra_str_get(&e));
    tra_str_free(&e);
}

/* Parts that are of f32 alone may have been rounded on the way. */
static void compare(const built *b, const tra_einsum *s, const tra_ref_rel *got, const tra_ref_rel *want) {
    double tol = 1e-9;
    for (int i = 0; i < s->nrefs; i++)
        if (s->ref[i].node->type.dtype == TRA_F32) tol = 2e-4;
    CHECK_INT(got->n, want->n);
    for (int64_t i = 0; i < got->n && got->n == want->n; i++) {
        CHECK(tra_dims_eq(&got->v[i].key, &want->v[i].key) && tra_dims_eq(&got->v[i].ext, &want->v[i].ext));
        for (int64_t j = 0, n = ref_count(&want->v[i].ext); j < n; j++) {
            double x = got->v[i].data[j], y = want->v[i].data[j];
            if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tol * fmax(1, fabs(y))) continue;
            check_report("%s: tuple %d, element %d: %.17g, by definition %.17g", b->src.text, (int)i, (int)j, x, y);
            return;
        }
    }
}

static void check_program(const char *text) {
    built b = build(text);
    compile(&b);
    if (b.status != TRA_OK) {
        tra_str out = {0};
        tra_diags_print(&b.d, false, &out);
        check_report("%s does not compile: %s", text, tra_str_get(&out));
        tra_str_free(&out);
    }
    const tra_ref_rel **v = tra_news(b.a, const tra_ref_rel *, b.g->n);
    for (int i = 0; b.status == TRA_OK && i < b.g->n; i++) {
        const tra_node *n = b.g->v[i];
        tra_ref_rel *r = tra_new(b.a, tra_ref_rel);
        if (n->op == TRA_OP_INPUT) {
            tra_dims shape;
            tra_type_shape(&n->type, &shape);
            ref_array whole = ref_array_new(b.a, &shape);
            for (int64_t j = 0, m = ref_count(&shape); j < m; j++)
                whole.data[j] = (double)(1 + check_draw(400)) / 200 - 0.5;
            CHECK_OK(ref_in_blocks(&whole, &n->type.cat->bound, n->type.dtype, b.a, r, &b.e), b.e);
        } else {
            const tra_ref_rel *x = v[n->in[0]->id], *y = n->in[1] ? v[n->in[1]->id] : NULL;
            tra_status s = tra_reference_apply(n, x, y, b.a, r, &b.e);
            if (s != TRA_OK) check_report("%s: %s", text, b.e.msg);
            if (tra_reference_matches(r, &n->type, &b.e) != TRA_OK)
                check_report("%s: node %d (op %d) %s", b.src.text, i, n->op, b.e.msg);
        }
        v[i] = r;
    }
    for (int i = 0; b.status == TRA_OK && i < b.g->neinsums; i++) {
        tra_ref_rel want;
        const tra_einsum *s = b.g->einsums[i];
        CHECK_OK(ref_einsum(s, v, b.a, &want, &b.e), b.e);
        if (tra_reference_matches(&want, &s->node->type, &b.e) != TRA_OK) check_report("%s: %s", b.src.text, b.e.msg);
        compare(&b, s, v[s->node->id], &want);
    }
    done(&b);
}

TEST(operators_give_what_the_definition_gives) {
    for (int round = 0; round < 5000; round++) {
        tra_str text = {0};
        random_program(&text);
        check_program(tra_str_get(&text));
        tra_str_free(&text);
    }
}

TEST(contractions_of_many_factors_give_what_the_definition_gives) {
    tra_str text = {0};
    tra_str_add(&text, "input A : f64 [2, 2] by [1, 2]\ninput B : f64 [2, 2] by [2, 1]\ninput v : f64 [2] by [1]\n");
    for (int n = 12; n < 15; n++) { /* a chain, a ring, a star with arms */
        tra_str_printf(&text, "C%d[a,%c] = sum v[a]", n, 'a' + n);
        for (int i = 0; i < n; i++) tra_str_printf(&text, " * %c[%c,%c]", i % 3 ? 'A' : 'B', 'a' + i, 'a' + i + 1);
        tra_str_printf(&text, "\nR%d[] = sum B[%c,a]", n, 'a' + n - 1);
        for (int i = 0; i < n - 1; i++) tra_str_printf(&text, " * A[%c,%c]", 'a' + i, 'a' + i + 1);
        tra_str_printf(&text, "\nS%d[x] = sum v[x]", n);
        for (int i = 0; i < n - 1; i++)
            tra_str_printf(&text, " * %c[%c,%c]", i % 2 ? 'A' : 'B', i % 3 ? 'x' : 'y', 'a' + i);
        tra_str_add(&text, "\n");
    }
    double t = check_seconds();
    check_program(tra_str_get(&text));
    CHECK(check_seconds() - t < 20);
    tra_str_free(&text);
}

TEST(macros_and_holes_give_what_the_definition_gives) {
    check_program("input A : f64 [7, 5] by [3, 2]\ninput T : f32 [4, 3, 5] by [2, 2, 2]\n"
                  "B = softmax(A)\nC = transpose(T)\nD = softmax(T)\nE = softmax(reblock(A, [2, 5]))\n"
                  "H = filter(A, (i,j) -> i + j != 2)\nF[i,j] = H[i,j] - 1\nG[i,k] = sum H[i,j] * A[k,j]\n"
                  "I[j] = min H[i,j]\n");
    check_program("input O : f64 [3, 0] by [2, 1]\ninput A : f64 [3, 4] by [2, 3]\nB[i,j] = O[i,j] + 1\n"
                  "N = filter(A, (i,j) -> 0)\nM = softmax(N)\nC[j,i] = exp(O[i,j])\nD[j,k] = sum O[i,j] * A[i,k]\nE = "
                  "softmax(O)\nF = transpose(O)\n");
}
