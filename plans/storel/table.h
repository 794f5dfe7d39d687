/* table.h - the rules: name in C, in the text, built in, equivalence, condition, and test data before, after, refused,
 * over the scope of tests/unit/test_storel.c: of the plans of `before` one is `after`, up to the names of bound
 * variables, and none if the rule is left out; to `refused` the rule does not apply; NULL: none. Included with X
 * defined. */
X(A1, "A1", true, "e1 * (e2 * e3) <-> (e1 * e2) * e3", "", NULL, NULL, NULL)
X(A2, "A2", true, "{e1 -> e2 * e3} <-> {e1 -> e2} * e3", "e3 is a number", NULL, NULL, NULL)
X(A3, "A3", true, "{e1 -> e2 * e3} <-> e2 * {e1 -> e3}", "e2 is a number", NULL, NULL, NULL)
X(A4, "A4", true, "if (e1) e2 * e3 <-> e2 * if (e1) e3", "", NULL, NULL, NULL)
X(C1, "C1", true, "e1 + e2 <-> e2 + e1", "", NULL, NULL, NULL)
X(C2, "C2", true, "e1 == e2 <-> e2 == e1", "", NULL, NULL, NULL)
X(L1, "L1", true, "e + 0 -> e", "", NULL, NULL, NULL)
X(L2, "L2", true, "e * 0 -> 0", "e is a number that is written out", NULL, NULL, NULL)
X(L3, "L3", true, "e * 1 -> e", "", NULL, NULL, NULL)
X(L4, "L4", true, "-0 -> 0", "", NULL, NULL, NULL)
X(L5, "L5", true, "e - 0 -> e", "", NULL, NULL, NULL)
X(L6, "L6", true, "e - e -> 0", "e is a number that is written out", NULL, NULL, NULL)
X(B1, "B1", true, "let x = e1 in e2 <-> e2[e1/x]", "from left to right where e1 is a dictionary or has no loops", NULL,
  NULL, NULL)
X(T1, "T1", true, "sum(<k, v> in e) {k -> v} <-> e", "from right to left", NULL, NULL, NULL)
X(T2, "T2", true, "e2(e1) + e3(e1) <-> (e2 + e3)(e1)", "from right to left", NULL, NULL, NULL)
X(T3, "T3", false, "{e1 -> e2} + {e1 -> e3} -> {e1 -> e2 + e3}", "", "{n -> s} + {n -> r}", "{@dense n -> s + r}",
  "{n -> s} + {m -> r}")
X(T4, "T4", false, "(e1:e2)(e3) -> if (e3 >= e1 && e3 < e2) e3", "", "(2:n)(m)", "if (m >= 2) if (m < n) m", "idx(m)")
X(T5, "T5", false, "sum(<k, v> in e1:e2) e3 -> sum(<k, _> in e1:e2) let v = k in e3", "", "sum(<k, v> in 0:n) x(v)",
  "sum(<k, _> in 0:n) x(k)", "sum(<k, v> in x) v")
X(D1, "D1", false, "e1 * e2 + e1 * e3 <-> e1 * (e2 + e3)", "from right to left where e2 or e3 loops",
  "sum(<i, v> in x) (v * y(i) + v * z(i))", "sum(<i, v> in x) v * (y(i) + z(i))", "sum(<i, v> in x) (v * y(i) + z(i))")
X(D2, "D2", false, "sum(<k, v> in e1) e2 * e3 <-> e2 * (sum(<k, v> in e1) e3)",
  "k and v are not free in e2, which cannot fail, and the sum is a number", "sum(<i, v> in x) v * s",
  "s * (sum(<_, v> in x) v)", "sum(<i, v> in x) v * y(i)")
X(D3, "D3", false, "sum(<k, v> in e1) e2 * (sum(<l, w> in e4) e3) <-> (sum(<k, v> in e1) e2) * (sum(<l, w> in e4) e3)",
  "k and v are not free in e3 and e4, l and w not in e2; with keys one of the sums becomes a let",
  "sum(<i, v> in x, <j, w> in y) v * w", "(sum(<_, v> in x) v) * (sum(<_, w> in y) w)",
  "sum(<i, v> in x, <j, w> in y) v * w * A(i, j)")
X(D4, "D4", false, "sum(<k, v> in e1) {e2 -> e3} <-> {e2 -> sum(<k, v> in e1) e3}", "k and v are not free in e2",
  "sum(<i, v> in x) {n -> v}", "{@dense n -> sum(<_, v> in x) v}", "sum(<i, v> in x) {i -> v}")
