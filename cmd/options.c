/* options.c - the command line by tables: parsing, help, and standard output. */
#include "cmd.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

tra_common tra_common_opts;

static const tra_opt common_rows[] = {
    TRA_ROW('q', "quiet", TRA_OPT_FLAG, &tra_common_opts.quiet, NULL, "errors only"),
    TRA_ROW('v', "verbose", TRA_OPT_COUNT, &tra_common_opts.verbose, NULL, "more messages; repeat for still more"),
    {0, "color", TRA_OPT_ENUM, &tra_common_opts.color, NULL, "colours (default: auto)", "auto|always|never", NULL,
     NULL},
    TRA_ROW('h', "help", TRA_OPT_FLAG, &tra_common_opts.help, NULL, "this text"),
    {.name = NULL}};
static const tra_opt json_rows[] = {{0, "format", TRA_OPT_ENUM, &tra_common_opts.format, NULL,
                                     "form of the output (default: text)", "text|json", NULL, NULL},
                                    {.name = NULL}};
static const tra_opt dot_rows[] = {{0, "format", TRA_OPT_ENUM, &tra_common_opts.format, NULL,
                                    "form of the output (default: text)", "text|json|dot|svg|html|trace", NULL, NULL},
                                   {.name = NULL}};
static const tra_opt define_rows[] = {TRA_ROW('D', "define", TRA_OPT_LIST, &tra_common_opts.define, "NAME=VALUE",
                                              "sets a param, or binds an input or an output to a file"),
                                      {.name = NULL}};

int tra_opt_tables(const tra_cmd *cmd, const tra_opt *t[TRA_OPT_TABLES]) {
    int n = 0;
    if (cmd->opts) t[n++] = cmd->opts;
    if (cmd->more) t[n++] = cmd->more;
    if (cmd->needs & TRA_TAKES_READING) t[n++] = tra_reading_rows();
    if (cmd->needs & TRA_TAKES_WRITING) t[n++] = tra_writing_rows();
    if (cmd->needs & TRA_TAKES_DEFINE) t[n++] = define_rows;
    if (cmd->needs & (TRA_TAKES_DOT | TRA_TAKES_JSON)) t[n++] = cmd->needs & TRA_TAKES_DOT ? dot_rows : json_rows;
    t[n++] = common_rows;
    return n;
}

/* ---- values ------------------------------------------------------------------------------------------------- */

static int choice(const char *choices, const char *v) {
    size_t n = strlen(v);
    int i = 0;
    for (const char *c = choices;; i++) {
        size_t m = strcspn(c, "|");
        if (m == n && memcmp(c, v, n) == 0) return i;
        if (!c[m]) return -1;
        c += m + 1;
    }
}

/* what: "--memory" or "TRA_MEMORY", for messages. */
static tra_status set(const tra_opt *o, const char *what, const char *v, tra_err *e) {
    switch (o->kind) {
    case TRA_OPT_FLAG: *(bool *)o->value = true; break;
    case TRA_OPT_COUNT: ++*(int *)o->value; break;
    case TRA_OPT_STR:
    case TRA_OPT_OPTSTR: *(const char **)o->value = v; break;
    case TRA_OPT_INT:
        if (!tra_parse_int(v, o->value)) return tra_fail(e, TRA_USAGE, "%s: '%s' is not a whole number", what, v);
        break;
    case TRA_OPT_NUM:
        if (!tra_parse_num(v, o->value)) return tra_fail(e, TRA_USAGE, "%s: '%s' is not a number", what, v);
        break;
    case TRA_OPT_SIZE:
        if (!tra_parse_size(v, o->value)) {
            return tra_fail(e, TRA_USAGE, "%s: '%s' is not a size such as 512M or 1.5G", what, v);
        }
        break;
    case TRA_OPT_ENUM: {
        int i = choice(o->choices, v);
        if (i < 0) return tra_fail(e, TRA_USAGE, "%s: '%s' is none of %s", what, v, o->choices);
        *(int *)o->value = i;
        break;
    }
    case TRA_OPT_LIST: {
        tra_strlist *l = o->value;
        l->v = tra_realloc(l->v, (size_t)l->n + 1, sizeof *l->v);
        l->v[l->n++] = v;
        break;
    }
    }
    return TRA_OK;
}

