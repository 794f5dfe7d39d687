# Tables and linear algebra: what check says of them, their errors, and results against numpy.
load helper

program() { cat >p.tra; }

matrices() {
    py '
np.random.seed(1)
X = np.random.randn(40, 5)
np.save("x.npy", X), np.save("a.npy", X.T @ X), np.save("b.npy", np.random.randn(5, 2))
np.save("v.npy", np.random.randn(5)), np.save("g.npy", np.random.randn(5, 5)), np.save("o.npy", np.ones((5, 5)))'
    for f in x a b g o; do tra import -q $f.npy -o $f.h5 --block 3x2; done
    tra import -q v.npy -o v.h5 --block 2
}

# The results against expressions of numpy in A, B, G, X, v and, by their names, the results.
compare() {
    py '
env = {n.upper() if n != "v" else n: np.load(n + ".npy") for n in "abgxv"}
env.update(np=np)
class Result(dict):
    def __missing__(self, name): return h5py.File(name + ".h5")["data"][()]
r, bad = Result(env), 0
for arg in sys.argv[1:]:
    left, right = arg.split("=", 1)
    x, y = eval(left, {}, r), eval(right, {}, r)
    if not np.allclose(x, y, rtol=1e-9, atol=1e-9): bad = 1; print(left, x, "is not", y)
sys.exit(bad)' "$@"
}

@test "solve, inverse, det and the decompositions agree with numpy, on 1, 2 and 3 sites" {
    matrices
    program <<'END'
input A from "a.h5"
input B from "b.h5"
input v from "v.h5"
input G from "g.h5"
input X from "x.h5"
S = solve(A, B)
T = solve(G, v)
I = inverse(G)
d = det(G)
L = cholesky(A)
w, V = eigh(A)
Q, R = qr(X)
U, s, W = svd(X)
output S
output T
output I
output d
output L
output w
output V
output Q
output R
output U
output s
output W
END
    for n in 1 2 3; do
        rm -f [A-Z].h5 d.h5 w.h5 s.h5
        status 0 tra run -q p.tra --sites $n
        status 0 compare 'S=np.linalg.solve(A,B)' 'T=np.linalg.solve(G,v)' 'I=np.linalg.inv(G)' \
            'd[0]=np.linalg.det(G)' 'L=np.linalg.cholesky(A)' 'w=np.linalg.eigvalsh(A)' 'V*w@V.T=A' 'Q@R=X' \
            'Q.T@Q=np.eye(5)' 's=np.linalg.svd(X)[1]' 'U*s@W.T=X' 'W.T@W=np.eye(5)'
    done
}

@test "a matrix that is singular, or nearly, or not positive definite, is said to be" {
    matrices
    printf 'input O from "o.h5"\ninput B from "b.h5"\nS = solve(O, B)\noutput S\n' | program
    status 3 tra run -q p.tra
    has "S: solve: the matrix is singular"
    [ ! -e S.h5 ]
    printf 'input G from "g.h5"\nL = cholesky(G)\noutput L\n' | program
    status 3 tra run -q p.tra
    has "L: cholesky needs a symmetric matrix, but element [1,0] is "
    printf 'input A from "a.h5"\nM[i,j] = 0 - A[i,j]\nL = cholesky(M)\noutput L\n' | program
    status 3 tra run -q p.tra --sites 2
    has "L: cholesky: the matrix is not positive definite: its leading 1 x 1 part is not"
    py 'np.save("h.npy", np.array([[1 / (i + j + 1) for i in range(9)] for j in range(9)]))'
    tra import -q h.npy -o h.h5
    printf 'input H from "h.h5"\nS = inverse(H)\noutput S\n' | program
    status 0 tra run p.tra
    has "warning: inverse: the condition of the matrix is about "
}

