"""The 22 queries of TPC-H as programs and as SQL, and tables in its manner by a generator of our own.

The result of each program is O. Values are drawn by hashes of keys, so that every machine has the same tables; texts that
no query looks at are left out. Numbers of rows are those of TPC-H at this scale factor."""

TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]


def generator(scale):
    """Statements of DuckDB that make the tables."""
    parts, suppliers, customers, orders = (int(x * scale) for x in (200000, 10000, 150000, 1500000))

    def draw(what, n):  # 0 .. n - 1
        return f"cast(hash(i, '{what}') % {n} as bigint)"

    def of(what, words):
        return f"[{', '.join(repr(w) for w in words)}][1 + {draw(what, len(words))}]"

    money = lambda what, low, high: f"({low} + {draw(what, high - low + 1)}) / 100.0"
    colors = ["almond", "azure", "blue", "chocolate", "coral", "cream", "forest", "green", "indian", "ivory", "lace", "linen",
              "maroon", "navy", "olive", "peru", "puff", "red", "rose", "tan"]
    comment = lambda what, odd, one_in: f"case when {draw(what, one_in)} = 0 then '{odd}' else 'carefully final deposits ' || {draw(what + 'x', 1000)} end"
    nations = ["ALGERIA", "ARGENTINA", "BRAZIL", "CANADA", "EGYPT", "ETHIOPIA", "FRANCE", "GERMANY", "INDIA", "INDONESIA", "IRAN", "IRAQ",
               "JAPAN", "JORDAN", "KENYA", "MOROCCO", "MOZAMBIQUE", "PERU", "CHINA", "ROMANIA", "SAUDI ARABIA", "VIETNAM", "RUSSIA",
               "UNITED KINGDOM", "UNITED STATES"]
    regions = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
    lies_in = [0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1]
    phone = "(10 + nation)::varchar || '-' || (100 + " + draw("phone", 900) + ")::varchar"
    line = lambda what, n: f"cast(hash(l_orderkey * 8 + l_linenumber, '{what}') % {n} as bigint)"
    return {
        "region": "select * from (values " + ", ".join(f"({i}, '{r}')" for i, r in enumerate(regions)) + ") t(r_regionkey, r_name)",
        "nation": "select * from (values " + ", ".join(f"({i}, '{n}', {r})" for i, (n, r) in enumerate(zip(nations, lies_in)))
                  + ") t(n_nationkey, n_name, n_regionkey)",
        "supplier": f"""select i s_suppkey, 'Supplier#' || lpad(i::varchar, 9, '0') s_name, nation s_nationkey, 'street ' || i s_address,
            {phone} s_phone, {money('balance', -99999, 999999)} s_acctbal,
            {comment('s', 'slow Customer some Complaints', 1000)} s_comment
            from (select i, {draw('nation', 25)} nation from range(1, {suppliers + 1}) t(i))""",
        "customer": f"""select i c_custkey, 'Customer#' || lpad(i::varchar, 9, '0') c_name, nation c_nationkey, 'road ' || i c_address,
            {phone} c_phone, {money('owns', -99999, 999999)} c_acctbal,
            {of('segment', ['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'HOUSEHOLD', 'MACHINERY'])} c_mktsegment,
            'note ' || {draw('note', 5000)} c_comment
            from (select i, {draw('cnation', 25)} nation from range(1, {customers + 1}) t(i))""",
        "part": f"""select i p_partkey, {of('c1', colors)} || ' ' || {of('c2', colors)} || ' ' || {of('c3', colors)} p_name,
            'Manufacturer#' || (1 + m) p_mfgr, 'Brand#' || (1 + m) || (1 + {draw('brand', 5)}) p_brand,
            {of('t1', ['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'])} || ' ' ||
            {of('t2', ['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'])} || ' ' ||
            {of('t3', ['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER'])} p_type, 1 + {draw('size', 50)} p_size,
            {of('k1', ['SM', 'MED', 'JUMBO', 'WRAP', 'LG'])} || ' ' ||
            {of('k2', ['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'])} p_container
            from (select i, {draw('maker', 5)} m from range(1, {parts + 1}) t(i))""",
        "partsupp": f"""select 1 + i // 4 ps_partkey, 1 + (i // 4 + (i % 4) * ({suppliers} // 4 + i // 4 // {suppliers})) % {suppliers} ps_suppkey,
            1 + {draw('has', 9999)} ps_availqty, {money('costs', 100, 100000)} ps_supplycost from range({4 * parts}) t(i)""",
        "orders": f"""select i // 8 * 32 + i % 8 + 1 o_orderkey, 3 * {draw('cust', customers // 3)} + 1 + {draw('third', 2)} o_custkey,
            {of('status', ['F', 'O', 'P'])} o_orderstatus, {money('total', 90000, 50000000)} o_totalprice,
            date '1992-01-01' + {draw('day', 2406)}::int o_orderdate,
            {of('priority', ['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'])} o_orderpriority,
            {comment('o', 'special quick requests', 70)} o_comment, 0 o_shippriority from range({orders}) t(i)""",
        "lineitem": f"""select l_orderkey, part l_partkey,
            1 + (part - 1 + {line('which', 4)} * ({suppliers} // 4 + (part - 1) // {suppliers})) % {suppliers} l_suppkey, l_linenumber,
            quantity l_quantity, quantity * (90000 + part % 20001) / 100.0 l_extendedprice, {line('discount', 11)} / 100.0 l_discount,
            {line('tax', 9)} / 100.0 l_tax,
            case when received <= date '1995-06-17' then ['R', 'A'][1 + {line('flag', 2)}] else 'N' end l_returnflag,
            case when ship > date '1995-06-17' then 'O' else 'F' end l_linestatus, ship l_shipdate,
            o_orderdate + (30 + {line('commit', 61)})::int l_commitdate, received l_receiptdate,
            ['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'][1 + {line('instruct', 4)}] l_shipinstruct,
            ['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'][1 + {line('mode', 7)}] l_shipmode
            from (select *, ship + (1 + {line('receipt', 30)})::int received from (select l_orderkey, l_linenumber, o_orderdate,
                1 + {line('part', parts)} part, 1 + {line('quantity', 50)} quantity, o_orderdate + (1 + {line('ship', 121)})::int ship
                from (select o_orderkey l_orderkey, o_orderdate, unnest(range(1, 2 + cast(hash(o_orderkey, 'lines') % 7 as bigint))) l_linenumber
                      from orders)))"""}


