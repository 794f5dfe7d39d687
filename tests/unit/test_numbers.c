/* test_numbers.c - numbers as text, element types, and boxes of elements. */
#include "formats_util.h"

#include <float.h>

/* ---- numbers --------------------------------------------------------------------------------------------------- */

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

/* ---- elements and boxes ---------------------------------------------------------------------------------------- */

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
