#!/usr/bin/python3
"""make bench CASES=plans: how long planning takes, and what it holds, as programs grow: nothing is run but where said.

Programs are made here, over inputs that are only declared. usage: TRA=build/tra tests/bench/plans.py
[KIND...], whose sizes are in KINDS. TRA_BENCH_OTHER names a second program, which is measured beside it."""
import os, subprocess, sys, tempfile, time

A = "input A : f64 [400,400] by [100,100]\n"
MASK = "input S : f64 [400,400] by [100,100] as csr nnz 4000\n"
TABLE = "k,g,v\n" + "".join(f"{i},{i % 7},{i}.5\n" for i in range(50))


def out(names):
    return "".join(f"output {x}\n" for x in names)


def lines(n, f):
    return "".join(f(i) + "\n" for i in range(n))


def sixty(form):
    return ", ".join(form.replace("{}", f"c{i}") for i in range(60))


def rows_of(n):
    return lines(n, lambda i: f"input t{i} : table [k: i64, v: f64] rows 100000 by 20000")


def tree(n):
    text, level, k = lines(n, lambda i: f"X0_{i}[i,j] = A[i,j] * {i + 1}"), [f"X0_{i}" for i in range(n)], 0
    while len(level) > 1:
        k, pairs, rest = k + 1, list(zip(level[::2], level[1::2])), level[len(level) // 2 * 2:]
        text += "".join(f"X{k}_{i}[i,j] = {a}[i,j] + {b}[i,j]\n" for i, (a, b) in enumerate(pairs))
        level = [f"X{k}_{i}" for i in range(len(pairs))] + rest
    return A + text + out(level)


def llama(layers):
    t = "param b = 8\nparam s = 1024\nparam a = 4096\nparam h = 32\nparam d = 128\nparam f = 11008\nparam v = 32000\n" \
        "param t = 16\nparam u = 8\ninput X0 : f32 [b,s,a] by [1,s/u,a/t]\ninput CS : f32 [s,d] by [s/u,d]\n" \
        "input SN : f32 [s,d] by [s/u,d]\ninput RT : f32 [d,d] by [d,d]\ninput MK : f32 [s,s] by [s/u,s/u]\n"
    for n in range(1, layers + 1):
        t += """input NA@ : f32 [a] by [a/t]
input NF@ : f32 [a] by [a/t]
input WQ@ : f32 [a,h,d] by [a/t,h/t,d]
input WK@ : f32 [a,h,d] by [a/t,h/t,d]
input WV@ : f32 [a,h,d] by [a/t,h/t,d]
input WO@ : f32 [h,d,a] by [h/t,d,a/t]
input WG@ : f32 [a,f] by [a/t,f/t]
input WU@ : f32 [a,f] by [a/t,f/t]
input WD@ : f32 [f,a] by [f/t,a/t]
SA@[b,s] = sum X#[b,s,a] ^ 2
RA@[b,s] = 1 / sqrt(SA@[b,s] / a + 1e-5)
YA@[b,s,a] = X#[b,s,a] * RA@[b,s] * NA@[a]
Q@[b,s,h,d] = sum YA@[b,s,a] * WQ@[a,h,d]
K@[b,s,h,d] = sum YA@[b,s,a] * WK@[a,h,d]
V@[b,s,h,d] = sum YA@[b,s,a] * WV@[a,h,d]
TQ@[b,s,h,e] = sum Q@[b,s,h,d] * RT[d,e]
TK@[b,s,h,e] = sum K@[b,s,h,d] * RT[d,e]
PQ@[b,s,h,d] = Q@[b,s,h,d] * CS[s,d] + TQ@[b,s,h,d] * SN[s,d]
PK@[b,s,h,d] = K@[b,s,h,d] * CS[s,d] + TK@[b,s,h,d] * SN[s,d]
S@[b,h,s,z] = sum PQ@[b,s,h,d] * PK@[b,z,h,d]
M@[b,h,s,z] = S@[b,h,s,z] / sqrt(128) + MK[s,z]
E@[b,h,s] = max M@[b,h,s,z]
P@[b,h,s,z] = exp(M@[b,h,s,z] - E@[b,h,s])
D@[b,h,s] = sum P@[b,h,s,z]
O@[b,s,h,d] = sum P@[b,h,s,z] * V@[b,z,h,d]
OD@[b,s,h,d] = O@[b,s,h,d] / D@[b,h,s]
R@[b,s,a] = X#[b,s,a] + sum[h,d](OD@[b,s,h,d] * WO@[h,d,a])
SF@[b,s] = sum R@[b,s,a] ^ 2
RF@[b,s] = 1 / sqrt(SF@[b,s] / a + 1e-5)
YF@[b,s,a] = R@[b,s,a] * RF@[b,s] * NF@[a]
G@[b,s,f] = sum YF@[b,s,a] * WG@[a,f]
U@[b,s,f] = sum YF@[b,s,a] * WU@[a,f]
I@[b,s,f] = G@[b,s,f] / (1 + exp(-G@[b,s,f])) * U@[b,s,f]
J@[b,s,a] = sum I@[b,s,f] * WD@[f,a]
X@[b,s,a] = R@[b,s,a] + J@[b,s,a]
""".replace("@", str(n)).replace("#", str(n - 1))
    return t + f"input WL : f32 [a,v] by [a/t,v/t]\nL[b,s,v] = sum X{layers}[b,s,a] * WL[a,v]\noutput L\n"


def factors(n):
    product = "*".join(f"A[i{i},i{i + 1}]" for i in range(n))
    return A + f"C[i0,i{n}] = sum {product}\noutput C\n"


PROGRAMS = {
    "over one": lambda n: A + lines(n, lambda i: f"B{i}[i,j] = A[i,j] + {i}") + out(f"B{i}" for i in range(n)),
    "independent": lambda n: lines(n, lambda i: f"input A{i} : f64 [400,400] by [100,100]\n"
                                   f"B{i}[i,j] = A{i}[i,j] + {i}") + out(f"B{i}" for i in range(n)),
    "chain": lambda n: A + "B0[i,j] = A[i,j]\n" + lines(n, lambda i: f"B{i + 1}[i,j] = B{i}[i,j] + {i}") + out([f"B{n}"]),
    "diamonds": lambda n: A + "B0[i,j] = A[i,j] * 2\n" +
                lines(n, lambda i: f"B{i + 1}[i,j] = B{i}[i,j] + B{max(0, i - 1)}[i,j] * {i}") + out([f"B{n}"]),
    "tree": tree,
    "fan-in": lambda n: A + lines(n, lambda i: f"B{i}[i,j] = A[i,j] + {i}") + "S0[i,j] = B0[i,j]\n" +
              lines(n - 1, lambda i: f"S{i + 1}[i,j] = S{i}[i,j] + B{i + 1}[i,j]") + out([f"S{n - 1}"]),
    "one sum": lambda n: A + lines(n, lambda i: f"B{i}[i,j] = A[i,j] ^ {i + 1}") +
               "S[i,j] = " + " + ".join(f"B{i}[i,j]" for i in range(n)) + "\n" + out("S"),
    "products": lambda n: A + "B0[i,k] = A[i,k]\n" +
                lines(n, lambda i: f"B{i + 1}[i,k] = sum B{i}[i,j] * A[j,k]") + out([f"B{n}"]),
    "factors": factors,
    "selections": lambda n: 'input t from "t.csv"\n' + lines(n, lambda i: f"B{i} = select(t, v > {i})") +
                  out(f"B{i}" for i in range(n)),
    "derived": lambda n: 'input t from "t.csv"\nB0 = t\n' +
               lines(n, lambda i: f"B{i + 1} = project(B{i}, k, g, v = v + {i})") + out([f"B{n}"]),
    "columns": lambda n: "input t : table [" + sixty("{}: f64") + "] rows 100000 by 20000\nB0 = t\n" +
               lines(n, lambda k: f"B{k + 1} = project(B{k}, " + sixty("{} = exp({}) * %d" % (k + 2)) + ")") +
               out([f"B{n}"]),
    "groups": lambda n: 'input t from "t.csv"\n' + lines(n, lambda i: f"B{i} = group(t, [g], s = sum(v + {i}))") +
              out(f"B{i}" for i in range(n)),
    "joins": lambda n: 'input t from "t.csv"\nB0 = project(t, k, v0 = v)\n' +
             lines(n, lambda i: f"J{i} = join(B{i}, t, k == k)\nB{i + 1} = project(J{i}, k, v0 = v0 + v)") + out([f"B{n}"]),
    "sparse": lambda n: "input A : f64 [4000,4000] by [1000,1000] as csr nnz 40000\n" +
              lines(n, lambda i: f"B{i}[i] = sum A[i,j] * {i + 1}") + out(f"B{i}" for i in range(n)),
    "sparse products": lambda n: "input A : f64 [4000,4000] by [1000,1000] as csr nnz 40000\nB0[i,j] = A[i,j]\n" +
                       lines(n, lambda i: f"B{i + 1}[i,k] = sum B{i}[i,j] * A[j,k]") + out([f"B{n}"]),
    "star": lambda n: 'input t from "t.csv"\nJ0 = t\n' +
            lines(n, lambda i: f"input d{i} : table [k{i}: i64, w{i}: f64] rows 50 by 50\n"
                               f'J{i + 1} = join(J{i}, d{i}, k == k{i}, expect = "m:1")') +
            f"O = group(J{n}, [g], s = sum(v))\noutput O\n",
    "loop": lambda n: A + "state x = gen(1, [400])\nrepeat 10 {\n    b0[i] = x[i]\n" +
            lines(n, lambda i: f"    b{i + 1}[i] = b{i}[i] + {i}") + f"    next x[i] = b{n}[i]\n}}\noutput x\n",
    "loops": lambda n: lines(n, lambda i: f"state x{i} = gen(1, [400])\nrepeat 10 {{ next x{i}[i] = x{i}[i] * 0.5 }}") +
             out(f"x{i}" for i in range(n)),
    "macros": lambda n: A + "def m0(x) = x + 1\n" + lines(n, lambda i: f"def m{i + 1}(x) = m{i}(x) * 0.5") +
              f"B[i,j] = m{n}(A[i,j])\noutput B\n",
    "llama": llama,
    "unions": lambda n: rows_of(n) + "B = union(" + ", ".join(f"t{i}" for i in range(n)) + ")\n" + out("B"),
    "growing unions": lambda n: rows_of(1) + "B0 = t0\n" + lines(n, lambda i: f"B{i + 1} = union(B{i}, t0)") + out([f"B{n}"]),
    "diamonds of rows": lambda n: rows_of(1) + "B0 = project(t0, k, v)\n" +
                        lines(n, lambda i: f"C{i} = select(B{i}, v > {i})\nD{i} = select(B{i}, v <= {i})\n"
                                           f"B{i + 1} = union(C{i}, D{i})") + out([f"B{n}"]),
    "masked": lambda n: A + MASK + lines(n, lambda i: f"B{i}[i,j] = S[i,j] * exp(sum[k](A[i,k] * A[j,k]) + {i})") +
              out(f"B{i}" for i in range(n)),
    "masked sums": lambda n: A + MASK + lines(n, lambda i: f"B{i}[i] = sum[j](S[i,j] * (sum[k](A[i,k] * A[k,j])) * {i + 1})") +
                   out(f"B{i}" for i in range(n)),
    "masked chain": lambda n: A + MASK + "B0[i,j] = S[i,j]\n" +
                    lines(n, lambda i: f"B{i + 1}[i,j] = S[i,j] * (sum[k](B{i}[i,k] * A[k,j]))") + out([f"B{n}"]),
    "functions": lambda n: A + "B0[i,j] = A[i,j]\n" +
                 lines(n, lambda i: f"B{i + 1}[i,j] = if(B{i}[i,j] > {i}, exp(B{i}[i,j]), -B{i}[i,j])") + out([f"B{n}"]),
    "softmax": lambda n: A + "B0[i,j] = A[i,j]\n" +
               lines(n, lambda i: f"E{i}[i] = max B{i}[i,j]\nP{i}[i,j] = exp(B{i}[i,j] - E{i}[i])\n"
                                  f"D{i}[i] = sum P{i}[i,j]\nB{i + 1}[i,j] = P{i}[i,j] / D{i}[i]") + out([f"B{n}"]),
    "m:n joins": lambda n: rows_of(1) + "J0 = project(t0, k0 = k, v)\n" +
                 lines(n, lambda i: f"input u{i + 1} : table [a{i + 1}: i64, k{i + 1}: i64] rows 50000 by 10000\n"
                                    f"J{i + 1} = join(J{i}, u{i + 1}, k{i} == a{i + 1})") +
                 f"O = group(J{n}, [k{n}], s = sum(v))\noutput O\n",
    "windows": lambda n: rows_of(1) + lines(n, lambda i: f"B{i} = window(t0, [k], [v], r = sum(v + {i}))") +
               out(f"B{i}" for i in range(n)),
}
# kind: (size, words of tra) of each line of the table
KINDS = [(k, n, ["explain"]) for k, sizes in [
    ("over one", (1000, 5000)), ("independent", (1000, 5000)), ("chain", (1000, 5000)), ("diamonds", (1000, 5000)),
    ("tree", (1000, 2500)), ("fan-in", (1000, 2500)), ("one sum", (100, 500)), ("products", (300,)), ("factors", (20, 100)),
    ("selections", (1000, 5000)), ("derived", (1000, 5000)), ("columns", (25, 100)),
    ("groups", (1000, 5000)), ("joins", (50, 200)),
    ("sparse", (1000, 5000)), ("star", (100, 400)), ("loop", (1000, 5000)), ("loops", (20, 60)), ("macros", (50, 100)), ("llama", (32,))] for n in sizes]
KINDS += [("products", 300, ["explain", "--sites", "16"]), ("over one", 5000, ["explain", "--sites", "16"]),
          ("chain", 5000, ["explain", "--sites", "16"]), ("joins", 50, ["explain", "--sites", "16"]),
          ("sparse products", 100, ["explain", "--sites", "16"]), ("over one", 20000, ["check"])]
KINDS += [(k, n, ["explain", "--sites", "64"]) for k, n in [
    ("unions", 200), ("growing unions", 200), ("diamonds of rows", 15), ("masked", 200), ("masked sums", 200),
    ("masked chain", 200), ("functions", 200), ("softmax", 100), ("joins", 100), ("m:n joins", 50), ("windows", 100),
    ("star", 100)]]
KINDS += [("llama", 32, ["explain", "--sites", str(p)]) for p in (8, 64, 512, 4096)]


def measure(tra, words, text):
    """Seconds of processor time, mebibytes, and what is wrong with it, or nothing."""
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "t.csv"), "w") as f:
            f.write(TABLE)
        with open(os.path.join(d, "p.tra"), "w") as f:
            f.write(text)
        err = open(os.path.join(d, "err"), "w+")
        p = subprocess.Popen([tra, *words, "p.tra"], cwd=d, stdout=subprocess.DEVNULL, stderr=err)
        end = time.time() + float(os.environ.get("TRA_BENCH_LIMIT", "120"))
        while True:
            pid, status, use = os.wait4(p.pid, os.WNOHANG)
            if pid:
                break
            if time.time() > end:
                p.kill()
                _, status, use = os.wait4(p.pid, 0)
                break
            time.sleep(0.01)
        err.seek(0)
        wrong = "" if status == 0 else f"status {os.waitstatus_to_exitcode(status)} " + err.readline().strip()[:90]
        return use.ru_utime + use.ru_stime, use.ru_maxrss / 1024, wrong


def main(tra, chosen=()):
    programs = [tra] + [x for x in [os.environ.get("TRA_BENCH_OTHER")] if x]
    print("| program | size | command | " + " | ".join(["seconds | MiB"] * len(programs)) + " |")
    print("|---|---|---|" + "---|---|" * len(programs))
    for kind, n, words in KINDS:
        if chosen and kind not in chosen:
            continue
        got = [measure(t, words, PROGRAMS[kind](n)) for t in programs]
        print(f"| {kind} | {n} | {' '.join(words)} | " + " | ".join(
            f"{s:.2f} | {wrong or f'{m:.0f}'}" for s, m, wrong in got) + " |", flush=True)


if __name__ == "__main__":
    main(os.path.abspath(os.environ.get("TRA", "build/tra")), sys.argv[1:])
