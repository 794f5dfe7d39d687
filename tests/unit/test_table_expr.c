/* test_table_expr.c - expressions over columns: types, values and states, in one strip and across strips. */
#include "../../lib/table/table.h"
#include "check.h"

#include <math.h>
#include <xxhash.h>

typedef const tra_colexpr *X;
static tra_arena *arena;
static tra_schema schema;
static tra_batch batch;

enum { I, J, F, S, T, D, M, B, COLUMNS };
enum { ROWS = 3000 };

static const tra_dictionary *dictionary(int n, const char *const *s) {
    int64_t len[16];
    for (int i = 0; i < n; i++) len[i] = (int64_t)strlen(s[i]);
    return tra_dictionary_new(arena, n, s, len);
}

/* Rows of all types; i, f, s and b have NULLs in every 7th, 5th, 11th and 3rd row. */
static void set_up(void) {
    static tra_column c[COLUMNS];
    static tra_vector v[COLUMNS];
    arena = tra_arena_new();
    c[I] = (tra_column){.name = "i", .type = TRA_COL_I64, .nullable = true};
    c[J] = (tra_column){.name = "j", .type = TRA_COL_I32};
    c[F] = (tra_column){.name = "f", .type = TRA_COL_F64, .nullable = true};
    c[S] = (tra_column){.name = "s", .type = TRA_COL_STRING, .nullable = true};
    c[T] = (tra_column){.name = "t", .type = TRA_COL_TEXT};
    c[D] = (tra_column){.name = "d", .type = TRA_COL_DATE};
    c[M] = (tra_column){.name = "m", .type = TRA_COL_TIMESTAMP};
    c[B] = (tra_column){.name = "b", .type = TRA_COL_BOOL, .nullable = true};
    c[S].dict = dictionary(4, (const char *[]){"", "Ab", "ab", "\xc3\xa9t\xc3\xa9"});
    c[T].dict = dictionary(3, (const char *[]){"zz", "ab", "2017-04-15"});
    schema = (tra_schema){COLUMNS, c};
    for (int k = 0; k < COLUMNS; k++) {
        v[k].values = tra_arena_alloc(arena, ROWS * 8);
        v[k].state = c[k].nullable ? tra_arena_alloc(arena, ROWS) : NULL;
    }
    batch = (tra_batch){&schema, ROWS, v};
    for (int64_t r = 0; r < ROWS; r++) {
        v[I].state[r] = r % 7 == 6;
        ((int64_t *)v[I].values)[r] = r % 7 == 6 ? 0 : r == 5 ? INT64_MAX : r - 100;
        ((int32_t *)v[J].values)[r] = (int32_t)(r % 13) - 6;
        v[F].state[r] = r % 5 == 4;
        ((double *)v[F].values)[r] = r % 5 == 4 ? 0 : r % 17 == 0 ? NAN : r % 19 == 0 ? -0.0 : (double)r / 8;
        v[S].state[r] = r % 11 == 10;
        ((int32_t *)v[S].values)[r] = r % 11 == 10 ? 0 : (int32_t)(r % 4);
        ((int32_t *)v[T].values)[r] = (int32_t)(r % 3);
        ((int32_t *)v[D].values)[r] = (int32_t)(r * 37 - 20000);
        ((int64_t *)v[M].values)[r] = (r - 1500) * 86399123457;
        v[B].state[r] = r % 3 == 2;
        ((uint8_t *)v[B].values)[r] = r % 3 != 2 && r % 2;
    }
}

static X column(int i) { return tra_colexpr_column(arena, &schema, i); }
static X number(int64_t v) { return tra_colexpr_int(arena, v); }
static X string(const char *s) { return tra_colexpr_string(arena, s, (int64_t)strlen(s)); }
static X null(void) { return tra_colexpr_null(arena); }

static X call(const char *f, int n, ...) {
    X kids[8], out = NULL;
    va_list ap;
    tra_err e = {0};
    va_start(ap, n);
    for (int i = 0; i < n; i++) kids[i] = va_arg(ap, X);
    va_end(ap);
    CHECK_OK(tra_colexpr_call(arena, (tra_colop)tra_colop_find(f, n), n, kids, &out, &e), e);
    return out;
}

static const char *refused(const char *f, X a, X b) {
    static tra_err e;
    X kids[2] = {a, b}, out;
    int n = b ? 2 : 1;
    e = (tra_err){0};
    CHECK_INT(tra_colexpr_call(arena, (tra_colop)tra_colop_find(f, n), n, kids, &out, &e), TRA_PROGRAM);
    return e.msg;
}

