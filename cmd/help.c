/* help.c - tra help [COMMAND]: the list of commands, or the help of one. */
#include "cmd.h"

#include <string.h>

static tra_status list(tra_err *e) {
    tra_str s = {0};
    tra_str_add(&s, "Usage: tra COMMAND [options] [arguments]\n\n"
                    "Out-of-core and distributed tensor computations as programs over tensor relations.\n");
    const char *group = "";
    for (const tra_cmd *const *c = tra_cmds; *c; c++) {
        if (strcmp((*c)->group, group) != 0) tra_str_printf(&s, "\n%s\n", (*c)->group);
        group = (*c)->group;
        tra_str_printf(&s, "  %-12s%s\n", (*c)->name, (*c)->brief);
    }
    tra_str_add(&s, "\n'tra help COMMAND' or 'man tra-COMMAND' tells more; 'man tra' is where to begin.\n");
    tra_status status = tra_print(tra_str_get(&s), e);
    tra_str_free(&s);
    return status;
}

static tra_status run(int argc, char **argv, tra_err *e) {
    if (argc == 0) return list(e);
    const tra_cmd *cmd = NULL;
    TRA_TRY(tra_cmd_find(argv[0], &cmd, e));
    tra_options_help(cmd, stdout);
    return TRA_OK;
}

const tra_cmd tra_cmd_help = {
    .name = "help",
    .group = "About tra",
    .brief = "lists the commands, or explains one",
    .usage = "[COMMAND]",
    .about = "Without an argument lists the commands; with one tells what that command does and its options.",
    .maxargs = 1,
    .run = run,
};
