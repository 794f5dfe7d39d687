#!/bin/sh
# Writes the prefill of a model like LLaMA-7B as a program: llama.sh [LAYERS] > llama.tra
# Sizes are params: -D b=8 (sequences), s (positions), a (features), h (heads), d (features of a head), f (features of
# the inner layer), v (words), and blocks: t of features and of heads, u of positions.
set -eu
layers=${1:-32}
cat <<'END'
param b = 8
param s = 1024
param a = 4096
param h = 32
param d = 128
param f = 11008
param v = 32000
param t = 16
param u = 8
input X0 : f32 [b, s, a] by [1, s/u, a/t]    # the words' vectors
input CS : f32 [s, d] by [s/u, d]            # cosines and sines of positions
input SN : f32 [s, d] by [s/u, d]
input RT : f32 [d, d] by [d, d]              # turns each pair of features by a right angle
input MK : f32 [s, s] by [s/u, s/u]          # 0, and -1e9 for positions that come later
END
i=0
while [ $i -lt "$layers" ]; do
    n=$((i + 1))
    cat <<END

# layer $n
input NA$n : f32 [a] by [a/t]
input NF$n : f32 [a] by [a/t]
input WQ$n : f32 [a, h, d] by [a/t, h/t, d]
input WK$n : f32 [a, h, d] by [a/t, h/t, d]
input WV$n : f32 [a, h, d] by [a/t, h/t, d]
input WO$n : f32 [h, d, a] by [h/t, d, a/t]
input WG$n : f32 [a, f] by [a/t, f/t]
input WU$n : f32 [a, f] by [a/t, f/t]
input WD$n : f32 [f, a] by [f/t, a/t]
SA$n[b,s]     = sum X$i[b,s,a] ^ 2
RA$n[b,s]     = 1 / sqrt(SA$n[b,s] / a + 1e-5)
MA$n[b,s,a]   = X$i[b,s,a] * RA$n[b,s]
YA$n[b,s,a]   = MA$n[b,s,a] * NA$n[a]
Q$n[b,s,h,d]  = sum YA$n[b,s,a] * WQ$n[a,h,d]
K$n[b,s,h,d]  = sum YA$n[b,s,a] * WK$n[a,h,d]
V$n[b,s,h,d]  = sum YA$n[b,s,a] * WV$n[a,h,d]
QT$n[b,s,h,e] = sum Q$n[b,s,h,d] * RT[d,e]
KT$n[b,s,h,e] = sum K$n[b,s,h,d] * RT[d,e]
QC$n[b,s,h,d] = Q$n[b,s,h,d] * CS[s,d]
KC$n[b,s,h,d] = K$n[b,s,h,d] * CS[s,d]
QS$n[b,s,h,d] = QT$n[b,s,h,d] * SN[s,d]
KS$n[b,s,h,d] = KT$n[b,s,h,d] * SN[s,d]
QR$n[b,s,h,d] = QC$n[b,s,h,d] + QS$n[b,s,h,d]
KR$n[b,s,h,d] = KC$n[b,s,h,d] + KS$n[b,s,h,d]
T$n[b,h,s,t]  = sum QR$n[b,s,h,d] * KR$n[b,t,h,d]
U$n[b,h,s,t]  = T$n[b,h,s,t] / sqrt(d) + MK[s,t]
P$n           = softmax(U$n)
O$n[b,s,h,d]  = sum P$n[b,h,s,t] * V$n[b,t,h,d]
Z$n[b,s,a]    = sum O$n[b,s,h,d] * WO$n[h,d,a]
R$n[b,s,a]    = X$i[b,s,a] + Z$n[b,s,a]
SF$n[b,s]     = sum R$n[b,s,a] ^ 2
RF$n[b,s]     = 1 / sqrt(SF$n[b,s] / a + 1e-5)
MF$n[b,s,a]   = R$n[b,s,a] * RF$n[b,s]
YF$n[b,s,a]   = MF$n[b,s,a] * NF$n[a]
G$n[b,s,f]    = sum YF$n[b,s,a] * WG$n[a,f]
H$n[b,s,f]    = sum YF$n[b,s,a] * WU$n[a,f]
S$n[b,s,f]    = G$n[b,s,f] * sigmoid(G$n[b,s,f])
I$n[b,s,f]    = S$n[b,s,f] * H$n[b,s,f]
J$n[b,s,a]    = sum I$n[b,s,f] * WD$n[f,a]
X$n[b,s,a]    = R$n[b,s,a] + J$n[b,s,a]
END
    i=$n
done
cat <<END

input NL : f32 [a] by [a/t]
input WL : f32 [a, v] by [a/t, v/t]
SL[b,s]   = sum X$i[b,s,a] ^ 2
RL[b,s]   = 1 / sqrt(SL[b,s] / a + 1e-5)
YL[b,s,a] = X$i[b,s,a] * RL[b,s] * NL[a]
L[b,s,v]  = sum YL[b,s,a] * WL[a,v]
output L
END