@test "operators of linear algebra say what they take" {
    matrices
    program <<'END'
input A from "x.h5"
input v from "v.h5"
L = cholesky(A)
x = eigh(A)
a, b = inverse(A)
q = solve(A)
w, V = A
r = det(v)
c = inverze(A)
END
    status 2 tra check p.tra
    has "3:5: error: cholesky does not fit arrays of 40 x 5: it needs a square matrix"
    has "4:5: error: eigh has 2 results, not 1"
    has "write w, V = eigh(A)"
    has "5:8: error: inverse has 1 result, not 2"
    has "6:5: error: solve has 2 arguments, not 1"
    has "7:8: error: several results are those of eigh, qr and svd"
    has "8:9: error: det takes a matrix here, not a tensor of rank 1"
    has "did you mean inverse?"
    has "7 errors"
    status 0 tra check - <<<'input A : f64 [30, 30] by [10, 10]
B = inverse(A)'
    has "B: keys 2 <1,1>, f64 30 x 30"
}

@test "check says of tables what columns they have, and of what only the run counts that it does" {
    program <<'END'
input trip : table [start: i32, end: i32, duration: f64, `Start Time`: timestamp] rows 10000000 by 262144
param least = 60
R  = select(trip, start != end && duration > least)
P  = project(R, km = hypot(start * 1.5, end - 2.0), duration, late = hour(`Start Time`) >= 22)
X  = matrix(P, [one = 1, km])
y  = matrix(P, [duration])
XX[a,b] = sum X[n,a] * X[n,b]
Xy[a,c] = sum X[n,a] * y[n,c]
beta = solve(XX, Xy)
n = rows(R)
E = matrix(trip, [start], type = i32)
END
    status 0 tra check p.tra
    has "trip: table of 10000000 rows x 4, 39 blocks of up to 262144 rows"
    has "  Start Time  timestamp"
    has "R: table of about 3000000 of <= 10000000 rows x 4"
    has "  late      bool"
    has "X: keys 2 <39,1>, f64 262144 x 2, tensor <= 10000000 x 2"
    has "XX: keys 2 <1,1>, f64 2 x 2, tensor 2 x 2"
    has "beta: keys 2 <1,1>, f64 2 x 1"
    has "n: keys 0 <>, i64 scalar"
    has "E: keys 2 <39,1>, i32 262144 x 1, tensor 10000000 x 1"
    status 0 tra check --format json p.tra
    py 'import subprocess, os
r = {x["name"]: x for x in json.loads(subprocess.check_output([os.environ["TRA"], "check", "--format", "json", "p.tra"]))["relations"]}
assert [c["type"] for c in r["P"]["columns"]] == ["f64", "f64", "bool"], r["P"]
assert r["X"]["bounded"] and not r["XX"]["bounded"] and r["trip"]["dtype"] == "table"'
    printf 'output beta\noutput n\n' >>p.tra
    status 0 tra explain p.tra --sites 2
    has "select(start != "
    status 0 tra check - <<<'input T : table [a: i32, b: f64] rows 100 by 30
P = project(T, c = a + 1, drop(b))'
    has "  c  i64"
}

@test "what is wrong with an operator on tables is said with its place, and what to write" {
    program <<'END'
input T : table [start: i32, `end id`: i32, name: string, d: date] rows 100 by 30
input A : f64 [4, 4] by [2, 2]
def twice(x) = 2 * x
a = select(T, stat > 3)
b = select(T, `end di` > 3)
c = select(T, twice(start))
e = project(T, start + 1)
f = project(T, start, start = 2)
g = project(T, drop(name, x), *)
h = matrix(T, [name])
i = matrix(T, [start], fil = 0)
j = matrix(T, [start], type = f16)
k = select(A, start > 1)
l = transform(T, neg)
m[i,j] = A[i,j] + T[i,j]
n = select(T, d > date "2017-02-30")
o = select(T, sum(start) > 1)
p = select(T, start = 1)
q = select(T, nme(start))
r = project(select(T, start > 1), n = row())
s = project(T, x = null)
t = matrix(T, start)
u = select(T, name > 3)
v = rows(T, 2)
w = reblock(matrix(select(T, start > 1), [start]), [10, 1])
x = select(T, nothing == 1)
END
    status 2 tra check p.tra
    has "p.tra:4:15: error: T has no column 'stat'"
    has "did you mean start?"
    has "p.tra:5:15: error: T has no column 'end di'"
    has 'did you mean `end id`?'
    has "p.tra:6:15: error: a predicate is a bool, and this is i64"
    has "p.tra:7:16: error: what is computed has a name: name = expression"
    has "p.tra:8:23: error: there are two columns 'start'"
    has "p.tra:9:27: error: T has no column 'x'"
    has 'p.tra:10:15: error: column `name` of the matrix is of type string'
    has "p.tra:11:24: error: matrix has no argument 'fil'"
    has "p.tra:12:31: error: an element type is expected here"
    has "p.tra:13:12: error: this is a tensor; a table is expected here"
    has "p.tra:14:5: error: transform takes tensors, and this is a table"
    has "p.tra:15:"
    has "p.tra:16:24: error: this is no date"
    has "p.tra:17:15: error: sum is an aggregate, which stands in group"
    has "p.tra:18:15: error: this argument" || has "write == to compare"
    has "p.tra:19:15: error: there is no function 'nme' of columns"
    has "p.tra:20:39: error: row() stands where rows are counted already"
    has "p.tra:21:20: error: null alone has no type"
    has "p.tra:22:15: error: its columns stand in a list"
    has "p.tra:23:15: error: "
    has "p.tra:24:5: error: rows has one argument, a table"
    has "p.tra:25:5: error: reblock meets rows of which only the run tells" || has "repart meets rows"
    has 'its columns are start, `end id`, name, d'
}

