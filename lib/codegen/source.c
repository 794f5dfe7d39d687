/* source.c - the C of a kernel as a whole: names, a comment with the plan, arguments and their verification, error
 * texts. */
#include "abi.h"
#include "gen_int.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines and names ---------------------------------------------------------------------------------------- */

void gen_put_line(gen *g, const char *text) { tra_str_printf(g->out, "%*s%s\n", 4 * g->indent, "", text); }

void gen_put_open(gen *g, const char *text) {
    gen_line(g, "%s {", text);
    g->indent++;
}

static bool taken(const gen *g, const char *name) {
    static const char *const words[] = {"a",           "auto",          "bad",        "break",    "case",
                                        "char",        "const",         "continue",   "count",    "default",
                                        "do",          "double",        "else",       "end",      "enum",
                                        "extern",      "float",         "for",        "goto",     "if",
                                        "inline",      "int",           "long",       "out",      "register",
                                        "restrict",    "return",        "rows",       "short",    "signed",
                                        "sizeof",      "static",        "struct",     "switch",   "typedef",
                                        "union",       "unsigned",      "void",       "volatile", "while",
                                        "asm",         "typeof",        "linux",      "unix",     "exp",
                                        "log",         "sqrt",          "floor",      "fabs",     "memcpy",
                                        "memset",      "isnan",         "isinf",      "isfinite", "isnormal",
                                        "signbit",     "fpclassify",    "isgreater",  "isless",   "isgreaterequal",
                                        "islessequal", "islessgreater", "isunordered"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0) return true;
    for (int i = 0; i < g->nnames; i++)
        if (strcmp(g->names[i], name) == 0) return true;
    return false;
}

/* Names of the prelude end with an underscore, those of macros are in capitals alone. */
const char *gen_name(gen *g, const char *like) {
    size_t n = strlen(like);
    bool capitals = true;
    for (const char *p = like; *p; p++) capitals = capitals && !islower((unsigned char)*p);
    bool odd = !isalpha((unsigned char)like[0]) || capitals || like[n - 1] == '_' ||
               (n > 2 && strcmp(like + n - 2, "_n") == 0) || strstr(like, "_key") || strncmp(like, "extent", 6) == 0 ||
               strncmp(like, "stride", 6) == 0;
    char *name = tra_arena_printf(g->arena, odd ? "x%s_x" : "%s", like);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p)) *p = '_';
    const char *found = name;
    for (int i = 2; taken(g, found); i++)
        found = gen_text(g, isdigit((unsigned char)name[strlen(name) - 1]) ? "%s_%d" : "%s%d", name, i);
    GEN_ROOM(g, g->names, g->nnames, g->names_cap);
    return g->names[g->nnames++] = found;
}

int gen_site(gen *g, const tra_calc *x, tra_calc_wrong w) {
    tra_str text = {0};
    tra_calc_print(x, &text);
    bool cut = text.n > 120;
    const char *site = gen_text(g, "%s in %.*s%s", tra_calc_wrong_text(w), cut ? 120 : (int)text.n, tra_str_get(&text),
                                cut ? " .." : "");
    tra_str_free(&text);
    GEN_ROOM(g, g->sites, g->nsites, g->sites_cap);
    g->sites[g->nsites++] = (struct gen_site){site, w};
    return g->nsites;
}

void gen_put_refusal(gen *g, const char *text) {
    if (g->status == TRA_OK) g->status = tra_fail(g->e, TRA_PROGRAM, "no code for %s", text);
}

const char *gen_element_type(tra_element t) {
    static const char *const types[] = {
#define X(name, type, ...) #type,
        TRA_ELEMENTS(X)
#undef X
    };
    return types[t];
}

const char *gen_component_name(const gen *g, int i) { return g->scope[i].text; }

/* ---- the function -------------------------------------------------------------------------------------------- */

static void bring_array(gen *g, const char *name, int at, tra_element type) {
    const char *t = gen_element_type(type);
    gen_line(g, "const %s *restrict const %s = (const %s *)a->array[%d].data;", t, name, t, at);
}

