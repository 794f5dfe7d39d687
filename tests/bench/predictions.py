#!/usr/bin/python3
"""Predicted beside measured seconds of programs of all kinds, most of which take two seconds or more of one thread.

usage: tests/bench/predictions.py [--fitted | --neighbours | --unseen | NAME...]

The cost model was fitted to the first set of programs, then by the worst of the neighbours, which are of other types,
shapes, storages, operators and sizes: the third set alone is a test by programs that it has not seen. It calibrates first,
or takes TRA_BENCH_MACHINE, and runs all programs in turns, TRA_BENCH_REPEATS times (3) as far as TRA_BENCH_SECONDS (390)
last. Programs have TRA_BENCH_THREADS threads (1) unless their options say how many, and the machine is calibrated for as
many. What is written in other formats is predicted, and so measured, too. On a machine that is busy with other things
wall seconds tell nothing: TRA_BENCH_CPU=1 takes the least processor time of the runs, which have one thread, puts the
clock of it in the place of the wall clock of calibrate, and has a disk for which nobody waits; of several threads it takes
the mean. Even so, the same run took twice its processor seconds beside others that used the same cores, and what was
converted before planning is told by the wall clock. Where text is converted first, its seconds are in both figures.
Inputs that tests/bench/h2o and evals.py made are used where TRA_BENCH_DIR has them."""
import json, os, resource, statistics, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
import prediction_sets
from prediction_sets import JB, JM, JX, TABLES, X

CLOCK = """#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t c, struct timespec *t) {
    return (int)syscall(SYS_clock_gettime, c == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : c, t);
}
"""
GEN = {  # name: shape, block, more
    "a4": ("4000x4000", "1000x1000", ""), "b4": ("4000x4000", "1000x1000", ""), "s6": ("6000x6000", "6000x6000", ""),
    "tall": ("400000x256", "5000x256", ""), "y": ("400000", "5000", ""), "wide": ("2000x2000", "2000x2000", ""),
    "e3": ("3000x3000", "3000x3000", ""), "points": ("1000000x20", "20000x20", ""), "big": ("20000x4000", "2000x4000", ""),
    "sp": ("400000x400000", "100000x100000", "--density 1e-4"), "sq": ("40000x40000", "10000x10000", "--density 1e-3"),
    "t3": ("600x600x600", "100x600x600", ""), "cent": ("40x20", "40x20", ""), "dense": ("40000x64", "10000x64", ""),
    "f5": ("5000x5000", "1000x1000", "--dtype f32"), "i2": ("2500x2500", "500x500", "--dtype i64"),
    "slim": ("3000000x10", "100000x10", ""), "e2": ("2000x2000", "2000x2000", ""), "right": ("2000x500", "2000x500", ""),
    "uni": ("1000000x1000000", "250000x250000", "--density 1e-5"), "ur": ("1000000x32", "250000x32", ""),
    "pieces": ("3000000x10", "30x10", ""), "c3": ("300x400x500", "100x400x500", ""), "c2": ("600x400", "600x400", ""),
    "sf": ("40000x40000", "20000x20000", "--density 2e-3 --dtype f32"), "f32s": ("20000x8000", "2000x8000", "--dtype f32"),
    "n_pr": ("1500000x1500000", "375000x375000", "--density 6e-6"), "n_a": ("300000x300000", "100000x100000", "--density 3e-5"), "n_b": ("300000x300000", "100000x100000", "--density 3e-5"),
    "n_ds": ("600000x600000", "200000x200000", "--density 2e-5"), "n_dn": ("600000x48", "200000x48", ""), "n_r1": ("9000x1500", "3000x1500", "--dtype f32"),
    "n_r2": ("1500x7000", "1500x3500", "--dtype f32"), "n_x": ("300000x320", "10000x320", ""), "n_y": ("300000", "10000", ""),
    "n_q": ("7000x64", "3500x64", ""), "n_k": ("7000x64", "3500x64", ""), "n_v": ("7000x64", "3500x64", ""),
    "n_h": ("5000x5000", "2500x5000", ""), "n_w": ("16000x6000", "2000x6000", ""), "n_f1": ("1400x1400", "700x1400", ""),
    "n_f2": ("1400x1400", "700x1400", ""), "n_l": ("800000x40", "40000x40", ""), "n_ly": ("800000", "40000", ""),
    "n_t": ("150x150x150x40", "50x150x150x40", ""), "n_e": ("2600x2600", "2600x2600", ""), "n_s3": ("2500x2500", "1250x1250", ""),
    "n_sy": ("4500x4500", "4500x4500", ""), "n_wide": ("800000x800000", "200000x200000", "--density 1.2e-5"), "n_col": ("4000000x50", "250000x50", "")}
