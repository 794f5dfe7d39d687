/* words.c - what words of other languages are called here. */
#include "load.h"
#include "build.h"
#include "function_help.h"

#include <math.h>
#include <string.h>

bool tra_build_named_number(const char *name, double *v) {
    static const struct {
        const char *name;
        double v;
    } numbers[] = {{"nan", NAN}, {"inf", INFINITY}, {"pi", 3.14159265358979323846}};
    int i = TRA_FIND_ROW(numbers, name);
    if (i >= 0) *v = numbers[i].v;
    return i >= 0;
}

/* The advice of the first of n rows, of words and an advice, that has the word; NULL: none has. */
static const char *advice_for(const char *word, size_t n, const char *const rows[][2]) {
    size_t size = strlen(word);
    for (size_t i = 0; i < n && !strchr(word, ' '); i++)
        for (const char *at = rows[i][0]; *at; at += strspn(at, " ")) {
            size_t own = strcspn(at, " ");
            if (own == size && memcmp(at, word, size) == 0) return rows[i][1];
            at += own;
        }
    return NULL;
}

static const char *elsewhere(const char *function) {
    static const char *const meant[][2] = {
        {"where ifelse case iif", "write if(c, a, b)"},
        {"avg average", "write mean(x)"},
        {"not", "write !x"},
        {"having", "write select(group(T, [key], n = count()), n > 10)"},
        {"ln", "write log(x)"},
        {"log2", "write log(x) / log(2)"},
        {"cbrt", "write x^(1/3)"},
        {"square", "write x^2"},
        {"coalesce", "write ifnull(x, y), of more values ifnull(x, ifnull(y, z))"},
        {"nvl fillna", "write ifnull(x, y)"},
        {"isna", "write isnull(x), or isnan(x) for a NaN"},
        {"stddev sd stddev_samp", "write std(x)"},
        {"variance var_samp", "write var(x)"},
        {"power", "write pow(x, y) or x^y"},
        {"len", "write length(s) of a string, rows(T) of a table, extent(X, 0) of a tensor"},
        {"int", "write i64(x), or try_i64(x), which is NULL where that is none"},
        {"integer bigint", "write i64(x)"},
        {"float", "write f64(x), or try_f64(x), which is NULL where that is none"},
        {"double", "write f64(x)"},
        {"astype", "write f64(x), f32(x), i64(x), i32(x) or bool(x)"},
        {"cast", "write f64(x), i64(x), string(x) or date(x)"},
        {"try_cast", "write try_f64(x), try_i64(x) or try_bool(x)"},
        {"to_number to_numeric", "write f64(x), or try_f64(x)"},
        {"str", "write string(x)"},
        {"to_char", "write strftime(t, \"%Y-%m-%d\") of dates, string(x) of others"},
        {"to_date", "write date(s), or date(strptime(s, \"%d.%m.%Y\"))"},
        {"to_datetime to_timestamp", "write timestamp(s), or strptime(s, \"%d.%m.%Y %H:%M\")"},
        {"str_to_date", "write strptime(s, \"%d.%m.%Y\")"},
        {"format", "write strftime(t, \"%Y-%m\") of dates, concat(a, \" \", b) of others"},
        {"date_format format_date", "write strftime(t, \"%Y-%m\")"},
        {"date_part datepart", "write year(t), month(t), week(t), hour(t), .."},
        {"make_date", "write date(y, m, d)"},
        {"make_timestamp", "write timestamp(y, m, d, h, min, s)"},
        {"dayofweek dow", "write weekday(t), 0 is Monday"},
        {"dayofyear doy", "write yearday(t)"},
        {"weekofyear", "write week(t)"},
        {"epoch", "write (t - timestamp \"1970-01-01 00:00:00\") / seconds(1)"},
        {"timezone convert_tz", "write to_zone(t, \"Europe/Berlin\"), or from_zone of a local time"},
        {"tz_convert", "write to_zone(t, \"Europe/Berlin\")"},
        {"tz_localize", "write from_zone(t, \"Europe/Berlin\")"},
        {"trunc_date floor_date", "write date_trunc(\"month\", t)"},
        {"last_day", "write add_months(date_trunc(\"month\", d), 1) - 1"},
        {"substring mid", "write substr(s, from, n), from 1"},
        {"left", "write substr(s, 1, n)"},
        {"right", "write substr(s, length(s) - n + 1)"},
        {"instr strpos", "write position(s, t): 0 where it is not there"},
        {"charindex locate", "write position(s, t)"},
        {"find", "write position(s, t) - 1"},
        {"str_contains", "write contains(s, t), or matches(s, \"regex\")"},
        {"starts_with", "write startswith(s, t)"},
        {"ends_with", "write endswith(s, t)"},
        {"ilike", "write like(lower(s), \"a%\")"},
        {"regexp_matches regexp_like regexp rlike grepl", "write matches(s, \"regex\")"},
        {"regexp_extract", "write extract(s, \"regex\", group)"},
        {"regexp_substr", "write extract(s, \"regex\")"},
        {"regexp_replace gsub", "write regex_replace(s, \"regex\", by)"},
        {"split strsplit", "write split_part(s, \"-\", 2)"},
        {"strip", "write trim(s)"},
        {"lstrip", "write ltrim(s)"},
        {"rstrip", "write rtrim(s)"},
        {"zfill", "write lpad(s, n, \"0\")"},
        {"concat_ws paste", "write concat(a, \"-\", b)"},
        {"char_length", "write length(s)"},
        {"ucase", "write upper(s)"},
        {"lcase", "write lower(s)"},
        {"nullif", "write if(x == y, null, x)"},
        {"greatest maximum", "write max(x, y)"},
        {"least minimum", "write min(x, y)"},
        {"isin", "write in(x, a, b)"},
        {"between", "write a <= x && x <= b"},
        {"rint", "write round(x)"},
        {"ceiling", "write ceil(x)"},
        {"sgn", "write sign(x)"},
        {"degrees", "write x * 180 / pi"},
        {"remainder", "write mod(a, b)"},
        {"fabs", "write abs(x)"},
        {"datediff", "write a - b, and compare with days(3) or hours(5)"},
        {"dateadd", "write t + days(3) or t + hours(5)"},
        {"interval", "write seconds(5), minutes(5), hours(5), days(1) or weeks(1)"},
        {"now", "a program has no clock: param now = .., and -D now=.."},
        {"argmin", "write arg_min(x, by) in group, argmin[j](X[i,j]) of tensors"},
        {"argmax", "write arg_max(x, by) in group, argmax[j](X[i,j]) of tensors"},
        {"min_by", "write arg_min(x, by)"},
        {"max_by", "write arg_max(x, by)"},
        {"any_value", "write first(x)"},
        {"skew", "write skewness(x)"},
        {"kurt", "write kurtosis(x)"},
        {"cov covar_samp", "write covar(x, y)"},
        {"slope", "write regr_slope(y, x)"},
        {"intercept", "write regr_intercept(y, x)"},
        {"correlation", "write corr(x, y)"},
        {"stddev_pop", "write std(x) * sqrt((n - 1) / n), with n = count(x)"},
        {"var_pop", "write var(x) * (n - 1) / n, with n = count(x)"},
        {"bool_and every", "write all(x)"},
        {"bool_or", "write any(x)"},
        {"count_distinct nunique n_distinct", "write distinct(x)"},
        {"approx_count_distinct", "write approx_distinct(x)"},
        {"percentile quantile_cont percentile_cont", "write quantile(x, 0.9)"},
        {"average_weighted", "write wmean(x, w)"},
        {"group_concat listagg array_agg collect", "write string_agg(x, \",\")"},
        {"cumsum cumulative", "write window(T, [key], [order], total = sum(x))"},
        {"rolling rolling_mean", "write window(T, [key], [order], m = mean(x), frame = rows(-6, 0))"},
        {"shift", "write window(T, [key], [order], before = lag(x))"},
        {"diff", "write window(T, [key], [order], before = lag(x)), then project(.., d = x - before)"},
        {"first_value", "write first(x), in window or group"},
        {"last_value", "write last(x), in window or group"},
    };
    return advice_for(function, sizeof meant / sizeof *meant, meant);
}