# name: the program, SQL
QUERIES = {
    "q1": ("""shipped = project(select(lineitem, l_shipdate <= date "1998-09-02"), l_returnflag, l_linestatus, l_quantity, l_extendedprice,
    l_discount, price = l_extendedprice * (1 - l_discount), charge = l_extendedprice * (1 - l_discount) * (1 + l_tax))
O = group(shipped, [l_returnflag, l_linestatus], a = sum(l_quantity), b = sum(l_extendedprice), c = sum(price), d = sum(charge),
    e = mean(l_quantity), f = mean(l_extendedprice), g = mean(l_discount), h = count())""",
           """select l_returnflag, l_linestatus, sum(l_quantity) a, sum(l_extendedprice) b, sum(l_extendedprice * (1 - l_discount)) c,
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) d, avg(l_quantity) e, avg(l_extendedprice) f, avg(l_discount) g, count(*) h
    from lineitem where l_shipdate <= date '1998-09-02' group by 1, 2 order by 1, 2"""),
    "q2": ("""near = join(supplier, join(nation, select(region, r_name == "EUROPE"), n_regionkey == r_regionkey, how = semi),
    s_nationkey == n_nationkey)
offers = join(partsupp, near, ps_suppkey == s_suppkey)
wanted = select(part, p_size == 15 && like(p_type, "%BRASS"))
there = join(offers, wanted, ps_partkey == p_partkey)
least = group(there, [ps_partkey], low = min(ps_supplycost))
best = select(join(there, least, ps_partkey == ps_partkey), ps_supplycost == low)
O = limit(order(project(best, s_acctbal, s_name, n_name, p_partkey = ps_partkey, p_mfgr, s_address, s_phone, s_comment),
    [s_acctbal desc, n_name, s_name, p_partkey]), 100)""",
           """select s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment from part, supplier, partsupp, nation, region
    where p_partkey = ps_partkey and s_suppkey = ps_suppkey and p_size = 15 and p_type like '%BRASS' and s_nationkey = n_nationkey
    and n_regionkey = r_regionkey and r_name = 'EUROPE' and ps_supplycost = (select min(ps_supplycost)
    from partsupp, supplier, nation, region where p_partkey = ps_partkey and s_suppkey = ps_suppkey and s_nationkey = n_nationkey
    and n_regionkey = r_regionkey and r_name = 'EUROPE') order by s_acctbal desc, n_name, s_name, p_partkey limit 100"""),
    "q3": ("""building = select(customer, c_mktsegment == "BUILDING")
early = join(select(orders, o_orderdate < date "1995-03-15"), building, o_custkey == c_custkey, how = semi)
late = project(select(lineitem, l_shipdate > date "1995-03-15"), l_orderkey, r = l_extendedprice * (1 - l_discount))
due = join(late, early, l_orderkey == o_orderkey, expect = "m:1")
by_order = group(due, [l_orderkey, o_orderdate, o_shippriority], revenue = sum(r))
O = limit(order(by_order, [revenue desc, o_orderdate]), 10)""",
           """select l_orderkey, o_orderdate, o_shippriority, sum(l_extendedprice * (1 - l_discount)) revenue from customer, orders, lineitem
    where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate < date '1995-03-15'
    and l_shipdate > date '1995-03-15' group by 1, 2, 3 order by revenue desc, o_orderdate limit 10"""),
    "q4": ("""quarter = select(orders, o_orderdate >= date "1993-07-01" && o_orderdate < date "1993-10-01")
late = join(quarter, select(lineitem, l_commitdate < l_receiptdate), o_orderkey == l_orderkey, how = semi)
O = group(late, [o_orderpriority], n = count())""",
           """select o_orderpriority, count(*) n from orders where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01'
    and exists (select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate) group by 1 order by 1"""),
    "q5": ("""asia = join(nation, select(region, r_name == "ASIA"), n_regionkey == r_regionkey, how = semi)
sellers = join(supplier, asia, s_nationkey == n_nationkey, expect = "m:1")
year = select(orders, o_orderdate >= date "1994-01-01" && o_orderdate < date "1995-01-01")
bought = join(year, customer, o_custkey == c_custkey, expect = "m:1")
items = join(lineitem, bought, l_orderkey == o_orderkey, expect = "m:1")
near = join(items, sellers, l_suppkey == s_suppkey && c_nationkey == s_nationkey)
O = order(group(near, [n_name], revenue = sum(l_extendedprice * (1 - l_discount))), [revenue desc])""",
           """select n_name, sum(l_extendedprice * (1 - l_discount)) revenue from customer, orders, lineitem, supplier, nation, region
    where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey
    and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'ASIA' and o_orderdate >= date '1994-01-01'
    and o_orderdate < date '1995-01-01' group by 1 order by revenue desc"""),
    "q6": ("""cheap = select(lineitem, l_shipdate >= date "1994-01-01" && l_shipdate < date "1995-01-01" && l_discount >= 0.05 &&
    l_discount <= 0.07 && l_quantity < 24)
O = group(cheap, [], revenue = sum(l_extendedprice * l_discount))""",
           """select sum(l_extendedprice * l_discount) revenue from lineitem where l_shipdate >= date '1994-01-01'
    and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24"""),
    "q7": ("""two = select(nation, n_name == "FRANCE" || n_name == "GERMANY")
sellers = project(join(supplier, two, s_nationkey == n_nationkey), s_suppkey, seller = n_name)
buyers = project(join(customer, two, c_nationkey == n_nationkey), c_custkey, buyer = n_name)
their = project(join(orders, buyers, o_custkey == c_custkey), o_orderkey, buyer)
years = select(lineitem, l_shipdate >= date "1995-01-01" && l_shipdate <= date "1996-12-31")
sold = join(years, sellers, l_suppkey == s_suppkey)
both = select(join(sold, their, l_orderkey == o_orderkey), seller != buyer)
O = group(both, [seller, buyer, y = year(l_shipdate)], revenue = sum(l_extendedprice * (1 - l_discount)))""",
           """select s.n_name seller, c.n_name buyer, year(l_shipdate) y, sum(l_extendedprice * (1 - l_discount)) revenue
    from supplier, lineitem, orders, customer, nation s, nation c where s_suppkey = l_suppkey and o_orderkey = l_orderkey
    and c_custkey = o_custkey and s_nationkey = s.n_nationkey and c_nationkey = c.n_nationkey and ((s.n_name = 'FRANCE'
    and c.n_name = 'GERMANY') or (s.n_name = 'GERMANY' and c.n_name = 'FRANCE')) and l_shipdate between date '1995-01-01'
    and date '1996-12-31' group by 1, 2, 3 order by 1, 2, 3"""),
    "q8": ("""steel = project(select(part, p_type == "ECONOMY ANODIZED STEEL"), p_partkey)
america = join(nation, select(region, r_name == "AMERICA"), n_regionkey == r_regionkey, how = semi)
buyers = join(customer, america, c_nationkey == n_nationkey, how = semi)
years = select(orders, o_orderdate >= date "1995-01-01" && o_orderdate <= date "1996-12-31")
theirs = project(join(years, buyers, o_custkey == c_custkey, how = semi), o_orderkey, o_orderdate)
items = join(join(lineitem, steel, l_partkey == p_partkey, how = semi), theirs, l_orderkey == o_orderkey)
sold = join(items, project(join(supplier, nation, s_nationkey == n_nationkey), s_suppkey, n_name), l_suppkey == s_suppkey)
volume = project(sold, y = year(o_orderdate), v = l_extendedprice * (1 - l_discount), n_name)
sums = group(volume, [y], all_of = sum(v), brazil = sum(if(n_name == "BRAZIL", v, 0.0)))
O = project(sums, y, part_of = brazil / all_of)""",
           """select y, sum(case when n_name = 'BRAZIL' then v else 0 end) / sum(v) part_of from (select year(o_orderdate) y,
    l_extendedprice * (1 - l_discount) v, s.n_name from part, supplier, lineitem, orders, customer, nation c, nation s, region
    where p_partkey = l_partkey and s_suppkey = l_suppkey and l_orderkey = o_orderkey and o_custkey = c_custkey
    and c_nationkey = c.n_nationkey and c.n_regionkey = r_regionkey and r_name = 'AMERICA' and s_nationkey = s.n_nationkey
    and o_orderdate between date '1995-01-01' and date '1996-12-31' and p_type = 'ECONOMY ANODIZED STEEL') group by 1 order by 1"""),
    "q9": ("""green = project(select(part, like(p_name, "%green%")), p_partkey)
items = join(lineitem, green, l_partkey == p_partkey, how = semi)
costs = join(items, partsupp, l_partkey == ps_partkey && l_suppkey == ps_suppkey)
dated = join(costs, project(orders, o_orderkey, o_orderdate), l_orderkey == o_orderkey)
sold = join(dated, project(join(supplier, nation, s_nationkey == n_nationkey), s_suppkey, n_name), l_suppkey == s_suppkey)
O = order(group(sold, [n_name, y = year(o_orderdate)], profit = sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)),
    [n_name, y desc])""",
           """select n_name, year(o_orderdate) y, sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity) profit
    from part, supplier, lineitem, partsupp, orders, nation where s_suppkey = l_suppkey and ps_suppkey = l_suppkey
    and ps_partkey = l_partkey and p_partkey = l_partkey and o_orderkey = l_orderkey and s_nationkey = n_nationkey
    and p_name like '%green%' group by 1, 2 order by 1, 2 desc"""),
    "q10": ("""quarter = select(orders, o_orderdate >= date "1993-10-01" && o_orderdate < date "1994-01-01")
back = join(select(lineitem, l_returnflag == "R"), quarter, l_orderkey == o_orderkey)
lost = group(back, [o_custkey], revenue = sum(l_extendedprice * (1 - l_discount)))
who = join(join(lost, customer, o_custkey == c_custkey), nation, c_nationkey == n_nationkey)
O = limit(order(project(who, c_custkey = o_custkey, c_name, revenue, c_acctbal, n_name, c_address, c_phone, c_comment), [revenue desc]), 20)""",
            """select c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) revenue, c_acctbal, n_name, c_address, c_phone, c_comment
    from customer, orders, lineitem, nation where c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate >= date '1993-10-01'
    and o_orderdate < date '1994-01-01' and l_returnflag = 'R' and c_nationkey = n_nationkey
    group by 1, 2, 4, 7, 5, 6, 8 order by revenue desc limit 20"""),
    "q11": ("""german = join(supplier, select(nation, n_name == "GERMANY"), s_nationkey == n_nationkey, how = semi)
stock = project(join(partsupp, german, ps_suppkey == s_suppkey, how = semi), ps_partkey, v = ps_supplycost * ps_availqty)
parts = group(stock, [ps_partkey], v = sum(v))
O = order(project(select(cross(parts, group(stock, [], total = sum(v))), v > total * 0.0001), ps_partkey, v), [v desc])""",
            """select ps_partkey, sum(ps_supplycost * ps_availqty) v from partsupp, supplier, nation where ps_suppkey = s_suppkey
    and s_nationkey = n_nationkey and n_name = 'GERMANY' group by 1 having v > (select sum(ps_supplycost * ps_availqty) * 0.0001
    from partsupp, supplier, nation where ps_suppkey = s_suppkey and s_nationkey = n_nationkey and n_name = 'GERMANY') order by v desc"""),
    "q12": ("""late = select(lineitem, in(l_shipmode, "MAIL", "SHIP") && l_commitdate < l_receiptdate && l_shipdate < l_commitdate &&
    l_receiptdate >= date "1994-01-01" && l_receiptdate < date "1995-01-01")
of = join(late, orders, l_orderkey == o_orderkey)
O = group(of, [l_shipmode], high = sum(if(in(o_orderpriority, "1-URGENT", "2-HIGH"), 1, 0)),
    low = sum(if(in(o_orderpriority, "1-URGENT", "2-HIGH"), 0, 1)))""",
            """select l_shipmode, sum(case when o_orderpriority in ('1-URGENT', '2-HIGH') then 1 else 0 end) high,
    sum(case when o_orderpriority in ('1-URGENT', '2-HIGH') then 0 else 1 end) low from orders, lineitem where o_orderkey = l_orderkey
    and l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate
    and l_receiptdate >= date '1994-01-01' and l_receiptdate < date '1995-01-01' group by 1 order by 1"""),
    "q13": ("""usual = select(orders, !like(o_comment, "%special%requests%"))
per = group(join(customer, usual, c_custkey == o_custkey, how = left), [c_custkey], n = count(o_orderkey))
O = order(group(per, [n], customers = count()), [customers desc, n desc])""",
            """select n, count(*) customers from (select c_custkey, count(o_orderkey) n from customer left join orders
    on c_custkey = o_custkey and o_comment not like '%special%requests%' group by 1) group by 1 order by customers desc, n desc"""),
    "q14": ("""month = select(lineitem, l_shipdate >= date "1995-09-01" && l_shipdate < date "1995-10-01")
sold = project(join(month, part, l_partkey == p_partkey), v = l_extendedprice * (1 - l_discount), promo = startswith(p_type, "PROMO"))
sums = group(sold, [], promo = sum(if(promo, v, 0.0)), v = sum(v))
O = project(sums, part_of = 100.0 * promo / v)""",
            """select 100.0 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) /
    sum(l_extendedprice * (1 - l_discount)) part_of from lineitem, part where l_partkey = p_partkey and l_shipdate >= date '1995-09-01'
    and l_shipdate < date '1995-10-01'"""),
    "q15": ("""quarter = select(lineitem, l_shipdate >= date "1996-01-01" && l_shipdate < date "1996-04-01")
revenue = group(quarter, [l_suppkey], total = sum(l_extendedprice * (1 - l_discount)))
best = select(cross(revenue, group(revenue, [], most = max(total))), total == most)
O = project(join(supplier, best, s_suppkey == l_suppkey), s_suppkey, s_name, s_address, s_phone, total)""",
            """with revenue as (select l_suppkey, sum(l_extendedprice * (1 - l_discount)) total from lineitem
    where l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-04-01' group by 1)
    select s_suppkey, s_name, s_address, s_phone, total from supplier, revenue where s_suppkey = l_suppkey
    and total = (select max(total) from revenue) order by s_suppkey"""),
    "q16": ("""wanted = select(part, p_brand != "Brand#45" && !startswith(p_type, "MEDIUM POLISHED") && in(p_size, 49, 14, 23, 45, 19, 3, 36, 9))
bad = select(supplier, like(s_comment, "%Customer%Complaints%"))
offers = join(join(partsupp, bad, ps_suppkey == s_suppkey, how = anti), wanted, ps_partkey == p_partkey)
O = order(group(offers, [p_brand, p_type, p_size], n = distinct(ps_suppkey)), [n desc, p_brand, p_type, p_size])""",
            """select p_brand, p_type, p_size, count(distinct ps_suppkey) n from partsupp, part where p_partkey = ps_partkey
    and p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%' and p_size in (49, 14, 23, 45, 19, 3, 36, 9)
    and ps_suppkey not in (select s_suppkey from supplier where s_comment like '%Customer%Complaints%')
    group by 1, 2, 3 order by n desc, p_brand, p_type, p_size"""),
    "q17": ("""boxes = project(select(part, p_brand == "Brand#23" && p_container == "MED BOX"), p_partkey)
sold = join(lineitem, boxes, l_partkey == p_partkey, how = semi)
few = project(group(sold, [l_partkey], m = mean(l_quantity)), l_partkey, few = 0.2 * m)
small = select(join(sold, few, l_partkey == l_partkey), l_quantity < few)
O = project(group(small, [], s = sum(l_extendedprice)), yearly = s / 7.0)""",
            """select sum(l_extendedprice) / 7.0 yearly from lineitem, part where p_partkey = l_partkey and p_brand = 'Brand#23'
    and p_container = 'MED BOX' and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where l_partkey = p_partkey)"""),
    "q18": ("""large = select(group(lineitem, [l_orderkey], q = sum(l_quantity)), q > 300)
theirs = join(join(orders, large, o_orderkey == l_orderkey), customer, o_custkey == c_custkey)
O = limit(order(project(theirs, c_name, c_custkey = o_custkey, o_orderkey, o_orderdate, o_totalprice, q),
    [o_totalprice desc, o_orderdate]), 100)""",
            """select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) q from customer, orders, lineitem
    where o_orderkey in (select l_orderkey from lineitem group by 1 having sum(l_quantity) > 300) and c_custkey = o_custkey
    and o_orderkey = l_orderkey group by 1, 2, 3, 4, 5 order by o_totalprice desc, o_orderdate limit 100"""),
    "q19": ("""items = select(lineitem, in(l_shipmode, "AIR", "REG AIR") && l_shipinstruct == "DELIVER IN PERSON" && l_quantity <= 30)
pairs = join(items, part, l_partkey == p_partkey)
wanted = select(pairs,
    p_brand == "Brand#12" && in(p_container, "SM CASE", "SM BOX", "SM PACK", "SM PKG") && l_quantity >= 1 && l_quantity <= 11 &&
        p_size <= 5 ||
    p_brand == "Brand#23" && in(p_container, "MED BAG", "MED BOX", "MED PKG", "MED PACK") && l_quantity >= 10 && l_quantity <= 20 &&
        p_size <= 10 ||
    p_brand == "Brand#34" && in(p_container, "LG CASE", "LG BOX", "LG PACK", "LG PKG") && l_quantity >= 20 && p_size <= 15)
O = group(wanted, [], revenue = sum(l_extendedprice * (1 - l_discount)))""",
            """select sum(l_extendedprice * (1 - l_discount)) revenue from lineitem, part where p_partkey = l_partkey
    and l_shipmode in ('AIR', 'REG AIR') and l_shipinstruct = 'DELIVER IN PERSON' and (
    (p_brand = 'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') and l_quantity between 1 and 11 and p_size <= 5) or
    (p_brand = 'Brand#23' and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') and l_quantity between 10 and 20 and p_size <= 10) or
    (p_brand = 'Brand#34' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') and l_quantity between 20 and 30 and p_size <= 15))"""),
    "q20": ("""forest = project(select(part, startswith(p_name, "forest")), p_partkey)
year = select(lineitem, l_shipdate >= date "1994-01-01" && l_shipdate < date "1995-01-01")
sold = group(join(year, forest, l_partkey == p_partkey, how = semi), [l_partkey, l_suppkey], half = sum(l_quantity))
much = select(join(partsupp, sold, ps_partkey == l_partkey && ps_suppkey == l_suppkey), ps_availqty > 0.5 * half)
canada = join(supplier, select(nation, n_name == "CANADA"), s_nationkey == n_nationkey, how = semi)
O = order(project(join(canada, much, s_suppkey == ps_suppkey, how = semi), s_name, s_address), [s_name])""",
            """select s_name, s_address from supplier, nation where s_suppkey in (select ps_suppkey from partsupp where ps_partkey in
    (select p_partkey from part where p_name like 'forest%') and ps_availqty > (select 0.5 * sum(l_quantity) from lineitem
    where l_partkey = ps_partkey and l_suppkey = ps_suppkey and l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'))
    and s_nationkey = n_nationkey and n_name = 'CANADA' order by s_name"""),
    "q21": ("""saudi = project(join(supplier, select(nation, n_name == "SAUDI ARABIA"), s_nationkey == n_nationkey, how = semi), s_suppkey, s_name)
late = project(select(lineitem, l_receiptdate > l_commitdate), l_orderkey, l_suppkey)
failed = join(join(late, saudi, l_suppkey == s_suppkey), select(orders, o_orderstatus == "F"), l_orderkey == o_orderkey, how = semi)
others = group(lineitem, [k = l_orderkey], least = min(l_suppkey), most = max(l_suppkey))
slow = group(late, [k = l_orderkey], low = min(l_suppkey), high = max(l_suppkey))
alone = join(join(failed, select(others, least != most), l_orderkey == k, how = semi), select(slow, low == high), l_orderkey == k, how = semi)
O = limit(order(group(alone, [s_name], n = count()), [n desc, s_name]), 100)""",
            """select s_name, count(*) n from supplier, lineitem a, orders, nation where s_suppkey = a.l_suppkey and o_orderkey = a.l_orderkey
    and o_orderstatus = 'F' and a.l_receiptdate > a.l_commitdate and exists (select * from lineitem b where b.l_orderkey = a.l_orderkey
    and b.l_suppkey <> a.l_suppkey) and not exists (select * from lineitem c where c.l_orderkey = a.l_orderkey
    and c.l_suppkey <> a.l_suppkey and c.l_receiptdate > c.l_commitdate) and s_nationkey = n_nationkey and n_name = 'SAUDI ARABIA'
    group by 1 order by n desc, s_name limit 100"""),
    "q22": ("""coded = select(project(customer, c_custkey, c_acctbal, code = substr(c_phone, 1, 2)), in(code, "13", "31", "23", "29", "30", "18", "17"))
rich = select(cross(coded, group(select(coded, c_acctbal > 0.0), [], m = mean(c_acctbal))), c_acctbal > m)
idle = join(rich, orders, c_custkey == o_custkey, how = anti)
O = group(idle, [code], n = count(), total = sum(c_acctbal))""",
            """select code, count(*) n, sum(c_acctbal) total from (select substr(c_phone, 1, 2) code, c_acctbal from customer
    where substr(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17') and c_acctbal > (select avg(c_acctbal) from customer
    where c_acctbal > 0 and substr(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17'))
    and not exists (select * from orders where o_custkey = c_custkey)) group by 1 order by 1""")}