PROGRAMS = {  # name: inputs, statements; the result is O
    "product": ("a4 b4", "O[i,k] = sum a4[i,j] * b4[j,k]"),
    "gram": ("tall", "O[i,j] = sum tall[n,i] * tall[n,j]"),
    "chain": ("a4 b4", "c[i,k] = sum a4[i,j] * b4[k,j]\nO[i] = sum c[i,k] * tanh(c[i,k])"),
    "functions": ("big", "O[j] = sum (tanh(exp(sin(big[i,j])) + cos(big[i,j])))"),
    "logs": ("big", "O[i] = max[j](log(1 + abs(big[i,j])) / (2 + sqrt(abs(big[i,j]))) + atan(big[i,j]))"),
    "distances": ("points cent", "O[n] = argmin[c](sum[d]((points[n,d] - cent[c,d])^2))"),
    "softmax": ("big", "m[i] = max big[i,j]\ne[i,j] = exp(big[i,j] - m[i])\nO[j] = sum[i](e[i,j] / sum[k](e[i,k]))"),
    "contraction": ("t3", "O[a,c] = sum t3[a,b,d] * t3[c,b,d]"),
    "maxplus": ("wide", "O[i,k] = max[j](wide[i,j] + wide[j,k])"),
    "solve": ("s6", "b = gen(uniform, [6000])\nO = solve(s6, b)"),
    "inverse": ("a4", "O = inverse(a4)"),
    "det": ("s6", "O = det(s6)"),
    "cholesky": ("s6", "p[i,j] = (s6[i,j] + s6[j,i]) / 2 + if(index(i) == index(j), 6000, 0)\nO = cholesky(p)"),
    "qr": ("tall", "q, O = qr(tall)"),
    "lstsq": ("tall y", "O = solve(tall, y)"),
    "svd": ("e3", "u, O, v = svd(e3)"),
    "svd_tall": ("tall", "u, O, v = svd(tall)"),
    "eigh": ("e3", "p[i,j] = e3[i,j] + e3[j,i]\nO, v = eigh(p)"),
    "kmeans": ("points cent", "state C = slice(cent, [0:40, :])\nrepeat 8 {\nnear[n] = argmin[c](sum[d]((points[n,d] - C[c,d])^2))\n"
               "own[n,c] = if(near[n] == index(c), 1, 0 * C[c,0])\nsize[c] = sum own[n,c]\n"
               "next C[c,d] = sum[n](own[n,c] * points[n,d]) / (size[c] + 1)\n}\nO[c,d] = C[c,d]"),
    "descent": ("tall y", "state w = gen(zero, [256])\nrepeat 30 {\np[n] = sum[j](tall[n,j] * w[j])\n"
                "g[j] = mean[n](tall[n,j] * (sigmoid(p[n]) - y[n]))\nnext w[j] = w[j] - g[j]\n}\nO[j] = w[j]"),
    "power": ("sp", "state v = gen(1, [400000])\nrepeat 20 {\nu[i] = sum[j](sp[i,j] * v[j])\nn[] = sum[i](u[i]^2)\n"
              "next v[i] = 0.001 + u[i] / sqrt(n)\n}\nO[i] = v[i]"),
    "spgemm": ("sq", "c[i,k] = sum sq[i,j] * sq[j,k]\nO[i] = sum c[i,k]"),
    "spmm": ("sq dense", "c[i,k] = sum[j](sq[i,j] * dense[j,k])\nO[i,k] = sum[j](sq[i,j] * c[j,k])"),
    "masked": ("sq dense", "m[i,j] = sq[i,j] * (sum[k](dense[i,k] * dense[j,k]))\nO[i] = sum m[i,j]"),
    "group_few": (X, "O = group(x, [id1, id4], a = sum(v1), b = mean(v3), c = max(v2), d = std(v3))"),
    "group_strings": (X, "O = group(x, [id3], a = sum(v1), b = mean(v3))"),
    "group_many": (X, "O = group(x, [id1, id2, id3, id4, id5, id6], a = sum(v3), n = count())"),
    "median": (X, "O = group(x, [id4, id5], m = median(v3), s = std(v3))"),
    "order": (X, "O = order(x, [v3])"),
    "order_strings": (X, "O = order(project(x, id3, id6, v1), [id3, id6 desc])"),
    "window": (X, "O = window(project(x, id6, v3), [id6], [v3], n = row_number(), l = lag(v3), s = sum(v3))"),
    "distinct": (X, "O = distinct(project(x, id3, id6))"),
    "strings": (X, "O = project(x, a = upper(id3), b = concat(id1, \"-\", id2), c = length(id3), d = substr(id3, 5, 3))"),
    "like": (X, "O = group(select(x, like(id3, \"%77%\") || contains(id1, \"9\")), [id1], n = count())"),
    "numbers": (X, "O = project(x, a = v3 * 2 + v1, b = sqrt(v3) + log(v2), c = v1 * v2, d = v3 > 50)"),
    "select": (X, "O = select(x, v3 > 30 && v1 != 2)"),
    "join_small": (X + " " + JM, "s = project(jm, id2, w = v2)\nO = join(project(x, id6, id4, v3), s, id6 == id2)"),
    "join_large": (X + " " + JB, "O = join(project(x, id6, v3), project(jb, id3, w = v2), id6 == id3, expect = \"m:1\")"),
    "join_strings": (JB + " " + JB, "O = join(project(jb, id6, v2), project(jb, k = id6, w = v2), id6 == k, expect = \"m:1\")"),
    "topk": (X, "O = limit(order(x, [v3 desc]), 1000)"),
    "csv_group": ("eval_trips_10000000.csv", "O = group(trips, [start], n = count(), m = mean(duration))"),
    "csv_out": (X, "O = project(x, id1, id3, v1, v3)", "csv"),
    "mtx": ("eval_10000000.mtx", "O[i] = sum m[i,j]")}
