/* planfile.h - a compiled plan as a text file.
 *
 * It holds what the plan was made from (program, directory, definitions, options, the inputs' identities), the choices
 * of the search, and a digest of the plan. Whoever loads it makes the plan of its choices, without a search, and
 * compares the digest. The tree at its end is for people. Lines are `key value`; texts are `key LENGTH` and a line
 * break, then so many bytes and a line break.
 */
#ifndef TRA_PLANFILE_H
#define TRA_PLANFILE_H

#include "job.h"

typedef struct tra_planinput {
    const char *name, *path, *identity; /* path is absolute */
} tra_planinput;

typedef struct tra_planfile {
    tra_plan_options options; /* `planned`: what the search took */
    int rank, nplans;         /* nplans 0: not known */
    tra_tables_room room;     /* as of tra_building */
    double free_cost;         /* of a job */
    bool bounded;             /* of tra_plans */
    uint64_t digest;          /* of the plan (tra_plan_digest) */
    const char *version;      /* of the program that wrote it */
    const char *strategy;
    const char *source;  /* name of the program as the user gave it */
    const char *dir;     /* absolute: what its paths count from */
    const char *program; /* its text */
    size_t size;
    const char *choices; /* NULL: the file has none, and is planned by a search */
    const char *tree;
    int ndefines;
    const char **defines; /* NAME=VALUE, paths absolute */
    int ninputs;
    tra_planinput *inputs;
} tra_planfile;

bool tra_planfile_sniff(const char *text, size_t n); /* does it begin as a plan file does? */
/* Texts live in the arena. name: of the file, for messages. TRA_INPUT: damaged, cut off, of another version. */
TRA_MUSTUSE tra_status tra_planfile_parse(const char *name, const char *text, size_t n, tra_arena *a, tra_planfile *out,
                                          tra_err *e);
/* The file's text for a job that was loaded from a program with this request. tree: the operators, for people. */
void tra_planfile_print(const char *path, const tra_job *job, const tra_request *r, const char *tree, tra_str *out);
/* The choices, in the arena; false when they are none. */
bool tra_planfile_choices(const tra_planfile *f, tra_arena *a, tra_choices *out);
/* Are the inputs what they were? TRA_INPUT names the first that is not. */
TRA_MUSTUSE tra_status tra_planfile_check(const tra_planfile *f, tra_err *e);

#endif