/* All rows of one expression. */
static tra_vector values(X x) {
    tra_rowwise *r = tra_rowwise_new(arena, &schema);
    const char *name = "x";
    tra_rowwise_project(r, 1, &name, &x);
    void *scratch = aligned_alloc(64, (size_t)(tra_rowwise_scratch(r) + 63) / 64 * 64);
    tra_vector v = {tra_arena_alloc(arena, ROWS * 8), tra_arena_alloc(arena, ROWS)};
    tra_batch out = {.schema = tra_rowwise_out(r), .v = &v};
    tra_table_notes notes = {0};
    tra_err e = {0};
    memset(v.state, 9, ROWS);
    CHECK_OK(tra_rowwise_run(r, &batch, 0, &out, scratch, &notes, &e), e);
    CHECK_INT(out.rows, ROWS);
    for (int i = 0; i < ROWS; i++) {
        if ((v.state[i] == TRA_STATE_NULL && !x->nullable) || (v.state[i] == TRA_STATE_ERROR && !x->fails)) {
            check_report("row %d has a state that its type does not foresee", i);
            break;
        }
    }
    free(scratch);
    return v;
}

/* Checks an expression row by row: state and value that `is` says of row r. */
#define ROWS_ARE(x, T, state_of, value_of)                                                                             \
    do {                                                                                                               \
        tra_vector v_ = values(x);                                                                                     \
        for (int64_t r = 0; r < ROWS; r++) {                                                                           \
            int st = (state_of);                                                                                       \
            T want = (T)(st ? 0 : (value_of)), got = ((T *)v_.values)[r];                                              \
            if (v_.state[r] == st && (got == want || (got != got && want != want))) continue;                          \
            check_report("row %d: state %d value %g, not %d %g", (int)r, v_.state[r], (double)got, st, (double)want);  \
            break;                                                                                                     \
        }                                                                                                              \
    } while (0)

