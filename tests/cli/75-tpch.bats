# Queries of TPC-H as programs, on generated tables, with the answers of sqlite3.
load helper

@test "queries 1, 3, 5 and 6 of TPC-H have the answers that SQL gives" {
    "$PYTHON" "$BATS_TEST_DIRNAME/tpch.py" make
    for t in region nation supplier customer orders lineitem; do
        tra import -q --table --block 8192 $t.csv -o $t.h5
    done
    cat >tpch.tra <<'END'
input region from "region.h5"
input nation from "nation.h5"
input supplier from "supplier.h5"
input customer from "customer.h5"
input orders from "orders.h5"
input lineitem from "lineitem.h5"

# 1: pricing summary
shipped = project(select(lineitem, l_shipdate <= date "1998-12-01" - 90), l_returnflag, l_linestatus, l_quantity,
    l_extendedprice, l_discount, price = l_extendedprice * (1 - l_discount),
    charge = l_extendedprice * (1 - l_discount) * (1 + l_tax))
q1 = group(shipped, [l_returnflag, l_linestatus], sum_qty = sum(l_quantity), sum_base_price = sum(l_extendedprice),
    sum_disc_price = sum(price), sum_charge = sum(charge), avg_qty = mean(l_quantity),
    avg_price = mean(l_extendedprice), avg_disc = mean(l_discount), count_order = count())
output q1

# 3: shipping priority
building = select(customer, c_mktsegment == "BUILDING")
early = join(select(orders, o_orderdate < date "1995-03-15"), building, o_custkey == c_custkey, how = semi)
late = project(select(lineitem, l_shipdate > date "1995-03-15"), l_orderkey, r = l_extendedprice * (1 - l_discount))
due = join(late, early, l_orderkey == o_orderkey, expect = "m:1")
by_order = group(due, [l_orderkey, o_orderdate, o_shippriority], revenue = sum(r))
first = limit(order(by_order, [revenue desc, o_orderdate]), 10)
q3 = project(first, l_orderkey, revenue, o_orderdate, o_shippriority)
output q3

# 5: local supplier volume
asia = join(nation, select(region, r_name == "ASIA"), n_regionkey == r_regionkey, how = semi)
sellers = join(supplier, asia, s_nationkey == n_nationkey, expect = "m:1")
year = select(orders, o_orderdate >= date "1994-01-01" && o_orderdate < date "1995-01-01")
bought = join(year, customer, o_custkey == c_custkey, expect = "m:1", matched = left)
items = join(lineitem, bought, l_orderkey == o_orderkey, expect = "m:1")
local = join(items, sellers, l_suppkey == s_suppkey && c_nationkey == s_nationkey)
volume = group(local, [n_name], revenue = sum(l_extendedprice * (1 - l_discount)))
q5 = order(volume, [revenue desc])
output q5

# 6: forecasting revenue change
cheap = select(lineitem, l_shipdate >= date "1994-01-01" && l_shipdate < date "1995-01-01" && l_discount >= 0.05 &&
    l_discount <= 0.07 && l_quantity < 24)
q6 = group(cheap, [], revenue = sum(l_extendedprice * l_discount))
output q6
END
    for sites in 1 2; do
        status 0 tra run -q --sites $sites --memory 192M tpch.tra
        for q in q1 q3 q5 q6; do
            tra export -q --to csv $q.h5 -o $q.csv
            "$PYTHON" "$BATS_TEST_DIRNAME/tpch.py" same $q $q.csv
        done
    done
}
