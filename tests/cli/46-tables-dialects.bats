# CSV files as people have them: what is found out of their dialect, and what is left to options.
load helper

frame() { PYTHONPATH=$ROOT/tests/cli py "import frame
$1"; }
# want EXPRESSION TEXT [OPTION...]: the text, imported as a table, is the frame.
want() {
    printf '%b' "$2" >w.csv
    rm -f w.h5
    status 0 tra import --table w.csv -o w.h5 "${@:3}"
    said=$output
    frame "t = frame.read('w.h5'); assert t == $1, t" || { printf 'of %s\n' "$2"; return 1; }
}

@test "times, words and quoted lines are one column, though colons, blanks or semicolons stand in them" {
    want '{"at": ["01:02:03", "04:05:06"]}' 'at\n01:02:03\n04:05:06\n'
    want '{"at": [np.datetime64("2020-01-01T01:02:03"), np.datetime64("2020-01-01T02:02:03")]}' 'at\n2020-01-01 01:02:03\n2020-01-01 02:02:03\n'
    want '{"how": ["TAKE BACK RETURN", "DELIVER IN PERSON"]}' 'how\nTAKE BACK RETURN\nDELIVER IN PERSON\n'
    want '{"a;b": ["1;2", "3;4"]}' '"a;b"\n"1;2"\n"3;4"\n'
    want '{"a": [1, 2], "b": ["x", "y"]}' 'a b\n1 x\n2 y\n'
    want '{"a": ["x"], "b": [","]}' 'a , b\n"x"  ,","\n'
}

@test "lines above a header are left out, and said; what may be a record is not" {
    want '{"n": [1.5, 2.5], "t": ["a", "b"], "m": [3, 4]}' 'a bad starting line\nn,t,m\n1.5,a,3\n2.5,b,4\n'
    [[ $said == *"above the header in line 2 is left out"* ]]
    want '{"n": [1.5], "t": ["a"], "m": [3], "k": [4]}' 'Report,2024\n\nof May\nn,t,m,k\n1.5,a,3,4\n'
    [[ $said == *"above the header in line 4 is left out"* ]]
    printf 'x\n1,2\n3,4\n' >t.csv # no header follows: the first record lacks a cell
    status 3 tra import --table t.csv -o t.h5
    printf 'a,b,c\n1,2,3,4\n1,2,3,4\n' >t.csv # a header that lacks one
    status 3 tra import t.csv -o t.h5
    want '{"a": [1, 3], "b": [2, 4]}' 'a,b,\n1,2\n3,4\n'
}

@test "comments between records, where comments begin the file" {
    want '{"a": [1, 6], "b": [3, 7]}' '# few\na;b\n# more, of it\n1;3\n6;7\n'
    [[ $said == *"lines that begin with # are left out"* ]]
    want '{"a": ["#1", "#2"], "b": [3, 7]}' '# few\na;b\n#1;3\n#2;7\n'
    [[ $said != *"lines that begin with #"* ]]
    want '{"a": ["# x", "6"], "b": [None, 7]}' 'a;b\n# x\n6;7\n' --comment none --pad-short
}

@test "a first line like those below it is a row, unless it may be a header" {
    want '{"column_1": ["1.2.3", "1.4.1"], "column_2": ["x", "y"]}' '1.2.3,x\n1.4.1,y\n'
    want '{"column_1": ["1.2.3", "2.4.5", "7"]}' '1.2.3\n2.4.5\n7\n'
    want '{"v": ["1.2.3", "2.4.5"]}' 'v\n1.2.3\n2.4.5\n'
}

@test "--names say how many columns there are, where records may be longer or shorter, or there are none" {
    want '{"p": [1, 4], "q": ["x", "y"]}' '1,x,3\n4,y\n' --names p,q --no-header --drop-long
    want '{"p": [1, 4], "q": ["x", "y"], "r": [None, None]}' '1,x\n4,y\n' --names p,q,r --no-header --pad-short
    want '{"p": [], "q": []}' '' --names p,q
    want '{"a,b": [1], "the \"c\"": [2]}' '1,2\n' --no-header --names '"a,b","the ""c"""'
    want '{"p": [], "q": []}' 'a,b\n' --names p,q --skip 1 --no-header
    want '{"a,b": [1], "column_2": [2], "column_3": [3]}' '"a,b"\n"1",2,3\n' --pad-short --header
    printf '1,x,3\n4,y,6\n' >w.csv
    status 2 tra import w.csv -o w.h5 --table --no-header --names p,q
    [[ $output == *"2 names for 3 columns of w.csv (--drop-long leaves the others out)"* ]]
    status 2 tra import w.csv -o w.h5 --table --no-header --names p,q,q
    [[ $output == *'must differ'* ]]
}

@test "words that programs write for no value are the same for tables and for matrices" {
    printf 'NA\nn/a\nN.A.\n<NA>\nNull\nNone\nnil\nmissing\n\\N\n-\n--\n---\n?\n.\n*\n#N/A\n#NA\n#DIV/0!\n#VALUE!\n#REF!\n#NUM!\n#NAME?\n#NULL!\n' >words
    n=0
    while read -r word; do
        want '{"v": [1, None, 3]}' "v\n1\n${word/\\/\\\\}\n3\n" --table
        printf '%s,2\n3,4\n' "$word" >m.csv # no header, but a row with a hole
        status 3 tra import m.csv --matrix -o m.h5
        [[ $output == *'missing numbers are nan'* || $word == '#'* ]] || { echo "$word: $output"; return 1; }
        if [[ $word != '#'* ]]; then
            status 0 tra import m.csv --matrix -o m.h5 --null "$word"
            status 0 tra import m.csv -o m.h5
            [[ $output == *'column_1  i32, 1 NULL'* ]]
        fi
        n=$((n + 1))
    done <words
    ((n == 23))
    printf 'a,b\n1,x\n' >s.csv
    status 0 tra import - -o s.h5 <s.csv # of a stream no less is known than of a file
    [[ $output == *'b  string'* ]]
    status 3 tra import - -o s.h5 --matrix <s.csv
    [[ $output == *'"x" is not a number (--table takes columns of words, too)' ]]
}

# matrix TEXT WANT [OPTION...]: the text, imported, is the matrix.
matrix() {
    printf '%b' "$1" >m.csv
    rm -f m.h5
    status 0 tra import m.csv -o m.h5 "${@:3}"
    said=$output
    py 'd = h5py.File("m.h5")["data"]; assert isinstance(d, h5py.Dataset) and d[()].tolist() == eval(sys.argv[1]), d' "$2" ||
        { printf 'of %s\n' "$1"; return 1; }
}

@test "numbers below titles are read as a matrix too; without a header the first row tells nothing else" {
    matrix 'Title of it\n\na,b,c\n1,2,3\n4,5,6\n' '[[1, 2, 3], [4, 5, 6]]' --matrix
    [[ $said == *"above the header in line 3 is left out"* ]]
    matrix 'Title,,\n,,\na,b,c\n1,2,3\n' '[[1, 2, 3]]' --matrix --dtype i32 --block 1x2
    matrix '# of\na,b\n# more\n1,2\n' '[[1, 2]]' --matrix
    matrix 'Title\n1,2\n3,4\n' '[[1, 2], [3, 4]]' --skip 1
    printf 'Title of it\n1,2,3\n' >m.csv
    status 3 tra import m.csv -o m.h5
    printf 'a,b\n1,2\n\nTotal: 1\n' >m.csv
    status 3 tra import m.csv -o m.h5
    [[ $output == *"line 4, byte 10, column 1: too few cells"* ]]
}

@test "a first row of numbers and dates as options say they are written is a row" {
    matrix '1;2,5;3\n4;5;6\n' '[[1, 2.5, 3], [4, 5, 6]]' --decimal ,
    matrix '1.234;2\n4.000;5\n' '[[1234, 2], [4000, 5]]' --thousands . --decimal ,
    want '{"column_1": [np.datetime64("2020-01-31")], "column_2": ["x"]}' '31 Jan 2020,x\n' --date-format '%d %b %Y' --no-header
    want '{"column_1": [np.datetime64("2020-01-31"), np.datetime64("2020-02-01")], "column_2": [1, 2]}' \
        '31 Jan 2020,1\n1 Feb 2020,2\n' --date-format '%d %b %Y'
    want '{"at": [np.datetime64("2020-01-31T13:05")]}' 'at\n"1/31/2020, 1:5 PM"\n' --timestamp-format '%-m/%d/%Y, %-I:%-M %p'
    status 2 tra import w.csv -o w.h5 --date-format '%Y%-'
}

@test "what can be read but once, such as a named pipe, is a matrix of all that it brings, and a table where --table says so" {
    mkfifo m.csv
    for how in --quiet "--dtype i32" --table; do
        timeout 20 seq -f '%.0f,2' 20000 >m.csv &
        # shellcheck disable=SC2086
        status 0 timeout 20 "$TRA" import -q m.csv $how -o m.h5
        wait $!
        py 'd = h5py.File("m.h5")["data"]; d = d[:, 0] if isinstance(d, h5py.Dataset) else d["column_1"][()]
assert len(d) == 20000 and d.sum() == 20000 * 20001 // 2, d'
    done
}

@test "what was found of a table, as JSON" {
    printf 'a;b\n1;x\n;y\nz;w;v\n' >t.csv
    status 0 bash -c '"$0" import --format json --rejects r.csv t.csv -o t.h5 2>said' "$TRA"
    py 'j = json.loads(sys.argv[1]); v = j["columns"]
assert (j["rows"], j["rejected"], j["header"], j["delimiter"], j["format"]) == (2, 1, True, ";", "csv"), j
assert v == [{"name": "a", "type": "i32", "nulls": 1}, {"name": "b", "type": "string", "nulls": 0}], v' "$output"
}
