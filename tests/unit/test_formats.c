/* test_formats.c - numbers as text, element types, boxes, and the readers on hand-made files. */
#include "../../formats/entries.h"
#include "../../formats/formats.h"
#include "../../lib/relation/rows.h"
#include "check.h"

#include <fcntl.h>
#include <float.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- helpers ------------------------------------------------------------------------------------------------- */

static char path[64];
static const char *file_of(const char *suffix, const void *bytes, size_t n) {
    snprintf(path, sizeof path, "/tmp/tra-test-%ld%s", (long)getpid(), suffix);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) check_report("cannot write %s", path);
    return path;
}

static const tra_source_options defaults = {.header = -1, .base = -1, .memory = 1 << 20, .scratch = "/tmp/x"};

static double element(tra_dtype t, const void *data, int64_t i) {
    switch (t) {
#define X(id, text, ctype, ...)                                                                                        \
    case TRA_##id: return (double)((const ctype *)data)[i];
        TRA_DTYPES(X)
#undef X
    }
    return 0;
}

/* Opens, reads everything in storage order, at most `step` elements at a time. */
static tra_status read_all(const char *file, const tra_source_options *o, int64_t step, double *out, int64_t max,
                           int64_t *n, tra_dims *shape, tra_err *e) {
    tra_source *s;
    TRA_TRY(tra_source_open(file, NULL, o, &s, e));
    tra_status status = TRA_OK;
    *n = 0;
    if (s->access == TRA_ACCESS_STREAM) {
        int64_t got = 1;
        while (status == TRA_OK && got > 0 && *n + step <= max) {
            double buf[64];
            status = s->format->next(s, buf, step, &got, e);
            for (int64_t i = 0; status == TRA_OK && i < got; i++) out[(*n)++] = element(s->dtype, buf, i);
        }
    } else if (s->access == TRA_ACCESS_BOX) {
        tra_dims zero = {.n = s->shape.n}, all = s->fortran ? tra_reversed(&s->shape) : s->shape;
        tra_dims_product(&all, n);
        char buf[1024];
        status = s->format->box(s, &zero, &all, buf, e);
        for (int64_t i = 0; status == TRA_OK && i < *n; i++) out[i] = element(s->dtype, buf, i);
    } else {
        tra_item *x = calloc((size_t)s->at_once, sizeof *x);
        tra_places whole;
        int64_t got = 1;
        tra_places_of(&whole, &s->shape, &s->shape);
        for (int64_t i = 0; i < max; i++) out[i] = 0;
        while (status == TRA_OK && got > 0) {
            status = s->format->entries(s, &whole, x, s->at_once, &got, e);
            for (int64_t i = 0; status == TRA_OK && i < got; i++, ++*n)
                if (x[i].place < (uint64_t)max)
                    out[x[i].place] = tra_dtype_is_float(s->dtype) ? x[i].value.real : (double)x[i].value.whole;
        }
        free(x);
    }
    *shape = s->shape;
    tra_source_close(s);
    return status;
}

static tra_err err;
static double got[256];
static int64_t count;
static tra_dims shape;