NEIGHBOURS = {
    "product_f32": ("f5", "O[i,k] = sum f5[i,j] * f5[k,j]"),
    "product_i64": ("i2", "O[i,k] = sum i2[i,j] * i2[j,k]"),
    "gram_slim": ("slim", "O[i,j] = sum slim[n,i] * slim[n,j]"),
    "pairs_least": ("i2", "O[i,k] = min[j](i2[i,j] + i2[k,j])"),
    "map_out": ("big", "O[i,j] = log(1 + big[i,j]) * 2"),
    "transpose": ("big", "O[j,i] = big[i,j]"),
    "functions_f32": ("f32s", "O[j] = sum (exp(f32s[i,j]) * sin(f32s[i,j]))"),
    "solve_many": ("e2 right", "O = solve(e2, right)"),
    "eigenvalues": ("e2", "p[i,j] = e2[i,j] + e2[j,i]\nO, v = eigh(p)"),
    "svd_values": ("e2", "u, O, v = svd(e2)"),
    "turns": ("", "state s = gen(zero, [])\nrepeat 500000 {\nnext s[] = s[] + 1\n}\nO[] = s[]"),
    "blocks": ("pieces", "O[i,j] = pieces[i,j] + 1"),
    "sparse_add": ("uni", "O[i,j] = uni[i,j] + uni[j,i]"),
    "sparse_dense": ("uni ur", "O[i,k] = sum[j](uni[i,j] * ur[j,k])"),
    "sparse_square": ("uni", "c[i,k] = sum[j](uni[i,j] * uni[j,k])\nO[i] = max[k](c[i,k])"),
    "sampled": ("uni ur", "O[i,j] = uni[i,j] * (sum[k](ur[i,k] * ur[j,k]))"),
    "distinct_ints": (X, "O = distinct(project(x, id6, v1))"),
    "order_ints": (X, "O = order(project(x, id6, id4, v3), [id6, id4 desc])"),
    "rank": (X, "O = window(project(x, id4, v3), [id4], [v3 desc], r = rank(), m = mean(v3))"),
    "lower": (X, "O = project(x, a = lower(id1), b = concat(id3, id2), c = trim(id3))"),
    "cases": (X, "O = project(x, a = if(v3 > 50, v1, v2), b = abs(v3 - 50), c = v3 ^ 1.5, id6)"),
    "count_distinct": (X, "O = group(x, [id6], d = distinct(id3), n = count())"),
    "quantile": (X, "O = group(x, [id1], q = quantile(v3, 0.9), m = min(v3))"),
    "union": (X, "O = group(union(project(x, id6, v3), project(x, id6, v3)), [id6], m = mean(v3))"),
    "join_left": (X + " " + JB, "O = join(project(x, id6, v3), project(jb, id3, w = v2), id6 == id3, how = \"left\", expect = \"m:1\")"),
    "join_group": (X + " " + JM, "j = join(x, project(jm, id2, w = v2), id6 == id2)\nO = group(j, [id4], s = sum(w), n = count())"),
    "csv_ints": (X, "O = project(x, id4, id6, v1)", "csv"),
    "csv_tensor": ("slim", "O[n,d] = slim[n,d] * 2", "csv")}
