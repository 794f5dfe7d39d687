"""DuckDB in a process of its own, in memory, for scripts that compare files. Needs @duckdb/node-api in DUCKDB_DIR (default
/tmp/duck)."""
import functools, json, os, subprocess

SCRIPT = """import { createRequire } from 'module'; import readline from 'readline'
const { DuckDBInstance } = createRequire(process.env.DUCKDB_DIR + '/')('@duckdb/node-api')
const c = await (await DuckDBInstance.create(':memory:')).connect()
for await (const line of readline.createInterface({ input: process.stdin })) {
    let why = null
    try { await c.run(JSON.parse(line)) } catch (e) { why = String(e) }
    console.log(JSON.stringify(why))
}"""


@functools.lru_cache(None)
def process():
    return subprocess.Popen(["node", "--input-type=module", "-e", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "TZ": "UTC", "DUCKDB_DIR": os.environ.get("DUCKDB_DIR", "/tmp/duck")})


def run(statement):
    """Runs a statement. Returns the error, or None."""
    p = process()
    p.stdin.write(json.dumps(statement) + "\n")
    p.stdin.flush()
    return json.loads(p.stdout.readline())
