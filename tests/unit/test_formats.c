/* test_formats.c - the readers of dense formats on hand-made files, and the table of formats. */
#include "formats_util.h"

#include <sys/stat.h>

/* ---- npy ------------------------------------------------------------------------------------------------------- */

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

/* ---- csv ------------------------------------------------------------------------------------------------------- */

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
    expect("\"x \"\"y\",b\n\"1\", 2.5\n-3,\"4e2\"\n\n  \n", 2, 2, want);
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
    tra_table_job how = numbers;
    o.text = &how;
    how.header = 1;
    CHECK_OK(read_all(file_of(".csv", "1,2\n3,4\n", 8), &o, 3, got, 256, &count, &shape, &err), err);
    CHECK(shape.v[0] == 1 && got[0] == 3);
    how.given.empty_nan = true;
    how.header = -1;
    CHECK_OK(read_all(file_of(".csv", "1,\n,4\n", 6), &o, 3, got, 256, &count, &shape, &err), err);
    CHECK(shape.v[0] == 2 && isnan(got[1]) && isnan(got[2]) && got[3] == 4);
}

TEST(csv_names_line_and_column) {
    CHECK_FAILS(text(".csv", "1,2\n3,x\n"), TRA_INPUT, err, "line 2, column 2: \"x\" is not a number");
    CHECK_FAILS(text(".csv", "1,2\n3,4,5\n"), TRA_INPUT, err, "line 2, byte 9, column 3: \"5\": too many cells");
    CHECK_FAILS(text(".csv", "a,b\n1,2\n3\n4,5\n"), TRA_INPUT, err, "line 3, byte 9, column 1: too few cells");
    CHECK_FAILS(text(".csv", "1,2\n,4\n"), TRA_INPUT, err, "line 2, column 1 is empty");
    CHECK_FAILS(text(".csv", "1;2\n3;4,5\n"), TRA_INPUT, err, "decimal point");
    CHECK_FAILS(text(".csv", "1,2\n3,\"4\n"), TRA_INPUT, err, "quote is not closed");
    CHECK_FAILS(text(".csv", "\"a\nb\",c\n1,2\n3,\"4\n5,6\n7,8\"\n"), TRA_INPUT, err, "line 4, column 2");
    CHECK_FAILS(text(".csv", "1,2\n3,\"4\"5\n"), TRA_INPUT, err, "after the closing quote");
    CHECK_FAILS(text(".csv", ""), TRA_INPUT, err, "is empty");
    CHECK_FAILS(text(".csv", "\n\n"), TRA_INPUT, err, "is empty");
    CHECK_FAILS(text(".csv", "1,2\n9007199254740993,3\n"), TRA_INPUT, err, "--dtype i64 keeps whole numbers");
    tra_source_options o = defaults;
    tra_table_job how = numbers;
    o.text = &how;
    how.header = 0;
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
    tra_table_job how = numbers;
    given.text = &how;
    for (size_t i = 0; i < sizeof unclear / sizeof *unclear; i++) {
        how.header = -1;
        CHECK(text(".csv", unclear[i]) == TRA_INPUT);
        how.header = 0;
        CHECK(read_all(file_of(".csv", unclear[i], strlen(unclear[i])), &given, 3, got, 256, &count, &shape, &err) ==
              TRA_INPUT);
        how.header = 1;
        CHECK_OK(read_all(file_of(".csv", unclear[i], strlen(unclear[i])), &given, 3, got, 256, &count, &shape, &err),
                 err);
        CHECK_INT(shape.v[0], 1);
    }
    CHECK_FAILS(text(".csv", ",\n1,2\n"), TRA_INPUT, err, "line 1, column 1 is empty");
    CHECK_OK(text(".csv", "a,b\n"), err);
    CHECK(shape.v[0] == 0 && shape.v[1] == 2);
    double want[] = {1, 2};
    expect("x1,_2\n1,2\n", 1, 2, want); /* names, also with digits in them */
    expect("I,O\n1,2\n", 1, 2, want);
    how.header = -1;
    how.given.empty_nan = true; /* an empty name is no number, an empty cell among numbers is */
    CHECK_OK(read_all(file_of(".csv", ",b\n1,2\n", 7), &given, 3, got, 256, &count, &shape, &err), err);
    CHECK_INT(shape.v[0], 1);
    CHECK_OK(read_all(file_of(".csv", "1\n\n2\n\n", 6), &given, 3, got, 256, &count, &shape, &err), err);
    CHECK(shape.v[0] == 4 && isnan(got[1]) && got[2] == 2 && isnan(got[3])); /* of one column each line is a row */
}

TEST(csv_lines_that_a_carriage_return_ends_alone) {
    double want[] = {1, 2, 3, 4};
    expect("1,2\r3,4\r", 2, 2, want);
    expect("1\r2\r", 2, 1, want);
    expect("1 2\r3 4\r", 2, 2, want);
    expect("a,b\r1,2\r", 1, 2, want);
    expect("1 2 \r\n3 4\r\r\n", 2, 2, want);
    expect("\"1\" \"2\"\r\n\"3\" \"4\"\r\n", 2, 2, want);
    expect("1,2\r\n3,4\r", 2, 2, want);
}

TEST(csv_rows_longer_than_the_buffer) {
    enum { COLS = 90000 };
    tra_str t = {0};
    for (int i = 0; i < 2 * COLS; i++) tra_str_printf(&t, "%d%s", i, i % COLS == COLS - 1 ? "\r\n" : ",");
    tra_source_options o = defaults;
    tra_source *s;
    static double all[2 * COLS + 1];
    int64_t n;
    o.memory = 1 << 20;
    CHECK_OK(tra_source_open(file_of(".csv", t.s, t.n), NULL, &o, &s, &err), err);
    CHECK(s->shape.v[0] == 2 && s->shape.v[1] == COLS);
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

/* ---- the table ------------------------------------------------------------------------------------------------- */

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
