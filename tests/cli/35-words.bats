# Functions of strings, dates and times, and casts, against Python's str, re, datetime and zoneinfo; what is refused.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    cat >make.py <<'END'
import csv, datetime as d, random
r = random.Random(5)
words = ["", " pad\t", "a-b-c", "-", "--x--", "Grüße an alle", "ärger", "AbC", "aaa", "12", "-7", "3.5", "1e3", "abc", "true",
         "2024-02-29", "x,y", "日本語-テキスト", "b\u0301", "a.b*c", "(x)", "no", "n o", "0x10", "99999999999", "nan"]
def word(): return r.choice(words) if r.random() < 0.8 else "".join(r.choice("ab-É ") for _ in range(r.randrange(9)))
def day(): return d.date(1970, 1, 1) + d.timedelta(days=r.choice([r.randrange(-40000, 40000), r.randrange(19000, 20000), -1, 0]))
zone_edges = ["2024-03-31 00:59:59", "2024-03-31 01:00:00", "2024-03-31 02:30:00", "2024-10-27 00:30:00", "2024-10-27 01:00:00",
              "2024-10-27 02:30:00", "2040-07-01 12:00:00", "2040-12-01 12:00:00", "1900-01-01 00:00:00", "2024-11-03 01:30:00"]
def time():
    if r.random() < 0.3: return d.datetime.fromisoformat(r.choice(zone_edges))
    t = d.datetime(2023, 1, 1) + d.timedelta(seconds=r.randrange(-10**9, 10**9))
    return t + d.timedelta(microseconds=r.choice([0, 0, 250000, 7]))
n = lambda f: None if r.random() < 0.1 else f()
rows = [(n(word), n(word), n(lambda: r.randrange(-4, 12)), n(lambda: round(r.uniform(-9, 9), 3)), n(day), n(time), n(lambda: r.random() < .5))
        for _ in range(300)]
quote = lambda v: "" if v is None else '"' + str(v).replace('"', '""') + '"'
with open("t.csv", "w") as f:
    f.write("s,u,i,x,d,t,b\n")
    for row in rows:
        f.write(",".join([quote(row[0]), quote(row[1])] + ["" if v is None else str(v).lower() if isinstance(v, bool) else str(v) for v in row[2:]]) + "\n")
END
    "$PYTHON" make.py
    "$TRA" import -q --table t.csv -o t.h5 --block 97
    sed -i '/^with open/,$d' make.py
    cp make.py rows.py
}

