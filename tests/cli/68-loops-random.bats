# Random programs with loops, and loops that are killed at random moments.
load helper

@test "random loops are the program with their bodies written out, under plans, sites, ceilings, and the reference" {
    status 0 "$PYTHON" "$ROOT/tests/property/loops.py" "$TRA" "$([[ ${TRA_TEST_LONG-} ]] && echo 500 || echo 8)" "${TRA_PROPERTY_SEED:-1}"
    has '0 wrong'
}

@test "loops that are killed at random moments end as those that are not, resumed as often as needed" {
    status 0 "$PYTHON" "$ROOT/tests/cli/loop-kills.py" "$TRA" "$([[ ${TRA_TEST_LONG-} ]] && echo 200 || echo 40)" \
        "$([[ ${TRA_TEST_LONG-} ]] && echo 900 || echo 22)" "${TRA_PROPERTY_SEED:-1}"
    has ' 0 wrong'
}
