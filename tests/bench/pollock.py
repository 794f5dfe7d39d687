"""Imports Pollock's polluted files (HPI-Information-Systems/Pollock, VLDB 2023), and scores the results as that paper does.

    pollock.py DIR [tra|duckdb] [auto|given] [PATTERN]

DIR holds polluted_files and pollock_weights.json of a checkout. auto: no options but those with which an import goes on
after a bad record. given: the options say what the parameters of each file say (dialect, names, lines before the first
row), and all columns are strings, as for the other systems of the paper. Prints the simple and the weighted score, of
10, then the files that lose most. duckdb needs @duckdb/node-api in DUCKDB_DIR (default /tmp/duck). TRA: the program
(default build/tra)."""
import collections, concurrent.futures, csv, functools, json, os, re, subprocess, sys, tempfile
import dateutil.parser

import duckdb

HERE = os.path.dirname(os.path.abspath(__file__))
TRA = os.environ.get("TRA", os.path.join(HERE, "../../build/tra"))


class Days(dateutil.parser.parserinfo):
    JUMP = [" ", ".", ",", ";", "-", "/", "'"]


@functools.lru_cache(None)
def plain(cell):
    """A form in which cells are equal if Pollock takes them for equal: numbers, times, days and prices by value, other
    text in lower case."""
    if not cell.strip(): return cell.lower()
    if cell in ("True", "true"): return "1"
    if cell in ("False", "false"): return "0"
    for read in int, float:
        try: return str(read(cell))
        except ValueError: pass
    t = re.fullmatch(r"(\d{1,2}):(\d\d)(?::(\d\d))?", cell)
    if t: return f"{int(t[1]):02}:{t[2]}:{t[3] or '00'}"
    try: return str(dateutil.parser.parse(cell, parserinfo=Days()))
    except (ValueError, OverflowError, TypeError): pass
    price = re.search(r"\$\s*(\d[\d.,]*)", cell)
    return "$" + price[1].replace(",", "") if price else cell.lower()


def agreement(right, got):
    """Precision, recall and F1 of what was read, as multisets; precision is Pollock's word for the share of what is right."""
    if not right: return [1.0] * 3
    both = sum((collections.Counter(right) & collections.Counter(got)).values())
    if not both: return [0.0] * 3
    p, r = both / len(right), both / len(got)
    return [p, r, 2 * p * r / (p + r)]


def rows_of(path):
    with open(path, encoding="utf-8-sig", newline="") as f: return list(csv.reader(f))


def score(clean, loaded):
    right, got = rows_of(clean), rows_of(loaded)
    if not right: return [1.0] * 9
    rows = lambda v: ["".join(map(plain, r)) for r in v[1:]]
    names = [1.0] * 3 if not right[0] else agreement([*map(plain, right[0])], [*map(plain, got[0])] if got else [])
    return names + agreement(rows(right), rows(got)) + agreement([c for r in right for c in r], [c for r in got for c in r])


def parameters(path):
    p = json.load(open(path))
    names = [x.strip() for x in p["column_names"]] or [f"col_{i}" for i in range(p["n_columns"] or 1)]
    return {"delimiter": p["delimiter"] or ",", "quote": p["quotechar"] or '"', "escape": p["escapechar"] or '"', "names": names,
            "skip": p["header_lines"] + p["preamble_lines"]}


def quoted(name): return '"' + name.replace('"', '""') + '"'


def by_tra(source, given, to):
    options = ["--pad-short", "--drop-long", "--lenient", "--rejects", to + ".rejects"]
    if given:
        # a delimiter of two characters: blanks behind the first are found out
        options += ["--delimiter", "space" if given["delimiter"] == " " else given["delimiter"].strip(" ").replace("\t", "tab"),
                    "--quote", given["quote"], "--escape", given["escape"], "--skip", str(given["skip"]), "--no-header",
                    "--names", ",".join(map(quoted, given["names"])),
                    "--types", ",".join(f"{i + 1}=text" for i in range(len(given["names"])))]
    run = subprocess.run([TRA, "import", "-q", "--table", source, "-o", to + ".h5", *options], capture_output=True, text=True)
    if run.returncode == 0:
        run = subprocess.run([TRA, "export", "-q", to + ".h5", "-o", to, "--to", "csv"], capture_output=True, text=True)
    return run.stderr.strip() if run.returncode else None


def by_duckdb(source, given, to):
    text = lambda s: "'" + s.replace("'", "''") + "'"
    options = "strict_mode=false, ignore_errors=true, null_padding=true"
    if given:
        options += f", delim={text(given['delimiter'])}, quote={text(given['quote'])}, escape={text(given['escape'])}"
        options += f", skip={given['skip']}, header=false, auto_detect=false, columns={{"
        options += ", ".join(f"{text(n)}: 'VARCHAR'" for n in given["names"]) + "}"
    return duckdb.run(f"copy (select * from read_csv({text(source)}, {options})) to {text(to)} (header)")


def main(folder, by="tra", how="auto", pattern=".*"):
    base = os.path.join(folder, "polluted_files")
    files = sorted(f for f in os.listdir(base + "/csv") if re.match(pattern, f))
    weights = json.load(open(os.path.join(folder, "pollock_weights.json")))
    with tempfile.TemporaryDirectory() as tmp:
        def one(f):
            to = os.path.join(tmp, f)
            given = parameters(f"{base}/parameters/{f}_parameters.json") if how == "given" else None
            why = (by_tra if by == "tra" else by_duckdb)(f"{base}/csv/{f}", given, to)
            return ([0.0] * 10 if why else [1.0] + score(f"{base}/clean/{f}", to)), why
        with concurrent.futures.ThreadPoolExecutor(2 if by == "tra" else 1) as pool: results = dict(zip(files, pool.map(one, files)))
    total = sum(weights.get(f, 0) for f in files)
    simple = sum(sum(v) for v, _ in results.values()) / len(files)
    weighted = sum(sum(v) * weights.get(f, 0) for f, (v, _) in results.items()) / total
    for f, (v, why) in sorted(results.items(), key=lambda x: sum(x[1][0]))[:int(os.environ.get("WORST", 20))]:
        print(f"{sum(v):6.3f} {weights.get(f, 0):8.1f} {f:40} {' '.join('%.3f' % x for x in v)} {(why or '')[:200]}")
    print(f"{by}, {how}: {len(files)} files, {sum(why is not None for _, why in results.values())} refused, "
          f"simple {simple:.4f}, weighted {weighted:.4f} of 10")


main(*sys.argv[1:])
