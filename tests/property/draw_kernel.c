/* draw_kernel.c - random kernels for the operators of draw.c. */
#include "generate.h"

void kern_named(kern *k, const char *name) {
    tra_str_add(&k->text, name);
    tra_str_printf(&k->json, "\"%s\"", name);
}

static void lambda(gen *g, int nargs, kern *k) {
    static const char *const names[] = {"x", "y"};
    tra_str_add(&k->text, nargs == 1 ? "x -> " : "(x,y) -> ");
    tra_str_add(&k->json, "{\"fn\":");
    random_scalar(&g->g, g->a, nargs, names, NULL, (int)rng_range(&g->g, 1, 3), g->integers, &k->text, &k->json);
    tra_str_add(&k->json, "}");
}

static void map_part(gen *g, int rank, kern *k) {
    int64_t c = rng_below(&g->g, 100);
    if (c < 12) {
        double v = g->integers ? (double)rng_range(&g->g, -2, 3) : (double)rng_range(&g->g, -9, 9) / 4;
        bool param = g->params && rng_chance(&g->g, 50);
        if (param) v = g->eta;
        if (param)
            tra_str_add(&k->text, "scale(eta)");
        else
            tra_str_printf(&k->text, "scale(%.17g)", v);
        tra_str_printf(&k->json, "[\"scale\",%.17g]", v);
    } else if (c < 24 && rank == 2) {
        const char *s = PICK(g, "ij->ji", "ij->i", "ij->j", "ij->", "ii->i", "ii->", "ij->ij");
        tra_str_printf(&k->text, "\"%s\"", s);
        tra_str_printf(&k->json, "{\"einsum\":\"%s\"}", s);
    } else if (c < 45) {
        kern_named(k, rank == 2 ? PICK(g, "diag", "transpose", "rowsum", "rowmax", "rowmin", "colsum")
                                : PICK(g, "transpose", "rowsum", "rowmax", "rowmin", "colsum"));
    } else if (c < 50) {
        kern_named(k, "softmax");
    } else if (c < 56) {
        kern_named(k, PICK(g, "densify", "sparsify"));
    } else if (c < 70 && !g->integers) {
        kern_named(k, PICK(g, "exp", "log", "sqrt", "sigmoid", "tanh"));
    } else {
        kern_named(k, PICK(g, "neg", "abs", "square", "relu", "relu_grad"));
    }
}

void draw_map(gen *g, int rank, const kern *first, kern *k) {
    int parts = first ? 1 : (int)rng_range(&g->g, 1, 10) / 8 + 1;
    if (!first && parts == 1 && rng_chance(&g->g, 30)) {
        lambda(g, 1, k);
        return;
    }
    if (first) tra_str_printf(&k->json, "%s,", tra_str_get(&first->json));
    tra_str_add(&k->text, "");
    for (int i = 0; i < parts; i++) {
        kern p = {0};
        map_part(g, rank, &p);
        tra_str old = k->text;
        k->text = (tra_str){0};
        tra_str_add(&k->text, tra_str_get(&p.text));
        if (i)
            tra_str_printf(&k->text, " . %s", tra_str_get(&old));
        else if (first)
            tra_str_printf(&k->text, " . %s", tra_str_get(&first->text));
        tra_str_printf(&k->json, "%s%s", i ? "," : "", tra_str_get(&p.json));
        tra_str_free(&old);
        tra_str_free(&p.text);
        tra_str_free(&p.json);
    }
}

void draw_join_kernel(gen *g, int ra, int rb, kern *k) {
    kern first = {0};
    int64_t c = rng_below(&g->g, 100);
    bool fn = false;
    if (c < 30 && ra == 2 && rb == 2) {
        kern_named(&first, "matmul");
    } else if (c < 45 && ra == 2 && rb == 2) {
        const char *s =
            PICK(g, "ij,kj->ik", "ij,jk->ki", "ij,ij->", "ji,jk->ik", "ij,ij->i", "ij,kl->jl", "ii,ij->j", "ij,ij->ij");
        tra_str_printf(&first.text, "\"%s\"", s);
        tra_str_printf(&first.json, "{\"einsum\":\"%s\"}", s);
    } else if (c < 45 && ra == 2 && rb == 1) {
        const char *s = PICK(g, "ij,j->i", "ij,i->j", "ij,j->ij", "ij,i->");
        tra_str_printf(&first.text, "\"%s\"", s);
        tra_str_printf(&first.json, "{\"einsum\":\"%s\"}", s);
    } else if (c < 50 && ra == 1 && rb == 1) {
        const char *s = PICK(g, "i,i->", "i,j->ji", "i,i->i");
        tra_str_printf(&first.text, "\"%s\"", s);
        tra_str_printf(&first.json, "{\"einsum\":\"%s\"}", s);
    } else if (c < 68) {
        kern_named(&first, !g->integers && rng_chance(&g->g, 15)
                               ? "elemdiv"
                               : PICK(g, "matadd", "matsub", "elemmul", "elemmax", "elemmin"));
    } else if (c < 84) {
        kern_named(&first, !g->integers && rng_chance(&g->g, 15) ? "matvecdiv"
                                                                 : PICK(g, "matvecadd", "matvecsub", "matvecmul"));
    } else if (c < 90) {
        kern_named(&first, "outer");
    } else {
        lambda(g, 2, &first);
        fn = true;
    }
    if (!fn && rng_chance(&g->g, 12)) {
        draw_map(g, ra > rb ? ra : rb, &first, k);
    } else {
        tra_str_add(&k->text, tra_str_get(&first.text));
        tra_str_add(&k->json, tra_str_get(&first.json));
    }
    tra_str_free(&first.text);
    tra_str_free(&first.json);
}

void draw_agg_kernel(gen *g, int rank, kern *k) {
    kern first = {0};
    int64_t c = rng_below(&g->g, 100);
    if (c < 55)
        kern_named(&first, "matadd");
    else if (c < 80)
        kern_named(&first, PICK(g, "elemmax", "elemmin"));
    else if (c < 86)
        kern_named(&first, "elemmul");
    else
        kern_named(&first, PICK(g, "minindex", "maxindex"));
    if (c < 86 && rng_chance(&g->g, 15)) {
        draw_map(g, rank, &first, k);
    } else {
        tra_str_add(&k->text, tra_str_get(&first.text));
        tra_str_add(&k->json, tra_str_get(&first.json));
    }
    tra_str_free(&first.text);
    tra_str_free(&first.json);
}