X(F1, "F1", false, "sum(<k, v> in e1) if (k == e2) e3 <-> let k = e2 in let v = e1(k) in e3",
  "k and v are not free in e2; e3 vanishes where v does, or e1 is a range and the condition that k is in it stands",
  "sum(<i, v> in x, <j, w> in y) if (i == j) v * w", "sum(<i, v> in x) v * y(i)",
  "sum(<p, i> in idx, <q, j> in jdx) if (i < j) x(p) * y(q)")
X(F2, "F2", false,
  "sum(<k1, v1> in sum(<k2, v2> in e1) {k2 -> e2}) e3 <-> sum(<k2, v2> in e1) let k1 = k2, v1 = e2 in e3",
  "e3 is linear in v1, or the condition that v1 is not 0 stands",
  "sum(<k, v> in sum(<i, w> in x) {i -> w * 2.0}) max(v, 1.0)", "sum(<_, w> in x) if (w * 2.0 != 0) max(w * 2.0, 1.0)",
  "sum(<k, v> in x) v")
X(F3, "F3", false,
  "sum(<k1, v1> in sum(<k2, v2> in e1) {@unique e2 -> e3}) e4 <-> sum(<k2, v2> in e1) let k1 = e2, v1 = e3 in e4",
  "e4 is linear in v1, or keys are unique and the condition that v1 is not 0 stands",
  "sum(<k, v> in sum(<i, w> in x) {@unique i + 1 -> w}) if (k < m) v", "sum(<i, w> in x) if (i + 1 < m) w",
  "sum(<k, v> in sum(<i, w> in x) {i / 2 -> w}) max(v, 1.0)")
X(F4, "F4", false,
  "sum(<k1, v1> in e1, <k2, v2> in e2) if (v1 == v2) e3 <-> merge(<k1, k2, v1> in <e1, e2>) let v2 = v1 in e3",
  "values of e1 and e2 ascend without duplicates; k1 and v1 are not free in e2",
  "sum(<p, i> in idx, <q, j> in jdx) if (i == j) x(p) * y(q)", "merge(<p, q, _> in <idx, jdx>) x(p) * y(q)",
  "sum(<p, i> in idx, <q, j> in rdx) if (i == j) x(p) * y(q)")
X(F5, "F5", false,
  "sum(<k1, v1> in e1, <k2, v2> in e1) if (v1 == v2) e2 -> sum(<k1, v1> in e1) let k2 = k1, v2 = v1 in e2",
  "values of e1 have no duplicates", "sum(<p, i> in idx, <q, j> in idx) if (i == j) x(p) * y(q)",
  "sum(<p, _> in idx) x(p) * y(p)", "sum(<p, i> in rdx, <q, j> in rdx) if (i == j) x(p) * y(q)")
X(S1, "S1", false, "sum(<k, v> in e1, <l, w> in e2) e3 <-> sum(<l, w> in e2, <k, v> in e1) e3",
  "k and v are not free in e2", "sum(<i, v> in x, <j, w> in y) {j -> v * w * A(i, j)}",
  "sum(<j, w> in y) {@dense j -> w * (sum(<i, v> in x) v * A(i)(j))}", "sum(<i, row> in A, <j, v> in row) v * x(j)")
X(M1, "M1", false, "sum(<k, v> in e1) {e2 -> e3 * e4} <-> let x = e3 in sum(<k, v> in e1) {e2 -> x * e4}",
  "k and v are not free in e3, which cannot fail and is no name", "sum(<i, v> in x) {i -> v * s * r}",
  "let w = s * r in sum(<i, v> in x) {@dense i -> v * w}", "sum(<i, v> in x) {i -> v * s}")
X(M2, "M2", false,
  "sum(g1, g2) if (k == l) e1 * e2 <-> let t = sum(g1) {k -> e1} in sum(<k, v> in t, g2) if (k == l) v * e2",
  "k is bound by the loops g1, which may depend on each other only; l and e2 are not over what else they bind",
  "sum(<p, i> in idx, <q, j> in rdx) if (i == j) x(p) * y(q)",
  "let t = sum(<p, i> in idx) {@dense i -> x(p)} in sum(<q, j> in rdx) y(q) * t(j)",
  "sum(<i, v> in x, <j, w> in y) v * w * A(i, j)")
X(DENSE, "@dense", false, "{k -> e} -> {@dense k -> e}", "it is known what k is below",
  "sum(<p, i> in rdx) {i -> y(p)}", "sum(<p, i> in rdx) {@dense i -> y(p)}", "sum(<p, v> in x) v")
X(HASH, "@hash", false, "{k -> e} -> {@hash k -> e}", "", "sum(<p, i> in rdx) {i -> y(p)}",
  "sum(<p, i> in rdx) {@hash i -> y(p)}", "sum(<p, v> in x) v")
