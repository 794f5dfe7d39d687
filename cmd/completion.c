/* completion.c - what zsh and fish know of the commands and their options, made of the tables by which these are
 * parsed. (What bash knows it asks tra each time: share/completion/tra.bash.) */
#include "cmd.h"

#include <string.h>

/* Adds the text with a backslash before each character of `special`; in single quotes a quote ends and begins them. */
static void quoted(tra_str *s, const char *text, const char *special) {
    for (; *text; text++) {
        if (*text == '\'' && !strchr(special, '\''))
            tra_str_add(s, "'\\''");
        else
            tra_str_printf(s, "%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

/* Calls row for each option of a command, in the order of --help. */
static void rows(tra_str *s, const tra_cmd *cmd, void (*row)(tra_str *, const tra_cmd *, const tra_opt *)) {
    const tra_opt *t[TRA_OPT_TABLES];
    int n = tra_opt_tables(cmd, t);
    for (int i = 0; i < n; i++)
        for (const tra_opt *o = t[i]; o->name; o++) row(s, cmd, o);
}

static bool takes_value(const tra_opt *o) {
    return o->kind != TRA_OPT_FLAG && o->kind != TRA_OPT_COUNT && o->kind != TRA_OPT_OPTSTR;
}

static bool is_path(const tra_opt *o) {
    return o->arg && (strncmp(o->arg, "FILE", 4) == 0 || strcmp(o->arg, "DIR") == 0);
}

static void words(tra_str *s, const char *choices) {
    for (; *choices; choices++) tra_str_printf(s, "%c", *choices == '|' ? ' ' : *choices);
}

/* ---- zsh ---------------------------------------------------------------------------------------------------- */

static void zsh_row(tra_str *s, const tra_cmd *cmd, const tra_opt *o) {
    (void)cmd;
    bool many = o->kind == TRA_OPT_LIST || o->kind == TRA_OPT_COUNT;
    tra_str_add(s, " \\\n            ");
    if (many)
        tra_str_add(s, "'*'");
    else if (o->brief)
        tra_str_printf(s, "'(-%c --%s)'", o->brief, o->name);
    if (o->brief)
        tra_str_printf(s, "{-%c%s,--%s%s}'[", o->brief, takes_value(o) ? "+" : "", o->name, takes_value(o) ? "=" : "");
    else
        tra_str_printf(s, "'--%s%s[", o->name, takes_value(o) ? "=" : o->kind == TRA_OPT_OPTSTR ? "=-" : "");
    quoted(s, o->help, "[]\\");
    tra_str_add(s, "]");
    if (o->kind == TRA_OPT_OPTSTR) tra_str_add(s, "::value:");
    if (takes_value(o)) {
        tra_str_add(s, ":");
        quoted(s, o->arg ? o->arg : "value", ":");
        tra_str_add(s, ":");
    }
    if (o->choices) {
        tra_str_add(s, "(");
        words(s, o->choices);
        tra_str_add(s, ")");
    } else if (is_path(o)) {
        tra_str_add(s, strcmp(o->arg, "DIR") == 0 ? "_files -/" : "_files");
    }
    tra_str_add(s, "'");
}

static void zsh(tra_str *s) {
    tra_str_add(s, "#compdef tra\n# Made by `tra help zsh`.\n_tra() {\n    local -a commands=(\n");
    for (const tra_cmd *const *c = tra_cmds; *c; c++) {
        tra_str_printf(s, "        '%s:", (*c)->name);
        quoted(s, (*c)->brief, ":");
        tra_str_add(s, "'\n");
    }
    tra_str_add(s, "    )\n    if ((CURRENT == 2)) || [[ $words[2] == help ]]; then\n"
                   "        _describe command commands\n        return\n    fi\n"
                   "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n"
                   "    case $command in\n");
    for (const tra_cmd *const *c = tra_cmds; *c; c++) {
        tra_str_printf(s, "    %s)\n        _arguments -s", (*c)->name);
        rows(s, *c, zsh_row);
        tra_str_add(s, " \\\n            '*:file:_files'\n        ;;\n");
    }
    tra_str_add(s, "    esac\n}\n_tra \"$@\"\n");
}

/* ---- fish --------------------------------------------------------------------------------------------------- */

static void fish_row(tra_str *s, const tra_cmd *cmd, const tra_opt *o) {
    tra_str_printf(s, "complete -c tra -n '__fish_seen_subcommand_from %s' -l %s", cmd->name, o->name);
    if (o->brief) tra_str_printf(s, " -s %c", o->brief);
    if (takes_value(o)) tra_str_add(s, is_path(o) || !o->choices ? " -r" : " -x");
    if (o->choices) {
        tra_str_add(s, " -a '");
        words(s, o->choices);
        tra_str_add(s, "'");
    }
    tra_str_add(s, " -d '");
    quoted(s, o->help, "'\\");
    tra_str_add(s, "'\n");
}

static void fish(tra_str *s) {
    tra_str_add(s, "# Made by `tra help fish`.\n");
    for (const tra_cmd *const *c = tra_cmds; *c; c++) {
        tra_str_add(s, "complete -c tra -f -n '__fish_use_subcommand; or __fish_seen_subcommand_from help'");
        tra_str_printf(s, " -a %s -d '", (*c)->name);
        quoted(s, (*c)->brief, "'\\");
        tra_str_add(s, "'\n");
    }
    for (const tra_cmd *const *c = tra_cmds; *c; c++) rows(s, *c, fish_row);
}

bool tra_completion(const char *shell, tra_str *out) {
    if (strcmp(shell, "zsh") == 0) return zsh(out), true;
    if (strcmp(shell, "fish") == 0) return fish(out), true;
    return false;
}
