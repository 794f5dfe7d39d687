#!/usr/bin/env python3
"""Tables in the manner of TPC-H at scale 0.01, of a generator of our own: CSV files here, and the same in tpch.db.

  tpch.py make             the tables
  tpch.py same QUERY FILE  the rows of a CSV file are those that sqlite3 gives for a query of TPC-H, in their order; and
                           DuckDB, where it is installed (DUCKDB_DIR: where @duckdb/node-api is, default /tmp/duck)
"""
import csv
import datetime
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys

SCHEMA = {
    "region": "r_regionkey integer, r_name text",
    "nation": "n_nationkey integer, n_name text, n_regionkey integer",
    "supplier": "s_suppkey integer, s_name text, s_nationkey integer, s_acctbal real",
    "customer": "c_custkey integer, c_name text, c_nationkey integer, c_mktsegment text, c_acctbal real",
    "orders": "o_orderkey integer, o_custkey integer, o_orderstatus text, o_orderdate date, o_shippriority integer",
    "lineitem": "l_orderkey integer, l_suppkey integer, l_linenumber integer, l_quantity real, l_extendedprice real, "
    "l_discount real, l_tax real, l_returnflag text, l_linestatus text, l_shipdate date, l_commitdate date",
}
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
FIRST, TODAY = datetime.date(1992, 1, 1), datetime.date(1995, 6, 17)

QUERIES = {
    "q1": """select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
                    sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
                    avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
             from lineitem where l_shipdate <= '1998-09-02' group by 1, 2 order by 1, 2""",
    "q3": """select l_orderkey, sum(l_extendedprice * (1 - l_discount)) revenue, o_orderdate, o_shippriority
             from customer, orders, lineitem
             where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey
               and o_orderdate < '1995-03-15' and l_shipdate > '1995-03-15'
             group by 1, 3, 4 order by revenue desc, o_orderdate limit 10""",
    "q5": """select n_name, sum(l_extendedprice * (1 - l_discount)) revenue
             from customer, orders, lineitem, supplier, nation, region
             where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey
               and c_nationkey = s_nationkey and s_nationkey = n_nationkey and n_regionkey = r_regionkey
               and r_name = 'ASIA' and o_orderdate >= '1994-01-01' and o_orderdate < '1995-01-01'
             group by 1 order by revenue desc""",
    "q6": """select sum(l_extendedprice * l_discount) from lineitem
             where l_shipdate >= '1994-01-01' and l_shipdate < '1995-01-01'
               and l_discount between 0.05 and 0.07 and l_quantity < 24""",
}


def rows():
    r = random.Random(1)
    yield "region", [(i, name) for i, name in enumerate(REGIONS)]
    yield "nation", [(i, f"NATION {i:02}", i % 5) for i in range(25)]
    yield "supplier", [(i, f"Supplier#{i:09}", r.randrange(25), r.randint(-99999, 999999) / 100) for i in range(1, 101)]
    yield "customer", [
        (i, f"Customer#{i:09}", r.randrange(25), r.choice(SEGMENTS), r.randint(-99999, 999999) / 100)
        for i in range(1, 1501)
    ]
    orders, items = [], []
    for i in range(15000):
        key = i // 8 * 32 + i % 8 + 1  # sparse, as theirs are
        date = FIRST + datetime.timedelta(r.randrange(2406))
        customer = r.randrange(1, 501) * 3 - r.randrange(1, 3)  # a third orders nothing
        for line in range(1, r.randint(1, 7) + 1):
            ship = date + datetime.timedelta(r.randint(1, 121))
            quantity = r.randint(1, 50)
            flag = r.choice("RA") if ship + datetime.timedelta(10) <= TODAY else "N"
            items.append((key, r.randint(1, 100), line, quantity, quantity * r.randint(90000, 110000) / 100,
                          r.randint(0, 10) / 100, r.randint(0, 8) / 100, flag, "O" if ship > TODAY else "F",
                          ship.isoformat(), (date + datetime.timedelta(r.randint(30, 90))).isoformat()))
        orders.append((key, customer, "O" if date > TODAY else "F", date.isoformat(), 0))
    yield "orders", orders
    yield "lineitem", items


def make():
    db = sqlite3.connect("tpch.db")
    for name, data in rows():
        db.execute(f"create table {name} ({SCHEMA[name]})")
        db.executemany(f"insert into {name} values ({','.join('?' * len(data[0]))})", data)
        with open(name + ".csv", "w", newline="") as f:
            w = csv.writer(f)
            w.writerow(c.split()[0] for c in SCHEMA[name].split(", "))
            w.writerows(data)
    db.execute("create index of_order on lineitem (l_orderkey)")
    db.commit()


def agree(x, y):
    if isinstance(y, float):
        return abs(float(x) - y) <= 1e-9 * abs(y)
    return x == str(y)


def like(x, y):
    """Of text that two programs have written."""
    try:
        return abs(float(x) - float(y)) <= 1e-9 * abs(float(y))
    except ValueError:
        return x == y


def of_duckdb(query):
    """Rows, or None where it is not installed."""
    where = os.environ.get("DUCKDB_DIR", "/tmp/duck")
    if not shutil.which("node") or not os.path.isdir(os.path.join(where, "node_modules", "@duckdb")):
        print(f"# not asked was DuckDB: no @duckdb/node-api in {where}")
        return None
    tables = [f"create table {t} as select * from read_csv('{t}.csv')" for t in SCHEMA]
    asked = json.dumps({"sql": tables, "ask": [f"select columns(*)::varchar from ({QUERIES[query]})"]})
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "property", "sql_duckdb.mjs")
    p = subprocess.run(["node", script], input=asked, capture_output=True, text=True, env={**os.environ, "DUCKDB_DIR": where})
    if p.returncode:
        sys.exit(p.stderr)
    return json.loads(p.stdout)[0]


def same(query, path):
    want = sqlite3.connect("tpch.db").execute(QUERIES[query]).fetchall()
    with open(path, newline="") as f:
        have = list(csv.reader(f))[1:]
    if len(have) != len(want) or not want:
        sys.exit(f"{query}: {len(have)} rows, not {len(want)}")
    for i, (x, y) in enumerate(zip(have, want)):
        if len(x) != len(y) or not all(map(agree, x, y)):
            sys.exit(f"{query}: row {i} is {x}, not {y}")
    duck = of_duckdb(query)
    if duck is not None and (len(duck) != len(have) or not all(all(map(like, x, y)) for x, y in zip(have, duck))):
        sys.exit(f"{query}: DuckDB has {duck}, not {have}")


make() if sys.argv[1] == "make" else same(*sys.argv[2:])
