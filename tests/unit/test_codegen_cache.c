/* The folder of compiled kernels: who may use it, what is loaded from it, and what there is without it. */
#include "../../lib/codegen/codegen_int.h"
#include "codegen_util.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256], object[512];

/* A folder of our own for a test. */
static void begin(void) {
    static int number;
    snprintf(folder, sizeof folder, "%s/tra-cache-%ld-%d", check_folder(), (long)getpid(), number++);
    setenv("TRA_CACHE", folder, 1);
    unsetenv("TRA_CC");
    tra_log_level = -1;
}

static void end(void) {
    chmod(folder, 0700);
    tra_remove_files_of(folder);
    unlink(folder);
}

/* Makes a kernel in a process as if it were another one and runs it; was it compiled? */
static bool make(tra_codegen_mode mode, bool compile, tra_status wanted, double *seconds) {
    operands o;
    make_operands(&o, 1, true);
    const tra_calc *x = checked(&o, "sum(<_, v> in val) v*c");
    tra_codegen_spec s = {.name = "Z", .plan = x, .n = o.n, .scope = o.names, .how = o.how, .type = TRA_ELEMENT_F64};
    tra_codegen *g = tra_codegen_open(mode), *off = tra_codegen_open(TRA_CODEGEN_OFF);
    const tra_codegen_kernel *k, *slow;
    tra_err e = {0};
    double a = 0, b = 0;
    bool compiled = false;
    tra_status got = tra_codegen_make(g, &s, compile, &k, &e);
    CHECK_INT(got, wanted);
    if (wanted != TRA_OK) CHECK(strstr(e.msg, "--codegen require") != NULL);
    if (got == TRA_OK) {
        compiled = tra_codegen_compiled(k);
        CHECK_INT(tra_codegen_make(off, &s, true, &slow, &e), TRA_OK);
        CHECK_INT(tra_codegen_run(k, &(tra_codegen_call){.scope = o.scope, .out = &a}, &e), TRA_OK);
        CHECK_INT(tra_codegen_run(slow, &(tra_codegen_call){.scope = o.scope, .out = &b}, &e), TRA_OK);
        CHECK(a == b && a != 0);
    }
    if (seconds) *seconds = g->seconds;
    tra_codegen_close(g);
    tra_codegen_close(off);
    tra_arena_free(o.arena);
    return compiled;
}

/* The one object in the folder. */
static const char *find_object(void) {
    DIR *d = opendir(folder);
    object[0] = 0;
    for (struct dirent *f; d && (f = readdir(d));)
        if (strstr(f->d_name, ".so")) snprintf(object, sizeof object, "%s/%s", folder, f->d_name);
    if (d) closedir(d);
    CHECK(object[0] != 0);
    return object;
}

static int count_files(void) {
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) n += f->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

TEST(kept_kernels_are_used_again) {
    struct stat st;
    double seconds;
    begin();
    CHECK(make(TRA_CODEGEN_AUTO, true, TRA_OK, &seconds));
    CHECK(seconds > 0);
    CHECK(stat(folder, &st) == 0 && (st.st_mode & 0777) == 0700);
    CHECK_INT(count_files(), 2); /* the object and its source: nothing temporary is left */
    CHECK(make(TRA_CODEGEN_AUTO, true, TRA_OK, &seconds));
    CHECK(seconds == 0);
    /* a rank that does not compile itself finds it too */
    CHECK(make(TRA_CODEGEN_REQUIRE, false, TRA_OK, &seconds));
    end();
}

TEST(who_does_not_compile_interprets) {
    begin();
    CHECK(!make(TRA_CODEGEN_AUTO, false, TRA_OK, NULL));
    end();
}

TEST(off_compiles_nothing) {
    begin();
    CHECK(!make(TRA_CODEGEN_OFF, true, TRA_OK, NULL));
    CHECK(access(folder, F_OK) != 0);
    end();
}

static void damage(int64_t at, int64_t cut) {
    struct stat st;
    int fd = open(find_object(), O_RDWR);
    char byte;
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    if (cut) {
        CHECK(ftruncate(fd, st.st_size - cut) == 0);
    } else {
        CHECK(pread(fd, &byte, 1, st.st_size - at) == 1);
        byte ^= 1;
        CHECK(pwrite(fd, &byte, 1, st.st_size - at) == 1);
    }
    close(fd);
}

/* Half an object, or one with another byte, is not loaded but made again. */
TEST(damaged_objects_are_made_again) {
    static const struct { int64_t at, cut; } all[] = {{3000, 0}, {10, 0}, {0, 1}, {0, 5000}};
    begin();
    CHECK(make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        double seconds;
        damage(all[i].at, all[i].cut);
        CHECK(make(TRA_CODEGEN_AUTO, true, TRA_OK, &seconds));
        CHECK(seconds > 0);
    }
    end();
}

