# What expressions over columns and joins say: durations, dates, names of two tables, and words of other languages.
load helper

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    printf 'ts,d,n\n2024-02-28 23:00:00,2024-02-28,3\n2024-03-01 00:00:00,2024-03-01,4\n' |
        "$TRA" import -q --table - -o t.h5
    printf 'y,m,d,s\n2024,2,30,2024-02-30\n2024,2,29,2024-02-29\n2023,2,29,x\n' | "$TRA" import -q --table - -o ymd.h5
    printf 'code,name,v\n1,a,10\n2,b,20\n9,soylent,3\n' | "$TRA" import -q --table - -o L.h5
    printf 'g,name,w\n2,x,5\n1,y,6\n' | "$TRA" import -q --table - -o C.h5
}

program() {
    rm -f p.tra
    for x in t ymd L C; do echo "input $x from \"$BATS_FILE_TMPDIR/$x.h5\"" >>p.tra; done
    printf '%b\n' "$@" >>p.tra
}

# gives WANT STATEMENTS...: the last of these, Y, is that table in CSV (lines joined by a blank), by both engines.
gives() {
    local want=$1
    program "${@:2}" 'output Y'
    for how in '' '--sites 2' '--engine reference'; do
        rm -f Y.h5
        # shellcheck disable=SC2086
        status 0 tra run -q $how p.tra
        is "$want" bash -c '"$0" export -q Y.h5 -o - --to csv | paste -sd" "' "$TRA"
    done
}

refused() {
    program "${@:2}" 'output Y'
    told 2 tra check p.tra
}

@test "a condition of a join that cannot be computed is an error, by both engines" {
    program 'Y = join(L, C, code == g && v * 4611686018427387904 > r_w, prefix = "r_")' 'output Y'
    for how in '' '--sites 2' '--engine reference'; do
        # shellcheck disable=SC2086
        status 3 tra run -q $how p.tra
        has 'the condition of the join could not be computed'
    done
}

@test "times move by durations, and by no number" {
    for e in 'ts + 3600' '5 + ts' 'ts - n' 'ts + (n + 1)'; do
        refused 'a timestamp moves by a duration, and this is a number' "Y = project(t, a = $e)"
        has 'seconds(5)'
    done
    gives 'a,b,c 2024-02-28 23:00:05,2024-02-28 22:00:00,2024-02-29 23:00:00 2024-03-01 00:00:05,2024-02-29 23:00:00,2024-03-02 00:00:00' \
        'Y = project(t, a = ts + seconds(5), b = ts - hours(1), c = days(1) + ts)'
    gives 'a,b 2024-03-20 23:00:00,2024-02-28 23:00:00.500000 2024-03-29 00:00:00,2024-03-01 00:00:00.500000' \
        'Y = project(t, a = ts + weeks(n), b = ts + seconds(0.5))'
    gives 'a,b 2024-02-28 23:00:00.003000,2024-02-28 23:00:00.000003 2024-03-01 00:00:00.004000,2024-03-01 00:00:00.000004' \
        'Y = project(t, a = ts + milliseconds(n), b = ts + microseconds(n))'
    gives 'a,b 2024-02-29 05:00:00,2024-02-29 00:00:00 2024-03-01 08:00:00,2024-03-02 00:00:00' \
        'Y = project(t, a = ts + 2 * hours(n), b = ts + if(n > 3, days(1), hours(1)))'
    gives 'a,b 2024-02-29 22:00:00,23 2024-03-03 00:00:00,48' \
        'Y = project(t, a = ts + (ts - timestamp "2024-02-28 00:00:00"), b = (ts - timestamp "2024-02-28 00:00:00") / hours(1))'
    gives 'n 4' 'Y = project(select(t, ts - timestamp "2024-02-28 00:00:00" > days(1)), n)'
    # dates move by whole days
    gives 'a,b,c 2024-02-29,2024-02-29,2024-02-21 2024-03-02,2024-03-02,2024-02-23' \
        'Y = project(t, a = d + 1, b = d + days(1), c = d - weeks(1))'
    refused 'a date moves by whole days' 'Y = project(t, a = d + hours(5))'
    for e in '>= days(1)' '>= hours(24)' '>= 1' '> minutes(1)'; do
        gives 'n 4' "Y = project(select(t, d - date \"2024-02-28\" $e), n)"
    done
    refused 'seconds takes whole numbers' 'Y = project(t, a = ts + seconds(n * 0.5))'
}

