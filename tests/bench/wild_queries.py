"""Queries over tables with several distributions of keys, and these tables, by a generator of our own. name: the program, SQL.

The result of each program is O. Values are drawn by hashes of the number of the row."""


def draw(what, n):  # 0 .. n - 1
    return f"cast(hash(i, '{what}') % {n} as integer)"


def zipf(what, n):  # 0 .. n - 1, of which 0 is the commonest
    return f"cast(floor(pow({n} + 1, (hash(i, '{what}') % 1000003) / 1000003.0)) - 1 as integer)"


def of(what, words):
    return f"[{', '.join(repr(w) for w in words)}][1 + {draw(what, len(words))}]"


def null(what, percent, x):
    return f"case when {draw(what + 'null', 100)} < {percent} then null else {x} end"


KINDS = ["view", "view", "view", "view", "search", "cart", "buy", "login"]
FIRST = ["Ada", "Bob", "Chen", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jun", "Kim", "Lea", "Max", "Nia", "Olaf", "Pia"]
REGIONS = ["north", "south", "east", "west", "centre", "islands", "export", "online"]
WORDS = ["red", "quick", "late", "broken", "sealed", "blue", "refund", "urgent", "gift", "fragile", "heavy", "return", "cold", "new"]
small = lambda k: ["integer", "smallint", "tinyint", "float", "double"][k % 5]

TABLES = {
    "ev": f"""select i id, timestamp '2024-01-01' + to_microseconds(i * 3100000 + {draw('us', 3000000)}) ts, {zipf('user', 200000)} usr,
        {of('kind', KINDS)} kind, '/' || {of('sec', WORDS[:6])} || '/' || {zipf('page', 100000)} || '.html' page,
        {null('refr', 60, "'https://site' || " + zipf('refr', 3000) + " || '.example.org/a?id=' || " + draw('refid', 500))} refr,
        {draw('dur', 60000)} ms, {null('amt', 85, draw('amt', 50000))} cents, {zipf('dev', 12)}::tinyint dev from range(5000000) t(i)""",
    "tick": f"""select 'S' || lpad(({zipf('sym', 500)})::varchar, 4, '0') sym, timestamp '2024-03-01 09:00:00' +
        to_microseconds(i * 10000 + {draw('t', 9000)}) t, (100 + {draw('px', 10000)} / 100.0)::float px, 1 + {draw('q', 100)} qty from range(3000000) t(i)""",
    "quote": f"""select 'S' || lpad(({zipf('qsym', 500)})::varchar, 4, '0') sym, timestamp '2024-03-01 09:00:00' +
        to_microseconds(i * 10000 + {draw('qt', 9000)}) t, 99.5 + {draw('bid', 1000)} / 100.0 bid, 100.5 + {draw('ask', 1000)} / 100.0 ask from range(3000000) t(i)""",
    "sens": f"""select i % 3000 dev, timestamp '2024-06-01' + to_seconds(i // 3000 * 60 + {draw('s', 50)}) t,
        {null('heat', 30, '20 + ' + draw('heat', 2000) + ' / 100.0')} heat, {of('st', ['ok', 'ok', 'ok', 'ok', 'warn', 'fail'])} st,
        {null('hum', 5, draw('hum', 101) + '::tinyint')} hum from range(4000000) t(i)""",
    "basket": f"""select (i // 4) * 7 ord, {zipf('item', 20000)} item, (1 + {draw('n', 9)})::tinyint n, 99 + {draw('price', 9900)} cents,
        {draw('shop', 40)}::smallint shop, date '2023-01-01' + cast(i // 6000 as integer) as day from range(3000000) t(i)""",
    "people": f"""select i * 11 + {draw('id', 11)} as id, {of('first', FIRST)} as first, 'N' || {draw('last', 50000)} as last,
        lower({of('first', FIRST)}) || '.' || i || '@mail' || {draw('host', 300)} || '.com' email,
        {null('city', 10, "'City ' || " + zipf('city', 3000))} city, date '1940-01-01' + {draw('born', 25000)} born,
        {of('t1', WORDS)} || ';' || {of('t2', WORDS)} || ';' || {of('t3', WORDS)} tags,
        {of('w1', WORDS)} || ' ' || {of('w2', WORDS)} || ' ' || {draw('no', 1000000)} || ' ' || {of('w3', WORDS)} note,
        {draw('pts', 100000)} pts from range(1000000) t(i)""",
    "cust": f"""select i usr, {of('land', ['DE', 'FR', 'US', 'IN', 'BR', 'JP', 'NG'])} land, date '2023-10-01' + {draw('up', 150)} up,
        'user' || i as name from range(200000) t(i)""",
    "wide": "select i id, " + ", ".join(f"({draw('c%d' % k, [100000, 30000, 100, 100000, 10 ** 6][k % 5])})::{small(k)} c{k}" for k in range(200))
            + " from range(200000) t(i)",
    "sale": f"""select i id, 'ST' || lpad(({zipf('store', 4000)})::varchar, 5, '0') store, {of('reg', REGIONS)} region, 'p-' || hex({draw('prod', 30000)} + 4096) prod,
        {draw('buyer', 600000)}::bigint buyer, date '2022-01-01' + {draw('day', 900)} as day, {null('qty', 8, '(1 + ' + draw('qty', 20) + ')::tinyint')} qty,
        {null('price', 3, draw('price', 90000) + ' / 100.0::double')} price, {of('how', ['card', 'cash', 'card', 'transfer', 'voucher'])} how from range(5000000) t(i)""",
    "back": f"""select 'ST' || lpad(({draw('bstore', 4000)})::varchar, 5, '0') store, 'p-' || hex({draw('bprod', 34000)} + 2096) prod,
        {draw('bbuyer', 700000)}::integer buyer, (1 + {draw('bqty', 22)})::bigint qty, date '2022-06-01' + {draw('bday', 800)} as day from range(2000000) t(i)""",
    "acct": f"""select {zipf('acct', 1000)} acct, timestamp '2024-01-01' + to_microseconds(i * 5000000 + {draw('at', 4000000)}) t,
        ({draw('sum', 200000)} - 90000) / 100.0::double v, {of('cur', ['EUR', 'USD', 'GBP'])} cur from range(4000000) t(i)""",
}

QUERIES = {
    # sessions, funnels, cohorts
    "sessions": (
        """w = window(project(ev, usr, ts, ms), [usr], [ts], gap = ts - lag(ts))
s = window(project(w, usr, ts, ms, new = if(isnull(gap) || gap > minutes(30), 1, 0)), [usr], [ts], sess = sum(new, frame = rows(null, 0)))
g = group(s, [usr, sess], n = count(), ms = sum(ms), a = min(ts), b = max(ts))
O = group(project(g, usr, n, ms, long = b - a), [usr], sessions = count(), pages = mean(n), ms = max(ms), longest = max((long / seconds(1))))""",
        """with w as (select usr, ts, ms, ts - lag(ts) over (partition by usr order by ts) gap from ev), s as (select usr, ts, ms,
    sum(case when gap is null or gap > interval 30 minute then 1 else 0 end) over (partition by usr order by ts rows unbounded preceding) sess from w),
    g as (select usr, sess, count(*) n, sum(ms) ms, min(ts) a, max(ts) b from s group by 1, 2)
    select usr, count(*) sessions, avg(n) pages, max(ms) ms, max((epoch_us(b) - epoch_us(a)) / 1e6) longest from g group by 1"""),
    "funnel": (
        """v = group(select(ev, kind == "search"), [usr], t1 = min(ts))
c = group(select(join(select(ev, kind == "cart"), v, usr == usr), ts > t1), [usr], t2 = min(ts), t1 = min(t1))
b = group(select(join(select(ev, kind == "buy"), c, usr == usr), ts > t2), [usr], t3 = min(ts), t2 = min(t2), t1 = min(t1))
x = group(v, [], searched = count())
y = group(c, [], carted = count(), m = median((t2 - t1) / seconds(1)))
z = group(b, [], bought = count(), d = mean((t3 - t2) / seconds(1)))
O = cross(cross(x, y), z)""",
        """with v as (select usr, min(ts) t1 from ev where kind = 'search' group by 1), c as (select usr, min(ts) t2, min(t1) t1 from ev join v using (usr)
    where kind = 'cart' and ts > t1 group by 1), b as (select usr, min(ts) t3, min(t2) t2 from ev join c using (usr) where kind = 'buy' and ts > t2 group by 1)
    select (select count(*) from v) searched, (select count(*) from c) carted, (select median((epoch_us(t2) - epoch_us(t1)) / 1e6) from c) m,
    (select count(*) from b) bought, (select avg((epoch_us(t3) - epoch_us(t2)) / 1e6) from b) d"""),
    "cohort": (
        """f = group(ev, [usr], first = min(date_trunc("week", date(ts))))
a = distinct(project(ev, usr, w = date_trunc("week", date(ts))))
j = project(join(a, f, usr == usr), first, k = (w - first) div 7, usr)
O = order(group(j, [first, k], users = count()), [first, k])""",
        """with a as (select distinct usr, date_trunc('week', ts)::date w from ev), f as (select usr, min(w) as first from a group by 1)
    select first, (w - first) // 7 k, count(*) users from a join f using (usr) group by 1, 2 order by 1, 2"""),
    "active_days": (
        """d = distinct(project(ev, usr, d = date(ts)))
w = window(d, [usr], [d], r = row_number())
i = project(w, usr, island = d - days(r))
g = group(i, [usr, island], len = count())
O = group(g, [len], n = count())""",
        """with d as (select distinct usr, ts::date d from ev), w as (select usr, d - (row_number() over (partition by usr order by d))::int island from d),
    g as (select usr, island, count(*) len from w group by 1, 2) select len, count(*) n from g group by 1"""),
    "before_buy": (
        """w = window(project(ev, usr, ts, kind, page), [usr], [ts], before = lag(kind), b2 = lag(kind, 2))
O = group(select(w, kind == "buy"), [before, b2], n = count())""",
        """select before, b2, count(*) n from (select kind, lag(kind) over w as before, lag(kind, 2) over w b2 from ev window w as (partition by usr order by ts))
    where kind = 'buy' group by 1, 2"""),
    "path3": (
        """w = window(project(ev, usr, ts, kind), [usr], [ts], k2 = lead(kind), k3 = lead(kind, 2))
p = project(select(w, !isnull(k3)), path = concat(kind, ">", k2, ">", k3))
O = limit(order(group(p, [path], n = count()), [n desc, path]), 20)""",
        """select path, count(*) n from (select kind || '>' || k2 || '>' || k3 path from (select kind, lead(kind) over w k2, lead(kind, 2) over w k3
    from ev window w as (partition by usr order by ts)) where k3 is not null) group by 1 order by n desc, path limit 20"""),
    # distincts, quantiles, tops
    "dau": (
        """O = group(ev, [d = date(ts)], users = distinct(usr), pages = distinct(page), refs = distinct(refr), n = count(), buys = sum(if(kind == "buy", 1, 0)))""",
        """select ts::date d, count(distinct usr) users, count(distinct page) pages, count(distinct refr) refs, count(*) n, sum((kind = 'buy')::int) buys from ev group by 1"""),
    "distinct_many": (
        """O = group(ev, [page], users = distinct(usr), devs = distinct(dev))""",
        """select page, count(distinct usr) users, count(distinct dev) devs from ev group by 1"""),
    "quantiles": (
        """O = group(ev, [kind, dev], p50 = median(ms), p95 = quantile(ms, 0.95), m = mean(ms), c = median(cents))""",
        """select kind, dev, median(ms) p50, quantile_cont(ms, 0.95) p95, avg(ms) m, median(cents) c from ev group by 1, 2"""),
    "top_pages": (
        """g = group(ev, [d = month(ts), page], n = count())
O = select(window(g, [d], [n desc, page], r = row_number()), r <= 5)""",
        """select * from (select *, row_number() over (partition by d order by n desc, page) r from (select month(ts) d, page, count(*) n from ev group by 1, 2)) where r <= 5"""),
    "share_of": (
        """g = group(ev, [kind, dev], n = count(), s = sum(cents))
O = project(window(g, [kind], [], part = share(n), all_of = sum(s)), kind, dev, n, part, part_s = s / all_of)""",
        """select kind, dev, n, n / sum(n) over (partition by kind) part, s / sum(s) over (partition by kind) part_s from
    (select kind, dev, count(*) n, sum(cents) s from ev group by 1, 2)"""),
    "rollup": (
        """b = project(ev, kind, y = month(ts), dev, cents)
g = group(b, [kind, y, dev], n = count(), s = sum(cents))
g1 = project(group(g, [kind, y], n = sum(n), s = sum(s)), kind, y, dev = if(false, 0, null), n, s)
g2 = project(group(g, [kind], n = sum(n), s = sum(s)), kind, y = if(false, 0, null), dev = if(false, 0, null), n, s)
O = union(g, g1, g2)""",
        """select kind, month(ts) y, dev, count(*) n, sum(cents) s from ev group by grouping sets ((1, 2, 3), (1, 2), (1))"""),
    # strings
    "hosts": (
        """h = project(select(ev, !isnull(refr)), host = extract(refr, "https://([^/]+)/", 1), id = i64(split_part(refr, "=", 2)), ms)
O = select(group(h, [host], n = count(), id = mean(id), ms = mean(ms), l = max(length(host))), n > 100)""",
        """select host, count(*) n, avg(id) id, avg(ms) ms, max(length(host)) l from (select regexp_extract(refr, 'https://([^/]+)/', 1) host,
    split_part(refr, '=', 2)::bigint id, ms from ev where refr is not null) group by 1 having n > 100"""),
    "section": (
        """O = group(project(ev, s = split_part(page, "/", 2), deep = length(page), cents), [s], n = count(), d = mean(deep), c = sum(cents))""",
        """select split_part(page, '/', 2) s, count(*) n, avg(length(page)) d, sum(cents) c from ev group by 1"""),
    "mail_host": (
        """p = project(people, host = split_part(email, "@", 2), short = length(email) < 20, up = upper(substr(email, 1, 3)))
O = group(p, [host, short], n = count(), u = distinct(up))""",
        """select split_part(email, '@', 2) host, length(email) < 20 short, count(*) n, count(distinct upper(email[1:3])) u from people group by 1, 2"""),
    "full_name": (
        """O = project(people, id, name = concat(upper(last), ", ", first), mail = lower(email), year = year(born))""",
        """select id, upper(last) || ', ' || first as name, lower(email) mail, year(born) "year" from people"""),
    "card": (
        """O = project(people, card = concat(first, " ", last, " <", email, "> ", strftime(born, "%d.%m.%Y"), " ", pts))""",
        """select first || ' ' || last || ' <' || email || '> ' || strftime(born, '%d.%m.%Y') || ' ' || pts card from people"""),
    "nested": (
        """O = group(project(people, k = concat(substr(note, 1, 3), "-", lpad(string(pts % 50), 3, "0")), pts), [k], n = count(), s = sum(pts))""",
        """select substr(note, 1, 3) || '-' || lpad((pts % 50)::varchar, 3, '0') k, count(*) n, sum(pts) s from people group by 1"""),
    "tags": (
        """e = explode(project(people, tags, pts, city), tags, ";")
O = group(e, [tags], n = count(), p = mean(pts), c = distinct(city))""",
        """select tag tags, count(*) n, avg(pts) p, count(distinct city) c from (select unnest(string_split(tags, ';')) tag, pts, city from people) group by 1"""),
    "words": (
        """e = explode(project(people, note), note, " ")
O = limit(order(group(select(e, length(note) > 2 && !matches(note, "^[0-9]+$")), [note], n = count()), [n desc, note]), 50)""",
        """select note, count(*) n from (select unnest(string_split(note, ' ')) note from people) where length(note) > 2 and not regexp_matches(note, '^[0-9]+$')
    group by 1 order by n desc, note limit 50"""),
    "agg_names": (
        """O = group(select(people, pts < 20000), [city], names = string_agg(last, ",", order = [id]), n = count())""",
        """select city, string_agg(last, ',' order by id) as names, count(*) n from people where pts < 20000 group by 1"""),
    "like_note": (
        """O = project(select(people, like(note, "%refund%") && !contains(note, "gift") && endswith(email, "7.com")), id, note, email, t = count_parts(tags, "e"))""",
        """select id, note, email, len(string_split(tags, 'e')) t from people where note like '%refund%' and not contains(note, 'gift') and email like '%7.com'"""),
    "clean": (
        """O = group(project(people, k = regex_replace(note, "[0-9]+", "#"), pts), [k], n = count(), p = max(pts))""",
        """select regexp_replace(note, '[0-9]+', '#', 'g') k, count(*) n, max(pts) p from people group by 1"""),
    "join_names": (
        """p = project(people, name = concat("user", id % 300000), pts, city)
O = group(join(p, cust, name == name), [land], n = count(), s = sum(pts), c = distinct(city))""",
        """select land, count(*) n, sum(pts) s, count(distinct city) c from (select 'user' || (id % 300000) as name, pts, city from people) join cust using (name) group by 1"""),
    "same_name": (
        """a = group(people, [first, last], n = count(), youngest = max(born), m = min(email))
O = order(select(a, n >= 4), [n desc, last, first])""",
        """select first, last, count(*) n, max(born) youngest, min(email) m from people group by 1, 2 having n >= 4 order by n desc, last, first"""),
    # finance
    "asof": (
        """j = join(tick, quote, sym == sym, asof = tick.t >= quote.t)
O = group(project(j, sym, slip = f64(px) - (bid + ask) / 2, qty), [sym], n = count(), slip = mean(slip), w = sum(slip * qty))""",
        """select sym, count(*) n, avg(slip) slip, sum(slip * qty) w from (select k.sym, px::double - (bid + ask) / 2 slip, qty from tick k asof join quote q on k.sym = q.sym and k.t >= q.t) group by 1"""),
    "candles": (
        """O = group(project(tick, sym, m = date_trunc("hour", t), t, px, qty), [sym, m], open = arg_min(px, t), close = arg_max(px, t), high = max(px), low = min(px), vol = sum(qty), vwap = sum(px * qty) / sum(qty))""",
        """select sym, date_trunc('hour', t) m, arg_min(px, t) open, arg_max(px, t) as close, max(px) high, min(px) low, sum(qty) vol, sum(px::double * qty) / sum(qty) vwap from tick group by 1, 2"""),
    "ema_ranges": (
        """O = project(window(tick, [sym], [t], m = mean(px, frame = range(-minutes(1), 0)), hi = max(px, frame = range(-minutes(5), 0)), n = count(frame = range(-seconds(10), seconds(10)))), sym, t, m, hi, n)""",
        """select sym, t, avg(px) over (partition by sym order by t range between interval 1 minute preceding and current row) m, max(px) over (partition by sym order by t
    range between interval 5 minute preceding and current row) hi, count(*) over (partition by sym order by t range between interval 10 second preceding and interval 10 second following) n from tick"""),
    "two_parts": (
        """a = window(tick, [sym], [t], p = lag(px), c = sum(qty, frame = rows(null, 0)))
b = window(project(a, sym, h = date_trunc("hour", t), r = px / p - 1, qty, c), [h], [], vol = sum(qty), sd = std(r))
O = group(project(b, sym, h, q = qty / vol, sd, c), [sym, h], q = sum(q), sd = max(sd), c = max(c))""",
        """with a as (select sym, date_trunc('hour', t) h, px::double / lag(px) over w - 1 r, qty, sum(qty) over (w rows unbounded preceding) c from tick window w as (partition by sym order by t)),
    b as (select sym, h, qty / sum(qty) over (partition by h) q, stddev(r) over (partition by h) sd, c from a) select sym, h, sum(q) q, max(sd) sd, max(c) c from b group by 1, 2"""),
    "corr": (
        """m = group(tick, [sym, h = date_trunc("hour", t)], px = mean(px))
j = join(select(m, sym < "S0030"), select(m, sym < "S0030"), h == h && sym < b_sym, prefix = "b_")
O = group(j, [sym, b_sym], c = corr(px, b_px), n = count())""",
        """with m as (select sym, date_trunc('hour', t) h, avg(px) px from tick where sym < 'S0030' group by 1, 2)
    select a.sym sym, b.sym b_sym, corr(a.px, b.px) c, count(*) n from m a join m b on a.h = b.h and a.sym < b.sym group by 1, 2"""),
    # sensors
    "fill": (
        """f = ffill(sens, [dev], [t], heat, hum)
O = group(f, [dev, h = date_trunc("hour", t)], heat = mean(heat), hum = max(hum), n = count(heat))""",
        """select dev, date_trunc('hour', t) h, avg(heat) heat, max(hum) hum, count(heat) n from (select dev, t, last_value(heat ignore nulls) over w heat,
    last_value(hum ignore nulls) over w hum from sens window w as (partition by dev order by t rows unbounded preceding)) group by 1, 2"""),
    "resample": (
        """b = project(sens, dev, slot = (t - timestamp "2024-06-01 00:00:00") div minutes(15), heat, st)
O = group(b, [dev, slot], mean = mean(heat), sd = std(heat), lo = min(heat), bad = sum(if(st != "ok", 1, 0)))""",
        """select dev, (epoch_us(t) - epoch_us(timestamp '2024-06-01')) // 900000000 slot, avg(heat) mean, stddev(heat) sd, min(heat) lo, sum((st <> 'ok')::int) bad from sens group by 1, 2"""),
    "anomaly": (
        """w = window(project(sens, dev, t, heat), [dev], [t], m = mean(heat, frame = rows(-10, -1)), sd = std(heat, frame = rows(-10, -1)))
O = select(w, abs(heat - m) > 3 * sd)""",
        """select * from (select dev, t, heat, avg(heat) over w m, stddev(heat) over w sd from sens window w as (partition by dev order by t rows between 10 preceding and 1 preceding))
    where abs(heat - m) > 3 * sd"""),
    "state_runs": (
        """w = window(project(sens, dev, t, st), [dev], [t], p = lag(st))
r = window(project(w, dev, t, st, c = if(isnull(p) || p != st, 1, 0)), [dev], [t], run = sum(c, frame = rows(null, 0)))
g = group(r, [dev, run, st], n = count(), a = min(t), b = max(t))
O = group(g, [st], runs = count(), longest = max(n), m = mean((b - a) / seconds(1)))""",
        """with w as (select dev, t, st, lag(st) over (partition by dev order by t) p from sens), r as (select dev, t, st, sum(case when p is null or p <> st then 1 else 0 end)
    over (partition by dev order by t rows unbounded preceding) run from w), g as (select dev, run, st, count(*) n, min(t) a, max(t) b from r group by 1, 2, 3)
    select st, count(*) runs, max(n) longest, avg((epoch_us(b) - epoch_us(a)) / 1e6) m from g group by 1"""),
    "pivot_state": (
        """O = pivot(project(sens, dev, h = hour(t), st), [dev, h], st, 1, count)""",
        """select dev, hour(t) h, count(*) filter (st = 'fail') fail, count(*) filter (st = 'ok') ok, count(*) filter (st = 'warn') warn from sens group by 1, 2"""),
    "unpivot_means": (
        """u = unpivot(project(wide, id, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9), [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9], name = c, value = v)
O = group(u, [c], m = mean(v), s = std(v), mx = max(v), md = median(v))""",
        """select c, avg(v) m, stddev(v) s, max(v) mx, median(v) md from (unpivot (select id, c0::double c0, c1::double c1, c2::double c2, c3::double c3, c4::double c4, c5::double c5, c6::double c6,
    c7::double c7, c8::double c8, c9::double c9 from wide) on c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 into name c value v) group by 1"""),
    # baskets
    "pairs": (
        """t = select(group(basket, [item], n = count()), n > 2000)
b = distinct(project(join(basket, t, item == item, how = semi), ord, item))
p = select(join(b, b, ord == ord, prefix = "b_"), item < b_item)
O = limit(order(group(p, [item, b_item], n = count()), [n desc, item, b_item]), 100)""",
        """with t as (select item from basket group by 1 having count(*) > 2000), b as (select distinct ord, item from basket where item in (select item from t))
    select a.item item, b.item b_item, count(*) n from b a join b on a.ord = b.ord and a.item < b.item group by 1, 2 order by n desc, item, b_item limit 100"""),
    "big_orders": (
        """g = group(basket, [ord], s = sum(n * cents), k = distinct(item))
j = join(basket, select(g, s > 150000 && k == 4), ord == ord)
O = project(j, ord, item, n, part = n * cents / s)""",
        """with g as (select ord, sum(n * cents) s, count(distinct item) k from basket group by 1 having s > 150000 and k = 4)
    select ord, item, n, n * cents / s part from basket join g using (ord)"""),
    "abc": (
        """g = group(basket, [item], s = sum(n * cents))
w = window(g, [], [s desc, item], run = sum(s, frame = rows(null, 0)), all_of = sum(s, frame = rows(null, null)))
O = group(project(w, item, s, cls = if(run < 0.8 * all_of, "A", if(run < 0.95 * all_of, "B", "C"))), [cls], n = count(), s = sum(s))""",
        """with g as (select item, sum(n * cents) s from basket group by 1), w as (select *, sum(s) over (order by s desc, item rows unbounded preceding) run, sum(s) over () all_of from g)
    select case when run < 0.8 * all_of then 'A' when run < 0.95 * all_of then 'B' else 'C' end cls, count(*) n, sum(s) s from w group by 1"""),
    "price_change": (
        """w = window(project(basket, item, day, ord, cents), [item], [day, ord, cents], p = lag(cents), f = first(cents))
O = group(w, [item], up = sum(if(cents > p, 1, 0)), down = sum(if(cents < p, 1, 0)), f = max(f), n = count())""",
        """select item, sum(case when cents > p then 1 else 0 end) up, sum(case when cents < p then 1 else 0 end) down, max(f) f, count(*) n from
    (select item, cents, lag(cents) over w p, first_value(cents) over w f from basket window w as (partition by item order by day, ord, cents)) group by 1"""),
    "new_items": (
        """f = distinct(basket, [shop, item], order = [day, ord, cents])
O = group(f, [shop, m = date_trunc("month", day)], n = count(), c = sum(cents))""",
        """select shop, date_trunc('month', day)::date m, count(*) n, sum(cents) c from (select distinct on (shop, item) * from basket order by shop, item, day, ord, cents) group by 1, 2"""),
    "yoy": (
        """m = group(basket, [shop, y = year(day), m = month(day)], s = sum(n * cents))
O = project(join(m, project(m, shop, y = y + 1, m, before = s), shop == shop && y == y && m == m, how = left), shop, y, m, s, growth = s / before - 1)""",
        """with m as (select shop, year(day) y, month(day) m, sum(n * cents) s from basket group by 1, 2, 3)
    select a.shop shop, a.y y, a.m m, a.s s, a.s / b.s - 1 growth from m a left join m b on a.shop = b.shop and a.y = b.y + 1 and a.m = b.m"""),
    # joins, set operations, wide rows
    "land_kind": (
        """j = join(ev, cust, usr == usr)
O = group(j, [land, kind, late = date(ts) >= up + 100], n = count(), s = sum(cents), u = distinct(usr))""",
        """select land, kind, ts::date >= up + 100 late, count(*) n, sum(cents) s, count(distinct usr) u from ev join cust using (usr) group by 1, 2, 3"""),
    "never_bought": (
        """a = join(join(cust, select(ev, kind == "buy"), usr == usr, how = anti), select(ev, kind == "cart" && cents > 40000), usr == usr, how = semi)
O = group(a, [land, q = quarter(up)], n = count())""",
        """select land, quarter(up) q, count(*) n from cust c where not exists (select * from ev where usr = c.usr and kind = 'buy')
    and exists (select * from ev where usr = c.usr and kind = 'cart' and cents > 40000) group by 1, 2"""),
    "promo_range": (
        """promo = project(select(cust, usr < 2000), lo = up - 200, hi = up - 195, land, usr40 = usr % 40)
O = group(join(basket, promo, day >= lo && day < hi && shop == usr40), [land], n = count(), c = sum(cents))""",
        """select land, count(*) n, sum(cents) c from basket, (select up - 200 lo, up - 195 hi, land, usr % 40 usr40 from cust where usr < 2000) where day >= lo and day < hi and shop = usr40 group by 1"""),
    "union_log": (
        """a = project(select(ev, kind == "buy"), what = "event", day = date(ts), v = cents)
b = project(basket, what = "basket", day, v = cents)
c = project(select(sens, st == "fail"), what = "sensor", day = date(t), v = hum)
O = group(union(a, b, c), [what, day], n = count(), v = sum(v))""",
        """select what, day, count(*) n, sum(v) v from (select 'event' what, ts::date as day, cents v from ev where kind = 'buy' union all select 'basket', day, cents from basket
    union all select 'sensor', t::date, hum from sens where st = 'fail') group by 1, 2"""),
    "wide_rows": (
        """O = select(wide, c2 > 90 && c7 < 10)""",
        """select * from wide where c2 > 90 and c7 < 10"""),
    "wide_sums": (
        "O = group(wide, [k = c2 % 10], " + ", ".join(f"s{k} = {f}(c{k})" for k, f in zip(range(3, 103), ["sum", "mean", "max", "min"] * 25)) + ")",
        "select c2 % 10 k, " + ", ".join(f"{f}(c{k}) s{k}" for k, f in zip(range(3, 103), ["sum", "avg", "max", "min"] * 25)) + " from wide group by 1"),
    "wide_order": (
        """O = limit(order(wide, [c2, c7 desc, id]), 1000, from = 5000)""",
        """select * from wide order by c2, c7 desc, id limit 1000 offset 5000"""),
    "nearly_unique": (
        """g = group(people, [email], n = count(), p = sum(pts))
O = limit(order(g, [p desc, email]), 10)""",
        """select email, count(*) n, sum(pts) p from people group by 1 order by p desc, email limit 10"""),
    "age_bands": (
        """a = project(people, age = 2024 - year(born), city, pts)
b = project(a, band = if(age < 18, "young", if(age < 65, "adult", "old")), city, pts, ten = age div 10)
O = group(b, [band, ten, city], n = count(), p = mean(pts), q = quantile(pts, 0.9))""",
        """select band, ten, city, count(*) n, avg(pts) p, quantile_cont(pts, 0.9) q from (select case when age < 18 then 'young' when age < 65 then 'adult' else 'old' end band, city, pts, age // 10 ten
    from (select 2024 - year(born) age, city, pts from people)) group by 1, 2, 3"""),
    "last_names": (
        """O = group(people, [last], c = distinct(city), n = count(), best = max(pts))""",
        """select last, count(distinct city) c, count(*) n, max(pts) best from people group by 1"""),
    "ranks": (
        """w = window(project(people, id, city, pts), [city], [pts desc], r = rank(), d = dense_rank(), q = ntile(4))
O = group(w, [q], n = count(), r = max(r), d = max(d))""",
        """select q, count(*) n, max(r) r, max(d) d from (select rank() over w r, dense_rank() over w d, ntile(4) over w q from people window w as (partition by city order by pts desc)) group by 1"""),
    # keys of strings, orders, unions, conditions
    "two_strings": (
        """O = group(sale, [store, prod], n = count(), q = sum(qty), p = max(price), d = min(day))""",
        """select store, prod, count(*) n, sum(qty) q, max(price) p, min(day) d from sale group by 1, 2"""),
    "six_of_prod": (
        """O = group(sale, [prod], n = count(), q = sum(qty), m = mean(price), s = std(price), lo = min(day), hi = max(day), w = max(how))""",
        """select prod, count(*) n, sum(qty) q, avg(price) m, stddev(price) s, min(day) lo, max(day) hi, max(how) w from sale group by 1"""),
    "strings_of_day": (
        """O = group(sale, [day], prods = distinct(prod), stores = distinct(store), hows = distinct(how))""",
        """select day, count(distinct prod) prods, count(distinct store) stores, count(distinct how) hows from sale group by 1"""),
    "not_back": (
        """O = group(join(sale, back, store == store && prod == prod, how = anti), [region, how], n = count(), p = sum(price))""",
        """select region, how, count(*) n, sum(price) p from sale s where not exists (select * from back b where b.store = s.store and b.prod = s.prod) group by 1, 2"""),
    "back_semi": (
        """few = select(back, qty > 20 && day > date "2024-07-01")
O = group(join(sale, few, prod == prod, how = semi), [store], n = count(), p = mean(price))""",
        """select store, count(*) n, avg(price) p from sale s where prod in (select prod from back where qty > 20 and day > date '2024-07-01') group by 1"""),
    "same_day": (
        """s = project(sale, buyer, day, id, price)
j = select(join(s, s, buyer == buyer && day == day, prefix = "b_"), id < b_id)
O = group(j, [y = year(day), m = month(day)], n = count(), d = mean(abs(price - b_price)))""",
        """select year(a.day) y, month(a.day) m, count(*) n, avg(abs(a.price - b.price)) d from sale a join sale b on a.buyer = b.buyer and a.day = b.day and a.id < b.id group by 1, 2"""),
    "two_types": (
        """O = group(join(sale, back, buyer == buyer && qty == qty, prefix = "b_"), [region], n = count(), late = sum(if(b_day > day, 1, 0)), p = sum(price))""",
        """select region, count(*) n, sum((b.day > s.day)::int) late, sum(price) p from sale s join back b on s.buyer = b.buyer and s.qty = b.qty group by 1"""),
    "top_strings": (
        """O = limit(order(project(select(sale, price > 100), prod, store, day, id, price), [prod desc, store, day desc, id]), 2000)""",
        """select prod, store, day, id, price from sale where price > 100 order by prod desc, store, day desc, id limit 2000"""),
    "skewed_sums": (
        """w = window(acct, [acct], [t], run = sum(v, frame = rows(null, 0)), last5 = mean(v, frame = rows(-4, 0)), r = row_number())
O = group(w, [cur], top = max(run), low = min(run), m = max(last5), r = max(r))""",
        """select cur, max(run) top, min(run) low, max(last5) m, max(r) r from (select cur, sum(v) over (w rows unbounded preceding) run, avg(v) over (w rows 4 preceding) last5,
    row_number() over w r from acct window w as (partition by acct order by t)) group by 1"""),
    "day_gaps": (
        """w = window(project(sale, buyer, day, id), [buyer], [day, id], gap = day - lag(day), next = lead(day))
O = group(project(w, g = gap div days(10), last = isnull(next)), [g, last], n = count())""",
        """select (day - p) // 10 g, nxt is null as last, count(*) n from (select day, lag(day) over w p, lead(day) over w nxt from sale window w as (partition by buyer order by day, id)) group by 1, 2"""),
    "ten_ifs": (
        "O = group(sale, [store], " + ", ".join(f's{k} = sum(if(region == "{r}" && price > {k}00, qty, 0)), c{k} = sum(if(how != "cash" && qty % 8 == {k}, 1, 0))'
                                                for k, r in enumerate(REGIONS)) + ")",
        "select store, " + ", ".join(f"sum(case when region = '{r}' and price > {k}00 then qty else 0 end) s{k}, sum(case when how <> 'cash' and qty % 8 = {k} then 1 else 0 end) c{k}"
                                     for k, r in enumerate(REGIONS)) + " from sale group by 1"),
    "months_how": (
        """O = group(sale, [m = date_trunc("month", day), how, region], n = count(), p = sum(price), q = mean(qty))""",
        """select date_trunc('month', day)::date m, how, region, count(*) n, sum(price) p, avg(qty) q from sale group by 1, 2, 3"""),
    "in_fifty": (
        "O = group(select(sale, in(prod, " + ", ".join(f'"p-{4096 + 571 * k:X}"' for k in range(50)) + ")), [prod, region], n = count(), p = sum(price))",
        "select prod, region, count(*) n, sum(price) p from sale where prod in (" + ", ".join(f"'p-{4096 + 571 * k:X}'" for k in range(50)) + ") group by 1, 2"),
    "regex_mail": (
        """s = select(people, matches(email, "^(ada|kim|lea)[.][0-9]*7@mail1?[0-9][.]com$") || matches(note, "(red|blue) .* [0-9]{3} "))
O = project(s, id, email, no = extract(note, "([0-9]+)", 1), note)""",
        """select id, email, regexp_extract(note, '([0-9]+)', 1) as no, note from people where regexp_matches(email, '^(ada|kim|lea)[.][0-9]*7@mail1?[0-9][.]com$')
    or regexp_matches(note, '(red|blue) .* [0-9]{3} ')"""),
    "three_orders": (
        """O = order(sale, [region, price desc, day, id])""",
        """select * from sale order by region, price desc nulls last, day, id"""),
    "five_unions": (
        """a = project(sale, key = store, day, v = f64(qty))
b = project(back, key = prod, day, v = f64(qty))
c = project(acct, key = cur, day = date(t), v)
d = project(people, key = city, day = born, v = f64(pts))
e = project(basket, key = "shop", day, v = f64(cents))
O = group(union(a, b, c, d, e), [key, y = year(day)], n = count(), v = sum(v), last = max(day))""",
        """select key, year(day) y, count(*) n, sum(v) v, max(day) as last from (select store as key, day, qty::double v from sale union all select prod, day, qty from back
    union all select cur, t::date, v from acct union all select city, born, pts from people union all select 'shop', day, cents from basket) group by 1, 2"""),
    "pivot_days": (
        "O = pivot(sale, [store], d = day(day), price, sum, values = [" + ", ".join(str(d) for d in range(1, 31)) + '], prefix = "d")',
        "select store, " + ", ".join(f"sum(price) filter (day(day) = {d}) d{d}" for d in range(1, 31)) + " from sale group by 1"),
    "wide_distinct": (
        """O = group(distinct(project(sale, store, region, day, qty, how, cheap = price < 300)), [region, how], n = count(), c = sum(if(cheap, 1, 0)))""",
        """select region, how, count(*) n, sum(case when cheap then 1 else 0 end) c from (select distinct store, region, day, qty, how, price < 300 cheap from sale) group by 1, 2"""),
    "chains": (
        """c = project(sale, store, price, f = if(price < 5, "gift", if(price < 20, "low", if(price < 100, "mid", if(price < 400 && qty > 10, "bulk", if(how == "voucher", "promo", if(isnull(price), "none", "high")))))))
O = group(c, [store, f], n = count(), p = sum(price))""",
        """select store, case when price < 5 then 'gift' when price < 20 then 'low' when price < 100 then 'mid' when price < 400 and qty > 10 then 'bulk' when how = 'voucher' then 'promo'
    when price is null then 'none' else 'high' end f, count(*) n, sum(price) p from sale group by 1, 2"""),
    "made_key": (
        """O = group(project(sale, k = concat(region, "/", how, "/", year(day), "-", lpad(string(month(day)), 2, "0")), price, qty), [k], n = count(), p = sum(price), q = sum(qty))""",
        """select region || '/' || how || '/' || year(day) || '-' || lpad(month(day)::varchar, 2, '0') k, count(*) n, sum(price) p, sum(qty) q from sale group by 1"""),
}