static tra_status text(const char *suffix, const char *t) {
    return read_all(file_of(suffix, t, strlen(t)), &defaults, 3, got, 256, &count, &shape, &err);
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

static uint64_t random64(void) {
    static uint64_t x = 88172645463325252u;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

TEST(scan_agrees_with_strtod) {
    static const char *const texts[] = {"0",
                                        "-0",
                                        "1",
                                        "+1.5",
                                        ".5",
                                        "5.",
                                        "1e22",
                                        "1e23",
                                        "123456789012345678",
                                        "9007199254740993",
                                        "0.1",
                                        "1e-22",
                                        "1e-23",
                                        "1.7976931348623157e308",
                                        "4.9e-324",
                                        "1e400",
                                        "1e-400",
                                        "0.30000000000000004",
                                        "179769313486231580793728971405303415079934132710037826936173778980444",
                                        "0.000000000000000000000000000000000000000000000000000000000012345",
                                        "1E5",
                                        "1e+05",
                                        "00000000000000000000000000000001.5",
                                        "7205759403792793.5"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double v = 7, want = strtod(texts[i], NULL);
        CHECK(tra_scan_num(texts[i], strlen(texts[i]), &v));
        if (memcmp(&v, &want, sizeof v) != 0) check_report("%s reads as %.17g, not %.17g", texts[i], v, want);
    }
    for (int i = 0; i < 200000; i++) {
        char t[64];
        int n =
            snprintf(t, sizeof t, "%llu.%0*lluE%d", (unsigned long long)(random64() >> (random64() % 60)),
                     (int)(random64() % 8) + 1, (unsigned long long)(random64() % 100), (int)(random64() % 60) - 30);
        double v, want = strtod(t, NULL);
        if (!tra_scan_num(t, (size_t)n, &v) || v != want) check_report("%s reads as %.17g, not %.17g", t, v, want);
    }
}

TEST(scan_refuses_junk) {
    static const char *const texts[] = {"",    "-",    "+",      ".",    "e5",  "1e",  "1e+", "1.2.3",
                                        "1 2", "0x10", "nan(1)", "infx", "1,5", "--1", "1f"};
    double v;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (tra_scan_num(texts[i], strlen(texts[i]), &v)) check_report("\"%s\" passes for a number", texts[i]);
    CHECK(tra_scan_num("NaN", 3, &v) && isnan(v));
    CHECK(tra_scan_num("-Infinity", 9, &v) && v == -INFINITY);
    CHECK(tra_scan_num("12;7", 2, &v) && v == 12); /* what stands behind is not looked at */
    int64_t k;
    CHECK(tra_scan_int("-9223372036854775808", 20, &k) && k == INT64_MIN);
    CHECK(!tra_scan_int("9223372036854775808", 19, &k));
    CHECK(!tra_scan_int("-", 1, &k) && !tra_scan_int("1.0", 3, &k));
}

TEST(print_reads_back) {
    char t[TRA_NUMTEXT + 1];
    double v, special[] = {0,
                           -0.0,
                           1,
                           -1,
                           0.1,
                           1e15,
                           1e16,
                           1e17,
                           1e21,
                           1e22,
                           1e23,
                           5e-324,
                           DBL_MAX,
                           DBL_MIN,
                           1.0 / 3,
                           123456.789,
                           9007199254740993.0,
                           0.99999999999999989,
                           9.9999999999999998e22,
                           1e-5,
                           1e-6,
                           0.00012345,
                           99999999999999.99};
    const int nspecial = sizeof special / sizeof *special;
    for (int i = 0; i < 300000 && check_failures < 5; i++) {
        if (i < nspecial)
            v = special[i];
        else if (i % 3 == 0) {
            uint64_t bits = random64();
            memcpy(&v, &bits, sizeof v);
            if (!isfinite(v)) continue;
        } else if (i % 3 == 1)
            v = (double)(int64_t)random64() / 9.2e18 * 10;
        else
            v = (double)(int64_t)(random64() >> 40) / 1000;
        size_t n = tra_print_f64(t, v);
        t[n] = '\0';
        double back = strtod(t, NULL);
        if (n > 24 || memcmp(&back, &v, sizeof v) != 0) check_report("%.17g is printed as %s", v, t);
        if (i >= nspecial && i % 3 == 2 && n > 16) check_report("%.17g is printed as %s, which is too long", v, t);
        float f = (float)v, fback;
        if (!isfinite(f)) continue;
        t[n = tra_print_f32(t, f)] = '\0';
        fback = strtof(t, NULL);
        if (n > 15 || memcmp(&fback, &f, sizeof f) != 0) check_report("%.9g is printed as %s", (double)f, t);
    }
    t[tra_print_f64(t, 0.1)] = '\0';
    CHECK_STR(t, "0.1");
    t[tra_print_f64(t, 1.0 / 3)] = '\0';
    CHECK_STR(t, "0.3333333333333333");
    t[tra_print_f64(t, -1500)] = '\0';
    CHECK_STR(t, "-1500");
    t[tra_print_f64(t, 1e-7)] = '\0';
    CHECK_STR(t, "1e-07");
    t[tra_print_f32(t, 0.1f)] = '\0';
    CHECK_STR(t, "0.1");
    t[tra_print_f64(t, -INFINITY)] = '\0';
    CHECK_STR(t, "-inf");
}

/* ---- elements and boxes --------------------------------------------------------------------------------------- */

TEST(elements_convert) {
    tra_losses loss = {0};
    double d[4];
    float f[4];
    int64_t big[4] = {(INT64_C(1) << 53) + 1, -3, INT64_MAX, 7};
    CHECK_INT(tra_elem_convert(TRA_ELEM_I64, false, big, TRA_F64, d, 4, &loss), -1);
    CHECK_INT(loss.inexact, 2);
    CHECK(d[1] == -3 && d[3] == 7);
    uint16_t half[4] = {0x3c00, 0xc500, 0x7c00, 0x0001};
    CHECK_INT(tra_elem_convert(TRA_ELEM_F16, false, half, TRA_F32, f, 4, &loss), -1);
    CHECK(f[0] == 1 && f[1] == -5 && isinf(f[2]) && f[3] == ldexpf(1, -24));
    uint16_t turned[2] = {0x0100, 0xfeff};
    CHECK_INT(tra_elem_convert(TRA_ELEM_I16, true, turned, TRA_F64, d, 2, &loss), -1);
    CHECK(d[0] == 1 && d[1] == -2);
    double wide[2] = {1e300, INFINITY};
    CHECK_INT(tra_elem_convert(TRA_ELEM_F64, false, wide, TRA_F32, f, 2, &loss), -1);
    CHECK_INT(loss.overflow, 1);
    uint8_t yes[2] = {0, 255};
    CHECK_INT(tra_elem_convert(TRA_ELEM_BOOL, false, yes, TRA_F64, d, 2, &loss), -1);
    CHECK(d[0] == 0 && d[1] == 1);
    CHECK_INT(loss.inexact, 2);
    CHECK_INT(tra_elem_convert(TRA_ELEM_BOOL, false, yes, TRA_BOOL, yes, 2, &loss), -1);
    CHECK(yes[0] == 0 && yes[1] == 1);
    int32_t small[2] = {(1 << 24) + 1, 1 << 24};
    CHECK_INT(tra_elem_convert(TRA_ELEM_I32, false, small, TRA_F32, f, 2, &loss), -1);
    CHECK_INT(loss.inexact, 3);
}

/* Every type that holds whole numbers, to every type, over what any of them ends at: a value arrives, or it is the
 * first that does not fit, where a long double tells. */
TEST(whole_numbers_are_converted_or_named) {
    static const long double values[] = {
        0,           1,           2,           -1,           127,          128,
        -128,        -129,        255,         256,          32767,        32768,
        65535,       65536,       0x7fffffffL, 0x80000000L,  -0x80000000L, -0x80000001L,
        0xffffffffL, 0x1p53L - 1, 0x1p53L + 1, -0x1p53L - 1, 0x1p62L,      0x1p63L - 1,
        0x1p63L,     -0x1p63L,    0x1p64L - 1};
    int compared = 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (tra_elem k = TRA_ELEM_F64; k <= TRA_ELEM_BOOL; k++) {
            long double v = values[i], max[] = {[TRA_F64] = 0x1p64L, 0x1p64L, INT64_MAX, INT32_MAX, 1};
            long double min[] = {[TRA_F64] = -0x1p64L, -0x1p64L, INT64_MIN, INT32_MIN, 0};
            _Alignas(16) char from[16];
            if (k == TRA_ELEM_F16) continue;
            switch (k) { /* what k does not hold is left out */
#define X(name, text, ctype, kind)                                                                                     \
    case TRA_ELEM_##name: {                                                                                            \
        bool in = k <= TRA_ELEM_F80 ||                                                                                 \
                  (k == TRA_ELEM_BOOL ? v == 0 || v == 1                                                               \
                                      : v >= ((ctype)-1 < (ctype)1 ? -ldexpl(1, 8 * sizeof(ctype) - 1) : 0) &&         \
                                            v < ldexpl(1, 8 * sizeof(ctype) - ((ctype)-1 < (ctype)1)));                \
        ctype x = in ? (ctype)v : 0;                                                                                   \
        if (!in || (long double)x != v) continue;                                                                      \
        memcpy(from, &x, sizeof x);                                                                                    \
    } break;
                TRA_ELEMS(X)
#undef X
            }
            for (tra_dtype t = TRA_I64; t <= TRA_BOOL; t++) {
                int64_t to = -1;
                tra_losses loss = {0};
                int64_t bad = tra_elem_convert(k, false, from, t, &to, 1, &loss);
                CHECK_INT(bad, v >= min[t] && v <= max[t] ? -1 : 0);
                if (bad < 0) CHECK((long double)element(t, &to, 0) == (long double)(double)v);
                if (bad < 0 && t == TRA_I64) CHECK((long double)to == v);
                compared++;
            }
        }
    }
    CHECK(compared > 300);
    static const double no[] = {0.5, -0.5, NAN, INFINITY, -INFINITY, 1e300, -0x1p63 * 1.001};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        double x[3] = {1, no[i], 0.25};
        int64_t to[3] = {7, 7, 7};
        tra_losses loss = {0};
        CHECK_INT(tra_elem_convert(TRA_ELEM_F64, false, x, TRA_I64, to, 3, &loss), 1);
        CHECK(to[0] == 1 && to[1] == 7 && to[2] == 7);
    }
}