# trips.h5: 1000 trips in blocks of 100 rows.
trips() {
    py '
import random
random.seed(3)
with open("trips.csv", "w") as f:
    print("start,end,duration,name", file=f)
    for i in range(1000):
        print(random.randint(0, 9), random.randint(0, 9), "%.3f" % random.uniform(0, 300), random.choice(["x", "y", ""]),
              sep=",", file=f)'
    tra import -q --table trips.csv -o trips.h5 --block 100
}

@test "from a CSV file by select, project, matrix and solve to a regression, on 1, 2 and 3 sites" {
    trips
    program <<'END'
input trip from "trips.h5"
R  = select(trip, start != end && duration > 60)
P  = project(R, km = hypot(start * 1.5, end - 2.0), duration)
X  = matrix(P, [one = 1, km])
y  = matrix(P, [duration])
XX[a,b] = sum X[n,a] * X[n,b]
Xy[a,c] = sum X[n,a] * y[n,c]
beta = solve(XX, Xy)
n = rows(R)
all = rows(trip)
W = matrix(select(trip, duration > 500), [start])
none[a] = sum W[n,a]
output beta
output n
output all
output none
END
    for n in 1 2 3; do
        rm -f beta.h5 n.h5 all.h5 none.h5
        status 0 tra run -q p.tra --sites $n --memory 128M
        status 0 py '
t = np.genfromtxt("trips.csv", delimiter=",", skip_header=1, usecols=(0, 1, 2))
t = t[(t[:, 0] != t[:, 1]) & (t[:, 2] > 60)]
X = np.column_stack([np.ones(len(t)), np.hypot(t[:, 0] * 1.5, t[:, 1] - 2)])
want = np.linalg.solve(X.T @ X, X.T @ t[:, 2:3])
g = lambda n: h5py.File(n + ".h5")["data"][()]
assert np.allclose(g("beta"), want, rtol=1e-12), (g("beta"), want)
assert g("n") == len(t), (g("n"), len(t))
assert g("all") == 1000
assert g("none")[0] == 0'
    done
}

@test "row numbers and NULLs in a matrix" {
    trips
    printf 'input trip from "trips.h5"\nP = project(trip, i = row(), duration)\nX = matrix(P, [i])\ns[a] = sum X[n,a]\noutput s\n' | program
    status 0 tra run -q p.tra --sites 2
    status 0 py 'assert h5py.File("s.h5")["data"][0] == 1000 * 999 / 2'
    printf 'a,b\n1,2\n,3\n4,5\n' >n.csv
    tra import -q --table n.csv -o n.h5 --block 2
    printf 'input T from "n.h5"\nX = matrix(T, [a, b])\ns[j] = sum X[n,j]\noutput s\n' | program
    status 3 tra run -q p.tra
    has 'row 1: column `a` is NULL'
    printf 'input T from "n.h5"\nX = matrix(T, [a, b], fill = 10)\ns[j] = sum X[n,j]\noutput s\n' | program
    status 0 tra run -q p.tra
    status 0 py 'assert h5py.File("s.h5")["data"][()].tolist() == [15, 10]'
}