NEIGHBOURS |= {  # of the day before, whose errors were read
    "asof": (X, "l = project(x, id4, v1, t = id6)\nr = project(x, k = id4, u = id6, v3)\nO = join(l, r, id4 == k, asof = l.t >= r.u, how = left)"),
    "frames": (X, "O = window(project(x, id2, id6, v3), [id2], [id6], s = sum(v3, frame = rows(-50, 0)), m = max(v3, frame = rows(-9, 9)))"),
    "replace": (X, "O = project(x, a = replace(id3, \"id\", \"key\"), n = length(id1) + v1)"),
    "modulo": (X, "y = project(x, k = id6 % 1000, v1, v2)\nO = group(y, [k], s = sum(v1), p = sum(v1 * v2), n = count())"),
    "semi": (X + " " + JM, "O = join(x, select(jm, v2 > 50), id6 == id2, how = \"semi\")"),
    "jacobi": ("f5", "state v = gen(1, [5000])\nrepeat 60 {\nu[i] = sum[j](f5[i,j] * v[j])\nn[] = max[i](abs(u[i]))\nnext v[i] = u[i] / n\n}\nO[i] = v[i]"),
    "normalise": ("uni", "s[i] = sum[j](abs(uni[i,j]))\nO[i,j] = uni[i,j] / (1 + s[i])"),
    "cube": ("c3 c2", "O[a,d,c] = sum[b](c3[a,b,c] * c2[d,b])"),
    "sparse_f32": ("sf dense", "O[i,k] = sum[j](sf[j,i] * dense[j,k])"),
    "cumulated": ("f32s", "m[j] = mean[i](f32s[i,j])\nO[j] = sum[i]((f32s[i,j] - m[j])^2) / 20000"),
    "top_groups": (X, "g = group(x, [id3, id4], s = sum(v3), m = max(v1))\nO = limit(order(g, [s desc]), 500)"),
    "sparse_min": ("sq", "O[i] = min[j](sq[i,j] + sq[j,i])")}