TEST(whole_numbers_as_text) {
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } cases[] = {{"0", true, 0},
                 {"-0", true, 0},
                 {"+7", true, 7},
                 {"9223372036854775807", true, INT64_MAX},
                 {"-9223372036854775808", true, INT64_MIN},
                 {"9223372036854775808", false, 0},
                 {"-9223372036854775809", false, 0},
                 {"9007199254740993.000", true, INT64_C(9007199254740993)},
                 {"1e3", true, 1000},
                 {"1.5e1", true, 15},
                 {"1.5e0", false, 0},
                 {"1500e-2", true, 15},
                 {"1500e-3", false, 0},
                 {"0.99999999999999999999", false, 0},
                 {"1.00000000000000000001", false, 0},
                 {"1000000000000000000000e-3", true, INT64_C(1000000000000000000)},
                 {"1e18", true, INT64_C(1000000000000000000)},
                 {"1e19", false, 0},
                 {"0e999999", true, 0},
                 {"1e999999", false, 0},
                 {"00000000000000000000000000012", true, 12},
                 {"nan", false, 0},
                 {"", false, 0},
                 {"-", false, 0},
                 {".", false, 0},
                 {"1e", false, 0},
                 {"1.2.3", false, 0},
                 {"12x", false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t v = 0;
        bool good = tra_scan_whole(cases[i].text, strlen(cases[i].text), &v);
        if (good != cases[i].good || v != cases[i].value) check_report("%s is %d, %" PRId64, cases[i].text, good, v);
    }
    static const int64_t values[] = {0, -1, INT64_MAX, INT64_MIN, 1234567890123456789, -10};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char t[TRA_NUMTEXT], want[TRA_NUMTEXT];
        t[tra_print_value(TRA_I64, values, (int64_t)i, t)] = '\0';
        snprintf(want, sizeof want, "%" PRId64, values[i]);
        CHECK_STR(t, want);
    }
}

/* ---- npy ------------------------------------------------------------------------------------------------------ */

static size_t npy(unsigned char *to, int version, const char *header, const void *data, size_t n) {
    size_t len = strlen(header), pre = version == 1 ? 10 : 12;
    memcpy(to, "\x93NUMPY", 6);
    to[6] = (unsigned char)version;
    to[7] = 0;
    to[8] = (unsigned char)(len & 255);
    to[9] = (unsigned char)(len >> 8);
    to[10] = to[11] = 0;
    memcpy(to + pre, header, len);
    memcpy(to + pre + len, data, n);
    return pre + len + n;
}

static tra_status npy_case(int version, const char *header, const void *data, size_t n) {
    unsigned char b[2048];
    n = npy(b, version, header, data, n);
    return read_all(file_of(".npy", b, n), &defaults, 3, got, 256, &count, &shape, &err);
}

