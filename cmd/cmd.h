/* cmd.h - subcommands: one constant description each, one row in main.c's table.
 *
 * Usage, `tra help`, completion and the index of tra.1 come from the table. A command's options are a table too;
 * parsing, --help and error messages derive from it (options.c).
 *
 * A command returns its status; main prints e->msg, unless it is empty (a rank that leaves the message to another, or
 * an answer that is no).
 */
#ifndef TRA_CMD_H
#define TRA_CMD_H

#include <stdatomic.h>

#include "../lib/base/base.h"

typedef enum tra_opt_kind {
    TRA_OPT_FLAG,   /* bool */
    TRA_OPT_COUNT,  /* int, counts -v -v */
    TRA_OPT_STR,    /* const char * */
    TRA_OPT_INT,    /* int64_t */
    TRA_OPT_NUM,    /* double */
    TRA_OPT_SIZE,   /* int64_t bytes: 64M, 1.5G */
    TRA_OPT_ENUM,   /* int: index into `choices`, "a|b|c" */
    TRA_OPT_LIST,   /* tra_strlist: may be repeated */
    TRA_OPT_OPTSTR, /* const char *: --name or --name=VALUE; "" when given bare */
} tra_opt_kind;

typedef struct tra_opt {
    char brief;       /* 'o' for -o, or 0 */
    const char *name; /* "output" for --output */
    tra_opt_kind kind;
    void *value;     /* where it goes */
    const char *arg; /* "FILE" in help */
    const char *help;
    const char *choices; /* ENUM */
    const char *env;     /* variable that gives a default, or NULL; the option beats it */
    bool *given;         /* set when the option was there, or NULL */
} tra_opt;               /* a table ends with a row whose name is NULL */
/* The row of an option that has no choices, no variable and no flag, as most. */
#define TRA_ROW(brief, name, kind, value, arg, help)                                                                   \
    { brief, name, kind, value, arg, help, NULL, NULL, NULL }

typedef enum tra_need {
    TRA_NEED_MPI = 1, /* takes part in mpirun -n N; others run on rank 0 alone under mpirun */
    TRA_NEED_HDF5 = 2,
    TRA_TAKES_JSON = 4,      /* --format text|json; without it --format is refused */
    TRA_TAKES_DOT = 8,       /* and pictures: dot, svg, html, trace */
    TRA_TAKES_DEFINE = 16,   /* -D NAME=VALUE */
    TRA_NEED_BLAS = 32,      /* computes, or tells by what: with the kernel that fits the processor */
    TRA_TAKES_READING = 64,  /* the options of formats that concern reading files */
    TRA_TAKES_WRITING = 128, /* the options of formats that concern writing files */
} tra_need;

typedef struct tra_cmd {
    const char *name, *group, *brief; /* brief: one line */
    const char *usage;                /* "[options] PROGRAM" */
    const char *about;                /* a paragraph or more for --help */
    const tra_opt *opts;
    int minargs, maxargs; /* -1: any number */
    unsigned needs;
    tra_status (*run)(int argc, char **argv, tra_err *e); /* arguments after the options */
    const tra_opt *more;                                  /* the table of another command, whose options it has too */
} tra_cmd;

extern const tra_cmd *const tra_cmds[];                                                 /* ends with NULL */
TRA_MUSTUSE tra_status tra_cmd_find(const char *name, const tra_cmd **cmd, tra_err *e); /* with the nearest spelling */

/* Parses argv by the tables (GNU style: options anywhere, --name=value, --name value, -xVALUE, -x VALUE, grouped short
 * flags, unambiguous prefixes of long names, "--" ends). argv[0] is the first argument after the command. The common
 * options are always accepted, as far as the command takes them. Arguments that remain are moved to the front; *nargs
 * counts them (their number is checked). TRA_USAGE with a message and the nearest spelling. Stops at --help. */
TRA_MUSTUSE tra_status tra_options_parse(const tra_cmd *cmd, int argc, char **argv, int *nargs, tra_err *e);
void tra_options_help(const tra_cmd *cmd, FILE *f);
/* The tables that a command's options come from: its own and those that many share. Returns their number. */
enum { TRA_OPT_TABLES = 7 };
int tra_opt_tables(const tra_cmd *cmd, const tra_opt *t[TRA_OPT_TABLES]);
/* Appends the completion file of a shell to out; false: there is none for it. */
bool tra_completion(const char *shell, tra_str *out);
/* Appends " --name 'value'" to out if it was. */
void tra_opt_print(const tra_opt *o, tra_str *out);

/* The options of formats, for reading and for writing, as a command's table has them (format_options.h). */
const tra_opt *tra_reading_rows(void);
const tra_opt *tra_writing_rows(void);

/* Options that every command has. */
enum { TRA_FORMAT_TEXT, TRA_FORMAT_JSON, TRA_FORMAT_DOT, TRA_FORMAT_SVG, TRA_FORMAT_HTML, TRA_FORMAT_TRACE };
typedef struct tra_common {
    bool help;
    bool quiet;
    int verbose;
    int format;         /* TRA_FORMAT_* */
    int color;          /* auto, always, never */
    tra_strlist define; /* -D */
} tra_common;
extern tra_common tra_common_opts;
bool tra_colour(FILE *f); /* --color, NO_COLOR, TERM=dumb, isatty */

/* Writes to standard output and checks: TRA_RESOURCE when it fails (full disk; main is quiet about a closed pipe). */
TRA_MUSTUSE tra_status tra_print(const char *s, tra_err *e);
/* The same, and frees it; of JSON a line end is added. */
TRA_MUSTUSE tra_status tra_print_str(tra_str *s, tra_err *e);
TRA_MUSTUSE tra_status tra_print_json(tra_json *j, tra_err *e);
TRA_MUSTUSE tra_status tra_print_flush(tra_err *e);
extern bool tra_pipe_closed; /* seen by these two */

/* Prints the message of a failure to standard error, if there is one. */
void tra_say_error(const tra_err *e);

/* Ends the process at once (out of memory): _exit, until a command that has begun MPI puts MPI_Abort here. */
extern void (*tra_exit_now)(int status);
/* Have all outputs of the run appeared (tra_exec_options.settled)? Any thread. */
extern atomic_bool tra_outputs_settled;

#endif