static const char *operator_elsewhere(const char *name) {
    static const char *const meant[][2] = {
        {"sort sort_by orderby order_by arrange", "write order(T, [a, b desc])"},
        {"unique", "write distinct(T, [a, b])"},
        {"dedup", "write distinct(T, [a, b]), or distinct(T, [a], order = [t desc])"},
        {"drop_duplicates", "write distinct(T, [a, b]), or distinct(T, [a], order = [t desc], keep = first)"},
        {"distinct_on", "write distinct(T, [a], order = [t desc])"},
        {"latest", "write distinct(T, [key], order = [t desc])"},
        {"rename", "write project(T, new = old, *)"},
        {"drop", "write project(T, drop(a, b))"},
        {"mutate assign with_columns", "write project(T, *, new = a + b)"},
        {"head", "write limit(T, 10)"},
        {"tail", "write limit(order(T, [a desc]), 10)"},
        {"top", "write limit(order(T, [a desc]), 10), or v, p = topk(X, k) of a tensor"},
        {"where", "write if(c, a, b) of numbers, select(T, a > 0 && b < 1) of rows"},
        {"groupby group_by summarise summarize aggregate", "write group(T, [key], n = count(), m = mean(x))"},
        {"value_counts", "write group(T, [key], n = count())"},
        {"count", "write rows(T), or group(T, [key], n = count())"},
        {"merge", "write join(L, R, a == b)"},
        {"merge_asof asof_join join_asof", "write join(L, R, key == key, asof = L.t >= R.t)"},
        {"left_join", "write join(L, R, a == b, how = left)"},
        {"over partition", "write window(T, [k], [t], r = row_number(), s = sum(x))"},
        {"append rbind", "write union(A, B)"},
        {"vstack", "write stack(A, B, 0), or union(A, B) of tables"},
        {"hstack", "write stack(A, B, 1)"},
        {"melt gather pivot_longer wide_to_long", "write unpivot(T, [a, b], name = month, value = sales)"},
        {"pivot_table",
         "write pivot(T, [key], column, value, sum), a table, or pivot(T, row, column, value, sum), a matrix"},
        {"crosstab", "write pivot(T, [key], column, 1, count)"},
        {"pivot_wider spread dcast", "write pivot(T, [key], column, value, sum)"},
        {"generate_series", "write series(1, 10), or series(date \"2024-01-01\", date \"2024-12-31\", name = day)"},
        {"date_range", "write series(date \"2024-01-01\", date \"2024-12-31\", name = day)"},
        {"seq arange range", "write series(1, 10, 2)"},
        {"unnest string_split", "write explode(T, tags, \";\"), of a column of strings with parts"},
        {"fill", "write ffill(T, [key], [order], a, b), or bfill"},
        {"fill_forward pad", "write ffill(T, [key], [order], a, b)"},
        {"fillna", "write project(T, *, a = ifnull(a, 0)), or ffill(T, [key], [order], a)"},
        {"sample_n", "write sample(T, n = 100, seed = 1)"},
        {"sample_frac tablesample", "write sample(T, 0.1, seed = 1)"},
        {"dot matmul einsum", "write C[i,k] = sum A[i,j] * B[j,k]"},
        {"corrcoef",
         "write group(T, [], r = corr(x, y)); of a matrix: C[j,k] = sum Z[i,j] * Z[i,k], of its columns in units"},
        {"nanmax", "write max of if(isnan(x), -inf, x): m = max if(isnan(X[i]), -inf, X[i])"},
        {"nanmin", "write min of if(isnan(x), inf, x): m = min if(isnan(X[i]), inf, X[i])"},
        {"onehot get_dummies", "write matrix(T, [onehot(col)]), a column for each value"},
        {"nunique", "write group(T, [key], n = distinct(x))"},
        {"to_csv", "write output X to \"x.csv\", or -o x.csv"},
        {"to_numpy", "write matrix(T, [a, b])"},
        {"inv", "write inverse(A)"},
        {"pinv lstsq", "write solve(A, B): least squares where A has more rows than columns"},
        {"eig", "write w, V = eigh(A), of a symmetric matrix"},
        {"chol", "write cholesky(A)"},
        {"zeros", "write gen(zero, [3, 4])"},
        {"ones", "write gen(1, [3, 4])"},
        {"full", "write gen(2.5, [3, 4])"},
        {"random rand", "write gen(uniform, [3, 4], seed = 1), or gen(normal, ..)"},
        {"randn", "write gen(normal, [3, 4], seed = 1)"},
        {"eye identity", "write gen(identity, [3, 3])"},
        {"reshape ravel flatten", "a tensor has its dimensions from its file; entries(X) makes a row of each element"},
        {"concatenate", "write stack(A, B, 0)"},
        {"argsort", "write v, p = topk(X, k, least), or order(entries(X), [value])"},
        {"describe summary", "write tra info -s FILE, or group(T, [], n = count(), m = mean(a), s = std(a))"},
        {"T", "write transpose(A)"},
    };
    return advice_for(name, sizeof meant / sizeof *meant, meant);
}