TEST(npy_versions_orders_types) {
    double d[6] = {1, 2, 3, 4, 5, 6};
    int16_t big[2] = {0x0100, 0x0200};
    CHECK_OK(npy_case(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", d, 48), err);
    CHECK(shape.n == 2 && shape.v[0] == 2 && shape.v[1] == 3 && got[5] == 6);
    CHECK_OK(npy_case(2, "{'fortran_order': True, 'descr': '<f8', 'shape': (2L, 3L)}", d, 48), err);
    CHECK(shape.v[0] == 2 && got[1] == 2);
    CHECK_OK(npy_case(3, "{\"descr\": \">i2\", \"fortran_order\": False, \"shape\": (2,)}", big, 4), err);
    CHECK(shape.n == 1 && got[0] == 1 && got[1] == 2);
    uint64_t u[6] = {1, 2, 3, 4, INT64_MAX, (uint64_t)INT64_MAX + 1};
    CHECK_OK(npy_case(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (5,)}", u, 40), err);
    CHECK_FAILS(npy_case(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (2, 3)}", u, 48), TRA_INPUT, err,
                "element [1,2] is 9223372036854775808, which i64 does not hold");
    u[1] = (uint64_t)INT64_MAX + 1; /* the second in the file is the first of the second row */
    CHECK_FAILS(npy_case(1, "{'descr': '<u8', 'fortran_order': True, 'shape': (2, 3)}", u, 48), TRA_INPUT, err,
                "element [1,0] is 9223372036854775808");
    CHECK_OK(npy_case(1, "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", d, 8), err);
    CHECK(shape.n == 0 && got[0] == 1 && count == 1);
    CHECK_OK(npy_case(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9)}", d, 0), err);
    CHECK_INT(count, 0);
}

TEST(npy_refusals) {
    double d[2] = {1, 2};
    const char *rest = "'fortran_order': False, 'shape': (2,)}";
    static const struct {
        const char *descr, *why;
    } cases[] = {
        {"'|O'", "Python objects"}, {"'<c16'", "complex"},  {"[('a', '<f8')]", "structured"}, {"'<U3'", "text"},
        {"'<M8[s]'", "dates"},      {"'<q9'", "not known"}, {"'>f16'", "floats of this size"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char h[200];
        snprintf(h, sizeof h, "{'descr': %s, %s", cases[i].descr, rest);
        CHECK_FAILS(npy_case(1, h, d, 16), TRA_INPUT, err, cases[i].why);
    }
    CHECK_FAILS(npy_case(4, "{}", d, 16), TRA_INPUT, err, "version 4");
    CHECK_FAILS(npy_case(1, "{'descr': '<f8'}", d, 16), TRA_INPUT, err, "damaged");
    CHECK_FAILS(npy_case(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", d, 16), TRA_INPUT, err,
                "end at byte");
    CHECK_FAILS(npy_case(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", d, 16), TRA_INPUT, err,
                "end at byte");
    CHECK_FAILS(npy_case(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", d, 16), TRA_INPUT, err,
                "damaged");
    CHECK_FAILS(npy_case(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", d, 16),
                TRA_INPUT, err, "damaged");
    CHECK_FAILS(npy_case(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}", d, 16),
                TRA_INPUT, err, "damaged");
    unsigned char b[64] = "\x93NUMPY\x02\x00\xff\xff\xff\xff";
    CHECK_FAILS(read_all(file_of(".npy", b, 12), &defaults, 3, got, 256, &count, &shape, &err), TRA_INPUT, err,
                "claims");
    memcpy(b, "\x93NUMPY\x01\x00\xff\xff{", 11);
    CHECK_FAILS(read_all(file_of(".npy", b, 11), &defaults, 3, got, 256, &count, &shape, &err), TRA_INPUT, err,
                "ends at byte");
    static const char *const malformed[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'shape': (1,)}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'fortran_order': True, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} (1,)",
    };
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        CHECK_FAILS(npy_case(1, malformed[i], d, 16), TRA_INPUT, err, "header cannot be read");
    CHECK_FAILS(text(".npy", "1,2\n"), TRA_INPUT, err, "not an npy file");
}

/* ---- csv ------------------------------------------------------------------------------------------------------ */

static void expect(const char *t, int64_t rows, int64_t cols, const double *want) {
    CHECK_OK(text(".csv", t), err);
    if (shape.v[0] != rows || shape.v[1] != cols || count != rows * cols)
        check_report("\"%s\" is %" PRId64 " x %" PRId64, t, shape.v[0], shape.v[1]);
    for (int64_t i = 0; i < count && i < rows * cols; i++) CHECK_NEAR(got[i], want[i], 0);
}

TEST(csv_dialects) {
    double want[] = {1, 2.5, -3, 4e2};
    expect("1,2.5\n-3,4e2\n", 2, 2, want);
    expect("1,2.5\n-3,4e2", 2, 2, want);
    expect("a,b\r\n1,2.5\r\n-3,4e2\r\n\r\n", 2, 2, want);
    expect("\"x \"\"y\",b\n \"1\" , 2.5\n-3, \"4e2\"\n\n  \n", 2, 2, want);
    expect("1;2.5\n-3;4e2\n", 2, 2, want);
    expect("1\t2.5\n-3\t4e2\n", 2, 2, want);
    expect("# made by x\n# again\n1 2.5\n-3   4e2 \n", 2, 2, want);
    expect("  1   2.5\n -3   4e2\n", 2, 2, want);
    expect("\xef\xbb\xbf"
           "1,2.5\n-3,4e2\n",
           2, 2, want);
    expect("\"two\nlines\",b\n1,2.5\n-3,4e2\n", 2, 2, want);
    expect("1\n2.5\n-3\n4e2\n", 4, 1, want);
    tra_source_options o = defaults;
    o.header = 1;
    CHECK_OK(read_all(file_of(".csv", "1,2\n3,4\n", 8), &o, 3, got, 256, &count, &shape, &err), err);
    CHECK(shape.v[0] == 1 && got[0] == 3);
    o.empty_nan = true;
    o.header = -1;
    CHECK_OK(read_all(file_of(".csv", "1,\n,4\n", 6), &o, 3, got, 256, &count, &shape, &err), err);
    CHECK(shape.v[0] == 2 && isnan(got[1]) && isnan(got[2]) && got[3] == 4);
}

TEST(csv_names_line_and_column) {
    CHECK_FAILS(text(".csv", "1,2\n3,x\n"), TRA_INPUT, err, "line 2, column 2: \"x\" is not a number");
    CHECK_FAILS(text(".csv", "1,2\n3,4,5\n"), TRA_INPUT, err, "line 2 has 3 cells, line 1 has 2");
    CHECK_FAILS(text(".csv", "a,b\n1,2\n3\n4,5\n"), TRA_INPUT, err, "line 3 has 1 cells, line 1 has 2");
    CHECK_FAILS(text(".csv", "1,2\n,4\n"), TRA_INPUT, err, "line 2, column 1 is empty");
    CHECK_FAILS(text(".csv", "1,2\n\n3,4\n"), TRA_INPUT, err, "line 2 is blank");
    CHECK_FAILS(text(".csv", "1;2\n3;4,5\n"), TRA_INPUT, err, "decimal point");
    CHECK_FAILS(text(".csv", "1,2\n3,\"4\n"), TRA_INPUT, err, "quote is not closed");
    CHECK_FAILS(text(".csv", "\"a\nb\",c\n1,2\n3,\"4\n5,6\n7,8\"\n"), TRA_INPUT, err, "line 4, column 2");
    CHECK_FAILS(text(".csv", "1,2\n3,\"4\"5\n"), TRA_INPUT, err, "after the closing quote");
    CHECK_FAILS(text(".csv", ""), TRA_INPUT, err, "no rows");
    CHECK_FAILS(text(".csv", "\n\n"), TRA_INPUT, err, "no rows");
    tra_source_options o = defaults;
    o.header = 0;
    CHECK_FAILS(read_all(file_of(".csv", "1,b\n3,4\n", 8), &o, 3, got, 256, &count, &shape, &err), TRA_INPUT, err,
                "line 1, column 2");
}

TEST(csv_takes_no_row_of_data_for_a_header) {
    static const char *const unclear[] = {
        "NA,1,2\n3,4,5\n",
        "1O,2\n3,4\n",
        "\"1,234.5\"\n1\n",
        "1.5D+03\n1\n",
        "10%\n1\n",
        "a,2\n3,4\n",
        "NA\n1\n",
        "-\n1\n",
        "$5,$6\n1,2\n",
        "O.5\n1\n",
        "\xe2\x88\x92"
        "5\n1\n",
        "#N/A,b\n1,2\n",
        "2020-01-31,a\n1,2\n",
    };
    tra_source_options given = defaults;
    for (size_t i = 0; i < sizeof unclear / sizeof *unclear; i++) {
        CHECK_FAILS(text(".csv", unclear[i]), TRA_INPUT, err, "say --header if the line is a header");
        given.header = 0;
        CHECK_FAILS(
            read_all(file_of(".csv", unclear[i], strlen(unclear[i])), &given, 3, got, 256, &count, &shape, &err),
            TRA_INPUT, err, "line 1, column 1");
        given.header = 1;
        CHECK_OK(read_all(file_of(".csv", unclear[i], strlen(unclear[i])), &given, 3, got, 256, &count, &shape, &err),
                 err);
        CHECK_INT(shape.v[0], 1);
    }
    CHECK_FAILS(text(".csv", ",\n1,2\n"), TRA_INPUT, err, "line 1, column 1 is empty");
    CHECK_FAILS(text(".csv", "a,b\n"), TRA_INPUT, err, "no rows below its header");
    given.header = 1;
    CHECK_FAILS(read_all(file_of(".csv", "1,2\n", 4), &given, 3, got, 256, &count, &shape, &err), TRA_INPUT, err,
                "no rows below the header");
    double want[] = {1, 2};
    expect("x1,_2\n1,2\n", 1, 2, want); /* names, also with digits in them */
    expect("I,O\n1,2\n", 1, 2, want);
    given = defaults;
    given.empty_nan = true; /* an empty name is no number, an empty cell among numbers is */
    CHECK_OK(read_all(file_of(".csv", ",b\n1,2\n", 7), &given, 3, got, 256, &count, &shape, &err), err);
    CHECK_INT(shape.v[0], 1);
    CHECK_OK(read_all(file_of(".csv", "1\n\n2\n\n", 6), &given, 3, got, 256, &count, &shape, &err), err);
    CHECK(shape.v[0] == 4 && isnan(got[1]) && got[2] == 2 && isnan(got[3])); /* of one column each line is a row */
}

TEST(csv_lines_that_a_carriage_return_ends_alone) {
    static const char *const texts[] = {"1,2\r3,4\r", "1\r2\r",     "1 2\r3 4\r",
                                        "a,b\r1,2\r", "a b\r1 2\r", "\"a\"\r\"b\"\r"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int header = -1; header < 2; header++) {
            tra_source_options o = defaults;
            o.header = header;
            CHECK(read_all(file_of(".csv", texts[i], strlen(texts[i])), &o, 3, got, 256, &count, &shape, &err) ==
                  TRA_INPUT);
        }
    CHECK_FAILS(text(".csv", "1,2\r3,4\r"), TRA_INPUT, err, "tr '\\r' '\\n'");
    double want[] = {1, 2, 3, 4};
    expect("1 2 \r\n3 4\r\r\n", 2, 2, want);
    expect("\"1\" \"2\"\r\n\"3\" \"4\"\r\n", 2, 2, want);
    expect("1,2\r\n3,4\r", 2, 2, want);
}

TEST(csv_rows_longer_than_the_buffer) {
    enum { COLS = 9000 };
    tra_str t = {0};
    for (int i = 0; i < 2 * COLS; i++) tra_str_printf(&t, "%d%s", i, i % COLS == COLS - 1 ? "\r\n" : ",");
    tra_source_options o = defaults;
    tra_source *s;
    static double all[2 * COLS + 1];
    int64_t n;
    o.memory = COLS * 8 - 1; /* all but the first row */
    CHECK_FAILS(tra_source_open(file_of(".csv", t.s, t.n), NULL, &o, &s, &err), TRA_RESOURCE, err,
                "line 1 has more than 8999 cells");
    o.memory = COLS * 8;
    CHECK_OK(tra_source_open(file_of(".csv", t.s, t.n), NULL, &o, &s, &err), err);
    CHECK(s->shape.v[0] == 2 && s->shape.v[1] == COLS && t.n > s->in.cap);
    CHECK_OK(s->format->next(s, all, 2 * COLS + 1, &n, &err), err);
    CHECK_INT(n, 2 * COLS);
    for (int i = 0; i < 2 * COLS; i++)
        if (all[i] != i) {
            check_report("cell %d is %g", i, all[i]);
            break;
        }
    tra_source_close(s);
    tra_str_free(&t);
}

/* ---- mtx ------------------------------------------------------------------------------------------------------ */

#define MM "%%MatrixMarket matrix "

TEST(mtx_kinds) {
    CHECK_OK(text(".mtx", MM "array real general\n% c\n\n2 3\n1\n2\n3\n4\n5\n6\n"), err);
    CHECK(shape.v[0] == 2 && shape.v[1] == 3 && got[1] == 2 && got[5] == 6); /* storage order */
    CHECK_OK(text(".mtx", MM "coordinate integer general\n2 2 2\n1 2 7\n2 1 -1\n"), err);
    CHECK(got[1] == 7 && got[2] == -1 && got[0] == 0);
    CHECK_OK(text(".mtx", MM "coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n"), err);
    CHECK(got[1] == 1 && got[3] == 1 && got[8] == 1 && count == 3);
    CHECK_OK(text(".mtx", MM "COORDINATE Real Skew-Symmetric\r\n2 2 1\r\n2 1 4.5\r\n"), err);
    CHECK(got[2] == 4.5 && got[1] == -4.5);
    CHECK_OK(text(".mtx", MM "array real symmetric\n2 2\n1\n2\n3\n"), err);
    CHECK(got[0] == 1 && got[1] == 2 && got[2] == 2 && got[3] == 3);
    CHECK_OK(text(".mtx", MM "array real skew-symmetric\n3 3\n1\n2\n3\n"), err);
    CHECK(got[3] == 1 && got[6] == 2 && got[7] == 3 && got[1] == -1);
    CHECK_OK(text(".mtx", MM "coordinate real general\n5 0 0\n"), err);
}

TEST(mtx_of_graphblas_and_taco) {
    CHECK_OK(text(".mtx", MM "coordinate integer general\n%%GraphBLAS type uint8_t\n% c\n2 2 1\n1 2 7\n"), err);
    CHECK(got[1] == 7);
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n%%GraphBLAS type bool\n2 2 1\n1 2 7\n"), TRA_INPUT, err,
                "line 4: bool does not hold \"7\"");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n%%GraphBLAS type float complex\n2 2 1\n1 2 7\n"), TRA_INPUT,
                err, "line 2: \"float complex\" numbers have no place");
    const char *t = "%%MatrixMarket tensor coordinate real general\n%\n2 3 4 2\n2 3 4 1.5\n1 1 2 2\n";
    CHECK_OK(text(".ttx", t), err);
    CHECK(shape.n == 3 && shape.v[2] == 4 && got[23] == 1.5 && got[1] == 2 && count == 2);
}

/* ---- tns and edges -------------------------------------------------------------------------------------------- */

TEST(tns_headers) {
    CHECK_OK(text(".tns", "# c\n\n1 2 2 5\n2 1 1 -1e1\n"), err); /* FROSTT */
    CHECK(shape.n == 3 && shape.v[0] == 2 && shape.v[1] == 2 && got[3] == 5 && got[4] == -10 && count == 2);
    CHECK_OK(text(".tns", "# extended FROSTT format\n# c\n3 1\n2 3 4\n1 1 1 8"), err);
    CHECK(shape.n == 3 && shape.v[1] == 3 && got[0] == 8);
    CHECK_OK(text(".xyz", "sptensor\r\n3\r\n2 3 4\r\n1\r\n2 3 4 8\r\n"), err);
    CHECK(shape.n == 3 && shape.v[2] == 4 && got[23] == 8);
    CHECK_FAILS(text(".tns", "1 2 3\n0 1 1\n"), TRA_INPUT, err, "line 2: index 0 is below the first one, 1 (--base 0");
    CHECK_FAILS(text(".tns", "1 2 3\n1 1\n"), TRA_INPUT, err, "line 2 is not \"INDEX... VALUE\"");
    CHECK_FAILS(text(".tns", "1 2 3\n1 1 1 1\n"), TRA_INPUT, err, "line 2 is not");
    CHECK_FAILS(text(".tns", "1 2 x\n"), TRA_INPUT, err, "line 1: \"x\" is not a number");
    CHECK_FAILS(text(".tns", "# none\n"), TRA_INPUT, err, "has no entries");
    CHECK_FAILS(text(".tns", "7\n"), TRA_INPUT, err, "has 1 words");
    CHECK_FAILS(text(".tns", "99999999999999999999 1 1\n"), TRA_INPUT, err, "line 1 is not");
    CHECK_FAILS(text(".tns", "4000000000 4000000000 1\n"), TRA_INPUT, err, "more elements than any file can hold");
    CHECK_FAILS(text(".tns", "sptensor\n40\n"), TRA_INPUT, err, "a tensor of 40 dimensions");
    CHECK_FAILS(text(".tns", "sptensor\n3\n2 3\n"), TRA_INPUT, err, "ends in its header");
    CHECK_FAILS(text(".tns", "# extended FROSTT format\n2 2\n2 2\n1 1 1\n"), TRA_INPUT, err, "after 1 of 2 entries");
    CHECK_FAILS(text(".tns", "# extended FROSTT format\n2 1\n2 2\n1 3 1\n"), TRA_INPUT, err, "entry (1,3) is outside");
    tra_source_options o = defaults;
    const char *t = "0 0 3\n0 1 4\n";
    o.base = 0;
    CHECK_OK(read_all(file_of(".tns", t, strlen(t)), &o, 3, got, 256, &count, &shape, &err), err);
    CHECK(shape.v[0] == 1 && shape.v[1] == 2 && got[0] == 3 && got[1] == 4);
    o.has_shape = true;
    o.shape = (tra_dims){.n = 2, .v = {3, 3}};
    CHECK_OK(read_all(file_of(".tns", t, strlen(t)), &o, 3, got, 256, &count, &shape, &err), err);
    CHECK(shape.v[0] == 3 && shape.v[1] == 3 && got[1] == 4);
    o.shape = (tra_dims){.n = 2, .v = {3, 1}};
    CHECK_FAILS(read_all(file_of(".tns", t, strlen(t)), &o, 3, got, 256, &count, &shape, &err), TRA_INPUT, err,
                "line 2: entry (0,1) is outside the 3 x 1 matrix (indices begin at 0)");
}

/* They would be words of one line to who takes them for blanks. */
TEST(coordinates_in_lines_that_a_carriage_return_ends_alone) {
    static const struct {
        const char *suffix, *text;
    } lost[] = {{".tns", "1 1 5\r2 2 6\r"},
                {".tns", "1 1 5\n2 2 6\r3 3 7\n"},
                {".tns", "1 1 \r5\n"},
                {".tns", "# c\r1 1 5\n2 2 6\n"},
                {".tns", "1 1 5\n# c\r2 2 6\n"},
                {".edges", "0 1\r1 2\r"},
                {".edges", "0 1\r2\n"},
                {".mtx", MM "coordinate pattern general\n2 2 1\n1\r1\n"},
                {".mtx", MM "coordinate real general\n2 2 1\n1 1 5\r2 2 6\n"}};
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        CHECK_FAILS(text(lost[i].suffix, lost[i].text), TRA_INPUT, err, "tr '\\r' '\\n'");
    CHECK_FAILS(text(".tns", "\r1 1 5\n2 2 6\n"), TRA_INPUT, err, "its first entry has 1 words");
    tra_source_options o = defaults;
    o.has_shape = true;
    o.shape = (tra_dims){.n = 2, .v = {3, 3}};
    const char *t = "# c\r1 1 5\r2 2 6\r"; /* nothing but a comment */
    CHECK_FAILS(read_all(file_of(".tns", t, strlen(t)), &o, 3, got, 256, &count, &shape, &err), TRA_INPUT, err,
                "tr '\\r' '\\n'");
    CHECK_OK(text(".tns", "\r\n1 1 5\r\r\n1 2 6 \r \r\n2 2 7\r"), err);
    CHECK(count == 3 && got[0] == 5 && got[1] == 6 && got[3] == 7);
    CHECK_FAILS(text(".csv", "# c\r1,2\n3,4\n"), TRA_INPUT, err, "line 1: a comment goes on after its end");
    CHECK_FAILS(text(".tns", "sptensor\n2\n2 2\n1 1 1 5\n2 2 6\n"), TRA_INPUT, err, "line 4 goes on after the header");
}

TEST(edges_of_graphs) {
    CHECK_OK(text(".edges", "# c\n% c\n0\t2\n1 0 2.5\n"), err);
    CHECK(shape.n == 2 && shape.v[0] == 3 && shape.v[1] == 3 && got[2] == 1 && got[3] == 2.5);
    CHECK_FAILS(text(".edges", "0 1\n2\n"), TRA_INPUT, err, "line 2 is not \"FROM TO or FROM TO WEIGHT\"");
    CHECK_FAILS(text(".edges", "0 1 2 3\n"), TRA_INPUT, err, "line 1 is not");
    CHECK_FAILS(text(".edges", "-1 1\n"), TRA_INPUT, err, "index -1 is below");
    CHECK_STR(tra_format_sniff((const unsigned char *)"# FromNodeId ToNodeId\n", 22)->name, "edges");
}

TEST(mtx_refusals) {
    CHECK_FAILS(text(".mtx", MM "array complex general\n1 1\n1 0\n"), TRA_INPUT, err, "\"complex\"");
    CHECK_FAILS(text(".mtx", MM "coordinate real hermitian\n1 1 0\n"), TRA_INPUT, err, "\"hermitian\"");
    CHECK_FAILS(text(".mtx", "%%MatrixMarket vector array real general\n1\n1\n"), TRA_INPUT, err, "\"vector\"");
    CHECK_FAILS(text(".mtx", MM "array pattern general\n1 1\n"), TRA_INPUT, err, "coordinate files only");
    CHECK_FAILS(text(".mtx", "1 2 3\n"), TRA_INPUT, err, "line 1 is not");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2\n"), TRA_INPUT, err, "line 2 does not give the size");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n-2 2 0\n"), TRA_INPUT, err, "line 2 does not give the size");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n9999999999 9999999999 1\n"), TRA_INPUT, err, "too many");
    CHECK_FAILS(text(".mtx", MM "coordinate real symmetric\n2 3 0\n"), TRA_INPUT, err, "as many rows as columns");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 1\n3 1 5\n"), TRA_INPUT, err,
                "line 3: entry (3,1) is outside");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 1\n0 1 5\n"), TRA_INPUT, err,
                "line 3: entry (0,1) is outside");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 2\n1 1 5\n"), TRA_INPUT, err, "after 1 of 2 entries");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 1\n1 1 5\n1 2 6\n"), TRA_INPUT, err, "line 4 goes on");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 1\n1 1 x\n"), TRA_INPUT, err, "line 3: \"x\"");
    CHECK_FAILS(text(".mtx", MM "coordinate real general\n2 2 1\n1 1\n"), TRA_INPUT, err, "line 3 is not");
    CHECK_FAILS(text(".mtx", MM "coordinate real skew-symmetric\n2 2 1\n1 1 3\n"), TRA_INPUT, err, "diagonal");
    CHECK_FAILS(text(".mtx", MM "array real general\n2 1\n1\n"), TRA_INPUT, err, "after 1 of 2 values");
    CHECK_FAILS(text(".mtx", MM "array real general\n2 1\n1\n2\n3\n"), TRA_INPUT, err, "goes on after the last");
}