static bool takes_value(const tra_opt *o) {
    return o->kind != TRA_OPT_FLAG && o->kind != TRA_OPT_COUNT && o->kind != TRA_OPT_OPTSTR;
}

/* What stands for the value in help: "FILE", "a|b". */
static const char *value_text(const tra_opt *o) {
    if (o->arg) return o->arg;
    if (o->choices) return o->choices;
    return o->kind == TRA_OPT_SIZE ? "SIZE" : o->kind == TRA_OPT_INT || o->kind == TRA_OPT_NUM ? "N" : "VALUE";
}

/* ---- parsing ------------------------------------------------------------------------------------------------ */

static tra_status unknown(const tra_cmd *cmd, const char *dashed, const char *name, tra_err *e) {
    const tra_opt *t[TRA_OPT_TABLES];
    const char *names[128];
    int n = 0;
    for (int i = tra_opt_tables(cmd, t) - 1; i >= 0; i--) {
        for (const tra_opt *o = t[i]; o->name && n < 128; o++) names[n++] = o->name;
    }
    const char *near = tra_nearest(name, n, names);
    const char *first = cmd->minargs > 0 && dashed[1] != '-' ? "; an argument that begins with - stands after --" : "";
    return tra_fail(e, TRA_USAGE, "%s has no option %s%s%s%s%s (see tra help %s)", cmd->name, dashed,
                    near ? "; did you mean --" : "", near ? near : "", near ? "?" : "", first, cmd->name);
}

/* The option called by the first n bytes of name, or by a prefix that fits no other. */
static tra_status find_long(const tra_cmd *cmd, const char *name, size_t n, const tra_opt **found, tra_err *e) {
    const tra_opt *t[TRA_OPT_TABLES], *second = NULL;
    *found = NULL;
    int nt = tra_opt_tables(cmd, t);
    for (int i = 0; i < nt; i++) {
        for (const tra_opt *o = t[i]; o->name; o++) {
            if (strncmp(o->name, name, n) != 0) continue;
            if (!o->name[n]) {
                *found = o;
                return TRA_OK;
            }
            if (*found) second = o;
            if (!*found) *found = o;
        }
    }
    char dashed[80];
    snprintf(dashed, sizeof dashed, "--%.*s", (int)(n < 70 ? n : 70), name);
    if (second) {
        return tra_fail(e, TRA_USAGE, "%s is short for both --%s and --%s", dashed, (*found)->name, second->name);
    }
    return *found && n ? TRA_OK : unknown(cmd, dashed, dashed + 2, e);
}

static const tra_opt *find_brief(const tra_cmd *cmd, char c) {
    const tra_opt *t[TRA_OPT_TABLES];
    int nt = tra_opt_tables(cmd, t);
    for (int i = 0; i < nt; i++) {
        for (const tra_opt *o = t[i]; o->name; o++) {
            if (o->brief == c) return o;
        }
    }
    return NULL;
}

/* Options that the command line gave, which beat those of the environment. */
static const tra_opt *given[128];
static int ngiven;

/* Of an option's row: was it on the command line? */
static bool is_given(const tra_opt *o) {
    int i = 0;
    while (i < ngiven && given[i] != o) i++;
    return i < ngiven;
}

/* Sets o from the text attached to it (NULL: none), else from the next argument. */
static tra_status take(const tra_opt *o, const char *what, const char *attached, int argc, char **argv, int *i,
                       tra_err *e) {
    const char *v = attached;
    if (!v && takes_value(o)) {
        if (*i + 1 >= argc) return tra_fail(e, TRA_USAGE, "%s needs a value (%s)", what, value_text(o));
        v = argv[++*i];
    }
    if (v && !takes_value(o) && o->kind != TRA_OPT_OPTSTR) {
        return tra_fail(e, TRA_USAGE, "%s takes no value", what);
    }
    TRA_TRY(set(o, what, v ? v : "", e));
    if (o->given) *o->given = true;
    if (is_given(o)) return TRA_OK;
    assert(ngiven < (int)(sizeof given / sizeof *given));
    given[ngiven++] = o;
    return TRA_OK;
}

