# Windows: random ones are judged by sqlite3; what check refuses; ceilings, sites, plans and runs that are killed.
load helper

# windows SEED ROWS BLOCK SHAPE OPTION...: random windows over a random table, judged.
windows() {
    local w
    "$PYTHON" "$BATS_TEST_DIRNAME/windows.py" make "$1" "$2" "$4" || return
    tra import -q --table --block "$3" --types i=i32,k=string,n=i32,x=f64,d=date,t=timestamp,s=string t.csv -o t.h5 ||
        return
    rm -f W*.h5
    tra run -q w.tra "${@:5}" || return
    for w in W*.h5; do tra export -q "$w" -o "${w%.h5}.csv" || return; done
    "$PYTHON" "$BATS_TEST_DIRNAME/windows.py" judge
}

@test "random windows are as sqlite3 has them, of one block and of several" {
    for seed in 1 2 3 4 5 6; do
        status 0 windows $seed 60 100 ""
        status 0 windows 1$seed 60 13 ""
    done
}