/* ---- entries to blocks ----------------------------------------------------------------------------------------- */

static const tra_dims whole = {.n = 2, .v = {40, 30}};

/* Reads a file of the matrix `whole` by blocks of 7 x 4 to m, in little memory or in much; each block as rows too. */
static tra_status assemble(const char *file, int64_t size, const tra_entries_options *o, double m[40][30],
                           tra_sorter_counts *counts) {
    tra_source *s;
    tra_places p;
    tra_sorter *sorted = NULL;
    tra_dims block = {.n = 2, .v = {7, 4}}, key = {.n = 2}, ext;
    TRA_TRY(tra_source_open(file_of(".mtx", file, (size_t)size), NULL, &defaults, &s, &err));
    tra_places_of(&p, &whole, &block);
    tra_entries_options with = *o;
    with.memory += tra_entries_need(s, o->fine);
    tra_status status = tra_entries_sort(s, &p, &with, &sorted, &err);
    if (status == TRA_OK) status = tra_sorter_merge(sorted, with.memory, &err);
    do {
        double data[28];
        if (status == TRA_OK) status = tra_entries_dense(s, sorted, &p, &key, data, &err);
        if (status != TRA_OK) break;
        tra_place_block(&p, &key, &ext);
        for (int64_t i = 0; i < ext.v[0]; i++)
            for (int64_t j = 0; j < ext.v[1]; j++) m[key.v[0] * 7 + i][key.v[1] * 4 + j] = data[i * ext.v[1] + j];
    } while (tra_next(&p.frontier, &key));
    *counts = tra_sorter_counted(sorted);
    tra_sorter_free(sorted);
    tra_source_close(s);
    return status;
}

