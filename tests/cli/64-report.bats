# Reports, traces, metrics and events of runs.
load helper

ridge() { # A in ten blocks
    tra gen -q --shape 20000x128 --block 2000x128 -o A.h5
    tra gen -q --shape 20000 --block 2000 -o y.h5
    cat >p.tra <<'END'
input A from "A.h5"
input y from "y.h5"
G[i,j] = sum A[n,i] * A[n,j]
b[i] = sum A[n,i] * y[n]
w = solve(G, b)
output w
END
}

loop() {
    tra gen -q --shape 2000x16 --block 500x16 -o X.h5
    cat >l.tra <<'END'
input X from "X.h5"
state C = slice(X, [0:3, :])
repeat 5 {
    near[n]     = argmin[c](sum[d]((X[n,d] - C[c,d])^2))
    own[n,c]    = if(near[n] == index(c), 1, 0 * C[c,0])
    new[c,d]    = sum[n](own[n,c] * X[n,d]) / sum[n](own[n,c])
    next C[c,d] = new[c,d]
    moved[]     = max abs(new[c,d] - C[c,d])
} until moved < 1e-30
output C
END
}

tables() {
    py 'n = 3000; r = np.random.default_rng(1)
open("t.csv", "w").write("name,k,v\n" + "".join(f"n{i % 70},{k},{i / 3}\n" for i, k in enumerate(r.integers(0, 90, n))))'
    cat >t.tra <<'END'
input t from "t.csv"
g = group(t, [name, k], n = count(), s = sum(v), m = median(v))
j = join(t, g, k == k, prefix = "g_")
o = order(select(j, v > 3), [v desc, g_n])
w = window(o, [name], [v], r = row_number(), p = mean(v))
output w
output g
END
}

# Skips where there is no Chromium.
browser() {
    chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
        skip "no chromium, to look at pages with"
}

# look PAGE WIDTH: what a browser sees of a page at that width: errors, what overflows, boxes that overlap, requests.
look() {
    "$PYTHON" - "$1" "$2" <<'END'
import sys
page, width = open(sys.argv[1]).read(), sys.argv[2]
script = """<script>
window.onerror = function(m) { document.title = 'error ' + m };
window.onload = function() {
  var f = document.getElementById('f'), d = f.contentDocument, out = [];
  var boxes = [].map.call(d.querySelectorAll('.plan .box'), function(b) { return b.getBoundingClientRect() });
  var overlaps = 0, outside = 0;
  for (var i = 0; i < boxes.length; i++)
    for (var j = 0; j < i; j++) {
      var a = boxes[i], b = boxes[j];
      if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) overlaps++;
    }
  [].forEach.call(d.querySelectorAll('.plan g.op'), function(g) {
    var box = g.querySelector('.box').getBoundingClientRect();
    [].forEach.call(g.querySelectorAll('text,rect'), function(t) {
      var r = t.getBoundingClientRect();
      if (r.width && (r.right > box.right + 1 || r.left < box.left - 1 || r.bottom > box.bottom + 1)) outside++;
    });
  });
  var cut = [].filter.call(d.querySelectorAll('th,td,h1,h2,li,.facts div,.cap,.track b'), function(x) {
    return x.clientWidth && x.scrollWidth > x.clientWidth + 1 });
  out.push('cut=' + cut.length + (cut.length ? ' ' + cut[0].outerHTML.slice(0, 200) : ''));
  out.push('width=' + d.documentElement.scrollWidth, 'boxes=' + boxes.length, 'overlaps=' + overlaps,
    'outside=' + outside, 'scripts=' + d.scripts.length,
    'loaded=' + f.contentWindow.performance.getEntriesByType('resource').length,
    'headings=' + [].map.call(d.querySelectorAll('h2'), function(h) { return h.textContent }).join('|'));
  document.getElementById('seen').textContent = out.join('\\n');
};</script>"""
import html
open("look.html", "w").write('<!DOCTYPE html><meta charset="utf-8"><pre id="seen"></pre><iframe id="f" style="border:0;'
    'width:%spx;height:3000px" srcdoc="%s"></iframe>%s' % (width, html.escape(page), script))
END
    HOME=$PWD timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --virtual-time-budget=5000 \
        --user-data-dir="$PWD/profile" --enable-logging=stderr --dump-dom "file://$PWD/look.html" >dom 2>console
    ! grep -E 'CONSOLE.*(rror|efused|ailed)' console || return 1
    sed -n '/<pre id="seen">/,/<\/pre>/p' dom | sed 's/.*<pre id="seen">//; s/<\/pre>.*//' >seen
    [ -s seen ]
}

@test "a report is one page that needs nothing else, and has what was predicted beside what was measured" {
    ridge
    tra run -q --report r.html --profile r.json --memory 64M p.tra
    [ "$(wc -c <r.html)" -lt 500000 ]
    lacks_in() { ! grep -Eq "$1" "$2" || { grep -Eo ".{0,60}$1.{0,60}" "$2"; return 1; }; }
    lacks_in '<script|https?://[^w]|src=|@import|url\(|<link' r.html
    for what in Statements 'The plan' 'What was done when' Operators Alternatives 'The program'; do
        grep -q "<h2>$what</h2>" r.html
    done
    grep -q 'G\[i,j\] = sum A\[n,i\] \* A\[n,j\]' r.html
    grep -q 'ceiling 64 MiB' r.html
    grep -q 'worker 1' r.html
    grep -q 'class="bar r"' r.html
    # the same page of the profile; without one a page of the plan
    tra explain --format html --analyze r.json p.tra >a.html
    grep -q 'class="bar r"' a.html
    grep -q '<h2>What was done when</h2>' a.html
    tra explain --format html --memory 64M p.tra >e.html
    lacks_in 'class="bar r"|What was done when' e.html
    "$PYTHON" - r.html a.html e.html <<'END'
import sys
from html.parser import HTMLParser
void = {"meta", "br", "link", "img", "input"}
class Check(HTMLParser):
    def __init__(self): super().__init__(); self.open = []
    def handle_starttag(self, tag, attrs):
        if tag not in void: self.open.append(tag)
    def handle_startendtag(self, tag, attrs): pass
    def handle_endtag(self, tag):
        while self.open[-1] in ("td", "tr", "li", "thead") and self.open[-1] != tag: self.open.pop()
        assert self.open.pop() == tag, tag
for name in sys.argv[1:]:
    c = Check(); c.feed(open(name).read()); assert not c.open, c.open
END
}