@test "days that are in no calendar are NULL, and the run says so, as of a division by zero" {
    local says="since there is no such date"
    for e in 'date(y, m, d)' 'date(s)' 'timestamp(y, m, d, 0, 0, 0)'; do
        program "Y = project(ymd, a = $e)" 'output Y'
        for sites in 1 2; do
            status 0 tra run --sites $sites p.tra
            has "2 values of column \`a\` are NULL, $says"
        done
    done
    program 'Y = select(ymd, date(y, m, d) > date "2024-01-01")' 'output Y'
    status 0 tra run p.tra
    has "2 values of a condition are NULL, $says"
    program 'Y = project(ymd, a = date(2024, 2, 30), b = 1 div 0)' 'output Y'
    status 0 tra run p.tra
    has 'since an integer was divided by zero, or since there is no such date'
    program 'Y = project(ymd, a = isnull(date(y, m, d)))' 'output Y'
    status 0 tra run p.tra
    lacks "$says"
}

@test "a join's equalities stand in either order and say their tables; names that clash get that of the table" {
    local want='code,name,v,g,C_name,w 1,a,10,1,y,6 2,b,20,2,x,5'
    for on in 'code == g' 'g == code' 'L.code == C.g' 'C.g == L.code' 'L.code == g'; do
        gives "$want" "Y = join(L, C, $on)"
    done
    gives 'code,name,v,g,C_name,w 1,a,10,1,y,6' 'Y = join(L, C, C.g == L.code && C.w > 5 && L.v < 100)'
    gives 'code,name,v,q_g,q_name,q_w 2,b,20,2,x,5' \
        'Y = join(L, C, C.g == L.code && C.name != "y" && L.name != C.name, prefix = "q_")'
    gives 'code,name,v,r_name 1,a,10,y 2,b,20,x 9,soylent,3,' \
        'Y = join(L, project(C, code = g, name), code == code, how = left)'
    gives 'g,name,w,code,L_name,v 2,x,5,2,b,20 1,y,6,1,a,10 ,,,9,soylent,3' 'Y = join(C, L, g == code, how = right)'
    gives 'code,name,v 9,soylent,3' 'Y = join(L, C, L.code == C.g, how = anti)'
    gives 'code,name,v,L_name,L_v 9,soylent,3,soylent,3' 'Y = join(select(L, v < 5), L, code == code)'
    refused 'both tables have one name' 'Y = join(L, L, L.code == L.code)'
    refused "both tables are 'L'" 'Y = join(L, L, code == code && L.v < L.v)'
    refused "the pair of rows has no column 'nope'" 'Y = join(L, C, code == nope)'
    refused 'its columns are code, name, v, g, C_name, w' 'Y = join(L, C, code == nope)'
}

@test "a row that breaks what a join expects is named with its key" {
    program 'Y = join(L, C, code == g, matched = left)' 'output Y'
    told 3 tra run -q p.tra
    program 'D = project(L, key = name)' 'E = project(C, key = name)' 'Y = join(D, E, key == key, matched = left)' 'output Y'
    told 3 tra run -q p.tra
    program 'D = union(C, C)' 'Y = join(L, D, code == g, expect = "m:1")' 'output Y'
    told 3 tra run -q p.tra
}

@test "a word of another language is answered with what does it here" {
    while IFS='|' read -r statement advice; do
        refused "$advice" "$statement"
    done <<'END'
Y = sort(L, v)|write order(T, [a, b desc])
Y = unique(L)|write distinct(T, [a, b])
Y = rename(L, a = v)|write project(T, new = old, *)
Y = head(L, 5)|write limit(T, 10)
Y = filter(L, v > 1)|select(T, a > 1)
Y = mean(L)|group(T, [key], m = mean(x))
Y = std(L)|group(T, [key], m = std(x))
Y = project(L, a = log2(v))|write log(x) / log(2)
Y = project(L, a = lag(v))|write window(T, [key], [order], v = lag(x))
Y = corr(L)|write group(T, [key], v = corr(x, y))
Y = upper(L)|write project(T, *, v = upper(s))
Y = group(L, [v], upper(v))|write project(T, *, v = upper(s))
Y = cumsum(L)|write window(T, [key], [order], total = sum(x))
Y = where(L, v > 1)|select(T, a > 0 && b < 1) of rows
Y = L where v > 1|write select(T, a > 0 && b < 1)
Y = group(L, [v % 3 as d], n = count())|a name stands before what it names: d = a % 10
Y = select v, name from L|write project(T, a, b) for columns
Y = group(L, [name], n = count(distinct v))|write distinct(x)
Y = L.mean()|an operator stands before what it takes: mean(..)
Y = project(L, a = avg(v))|write mean(x)
Y = project(L, a = coalesce(v, 1))|write ifnull(x, y)
Y = project(select(L, v > 3), i = row())|number(a, b)
END
}