TEST(entries_spill_and_return) {
    tra_str t = {0};
    static double want[40][30], m[40][30];
    int n = 0, rounds = 100;
    tra_str_add(&t, MM "coordinate real general\n");
    for (int i = 0; i < 1200; i++) n += i % 3 != 1;
    tra_str_printf(&t, "40 30 %d\n", n * rounds);
    for (int round = 0; round < rounds; round++)
        for (int k = 0; k < 1200; k++) { /* in an order that has nothing to do with blocks */
            int i = (k + round) * 637 % 1200;
            if (i % 3 == 1) continue;
            want[i / 30][i % 30] += i + 0.5;
            tra_str_printf(&t, "%d %d %g\n", i / 30 + 1, i % 30 + 1, i + 0.5);
        }
    for (int spill = 0; spill < 2; spill++) {
        tra_sorter_counts c;
        memset(m, 0, sizeof m);
        CHECK_OK(
            assemble(t.s, (int64_t)t.n, &(tra_entries_options){.memory = spill ? 0 : 1 << 24, .output = path}, m, &c),
            err);
        CHECK_INT(c.spilled, spill ? n * rounds * 16 : 0);
        CHECK_INT(c.duplicates, n * (rounds - 1));
        CHECK_INT(c.kept, n);
        CHECK(memcmp(m, want, sizeof want) == 0);
    }
    tra_str_free(&t);
}