@test "a browser sees no error, nothing that overflows, and no boxes that overlap, wide and narrow" {
    browser
    ridge
    loop
    tra run -q --sites 2 --threads 1 --report p.html p.tra
    tra run -q --sites 5 --threads 1 --report l.html l.tra
    tables
    tra run -q --report t.html t.tra
    for page in p l t; do
        [ "$(wc -c <$page.html)" -lt 500000 ]
        for width in 1280 400; do
            look $page.html $width
            [ "$(sed -n 's/^width=//p' seen)" -le $width ]
            grep -qx 'overlaps=0' seen
            grep -qx 'outside=0' seen
            grep -qx 'cut=0' seen
            grep -qx 'scripts=0' seen
            grep -qx 'loaded=0' seen
            grep -Eqx 'boxes=[1-9][0-9]*' seen
        done
    done
    look l.html 1280
    grep -q 'headings=.*Loops' seen
    # what boxes say is not cut, however it is broken
    printf '%s\n' 'input A from "A.h5"' 'S[i] = sum[n](tanh(exp(sin(A[n,i]))))' 'T[i] = sum[n](exp(cos(A[n,i]) + 12.5))' \
        'output S' 'output T' >w.tra
    for program in p l t w; do
        tra explain --format svg $program.tra >d.svg
        ! grep -q '…' d.svg || { grep '…' d.svg; false; }
    done
}

@test "a printed report is dark on light, and its pages are cut between boxes, not through them" {
    tables
    tra run -q --report t.html t.tra
    "$PYTHON" - <<'END'
import re
page = open("t.html").read()
style = re.search(r"@media print\{(.*?print-color-adjust:exact\}\})", page, re.S).group(1)
assert "color-scheme:light" in style and ".scroll.cut>svg{display:none}" in style, style
whole = [int(x) for x in re.search(r'<svg class="plan"[^>]* viewBox="0 0 (\d+) (\d+)"', page).groups()]
boxes = [(int(y), int(y) + int(h)) for y, h in re.findall(r'class="box [^"]*" x="-?\d+" y="(\d+)" width="\d+" height="(\d+)"', page)]
parts = [[int(x) for x in m] for m in re.findall(r'<svg viewBox="0 (\d+) (\d+) (\d+)"[^>]*><use href="#drawing"/>', page)]
assert len(parts) > 1 and parts[0][0] == 0 and sum(p[2] for p in parts) == whole[1], (whole, parts)
for y, width, height in parts:
    assert width == whole[0] and height * min(1, 700 / width) < 1000, parts
    assert all(b[1] <= y or b[0] >= y + height or (b[0] >= y and b[1] <= y + height) for b in boxes), (y, height)
END
    browser
    # who reads dark pages prints black on white: both rules apply at once, as where a dark page is printed
    "$PYTHON" - <<'END'
page = open("t.html").read()
assert page.count("@media print{") > 1 and page.count("@media (prefers-color-scheme:dark){") > 1
for rule in "print", "(prefers-color-scheme:dark)": page = page.replace("@media " + rule + "{", "@media all{")
open("dark.html", "w").write(page + """<pre id="seen"></pre><script>onload = function() {
  var bad = [], n = 0, light = function(c) {
    var v = (c.match(/[0-9.]+/g) || [0, 0, 0]).map(Number);
    return v[3] === 0 ? 1 : (v[0] * .3 + v[1] * .6 + v[2] * .1) / 255 };
  var see = function(what, dark) { [].forEach.call(document.querySelectorAll(what), function(x) {
    var s = getComputedStyle(x), c = dark == 'color' ? s.color : dark == 'fill' ? s.fill : dark == 'box' ? s.fill : s.backgroundColor;
    n++; if (dark == 'color' || dark == 'fill' ? light(c) > .5 : light(c) < .5) bad.push(what + ' ' + c) }) };
  see('body,h1,h2,h3,p,small,td,th,li,pre,code,.dim,.cap', 'color'); see('.plan text', 'fill');
  see('.plan .box', 'box'); see('body,pre', 'background');
  document.getElementById('seen').textContent = 'seen=' + n + ' bad=' + bad.length + ' ' + bad.slice(0, 5) }</script>""")
END
    HOME=$PWD timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" --dump-dom \
        "file://$PWD/dark.html" >dom 2>console
    grep -o 'seen=[0-9]* bad=[^<]*' dom >seen || { cat console; false; }
    grep -Eqx 'seen=[0-9]{3,} bad=0 ' seen || { cat seen; false; }
}