/* Declares the arguments as C variables. */
static void bring_scope(gen *g) {
    int at = 0;
    for (int i = 0; i < g->s->n; i++) {
        const tra_codegen_name *how = &g->s->how[i];
        tra_calc_type t = g->s->scope[i].type;
        const char *name = g->scope[i].text;
        if (how->relation) {
            gen_bring_relation(g, i);
            continue;
        }
        if (!how->component) {
            gen_line(g, "const %s %s = a->%s[%d];", t.real ? "double" : "int64_t", name, t.real ? "real" : "whole", i);
            if (!t.real && !g->s->wide)
                gen_line(g, "if (%s >= (int64_t)1 << 31 || %s <= -((int64_t)1 << 31)) return %d;", name, name,
                         GEN_TOO_LARGE);
            if (how->natural) gen_line(g, "if (%s < 0) return %d;", name, GEN_MISFIT);
            continue;
        }
        bool keyed = how->kind == TRA_COMPONENT_HASHMAP || how->kind == TRA_COMPONENT_TRIE;
        if (!t.real && (how->value == TRA_ELEMENT_F64 || how->value == TRA_ELEMENT_F32))
            gen_refuse(g, "component %s, whose elements are no integers", g->s->scope[i].name);
        gen_line(g, "%sint64_t %s_n = a->array[%d].n;", keyed ? "" : "const ", name, at);
        if (!g->s->wide) gen_line(g, "if (%s_n >= (int64_t)1 << 40) return %d;", name, GEN_TOO_LARGE);
        bring_array(g, name, at++, how->value);
        for (int d = 0; keyed && d < t.depth; d++) {
            gen_line(g, "if (a->array[%d].n < %s_n) %s_n = a->array[%d].n;", at, name, name, at);
            bring_array(g, gen_text(g, "%s_key%d", name, d), at++, how->key[d]);
        }
    }
}

static void compare_sizes(gen *g) {
    for (int i = 0; i < g->s->n; i++) {
        const tra_calc *size = g->s->how[i].size;
        if (!g->s->how[i].component || g->s->how[i].kind != TRA_COMPONENT_ARRAY || !size) continue;
        gen_value n = gen_number(g, size);
        gen_line(g, "if (bad || %s_n != %s) return %d;", g->scope[i].text, n.text, GEN_MISFIT);
    }
}

static void bring_result(gen *g) {
    int rank = g->s->plan->type.depth;
    const char *type = gen_element_type(g->s->type);
    if (g->s->result == TRA_CODEGEN_CALLS) return;
    for (int d = 0; d < rank; d++) {
        gen_value n = gen_number(g, g->s->extent[d]);
        gen_line(g, "const int64_t extent%d = %s;", d, n.text);
        gen_line(g, "if (extent%d < 0) return %d;", d, GEN_MISFIT);
    }
    int last = g->s->result == TRA_CODEGEN_ROWS ? rank - 2 : rank - 1;
    for (int d = last - 1; d >= 0; d--) {
        const char *n = d == last - 1 ? gen_text(g, "extent%d", last) : gen_text(g, "stride%d*extent%d", d + 1, d + 1);
        gen_line(g, "const int64_t stride%d = %s;", d, n);
    }
    if (g->s->result != TRA_CODEGEN_ROWS)
        gen_line(g, "%s *restrict const out = (%s *)a->out;", type, type);
    else
        gen_line(g, "struct rows_ rows;");
}

/* Writes the function that computes. */
static void function(gen *g, tra_str *out) {
    const tra_codegen_spec *s = g->s;
    bool real = s->result == TRA_CODEGEN_CALLS ? s->plan->type.real : s->type != TRA_ELEMENT_I64;
    gen_chain to = {.depth = s->plan->type.depth, .real = real};
    tra_str head = {0}, body = {0};
    g->indent = 1;
    g->out = &head;
    bring_scope(g);
    gen_line(g, "int bad = 0;");
    compare_sizes(g);
    bring_result(g);
    g->out = &body;
    if (s->result == TRA_CODEGEN_ROWS) {
        gen_line(g, "if (!rows_begin_(&rows, a, extent%d, &bad)) goto end;", to.depth - 1);
        g->parts |= GEN_ENTRIES;
    }
    gen_emit(g, s->plan, &to);
    tra_str_printf(out, "int tra_kernel(struct kernel_args *a) {\n%s%s%s", tra_str_get(&head), tra_str_get(&g->top),
                   tra_str_get(&body));
    tra_str_add(out, "    goto end;\nend:\n");
    if (s->result == TRA_CODEGEN_ROWS)
        tra_str_add(out, "    rows_end_(&rows, &bad);\n");
    tra_str_printf(out, "%s    return bad;\n}\n", tra_str_get(&g->end));
    tra_str_free(&head);
    tra_str_free(&body);
    tra_str_free(&g->top);
    tra_str_free(&g->end);
}