NEIGHBOURS |= {  # unseen on the day before
    "w_group3": (X, "O = group(x, [id2, id4, v2], s = sum(v3), n = count(), m = max(v3), d = std(v1))"),
    "w_group_pairs": (X, "O = group(x, [id6, id5], m = mean(v3), l = min(v2))"),
    "w_above": (X, "g = group(x, [id6], m = mean(v3))\nO = select(join(x, g, id6 == id6), v3 > m)"),
    "w_order2": (X, "O = order(x, [id1, v3 desc])"),
    "w_ntile": (X, "O = window(project(x, id5, v3, v1), [id5], [v3 desc, v1], q = ntile(10), f = first(v3), r = rank())"),
    "w_running": (X, "p = window(project(x, id6, id4, v1), [id6, id4], [v1], c = sum(v1, frame = rows(-3, 3)), k = count())\nO = group(p, [id6], s = sum(c), n = max(k))"),
    "w_diffs": (X, "p = window(project(x, id6, v3), [id6], [v3], l = lag(v3))\nO = group(project(p, id6, d = v3 - l), [id6], m = mean(d), s = std(d))"),
    "w_counts": (X, "O = order(group(x, [id3], n = count(), d = distinct(id6)), [n desc, id3])"),
    "w_two": (X, "a = group(x, [id6], s = sum(v3))\nb = group(x, [id3, id6], m = max(v3))\nO = join(b, a, id6 == id6)"),
    "w_join3": (JX + " " + JM + " " + JB, "a = join(jx, project(jm, id2, w = v2), id2 == id2)\nO = group(join(a, project(jb, id3, u = v2), id3 == id3), [id1, id2], s = sum(w * u), n = count())"),
    "w_join_all": (JX + " " + JB, "O = join(project(jx, id1, id3, v1), project(jb, id3, u = v2), id3 == id3)"),
    "w_csv": (X, "O = project(select(x, v3 < 60), id2, id6, v1, v3)", "csv"),
    "w_union": (X + " " + JX, "O = order(union(project(x, id6, v3), project(jx, id6 = id3, v3 = v1)), [id6, v3])"),
    "w_str": (JB, "O = group(project(jb, k = substr(id6, 1, 6), v2), [k], s = sum(v2), n = count())"),
    "w_strings": (X, "O = project(x, a = concat(id2, \"/\", id1), b = replace(id3, \"0\", \"o\"), c = startswith(id3, \"id00000\"), v3)"),
    "w_asof": (X, "l = project(select(x, v1 < 4), id5, v2, t = v3)\nr = project(select(x, v1 > 3), k = id5, u = v3, v2)\nO = join(l, r, id5 == k, asof = l.t >= r.u)"),
    "w_distinct": (X, "O = distinct(project(x, id6, id4, v2))"),
    "w_quant": (X, "O = group(x, [id4, v2], a = median(v3), b = quantile(v3, 0.1), c = quantile(v3, 0.9))"),
    "w_pagerank": ("n_pr", "state r = gen(1, [1500000])\nrepeat 15 {\nt[i] = sum[j](n_pr[i,j] * r[j])\nm[] = sum[i](t[i])\nnext r[i] = 0.15 + 0.85 * t[i] / m * 1500000\n}\nO[i] = r[i]"),
    "w_spprod": ("n_a n_b", "c[i,k] = sum[j](n_a[i,j] * n_b[j,k])\nO[i] = sum[k](c[i,k]^2)"),
    "w_spsum": ("n_a n_b", "O[i,j] = n_a[i,j] + 2 * n_b[i,j] - n_a[j,i]"),
    "w_spdense": ("n_ds n_dn", "O[i,k] = sum[j](n_ds[i,j] * n_dn[j,k])"),
    "w_sptrans": ("n_wide", "d[j] = sum[i](n_wide[i,j])\nO[j,i] = n_wide[i,j] / (1 + d[j])"),
    "w_spfilter": ("n_wide", "O[i] = sum[j](if(n_wide[i,j] > 0.5, n_wide[i,j]^2, 0))"),
    "w_rect": ("n_r1 n_r2", "O[i,k] = sum[j](n_r1[i,j] * n_r2[j,k])"),
    "w_cov": ("n_x", "m[j] = mean[n](n_x[n,j])\nO[i,j] = sum[n]((n_x[n,i] - m[i]) * (n_x[n,j] - m[j])) / 300000"),
    "w_ridge": ("n_x n_y", "g[i,j] = sum[n](n_x[n,i] * n_x[n,j]) + if(index(i) == index(j), 10, 0)\nb[i] = sum[n](n_x[n,i] * n_y[n])\nO = solve(g, b)"),
    "w_attention": ("n_q n_k n_v", "s[i,j] = sum[d](n_q[i,d] * n_k[j,d]) / 8\ne[i,j] = exp(s[i,j])\nz[i] = sum[j](e[i,j])\nO[i,d] = sum[j](e[i,j] * n_v[j,d]) / z[i]"),
    "w_loop": ("n_h", "state u = slice(n_h, [0:5000, 0:5000])\nrepeat 12 {\nnext u[i,j] = u[i,j] * 0.9 + 0.1 * sin(u[i,j])\n}\nO[i] = sum[j](u[i,j])"),
    "w_maps": ("n_w", "O[i,j] = exp(0 - n_w[i,j]^2) * cos(3 * n_w[i,j])"),
    "w_minmax": ("n_f1 n_f2", "O[i,k] = max[j](min(n_f1[i,j], n_f2[j,k]))"),
    "w_newton": ("n_l n_ly", "state w = gen(zero, [40])\nrepeat 6 {\np[n] = sigmoid(sum[j](n_l[n,j] * w[j]))\ng[j] = sum[n](n_l[n,j] * (p[n] - n_ly[n]))\nh[i,j] = sum[n](n_l[n,i] * n_l[n,j] * p[n] * (1 - p[n])) + if(index(i) == index(j), 1, 0)\nnext w[j] = w[j] - g[j] / h[j,j]\n}\nO[j] = w[j]"),
    "w_tensor": ("n_t", "O[a,b,e] = sum[c,d](n_t[a,b,c,d] * n_t[e,b,c,d])"),
    "w_eig": ("n_e", "p[i,j] = n_e[i,j] + n_e[j,i]\nO, v = eigh(p)"),
    "w_powers": ("n_s3", "b[i,k] = sum[j](n_s3[i,j] * n_s3[j,k]) / 1000\nc[i,k] = sum[j](b[i,j] * b[j,k]) / 1000\nO[i,k] = sum[j](c[i,j] * n_s3[j,k])"),
    "w_spd": ("n_sy", "p[i,j] = (n_sy[i,j] + n_sy[j,i]) / 2 + if(index(i) == index(j), 5000, 0)\nO = inverse(p)"),
    "w_cols": ("n_col", "m[j] = max[n](n_col[n,j])\nl[j] = min[n](n_col[n,j])\nO[n,j] = (n_col[n,j] - l[j]) / (m[j] - l[j])")}
