"""Queries of our own over the tables of h2o and tpch: shapes that these benchmarks lack. name: the program, SQL."""

QUERIES = {
    "len_group": (
        """O = group(project(x, k = substr(id3, 3, 4), v3), [k], s = sum(v3), n = count())""",
        """select substr(id3,3,4) k, sum(v3) s, count(*) n from x group by 1"""),
    "case_sums": (
        """O = group(lineitem, [l_shipmode], a = sum(if(l_quantity > 30, l_extendedprice, 0.0)), b = sum(if(l_discount > 0.05 && l_tax < 0.04, 1, 0)), c = sum(if(l_returnflag == "R", l_quantity, 0)))""",
        """select l_shipmode, sum(case when l_quantity > 30 then l_extendedprice else 0 end) a, sum(case when l_discount > 0.05 and l_tax < 0.04 then 1 else 0 end) b, sum(case when l_returnflag = 'R' then l_quantity else 0 end) c from lineitem group by 1"""),
    "distinct_counts": (
        """O = group(lineitem, [l_shipmode, l_returnflag], a = distinct(l_partkey), b = distinct(l_suppkey))""",
        """select l_shipmode, l_returnflag, count(distinct l_partkey) a, count(distinct l_suppkey) b from lineitem group by 1,2"""),
    "distinct_global": (
        """O = group(lineitem, [], a = distinct(l_orderkey), b = distinct(l_partkey), c = distinct(l_shipdate))""",
        """select count(distinct l_orderkey) a, count(distinct l_partkey) b, count(distinct l_shipdate) c from lineitem"""),
    "quantiles_few": (
        """O = group(lineitem, [l_returnflag], a = median(l_extendedprice), b = quantile(l_extendedprice, 0.9), c = quantile(l_extendedprice, 0.99))""",
        """select l_returnflag, quantile_cont(l_extendedprice,0.5) a, quantile_cont(l_extendedprice,0.9) b, quantile_cont(l_extendedprice,0.99) c from lineitem group by 1"""),
    "quantiles_all": (
        """O = group(x, [], a = median(v3), b = quantile(v3, 0.25), c = quantile(v3, 0.75))""",
        """select quantile_cont(v3,0.5) a, quantile_cont(v3,0.25) b, quantile_cont(v3,0.75) c from x"""),
    "median_int_few": (
        """O = group(x, [id4], a = median(v2), b = median(v3))""",
        """select id4, quantile_cont(v2,0.5) a, quantile_cont(v3,0.5) b from x group by 1"""),
    "top3_cust": (
        """O = select(window(project(orders, o_custkey, o_orderkey, o_totalprice), [o_custkey], [o_totalprice desc, o_orderkey], r = row_number()), r <= 3)""",
        """select o_custkey, o_orderkey, o_totalprice, r from (select o_custkey, o_orderkey, o_totalprice, row_number() over (partition by o_custkey order by o_totalprice desc, o_orderkey) r from orders) where r <= 3"""),
    "top50_all": (
        """O = limit(order(lineitem, [l_extendedprice desc, l_orderkey, l_linenumber]), 50)""",
        """select * from lineitem order by l_extendedprice desc, l_orderkey, l_linenumber limit 50"""),
    "top100_join": (
        """O = limit(order(join(orders, customer, o_custkey == c_custkey), [o_totalprice desc, o_orderkey]), 100, from = 1000)""",
        """select orders.*, customer.* exclude (c_custkey) from orders join customer on o_custkey = c_custkey order by o_totalprice desc, o_orderkey limit 100 offset 1000"""),
    "select_few_all": (
        """O = select(lineitem, l_partkey == 12345)""",
        """select * from lineitem where l_partkey = 12345"""),
    "select_percent_all": (
        """O = select(lineitem, l_partkey < 2000 && l_quantity > 25)""",
        """select * from lineitem where l_partkey < 2000 and l_quantity > 25"""),
    "range_join": (
        """bands = project(select(part, p_partkey <= 200), lo = p_partkey * 1000, hi = p_partkey * 1000 + 500, p_brand)
O = group(join(project(lineitem, l_partkey, l_extendedprice, z = l_orderkey % 200000), bands, lo <= z && z < hi), [p_brand], n = count(), s = sum(l_extendedprice))""",
        """select p_brand, count(*) n, sum(l_extendedprice) s from lineitem, (select p_partkey*1000 lo, p_partkey*1000+500 hi, p_brand from part where p_partkey <= 200) b where lo <= l_orderkey % 200000 and l_orderkey % 200000 < hi group by 1"""),
    "anti": (
        """O = group(join(customer, select(orders, o_orderdate >= date "1997-01-01"), c_custkey == o_custkey, how = anti), [c_mktsegment], n = count(), s = sum(c_acctbal))""",
        """select c_mktsegment, count(*) n, sum(c_acctbal) s from customer where not exists (select * from orders where o_custkey = c_custkey and o_orderdate >= date '1997-01-01') group by 1"""),
    "anti_big": (
        """O = group(join(lineitem, select(orders, o_orderpriority == "1-URGENT"), l_orderkey == o_orderkey, how = anti), [l_shipmode], n = count(), s = sum(l_quantity))""",
        """select l_shipmode, count(*) n, sum(l_quantity) s from lineitem where not exists (select * from orders where o_orderkey = l_orderkey and o_orderpriority = '1-URGENT') group by 1"""),
    "union_group": (
        """a = project(select(lineitem, l_shipmode == "AIR"), k = l_suppkey, v = l_extendedprice)
b = project(partsupp, k = ps_suppkey, v = ps_supplycost * ps_availqty)
O = group(union(a, b), [k], s = sum(v), n = count())""",
        """select k, sum(v) s, count(*) n from (select l_suppkey k, l_extendedprice v from lineitem where l_shipmode = 'AIR' union all select ps_suppkey, ps_supplycost*ps_availqty from partsupp) group by 1"""),
    "six_keys": (
        """O = group(lineitem, [l_returnflag, l_linestatus, l_shipmode, l_shipinstruct, l_discount, l_linenumber], n = count(), s = sum(l_extendedprice))""",
        """select l_returnflag, l_linestatus, l_shipmode, l_shipinstruct, l_discount, l_linenumber, count(*) n, sum(l_extendedprice) s from lineitem group by all"""),
    "null_heavy": (
        """t = project(lineitem, l_suppkey, a = if(l_quantity > 10, null, l_extendedprice), b = if(l_discount > 0.02, null, l_quantity))
O = group(t, [l_suppkey], n = count(a), s = sum(a), m = mean(b), c = count(b), z = max(ifnull(a, l_suppkey * 1.0)))""",
        """select l_suppkey, count(a) n, sum(a) s, avg(b) m, count(b) c, max(coalesce(a, l_suppkey * 1.0)) z from (select l_suppkey, case when l_quantity > 10 then null else l_extendedprice end a, case when l_discount > 0.02 then null else l_quantity end b from lineitem) group by 1"""),
    "like_two": (
        """O = group(join(select(part, like(p_name, "%blue%") && !like(p_type, "%BRASS")), partsupp, p_partkey == ps_partkey), [p_brand], n = count(), s = sum(ps_supplycost), m = min(ps_availqty))""",
        """select p_brand, count(*) n, sum(ps_supplycost) s, min(ps_availqty) m from part, partsupp where p_partkey = ps_partkey and p_name like '%blue%' and p_type not like '%BRASS' group by 1"""),
    "group_expr": (
        """O = order(group(orders, [y = year(o_orderdate), m = month(o_orderdate)], n = count(), s = sum(o_totalprice), u = distinct(o_custkey)), [y, m])""",
        """select year(o_orderdate) y, month(o_orderdate) m, count(*) n, sum(o_totalprice) s, count(distinct o_custkey) u from orders group by 1,2 order by 1,2"""),
    "having": (
        """O = order(select(group(orders, [o_custkey], n = count(), s = sum(o_totalprice)), n > 20 && s > 4000000.0), [s desc, o_custkey])""",
        """select o_custkey, count(*) n, sum(o_totalprice) s from orders group by 1 having n > 20 and s > 4000000 order by s desc, o_custkey"""),
    "week_of": (
        """O = group(lineitem, [w = date_trunc("week", l_shipdate)], n = count(), s = sum(l_quantity))""",
        """select date_trunc('week', l_shipdate) w, count(*) n, sum(l_quantity) s from lineitem group by 1"""),
    "weekday_hour": (
        """t = project(lineitem, d = weekday(l_shipdate), m = month(l_receiptdate), dd = day(l_commitdate), l_quantity)
O = group(t, [d, m, dd], n = count(), s = sum(l_quantity))""",
        """select isodow(l_shipdate)-1 d, month(l_receiptdate) m, day(l_commitdate) dd, count(*) n, sum(l_quantity) s from lineitem group by 1,2,3"""),
    "concat_key": (
        """O = group(project(lineitem, k = concat(l_shipmode, "-", l_shipinstruct), l_quantity), [k], s = sum(l_quantity))""",
        """select l_shipmode || '-' || l_shipinstruct k, sum(l_quantity) s from lineitem group by 1"""),
    "concat_big": (
        """O = project(customer, k = concat(c_name, "/", c_phone), c_acctbal)""",
        """select c_name || '/' || c_phone k, c_acctbal from customer"""),
    "star": (
        """o = select(orders, o_orderdate >= date "1995-03-01" && o_orderdate < date "1995-06-01")
c = select(customer, c_mktsegment == "BUILDING" && c_acctbal > 5000.0)
j = join(join(join(lineitem, o, l_orderkey == o_orderkey), c, o_custkey == c_custkey), nation, c_nationkey == n_nationkey)
O = group(j, [n_name, l_returnflag], s = sum(l_extendedprice * (1 - l_discount)), n = count())""",
        """select n_name, l_returnflag, sum(l_extendedprice*(1-l_discount)) s, count(*) n from lineitem, orders, customer, nation where l_orderkey=o_orderkey and o_custkey=c_custkey and c_nationkey=n_nationkey and o_orderdate >= date '1995-03-01' and o_orderdate < date '1995-06-01' and c_mktsegment='BUILDING' and c_acctbal > 5000 group by 1,2"""),
    "star_rows": (
        """p = select(part, p_brand == "Brand#12" && p_size < 10)
s = join(supplier, select(nation, n_name == "FRANCE"), s_nationkey == n_nationkey)
O = project(join(join(lineitem, p, l_partkey == p_partkey), s, l_suppkey == s_suppkey), l_orderkey, l_linenumber, l_extendedprice, l_shipinstruct, p_name, s_name)""",
        """select l_orderkey, l_linenumber, l_extendedprice, l_shipinstruct, p_name, s_name from lineitem, part, supplier, nation where l_partkey=p_partkey and l_suppkey=s_suppkey and s_nationkey=n_nationkey and p_brand='Brand#12' and p_size<10 and n_name='FRANCE'"""),
    "join_both_big": (
        """O = group(join(lineitem, partsupp, l_partkey == ps_partkey && l_suppkey == ps_suppkey), [l_suppkey], s = sum(l_quantity * ps_supplycost))""",
        """select l_suppkey, sum(l_quantity*ps_supplycost) s from lineitem, partsupp where l_partkey=ps_partkey and l_suppkey=ps_suppkey group by 1"""),
    "group_join_having": (
        """g = select(group(lineitem, [l_partkey], q = sum(l_quantity)), q > 1100)
O = group(join(lineitem, g, l_partkey == l_partkey), [l_returnflag], n = count(), s = sum(l_extendedprice))""",
        """select l_returnflag, count(*) n, sum(l_extendedprice) s from lineitem where l_partkey in (select l_partkey from lineitem group by 1 having sum(l_quantity) > 1100) group by 1"""),
    "lag_diff": (
        """w = window(project(orders, o_custkey, o_orderdate, o_orderkey), [o_custkey], [o_orderdate, o_orderkey], p = lag(o_orderdate, 1))
O = group(project(w, d = o_orderdate - p), [], n = count(d), m = mean(d))""",
        """select count(d) n, avg(d) m from (select o_orderdate - lag(o_orderdate) over (partition by o_custkey order by o_orderdate, o_orderkey) d from orders)"""),
    "running": (
        """w = window(project(orders, o_orderdate, o_orderkey, o_totalprice), [], [o_orderdate, o_orderkey], s = sum(o_totalprice))
O = group(w, [y = year(o_orderdate)], m = max(s))""",
        """select year(o_orderdate) y, max(s) m from (select o_orderdate, sum(o_totalprice) over (order by o_orderdate, o_orderkey rows between unbounded preceding and current row) s from orders) group by 1"""),
    "g_wide_aggs": (
        """O = group(x, [id2], a = min(v1), b = max(v1), c = sum(v2), d = mean(v3), e = std(v3), f = min(v3), g = max(v3), n = count())""",
        """select id2, min(v1) a, max(v1) b, sum(v2) c, avg(v3) d, stddev(v3) e, min(v3) f, max(v3) g, count(*) n from x group by 1"""),
    "g_two_big": (
        """O = group(x, [id3, id6], n = count())""",
        """select id3, id6, count(*) n from x group by 1,2"""),
    "g_sum_id5id6": (
        """O = group(x, [id5, id6], s = sum(v3), n = count())""",
        """select id5, id6, sum(v3) s, count(*) n from x group by 1,2"""),
    "sort_all": (
        """O = order(project(lineitem, l_orderkey, l_shipdate, l_extendedprice), [l_shipdate, l_extendedprice desc])""",
        """select l_orderkey, l_shipdate, l_extendedprice from lineitem order by l_shipdate, l_extendedprice desc"""),
    "self_join": (
        """a = group(orders, [o_custkey, o_orderdate], n = count())
O = group(select(join(a, a, o_custkey == o_custkey, prefix = "b_"), o_orderdate < b_o_orderdate), [], n = count())""",
        """with a as (select o_custkey, o_orderdate from orders group by 1,2) select count(*) n from a, a b where a.o_custkey = b.o_custkey and a.o_orderdate < b.o_orderdate"""),
}
