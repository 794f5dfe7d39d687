/* test_store_bits.c - one flipped bit anywhere in a file, and files that lead to other files: the relation that was
 * written, or an error, never another relation. */
#include "store_util.h"

#include <fcntl.h>
#include <hdf5.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* ---- bits ------------------------------------------------------------------------------------------------------- */

enum { SILENT = 16 };
typedef struct outcome { /* shared with the process that tries, which HDF5 may crash */
    size_t next;         /* byte to try */
    int64_t refused, same, crashed, silent;
    size_t where[SILENT];
    int bit[SILENT];
} outcome;

/* Opens and reads all: 0 the relation that was written, 1 refused, 2 another one. */
static int judge(const char *path, const tra_type *want) {
    tra_err e = {0};
    tra_rel *r;
    if (tra_rel_open(path, NULL, &r, &e) != TRA_OK) return 1;
    const tra_type *t = tra_rel_type(r);
    int bad = t->dtype == want->dtype && same_catalog(t->cat, want->cat) ? 0 : 2;
    void *buf = malloc(tra_rel_buffer_bytes(r) + 64), *scratch = malloc(tra_rel_scratch_bytes(r) + 1);
    for (int64_t i = 0; i < t->cat->n && bad != 1; i++) {
        if (tra_rel_read(r, i, buf, scratch, &e) != TRA_OK) bad = 1;
        if (bad == 0 && !same_array(t, i, buf)) bad = 2;
    }
    free(buf);
    free(scratch);
    tra_rel_close(r);
    return bad;
}

static void try_from(outcome *o, const char *path, const char *s, size_t n, const tra_type *t, size_t step) {
    int fd = open(path, O_WRONLY);
    while (o->next < n) {
        size_t i = o->next;
        int bit = (int)((i * 5 + i / 7 + step + 0) % 8);
        o->next += step;
        char flipped = (char)(s[i] ^ 1 << bit);
        CHECK(pwrite(fd, &flipped, 1, (off_t)i) == 1);
        int got = judge(path, t);
        CHECK(pwrite(fd, &s[i], 1, (off_t)i) == 1);
        o->same += got == 0;
        o->refused += got == 1;
        if (got < 2) continue;
        if (o->silent < SILENT) {
            o->where[o->silent] = i;
            o->bit[o->silent] = bit;
        }
        o->silent++;
    }
    close(fd);
}

/* One bit of every step-th byte of the file, in processes that HDF5 may crash. */
static void flip_bits(const char *what, const tra_type *t, const char *codec, size_t step) {
    const char *path = at("bits.h5"), *bad = at("flipped.h5");
    tra_err e = {0};
    size_t n;
    unlink(path);
    CHECK_OK(write_all(path, t, codec, &e), e);
    char *s = slurp(path, &n);
    outcome *o = mmap(NULL, sizeof *o, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (o->next < n) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            write_bytes(bad, s, n);
            tra_log_level = -1; /* what is ignored of a file is told each time */
            if (!freopen("/dev/null", "w", stderr)) _exit(9);
            try_from(o, bad, s, n, t, step);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        if (status == 0) break;
        o->crashed++;
    }
    for (int64_t i = 0; i < o->silent && i < SILENT; i++)
        check_report("%s: bit %d of byte %zu of %zu makes another relation of it", what, o->bit[i], o->where[i], n);
    CHECK(o->refused > 100);
    CHECK(o->same + o->refused + o->crashed + o->silent == tra_ceil_div((int64_t)n, (int64_t)step));
    munmap(o, sizeof *o);
    free(s);
}

TEST(store_one_flipped_bit_is_told) {
    tra_arena *a = tra_arena_new();
    tra_type all = blocked(a, "6x5", "2x3", TRA_F64);
    tra_err e = {0};
    tra_catbuilder *b = tra_catbuilder_new(2, 2);
    tra_catalog *c = tra_new(a, tra_catalog);
    for (int64_t i = 0; i < 6; i += 2) { /* every other block of the same tensor */
        tra_dims key = {2, {i / 2, i % 2}}, ext = {2, {2, 3}};
        CHECK_OK(tra_catbuilder_add(b, &key, &ext, i, &e), e);
    }
    CHECK_OK(tra_catbuilder_finish(b, a, c, NULL, &e), e);
    tra_type holes = {.dtype = TRA_F64, .cat = c, .cut = {1, 2}};
    tra_type tuples = grid(a, "3x2", "2x3", (int8_t[]){0, -1}, (int64_t[]){1, 3});
    tuples.cut[0] = 3;
    flip_bits("all blocks", &all, "none", 3);
    flip_bits("holes", &holes, "none", 1);
    flip_bits("tuple layout", &tuples, "zstd", 3);
    tra_arena_free(a);
}

/* ---- links ------------------------------------------------------------------------------------------------------ */

static void link_to(const char *from, const char *link, const char *file, const char *object) {
    tra_h5_enter();
    hid_t f = access(from, F_OK) == 0 ? H5Fopen(from, H5F_ACC_RDWR, H5P_DEFAULT)
                                      : H5Fcreate(from, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    herr_t made = file ? H5Lcreate_external(file, object, f, link, H5P_DEFAULT, H5P_DEFAULT)
                       : H5Lcreate_soft(object, f, link, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(made >= 0);
    H5Fclose(f);
    tra_h5_leave();
}

/* A relation with holes behind links is that relation, with its checksums. */
TEST(store_links_are_followed) {
    tra_arena *a = tra_arena_new();
    tra_err e = {0};
    tra_rel *r;
    char spec[300];
    tra_type t = blocked(a, "6x5", "2x3", TRA_F64);
    snprintf(spec, sizeof spec, "%s:g/real", at("linked.h5"));
    CHECK_OK(write_all(spec, &t, "none", &e), e);
    link_to(at("linked.h5"), "soft", NULL, "/g/real");
    link_to(at("linked.h5"), "h", NULL, "g");
    link_to(at("linked.h5"), "round", NULL, "/around");
    link_to(at("linked.h5"), "around", NULL, "/round");
    link_to(at("leads.h5"), "data", "linked.h5", "/soft");
    link_to(at("leads.h5"), "group", "linked.h5", "/g");
    link_to(at("leads.h5"), "both", NULL, "/group/real");
    link_to(at("leads.h5"), "nowhere", "none.h5", "/x");
    link_to(at("further.h5"), "data", "leads.h5", "/both");
    static const char *const names[] = {"linked.h5:soft", "linked.h5:h/real",    "leads.h5:data", "leads.h5",
                                        "leads.h5:both",  "leads.h5:group/real", "further.h5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(spec, sizeof spec, "%s/%s", dir, names[i]);
        CHECK_OK(tra_rel_open(spec, NULL, &r, &e), e);
        CHECK_STR(tra_rel_info(r)->name, "g/real");
        CHECK_STR(tra_rel_info(r)->path, at("linked.h5"));
        CHECK(tra_rel_info(r)->checksums && !tra_rel_info(r)->lost);
        CHECK_OK(read_all(r, &e), e);
        tra_rel_close(r);
    }
    static const struct {
        const char *name, *says;
    } bad[] = {{"linked.h5:round", "its links go round in a circle"}, {"leads.h5:nowhere", "has no dataset nowhere"}};
    for (int i = 0; i < 2; i++) {
        snprintf(spec, sizeof spec, "%s/%s", dir, bad[i].name);
        CHECK_FAILS(tra_rel_open(spec, NULL, &r, &e), TRA_INPUT, e, bad[i].says);
        e = (tra_err){0};
    }
    CHECK_INT(leftovers(), 0);
    tra_arena_free(a);
}
