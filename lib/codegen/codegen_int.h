/* codegen_int.h - shared by the files that compile, cache and run kernels. Private to lib/codegen. */
#ifndef TRA_CODEGEN_INT_H
#define TRA_CODEGEN_INT_H

#include "abi.h"
#include "codegen.h"

#include <pthread.h>

GEN_ABI

/* What identifies a kernel's object: a hash of source, compiler, flags and processor, as 32 hexadecimal digits. */
typedef struct gen_key {
    char text[33];
} gen_key;

struct tra_codegen {
    tra_codegen_mode mode;
    pthread_mutex_t lock;          /* protects all that follows */
    bool looked, warned;           /* gen_look has run; the warning was given */
    const char *why;               /* why kernels cannot be compiled; NULL: they can */
    char *folder, *compiler;       /* absolute paths */
    char *compiler_is, *processor; /* identify these, as parts of keys */
    double seconds;                /* spent in the compiler so far */
    tra_arena *arena;
    tra_codegen_kernel *kernels;
};

struct tra_codegen_kernel {
    const tra_codegen_spec *spec;
    gen_key key;
    void *object; /* from dlopen; NULL: it is interpreted */
    bool shared;  /* the object belongs to another kernel */
    int (*run)(struct kernel_args *);
    const struct kernel_error *wrong;
    struct tra_codegen_kernel *next;
};

/* Finds folder, compiler and processor, once; sets g->why if one is missing. Under g->lock, as all of these
 * functions. */
void gen_look(tra_codegen *g);
gen_key gen_key_of(const tra_codegen *g, const char *source);

/* Loads the object of a key from the folder, if it is whole, the user's, and of that key; a file that is not is
 * removed. NULL: there is none. *why: why a whole one could not be loaded (a folder that forbids execution), or
 * NULL. */
void *gen_load(tra_codegen *g, const gen_key *key, const char **why);
/* Compiles the source into the folder. False: *why says why not. */
bool gen_compile(tra_codegen *g, const gen_key *key, const char *source, const char **why);
/* Appends the checksum that gen_load verifies. */
bool gen_seal(const char *path);

/* tra_codegen_run, or with `counts` tra_codegen_count, by the interpreter (interpret.c). */
tra_status gen_interpret(const tra_codegen_spec *s, const tra_codegen_call *c, bool counts, int64_t *rows,
                         int64_t *entries, tra_err *e);

#endif
