/* help_functions.c - tra help functions [NAME], and tra-functions(7), of the table of functions. */
#include "../plans/tra/function_help.h"
#include "help.h"

#include <stdlib.h>
#include <string.h>

static tra_status print_json(tra_err *e) {
    const tra_function_help *v;
    tra_json j = {0};
    int n = tra_function_helps(&v);
    static const char *const places[] = {"tables", "tensors", "group", "einsum", "window"};
    tra_json_begin(&j, NULL, '[');
    for (int i = 0; i < n; i++) {
        tra_json_begin(&j, NULL, '{');
        tra_json_str(&j, "name", v[i].name);
        tra_json_str(&j, "topic", v[i].topic);
        tra_json_begin(&j, "in", '[');
        for (int k = 0; k < 5; k++)
            if (v[i].in >> k & 1) tra_json_str(&j, NULL, places[k]);
        tra_json_end(&j, ']');
        tra_json_str(&j, "signature", v[i].signature);
        tra_json_str(&j, "says", v[i].says);
        tra_json_str(&j, "example", *v[i].example ? v[i].example : NULL);
        tra_json_str(&j, "gives", *v[i].example ? v[i].gives : NULL);
        tra_json_end(&j, '}');
    }
    tra_json_end(&j, ']');
    return tra_print_json(&j, e);
}

int tra_function_help_describe(const char *name, tra_str *s) {
    const tra_function_help *v = tra_function_help_find(name, 0), *all;
    int n = 0;
    char where[128];
    tra_function_helps(&all);
    for (; v; v = tra_function_help_find(name, (int)(v - all) + 1), n++) {
        if (*tra_str_get(s)) tra_str_add(s, "\n");
        tra_str_printf(s, "%s\n  %s (%s)\n", v->signature, v->says, tra_function_help_where(v->in, where));
        if (*v->example) tra_str_printf(s, "  %s is %s\n", v->example, v->gives);
    }
    return n;
}

static tra_status describe(const char *name, tra_err *e) {
    tra_str s = {0};
    if (tra_function_help_describe(name, &s)) return tra_print_str(&s, e);
    const tra_function_help *v;
    int rows = tra_function_helps(&v);
    const char **names = tra_calloc((size_t)rows + 1, sizeof *names);
    for (int i = 0; i < rows; i++) names[i] = v[i].name;
    const char *near = tra_nearest(name, rows, names), *here = tra_function_help_elsewhere(name);
    free(names);
    if (here) return tra_fail(e, TRA_USAGE, "there is no function '%s': %s", name, here);
    return tra_fail(e, TRA_USAGE, "there is no function '%s'%s%s%s (tra help functions lists them)", name,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

tra_status tra_help_functions(const char *name, bool json, tra_err *e) {
    const tra_function_help *v;
    int n = tra_function_helps(&v);
    tra_str s = {0};
    if (json) return print_json(e);
    if (name) return describe(name, e);
    for (int i = 0; i < n; i++) {
        if (i == 0 || strcmp(v[i].topic, v[i - 1].topic) != 0) tra_str_printf(&s, "%s%s\n", i ? "\n" : "", v[i].topic);
        tra_str_printf(&s, "  %-34s %s\n", v[i].signature, v[i].says);
    }
    tra_str_add(&s, "\n'tra help functions NAME' shows an example, 'man tra-functions' all of them.\n");
    return tra_print_str(&s, e);
}

/* ---- the page of the manual -------------------------------------------------------------------------------------- */

static void add_roff(const char *text, tra_str *s) {
    for (; *text; text++) {
        if (*text == '\\')
            tra_str_add(s, "\\e");
        else if (*text == '-')
            tra_str_add(s, "\\-");
        else if (*text == '"')
            tra_str_add(s, "\\(dq");
        else if (*text == '\'')
            tra_str_add(s, "\\(aq");
        else if (*text == '^')
            tra_str_add(s, "\\(ha");
        else
            tra_str_addn(s, text, 1);
    }
}

static const char head[] =
    ".TH TRA-FUNCTIONS 7 2026-11-26 \"tra 0.1.0\" \"tra manual\"\n"
    ".SH NAME\n"
    "tra\\-functions \\- every function of the language, with an example\n"
    ".SH DESCRIPTION\n"
    "Functions stand in expressions over columns\n"
    ".RB ( tra\\-table (5)),\n"
    "in EinSum statements and functions of elements\n"
    ".RB ( tra\\-lang (5)),\n"
    "or in both; aggregates in\n"
    ".BR group \" and \" pivot ,\n"
    "or in EinSum.\n"
    "A function of a NULL is NULL, unless its line says otherwise.\n"
    ".B tra help functions\n"
    "prints this list,\n"
    ".BI \"tra help functions\" \" NAME\"\n"
    "what there is to say of one.\n"
    "In examples of aggregates a table has four rows, with x 1, 2, 4, 8, y 1, 3, 5, 8 and s b, a, c, a; X[i] has the\n"
    "numbers of x.\n"
    ".P\n"
    "A function of one column of strings is computed once for each of its different strings; one that makes strings "
    "of\n"
    "other values for all that these may hold, if few combinations are possible: of numbers and times that is their\n"
    "range by the statistics of the file, or the values that the column of a file has.\n"
    "Where they are many, the strings are those of the rows, which are computed first (tra\\-table(5), STRINGS OF "
    "ROWS).\n"
    "A regular expression stands in the program, and one string may take a million steps.\n"
    "Time zones are those of /usr/share/zoneinfo (tzdata).\n";

static const char tail[] =
    ".SH EXAMPLES\n.EX\n"
    "$ tra help functions mode\n"
    "mode(x)\n"
    "  the most frequent value, of several the least (in group and pivot)\n"
    "  mode(s) is a\n"
    "$ printf \\(aqwhen\\en2024\\-02\\-29\\en\\(aq >t.csv\n"
    "$ tra eval \\(aqproject(t, day = strftime(when, \"%A\"), due = add_months(when, 1))\\(aq t.csv\n"
    "day,due\n"
    "Thursday,2024\\-03\\-29\n"
    ".EE\n"
    ".SH SEE ALSO\n.BR tra\\-from (7),\n.BR tra\\-help (1),\n.BR tra\\-lang (5),\n"
    ".BR tra\\-table (5)\n";

tra_status tra_help_functions_page(tra_err *e) {
    const tra_function_help *v;
    int n = tra_function_helps(&v);
    char where[128];
    tra_str s = {0};
    tra_str_add(&s, head);
    for (int i = 0; i < n; i++) {
        if (i == 0 || strcmp(v[i].topic, v[i - 1].topic) != 0) {
            tra_str_add(&s, ".SH ");
            for (const char *p = v[i].topic; *p; p++) tra_str_printf(&s, "%c", *p >= 'a' && *p <= 'z' ? *p - 32 : *p);
            tra_str_add(&s, "\n");
        }
        tra_str_add(&s, ".TP\n.B \"");
        add_roff(v[i].signature, &s);
        tra_str_add(&s, "\"\n");
        add_roff(v[i].says, &s);
        tra_str_printf(&s, " (%s)", tra_function_help_where(v[i].in, where));
        if (*v[i].example) {
            tra_str_add(&s, "\n.br\n\\&");
            add_roff(v[i].example, &s);
            tra_str_add(&s, " is ");
            add_roff(v[i].gives, &s);
        }
        tra_str_add(&s, "\n");
    }
    tra_str_add(&s, tail);
    return tra_print_str(&s, e);
}