@test "a param is a string, a date or a timestamp too; -D gives another, with or without its quotes" {
    gives 'n 4' 'param since = date "2024-02-29"' 'Y = project(select(t, d > since), n)'
    gives 'n 3 4' 'param at = timestamp "2024-02-28 23:30:00"' 'Y = project(select(t, ts > at - hours(2)), n)'
    gives 'name a' 'param who = "a"' 'Y = project(select(L, name == who), name)'
    program 'param who = "a"' 'param since = date "2024-02-29"' 'Y = project(select(L, name == who), name, since = since)' 'output Y'
    for who in b '"b"'; do
        for since in 2023-01-01 '"2023-01-01"' 'date "2023-01-01"'; do
            status 0 tra run -q -D who="$who" -D since="$since" p.tra
            is 'name,since b,2023-01-01' bash -c '"$0" export -q Y.h5 -o - --to csv | paste -sd" "' "$TRA"
        done
    done
    told 2 tra run -q -D since=yesterday p.tra
    refused "'who' is a string; a number is expected here" 'param who = "a"' 'M = matrix(L, [v])' 'Y[i,j] = M[i,j] * who'
}

@test "a table of numbers has the extents of its matrix; one of one column is a vector where one label stands" {
    printf 'a,b,c\n1,2,3\n4,5,6\n' >t.csv
    printf 'y\n10\n20\n' >y.csv
    cat >p.tra <<'END'
input t from "t.csv"
input y from "y.csv"
s[j] = sum t[n,j] * y[n] * extent(t, 1) + y[n,0] * 0
output s
END
    for how in "--sites 1" "--sites 2" "--engine reference"; do
        status 0 tra run -q $how p.tra
        is $'j,value\na,270\nb,360\nc,450' tra head s.h5
    done
    printf 'input t from "t.csv"\ns[j] = sum t[j]\noutput s\n' >p.tra
    told 2 tra check p.tra
}

@test "a column may be called by its table wherever that is part of what is read" {
    gives 'code,y 1,6 2,5' 'Y = project(join(select(L, v > 3), C, L.code == C.g), L.code, y = C.w)'
    gives 'g,n 2,x 1,y' 'S = L' 'Y = project(join(C, select(S, S.v > 5), C.g == S.code), C.g, n = C.name)'
    gives 'w,n 5,1 6,1' 'Y = order(group(join(L, C, code == g), [C.w], n = count(L.v)), [C.w])'
    gives 'code,name,C_name,C2_name 1,a,y,y 2,b,x,x' \
        'Y = project(join(join(L, C, code == g), C, code == g), code, name, C_name, C2_name)'
    gives 'v,r 10,1 20,2' \
        'W = window(project(join(L, C, code == g), L.v, C.w), [], [C.w desc], r = row_number())' 'Y = project(W, L.v, r)'
    refused "'L.v' stands for no column of G, or for several" 'G = group(L, [name], n = count())' 'Y = select(G, L.v > 3)'
    has 'its columns are name, n'
    refused "'L.nam' stands for no column of L, or for several" 'Y = select(L, L.nam == "a")'
    has 'did you mean name?'
    refused "'M.g' stands for no column of C, or for several" 'Y = select(C, M.g == 1)'
    refused 'what is computed has a name: name = expression' \
        'J = join(join(L, C, code == g), project(C, h = g, name), g == h)' 'Y = project(J, C.g)'
    refused "no part of this condition is an equality" 'Y = join(select(L, v > 3), select(L, v < 30), L.code == L.code)'
    gives 'n,m 2,2' 'D = project(C, code = g, w)' 'Y = group(join(L, D, code == code), [], n = count(D.code), m = count(L.code))'
    for how in left outer; do # the key is that of L where D has no row
        refused "'D.code' stands for no column" 'D = project(C, code = g, w)' "Y = select(join(L, D, code == code, how = $how), D.code > 1)"
    done
    for how in right outer; do
        refused "'L.code' stands for no column" 'D = project(C, code = g, w)' "Y = select(join(L, D, code == code, how = $how), L.code > 1)"
    done
}

@test "group and window have expressions of their functions" {
    gives 'name,x,n,d,m a,5,1,0,11 b,10,1,0,21 soylent,1.5,1,0,4' \
        'Y = group(L, [name], x = sum(v) / (count() + 1), n = count(), d = max(v) - min(v), m = max(mode(v), 0) + 1)'
    gives 'code,v,d,r 1,10,,1 2,20,10,2 9,3,-17,3' \
        'Y = window(project(L, code, v), [], [code], d = v - lag(v), r = row_number())'
    gives 'code,v,s 1,10,10 2,20,15 9,3,11.5' \
        'Y = window(project(L, code, v), [], [code], s = sum(v) / count(), frame = rows(-1, 0))'
    gives 'name,sum(v),x a,1,11 b,1,21 soylent,1,4' 'Y = group(L, [name], `sum(v)` = count(), x = sum(v) + 1)'
    gives 'code,lag(v),x 1,20,20 2,3,16 9,,' \
        'Y = project(window(project(L, code, v), [], [code], `lag(v)` = lead(v), x = lag(v) + lead(v)), code, `lag(v)`, x = ifnull(x, 0) + `lag(v)`)'
    refused "this table has no column 'v'" 'Y = group(L, [name], x = sum(v) + v)'
    has 'its columns are name, `sum(v)`'
    refused 'an aggregate has a name' 'Y = group(L, [name], sum(v) + 1)'
}