NEIGHBOURS |= prediction_sets.A | prediction_sets.C | prediction_sets.B | prediction_sets.D
NEIGHBOURS |= prediction_sets.E | prediction_sets.F
UNSEEN = prediction_sets.G  # the newest
GEN |= prediction_sets.GEN
NAMES = {JX: "jx", X: "x", JB: "jb", JM: "jm", "eval_trips_10000000.csv": "trips", "eval_10000000.mtx": "m"} | prediction_sets.NAMES


def source(name, where, of):
    """The file of an input, made if it is one of GEN or TABLES; None: it is not there."""
    if name in TABLES:
        inputs, text, suffix = (*TABLES[name], "h5")[:3]
        path = os.path.join(where, f"predict_{name}.{suffix}")
        if not os.path.exists(path):
            files = {NAMES.get(i, i): source(i, where, of) if i in GEN else os.path.join(of, i) for i in inputs.split()}
            lines = [f'input {n} from "{f}"' for n, f in files.items()] + [text, f'output O to "{path}"']
            subprocess.run([TRA, "run", "-q", "--no-history", "--memory", "4G", "-"], input="\n".join(lines), text=True, check=True)
        return path
    if name not in GEN:
        path = os.path.join(of, name)
        return path if os.path.exists(path) else None
    path = os.path.join(where, f"predict_{name}.h5")
    shape, block, more = GEN[name]
    if not os.path.exists(path):
        subprocess.run([TRA, "gen", "-q", "--memory", "3G", "--shape", shape, "--block", block, *more.split(), "--seed", "1", "-o", path], check=True)
    return path


def processor(before=None):
    """Processor seconds of all processes that ended; of those since `before`."""
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime - (before or 0)


