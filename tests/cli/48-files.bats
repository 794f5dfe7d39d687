# Files of any format where a relation is read or a program writes one, and tra eval.
load helper

setup_files() {
    export TRA_SCRATCH=$PWD/scratch
    mkdir -p scratch
    "$PYTHON" - <<'END'
import numpy as n, h5py
A = n.arange(12.).reshape(3, 4) + 0.5
n.save("a.npy", A); n.save("f.npy", n.asfortranarray(A)); n.save("i.npy", A.astype("i2")); n.save("s.npy", n.array(2.5))
A.astype(">f8").tofile("big.raw"); A.tofile("little.raw")
n.savetxt("a.csv", A, delimiter=",", fmt="%.17g")
with open("a.mtx", "w") as f:
    f.write("%%MatrixMarket matrix coordinate real general\n3 4 12\n")
    for i in range(3):
        for j in range(4): f.write(f"{i+1} {j+1} {A[i, j]}\n")
with open("a.tns", "w") as f:
    for i in range(3):
        for j in range(4): f.write(f"{i+1} {j+1} {A[i, j]}\n")
with open("a.edges", "w") as f:
    for i in range(3):
        for j in range(4): f.write(f"{i}\t{j}\t{A[i, j]}\n")
h5py.File("a.h5", "w")["data"] = A
END
    printf 'start,end,duration\nHill,Market,310\nMarket,Hill,325\nHill,Hill,60\n' >trips.csv
}

# Nothing is left in the scratch directory.
nothing_left() { is "" find scratch -mindepth 1; }