/* A function that stands elsewhere: the operator that takes it, with the first of its signatures. */
static const char *place_of(tra_arena *a, const char *function) {
    static const struct {
        unsigned in;
        const char *form;
    } places[] = {{TRA_IN_GROUPS, "group(T, [key], v = %.*s)"},
                  {TRA_IN_TABLES, "project(T, *, v = %.*s)"},
                  {TRA_IN_WINDOWS, "window(T, [key], [order], v = %.*s)"},
                  {TRA_IN_TENSORS | TRA_IN_SUMS, "Y[i] = %.*s"}};
    const tra_function_help *f = tra_function_help_find(function, 0);
    for (size_t i = 0; f && i < sizeof places / sizeof *places; i++)
        if (f->in & places[i].in)
            return tra_arena_printf(a, tra_arena_printf(a, "write %s", places[i].form),
                                    (int)strcspn(f->signature, ")") + 1, f->signature);
    return NULL;
}

const char *tra_build_named_here(tra_arena *a, const char *function) {
    const char *here = elsewhere(function);
    return here ? here : place_of(a, function);
}

/* A program that comes with tra, and what is called like one elsewhere. */
static const char *program_of(tra_arena *a, const char *name) {
    for (const tra_algorithm *x = tra_algorithms; x->name; x++)
        if (strcmp(x->name, name) == 0)
            return tra_arena_printf(a, "a program of that name comes with tra: tra run @%s -D ..; tra help algorithms",
                                    name);
    return NULL;
}

const char *tra_build_operator_here(tra_arena *a, const char *name) {
    const char *here = operator_elsewhere(name);
    if (!here) here = program_of(a, name);
    return here || tra_is_aggregation(name) ? here : tra_build_named_here(a, name);
}

const char *tra_function_help_elsewhere(const char *name) {
    const char *here = elsewhere(name);
    return here ? here : operator_elsewhere(name);
}