def calibrate(env, path, threads):
    """The median of each rate of three calibrations; rates of kernels and of BLAS vary by a tenth."""
    found = []
    for _ in range(3):
        subprocess.run([TRA, "calibrate", "-q", "--threads", str(threads), "--seconds", "0.4", "-o", path], env=env, check=True, cwd=os.path.dirname(path),
                       stdout=subprocess.DEVNULL)
        found.append(json.load(open(path)))
    middle = {k: statistics.median(m[k] for m in found) if isinstance(v, (int, float)) else v for k, v in found[0].items()}
    middle.update({k: int(v) for k, v in middle.items() if isinstance(found[0][k], int)})
    if CPU: middle["disk_read_bytes_per_second"] = 10**12
    json.dump(middle, open(path, "w"))


def environment(work, threads):
    """Of runs with so many threads, for which the machine is calibrated."""
    home = os.path.join(work, f"home{threads}")
    env = dict(os.environ, HOME=home, TRA_CACHE=os.path.join(work, "cache"))
    env.pop("XDG_CONFIG_HOME", None)
    library = None
    if CPU:
        library = os.path.join(work, "clock.so")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=CLOCK, text=True, check=True)
    machine = os.path.join(home, ".config", "tra", "machine.json")
    os.makedirs(os.path.dirname(machine), exist_ok=True)
    if os.environ.get("TRA_BENCH_MACHINE"):
        with open(machine, "w") as f: f.write(open(os.environ["TRA_BENCH_MACHINE"]).read())
    else:
        calibrate(dict(env, LD_PRELOAD=library) if library else env, machine, threads)
    return env


def options_of(name):
    """Suffix of the output, memory, threads."""
    more = (PROGRAMS | NEIGHBOURS | UNSEEN)[name][2:]
    return {"threads": THREADS} | ({} if not more else more[0] if isinstance(more[0], dict) else {"suffix": more[0]})


def write_program(name, work, where):
    """Writes p.tra of the program; returns what is missing."""
    inputs, text = (PROGRAMS | NEIGHBOURS | UNSEEN)[name][:2]
    files = {NAMES.get(i, i): source(i, work if i in GEN or i in TABLES else where, where) for i in inputs.split()}
    if None in files.values(): return "an input is missing"
    os.sync()  # so that the writing of its inputs is no part of the run
    with open(os.path.join(work, "p.tra"), "w") as f:
        f.write("".join(f'input {n} from "{p}"\n' for n, p in files.items()) + text + "\n")
        f.write(f'output O to "o.{options_of(name).get("suffix", "h5")}"\n')
    return None


def run_once(work, env, start, options):
    """Runs p.tra. The seconds, and the JSON of the run; or what it said."""
    before = processor()
    p = subprocess.run([TRA, "run", "-q", "--no-history", "--threads", str(options["threads"]), "--memory", options.get("memory", "3G"), "--profile", "m.json", "p.tra"],
                       env=env, cwd=work, capture_output=True, text=True)
    if p.returncode: return None, f"status {p.returncode}: {p.stderr.strip()[:160]}"
    m = json.load(open(os.path.join(work, "m.json")))
    phases = (m.get("timeline") or {"phases": {}})["phases"]  # planning makes strings, which seconds_before has
    before = phases.get("convert", 0) + (phases.get("plan", 0) if m.get("seconds_before") else 0)
    told_of = m["plans"][0]["measured"]["seconds"] + before
    return (processor(before) - start) / options["threads"] if CPU else told_of, m


