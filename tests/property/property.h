/* property.h - random programs against the reference evaluator and numpy: what the files of the driver share.
 *
 *   random.c   numbers, and random expressions as text of the language and as JSON for the judge
 *   generate.c a random program: its inputs, its operators, its text
 *   draw.c     its operators, one at a time, with kernels of draw_kernel.c; draw_einsum.c EinSum statements;
 * draw_tensor.c tensor statements expect.c   what a program must give: the reference's results, and how far a right
 * answer may be from them expected_json.c that as JSON, for the judge compare.c  whether a result is that tables.c
 * programs on tables: drawn, expected and compared engine.c   the executor against that, on a communicator property.c
 * the driver
 */
#ifndef TRA_PROPERTY_H
#define TRA_PROPERTY_H

#include "../../plans/reference/reference.h"
#include "../../plans/tra/tra.h"

/* ---- random.c ----------------------------------------------------------------------------------------------- */

typedef struct rng {
    uint64_t s;
} rng;
rng rng_seed(uint64_t seed, uint64_t stream);
uint64_t rng_next(rng *g);
int64_t rng_below(rng *g, int64_t n); /* 0 .. n-1, n >= 1 */
static inline int64_t rng_range(rng *g, int64_t a, int64_t b) { return a + rng_below(g, b - a + 1); }
static inline bool rng_chance(rng *g, int percent) { return rng_below(g, 100) < percent; }
double rng_normal(rng *g);

/* A random function, as the language writes it (text) and as nested JSON lists (json): ["+", ["x", 0], 2]. vars: the
 * JSON of each argument where it is not ["x", its number]; or NULL. */
void random_key_expr(rng *g, tra_arena *a, int nvars, const char *const *names, int depth, bool predicate,
                     tra_str *text, tra_str *json);
void random_scalar(rng *g, tra_arena *a, int nargs, const char *const *names, const char *const *vars, int depth,
                   bool integers, tra_str *text, tra_str *json);

/* ---- generate.c --------------------------------------------------------------------------------------------- */

/* Writes program number `index` of a seed: DIR/prog.tra, its inputs DIR/X*.h5, and into *judge the JSON that the judge
 * needs to know of it: inputs with values and operators. */
enum { DRAWN = 18 };
extern const char *const drawn_names[DRAWN];
typedef struct counts {
    int64_t drawn[DRAWN], kept[DRAWN]; /* by operator: as in drawn_names */
    int64_t overflows;                 /* programs of which an integer does not fit its type */
    char kernels[4096];                /* names of the kernels in programs that were kept, each with spaces around */
} counts;
TRA_MUSTUSE tra_status generate(uint64_t seed, uint64_t index, const char *dir, tra_str *judge, counts *c, tra_err *e);

/* Reads, parses and types DIR/prog.tra. Close with tra_graph_close. */
TRA_MUSTUSE tra_status load(const char *dir, tra_arena *a, tra_graph **out, tra_err *e);

/* ---- expect.c ----------------------------------------------------------------------------------------------- */

typedef struct expected {
    const tra_ref_rel **v; /* by node id; every node */
    double ***tol;         /* by node id, tuple, element: how far a right answer may be; infinity: anything goes */
    bool *exact;           /* by node id: all its values, and all that they are computed of, are small integers */
    bool overflow;         /* an integer does not fit its type: there are no results, */
    bool may;              /* but a plan may give them without computing that integer */
    bool loose;            /* partial sums or products may not fit, in some order */
    bool finite;           /* all values are */
} expected;
/* Also TRA_OK where an integer does not fit; TRA_NO: what it gives is not known. */
TRA_MUSTUSE tra_status expect(const tra_graph *g, uint64_t seed, tra_arena *a, expected *out, tra_err *e);

/* ---- compare.c ---------------------------------------------------------------------------------------------- */

int64_t elements_of(const tra_dims *ext);
/* Is v within tol of the expected w (NaN only for NaN, infinities themselves)? */
bool close_enough(ref_num v, ref_num w, double tol);
bool same_numbers(const ref_num *v, const ref_num *w, int64_t n);            /* to the bit; all NaN are the same */
bool same_but_signs_of_zeros(const ref_num *v, const ref_num *w, int64_t n); /* which sparse types do not keep */
/* got, which has the keys and extents of want, against it: values within a tolerance for each; the same bits. TRA_NO,
 * saying where they differ. */
TRA_MUSTUSE tra_status compare_values(const char *name, const tra_ref_rel *got, const tra_ref_rel *want, double **tol,
                                      tra_err *e);
TRA_MUSTUSE tra_status compare_bits(const char *name, const tra_ref_rel *got, const tra_ref_rel *want, tra_err *e);

/* Reads the relation `spec` as the reference reads inputs, and compares keys, extents and element type with `type`. */
TRA_MUSTUSE tra_status read_back(const char *spec, const tra_type *type, tra_arena *a, tra_ref_rel *out, tra_err *e);

/* ---- expected_json.c ---------------------------------------------------------------------------------------- */

void json_number(tra_str *s, tra_dtype t, ref_num v);
/* The results of the named nodes as JSON, for the judge. */
void expected_json(const tra_graph *g, const expected *x, tra_str *out);

/* What the runs on communicators of one size came to. */
typedef struct tally {
    int64_t programs, runs, failed;
    int64_t dense; /* programs that were run on dense inputs as well */
    int64_t fused; /* runs of plans with fused statements */
} tally;

#endif