TEST(entries_twice_and_zeros) {
    const char *t = MM "coordinate real general\n40 30 5\n9 8 1\n2 2 2\n9 8 -1\n1 1 0\n40 30 3\n";
    double m[40][30];
    tra_sorter_counts c;
    int64_t n = (int64_t)strlen(t);
    CHECK_FAILS(assemble(t, n, &(tra_entries_options){.output = path, .no_duplicate = true}, m, &c), TRA_INPUT, err,
                "element (9,8) is given twice");
    CHECK_OK(assemble(t, n, &(tra_entries_options){.output = path}, m, &c), err);
    CHECK(c.kept == 4 && c.duplicates == 1 && m[8][7] == 0 && m[39][29] == 3);
    CHECK_OK(assemble(t, n, &(tra_entries_options){.output = path, .drop_zeros = true}, m, &c), err);
    CHECK(c.kept == 2 && c.dropped == 2);
}

TEST(places_are_the_order_of_blocks) {
    tra_dims shape3 = {.n = 3, .v = {5, 7, 9}}, block3 = {.n = 3, .v = {2, 3, 4}}, key = {.n = 3}, ext, at;
    tra_places p;
    uint64_t next = 0;
    tra_places_of(&p, &shape3, &block3);
    CHECK(!p.in_order);
    do {
        CHECK_INT((int64_t)tra_place_block(&p, &key, &ext), (int64_t)next);
        tra_dims in = {.n = 3};
        do {
            int64_t v[3];
            for (int d = 0; d < 3; d++) v[d] = key.v[d] * block3.v[d] + in.v[d];
            CHECK_INT((int64_t)tra_place_of(&p, v), (int64_t)next);
            tra_place_at(&p, next++, &at);
            CHECK(memcmp(at.v, v, sizeof v) == 0);
        } while (tra_next(&ext, &in));
    } while (tra_next(&p.frontier, &key));
    CHECK_INT((int64_t)next, 5 * 7 * 9);
}

TEST(items_are_sorted_by_place) {
    enum { N = 5000 };
    static tra_item a[N], b[N];
    for (uint64_t places = 1; places; places = places << 9 | 77) {
        for (int i = 0; i < N; i++) a[i] = (tra_item){random64() % places, {.whole = i}};
        tra_item *s = tra_items_sort(a, b, N, places);
        for (int i = 1; i < N; i++)
            CHECK(s[i - 1].place < s[i].place ||
                  (s[i - 1].place == s[i].place && s[i - 1].value.whole < s[i].value.whole));
        if (places >> 54) break;
    }
}