def parts(m):
    """What tells which rate is wrong: what threads did, bytes predicted/counted, phases, and the dearest operators."""
    plan, t = m["plans"][0], m.get("timeline") or {"sites": [], "phases": {}}
    did = {}
    for s in t["sites"]:
        for thread in s["threads"]:
            for what, ns in thread.items():
                if isinstance(ns, list): did[what] = did.get(what, 0) + sum(ns) / 1e9
    did = [f"{k} {v:.2f}" for k, v in sorted(did.items(), key=lambda x: -x[1]) if v >= .05 and not k.startswith("wait_for_work")]
    took = [f"{k} {v:.2f}" for k, v in t["phases"].items() if v >= .05]
    moved = [f"{w} {plan[k] / 1e6:.0f}/{plan['measured'][k] / 1e6:.0f} MB" for w, k in (("read", "disk_read_bytes"), ("written", "disk_write_bytes"))]
    if plan["measured"]["spilled_bytes"] or plan["scratch_bytes"] > 1e6:
        moved.append(f"scratch {plan['scratch_bytes'] / 1e6:.0f}/{plan['measured']['spilled_bytes'] / 1e6:.0f} MB")
    most = sorted((o for o in plan["operators"] if "measured" in o), key=lambda o: -max(o["seconds"], o["measured"]["seconds"]))[:3]
    ops = [f"#{o['id']} {o['op']} {o.get('name') or ''} {o['seconds']:.2f}/{o['measured']['seconds']:.2f}" for o in most]
    return " | ".join(", ".join(x) for x in (did, took, moved, ops))


def predict(names, where):
    """Runs the programs in turns for TRA_BENCH_SECONDS; prints a line each, and how many are within 1.3 times."""
    begun, most = time.time(), float(os.environ.get("TRA_BENCH_SECONDS", "390"))
    every = PROGRAMS | NEIGHBOURS | UNSEEN
    seconds, last, wrong = {}, {}, {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", where), prefix="predict-") as work:
        asked = list({"--fitted": PROGRAMS, "--neighbours": NEIGHBOURS, "--unseen": UNSEEN, "": every}.get("".join(names), names))
        envs = {n: environment(work, n) for n in {options_of(name)["threads"] for name in asked}}
        calibrated, begun = time.time() - begun, time.time()
        before = processor()
        subprocess.run([TRA, "version"], stdout=subprocess.DEVNULL)
        start = processor(before)
        longest = {}
        for turn in range(int(os.environ.get("TRA_BENCH_REPEATS", "3"))):
            for name in asked:
                if name in wrong or time.time() - begun + longest.get(name, 0) > most: continue
                at = time.time()
                wrong[name] = write_program(name, work, where)
                took, m = run_once(work, envs[options_of(name)["threads"]], start, options_of(name)) if not wrong[name] else (None, wrong[name])
                if took is None: wrong[name] = m; continue
                del wrong[name]
                seconds.setdefault(name, []).append(took)
                last[name] = m
                longest[name] = time.time() - at
                print(f"turn {turn} {name} told {m['plans'][0]['seconds'] + m.get('seconds_before', 0):.2f} took {took:.2f}", file=sys.stderr, flush=True)
                if os.statvfs(work).f_bavail * os.statvfs(work).f_frsize < 5e9:
                    for f in os.listdir(work):
                        if f.startswith("predict_"): os.remove(os.path.join(work, f))
    near = done = 0
    print("| program | predicted | measured, least and median of turns | ratio | threads, s | phases, s | predicted/counted | predicted/measured of the dearest operators |\n"
          "|---|---|---|---|---|---|---|---|")
    for name in asked:
        if name not in seconds:
            print(f"| {name} | {wrong.get(name) or 'no time was left'} |")
            continue
        told, took = last[name]["plans"][0]["seconds"] + last[name].get("seconds_before", 0), min(seconds[name]) if CPU else statistics.median(seconds[name])
        print(f"| {name} | {told:.2f} | {min(seconds[name]):.2f} {statistics.median(seconds[name]):.2f} of {len(seconds[name])} | {told / took:.2f} | {parts(last[name])} |")
        if took >= 2:
            done += 1
            near += 1 / 1.3 <= told / took <= 1.3
    print(f"{near} of {done} programs of two seconds or more are within 1.3 times; {calibrated:.0f} s to calibrate, {time.time() - begun:.0f} s in turns")


CPU = bool(os.environ.get("TRA_BENCH_CPU"))
THREADS = int(os.environ.get("TRA_BENCH_THREADS", "1"))
TRA = os.path.abspath(os.environ.get("TRA", os.path.join(os.path.dirname(__file__), "../../build/tra")))
if __name__ == "__main__":
    predict(sys.argv[1:], os.environ.get("TRA_BENCH_DIR", "/tmp/tra-bench"))
