# Random programs on tables, judged by sqlite3, and by DuckDB where it is installed.
load helper

@test "random programs on tables have the rows that SQL gives, in their order" {
    run "$PYTHON" "$ROOT/tests/property/sql.py" --tra "$TRA" --seed 5 --batches 2 --programs 6
    echo "$output" | sed 's/^# //' | head -n 40 >&3
    ((status == 0))
}
