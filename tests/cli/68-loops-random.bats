# Random programs with loops, and loops that are killed at random moments.
load helper

@test "random loops are the program with their bodies written out, under plans, sites, ceilings, and the reference" {
    status 0 "$PYTHON" "$ROOT/tests/property/loops.py" "$TRA" "$([[ ${TRA_TEST_LONG-} ]] && echo 500 || echo 8)" "${TRA_PROPERTY_SEED:-1}"
    has '0 wrong'
}

@test "programs that mix loops, storages, tables and files are the reference's, also under the least memory that is told" {
    MIXED_LOOSE=1 status 0 "$PYTHON" "$ROOT/tests/property/mixed.py" "$TRA" "$([[ ${TRA_TEST_LONG-} ]] && echo 300 || echo 5)" \
        "${TRA_PROPERTY_SEED:-2024}"
    has ' 0 wrong'
}

@test "loops that are killed at random moments end as those that are not, resumed as often as needed" {
    status 0 "$PYTHON" "$ROOT/tests/cli/loop-kills.py" "$TRA" "$([[ ${TRA_TEST_LONG-} ]] && echo 200 || echo 40)" \
        "$([[ ${TRA_TEST_LONG-} ]] && echo 900 || echo 22)" "${TRA_PROPERTY_SEED:-1}"
    has ' 0 wrong'
}

@test "what is saved of a loop takes the room of two turns, whatever the number of turns" {
    cat >p.tra <<'END'
state x = gen(0, [1000])
repeat 6000 as t { next x = x + t; m = sum(x); trace log(m) }
output x
output log
END
    tra run -q p.tra
    tra digest x.h5 log.h5 >want
    mkdir saved
    timeout -s TERM 1 "$TRA" run -q --checkpoint 0 --scratch saved p.tra || [ $? -eq 124 ]
    [ "$(cat saved/*/*.dat 2>/dev/null | wc -c)" -lt 600000 ]
    tra run -q --resume --checkpoint 0 --scratch saved p.tra
    tra digest x.h5 log.h5 | diff - want
}