@test "a report says where the time went: statements, sites, what was read again, spilled, waited for" {
    ridge
    sed 's/^output w/K[i,j] = max G[i,j] * A[n,j]\noutput K\noutput w/' p.tra >q.tra
    tra run -q --sites 3 --threads 1 --memory 200M --profile m.json q.tra
    # the same run, had it been slow
    py 'p = json.load(open("m.json")); plan = p["plans"][0]; m = plan["measured"]
m["seconds"] = p["run"]["seconds"] = 10
for s in m["sites"]: s.update(seconds=10, disk_read_bytes=200 << 20, spilled_bytes=300 << 20, unspilled_bytes=300 << 20, scratch_seconds=20)
for o in plan["operators"]:
    for s in o["measured"]["sites"]: s.update(seconds=.1, kernel_seconds=.1)
by = lambda name: [o for o in plan["operators"] if o.get("name") == name and o["op"] != "output"][-1]["measured"]["sites"]
for s in by("K"): s.update(seconds=6)
by("K")[1].update(kernel_seconds=5.5)
solve = [o for o in plan["operators"] if o["op"] == "join" and "solve" in str(o)][0]["measured"]["sites"]
for s in solve: s.update(seconds=3)
solve[0].update(kernel_seconds=2.9)
t = p["timeline"]
ns = int(t["bucket_seconds"] * 1e9)
for s in t["sites"]:
    for w in s["threads"][1:]:
        w.clear()
        w.update(compute=[ns * 3 // 10] * t["buckets"], wait_for_memory=[ns * 6 // 10] * t["buckets"])
json.dump(p, open("slow.json", "w"))'
    for format in text html; do
        status 0 tra explain --format $format --analyze slow.json q.tra
        said=$(sed 's/<[^>]*>/ /g; s/&#39;/'"'"'/g' <<<"$output" | tr -s '\n ' '  ')
        for what in "Where the time went" "What workers did in 10 s, on average: wait for memory [0-9.]* s, .*compute" "Line 6 took 6[0-9] % of the time: K\[i,j\] = max" "Line 5 took 3[0-9] %" \
            "In line 5 \(#[0-9]+ join\) site 0 computed 2.9 s, the sites 1.0[0-9]* s on average. Linear algebra on a matrix is done by one site" \
            "In line 6 .* site 1 computed 5.5 s, the sites 1.9 s on average" \
            "600 MiB were read, 3[0-9].[0-9] times what the inputs have" \
            "900 MiB of intermediate results did not fit in memory: .*: threads waited 60 s in all for it, each with 30 MiB a second, where .* a second were counted on: --scratch" \
            "Workers computed [0-9]+ % of the time, and for [0-9]+ % of it they waited for memory: a higher ceiling"; do
            grep -Eq "$what" <<<"$said" || { echo "$format: no '$what' in $said"; false; }
        done
    done
    # a conversion that takes most of a run
    py 'open("long.csv", "w").write("k,v\n" + "".join(f"{i % 7},{i}\n" for i in range(4000000)))'
    printf '%s\n' 'input t from "long.csv"' 'g = group(t, [k], s = sum(v))' 'output g' >c.tra
    tra run -q --report c.html c.tra
    grep -q 'The conversion of .*long.csv (csv, .*) took ' c.html
    rm long.csv
    # what is exported is a part of the run, and has its bar; other processes had the processors; it was resumed
    sed 's/^output g/output g to "g.csv"/' c.tra >d.tra
    py 'open("long.csv", "w").write("k,v\n" + "".join(f"{i % 70000},{i}\n" for i in range(200000)))'
    for sites in 2 1; do # of several, who launches them converts
        tra run -q --sites $sites --profile m.json d.tra
        py 'phases = json.load(open("m.json"))["timeline"]["phases"]
assert phases["export"] > 0 and phases["convert"] > 0, phases'
    done
    py 'p = json.load(open("m.json"))
assert p["run"]["processors"] > 0
assert p["run"]["resumed"] is False and p["plans"][0]["measured"]["cpu_seconds"] > 0
m = p["plans"][0]["measured"]
m["seconds"] = p["run"]["seconds"] = 10
p["run"]["resumed"] = True
for s in m["sites"]: s.update(seconds=10, cpu_seconds=0.01)
t = p["timeline"]
for s in t["sites"]:
    for w in s["threads"][1:]: w.update(compute=[10**9] * t["buckets"])
p["run"]["processors"] = 10000
json.dump(p, open("slow.json", "w"))
p["run"]["processors"] = 1
p["run"]["hosts"] = ["here"]
p["threads"] = 3
json.dump(p, open("many.json", "w"))'
    status 0 tra explain --analyze m.json d.tra
    has "write outputs in other formats"
    lacks "went on from"
    status 0 tra explain --analyze slow.json d.tra
    has "The run went on from what a run before had saved"
    has "had a processor for 0.01 s of it"
    status 0 tra explain --analyze many.json d.tra
    has "1 processor for 3 threads of 1 site"
    rm long.csv
    # a run that was not has nothing of the kind
    tra run -q --sites 1 --profile m.json p.tra
    status 0 tra explain --analyze m.json p.tra
    lacks "did not fit"
    lacks "times what the inputs have"
}

@test "a thread that others keep from its processor waits for it" {
    tra gen -q --shape 20000x64 --block 2000x64 -o A.h5
    printf '%s\n' 'input A from "A.h5"' 'S[i] = sum[n](tanh(exp(sin(A[n,i]))))' 'output S' >p.tra
    local others=()
    for i in 1 2; do
        taskset -c 0 "$PYTHON" -c 'while True: pass' &
        others+=($!)
    done
    taskset -c 0 "$TRA" run -q --sites 1 --threads 1 --profile m.json p.tra || { kill "${others[@]}"; false; }
    kill "${others[@]}"
    py 't = json.load(open("m.json"))["timeline"]["sites"][0]["threads"][1]
waits, computes = sum(t.get("wait_for_processor", [0])), sum(t["compute"])
assert waits > computes / 5, (waits, computes)'
}

@test "seconds are those of the operator that worked: of fused ones, and of others of a scan" {
    tra gen -q --shape 200000x64 --block 20000x64 -o A.h5
    printf '%s\n' 'input A from "A.h5"' 'S[i] = sum[n](tanh(exp(sin(A[n,i]))))' 'M[i,j] = sum A[n,i] * A[n,j]' \
        'output S' 'output M' >p.tra
    for sites in 1 2; do
        tra run -q --no-history --sites $sites --threads 1 --profile m.json p.tra
        py 'm = json.load(open("m.json")); plan = m["plans"][0]; ops = plan["operators"]
inside = [o for o in ops if "runs_in" in o and o["op"] != "output"]
assert any(o["fused"] for o in inside) and any(o["op"] == "join-agg" for o in inside), inside
seconds = lambda o: sum(s["seconds"] for s in o["measured"]["sites"])
for o in inside:
    stage = ops[o["runs_in"]]
    assert o["seconds"] > 0 and seconds(o) > 0, o
    assert seconds(o) > seconds(stage) / 20, (o, stage)
tanh = [o for o in inside if "tanh" in o["label"]][0]
read = [o for o in ops if o["op"] in ("input", "read-all")][0]["measured"]["read_seconds"]
assert seconds(tanh) > seconds(ops[tanh["runs_in"]]) - read, (tanh, ops) # which waits for what is read
for s in tanh["measured"]["sites"]: assert 0 < s["kernel_seconds"] <= s["seconds"], s
assert abs(sum(o["seconds"] for o in ops) - plan["seconds"]) < 1e-9 + .02 * plan["seconds"], plan["seconds"]
assert read > 0'
        # workers of the timeline, and of the trace, have the operator that they worked for
        py 'm = json.load(open("m.json")); ops = m["plans"][0]["operators"]
tanh = [o["id"] for o in ops if "tanh" in o["label"]][0]
assert any(tanh in t.get("operator", []) for s in m["timeline"]["sites"] for t in s["threads"][1:]), tanh'
        tra explain --analyze m.json --format trace p.tra | grep -Eq '"#[0-9]+ transform'
        tra explain --analyze m.json --format html p.tra >p.html
        grep -q 'computed in #' p.html
        grep -q 'read in ' p.html || [ $sites = 2 ]
    done
    # of every input, whoever reads it
    tra gen -q --shape 64x48 --block 64x8 -o B.h5
    printf '%s\n' 'input A from "A.h5"' 'input B from "B.h5"' 'C[n,i] = sum A[n,j] * B[j,i]' 'output C' >q.tra
    for sites in 1 2 3; do
        tra run -q --no-history --sites $sites --threads 1 --profile m.json q.tra
        py 'ops = json.load(open("m.json"))["plans"][0]["operators"]
read = {o["name"]: o["measured"].get("read_seconds", 0) for o in ops if o["op"] in ("input", "read-all")}
assert len(read) == 2 and min(read.values()) > 0, read'
    done
}

@test "a report names a key that most rows of a join, a group, a window or a median have, and no others" {
    py 'r = np.random.default_rng(1); n = 120000
skewed = np.where(r.random(n) < .48, 7, r.integers(0, 9000, n)); even = r.integers(0, 9000, n)
few = r.integers(0, 9000, 8192); few[:40] = 7
open("t.csv", "w").write("cust,city,day,v\n" + "".join(f"{a},\"a, {a}\",{e},{i % 100}\n" for i, (a, e) in enumerate(zip(skewed, even))))
open("u.csv", "w").write("id,name,w\n" + "".join(f"{a},\"a, {a}\",{i}\n" for i, a in enumerate(few)))'
    tra import -q --block 40000 t.csv -o t.h5
    tra import -q u.csv -o u.h5
    keys() { # keys NAME SITES STATEMENT: what the profile has, and what is said of it had the run taken longer
        printf '%s\n' 'input t from "t.h5"' 'input u from "u.h5"' "$3" 'output o to "o.h5"' >"$1.tra"
        tra run -q --no-history --sites "$2" --threads 1 --profile "$1.json" "$1.tra"
        py 'import sys
p = json.load(open("'"$1"'.json")); p["run"]["seconds"] = 10
for o in p["plans"][0]["operators"]:
    for s in o["measured"]["sites"]: s["seconds"] = 2
    for k in o["measured"].get("heaviest_keys", []):
        if k["rows"]: print(k["columns"], "|", k["values"], round(100 * k["rows"] / k["of_rows"]), round(100 * k["pairs"] / max(1, k["of_pairs"])))
json.dump(p, open("slow.json", "w"))'
        tra explain --analyze slow.json "$1.tra" | tr -s '\n ' ' '
    }
    tells() { # NAME STATEMENT PATTERN: what is said of the statement on $sites sites
        said=$(keys "$1" "$sites" "$2")
        grep -Eq "$3" <<<"$said" || { echo "$said"; return 1; }
    }
    for sites in 1 3; do
        tells join 'o = select(join(t, u, cust == id), (v + w) % 7 == 3)' \
            'cust = 7 has [45][0-9] % of the rows of the left table and makes (9[0-9]|100) % of the pairs'
        tells strings 'o = group(t, [city, cust], s = sum(v), n = count())' \
            'city, cust = a, 7, 7 has [45][0-9] % of the rows\.'
        tells window 'o = window(t, [cust], [v], r = rank())' \
            'stands out: 7 has [45][0-9] % of the rows'
        tells median 'o = group(t, [cust], m = median(v))' \
            'cust = 7 has [45][0-9] % of the rows'
        tells order 'o = order(t, [cust])' \
            'cust = 7 has [45][0-9] % of the rows\.'
        tells distinct 'o = distinct(project(t, cust, city))' \
            'cust, city = 7, a, 7 has [45][0-9] % of the rows'
        tells range 'o = join(t, project(u, id, w), cust <= id && id < cust + 2)' \
            'cust = 7 has [45][0-9] % of the rows of the left table and makes 9[0-9] % of the pairs'
        for even in 'group(t, [day], s = sum(v))' 'group(t, [v], s = sum(cust))' 'join(t, project(u, w), day == w)' \
            'window(t, [day], [v], r = rank())'; do
            said=$(keys even $sites "o = $even")
            ! grep -q 'stands out' <<<"$said" || { echo "$even: $said"; false; }
        done
    done
}

@test "a report says that blocks are so small that each takes longer than its bytes, and of a slow disk nothing" {
    slow() { # slow BLOCK: the run, had it been slow while nobody computed
        tra gen -q --shape 20000x4 --block "$1"x4 -o a.h5
        printf 'input a from "a.h5"\nE[i,j] = exp(a[i,j])\noutput E to "e.h5"\n' >p.tra
        tra run -q --no-history --threads 2 --profile m.json p.tra
        py 'p = json.load(open("m.json")); m = p["plans"][0]["measured"]
m["seconds"] = p["run"]["seconds"] = 10
for s in m["sites"]: s.update(seconds=10, kernel_seconds=.1, disk_read_bytes=100 << 20, cpu_seconds=9)
t = p["timeline"]; ns = int(10e9 / t["buckets"])
for s in t["sites"]:
    for w in s["threads"][1:]: w.clear(); w.update(read=[ns * 3 // 10] * t["buckets"], wait_for_work=[ns * 7 // 10] * t["buckets"])
json.dump(p, open("slow.json", "w"))'
        tra explain --analyze slow.json p.tra | tr -s '\n ' ' '
    }
    said=$(slow 10)
    grep -q 'a.h5 has 2000 blocks of 320 B each, and workers computed 1 % of the time' <<<"$said" || { echo "$said"; false; }
    ! grep -Eq 'is slow|too few blocks' <<<"$said" || { echo "$said"; false; }
    said=$(slow 2000)
    grep -q 'too few blocks' <<<"$said" || { echo "$said"; false; }
    grep -q 'the disk of a.h5 is slow' <<<"$said" || { echo "$said"; false; }
    ! grep -q 'blocks of .* each, and' <<<"$said" || { echo "$said"; false; }
}

@test "a report says that inputs or outputs came slower than was counted on, and what of CSV files nothing uses" {
    ridge
    printf '%s\n' 'input A from "A.h5"' 'B[n,i] = exp(A[n,i])' 'output B to "B.h5"' >e.tra
    tra run -q --sites 2 --threads 2 --profile m.json e.tra
    # the same run, had it taken 8 s, of which each worker and each main thread read, or wrote, for 2
    for doing in read write; do
        py 'p = json.load(open("m.json")); t = p["timeline"]; n = t["buckets"]
p["run"]["seconds"] = 8
for s in t["sites"]:
    for w in s["threads"]: w.clear(); w["'$doing'"] = [2 * 10**9 // n] * n
json.dump(p, open("slow.json", "w"))'
        status 0 tra explain --analyze slow.json e.tra
        said=$(tr -s '\n ' '  ' <<<"$output")
        case $doing in read) what="inputs, .*the disk of A.h5 is slow.* a copy on" ;; write) what="outputs, .*the disk of B.h5 is slow" ;; esac
        grep -Eq "[0-9]+ threads waited (12|11.9[0-9]*) s in all for $what" <<<"$said" || { echo "$doing: $said"; false; }
        grep -Eq "each with 1.6[0-9]* MiB a second, where [0-9.]+ [MG]iB a second were counted on" <<<"$said" || { echo "$said"; false; }
        is 1 eval 'grep -c "threads waited" <<<"$output"'
    done
    # as quickly as counted on nothing is said, and of packed inputs that to unpack them takes the time
    py 'p = json.load(open("m.json")); t = p["timeline"]; n = t["buckets"]
p["run"]["seconds"] = 1
for s in t["sites"]:
    for w in s["threads"]: w.clear(); w["read"] = w["write"] = [2 * 10**7 // n] * n
json.dump(p, open("quick.json", "w"))'
    status 0 tra explain --analyze quick.json e.tra
    lacks "threads waited"
    "$PYTHON" -c 'import h5py; a = h5py.File("A.h5")["data"][...]
h5py.File("Z.h5", "w").create_dataset("data", data=a, chunks=(2000, 128), compression="gzip")'
    sed 's/A.h5/Z.h5/' e.tra >z.tra
    tra run -q --threads 2 --profile m.json z.tra
    py 'p = json.load(open("m.json")); t = p["timeline"]; n = t["buckets"]
p["run"]["seconds"] = 8
for w in t["sites"][0]["threads"]: w.clear(); w["read"] = [2 * 10**9 // n] * n
json.dump(p, open("slow.json", "w"))'
    status 0 tra explain --analyze slow.json z.tra
    has "Z.h5 is packed by "
    lacks "disk of Z.h5 is slow"
    # a conversion: its seconds are those of the run, not those of the command that explains it
    py 'open("w.csv", "w").write("k,v,one,two,three\n" + "".join(f"{i % 7},{i},text{i},{i},{i}\n" for i in range(20000)))'
    printf '%s\n' 'input t from "w.csv"' 'g = group(t, [k], s = sum(v))' 'output g' >c.tra
    tra run -q --profile m.json c.tra
    py 'p = json.load(open("m.json"))
p["run"]["seconds"] = 50
p["timeline"]["phases"]["convert"] = 40
json.dump(p, open("slow.json", "w"))'
    status 0 tra explain --analyze slow.json c.tra
    said=$(tr -s '\n ' '  ' <<<"$output")
    grep -Eq "conversion of .*w.csv \(csv, .* KiB\) took 40 s, .* a second, though nothing uses of it one,two,three\." <<<"$said" ||
        { echo "$said"; false; }
    # before a run the same columns are named where the conversion takes long, and of many not all
    py 'n = range(40); open("long.csv", "w").write("k,v," + ",".join(f"column{i}" for i in n) + "\n" + "".join(f"{i % 7},{i}," + ",".join(f"{i + k}" for k in n) + "\n" for i in range(60000)))'
    sed 's/w.csv/long.csv/' c.tra >d.tra
    status 0 tra explain d.tra
    said=$(tr -s '\n ' '  ' <<<"$output")
    grep -Eq "long.csv is converted; nothing uses of it column0,column1,.*,\.\.\." <<<"$said" || { echo "$said"; false; }
    tra import -q --table long.csv -o long.h5
    sed 's/w.csv/long.h5/' c.tra >d.tra
    status 0 tra explain d.tra
    said=$(tr -s '\n ' '  ' <<<"$output")
    grep -Eq "nothing uses the columns column0,column1,.*,\.\.\. of t, .* tra import --columns k,v would" <<<"$said" || { echo "$said"; false; }
    rm long.csv
}

@test "the drawing alone is SVG, of plans of any size" {
    loop
    for sites in 1 4; do
        tra explain --format svg --sites $sites l.tra >l.svg
        "$PYTHON" -c 'import sys, xml.dom.minidom as m
d = m.parse("l.svg").documentElement
assert d.tagName == "svg" and d.getAttribute("xmlns"), d.tagName
print(len([r for r in d.getElementsByTagName("rect") if "box" in r.getAttribute("class")]))' >n
        tra explain --format json --sites $sites l.tra >l.json
        is "$(cat n)" "$PYTHON" -c 'import json; p = json.load(open("l.json"))["plans"][0]; print(len(p["operators"]))'
    done
    grep -q 'class="edge moves"' l.svg
    grep -q 'moved</text>' l.svg
    { echo 'input X0 : f64 [64,64] by [32,32]'
      for i in $(seq 1 120); do echo "X$i[i,k] = sum X$((i - 1))[i,j] * X0[j,k]"; done
      echo 'output X120'; } >deep.tra
    status 0 tra explain --format html --sites 2 deep.tra
    [ "${#output}" -lt 500000 ]
}

@test "hostile names of files, columns and statements are text in reports, drawings, traces and metrics" {
    d='a"b<img src=x onerror=alert(1)>&'\''\'
    mkdir "$d"
    cd "$d"
    printf '<script>,b&c\n1,2\n3,4\n' | tra import -q --table - -o '<t>&".h5'
    printf 'input t from "<t>&\\".h5"   # </pre><script>alert(1)</script>\nG = group(t, [`<script>`], s = sum(`b&c`))\n' >'p<.tra'
    echo 'output G' >>'p<.tra'
    printf '\xff\xfe bad' >bad
    tra run -q --report r.html --metrics m.prom --profile m.json 'p<.tra' || {
        sed -i 's/<t>&\\"/t/' 'p<.tra'; mv '<t>&".h5' t.h5
        tra run -q --report r.html --metrics m.prom --profile m.json 'p<.tra'; }
    for f in r.html; do
        is 0 eval "grep -Eci '<script|<img|</pre><s' $f || true"
        grep -q '&#60;script&#62;' $f
    done
    tra explain --format svg 'p<.tra' >p.svg
    "$PYTHON" -c 'import xml.dom.minidom as m; m.parse("p.svg")'
    tra explain --analyze m.json --format trace 'p<.tra' >t.json
    "$PYTHON" -c 'import json; json.load(open("t.json"))'
    grep -q '{program="p<.tra"} 0' m.prom
}

@test "a report is never written over another file, and a run is not lost to a report that cannot be written" {
    ridge
    echo "my notes" >notes.html
    status 2 tra run --report notes.html p.tra
    has "notes.html"
    is "my notes" cat notes.html
    [ ! -e w.h5 ]
    status 2 tra run -q --metrics notes.html p.tra
    is "my notes" cat notes.html
    status 2 tra run -q --report . p.tra
    status 4 tra run -q --report no/such/r.html p.tra
    [ ! -e w.h5 ]
    # a link that leads to no folder is found before the run, not after it
    ln -s no/such/r.html link.html
    for option in --report --metrics --profile; do
        status 4 tra run -q $option link.html p.tra
        [ ! -e w.h5 ]
    done
    status 2 tra run --dry-run --report r.html p.tra
    status 2 tra run --engine reference --report r.html p.tra
    # one of tra is replaced, and so is an empty file
    : >r.html
    tra run -q --report r.html p.tra
    tra run -q --report r.html p.tra
    head -c 200 r.html | grep -q 'tra report'
    # what goes wrong at the end is said, with status 4, and the outputs are in place
    rm w.h5
    mkdir full
    if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=4k none full 2>/dev/null; then
        status 4 tra run -q --report full/r.html p.tra
        umount full
        has "the outputs are in place, but --report full/r.html was not written"
        [ -e w.h5 ]
        is "" ls full
    fi
    is 0 eval 'ls -A | grep -c "tra-.*tmp" || true'
}

@test "of a run that is stopped or fails: what ran until then, and its status" {
    tra gen -q --shape 3000x3000 --block 500x500 -o A.h5
    printf 'input A from "A.h5"\nstate v = gen(1, [3000])\nrepeat 100000 {\nu[i] = sum A[i,j] * v[j]\nnext v[i] = u[i] / 1500\n}\noutput v to "v.h5"\n' >l.tra
    printf 'input A from "A.h5"\nB[i,j] = A[i,j] - A[i,j]\nC = inverse(B)\noutput C to "c.h5"\n' >f.tra
    for sites in 1 3; do
        status 75 tra run -q --sites $sites --threads 1 --deadline 1s --report r.html --profile m.json l.tra
        status 3 tra run -q --sites $sites --threads 1 --report f.html --profile f.json f.tra
        py 'for name, status in ("m", 75), ("f", 3):
    m = json.load(open(name + ".json"))
    assert m["run"]["status"] == status and m["timeline"]["sites"], m["run"]
    assert f"ended with status {status} before its outputs" in open(name.replace("m", "r") + ".html").read()'
        status 0 tra explain --sites $sites --threads 1 --analyze m.json l.tra
        has "ended with status 75"
        status 3 tra explain --sites $sites --threads 1 --optimizers=m.json l.tra
        has "m.json: its run ended with status 75"
        rm -f ./*.json ./*.html
    done
    [ ! -e v.h5 ]
    [ ! -e c.h5 ]
}

@test "a run that is refused or killed leaves no report, and the one before as it was" {
    ridge
    tra run -q --report r.html p.tra
    cp r.html before.html
    status 4 tra run -q --memory 1M --report r.html p.tra
    cmp r.html before.html
    tra gen -q --shape 30000x512 --block 1000x512 -o A.h5
    tra gen -q --shape 30000 --block 1000 -o y.h5
    for sites in 1 2; do
        TRA_FAULT= "$TRA" run -q --sites $sites --report r.html p.tra &
        pid=$!
        sleep 0.3
        kill -KILL $pid 2>/dev/null || true
        wait $pid || true
        if ! cmp -s r.html before.html; then tail -n 1 r.html | grep -q '</html>'; fi
        is 0 eval 'ls -A | grep -c "^\.r\.html" || true'
    done
}

@test "profiles of other programs, cut and changed ones are named, and old ones have no timeline" {
    ridge
    tra run -q --threads 2 --profile m.json p.tra
    sed 's/sum A\[n,i\] \* y\[n\]/max A[n,i] * y[n]/' p.tra >q.tra
    for format in html trace svg; do
        status 3 tra explain --format $format --analyze m.json q.tra
        has "m.json"
        status 3 tra explain --format $format --analyze p.tra p.tra
        head -c 3000 m.json >cut.json
        status 3 tra explain --format $format --analyze cut.json p.tra
        has "cut.json"
    done
    "$PYTHON" - <<'END'
import json
m = json.load(open("m.json"))
t = m.pop("timeline")
json.dump(m, open("old.json", "w"))
def save(name, **changed): json.dump(dict(m, timeline=dict(t, **changed)), open(name, "w"))
save("b1.json", buckets=100000)
save("b2.json", sites=[])
save("b3.json", bucket_seconds=-1)
s = json.loads(json.dumps(t["sites"]))
s[0]["operator"][0] = 77
save("b4.json", sites=s)
s = json.loads(json.dumps(t["sites"]))
s[0]["threads"] = s[0]["threads"][:1]
save("b5.json", sites=s)
END
    status 3 tra explain --format trace --analyze old.json p.tra
    has "old.json"
    status 0 tra explain --format html --analyze old.json p.tra
    has "What was done when is not known"
    for i in 1 2 3 4 5; do
        status 3 tra explain --format html --analyze b$i.json p.tra
        has "b$i.json"
    done
    status 2 tra explain --format trace p.tra
    has -- "--analyze"
}

@test "a trace follows the rules of its format: numbers, events that nest, counters, names" {
    ridge
    loop
    for run in '1 p' '2 p' '3 l'; do
        set -- $run
        tra run -q --sites $1 --threads 2 --memory 200M --profile m.json $2.tra
        tra explain --analyze m.json --format trace $2.tra >t.json
        "$PYTHON" - $1 <<'END'
import collections, json, sys
sites = int(sys.argv[1])
t = json.load(open("t.json"))
threads, names = collections.defaultdict(list), set()
for e in t["traceEvents"]:
    assert e["ph"] in "XCM" and isinstance(e["pid"], int) and isinstance(e["tid"], int), e
    assert 0 <= e["pid"] < sites
    if e["ph"] == "M": names.add((e["name"], e["pid"], e["tid"])); assert e["args"]["name"]
    else: assert isinstance(e["ts"], int) and e["ts"] >= 0
    if e["ph"] == "C": assert e["args"] and all(isinstance(v, (int, float)) for v in e["args"].values())
    if e["ph"] == "X":
        assert isinstance(e["dur"], int) and e["dur"] > 0
        threads[e["pid"], e["tid"]].append(e)
for key, events in threads.items():
    assert ("process_name", key[0], 0) in names and ("thread_name",) + key in names
    open_ = []
    for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        while open_ and open_[-1]["ts"] + open_[-1]["dur"] <= e["ts"]: open_.pop()
        if open_: assert e["ts"] + e["dur"] <= open_[-1]["ts"] + open_[-1]["dur"], (open_[-1], e)
        if e["cat"] == "doing": assert open_ and open_[0]["cat"] in ("operator", "phase"), e
        open_.append(e)
# from the start of the process until the outputs are in place there is always something that the main thread does
m = json.load(open("m.json"))["run"]
whole = m["process_seconds"]
for site in range(sites):
    told = sum(e["dur"] for e in threads[site, 0] if e["cat"] in ("operator", "phase")) * 1e-6
    assert 0.8 * whole < told < 1.1 * whole, (site, told, whole)
phases = {e["name"] for e in threads[0, 0] if e["cat"] == "phase"}
text = {"place": "put outputs in place", "plan": "read the program, plan it", "start": "start up"}
timeline = json.load(open("m.json"))["timeline"]
took, bucket = timeline["phases"], timeline["bucket_seconds"]
assert phases >= {text[k] for k in text if took[k] > 2 * bucket} and phases & set(text.values()), (phases, took)
assert {k[0] for k in threads} == set(range(sites))
counters = {e["name"] for e in t["traceEvents"] if e["ph"] == "C"}
assert counters >= {"memory, bytes", "disk, bytes/s"} and ("network, bytes/s" in counters) == (sites > 1), counters
assert any(e["ph"] == "C" and e["args"].get("ceiling") == 200 << 20 for e in t["traceEvents"])
END
    done
}

@test "what is recorded does not grow with the run, and its times are those of the run" {
    loop
    sed -i 's/repeat 5/repeat 300/; s/} until .*/}/' l.tra
    tra run -q --threads 1 --profile long.json l.tra
    sed -i 's/repeat 300/repeat 3/' l.tra
    tra run -q --threads 1 --profile short.json l.tra
    "$PYTHON" - <<'END'
import json
for name, turns in ("long", 300), ("short", 3):
    m = json.load(open(name + ".json"))
    t = m["timeline"]
    assert 1 <= t["buckets"] <= 256
    assert len(json.dumps(t)) < 60000, len(json.dumps(t))
    all = t["bucket_seconds"] * t["buckets"]
    assert all <= m["run"]["process_seconds"] + 2 * t["bucket_seconds"], (all, m["run"])
    for thread in t["sites"][0]["threads"]:
        did = sum(sum(v) for v in thread.values()) * 1e-9
        assert abs(did - all) <= 0.1 * all + 2 * t["bucket_seconds"], (did, all)
    assert m["plans"][0]["loops"][0]["measured"]["turns"] == turns, m["plans"][0]["loops"]
    read = sum(t["sites"][0]["disk_read_bytes"])
    assert read == m["plans"][0]["measured"]["disk_read_bytes"], (read, m["plans"][0]["measured"])
END
    # what was measured of turns is read again as it was written
    tra explain --analyze short.json --format json l.tra >again.json
    "$PYTHON" -c 'import json
a, b = (json.load(open(f))["plans"][0]["loops"][0]["measured"] for f in ("short.json", "again.json"))
assert a["turns"] == b["turns"] == 3 and abs(a["others"]["seconds"] - b["others"]["seconds"]) < 1e-9, (a, b)'
    tra explain --analyze short.json --format html l.tra | grep -q 'Loop 0: 3 turns ran in '
}

# metric NAME FILE: its value.
metric() { sed -n "s/^tra_run_$1{[^}]*} //p" "$2"; }

@test "metrics are a file of Prometheus, of runs that succeed and of those that fail" {
    ridge
    for sites in 1 2; do
        rm -f m.prom
        tra run -q --sites $sites --memory 200M --metrics m.prom p.tra
        "$PYTHON" - <<'END'
import re
types = {}
for line in open("m.prom"):
    if line.startswith("# HELP "): assert re.match(r"# HELP [a-z_]+ .+\.$", line), line; continue
    m = re.match(r"# TYPE ([a-z_]+) gauge$", line)
    if m: assert m[1] not in types; types[m[1]] = None; continue
    m = re.match(r'([a-z_]+)\{program="p.tra"\} (\S+)$', line)
    assert m and types[m[1]] is None, line
    types[m[1]] = float(m[2])
v = {k[len("tra_run_"):]: x for k, x in types.items()}
assert v["exit_status"] == 0 and v["last_success_timestamp_seconds"] == v["end_timestamp_seconds"] > 1.5e9
assert v["memory_ceiling_bytes"] == 200 << 20 and 0 < v["peak_memory_bytes"] <= 200 << 20
assert v["disk_read_bytes"] == v["predicted_disk_read_bytes"] == 20000 * 129 * 8
assert v["seconds"] > 0 and v["predicted_seconds"] > 0 and v["process_seconds"] >= v["seconds"]
END
        success=$(metric last_success_timestamp_seconds m.prom)
        # refused for want of memory, of an input, of sense
        status 4 tra run -q --sites $sites --memory 1M --metrics m.prom p.tra
        is 4 metric exit_status m.prom
        is "$success" metric last_success_timestamp_seconds m.prom
        sed 's/A.h5/none.h5/' p.tra >none.tra
        status 3 tra run -q --sites $sites --metrics m.prom none.tra
        is 3 metric exit_status m.prom
        echo 'output Q' >>none.tra
        sed -i 's/none.h5/A.h5/' none.tra
        status 2 tra run -q --sites $sites --metrics m.prom none.tra
        is 2 metric exit_status m.prom
        is "$success" metric last_success_timestamp_seconds m.prom
        is "" metric seconds m.prom
    done
    is 0 eval 'ls -A | grep -c "tra-.*tmp" || true'
    status 4 tra run -q --metrics none/m.prom p.tra
}

@test "metrics of runs that stop, go on, fail or have a hostile name: figures of each, that a collector takes" {
    loop
    sed -i 's/repeat 5/repeat 2000000/; s/} until .*/}/' l.tra
    for sites in $(also 3); do
        for resume in "" --resume; do
            # shellcheck disable=SC2086
            status 75 tra run -q --sites $sites --threads 1 --deadline 3s --metrics m.prom $resume l.tra
            "$PYTHON" "$ROOT/tests/cli/prometheus.py" m.prom >values
            is 75 metric exit_status m.prom
            is 0 metric last_success_timestamp_seconds m.prom
            # of what has run
            awk '{ v[$1] = $2 } END { r = "tra_run_"; exit !(v[r "seconds"] > 0.5 && v[r "process_seconds"] >= v[r "seconds"] &&
                v[r "peak_memory_bytes"] > 1e6 && v[r "disk_read_bytes"] > 0 && v[r "disk_write_bytes"] == 0) }' values
        done
        rm -f m.prom
    done
    sed -i 's/repeat 2000000/repeat 2/' l.tra
    for name in $'no text \xff\xc3(\xed\xa0\x80.tra' $'"quotes" \\ and\nlines.tra' 'é ü.tra'; do
        cp l.tra "./$name"
        tra run -q --metrics m.prom "$name"
        "$PYTHON" "$ROOT/tests/cli/prometheus.py" m.prom >values
        is "tra_run_exit_status 0.0" head -1 values
        rm m.prom
    done
}

@test "metrics and events of a run whose rank is killed, the first or another, say status 5" {
    ridge
    tra run -q --sites 2 --metrics m.prom p.tra
    success=$(metric last_success_timestamp_seconds m.prom)
    printf 'input A from "A.h5"\nC = transform(A, exp)\noutput C\n' >slow.tra
    for which in 1 3; do
        rm -f log
        slow 1000 "$TRA" run -q --sites 3 --threads 1 --metrics m.prom --progress json slow.tra 2>log &
        run=$!
        meet $run grep -sq '"begin"' log
        kill -KILL "$(ranks_of $run | sed -n ${which}p)"
        got=0
        wait $run || got=$?
        is 5 echo $got
        is 5 metric exit_status m.prom
        is "$success" metric last_success_timestamp_seconds m.prom
        is 3 metric sites m.prom
        is "end 5" "$PYTHON" -c 'import json
ends = [e for e in map(json.loads, (l for l in open("log") if l.startswith("{"))) if e["event"] == "end"]
assert len(ends) == 1
print("end", ends[0]["status"])'
        [ ! -e C.h5 ]
    done
}

@test "--progress json is a line an event, from the beginning to the end" {
    ridge
    for sites in 1 2; do
        tra run -q --sites $sites --progress json p.tra 2>log
        status 4 tra run -q --sites $sites --progress json --memory 1M p.tra
        printf '%s\n' "$output" >failed
        "$PYTHON" - $sites <<'END'
import json, sys
events = [json.loads(line) for line in open("log")]
kinds = [e["event"] for e in events]
assert kinds[0] == "begin" and kinds[-1] == "end" and kinds.count("end") == 1, kinds
assert set(kinds) <= {"begin", "operator", "progress", "end"}
assert events[0]["sites"] == int(sys.argv[1]) and events[-1]["status"] == 0
ids = [e["id"] for e in events if e["event"] == "operator"]
assert ids == sorted(set(ids)) and any(e.get("name") == "G" for e in events)
failed = [json.loads(line) for line in open("failed") if line.startswith("{")]
assert [e["event"] for e in failed] == ["end"] and failed[0]["status"] == 4 and failed[0]["message"], failed
END
    done
}

@test "recording asks the clock hardly more often than a run does that records nothing" {
    cat >clocks.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long asked;
int clock_gettime(clockid_t c, struct timespec *t) {
    __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
    return (int)syscall(SYS_clock_gettime, c, t);
}
__attribute__((destructor)) static void tell(void) { fprintf(stderr, "clocks %ld\n", asked); }
END
    cc -O2 -shared -fPIC clocks.c -o clocks.so
    clocks() {
        LD_PRELOAD="$PWD/clocks.so" ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 \
            "$TRA" run -q --no-history --threads 1 --memory 300M "$@" 2>&1 | sed -n 's/^clocks //p'
    }
    printf 'state s = gen(zero, [])\nrepeat 20000 {\nnext s[] = s[] + 1\n}\noutput s\n' >turns.tra
    tra gen -q --shape 100000x10 --block 10x10 -o a.h5
    printf 'input a from "a.h5"\nE[i,j] = exp(a[i,j])\noutput E\n' >blocks.tra
    for each in "turns 0.1 20000" "blocks 1 10000"; do
        set -- $each
        plain=$(clocks $1.tra)
        recorded=$(clocks --profile p.json $1.tra)
        awk -v more=$((recorded - plain)) -v most=$2 -v n=$3 'BEGIN { exit !(more < 1500 + most * n) }' ||
            { echo "$1: $plain clocks, $recorded with a record"; false; }
    done
}

@test "a report: a colour has one meaning, bars have a scale, and an input has its bytes" {
    ridge
    tra run -q --report r.html --memory 64M p.tra
    "$PYTHON" - <<'END'
import re
s = open("r.html").read()
style = s[:s.index("</style>")]
of = {}
for name, colour in re.findall(r"\.((?:do|op|ph|co)\d|other|memory)\{fill:(#\w+)", style): of.setdefault(colour, []).append(name)
alike = [set(x) for x in of.values() if len(x) > 1]
assert sorted(map(sorted, alike)) == [["co0", "do1"], ["co2", "do2"], ["co3", "do3"]], alike # read, written, exchanged
assert not set(of) & set(re.findall(r"--(?:plan|run):(#\w+)", style)), of
plan = s[s.index('class="plan'):]
assert len(re.findall('class="scale"', plan)) == len(re.findall('<g class="op">', plan))
assert "the frame of a box" in plan
row = re.search(r'input A from.*?</tr>', s, re.S).group(0)
assert re.search("read for line \\d+, whose seconds and memory count it; threads read it in", row), row
assert re.search('data-n="disk"><div class="bar p".*?</div><small>[\\d.]+ [KM]iB</small>', row), row
END
}
