/* codegen_int.h - what the files that compile, keep and run kernels share. Private to lib/codegen. */
#ifndef TRA_CODEGEN_INT_H
#define TRA_CODEGEN_INT_H

#include "abi.h"
#include "codegen.h"

#include <pthread.h>

GEN_ABI

/* What a kernel's object is known by: a hash of source, compiler, flags and processor, as 32 hexadecimal digits. */
typedef struct gen_key {
    char text[33];
} gen_key;

struct tra_codegen {
    tra_codegen_mode mode;
    pthread_mutex_t lock; /* of all that follows */
    bool looked, warned;
    const char *why;         /* kernels cannot be compiled; NULL: they can */
    char *folder, *compiler; /* an absolute path each */
    char *compiler_is, *processor;
    double seconds;
    tra_arena *arena;
    tra_codegen_kernel *kernels;
};

struct tra_codegen_kernel {
    const tra_codegen_spec *spec;
    gen_key key;
    void *object; /* of dlopen; NULL: it is interpreted */
    bool shared;  /* with another kernel, whose object it is */
    int (*run)(struct kernel_args *);
    int (*count)(struct kernel_args *);
    const char *const *wrong;
    struct tra_codegen_kernel *next;
};

/* Finds folder, compiler and processor; g->why where there is none. Under the lock, as all of these. */
void gen_look(tra_codegen *g);
gen_key gen_key_of(const tra_codegen *g, const char *source);
/* Says once why kernels are interpreted. */
tra_status gen_cannot(tra_codegen *g, tra_err *e, const char *fmt, ...) TRA_PRINTF(3, 4);

/* The object of a key in the folder, if it is whole, ours and of that key; removed where it is not. NULL: none.
 * *why: what kept one that is whole from being loaded (a folder from which nothing can be executed), or NULL. */
void *gen_load(tra_codegen *g, const gen_key *key, const char **why);
/* Compiles the source into the folder. False with *why. */
bool gen_compile(tra_codegen *g, const gen_key *key, const char *source, const char **why);
/* Ends the file with what gen_load looks for. */
bool gen_seal(const char *path);

/* interpret.c */
tra_status gen_interpret(const tra_codegen_spec *s, const tra_codegen_call *c, tra_err *e);
tra_status gen_interpret_count(const tra_codegen_spec *s, const tra_codegen_call *c, int64_t *rows, int64_t *entries,
                               tra_err *e);

#endif