/* ---- the text ------------------------------------------------------------------------------------------------- */

/* Writes text inside of a comment: at most 110 columns, and nothing that ends the comment. */
static void comment(const char *text, tra_str *out) {
    int column = 3;
    for (const char *p = text; *p;) {
        int n = (int)strcspn(p, " ");
        if (column + n > 110) tra_str_add(out, "\n  "), column = 3;
        tra_str_add(out, " ");
        for (int i = 0; i < n; i++)
            tra_str_addn(out, p[i] == '/' && i && p[i - 1] == '*' ? " /" : &p[i],
                         p[i] == '/' && i && p[i - 1] == '*' ? 2 : 1);
        column += n + 1;
        p += n + (p[n] == ' ');
    }
}

static void heading(const gen *g, tra_str *out) {
    static const char *const words[] = {
#define X(name, text) text,
        TRA_COMPONENTS(X)
#undef X
    };
    tra_str plan = {0}, names = {0};
    tra_calc_print(g->s->plan, &plan);
    tra_str_printf(out, "/* %s =\n  ", g->s->name ? g->s->name : "a program");
    comment(tra_str_get(&plan), out);
    for (int i = 0; i < g->s->n; i++) {
        const tra_codegen_name *how = &g->s->how[i];
        tra_str_printf(&names, "%s%s %s%s%s", i ? ", " : "over ", g->s->scope[i].type.real ? "real" : "int",
                       how->relation    ? "relation"
                       : how->component ? words[how->kind]
                                        : "",
                       how->component || how->relation ? " " : "", g->s->scope[i].name);
    }
    tra_str_add(out, "\n  ");
    comment(tra_str_get(&names), out);
    tra_str_add(out, " */\n");
    tra_str_free(&plan);
    tra_str_free(&names);
}

static void wrongs(const gen *g, tra_str *out) {
    tra_str_add(out, "const struct kernel_error tra_kernel_wrong[] = {\n");
    for (int i = 0; i < g->nsites; i++) {
        tra_str_printf(out, "    {%d, \"", (int)g->sites[i].wrong);
        for (const char *p = g->sites[i].text; *p; p++) {
            bool plain = isprint((unsigned char)*p) && *p != '"' && *p != '\\' && *p != '?';
            if (plain)
                tra_str_addn(out, p, 1);
            else
                tra_str_printf(out, "\\%03o", (unsigned)(unsigned char)*p);
        }
        tra_str_add(out, "\"},\n");
    }
    tra_str_add(out, "    {0, 0}};\n");
}

static void name_scope(gen *g) {
    g->scope = tra_news(g->arena, gen_value, g->s->n);
    for (int i = 0; i < g->s->n; i++) {
        const char *name = g->s->scope[i].name;
        g->scope[i].text = gen_name(g, name);
    }
}

tra_status tra_codegen_source(const tra_codegen_spec *s, tra_str *out, tra_err *e) {
    gen g = {.s = s, .arena = tra_arena_new(), .e = e};
    tra_str code = {0};
    int depth = s->plan->type.depth;
    if (s->result != TRA_CODEGEN_CALLS && (depth == 0) != (s->result == TRA_CODEGEN_SCALAR))
        gen_refuse(&g, "a result of another rank than its plan");
    if (s->type != TRA_ELEMENT_I64 && s->type != TRA_ELEMENT_F64 && s->type != TRA_ELEMENT_F32)
        gen_refuse(&g, "a result of that type");
    if (s->plan->type.real && s->type == TRA_ELEMENT_I64) gen_refuse(&g, "reals as integers");
    if (g.status == TRA_OK) {
        name_scope(&g);
        function(&g, &code);
    }
    if (g.status == TRA_OK) {
        heading(&g, out);
        bool whole = s->type == TRA_ELEMENT_I64;
        if (g.parts & GEN_ENTRIES)
            tra_str_printf(out, "#define SUM_ %s\n#define VALUE_ %s\n#define ADD_(a, b, c) %s\n",
                           whole ? "int64_t" : "double", gen_element_type(s->type),
                           whole ? "__builtin_add_overflow(a, b, c)" : "(*(c) = (a) + (b), 0)");
        gen_prelude(g.parts, out);
        tra_str_add(out, "\n");
        wrongs(&g, out);
        tra_str_add(out, "\n");
        tra_str_add(out, tra_str_get(&code));
    }
    tra_str_free(&code);
    tra_arena_free(g.arena);
    return g.status;
}
