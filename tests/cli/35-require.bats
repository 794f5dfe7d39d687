# What a program requires of its params, of the extents of its inputs, and of values that only the run knows.
load helper

@test "what is required of params and extents is checked when the program is compiled, with the values" {
    cat >p.tra <<'END'
param k = 2
X = gen(range, [6, 3], by = [2, 3])
require k <= extent(X, 1) && k > 0, "k must be from 1 to the columns of X"
require extent(X, 0) % 2 == 0
n[] = sum X[i,j] * k
output n to "csv:-"
END
    is 306 tra run -q p.tra
    told 2 tra run -q -D k=4 p.tra
    told 2 tra check -D k=nan p.tra
    sed -i 's/% 2 == 0/== 7; Y = slice(X, [:k, 5]); require Y > 0/' p.tra
    told 2 tra check p.tra
}

@test "what is required of relations is checked by the run: sites, loops, compiled plans, the reference" {
    cat >p.tra <<'END'
param least = 0
param most = 9000
X = gen(range, [6, 3], by = [2, 3])
low[] = min X[i,j]
require low >= least, "X has an element that is too small"
require all[i,j](X[i,j] < 18) && low < 1
require = X[0,0]                                # a name elsewhere
state w = gen(1, [6], by = [2])
repeat 3 as t {
    state v[i] = w[i]
    repeat 2 as u {
        n[] = sum v[i]
        next v[i] = v[i] * 2 + X[i,0] + u
        require n < most, "w grows"
    }
    next w[i] = v[i] + require
    require t < 3
}
output w to "w.csv"
END
    sed -i 's/^require = .*/one = slice(X, [0:1, 0:1]); require[] = sum one[i,j]/' p.tra
    sed -i 's/+ require$/+ require[]/' p.tra
    status 0 tra run -q p.tra
    cp w.csv want.csv
    tra compile -q p.tra -o p.plan
    for how in "--sites 3 p.tra" "--engine reference p.tra" "--sites 2 --transport files p.tra" p.plan; do
        status 0 tra run -q $how
        diff w.csv want.csv
        rm w.csv
    done
    for how in "" "--sites 3" "--sites 5 --transport files" "--memory 48M" "--engine reference"; do
        status 3 tra run -q $how -D least=1 p.tra
        has "p.tra:5: X has an element that is too small"
        status 3 tra run -q $how -D most=100 p.tra
        has "p.tra:14: w grows"
        [[ $how == *reference ]] || has "(in turn 0 of the loop) (in turn 1 of the loop)"
        [ ! -e w.csv ]
    done
    sed -i 's/low >= least/low * log(low - 1)/' p.tra
    told 3 tra run -q p.tra # NaN
    tra explain p.tra | grep -q '^ *14 *require n < most'
}

@test "a require statement that is wrong is told with how to write it" {
    while IFS='|' read -r text what; do
        printf 'X = gen(range, [2, 2])\n%s\noutput X\n' "$text" >p.tra
        told 2 tra check p.tra
    done <<'END'
require X[i,j] > 0|label 'i' is not
require 1 > 0, X|a text in quotes expected
require Y > 0|there is no param 'Y'
require|expected
assert 1 > 0|require
END
}