/* Entries become rows: only those that have any, with their columns; blocks are chosen by where the entries are. */
TEST(entries_become_rows) {
    const char *t = MM "coordinate integer general\n40 30 4\n9 8 1\n2 2 2\n9 3 -4\n40 30 3\n";
    tra_source *s;
    tra_places p;
    tra_sorter *sorted;
    tra_dims block, key = {.n = 2};
    CHECK_OK(tra_source_open(file_of(".mtx", t, strlen(t)), NULL, &defaults, &s, &err), err);
    tra_places_of(&p, &whole, &whole);
    CHECK_OK(
        tra_entries_sort(s, &p, &(tra_entries_options){.memory = 1 << 20, .output = path, .fine = true}, &sorted, &err),
        err);
    tra_entries_block(sorted, &whole, false, &block);
    CHECK(block.v[0] == 40 && block.v[1] == 30);
    CHECK_INT(tra_sorter_among(sorted, 0, 1200), 4);
    CHECK_OK(tra_sorter_merge(sorted, 1 << 20, &err), err);
    tra_catalog cat;
    CHECK_OK(tra_catalog_blocks(&whole, &whole, &cat, &err), err);
    tra_type type = {.dtype = TRA_F64, .cat = &cat, .sparse = true, .layout = &tra_rows};
    int64_t room = tra_rows_room(TRA_F64, 4, 4), bytes;
    void *data = aligned_alloc(64, (size_t)room);
    tra_cell cell = tra_cell_new(&type, 0, data);
    CHECK_OK(tra_entries_rows(s, sorted, &p, &key, 4, &cell, &bytes, &err), err);
    CHECK_INT(bytes, tra_rows_room(TRA_F64, 3, 4));
    CHECK_OK(tra_rows_check(&cell, &err), err);
    tra_rows_view v = tra_rows_of(&cell);
    const double *x = (const double *)v.value;
    CHECK(v.nrows == 3 && v.n == 4 && v.row[0] == 1 && v.row[1] == 8 && v.row[2] == 39 && v.begin[1] == 1);
    CHECK(v.column[0] == 1 && v.column[1] == 2 && v.column[2] == 7 && v.column[3] == 29);
    CHECK(x[0] == 2 && x[1] == -4 && x[2] == 1 && x[3] == 3);
    free(data);
    tra_sorter_free(sorted);
    tra_source_close(s);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* Rows of which the first have most: n of 2^22 have a share of .76 to the power of how often 2^22 is halved to n. */
static int64_t most_crowded(const void *all, const tra_dims *block) {
    double share = 1;
    for (int64_t rows = 1 << 22; rows > block->v[0]; rows /= 2) share *= 0.76;
    return (int64_t)(*(const double *)all * share);
}

/* One row has them all. */
static int64_t most_alone(const void *all, const tra_dims *block) {
    return (int64_t)(*(const double *)all * (double)block->v[1] / (1 << 22));
}

static int64_t most_even(const void *all, const tra_dims *block) {
    return (int64_t)(*(const double *)all * (double)block->v[0] / (1 << 22));
}

TEST(blocks_go_by_where_entries_are) {
    tra_dims shape = {.n = 2, .v = {1 << 22, 1 << 22}}, b;
    double all = 2.79e8, few = 1e5, some = 3e7;
    tra_block_for_entries(&shape, (int64_t)all, true, most_even, &all, &b);
    CHECK_INT(b.v[0], 4096);
    CHECK_INT(b.v[1], 1 << 22);
    tra_block_for_entries(&shape, (int64_t)few, true, most_crowded, &few, &b);
    CHECK_INT(b.v[0], 1 << 22);
    tra_block_for_entries(&shape, (int64_t)all, false, most_crowded, &all, &b); /* none has more than four million */
    CHECK_INT(b.v[0], 64);
    CHECK(most_crowded(&all, &b) <= 1 << 22);
    tra_block_for_entries(&shape, (int64_t)all, true, most_crowded, &all, &b); /* or eight */
    CHECK_INT(b.v[0], 512);
    CHECK(most_crowded(&all, &b) <= 1 << 23);
    CHECK_INT(b.v[1], 1 << 22);
    tra_block_for_entries(&shape, (int64_t)some, true, most_crowded, &some, &b); /* which is no use to few blocks */
    CHECK(most_crowded(&some, &b) <= 1 << 22);
    /* a row that is too full by itself is no reason for millions of blocks; of a few rows each is cut */
    tra_block_for_entries(&shape, (int64_t)some, true, most_alone, &some, &b);
    CHECK(b.v[0] > 1 << 15 && b.v[1] == 1 << 22);
    shape.v[0] = 100;
    tra_block_for_entries(&shape, (int64_t)some, true, most_alone, &some, &b);
    CHECK_INT(b.v[0], 1);
    CHECK(most_alone(&some, &b) <= 1 << 22);
}

TEST(formats_are_found) {
    CHECK_STR(tra_format_choices(), "npy|npz|mtx|tns|edges|csv|raw|h5ad|binsparse|h5");
    CHECK_STR(tra_format_by_suffix("dir.npy/x.TSV")->name, "csv");
    CHECK(tra_format_by_suffix("x.npyz") == NULL);
    CHECK_STR(tra_format_sniff((const unsigned char *)MM, strlen(MM))->name, "mtx");
    CHECK_STR(tra_format_sniff((const unsigned char *)"1 2\n", 4)->name, "csv");
    CHECK(tra_format_sniff((const unsigned char *)"\0\1\2", 3) == NULL);
    for (const tra_format *const *f = tra_formats; *f; f++)
        CHECK((*f)->open && ((*f)->put || (*f)->entry || (*f)->rewrite));
    CHECK_FAILS(text(".xyz", "\1\2\3"), TRA_INPUT, err, "say --from npy|npz|mtx|tns|edges|csv|raw|h5ad|binsparse|h5");
    CHECK_FAILS(text(".raw", "12345678"), TRA_USAGE, err, "--shape");
    tra_source_options o = defaults;
    o.has_shape = o.has_elem = true;
    o.shape = (tra_dims){.n = 1, .v = {1}};
    CHECK_FAILS(read_all(file_of(".raw", "123456789", 9), &o, 3, got, 256, &count, &shape, &err), TRA_INPUT, err,
                "has 9 bytes");
    o.big_endian = true;
    CHECK_OK(read_all(file_of(".raw", "\x40\x08\0\0\0\0\0\0", 8), &o, 3, got, 256, &count, &shape, &err), err);
    CHECK(got[0] == 3);
    unlink(path);
}

__attribute__((destructor)) static void remove_files(void) {
    static const char *const suffixes[] = {".npy", ".csv", ".mtx", ".raw", ".xyz", ".tns", ".ttx", ".edges"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(path, sizeof path, "/tmp/tra-test-%ld%s", (long)getpid(), suffixes[i]);
        unlink(path);
    }
}
