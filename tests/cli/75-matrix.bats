# Columns of a table as a matrix: all numbers at once, and a column for each value.
load helper

@test "[*] is all columns of numbers and bools that nothing else names: 300 of them, on 1 and 3 sites, and the reference" {
    py '
r = np.random.default_rng(3); x = r.normal(size=(500, 300)); x[3, 7] = np.nan
with open("w.csv", "w") as f:
    f.write("id,name,day,ok," + ",".join(f"f{i}" for i in range(300)) + "\n")
    for i in range(500): f.write(f"{500 - i},n{i % 7},2024-01-{i % 28 + 1:02d},{str(i % 2 == 0).lower()}," + ",".join("" if np.isnan(v) else repr(float(v)) for v in x[i]) + "\n")
np.save("x.npy", x)
'
    printf '%s\n' 'input w from "w.csv"' 'M = matrix(w, [*, drop(id, ok)], fill = nan)' 'output M' 'K = matrix(w, [half = f0 / 2, *], fill = 0, rows = id)' \
        'output K' 'C[a,b] = sum K[n,a] * K[n,b]' 'output C' >p.tra
    sed -i 's/\[\*, drop(id, ok)\]/[drop(id, ok)]/' p.tra
    for how in "--sites 1" "--sites 3" "--engine reference"; do
        status 0 tra run -q $how p.tra
        py '
x = np.load("x.npy"); m = h5py.File("M.h5")["data"][()]; k = h5py.File("K.h5")["data"][()]; c = h5py.File("C.h5")["data"][()]
np.testing.assert_array_equal(m, x)
z = np.nan_to_num(x); want = np.column_stack([z[:, 0] / 2, np.arange(500) % 2 == 0, z])
np.testing.assert_array_equal(k, want); np.testing.assert_allclose(c, want.T @ want, rtol=1e-10, atol=1e-10)
'
    done
    [ "$(tra export -q K.h5 -o - --to csv | head -2 | cut -d, -f1-4)" = "$(printf 'id,half,ok,f0\n%s' "$(tra export -q K.h5 -o - --to csv | sed -n 2p | cut -d, -f1-4)")" ]
    [ "$(tra export -q K.h5 -o - --to csv | sed -n 2p | cut -d, -f1)" = 500 ]
}

@test "onehot has a column for each value: strings, numbers, dates, bools, what is computed; NULL is none of them" {
    printf 'id,city,v,day,flag,n\n1,Lyon,2.5,2024-01-05,true,-3\n2,Paris,1.5,2024-02-05,false,7\n3,,3,2024-02-09,true,-3\n' >h.csv
    [ "$(tra eval 'matrix(h, [one = 1, onehot(city), v])' h.csv)" = $'one,city_Lyon,city_Paris,v\n1,1,0,2.5\n1,0,1,1.5\n1,0,0,3' ]
    [ "$(tra eval 'matrix(h, [onehot(n), onehot(flag), onehot(day)])' h.csv)" = $'n_-3,n_7,flag_false,flag_true,day_2024-01-05,day_2024-02-05,day_2024-02-09\n1,0,0,1,1,0,0\n0,1,1,0,0,1,0\n1,0,0,1,0,0,1' ]
    [ "$(tra eval 'matrix(h, [m = onehot(month(day)), c = onehot(lower(city)), *])' h.csv | head -2)" = $'m_1,m_2,c_lyon,c_paris,id,v,flag,n\n1,0,1,0,1,2.5,1,-3' ]
    [ "$(tra eval 'matrix(select(h, v > 2), [onehot(city)])' h.csv)" = $'city_Lyon,city_Paris\n1,0\n0,0' ]
    [ "$(tra eval 'g = group(h, [city], s = sum(v)); matrix(g, [onehot(city), *])' h.csv)" = $'city_Lyon,city_Paris,s\n1,0,2.5\n0,1,1.5\n0,0,3' ]
    [ "$(tra eval 'M = matrix(h, [onehot(city)]); C[a,b] = sum M[n,a] * M[n,b]; entries(C)' h.csv)" = $'a,b,value\ncity_Lyon,city_Lyon,1\ncity_Lyon,city_Paris,0\ncity_Paris,city_Lyon,0\ncity_Paris,city_Paris,1' ]
    for how in "--sites 3" "--engine reference"; do
        printf '%s\n' 'input h from "h.csv"' 'M = matrix(h, [onehot(city), onehot(n)], type = i32)' 'output M' >p.tra
        status 0 tra run -q $how p.tra
        py 'm = h5py.File("M.h5")["data"][()]; assert m.dtype == np.int32 and (m == [[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]).all(), m'
    done
    status 2 tra eval 'matrix(h, [onehot(month(day))])' h.csv
    has 'm = onehot(month(day))'
    status 2 tra eval 'matrix(h, [onehot(v)])' h.csv
    has 'such keys are strings, integers, bools, dates and timestamps'
    status 2 tra eval 'matrix(h, [onehot(city), city_Lyon = 1])' h.csv
    has "there are two columns 'city_Lyon'"
    status 2 tra eval 'matrix(h, [onehot(cty)])' h.csv
    has 'did you mean city?'
    py 'open("many.csv", "w").write("k\n" + "".join(f"{i}\n" for i in range(5000)))'
    status 2 tra eval 'input t from "many.csv" (table = yes); matrix(t, [onehot(k)])'
    has 'onehot makes at most 4096 columns, and there are 5000 values'
}
