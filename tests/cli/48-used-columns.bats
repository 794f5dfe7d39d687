# Of a CSV file that a program reads only the columns are converted that it may use; pipes and packed files are read
# once. What comes out is the same.
load helper

setup_tables() {
    "$PYTHON" - <<'END'
import random, gzip
r = random.Random(5)
words = ["Hill", "Market", 'a "q"', "x, y", "", "Zoë", "#hash", "two\nlines", " pad "]
def quoted(s): return '"' + s.replace('"', '""') + '"' if set(s) & set('",\n') or r.random() < .1 else s
with open("t.csv", "w") as f:
    f.write("id,start,price,day,note,start_end\n")
    for i in range(3000):
        f.write(f"{i % 700},{quoted(r.choice(words))},{r.choice(['', '%.3f' % r.random(), '7'])},"
                f"2024-0{1 + i % 9}-1{i % 10},{quoted('n%d' % r.randrange(900))},{r.randrange(10 ** 12) * (i % 50 == 0)}\n")
with open("u.csv", "w") as f:
    f.write("id,price,kind\n")
    for i in range(700): f.write(f"{i},{i / 8},{'abc'[i % 3]}\n")
with gzip.open("t.csv.gz", "wb") as f: f.write(open("t.csv", "rb").read())
END
    tra import -q t.csv -o t.h5
    tra import -q u.csv -o u.h5
}

# Programs over t (and u) that use some columns, by name, by *, by labels, through other relations and in loops.
programs() {
    cat <<'END'
group(t, [start], n = count(), p = mean(price))
order(group(select(t, price > 0.5 && day >= date "2024-03-01"), [note], count()), [note])
limit(order(t, [price desc, id, note]), 7)
project(limit(order(t, [id, note, price]), 5), id, s = upper(start))
a = select(t, id < 9); b = project(a, note, start_end); order(distinct(b), [note, start_end])
order(distinct(select(t, id < 5), [id]), [id])
group(t, [], n = count())
order(group(join(t, u, id == id), [kind], s = sum(u_price), n = count(start)), [kind])
order(project(join(t, project(u, k = id, kind), id == k), kind, note, price), [kind, note, price])
j = join(t, u, id == id, prefix = "z"); order(group(j, [zkind], p = sum(zprice)), [zkind])
M = matrix(project(t, id, e = start_end), [id, e]); S[j] = sum M[i,j]; S
M = matrix(project(u, *), [id, price]); sum M[i,"price"]
order(group(t, [d = month(day)], start = distinct(start)), [d])
order(table(pivot(select(t, id < 4 && !isnull(start)), id, start, ifnull(price, 0), sum)), [id])
w = limit(order(t, [id, note]), 3); table(matrix(w, [id, start_end]))
state S = project(t, id, price); repeat 3 as i { next S = select(S, id != i && ifnull(price, 0) < 0.9) }; order(group(S, [id], n = count()), [id])
state S = t; repeat 2 as i { next S = select(S, id != i) }; limit(order(S, [id, note, price]), 9)
END
}

@test "programs have the same values of a file, a pipe and a packed file as of all columns" {
    setup_tables
    local p n=0
    while IFS= read -r p; do
        local files=("t=t.h5") csv=("t=t.csv") gz=("t=t.csv.gz") pipe=("t=-")
        case $p in *'join(t,'*) files+=("u=u.h5"); csv+=("u=u.csv"); gz+=("u=u.csv"); pipe+=("u=u.csv") ;; esac
        case $p in *'project(u, *)'*) files=("u=u.h5"); csv=("u=u.csv"); gz=("u=u.csv"); pipe=("u=u.csv") ;; esac
        tra eval -q "$p" "${files[@]}" >want
        [ -s want ]
        tra eval -q "$p" "${csv[@]}" >got
        cmp want got || { echo "$p: of files"; return 1; }
        tra eval -q "$p" "${gz[@]}" >got
        cmp want got || { echo "$p: of packed files"; return 1; }
        tra eval -q "$p" "${pipe[@]}" <t.csv >got
        cmp want got || { echo "$p: of a redirected file"; return 1; }
        # shellcheck disable=SC2002
        cat t.csv | tra eval -q "$p" "${pipe[@]}" >got
        cmp want got || { echo "$p: of a pipe"; return 1; }
        n=$((n + 1))
    done < <(programs)
    is 17 echo "$n"
}

@test "a column that is not used is neither converted nor looked at" {
    printf 'k,v,day,deep\n' >d.csv
    for i in $(seq 2000); do echo "$((i % 7)),$i,0$((1 + i % 9))/0$((1 + i % 8))/2024,some long text $i"; done >>d.csv
    status 3 tra eval 'group(d, [day], count())' d.csv # 01/02: the day or the month first?
    has --date-format
    status 0 tra eval -q 'order(group(d, [k], s = sum(v)), [k])' d.csv
    is 8 eval 'echo "$output" | wc -l'
    status 0 tra eval --explain 'group(d, [k], s = sum(v))' d.csv
    has 'input d of d.csv (csv)'
    tra import -q --columns k,v d.csv -o kv.h5
    is 2000 eval 'tra eval -q "group(d, [], n = count())" d.csv | tail -n 1'
    # what is kept for later programs has all columns
    status 0 tra eval -q --keep-imports --date-format %d/%m/%Y 'group(d, [k], s = sum(v))' d.csv
    kept=("$TRA_SCRATCH"/tra-kept-*.h5)
    is day eval 'tra info "${kept[0]}" | grep -ow day | head -n 1'
}

@test "an error of a program names the columns that the file has" {
    printf 'start,end,duration,at\n1,2,3,2020-01-01\n' >s.csv
    for from in file pipe; do
        for p in 'group(t, [foo], count())' 'project(t, x = pickup)' 'group(t, [start], mean(pickup))'; do
            local t=s.csv
            [ $from = file ] || t=-
            status 2 tra eval "$p" "t=$t" <s.csv
            has 'its columns are start, end, duration, at'
        done
        status 2 tra eval 'group(t, [strat], count())' "t=$t" < <(cat s.csv)
        has 'did you mean start?'
    done
}

@test "a pipe of many different texts, and one with rejects, is what the file is" {
    seq 60000 | awk '{ printf "%d of a long row of texts,%d,t%d\n", $1 * 7919 % 60000, $1, $1 % 11 }' >body
    { echo name,v,short; cat body; } >m.csv
    tra import -q m.csv -o m.h5
    tra import -q --memory 44M - -o p.h5 < <(cat m.csv)
    tra import -q --columns v,name - -o q.h5 < <(cat m.csv)
    status 0 tra diff m.h5 p.h5
    is "$(tra eval -q 'order(project(m, v, name), [v])' m.h5 | md5sum)" eval 'tra export -q q.h5 -o - --to csv | md5sum'
    { echo name,v,short; head -n 500 body; echo wrong; echo 'x,notanumber,y'; tail -n 500 body; } >r.csv
    tra import -q --types v=i64 --rejects r1 r.csv -o r.h5
    tra import -q --types v=i64 --rejects r2 - -o s.h5 < <(cat r.csv)
    status 0 tra diff r.h5 s.h5
    cmp r1 r2
    is 3 eval 'wc -l <r1'
    # a type that was given is checked, whether the column is used or not
    status 3 tra eval 'group(t, [], n = count())' 't=csv(types="v=i64",rejects=r3,rejects_limit=1):r.csv'
    is $'n\n1000' tra eval -q 'group(t, [], n = count())' 't=csv(types="v=i64",rejects=r3):r.csv'
    is 3 eval 'wc -l <r3'
}
