# Random programs on tables, judged by sqlite3, and by DuckDB where it is installed.
load helper

@test "random programs on tables have the rows that SQL gives, in their order" {
    local batches=2
    [ -z "${TRA_TEST_LONG-}" ] || batches=40
    run "$PYTHON" "$ROOT/tests/property/sql.py" --tra "$TRA" --seed 5 --batches $batches --programs 6
    echo "$output" | sed 's/^# //' | head -n 40 >&3
    ((status == 0))
}

@test "strings that are made of rows are those of the reference evaluator, on several ranks and with the least memory" {
    run "$PYTHON" "$ROOT/tests/property/strings.py" --tra "$TRA" --seed 46 --programs ${TRA_TEST_LONG:+20}4
    echo "$output" | sed 's/^# //' | head -n 40 >&3
    ((status == 0))
}