# check PROGRAM-OF-COLUMNS in Python: lines of "expression of tra <tab> expression of Python over s u i x d t b"
judge() {
    ln -sf "$BATS_FILE_TMPDIR"/t.h5 "$BATS_FILE_TMPDIR"/rows.py .
    cat >cases
    cat >judge.py <<'END'
import csv, datetime as D, re, subprocess, sys, zoneinfo, math
sys.path.insert(0, ".")
from rows import rows
UTC, Z = D.timezone.utc, zoneinfo.ZoneInfo
cases = [l.rstrip("\n").split("\t") for l in open("cases") if l.strip()]
open("p.tra", "w").write('input t from "t.h5"\nR = project(t, ' + ", ".join(f"c{k} = {c[0]}" for k, c in enumerate(cases)) + ')\noutput R to "r.csv"\n')
def text(v):
    if v is None: return None
    if isinstance(v, bool): return "true" if v else "false"
    if isinstance(v, D.datetime): return str(v.replace(tzinfo=None))
    if isinstance(v, float): return v
    return str(v)
def run(code, env):
    try: return eval(code, globals(), env)
    except Null: return None
class Null(Exception): pass
def split(s, by, n):
    v = s.split(by) if by else [s]
    k = n - 1 if n > 0 else len(v) + n
    return v[k] if n and 0 <= k < len(v) else ""
def pad(s, n, fill, left):
    n = max(n, 0); extra = (fill * n)[:max(0, n - len(s))] if fill else ""
    return (extra + s[:n]) if left else (s[:n] + extra)
def first(p, s, g=0):
    m = re.search(p, s)
    return m.group(g) if m else None
def number(kind, s):
    try:
        if s != s.strip() or "_" in s or "x" in s.lower(): return None
        v = kind(s)
        return v if kind is float or -2**63 <= v < 2**63 else None
    except ValueError: return None
def parse(s, f):
    try: return D.datetime.strptime(s, f)
    except ValueError: return None
def months(v, n):
    k = v.year * 12 + v.month - 1 + n; y, m = divmod(k, 12)
    for day in range(v.day, 0, -1):
        try: return v.replace(year=y, month=m + 1, day=day)
        except ValueError: pass
def units(u, v):
    if u == "week": return (v.toordinal() - 1) // 7
    if u in ("month", "quarter", "year"): return {"month": v.year * 12 + v.month, "quarter": v.year * 4 + (v.month - 1) // 3, "year": v.year}[u]
    micros = (v - D.datetime(1970, 1, 1)) // D.timedelta(microseconds=1)
    return micros // {"day": 86400000000, "hour": 3600000000, "minute": 60000000, "second": 1000000}[u]
when = lambda v: D.datetime(v.year, v.month, v.day) if not isinstance(v, D.datetime) else v
local = lambda t, z: t.replace(tzinfo=UTC).astimezone(Z(z)).replace(tzinfo=None)
utc = lambda t, z: t.replace(tzinfo=Z(z)).astimezone(UTC).replace(tzinfo=None)
for how in [["--engine", "reference"], [], ["--sites", "2"], ["--sites", "3", "--memory", "64M"], ["--sites", "5"]]:
    subprocess.run([sys.argv[1], "run", "-q", *how, "p.tra"], check=True)
    got = list(csv.reader(open("r.csv")))[1:]
    raw = open("r.csv").read()
    assert len(got) == len(rows), (len(got), how)
    for k, (tra, py, *strict) in enumerate(cases):
        names = re.findall(r"\b[suixdtb]\b", re.sub(r'"(\\.|[^"\\])*"', "", tra))
        for row, g in zip(rows, got):
            env = dict(zip("suixdtb", row))
            want = None if any(env[n] is None for n in names) and not strict else text(run(py, env))
            if isinstance(want, float):
                ok = g[k] not in ("",) and (abs(float(g[k]) - want) <= 1e-6 * abs(want) or (math.isnan(want) and math.isnan(float(g[k]))))
            else: ok = g[k] == ("" if want is None else want)
            assert ok, (how, tra, env, "got", g[k], "want", want)
END
    "$PYTHON" judge.py "$TRA"
}

@test "functions of strings are Python's, with NULLs of SQL, on several sites and in the reference" {
    judge <<'END'
split_part(s, "-", 2)	split(s, "-", 2)
split_part(s, "-", -1)	split(s, "-", -1)
split_part(s, "-", i)	split(s, "-", i)
split_part(s, "-", 1 - i)	split(s, "-", 1 - i)
split_part(s, "aa", i * 1000000000000)	""
split_part(u, "a", i + 1)	split(u, "a", i + 1)
count_parts(s, "-")	len(s.split("-"))
count_parts(s, "")	1
count_parts(s, u)	len(s.split(u)) if u else 1
replace(s, "a", "<>")	s.replace("a", "<>")
replace(s, "-", u)	s.replace("-", u)
trim(s)	s.strip(" \t\n\v\f\r")
ltrim(s, "-a")	s.lstrip("-a")
rtrim(s, "-aÉ")	s.rstrip("-aÉ")
trim(u, "")	u
lpad(s, 6, "*é")	pad(s, 6, "*é", True)
rpad(s, 5)	pad(s, 5, " ", False)
rpad(s, i, "xy")	pad(s, i, "xy", False)
reverse(s)	s[::-1]
repeat(s, 3)	s * 3
repeat(s, i)	s * i
lower(s)	"".join(c.lower() if c.isascii() else c for c in s)
upper(s)	"".join(c.upper() if c.isascii() else c for c in s)
length(s)	len(s)
position(s, "b")	s.find("b") + 1
position(s, u)	s.find(u) + 1
contains(s, u)	u in s
startswith(s, u)	s.startswith(u)
endswith(s, u)	s.endswith(u)
endswith(s, "c")	s.endswith("c")
contains(u, "-")	"-" in u
concat(s, "/", i)	s + "/" + str(i)
concat(substr(s, 1, 2), "-", length(s), "-", reverse(s))	s[:2] + "-" + str(len(s)) + "-" + s[::-1]
concat(d, " ", b)	str(d) + " " + text(b)
upper(substr(s, 1, 2))	"".join(c.upper() if c.isascii() else c for c in s[:2])
length(upper(substr(s, 2, 3)))	len(s[1:4])
length(s) > 2 && !contains(s, "-")	len(s) > 2 and "-" not in s
length(s) < 3 || startswith(substr(s, 2), "a") || s == "b-"	len(s) < 3 or s[1:].startswith("a") or s == "b-"
substr(s, length(s) - 1)	s[max(0, len(s) - 2):] if len(s) > 1 else s
like(s, "%-%")	"-" in s
ifnull(upper(s), "none")	"none" if s is None else "".join(c.upper() if c.isascii() else c for c in s)	1
concat(ifnull(s, "none"), "!")	("none" if s is None else s) + "!"	1
concat("a", "b", 1, true)	"ab1true"
END
}

@test "regular expressions are those of Python, where both have one meaning" {
    judge <<'END'
matches(s, "^[a-c-]+$")	bool(re.search("^[a-c-]+$", s))
matches(s, "É|日")	bool(re.search("É|日", s))
matches(repeat(concat("b", s), 3000), "^(b|[^b])+$")	bool(re.search("^(b|[^b])+$", "b" + s))
extract(s, "([a-z]+)-([a-z]+)", 2)	first("([a-z]+)-([a-z]+)", s, 2)
extract(s, "[0-9]+")	first("[0-9]+", s)
extract(s, "(x)|(a)", 1)	first("(x)|(a)", s, 1)
regex_replace(s, "[aeiou]", "<\\0>")	re.sub("[aeiou]", r"<\g<0>>", s)
regex_replace(s, "(\\w)-", "\\1+")	re.sub(r"(\w)-", r"\1+", s, flags=re.A)
regex_replace(s, "b*", "-")	re.sub("b*", "-", s)
regex_replace(s, "$", "\\\\")	re.sub(r"\Z", r"\\", s)
END
}

@test "casts are an error of the row, or NULL" {
    judge <<'END'
try_i64(s)	number(int, s)
try_f64(s)	number(float, s)
try_bool(s)	{"true": True, "false": False}.get(s)
try_i32(s)	(lambda v: v if v is None or abs(v) < 2**31 else None)(number(int, s))
i64(x)	int(x)
i32(b)	int(b)
f64(i)	float(i)
f32(x)	x
bool(i)	i != 0
i64(string(i))	i
string(i)	str(i)
string(d)	str(d)
string(b)	text(b)
string(s)	s
i64(ifnull(extract(s, "[0-9]{1,5}"), "0"))	int(s and first("[0-9]{1,5}", s) or 0)	1
END
    printf 'input t from "t.h5"\nR = project(t, a = i64(s))\noutput R\n' >e.tra
    status 3 tra run -q e.tra
    has 'e.tra:2: R: row 0: column a could not be computed: an integer does not fit i64'
    printf 'input t from "t.h5"\nR = project(select(t, matches(s, "^-?[0-9]{1,9}$")), a = i64(s))\noutput R\n' >e.tra
    status 0 tra run -q e.tra
}

@test "dates and times: parts, beginnings, differences, formats" {
    judge <<'END'
quarter(d)	(d.month + 2) // 3
week(d)	d.isocalendar()[1]
isoyear(t)	t.isocalendar()[0]
yearday(t)	t.timetuple().tm_yday
second(t)	t.second
date_trunc("year", d)	d.replace(month=1, day=1)
date_trunc("quarter", d)	d.replace(month=(d.month - 1) // 3 * 3 + 1, day=1)
date_trunc("month", t)	t.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
date_trunc("week", d)	d - D.timedelta(days=d.weekday())
date_trunc("day", t)	t.replace(hour=0, minute=0, second=0, microsecond=0)
date_trunc("hour", t)	t.replace(minute=0, second=0, microsecond=0)
date_trunc("minutes", t)	t.replace(second=0, microsecond=0)
date_trunc("second", t)	t.replace(microsecond=0)
date_diff("year", d, t)	units("year", t) - units("year", when(d))
date_diff("quarter", d, t)	units("quarter", t) - units("quarter", when(d))
date_diff("month", d, t)	units("month", t) - units("month", when(d))
date_diff("week", d, t)	units("week", t) - units("week", when(d))
date_diff("day", t, d)	units("day", when(d)) - units("day", t)
date_diff("hour", d, t)	units("hour", t) - units("hour", when(d))
date_diff("minute", d, t)	units("minute", t) - units("minute", when(d))
date_diff("second", d, t)	units("second", t) - units("second", when(d))
add_months(d, 1)	months(d, 1)
add_months(t, i)	months(t, i)
strftime(d, "%d.%m.%Y")	f"{d.day:02}.{d.month:02}.{d.year:04}"
strftime(t, "%Y-%m")	t.strftime("%Y-%m")
strftime(t, "%H:%M")	t.strftime("%H:%M")
strftime(t, "%I %p")	t.strftime("%I %p")
strftime(d, "%A %a %B %b %j %U %W %V %G %u %w %y %%")	d.strftime("%A %a %B %b %j %U %W %V %G %u %w %y %%")
strftime(t, "%a, %d %b %Y %H")	t.strftime("%a, %d %b %Y %H")
strftime(t, "%F %T")	t.strftime("%Y-%m-%d %H:%M:%S")
strftime(t, "%A")	t.strftime("%A")
strftime(t, "%Y")	t.strftime("%Y")
strftime(t, "%b")	t.strftime("%b")
concat(year(t), "-Q", quarter(t))	f"{t.year}-Q{(t.month + 2) // 3}"
string(t)	str(t)
strptime(s, "%Y-%m-%d")	parse(s, "%Y-%m-%d")
date(strptime(strftime(d, "%d %b %Y"), "%d %b %Y"))	d
strptime(strftime(t, "%A %d %B %y %I:%M %p"), "%A %d %B %y %I:%M %p")	parse(t.strftime("%A %d %B %y %I:%M %p"), "%A %d %B %y %I:%M %p")
strptime(strftime(d, "%Y/%j"), "%Y/%j")	when(d)
strptime("2024-05-06T07:08:09.5+02:00", "%FT%T.%f%z")	D.datetime(2024, 5, 6, 5, 8, 9, 500000)
END
}

@test "time zones are those of the system, as Python has them, for ambiguous and missing times too" {
    judge <<'END'
to_zone(t, "Europe/Berlin")	local(t, "Europe/Berlin")
to_zone(t, "America/New_York")	local(t, "America/New_York")
to_zone(t, "Asia/Kolkata")	local(t, "Asia/Kolkata")
to_zone(t, "Australia/Lord_Howe")	local(t, "Australia/Lord_Howe")
to_zone(t, "Europe/Dublin")	local(t, "Europe/Dublin")
to_zone(t, "UTC")	t
from_zone(t, "Europe/Berlin")	utc(t, "Europe/Berlin")
from_zone(t, "America/New_York")	utc(t, "America/New_York")
from_zone(t, "Australia/Lord_Howe")	utc(t, "Australia/Lord_Howe")
from_zone(t, "America/Sao_Paulo")	utc(t, "America/Sao_Paulo")
strftime(to_zone(t, "Asia/Tokyo"), "%Y-%m")	local(t, "Asia/Tokyo").strftime("%Y-%m")
to_zone(d, "Asia/Tokyo")	local(when(d), "Asia/Tokyo")
END
}

# refused EXPRESSION PATTERN: an error of the compiler, with a place
refused() {
    printf 'input t from "t.h5"\nR = project(t, a = %s)\noutput R\n' "$1" >e.tra
    status 2 tra check e.tra
    has "$2"
    has 'e.tra:2:20'
}

@test "what is wrong in an expression, a unit, a format or a zone is told with its place" {
    ln -sf "$BATS_FILE_TMPDIR"/t.h5 .
    refused 'matches(s, "a(b")' "regular expression is wrong at character 4, after 'a(b': missing closing parenthesis"
    refused 'regex_replace(s, "a", "\\1")' 'has 0 groups, and there is no group 1'
    refused 'extract(s, "(a)", 2)' 'has 1 group, and there is no group 2'
    refused 'matches(s, u)' 'argument 2 of matches is a regular expression that stands in the program'
    refused 'date_trunc("fortnight", d)' "'fortnight' is no unit of time"
    refused 'strftime(d, "%Y %Q")' "'%Q' at character 4"
    refused 'strptime(s, "%V")' "'%V' at character 1"
    refused 'to_zone(t, "Europe/Berlyn")' "there is no time zone 'Europe/Berlyn'"
    refused 'to_zone(t, "../../../etc/passwd")' 'there is no time zone'
    refused 'lower(i)' 'argument 1 of lower is a string, not i32'
    refused 'week(s)' 'week takes a timestamp or a date'
    refused 'split_part(s, "-")' 'split_part does not take 2 arguments'
    refused 'matches(concat(repeat("a", 40), "b"), "^(a|aa)+$")' 'takes too many steps'
}

@test "strings that all differ, on two threads and little memory: what one thread and Python make of them" {
    cat >p.tra <<'END'
r = gen(range, [200000], by = [20000], type = i64)
T = project(table(r), s = concat(value * 7919 % 1000003, "-ab", value % 89, "-x"))
R = project(T, m = matches(s, "^[0-9]*[13]-"), e = extract(s, "b([0-9]+)-", 1), g = regex_replace(s, "([a-z])([0-9]?)", "<\\2\\1>"),
            p = position(s, "-"), w = split_part(s, "-", 2), u = lpad(upper(reverse(s)), 20, "."))
output R to "r.csv"
END
    tra run -q --threads 2 --memory 68M p.tra
    mv r.csv two.csv
    "$PYTHON" - <<'END'
import csv, re
for r, got in enumerate(csv.reader(open("two.csv")), -1):
    if r < 0: continue
    s = f"{r * 7919 % 1000003}-ab{r % 89}-x"
    want = [str(bool(re.search("^[0-9]*[13]-", s))).lower(), re.search("b([0-9]+)-", s)[1], re.sub("([a-z])([0-9]?)", r"<\2\1>", s),
            str(s.find("-") + 1), s.split("-")[1], s[::-1].upper().rjust(20, ".")]
    assert got == want, (r, got, want)
assert r == 199999
END
    for sites in 1 3; do
        tra run -q --threads 1 --sites "$sites" --memory 80M p.tra
        cmp r.csv two.csv
    done
}

@test "the number of a part is made of another part, a dozen calls within each other: planned at once, as one by one" {
    printf 's,n\n%s' $'a1-b,1\nccc-d-ee,2\n-,1\n,1\nx-yy-zzz-q,3\n' >t.csv
    tra import -q --table t.csv -o t.h5
    local e=n i
    {
        echo 'input t from "t.h5"'
        for i in {1..12}; do
            e="length(split_part(s, \"-\", $e)) - $((i % 3)) + 1"
            echo "T$i = project($([ $i = 1 ] && echo t || echo T$((i - 1))), s, n = length(split_part(s, \"-\", n)) - $((i % 3)) + 1)"
        done
        echo "W = project(t, s, n = $e)"
        echo 'output W'
        echo 'output T12'
    } >p.tra
    status 0 tra run -q --memory 64M p.tra
    status 0 tra diff W.h5 T12.h5
}