@test "every format is a relation for every command that reads one" {
    setup_files
    want=$(digest_of a.h5)
    [ ${#want} = 32 ]
    # file, and what has to be said of it; sparse formats have the same values
    local shape='(dtype=f64,shape=[3,4])'
    for f in a.npy f.npy a.csv a.mtx a.tns 'edges(shape="3x4"):a.edges' "raw$shape:little.raw" \
        'raw(dtype=f64, shape="3x4", endian=big):big.raw' npy:a.npy; do
        is "$want" digest_of "$f"
        status 0 tra head "$f"
        status 0 tra info -s "$f"; has "3 x 4"
        status 0 tra verify "$f"
        status 0 tra diff "$f" a.h5
        tra export -q "$f" -o out.npy
        is "$want" digest_of out.npy
        printf 'input A from "%s"\nT[] = sum A[i,j]\noutput T to "csv:-"\n' "${f//\"/\\\"}" >p.tra
        status 0 tra check p.tra
        status 0 tra explain --operators p.tra; has "input A of"
        status 0 tra cost p.tra
        is 72 tra run -q p.tra
        is 72 tra run -q p.tra --sites 2
        is 72 tra eval 'sum A[i,j]' "A=$f"
        nothing_left
    done
    tra import -q i.npy -o i.h5
    same_digest i.npy i.h5
    is 2.5 tra eval 's[]' s.npy
}

@test "outputs go to the format of their suffix, together, and never as HDF5 under the name of another" {
    setup_files
    printf 'input A from "a.npy"\ninput t from "trips.csv"\noutput A to "%s"\n' c.{npy,csv,mtx,tns,edges,h5} none h5:odd.x |
        sed '4,${/^input/d}' >p.tra
    tra run -q p.tra
    for f in c.npy c.csv c.mtx c.tns none; do status 0 tra diff "$f" a.h5; done
    [ "$(head -c 6 c.npy | tail -c 5)" = NUMPY ]
    [ "$(head -c 4 odd.x | tail -c 3)" = HDF ]
    tra run -q - --sites 3 <<<'input A from "a.npy"; B[j] = sum A[i,j]; output B to "b.csv"; output B to "b.h5"'
    is "13.5 16.5 19.5 22.5" eval 'tr "\n" " " <b.csv | sed "s/ $//"'
    status 0 tra diff b.csv b.h5 || true
    told 2 tra run -q - <<<'input A from "a.npy"; output A to "c.parquet"'
    told 3 tra run -q - <<<'input t from "trips.csv"; output t to "t.mtx"'
    [ ! -e c.parquet ]; [ ! -e t.mtx ]
    is "3.5" tra run -q -D A=i.npy - <<<'input A from "a.npy"; m[] = max A[i,j]; o[] = m[] / 2 - 2; output o to "-"'
    nothing_left
}

@test "eval: names, last values, and what is wrong with them" {
    setup_files
    is $'start,n\nHill,2\nMarket,1' tra eval 'group(trips, [start], n = count())' trips.csv
    is $'start,n\nHill,2\nMarket,1' tra eval 'group(t, [start], n = count())' t=trips.csv
    is $'start,n\nHill,2\nMarket,1' eval 'cat trips.csv | tra eval "group(t, [start], n = count())" t=-'
    is $'start,n\nHill,2\nMarket,1' eval 'cat trips.csv | tra eval "group(t, [start], n = count())" t=- --sites 2'
    is $'start,n\nHill,2\nMarket,1' eval 'echo "group(trips, [start], n = count())" | tra eval - trips.csv'
    is 72 tra eval $'B[i,j] = a[i,j]\nsum B[i,j]' a.npy
    is 144 tra eval 'param k = 2; k * (sum[i,j](a[i,j]))' a.npy
    is 11.5 tra eval 'max a[i,j]' a.npy
    is $'i0,i1,i2,value' eval 'tra eval "T[i,j,k] = a[i,j] * a[i,k]" a.npy | head -1'
    is 3 eval 'tra eval "T[i] = sum a[i,j]" a.npy | wc -l'
    tra eval 'T[i] = sum a[i,j]' a.npy -o t.npy
    is "" tra eval 'T[i] = sum a[i,j]; output T to "u.npy"' a.npy
    cmp t.npy u.npy
    status 0 tra eval 'sum a[i,j]' a.npy --explain; has "input a of a.npy (npy), in place"
    told 2 tra eval 'a[i,j] * 2' a.npy
    told 2 tra eval 'w, V = eigh(a)' a.npy
    told 2 tra eval 'sum b[i,j]' a.npy
    told 2 tra eval 'sum b[i,j]'
    told 2 tra eval 'group("trips.csv", [start], n = count())'
    told 2 tra eval 'limit(trips.csv, 3)'
    told 2 tra eval 'sum a[i,j]' a.npy ./a.npy
    told 2 tra eval 'sum a[i,j]' -
    told 2 tra eval - t=- <<<'t'
    cp a.npy 2x.npy
    told 2 tra eval 'sum x[i,j]' 2x.npy
    status 2 tra eval 'x = 1 +' a.npy
    told 2 tra eval 'trips' trips.csv --to nonsense
    status 3 tra eval 'trips' trips.tsv=trips.csv missing.csv || true
    told 3 tra eval 'missing' missing.csv
    nothing_left
}

@test "options of a file: in programs, in specs and for all files of eval" {
    setup_files
    printf '1;NA\n2;3\n' >h.txt
    is $'column_1,column_2\n1,\n2,3' tra run -q - <<<'input t from "h.txt" (header = no, null = ["NA", "-"], table = yes); output t to "-"'
    is $'column_1,column_2\n1,\n2,3' tra eval 't' 't=csv(header=no,null=NA,table=yes):h.txt'
    is $'column_1,column_2\n1,\n2,3' tra eval t t=h.txt --no-header --null NA --table
    told 2 tra run -q - <<<'input t from "h.txt" (heder = no); output t to "-"'
    told 2 tra run -q - <<<'input t from "h.txt" (base = 1); output t to "-"'
    told 2 tra run -q - <<<'input t from "h.txt" (1 + 2); output t to "-"'
    told 2 tra run -q - <<<'input t from "h.txt" (header = maybe); output t to "-"'
}

@test "a pattern is the union of CSV files, each with a dialect and an order of columns of its own" {
    setup_files
    mkdir p m
    printf 'a,b\n1,x\n2,y\n' >p/1.csv
    printf '\xef\xbb\xbf"b";"a"\r\nz;3.5\r\n' | gzip >p/2.csv.gz
    printf 'a,b\n' >p/3.csv
    : >p/4.csv
    printf 'b\ta\n\t4' >p/5.tsv
    printf '6,"q, r"\n' >p/6.csv # without a header: the columns in their places
    want=$'a,b\n1,x\n2,y\n3.5,z\n4,\n6,"q, r"'
    is "$want" tra eval t 't=p/*'
    is "$want" tra head 'p/*'
    tra import -q - -o all.h5 <<<"$want"
    same_digest 'p/*' all.h5
    is $'n\n5' tra run -q - <<<'input t from "p/*"; g = group(t, [], n = count()); output g to "-"'
    is $'b,n\n"q, r",1' tra eval 'group(select(t, a > 5), [b], n = count())' 't=p/*'
    printf '1,2\n3,4\n' >m/1.csv
    printf '5;6\n' >m/2.csv
    is $'c0,c1\n1,2\n3,4\n5,6' tra eval t 't=m/*'
    is 21 tra eval 'sum t[i,j]' 't=m/*'
    nothing_left
}

@test "files of a pattern that differ are errors that name the file and the column; so are no file and tensors" {
    setup_files
    mkdir p
    printf 'a,b\n1,x\n2,y\n' >p/1.csv
    printf 'a,c\n4,z\n' >p/4.csv
    told 3 tra eval t 't=p/*.csv'
    printf 'a,b,d\n4,z,1\n' >p/4.csv
    told 3 tra eval 'group(t, [a], count())' 't=p/*.csv'
    printf 'a,b\n1,x\n1,2,3\n' >p/4.csv
    told 3 tra eval t 't=p/*.csv'
    printf 'b\n1\n' >p/4.csv
    told 3 tra head 'p/*.csv'
    told 3 tra eval t 't=q/*.csv'
    told 3 tra eval 'sum t[i,j]' 't=*.npy'
    told 3 tra eval t 't=a.[hm]*'
    told 2 tra eval t 'p/*.csv'
    nothing_left
}

@test "a pattern of HDF5 files is the union of their tables, by names, with types that hold both" {
    setup_files
    printf 'k,s,f,d,t,b,i\n1,,1,2024-01-02,2024-01-02 03:04:05.5,true,9007199254740993\n2,"",2.5,,,,\n3,007,,2024-05-06,2024-01-02,false,1\n' >z1.csv
    printf 's,k,f,d,t,b,i\nabc,3000000000,1,2024-01-02,2024-01-02,true,4\n' >z2.csv
    for i in 1 2; do tra import -q z$i.csv -o z$i.h5; done
    tra eval z 'z=z?.csv' >want
    is "$(cat want)" tra eval z 'z=z?.h5'
    is "$(cat want)" tra eval z 'z=h5:z?.h5:data'
    is "$(tail -n +2 want | cut -d , -f 2 | sort | uniq -c)" eval "tra eval -q 'project(z, s)' 'z=z?.h5' | tail -n +2 | sort | uniq -c"
    is "$(tra info 'z?.csv' | grep -E '^    [a-z] ')" eval "tra info 'z?.h5' | grep -E '^    [a-z] '"
    printf 's,k,f,d,t,b,i\nabc,3,1,2024-01-02,x,true,4\n' >w.csv
    tra import -q w.csv -o z3.h5
    told 3 tra eval z 'z=z?.h5'
    tra import -q --columns s,k,f,d,b,i z1.csv -o z3.h5
    told 3 tra eval z 'z=z?.h5'
    cp a.h5 z3.h5
    told 3 tra eval z 'z=z?.h5'
    told 3 tra eval z 'z=z1.*'
    nothing_left
}

@test "what is not what its name says is told so, and nothing is left behind" {
    setup_files
    cp trips.csv t.npy; cp a.h5 h.csv; printf 'x' >e.mtx
    status 3 tra head t.npy
    told 3 tra head h.csv
    status 3 tra eval 'sum e[i,j]' e.mtx
    status 3 tra eval 'sum a[i,j]' npy:trips.csv=x || true
    status 0 tra head h5:h.csv
    nothing_left
}

@test "conversions are kept on demand and found again; a change of the file or an option is seen; clean removes them" {
    setup_files
    tra eval --keep-imports 'group(trips, [], n = count())' trips.csv >one
    is 1 eval 'ls scratch | grep -c ^tra-kept-'
    # strings are there as tra reads them, and not once more for other programs
    py 'import h5py, glob; f = h5py.File(glob.glob("scratch/tra-kept-*")[0])
v = []
f.visititems(lambda name, x: v.append(x.id.get_offset()) if name.endswith("/categories") else None)
assert v and not any(v), v'
    tra eval --explain --keep-imports 'group(trips, [], n = count())' trips.csv >two; grep -q 'found' two
    tra eval --explain --keep-imports 'group(trips, [], n = count())' trips.csv --null Hill >three; grep -q 'converted' three
    printf 'Hill,Hill,70\n' >>trips.csv
    is $'n\n4' tra eval --keep-imports 'group(trips, [], n = count())' trips.csv
    is 3 eval 'ls scratch | grep -c ^tra-kept-'
    status 0 tra clean --scratch scratch; has "what was made of a file of another format"
    nothing_left
}

@test "a reader that goes away ends eval quietly; a kill leaves nothing that clean does not find" {
    setup_files
    "$PYTHON" -c 'print("a"); [print(i) for i in range(300000)]' >n.csv
    status 0 bash -c '"$TRA" eval n n.csv 2>err | head -n 2'
    is "" cat err
    nothing_left
    status 4 bash -c 'ulimit -f 100; "$TRA" eval "order(n, [a desc])" n.csv'
    nothing_left
    mkfifo pipe
    "$TRA" eval "group(t, [], n = count())" t=csv:pipe & pid=$!
    { head -n 100000 n.csv; sleep 1; kill -9 "$pid"; } >pipe || true
    wait "$pid" || true
    tra clean -q --scratch scratch
    nothing_left
}

@test "every line of tra-from(7) is one of the language" {
    printf 'a,b,d,k,v,r,c,s\n1,9,3,4,5,p,7,x\n,9,4,4,5,p,7,x\n' >t.csv
    printf 'id,w\n4,2\n' >u.csv
    "$PYTHON" -c 'import numpy as n; n.save("A.npy", n.eye(6)); n.save("B.npy", n.eye(6)); n.save("x.npy", n.ones(6))'
    local n=0
    while read -r line; do
        { printf 'input %s from "%s"\n' t t.csv u u.csv A A.npy B B.npy x x.npy
          [[ $line =~ ^(input|output) ]] && continue
          [[ $line =~ \),\ [a-z_0-9]+\( ]] && continue # functions of columns: tra-functions(7) has them in examples
          [ "$line" != 'union(t, u)' ] || line='union(t, t)'
          if [[ $line =~ ^[A-Za-z]+([,\ A-Za-z]*|\[[a-z,]*\])\ =\  ]]; then echo "$line"; else echo "R = $line"; fi
        } >p.tra
        tra check p.tra >out 2>&1 || { cat p.tra out; return 1; }
        n=$((n + 1))
    done < <(sed -n 's/^\.B //p' "$ROOT/man/tra-from.7" | sed 's/\\-/-/g; s/\\(dq/"/g')
    [ "$n" -gt 25 ]
}

@test "JSON is refused by what it holds, whatever its name, unless a prefix says that it is CSV" {
    printf '{"a":1}\n{"a":2}\n' >x.jsonl
    cp x.jsonl y.csv
    for file in x=x.jsonl y.csv; do
        told 3 tra eval "${file%%[.=]*}" $file
    done
    status 3 tra head y.csv
    status 3 tra info x.jsonl
    status 0 tra eval x x=csv:x.jsonl
}