@test "what reads one table of a divided join selects of that before, unless others read the join" {
    local how
    awk 'BEGIN { print "k,v"; for (i = 0; i < 6000; i++) print i % 4 "," i }' >a.csv
    awk 'BEGIN { print "k,w"; for (i = 0; i < 6000; i++) print i % 4 "," (i % 7 ? i : "") }' >b.csv
    for how in '' ', how = left'; do
        printf '%s\n' 'input a from "a.csv"' 'input b from "b.csv"' "j = join(join(a, b, k == k$how), a, w == a.v$how, prefix = \"c_\")" \
            'Y = select(select(j, v < 40 && (isnull(w) || w > 5900)), v + w > 5920 || isnull(c_k))' 'output Y' >after.tra
        printf '%s\n' 'input a from "a.csv"' 'input b from "b.csv"' 's = select(a, v < 40)' \
            "j = select(join(s, b, k == k$how), isnull(w) || w > 5900)" \
            "Y = select(join(j, a, w == a.v$how, prefix = \"c_\"), v + w > 5920 || isnull(c_k))" 'output Y' >before.tra
        tra run -q before.tra
        tra digest -q Y.h5 >before
        for sites in 1 3; do
            tra run -q --sites $sites after.tra
            is "$(cat before)" tra digest -q Y.h5
        done
        tra explain --operators after.tra >alone
        grep -q 'select(v < 40)  *40 of' alone
        printf 'S = rows(j)\noutput S\n' >>after.tra
        tra explain --operators after.tra >shared
        ! grep -q 'select(v < 40)  *40 of' shared || return 1
    done
}

@test "of a divided join the larger right table is grouped before, where its groups are those of the join's keys" {
    local case key
    awk 'BEGIN { print "k,g,v,s"; for (i = 0; i < 3000; i++) print (i % 5 ? i % 7 : "") "," i % 3 "," i ",s" i % 11 }' >a.csv
    awk 'BEGIN { print "i,k,g,w,f"; for (i = 0; i < 9000; i++) print i "," (i % 6 ? i % 9 : "") "," i % 4 "," (i % 5 && i % 9 != 5 ? i % 100 : "") ",t" i % 13 }' >b.csv
    for case in 'k == k' 'k == k, how = left' 'k == k && g == g, how = left, nulls = match' 'k == k && k == g, how = left'; do
        printf '%s\n' 'input a from "a.csv"' 'input b from "b.csv"' 'B = project(b, i, k, g, w = i32(w), x = w / 8, f)' \
            "j = join(a, B, $case, prefix = \"r_\")" \
            'Y = group(j, [k, g, d = v % 2], n = count(), m = count(r_w), s = sum(r_w), x = mean(r_x), lo = min(r_f), hi = max(r_w))' \
            'output Y' >early.tra
        tra explain --operators early.tra >alone
        [[ $case == *'k == g'* ]] || grep -q 'group(\[`key 0' alone # that one is one node
        printf 'S = rows(j)\noutput S\n' | cat early.tra - >late.tra
        tra explain --operators late.tra >shared
        ! grep -q 'group(\[`key 0' shared || return 1
        tra run -q late.tra
        tra digest -q Y.h5 >late
        for sites in 1 3; do
            tra run -q --sites $sites early.tra
            is "$(cat late)" tra digest -q Y.h5
        done
    done
    # what may fail, goes by order, or is of both tables is grouped after
    for key in 's = sum(y)' 'l = last(w)' 's = sum(w + v)' 's = sum(ifnull(w, 1))'; do
        printf '%s\n' 'input a from "a.csv"' 'input b from "b.csv"' 'j = join(a, project(b, k, w, y = w * 1), k == k)' \
            "Y = group(j, [k], $key)" 'output Y' >Y.tra
        tra explain --operators Y.tra >plan
        ! grep -q 'group(\[`key' plan || return 1
    done
    # and where no key of the right table repeats
    printf '%s\n' 'input a from "a.csv"' 'input b from "b.csv"' 'j = join(project(a, i = v * 1), project(b, i, w = w * 1), i == i)' \
        'Y = group(j, [i], m = max(w))' 'output Y' >Y.tra
    tra explain --operators Y.tra >plan
    ! grep -q 'group(\[`key' plan || return 1
}