static int64_t i_of(int64_t r) { return r == 5 ? INT64_MAX : r - 100; }
static int64_t j_of(int64_t r) { return r % 13 - 6; }
static double f_of(int64_t r) { return r % 17 == 0 ? NAN : r % 19 == 0 ? -0.0 : (double)r / 8; }
static bool i_null(int64_t r) { return r % 7 == 6; }
static bool f_null(int64_t r) { return r % 5 == 4; }
static bool b_null(int64_t r) { return r % 3 == 2; }
static int64_t floored(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

TEST(arithmetic) {
    set_up();
    ROWS_ARE(call("+", 2, column(I), column(J)), int64_t,
             i_null(r)               ? 1
             : r == 5 && j_of(r) > 0 ? 2
                                     : 0,
             r == 5 ? INT64_MAX + j_of(r) : i_of(r) + j_of(r));
    ROWS_ARE(call("+", 2, column(I), number(1)), int64_t, i_null(r) ? 1 : r == 5 ? 2 : 0, i_of(r) + 1);
    ROWS_ARE(call("*", 2, column(J), column(J)), int64_t, 0, j_of(r) * j_of(r));
    CHECK(!call("*", 2, column(J), column(J))->fails);
    CHECK(call("*", 2, column(I), column(J))->fails);
    ROWS_ARE(call("-", 2, column(F), column(J)), double, f_null(r), f_of(r) - (double)j_of(r));
    ROWS_ARE(call("/", 2, column(J), number(2)), double, 0, (double)j_of(r) / 2);
    ROWS_ARE(call("div", 2, number(7), column(J)), int64_t, j_of(r) == 0, floored(7, j_of(r)));
    ROWS_ARE(call("%", 2, column(I), column(J)), int64_t, i_null(r) || j_of(r) == 0,
             i_of(r) - j_of(r) * floored(i_of(r), j_of(r)));
    ROWS_ARE(call("-", 1, column(J)), int64_t, 0, -j_of(r));
    ROWS_ARE(call("abs", 1, column(J)), int64_t, 0, llabs(j_of(r)));
    ROWS_ARE(call("round", 1, column(F)), double, f_null(r), rint(f_of(r)));
    ROWS_ARE(call("hypot", 2, column(F), number(3)), double, f_null(r), hypot(f_of(r), 3));
    ROWS_ARE(call("min", 2, column(F), column(J)), double, f_null(r),
             isnan(f_of(r)) ? NAN : fmin(f_of(r), (double)j_of(r)));
    X three = call("+", 2, number(1), number(2));
    CHECK_INT(three->op, TRA_C_CONST);
    CHECK_INT(three->value.i, 3);
    CHECK(strstr(refused("+", column(S), number(1)), "a string and a number"));
    CHECK(strstr(refused("div", column(F), column(S)), "takes numbers, not a string"));
    tra_arena_free(arena);
}

TEST(comparisons_and_logic) {
    set_up();
    X less = call("<", 2, column(F), column(J)), b = column(B);
    ROWS_ARE(less, uint8_t, f_null(r), f_of(r) < (double)j_of(r));
    ROWS_ARE(call("!=", 2, column(F), column(F)), uint8_t, f_null(r), isnan(f_of(r)));
    ROWS_ARE(call("same", 2, column(F), column(F)), uint8_t, 0, 1);
    ROWS_ARE(call("same", 2, column(I), null()), uint8_t, 0, i_null(r));
    ROWS_ARE(call("isnull", 1, column(F)), uint8_t, 0, f_null(r));
    ROWS_ARE(call("ifnull", 2, column(I), column(J)), int64_t, 0, i_null(r) ? j_of(r) : i_of(r));
    ROWS_ARE(call("&&", 2, b, less), uint8_t,
             (b_null(r) && f_null(r)) || (b_null(r) && f_of(r) < (double)j_of(r)) || (f_null(r) && !b_null(r) && r % 2),
             !b_null(r) && r % 2 && !f_null(r) && f_of(r) < (double)j_of(r));
    ROWS_ARE(call("||", 2, b, less), uint8_t,
             (b_null(r) && f_null(r)) || (b_null(r) && !(f_of(r) < (double)j_of(r))) ||
                 (f_null(r) && !b_null(r) && r % 2 == 0),
             (!b_null(r) && r % 2) || (!f_null(r) && f_of(r) < (double)j_of(r)));
    ROWS_ARE(call("!", 1, b), uint8_t, b_null(r), r % 2 == 0);
    ROWS_ARE(call("if", 3, b, column(I), column(J)), int64_t, !b_null(r) && r % 2 && i_null(r),
             !b_null(r) && r % 2 ? i_of(r) : j_of(r));
    ROWS_ARE(call("in", 3, column(J), number(2), null()), uint8_t, j_of(r) != 2, 1);
    /* what could not be computed is an error only where it is read */
    X over = call("+", 2, column(I), number(1)),
      chosen = call("if", 3, call("==", 2, column(J), number(-1)), number(0), over);
    ROWS_ARE(chosen, int64_t, j_of(r) == -1 ? 0 : i_null(r), j_of(r) == -1 ? 0 : i_of(r) + 1);
    CHECK(strstr(refused("&&", column(J), b), "true or false"));
    CHECK(strstr(refused("<", column(D), column(M)), "date(x)"));
    tra_arena_free(arena);
}

static const char *const s_is[] = {"", "Ab", "ab", "\xc3\xa9t\xc3\xa9"}, *const t_is[] = {"zz", "ab", "2017-04-15"};
static bool s_null(int64_t r) { return r % 11 == 10; }

TEST(strings) {
    set_up();
    ROWS_ARE(call("<", 2, column(S), column(T)), uint8_t, s_null(r), strcmp(s_is[r % 4], t_is[r % 3]) < 0);
    ROWS_ARE(call("==", 2, column(T), column(S)), uint8_t, s_null(r), strcmp(s_is[r % 4], t_is[r % 3]) == 0);
    ROWS_ARE(call(">", 2, string("ab"), column(S)), uint8_t, s_null(r), strcmp("ab", s_is[r % 4]) > 0);
    ROWS_ARE(call(">=", 2, column(T), column(T)), uint8_t, 0, 1);
    ROWS_ARE(call("length", 1, column(S)), int64_t, s_null(r), ((int[]){0, 2, 2, 3})[r % 4]);
    ROWS_ARE(call("like", 2, column(S), string("_b%")), uint8_t, s_null(r), r % 4 == 1 || r % 4 == 2);
    ROWS_ARE(call("like", 2, column(S), string("%t_")), uint8_t, s_null(r), r % 4 == 3);
    ROWS_ARE(call("startswith", 2, column(T), string("2017")), uint8_t, 0, r % 3 == 2);
    ROWS_ARE(call("in", 3, column(S), string("ab"), string("no")), uint8_t, s_null(r), r % 4 == 2);
    X lower = call("lower", 1, column(S));
    CHECK_INT(lower->dict->n, 3);
    ROWS_ARE(call("==", 2, lower, string("ab")), uint8_t, s_null(r), r % 4 == 1 || r % 4 == 2);
    ROWS_ARE(call("==", 2, call("substr", 3, column(S), number(2), number(1)), string("t")), uint8_t, s_null(r),
             r % 4 == 3);
    ROWS_ARE(call("==", 2, call("substr", 2, column(T), number(-1)), column(T)), uint8_t, 0, 1);
    ROWS_ARE(call("==", 2, call("if", 3, column(B), string("yes"), column(S)), string("yes")), uint8_t,
             s_null(r) && !(!b_null(r) && r % 2), !b_null(r) && r % 2);
    ROWS_ARE(call("max", 2, column(S), string("ab")), int32_t, s_null(r), r % 4 == 3 ? 3 : 2);
    ROWS_ARE(call("date", 1, column(T)), int32_t, r % 3 != 2, 17271);
    tra_arena_free(arena);
}

TEST(dates) {
    set_up();
    int32_t days;
    int64_t micros;
    char text[TRA_DATETEXT];
    CHECK(tra_parse_date("2017-04-15", 10, &days));
    CHECK_INT(days, 17271);
    CHECK(!tra_parse_date("2017-02-29", 10, &days));
    CHECK(tra_parse_timestamp("1969-12-31T23:59:59.5Z", 22, &micros));
    CHECK_INT(micros, -500000);
    CHECK_STR(tra_timestamp_text(-500000, text), "1969-12-31 23:59:59.500000");
    for (int64_t d = -719162; d < 2932897; d += 31) { /* years 1 to 9999 */
        int64_t y;
        int m, day;
        tra_civil_of(d, &y, &m, &day);
        CHECK(tra_days_of(y, m, day, &days));
        if (days != d) check_report("day %d comes back as %d", (int)d, days);
        struct tm tm = {.tm_year = (int)y - 1900, .tm_mon = m - 1, .tm_mday = day};
        if (timegm(&tm) != d * 86400) check_report("day %d is not what the C library says", (int)d);
    }
    struct tm tm;
#define DAY(r) (gmtime_r(&(time_t){((r)*37 - 20000) * 86400}, &tm), &tm)
    ROWS_ARE(call("year", 1, column(D)), int64_t, 0, DAY(r)->tm_year + 1900);
    ROWS_ARE(call("month", 1, column(D)), int64_t, 0, DAY(r)->tm_mon + 1);
    ROWS_ARE(call("day", 1, column(D)), int64_t, 0, DAY(r)->tm_mday);
    ROWS_ARE(call("weekday", 1, column(D)), int64_t, 0, (DAY(r)->tm_wday + 6) % 7);
#define MOMENT(r) (gmtime_r(&(time_t){floored(((r)-1500) * 86399123457, 1000000)}, &tm), &tm)
    ROWS_ARE(call("hour", 1, column(M)), int64_t, 0, MOMENT(r)->tm_hour);
    ROWS_ARE(call("minute", 1, column(M)), int64_t, 0, MOMENT(r)->tm_min);
    ROWS_ARE(call("year", 1, column(M)), int64_t, 0, MOMENT(r)->tm_year + 1900);
    ROWS_ARE(call("+", 2, column(D), number(3)), int32_t, 0, r * 37 - 20000 + 3);
    ROWS_ARE(call("-", 2, column(D), tra_colexpr_days(arena, 5)), int64_t, 0, r * 37 - 20005);
    ROWS_ARE(call("date", 3, number(2000), call("%", 2, column(J), number(12)), number(1)), int32_t,
             ((j_of(r) % 12) + 12) % 12 == 0, (tra_days_of(2000, ((j_of(r) % 12) + 12) % 12, 1, &days), days));
    ROWS_ARE(call("date", 1, column(M)), int32_t, 0, floored((r - 1500) * 86399123457, 86400000000));
    CHECK(strstr(refused("+", column(D), column(D)), "a date and a date"));
    CHECK(strstr(refused("hour", column(D), NULL), "a timestamp"));
    tra_arena_free(arena);
}

TEST(hashes_are_of_bytes) {
    set_up();
    double zero = 0;
    int64_t seven = 7;
    X minus = call("hash", 1, tra_colexpr_float(arena, -0.0));
    CHECK_INT(minus->value.i, (int64_t)(XXH64(&zero, 8, 0) & INT64_MAX));
    X two = call("hash", 2, number(7), string("ab"));
    CHECK_INT(two->value.i, (int64_t)(XXH64("ab", 2, XXH64(&seven, 8, 0)) & INT64_MAX));
    ROWS_ARE(call("hash", 1, column(T)), int64_t, 0, XXH64(t_is[r % 3], strlen(t_is[r % 3]), 0) & INT64_MAX);
    ROWS_ARE(call("hash", 1, column(S)), int64_t, 0,
             XXH64(s_is[r % 4], s_null(r) ? 0 : strlen(s_is[r % 4]), 0) & INT64_MAX);
    tra_arena_free(arena);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

TEST(steps_are_taken_one_after_the_other) {
    set_up();
    tra_rowwise *r = tra_rowwise_new(arena, &schema);
    tra_err e = {0};
    tra_rowwise_select(r,
                       call("&&", 2, call(">", 2, column(J), number(0)), call("!", 1, call("isnull", 1, column(F)))));
    const char *names[] = {"k", "twice", "n"};
    X rows = call("row", 0), project[] = {column(J), call("*", 2, column(F), number(2)), rows};
    tra_rowwise_project(r, 2, names, project);
    tra_rowwise *next = tra_rowwise_new(arena, tra_rowwise_out(r));
    X k = tra_colexpr_column(arena, tra_rowwise_out(r), 0), twice = tra_colexpr_column(arena, tra_rowwise_out(r), 1);
    tra_rowwise_select(next, call("<", 2, k, number(5)));
    X columns[] = {number(1), twice, k};
    CHECK_OK(tra_rowwise_matrix(next, 3, names, columns, TRA_F64, NULL, &e), e);
    const tra_rowwise *both = tra_rowwise_then(arena, r, next);
    void *scratch = aligned_alloc(64, (size_t)(tra_rowwise_scratch(both) + 63) / 64 * 64);
    double *data = tra_arena_alloc(arena, ROWS * 24);
    int64_t n, counted, want = 0;
    tra_table_notes notes = {0};
    CHECK_OK(tra_rowwise_run_matrix(both, &batch, 0, data, &n, scratch, &notes, &e), e);
    CHECK_OK(tra_rowwise_count(both, &batch, 0, &counted, scratch, &e), e);
    for (int64_t i = 0; i < ROWS; i++) {
        if (j_of(i) <= 0 || j_of(i) >= 5 || f_null(i)) continue;
        double f = f_of(i) * 2, *row = data + want++ * 3;
        if (row[0] != 1 || row[2] != (double)j_of(i) || !(row[1] == f || (isnan(f) && isnan(row[1]))))
            check_report("row %d of the table is wrong", (int)i);
    }
    CHECK_INT(n, want);
    CHECK_INT(counted, want);
    free(scratch);
    tra_arena_free(arena);
}

/* The rows whose number leaves at most that when it is divided by three, of the first so many. */
static void check_selected(const tra_rowwise *r, int rest, int rows) {
    tra_vector v[COLUMNS];
    tra_batch in = batch, out = {.schema = tra_rowwise_out(r), .v = v};
    tra_table_notes notes = {0};
    tra_err e = {0};
    void *scratch = aligned_alloc(64, (size_t)(tra_rowwise_scratch(r) + 63) / 64 * 64);
    int64_t at = 0;
    in.rows = rows;
    for (int c = 0; c < COLUMNS; c++)
        v[c] = (tra_vector){tra_arena_alloc(arena, ROWS * 8), batch.v[c].state ? tra_arena_alloc(arena, ROWS) : NULL};
    CHECK_OK(tra_rowwise_run(r, &in, 0, &out, scratch, &notes, &e), e);
    for (int i = 0; i < rows; i++) {
        if (i % 3 > rest) continue;
        for (int c = 0; c < COLUMNS; c++) {
            size_t size = tra_coltype_size(schema.v[c].type);
            if (memcmp((char *)v[c].values + (size_t)at * size, (char *)batch.v[c].values + (size_t)i * size, size) !=
                    0 ||
                (v[c].state && v[c].state[at] != batch.v[c].state[i]))
                check_report("of %d rows row %d of column %s is wrong", rows, i, schema.v[c].name);
        }
        at++;
    }
    CHECK_INT(out.rows, at);
    free(scratch);
}

TEST(selected_rows_are_those_of_every_column) {
    set_up();
    for (int rest = -1; rest < 3; rest++) {
        tra_rowwise *r = tra_rowwise_new(arena, &schema);
        tra_rowwise_select(r, call("<=", 2, call("%", 2, call("row", 0), number(3)), number(rest)));
        for (int rows = 0; rows < 70; rows++) check_selected(r, rest, rows);
        check_selected(r, rest, 1024);
        check_selected(r, rest, ROWS);
    }
    tra_arena_free(arena);
}

TEST(a_matrix_takes_no_null_without_fill) {
    set_up();
    tra_err e = {0};
    tra_table_notes notes = {0};
    double *data = tra_arena_alloc(arena, ROWS * 8), fill = -1;
    const char *name = "f";
    X x = column(F);
    int64_t n;
    for (int filled = 0; filled < 2; filled++) {
        tra_rowwise *r = tra_rowwise_new(arena, &schema);
        CHECK_OK(tra_rowwise_matrix(r, 1, &name, &x, TRA_F64, filled ? &fill : NULL, &e), e);
        void *scratch = aligned_alloc(64, (size_t)(tra_rowwise_scratch(r) + 63) / 64 * 64);
        tra_status s = tra_rowwise_run_matrix(r, &batch, 1000, data, &n, scratch, &notes, &e);
        CHECK_INT(s, filled ? TRA_OK : TRA_INPUT);
        if (!filled) CHECK(strstr(e.msg, "row 1004: column `f` is NULL"));
        if (filled) CHECK(data[4] == -1 && data[5] == 5.0 / 8);
        e = (tra_err){0};
        free(scratch);
    }
    tra_rowwise *r = tra_rowwise_new(arena, &schema);
    x = column(S);
    CHECK_INT(tra_rowwise_matrix(r, 1, &name, &x, TRA_F64, NULL, &e), TRA_PROGRAM);
    CHECK(strstr(e.msg, "of type string"));
    tra_arena_free(arena);
}

TEST(an_error_names_the_first_row_that_is_read) {
    set_up();
    tra_err e = {0};
    tra_table_notes notes = {0};
    tra_rowwise *r = tra_rowwise_new(arena, &schema);
    tra_rowwise_select(r, call(">", 2, call("+", 2, column(I), number(1)), number(0)));
    void *scratch = aligned_alloc(64, (size_t)(tra_rowwise_scratch(r) + 63) / 64 * 64);
    int64_t n;
    CHECK_INT(tra_rowwise_count(r, &batch, 200, &n, scratch, &e), TRA_INPUT);
    CHECK(strstr(e.msg, "row 205: the predicate"));
    (void)notes;
    free(scratch);
    tra_arena_free(arena);
}

/* A chain of passes is composed by each operator that reads it: the code of the steps is shared. */
TEST(a_pass_composed_with_another_one_takes_little_room) {
    set_up();
    enum { PASSES = 40, WIDE = 20 };
    const char *names[WIDE];
    X x[WIDE];
    for (int i = 0; i < WIDE; i++) names[i] = tra_arena_printf(arena, "c%d", i), x[i] = column(F);
    tra_rowwise *one = tra_rowwise_new(arena, &schema);
    tra_rowwise_project(one, WIDE, names, x);
    const tra_schema *s = tra_rowwise_out(one);
    for (int i = 0; i < WIDE; i++) x[i] = tra_colexpr_column(arena, s, i);
    tra_rowwise *next = tra_rowwise_new(arena, s);
    tra_rowwise_project(next, WIDE, names, x);
    size_t before = tra_arena_bytes(arena);
    const tra_rowwise *all = one;
    for (int i = 0; i < PASSES; i++) all = tra_rowwise_then(arena, all, next);
    CHECK(tra_arena_bytes(arena) - before < (size_t)512 * PASSES * PASSES / 2);
    tra_arena_free(arena);
}

/* Whoever adds a function and not its loop, or one that is not in the reference, sees this fail. */
TEST(every_function_of_numbers_has_a_loop) {
    set_up();
    tra_err e = {0};
    int computed = 0;
    for (int i = 0; tra_colop_function(i); i++) {
        X half = tra_colexpr_float(arena, 0.5), v[2] = {half, half}, x;
        for (int n = 1; n <= 2; n++) {
            int op = tra_colop_find(tra_colop_function(i), n);
            if (op < 0 || tra_colexpr_call(arena, (tra_colop)op, n, v, &x, &e) != TRA_OK) continue;
            if (x->type == TRA_COL_F64) CHECK(x->op == TRA_C_CONST && !x->null);
            computed++;
        }
    }
    CHECK(computed > 20);
    tra_arena_free(arena);
}
