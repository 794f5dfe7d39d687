/* test_planfile.c - plan files, whole and garbled. */
#include "search_util.h"

#include <unistd.h>

static void make_planfile(tra_str *text) {
    char path[] = "/tmp/tra-plan-XXXXXX";
    tra_err e = {0};
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, programs[0], strlen(programs[0])) == (ssize_t)strlen(programs[0]));
    close(fd);
    tra_request r = {.options = options(3, TRA_COST_TRA), .plan = 2};
    tra_job job;
    CHECK_OK(tra_job_load(path, &r, &job, &e), e);
    if (job.plan) {
        CHECK_INT(job.plan->rank, 2);
        CHECK_INT(job.options.memory, 0);
        tra_planfile_print(path, &job, &r, "a tree\n", text);
    }
    tra_job_free(&job);
    unlink(path);
}

TEST(a_plan_file_comes_back) {
    tra_str text = {0};
    tra_arena *a = tra_arena_new();
    tra_planfile f;
    tra_err e = {0};
    make_planfile(&text);
    CHECK(tra_planfile_sniff(text.s, text.n));
    CHECK_OK(tra_planfile_parse("x", text.s, text.n, a, &f, &e), e);
    CHECK_INT(f.options.sites, 3);
    CHECK_INT(f.options.cost, TRA_COST_TRA);
    CHECK_INT(f.rank, 2);
    CHECK_INT(f.size, strlen(programs[0]));
    CHECK_STR(f.program, programs[0]);
    CHECK_STR(f.dir, "/tmp");
    tra_choices c;
    CHECK(f.choices && tra_planfile_choices(&f, a, &c) && c.n > 0);
    for (int i = 0; i < c.n; i++) CHECK(c.v[i].in[0].sites == 0 || c.v[i].in[0].sites == 3);
    tra_arena_free(a);
    tra_str_free(&text);
}

TEST(a_garbled_plan_file_is_refused) {
    tra_str text = {0};
    make_planfile(&text);
    for (size_t i = 0; i < text.n; i++) {
        tra_planfile f;
        tra_err e = {0};
        tra_arena *a = tra_arena_new();
        char old = text.s[i];
        if (tra_planfile_parse("x", text.s, i, a, &f, &e) == TRA_OK) check_report("cut at byte %zu and read", i);
        CHECK_INT(e.status, TRA_INPUT);
        e = (tra_err){0};
        text.s[i] = (char)(old ^ 1);
        if (tra_planfile_parse("x", text.s, text.n, a, &f, &e) == TRA_OK)
            check_report("garbled at byte %zu and read", i);
        text.s[i] = old;
        tra_arena_free(a);
    }
    tra_str_free(&text);
}
