/* rule_cases_relations.h - the cases of rules on relations and placements. */
#include "rule_case.h"

#define LOOP(body) "# sparse\nstate v = gen(zero, [6], by = [2])\nrepeat 3 {\n" body "\n}\nZ[i] = v[i]\n"

static const rule_cases cases_of_relations[] = {
    {"R1-1",
     {
         {.program =
              "Z = filter(filter(A, (i,j) -> j < 2), (i,j) -> i != 1)\nW = filter(A, (i,j) -> j < 2 && i != 1)\n"},
         {.program =
              "Z = filter(filter(E, (i,j) -> j < 2), (i,j) -> i != 1)\nW = filter(E, (i,j) -> j < 2 && i != 1)\n"},
         {.program =
              "Z = filter(filter(A, (i,j) -> i > 5), (i,j) -> i != 1)\nW = filter(A, (i,j) -> i > 5 && i != 1)\n"},
         {"Z = filter(A, (i,j) -> i < 3)\nW = A\n", .one_way = true},
         {"Z = filter(A, (i,j) -> i != 0 && 4/i > 3)\n", .refused = "division by zero"},
     }},
    {"R1-2",
     {
         {.program = "Z = transform(transform(A, exp), neg)\nW = transform(A, neg . exp)\n"},
         {.program = "Z = transform(transform(A, transpose), relu)\nW = transform(A, relu . transpose)\n"},
         {"Z = transform(transform(S, x -> x + 1), diag)\nW = transform(S, (x -> x + 1) . diag)\n", .one_way = true},
         {"Z = rekey(rekey(A, (i,j) -> (j, i)), (a,b) -> (b + a, b))\nW = rekey(A, (i,j) -> (i + j, i))\n",
          .one_way = true},
         {.program = "Z = transform(rekey(A, (i,j) -> (j, i)), exp)\nW = rekey(transform(A, exp), (i,j) -> (j, i))\n"},
         {.program = "Z = transform(tile(A, 1, 2), exp)\nW = tile(transform(A, exp), 1, 2)\n"},
         {.program = "Z = transform(tile(E, 1, 2), exp)\nW = tile(transform(E, exp), 1, 2)\n"},
         {.program = "Z = transform(transform(H, abs), rowsum)\nW = transform(H, rowsum . abs)\n"},
         {"Z = transform(tile(A, 1, 2), rowsum)\n", .refused = "arity: tile makes several tuples of one, and rowsum"},
         {"Z = tile(transform(F, softmax), 0, 2)\n", .refused = "arity: tile makes several tuples of one, and softmax"},
         {"Z = rekey(rekey(A, (i,j) -> (i, 2*i, j)), (a,b,c) -> (a + b, c))\n", .refused = "the result would differ"},
     }},
    {"R1-3",
     {
         {.program = "Z = filter(transform(A, exp), (i,j) -> i < j)\nW = transform(filter(A, (i,j) -> i < j), exp)\n"},
         {.program =
              "Z = filter(transform(A, rowsum), (i,j) -> i < 1)\nW = transform(filter(A, (i,j) -> i < 1), rowsum)\n"},
         {.program =
              "Z = filter(transform(E, relu), (i,j) -> i < 1)\nW = transform(filter(E, (i,j) -> i < 1), relu)\n"},
         {"Z = filter(rekey(A, (i,j) -> (j,i)), (i,j) -> i < j)\n", .refused = "key function of the map is not"},
         {"Z = filter(tile(A, 1, 2), (i,j,t) -> t < 1)\n", .refused = "tile makes other keys"},
     }},
    {"R1-4",
     {
         {.program = "Z = transform(agg(A, [0], matadd), exp)\nW = agg(A, [0], exp . matadd)\n"},
         {.program = "Z = transform(agg(A, [0], matadd), scale(3))\nW = agg(transform(A, scale(3)), [0], matadd)\n"},
         {.program = "Z = transform(agg(A, [], matadd), rowsum)\nW = agg(transform(A, rowsum), [], matadd)\n"},
         {.program = "Z = transform(agg(A, [1], elemmax), exp)\nW = agg(transform(A, exp), [1], elemmax)\n"},
         {.program =
              "Z = transform(agg(H, [1], elemmin), transpose)\nW = agg(transform(H, transpose), [1], elemmin)\n"},
         {.program = "Z = transform(agg(E, [1], matadd), neg)\nW = agg(transform(E, neg), [1], matadd)\n"},
         {.program = "Z = transform(agg(E, [], matadd), neg)\nW = agg(transform(E, neg), [], matadd)\n"},
         {.program = "Z = transform(agg(A, [0], elemmul), abs)\nW = agg(transform(A, abs), [0], elemmul)\n"},
         {.program = "Z = transform(concat(A, 1, 1), exp)\nW = concat(transform(A, exp), 1, 1)\n"},
         {.program = "Z = agg(A, [0], scale(2) . matadd)\nW = agg(transform(A, scale(2)), [0], matadd)\n"},
         {.program = "Z = transform(agg(R, [], elemmax), relu)\nW = agg(R, [], relu . elemmax)\n"},
         {"Z = transform(agg(R, [], elemmax), relu)\n", .refused = "relu does not keep the identity of elemmax"},
         {.program =
              "Z = transform(agg(R, [], elemmax), x -> x + 1)\nW = agg(transform(R, x -> x + 1), [], elemmax)\n"},
         {"Z = transform(agg(A, [0], matadd), exp)\n", .refused = "exp does not distribute over matadd"},
         {"Z = transform(concat(A, 1, 1), rowsum)\n", .refused = "rowsum does not distribute over concat"},
         {"Z = transform(concat(A, 1, 1), topk(1))\n", .refused = "topk(1) does not distribute over concat"},
         {"Z = concat(transform(F, softmax), 0, 0)\n", .refused = "softmax does not distribute over concat"},
         {"P = join(rekey(F, (i,j) -> (1 - i, j)), F, [0], [0], \"ij,kl->ik\")\n"
          "Z = transform(agg(P, [1,2], elemmax), relu)\n",
          .refused = "relu does not keep the identity of elemmax"},
         {"Z = rekey(agg(A, [0], matadd), i -> i + 1)\n", .refused = "key function of the map is not the identity"},
         {"Z = agg(transform(A, square), [0], matadd)\n", .refused = "square does not distribute over matadd"},
     }},
    {"R1-5",
     {
         {.program =
              "Z = filter(agg(A, [1], matadd), j -> j != 1)\nW = agg(filter(A, (i,j) -> j != 1), [1], matadd)\n"},
         {.program =
              "Z = filter(agg(H, [1], elemmax), j -> j != 1)\nW = agg(filter(H, (i,j) -> j != 1), [1], elemmax)\n"},
         {.program = "X = join(A, B, [1], [0], matmul)\nZ = filter(agg(X, [2,0], matadd), (j,i) -> i < 1)\n"
                     "W = agg(filter(X, (i,k,j) -> i < 1), [2,0], matadd)\n"},
         {.program =
              "Z = filter(agg(E, [1], matadd), j -> j != 1)\nW = agg(filter(E, (i,j) -> j != 1), [1], matadd)\n"},
         {.program = "Z = filter(concat(A, 1, 1), i -> i < 2)\nW = concat(filter(A, (i,j) -> i < 2), 1, 1)\n"},
         {"Z = agg(filter(A, (i,j) -> j < 1 && i < 2), [1], matadd)\n"
          "W = filter(agg(filter(A, (i,j) -> i < 2), [1], matadd), j -> j < 1)\n",
          .one_way = true},
         {"Z = agg(filter(A, (i,j) -> i + j < 2), [1], matadd)\n", .refused = "reads keys that are not grouped"},
         {"Z = filter(agg(A, [1], minindex), j -> j < 1)\n", .refused = "counts places in the whole tensor"},
         {"Z = agg(filter(A, (i,j) -> i < 2), [], matadd)\n", .refused = "reads keys that are not grouped"},
     }},
    {"R1-6",
     {
         {"Z = filter(join(A, B, [1], [0], matmul), (i,j,k) -> i < 2 && k != 0)\n"
          "W = join(filter(A, (i,j) -> i < 2), filter(B, (j,k) -> k != 0), [1], [0], matmul)\n",
          .one_way = true},
         {"Z = filter(join(A, B, [1], [0], matmul), (i,j,k) -> j != 1)\n"
          "W = join(filter(A, (i,j) -> j != 1), filter(B, (j,k) -> j != 1), [1], [0], matmul)\n",
          .one_way = true},
         {"Z = filter(join(A, B, [1], [0], matmul), (i,j,k) -> i < k && i > 0)\n"
          "W = filter(join(filter(A, (i,j) -> i > 0), B, [1], [0], matmul), (i,j,k) -> i < k)\n",
          .one_way = true},
         {.program = "Z = filter(join(A, B, [1], [0], matmul), (i,j,k) -> i > 7)\n"
                     "W = join(filter(A, (i,j) -> i > 7), B, [1], [0], matmul)\n"},
         {"Z = filter(join(E, B, [1], [0], matmul), (i,j,k) -> k != 0)\n", .refused = "the frontiers differ"},
         {"Z = filter(join(H, D, [0,1], [0,1], matadd), (i,j) -> i < 2)\n"
          "W = join(filter(H, (i,j) -> i < 2), filter(D, (i,j) -> i < 2), [0,1], [0,1], matadd)\n",
          .one_way = true},
         {"Z = filter(join(A, B, [1], [0], matmul), (i,j,k) -> i < k)\n",
          .refused = "no input of the join has all the keys"},
         {.program = "Z = join(filter(A, (i,j) -> i < 2), C, [], [], \"ij,kl->il\")\n"
                     "W = filter(join(A, C, [], [], \"ij,kl->il\"), (i,j,k,l) -> i < 2)\n"},
     }},
    {"R1-7",
     {
         {.program = "Z = transform(join(A, B, [1], [0], matmul), exp)\nW = join(A, B, [1], [0], exp . matmul)\n"},
         {.program = "Z = transform(join(A, D, [0,1], [0,1], matadd), neg)\n"
                     "W = join(transform(A, neg), transform(D, neg), [0,1], [0,1], matadd)\n"},
         {.program = "Z = transform(join(S, T, [0,1], [0,1], matadd), diag)\n"
                     "W = join(transform(S, diag), transform(T, diag), [0,1], [0,1], matadd)\n"},
         {.program = "Z = transform(join(H, D, [0,1], [0,1], elemdiv), transpose)\n"
                     "W = join(transform(H, transpose), transform(D, transpose), [0,1], [0,1], elemdiv)\n"},
         {"Z = transform(join(S, T, [0,1], [0,1], matadd), rowsum)\n"
          "W = join(transform(S, rowsum), transform(T, rowsum), [0,1], [0,1], matadd)\n",
          .finite = true},
         {.program = "Z = transform(join(E, E, [0,1], [0,1], elemmax), exp)\n"
                     "W = join(transform(E, exp), transform(E, exp), [0,1], [0,1], elemmax)\n"},
         {.program = "Z = transform(join(A, V, [1], [0], matvecadd), scale(2))\n"
                     "W = join(transform(A, scale(2)), transform(V, scale(2)), [1], [0], matvecadd)\n"},
         {"Z = transform(join(A, B, [1], [0], matmul), transpose)\n",
          .refused = "not known of f = transpose and K = matmul"},
         {"Z = transform(join(A, V, [1], [0], matvecadd), transpose)\n",
          .refused = "not known of f = transpose and K = matvecadd"},
         {"Z = join(transform(A, exp), transform(D, exp), [0,1], [0,1], matadd)\n",
          .refused = "not known of f = exp and K = matadd"},
         {"Z = rekey(join(A, B, [1], [0], matmul), (i,j,k) -> (k,j,i))\n",
          .refused = "the key function is not the identity"},
         {"Z = tile(join(A, B, [1], [0], matmul), 0, 2)\n", .refused = "arity: tile"},
     }},
    {"R1-8",
     {
         {LOOP("next v[j] as dense = sum S[i,j] * v[i]"), .makes = "\"ij,j->i\""},
         {LOOP("next v[j] as dense = sum v[i] * S[i,j]"), .makes = "\"ij,j->i\""},
         {"# sparse\nstate u = gen(zero, [])\nrepeat 3 {\nnext u[] = u[] + 1\n}\n"
          "d = gen(range, [6], by = [2])\nY[j] = sum S[i,j] * d[i]\nZ[j] = Y[j] * u[]\n",
          .refused = "no loop"},
     }},
    {"R1-9",
     {
         {"Z = transform(wide, transpose) # (matrix, \n", .makes = "wide by columns"},
         {"Z = transform(tall, transpose) # (matrix, \n", .refused = "by rows"},
     }},
    {"R1-10",
     {
         {"# sparse\nT0 = transform(S, transpose)\nY = reblock(rekey(T0, (i,j) -> (j,i)), [3,2])\n"
          "Z = transform(Y, transpose)\n"
          "W = rekey(reblock(rekey(transform(rekey(T0, (i,j) -> (j,i)), transpose), (i,j) -> (j,i)), [2,3]), (i,j) -> "
          "(j,i))\n",
          .one_way = true},
         {"# sparse\nY = slice(rekey(transform(S, transpose), (i,j) -> (j,i)), [1:4, :5])\nZ = transform(Y, "
          "transpose)\n",
          .makes = "from [0,1] extents [5,3]"},
         {"# sparse\nd = gen(range, [6], by = [2])\nT0 = rekey(transform(S, transpose), (i,j) -> (j,i))\n"
          "Y[i,j] = T0[i,j] / (d[j] + 1)\nZ = transform(Y, transpose)\n",
          .makes = "\"ab,b->ba\""},
         {"# sparse\nd = gen(range, [6], by = [2])\nZ = join(transform(S, transpose), d, [1], [0], \"ij,i->ij\")\n"
          "W = join(S, d, [1], [0], \"ji,i->ij\")\n",
          .one_way = true},
         {"# sparse\nZ = join(transform(S, transpose), T, [1,0], [0,1], \"ij,ij->ij\")\n",
          .refused = "the other operand is sparse too"},
     }},
    {"R2-1",
     {
         {"Z = A\n", .sites = 3, .in = {"part(0)"}, .out = "part(1)"},
         {"Z = A\n", .sites = 3, .in = {"all"}, .out = "part(1)"},
         {"Z = E\n", .sites = 2, .in = {"part(1)"}, .out = "all"},
         {"Z = A\n", .sites = 3, .in = {"partial"}, .out = "part(1)", .refused = "brings summands together"},
     }},
    {"R2-2",
     {
         {"Z = filter(A, (i,j) -> i < 2)\n", .sites = 3, .in = {"part(0)"}, .out = "part(1)"},
         {"Z = filter(A, (i,j) -> i < 2)\n", .sites = 2, .in = {"part(0)"}, .out = "all"},
         {"Z = filter(A, (i,j) -> i < 2)\n", .sites = 2, .in = {"partial"}, .out = "partial"},
         {"Z = filter(A, (i,j) -> i < 2)\n", .sites = 2, .in = {"owned"}, .out = "part(1)",
          .refused = "tuple by tuple"},
     }},
    {"R2-3",
     {
         {"Z = transform(A, exp)\n", .sites = 3, .in = {"part(0)"}, .out = "part(1)"},
         {"Z = rekey(A, (i,j) -> (i+j, j))\n", .sites = 3, .in = {"part(0)"}, .out = "part(1)"},
         {"Z = rekey(A, (i,j) -> (i+j, j))\n", .sites = 3, .in = {"part(0)"}, .out = "all"},
         {"Z = tile(A, 1, 2)\n", .sites = 3, .in = {"part(0)"}, .out = "part(1)"},
         {"Z = rekey(A, (i,j) -> (i+j, j))\n", .sites = 3, .in = {"part(0)"}, .out = "part(0)",
          .refused = "the key function makes key dimension 0"},
         {"Z = tile(A, 1, 2)\n", .sites = 2, .in = {"part(0)"}, .out = "part(2)",
          .refused = "the key function makes key dimension 2"},
         {"Z = transform(A, exp)\n", .sites = 2, .in = {"partial"}, .out = "part(1)", .refused = "holds summands"},
     }},
    {"R2-4",
     {
         {"Z = agg(A, [0], matadd)\n", .sites = 3, .in = {"part(0)"}},
         {"Z = agg(A, [1], matadd)\n", .sites = 3, .in = {"all"}},
         {"X = join(A, B, [1], [0], matmul)\nZ = agg(X, [0,2], matadd)\n", .sites = 4, .in = {"grid(0:2,2:2)"}},
         {"Z = agg(E, [1], matadd)\n", .sites = 2, .in = {"part(1)"}},
         {"Z = agg(A, [0], matadd)\n", .sites = 3, .in = {"part(1)"},
          .refused = "key dimension 1, which is not grouped"},
         {"Z = agg(A, [0], matadd)\n", .sites = 3, .in = {"part(0,1)"}, .refused = "key dimension 1, which is not"},
         {"X = join(A, B, [1], [0], matmul)\nZ = agg(X, [0,2], matadd)\n", .sites = 4, .in = {"grid(0:2,1:2)"},
          .refused = "key dimension 1, which is not grouped"},
         {"Z = agg(A, [0], matadd)\n", .sites = 3, .in = {"partial"}, .refused = "holds summands"},
         {"Z = agg(A, [0], matadd)\n", .sites = 3, .in = {"owned"}, .refused = "tuple by tuple"},
     }},
    {"R2-5",
     {
         {"Z = agg(A, [0], matadd)\n", .sites = 3, .in = {"part(1)"}, .out = "part(0)"},
         {"Z = agg(A, [], exp . matadd)\n", .sites = 3, .in = {"part(0)"}, .out = "part()"},
         {"Z = agg(E, [], matadd)\n", .sites = 3, .in = {"part(1)"}, .out = "part()"},
         {"Z = agg(A, [0], matadd)\n", .sites = 3, .in = {"all"}, .refused = "each would count several times"},
         {"Z = agg(A, [0], matadd)\n", .sites = 3, .in = {"part(0)"}, .refused = "nothing is left for a second phase"},
         {"Z = agg(A, [0], matadd)\n", .sites = 3, .in = {"partial"}, .refused = "holds summands"},
     }},
    {"R2-6",
     {
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .in = {"all", "part(1)"}},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .in = {"part(0)", "all"}},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .in = {"part(1)", "part(0)"}},
         {"Z = join(A, D, [0,1], [0,1], matadd)\n", .sites = 2, .in = {"part(1)", "part(1)"}},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .in = {"part(0)", "part(0)"},
          .refused = "they are not joined"},
         {"Z = join(S, C, [1], [0], \"ij,kl->il\")\n", .sites = 2, .in = {"part(1)", "part(0)"},
          .refused = "the site functions differ: of 3 values on the left, of 2"},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 4, .in = {"part(1)", "grid(0:2,*:2)"},
          .refused = "on different grids"},
         {"Z = join(A, D, [0,1], [0,1], matadd)\n", .sites = 6, .in = {"grid(0:2,1:3)", "grid(0:3,1:2)"},
          .refused = "different numbers of sites"},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .in = {"partial", "part(0)"}, .refused = "holds summands"},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .in = {"owned", "part(0)"}, .refused = "tuple by tuple"},
     }},
    {"R2-7",
     {
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .out = "part(1)"},
         {"Z = join(A, D, [0,1], [0,1], matadd)\n", .sites = 4, .out = "grid(0:2,1:2)"},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .out = "part(0)",
          .refused = "key dimension 0 of the result"},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .out = "part(1,2)", .refused = "key dimension 2 of the"},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .out = "all", .refused = "to be copied"},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .out = "part()", .refused = "is not partitioned"},
         {"Z = join(A, V, [], [], \"ij,k->ik\")\n", .sites = 2, .out = "part(0)", .refused = "is not joined"},
     }},
    {"D-1",
     {
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 4, .in = {"grid(0:2,*:2)", "grid(*:2,1:2)"}},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 8, .in = {"grid(0:2,1:2,*:2)", "grid(*:2,0:2,1:2)"}},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 3, .in = {"all", "part(1)"}},
         {"Z = join(A, D, [0,1], [0,1], elemmul)\n", .sites = 2, .in = {"part(0)", "part(0)"},
          .refused = "no contraction"},
         {"Z = join(A, B, [1], [0], matmul)\n", .sites = 4, .in = {"grid(0:2,*:2)", "grid(1:2,*:2)"},
          .refused = "they are not joined"},
     }},
    {"D-2",
     {
         {"X = agg(join(A, B, [1], [0], matmul), [0,2], matadd)\n"
          "Z = agg(join(X, C, [1], [0], matmul), [0,2], matadd)\n"
          "Y = agg(join(B, C, [1], [0], matmul), [0,2], matadd)\n"
          "W = agg(join(A, Y, [1], [0], matmul), [0,2], matadd)\n",
          .finite = true},
         {"X = agg(join(E, B, [1], [0], matmul), [0,2], matadd)\n"
          "Z = agg(join(X, C, [1], [0], matmul), [0,2], matadd)\n"
          "Y = agg(join(B, C, [1], [0], matmul), [0,2], matadd)\n"
          "W = agg(join(E, Y, [1], [0], matmul), [0,2], matadd)\n",
          .finite = true},
         {"X = agg(join(H, B, [1], [0], matmul), [0,2], matadd)\n"
          "Z = agg(join(X, C, [1], [0], matmul), [0,2], matadd)\n"
          "Y = agg(join(B, C, [1], [0], matmul), [0,2], matadd)\n"
          "W = agg(join(H, Y, [1], [0], matmul), [0,2], matadd)\n",
          .finite = true},
         {"Z = agg(join(transform(rekey(A, (i,j) -> (j,i)), transpose), D, [1], [0], matmul), [0,2], matadd)\n"
          "W = agg(join(A, D, [0], [0], \"ij,ik->jk\"), [1,2], matadd)\n",
          .finite = true, .one_way = true},
         {"X[i,k] = sum A[i,j] * B[j,k]\nZ[i] = sum X[i,k] * B[j,k] * V[j]\n"
          "Y[k] = sum B[j,k] * V[j]\nW[i] = sum X[i,k] * Y[k]\n",
          .finite = true, .one_way = true},
         {"X = agg(join(A, B, [1], [0], matmul), [0,2], elemmax)\n"
          "Z = agg(join(X, C, [1], [0], matmul), [0,2], elemmax)\n",
          .refused = "aggregated by elemmax, not by a plain sum"},
         {"X = agg(join(A, B, [1], [0], matmul), [0,2], matadd)\n"
          "Z = agg(join(X, C, [1], [0], matmul), [0,2], relu . matadd)\n",
          .refused = "aggregated by relu . matadd, not by a plain sum"},
         {"X = agg(join(A, B, [1], [0], matmul), [0,2], matadd)\nZ = agg(join(X, V, [], [], \"ij,k->ik\"), [0,2], "
          "matadd)\n",
          .refused = "share no label"},
         {"Z = agg(join(join(A, D, [0,1], [0,1], elemmul), V, [1], [0], \"ij,j->ij\"), [1], matadd)\n",
          .refused = "what pads them would be multiplied"},
         {"Q = rekey(filter(A, (i,j) -> i + j == 2 && i != 1), (i,j) -> (i + j - 2, i))\n"
          "X = join(Q, V, [0], [0], \"ij,k->ijk\")\n"
          "Z = agg(join(X, V, [1], [0], \"ijk,l->ijkl\"), [0], matadd)\n",
          .refused = "what pads them would be multiplied"},
     }},
    {"D-3",
     {
         {"# sparse\nZ = agg(join(S, T, [1], [0], matmul), [0,2], matadd)\n"
          "W = reblock(agg(join(S, reblock(T, [2,6]), [1], [0], matmul), [0,2], matadd), [2,2])\n",
          .one_way = true},
         {"# sparse\nZ = agg(join(S, T, [0], [1], \"ij,ki->kj\"), [1,2], matadd)\n"
          "Y = agg(join(reblock(S, [2,6]), T, [0], [1], \"ij,ki->kj\"), [1,2], matadd)\n"
          "W = rekey(reblock(rekey(Y, (i,j) -> (j,i)), [2,2]), (i,j) -> (j,i))\n",
          .one_way = true},
         {"# sparse\nZ[i,k] = max S[i,j] * T[j,k]\nX = reblock(T, [2,6])\nY[i,k] = max S[i,j] * X[j,k]\n"
          "W = reblock(Y, [2,2])\n",
          .one_way = true},
         {"# sparse\nQ = rekey(T, (i,j) -> (i, i + j))\nZ = agg(join(S, Q, [1], [0], matmul), [0,2], matadd)\n",
          .refused = "no tensor in blocks"},
     }},
};