/* A whole object under the name of another kernel's. */
TEST(objects_of_another_key_are_made_again) {
    char name[512], copy[600];
    double seconds;
    begin();
    operands o;
    make_operands(&o, 1, true);
    tra_codegen_spec s = {
        .name = "Y", .plan = checked(&o, "c + 1"), .n = o.n, .scope = o.names, .how = o.how, .type = TRA_ELEMENT_F64};
    tra_codegen *g = tra_codegen_open(TRA_CODEGEN_AUTO);
    const tra_codegen_kernel *k;
    tra_err e = {0};
    CHECK_INT(tra_codegen_make(g, &s, true, &k, &e), TRA_OK);
    snprintf(name, sizeof name, "%s", find_object());
    snprintf(copy, sizeof copy, "%s/aside", folder);
    CHECK(rename(name, copy) == 0);
    tra_codegen_close(g);
    CHECK(make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
    CHECK(rename(copy, find_object()) == 0);
    CHECK(make(TRA_CODEGEN_AUTO, true, TRA_OK, &seconds));
    CHECK(seconds > 0);
    tra_arena_free(o.arena);
    end();
}

TEST(links_and_files_of_others_are_not_loaded) {
    char target[600];
    double seconds;
    begin();
    CHECK(make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
    /* a link to a good object */
    snprintf(target, sizeof target, "%s/aside", folder);
    CHECK(rename(find_object(), target) == 0);
    CHECK(symlink(target, object) == 0);
    CHECK(make(TRA_CODEGEN_AUTO, true, TRA_OK, &seconds));
    CHECK(seconds > 0);
    /* one that others can write to */
    CHECK(chmod(object, 0777) == 0);
    CHECK(make(TRA_CODEGEN_AUTO, true, TRA_OK, &seconds));
    CHECK(seconds > 0);
    /* one of another user */
    if (geteuid() == 0 && chown(object, 65534, 65534) == 0) {
        CHECK(make(TRA_CODEGEN_AUTO, true, TRA_OK, &seconds));
        CHECK(seconds > 0);
    }
    end();
}

TEST(folders_of_others_are_not_used) {
    begin();
    CHECK(mkdir(folder, 0755) == 0);
    CHECK(!make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
    CHECK(!make(TRA_CODEGEN_REQUIRE, true, TRA_RESOURCE, NULL));
    CHECK(chmod(folder, 0700) == 0);
    if (geteuid() == 0 && chown(folder, 65534, 65534) == 0) {
        CHECK(!make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
        CHECK(chown(folder, 0, 0) == 0);
    }
    CHECK(make(TRA_CODEGEN_REQUIRE, true, TRA_OK, NULL));
    end();
    /* a link in place of the folder */
    begin();
    CHECK(symlink(check_folder(), folder) == 0);
    CHECK(!make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
    unlink(folder);
    /* a file in place of it */
    close(open(folder, O_CREAT | O_WRONLY, 0600));
    CHECK(!make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
    end();
    setenv("TRA_CACHE", "/proc/none/kernels", 1);
    CHECK(!make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
    CHECK(!make(TRA_CODEGEN_REQUIRE, true, TRA_RESOURCE, NULL));
}

TEST(without_a_compiler_kernels_are_interpreted) {
    begin();
    setenv("TRA_CC", "/bin/false", 1);
    CHECK(!make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
    CHECK(!make(TRA_CODEGEN_REQUIRE, true, TRA_RESOURCE, NULL));
    CHECK_INT(count_files(), 0);
    setenv("TRA_CC", "/nowhere/cc", 1);
    CHECK(!make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
    CHECK(!make(TRA_CODEGEN_REQUIRE, true, TRA_RESOURCE, NULL));
    setenv("TRA_CC", "/bin/true", 1); /* says that it did */
    CHECK(!make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
    end();
}

TEST(other_compilers_have_other_kernels) {
    double seconds;
    begin();
    CHECK(make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
    setenv("TRA_CC", "clang", 1);
    if (system("command -v clang >/dev/null") == 0) {
        CHECK(make(TRA_CODEGEN_REQUIRE, true, TRA_OK, &seconds));
        CHECK(seconds > 0);
        CHECK_INT(count_files(), 4);
    }
    end();
}

TEST(folders_without_execution) {
    begin();
    char mount[600];
    CHECK(mkdir(folder, 0700) == 0);
    snprintf(mount, sizeof mount, "mount -t tmpfs -o noexec,mode=700 none %s 2>/dev/null", folder);
    if (geteuid() != 0 || system(mount) != 0) {
        check_skipped = "cannot mount";
    } else {
        CHECK(!make(TRA_CODEGEN_AUTO, true, TRA_OK, NULL));
        CHECK(!make(TRA_CODEGEN_REQUIRE, true, TRA_RESOURCE, NULL));
        snprintf(mount, sizeof mount, "umount -l %s", folder);
        CHECK(system(mount) == 0);
    }
    end();
}
