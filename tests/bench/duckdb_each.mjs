// usage: DUCKDB_DIR=FOLDER node duckdb_each.mjs DATABASE THREADS MEMORY SQL...    (FOLDER: where npm install @duckdb/node-api was run)
// Runs the statements one after the other in one process; prints as JSON the seconds of each and the rows of the last.
import { writeFileSync } from "fs";
import { createRequire } from "module";
const require = createRequire(process.env.DUCKDB_DIR + "/package.json");
const { DuckDBInstance } = require("@duckdb/node-api");
const [file, threads, memory, ...sql] = process.argv.slice(2);
const db = await DuckDBInstance.create(file, { threads, memory_limit: memory });
const connection = await db.connect();
const seconds = [];
let rows = [];
for (const statement of sql) {
  const begin = process.hrtime.bigint();
  rows = (await connection.runAndReadAll(statement)).getRows();
  seconds.push(Number(process.hrtime.bigint() - begin) / 1e9);
}
writeFileSync(1, JSON.stringify({ seconds, rows: rows.map((row) => row.map(String)) }) + "\n"); // also of long answers: all of it
connection.closeSync();
process.exit(0);
