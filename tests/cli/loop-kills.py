"""Kills loops of all kinds at random moments, resumes them, and compares digests with those of runs that were not killed.

loop-kills.py TRA KILLS SECONDS SEED: ends after so many kills, or seconds. The kinds are dense, sparse and table states,
loops in loops, minibatches, and states that are divided, on 1 and on 3 sites; the last go on with other numbers of sites.
After some kills a file of what was saved is cut or loses a bit: the run goes on from before, or anew.
"""
import os, random, subprocess, sys, tempfile, time
from killing import kill_here

tra, most, seconds, seed = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
r = random.Random(seed)
where = os.path.realpath(tempfile.mkdtemp(dir=os.environ.get("BATS_TEST_TMPDIR")))
os.chdir(where)
os.mkdir("saved")
X = "X = gen(normal, [400, 400], by = [200, 400], seed = 1)\n"
KINDS = {
    "dense": X + """state a = gen(uniform, [400], by = [200], seed = 2)
repeat 120 as t {
    y[i] = sum X[i,j] * a[j]
    n = norm(y)
    next a[i] = y[i] / n[] + 0.01 / (t + 1)
    trace log(n)
}
output a
output log
""", "sparse": """input G from "G.h5"
state P[i,j] as csr = G[i,j]
repeat 90 as t {
    q[i,j] as csr = sum G[i,k] * P[k,j]
    n[] = sum q[i,j]^2
    next P[i,j] as csr = q[i,j] / sqrt(n) + G[i,j] * 0.1
    trace log(n)
}
output P
output log
""", "table": """input t from "t.csv"
state S = project(t, a, b)
repeat 90 as i {
    next S = order(project(S, a = (a * 7 + i) % 1009, b = (b + a) % 1000003), [b, a])
    n = rows(S)
    trace log(n)
}
output S
output log
""", "nested": X + """state a = gen(uniform, [400], by = [200], seed = 2)
repeat 8 as t {
    state b[i] = a[i]
    repeat 8 {
        y[i] = sum X[i,j] * b[j]
        n = norm(y)
        next b[i] = y[i] / n[] + 0.01 * a[i]
    }
    next a[i] = b[i] + 0.1 * a[i] / (t + 1)
    trace log(t)
}
output a
output log
""", "batches": """X = gen(normal, [3000, 40], by = [10, 40], seed = 1)
state w = gen(zero, [40])
repeat 90 as t {
    B = slice(X, [t*10 : (t+1)*10, :])
    p[n] = sum B[n,j] * w[j]
    g[j] = mean[n](B[n,j] * (p[n] - 1))
    next w[j] = w[j] - 0.1 * g[j]
    m[] = max abs(g[j])
    trace log(m)
}
output w
output log
""", "parts": """input t from "t.csv"
X = gen(normal, [400, 400], by = [50, 400], seed = 1)
state a = gen(uniform, [400, 20], by = [50, 20], seed = 2)
state S = project(t, a, b)
repeat 60 as i {
    next a[n,k] = tanh(sum[j](X[n,j] * a[j,k]) / 20) + 0.1 * a[n,k] / (i + 1)
    next S = project(S, a = (a * 7 + i) % 1009, b = (b + a) % 1000003)
}
output a
output S
"""}
ANY_SITES = ("parts",)  # whose bits do not depend on how many there are, so that others may go on


def command(kind, sites, *more):
    return [tra, "run", "-q", "--checkpoint", "0", "--threads", "1", "--scratch", "saved", "--sites", str(sites), *more, kind + ".tra"]


def damage():
    """Damages one of the files that were saved."""
    files = [os.path.join(d, f) for d, _, names in os.walk("saved") for f in names if not f.endswith("lock")]
    files = [f for f in files if os.path.getsize(f) > 0 and "import" not in f]
    if not files: return 0
    with open(r.choice(sorted(files)), "r+b") as f:
        data = bytearray(f.read())
        at = r.randrange(len(data))
        if r.random() < 0.5: f.truncate(at)
        else: data[at] ^= 1 << r.randrange(8); f.seek(0); f.write(data)
    return 1


def digests(kind):
    outputs = [l.split()[1] for l in KINDS[kind].splitlines() if l.startswith("output")]
    got = subprocess.run([tra, "digest", *(o + ".h5" for o in outputs)], capture_output=True, text=True)
    for o in outputs:
        if os.path.exists(o + ".h5"): os.remove(o + ".h5")
    return got.stdout


subprocess.run([tra, "gen", "-q", "--shape", "300x300", "--density", "0.02", "--storage", "csr", "--seed", "3", "-o", "G.h5"], check=True)
open("t.csv", "w").write("a,b\n" + "".join(f"{2**33 + i * 31 % 997},{2**33 + i}\n" for i in range(3000)))
begun, kills, ended, bad, damaged, want, took = time.time(), 0, 0, 0, 0, {}, {}
for kind, text in KINDS.items(): open(kind + ".tra", "w").write(text)
while kills < most and time.time() - begun < seconds and not bad:
    kind, sites = r.choice(list(KINDS)), r.choice([1, 1, 3])
    if (kind, sites) not in want:
        at = time.time()
        subprocess.run(command(kind, sites), check=True)
        took[kind, sites], want[kind, sites] = time.time() - at, digests(kind)
    resume, tries = (), 0
    while True:
        now = r.choice([1, 2, 3]) if resume and kind in ANY_SITES else sites
        p = subprocess.Popen(command(kind, now, *resume), stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            p.wait(r.uniform(0.02, r.choice([0.7, 0.7, 1]) * took[kind, sites]) if tries < 4 else 60)
            if p.returncode != 0: print(kind, sites, "ended with", p.returncode, p.stderr.read()); bad += 1
            ended += 1
            break
        except subprocess.TimeoutExpired:
            kill_here(where)
            p.wait()
            kills, tries, resume = kills + 1, tries + 1, ("--resume",)
            if r.random() < 0.2: damaged += damage()
    got = digests(kind)
    if got != want[kind, sites]: print(kind, sites, "differs:\n" + got + want[kind, sites]); bad += 1
print(f"{kills} kills of {ended} runs, {len(want)} kinds, {damaged} files damaged, {bad} wrong, {time.time() - begun:.0f} s")
sys.exit(bad > 0)