static tra_status parse_long(const tra_cmd *cmd, int argc, char **argv, int *i, tra_err *e) {
    const char *name = argv[*i] + 2, *eq = strchr(name, '=');
    const tra_opt *o;
    TRA_TRY(find_long(cmd, name, eq ? (size_t)(eq - name) : strlen(name), &o, e));
    char what[80];
    snprintf(what, sizeof what, "--%s", o->name);
    return take(o, what, eq ? eq + 1 : NULL, argc, argv, i, e);
}

static tra_status parse_brief(const tra_cmd *cmd, int argc, char **argv, int *i, tra_err *e) {
    for (const char *p = argv[*i] + 1; *p; p++) {
        const tra_opt *o = find_brief(cmd, *p);
        char what[] = {'-', *p, 0};
        if (!o) return unknown(cmd, what, what + 1, e);
        if (takes_value(o) || o->kind == TRA_OPT_OPTSTR) return take(o, what, p[1] ? p + 1 : NULL, argc, argv, i, e);
        TRA_TRY(take(o, what, NULL, argc, argv, i, e));
    }
    return TRA_OK;
}

tra_status tra_options_parse(const tra_cmd *cmd, int argc, char **argv, int *nargs, tra_err *e) {
    int n = 0;
    bool ended = false;
    for (int i = 0; i < argc && !tra_common_opts.help; i++) {
        if (ended || argv[i][0] != '-' || !argv[i][1]) {
            argv[n++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (argv[i][1] == '-') {
            TRA_TRY(parse_long(cmd, argc, argv, &i, e));
        } else {
            TRA_TRY(parse_brief(cmd, argc, argv, &i, e));
        }
    }
    *nargs = n;
    if (tra_common_opts.help) return TRA_OK;
    const tra_opt *t[TRA_OPT_TABLES];
    for (int i = tra_opt_tables(cmd, t) - 1; i >= 0; i--)
        for (const tra_opt *o = t[i]; o->name; o++) {
            const char *v = o->env && !is_given(o) ? getenv(o->env) : NULL;
            if (v && *v) TRA_TRY(set(o, o->env, v, e));
        }
    if (n < cmd->minargs) return tra_fail(e, TRA_USAGE, "usage: tra %s %s", cmd->name, cmd->usage);
    if (cmd->maxargs >= 0 && n > cmd->maxargs) {
        return tra_fail(e, TRA_USAGE, "'%s' is one argument too many; usage: tra %s %s", argv[cmd->maxargs], cmd->name,
                        cmd->usage);
    }
    return TRA_OK;
}

/* ---- options that were given ------------------------------------------------------------------------------------- */

void tra_opt_print(const tra_opt *o, tra_str *out) {
    if (!is_given(o)) return;
    switch (o->kind) {
    case TRA_OPT_FLAG:
    case TRA_OPT_COUNT: tra_str_printf(out, " --%s", o->name); break;
    case TRA_OPT_STR:
    case TRA_OPT_OPTSTR: tra_str_printf(out, " --%s '%s'", o->name, *(const char **)o->value); break;
    case TRA_OPT_INT:
    case TRA_OPT_SIZE: tra_str_printf(out, " --%s %" PRId64, o->name, *(int64_t *)o->value); break;
    case TRA_OPT_NUM: tra_str_printf(out, " --%s %.17g", o->name, *(double *)o->value); break;
    case TRA_OPT_ENUM: {
        const char *from = o->choices;
        for (int i = *(int *)o->value; i > 0; i--) from += strcspn(from, "|") + 1;
        tra_str_printf(out, " --%s %.*s", o->name, (int)strcspn(from, "|"), from);
        break;
    }
    case TRA_OPT_LIST: {
        const tra_strlist *l = o->value;
        for (int i = 0; i < l->n; i++) tra_str_printf(out, " --%s '%s'", o->name, l->v[i]);
        break;
    }
    }
}

/* ---- help --------------------------------------------------------------------------------------------------- */

enum { WIDTH = 80, INDENT = 30 };

/* Words of text (n bytes) in lines of WIDTH columns; the cursor is at column `at`, further lines begin at `indent`. */
static void wrap(FILE *f, const char *text, size_t n, int at, int indent) {
    const char *end = text + n;
    bool first = true;
    while (text < end) {
        size_t word = 0;
        while (text + word < end && text[word] != ' ' && text[word] != '\n') word++;
        if (!first && at + 1 + (int)word > WIDTH) {
            fprintf(f, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', f);
            at++;
        }
        fwrite(text, 1, word, f);
        at += (int)word;
        text += word;
        while (text < end && (*text == ' ' || *text == '\n')) text++;
        first = false;
    }
    fputc('\n', f);
}

/* Paragraphs are wrapped; lines that begin with a blank stay as they are. */
static void paragraphs(FILE *f, const char *s) {
    while (*s) {
        if (*s == '\n' || *s == ' ') {
            size_t n = strcspn(s, "\n");
            fprintf(f, "%.*s\n", (int)n, s);
            s += n + (s[n] == '\n');
            continue;
        }
        size_t n = 0;
        while (s[n] && !(s[n] == '\n' && (s[n + 1] == '\n' || s[n + 1] == ' '))) n++;
        wrap(f, s, n, 0, 0);
        s += n + (s[n] == '\n');
    }
}

static void help_rows(const tra_opt *o, FILE *f) {
    for (; o->name; o++) {
        char left[128];
        int n = snprintf(left, sizeof left, "  %c%c%c --%s", o->brief ? '-' : ' ', o->brief ? o->brief : ' ',
                         o->brief ? ',' : ' ', o->name);
        if (takes_value(o)) n += snprintf(left + n, sizeof left - (size_t)n, " %s", value_text(o));
        if (o->kind == TRA_OPT_OPTSTR) n += snprintf(left + n, sizeof left - (size_t)n, "[=%s]", value_text(o));
        assert(n < (int)sizeof left);
        fputs(left, f);
        char *text = o->env ? tra_asprintf("%s (or $%s)", o->help, o->env) : tra_strdup(o->help);
        if (n + 2 > INDENT) {
            fputc('\n', f);
            n = 0;
        }
        fprintf(f, "%*s", INDENT - n, "");
        wrap(f, text, strlen(text), INDENT, INDENT);
        free(text);
    }
}

void tra_options_help(const tra_cmd *cmd, FILE *f) {
    fprintf(f, "Usage: tra %s%s%s\n\n", cmd->name, *cmd->usage ? " " : "", cmd->usage);
    paragraphs(f, cmd->about);
    if (cmd->opts && cmd->opts->name) {
        fprintf(f, "\nOptions:\n");
        help_rows(cmd->opts, f);
    }
    fprintf(f, "\nCommon options:\n");
    const tra_opt *t[TRA_OPT_TABLES];
    int n = tra_opt_tables(cmd, t);
    for (int i = cmd->opts ? 1 : 0; i < n; i++) help_rows(t[i], f);
}

/* ---- standard output ---------------------------------------------------------------------------------------- */

bool tra_colour(FILE *f) {
    if (tra_common_opts.color) return tra_common_opts.color == 1;
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(fileno(f));
}

bool tra_pipe_closed;

static tra_status print_failed(tra_err *e) {
    tra_pipe_closed |= errno == EPIPE;
    return tra_fail_errno(e, TRA_RESOURCE, "cannot write standard output");
}

tra_status tra_print(const char *s, tra_err *e) {
    char *shown = tra_printable(tra_asprintf("%s", s), true);
    errno = 0;
    bool ok = fputs(shown, stdout) >= 0;
    free(shown);
    return ok ? TRA_OK : print_failed(e);
}

tra_status tra_print_str(tra_str *s, tra_err *e) {
    tra_status status = tra_print(tra_str_get(s), e);
    tra_str_free(s);
    return status;
}

tra_status tra_print_json(tra_json *j, tra_err *e) {
    tra_str_add(&j->out, "\n");
    tra_status status = tra_print(tra_str_get(&j->out), e);
    tra_json_free(j);
    return status;
}

tra_status tra_print_flush(tra_err *e) {
    errno = 0;
    return fflush(stdout) == 0 && !ferror(stdout) ? TRA_OK : print_failed(e);
}
