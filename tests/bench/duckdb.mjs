// usage: DUCKDB_DIR=FOLDER node duckdb.mjs DATABASE REPEATS <SQL; FOLDER has had `npm install @duckdb/node-api`.
// Runs all statements but the last once, then the last so often; prints the seconds of each, then its first row.
import { createRequire } from "module";
import fs from "fs";
const require = createRequire((process.env.DUCKDB_DIR || ".") + "/package.json");
const { DuckDBInstance } = require("@duckdb/node-api");
const [database, repeats] = process.argv.slice(2);
const statements = fs.readFileSync(0, "utf8").split(";").map((s) => s.trim()).filter((s) => s);
const connection = await (await DuckDBInstance.create(database, { threads: "2" })).connect();
const run = async (q) => (await connection.runAndReadAll(q)).getRows();
for (const s of statements.slice(0, -1)) await run(s);
const seconds = [];
let rows;
for (let i = 0; i < +repeats; i++) {
  const from = process.hrtime.bigint();
  rows = await run(statements[statements.length - 1]);
  seconds.push(Number(process.hrtime.bigint() - from) / 1e9);
}
console.log(seconds.join(" "));
console.log((rows[0] || []).slice(0, 4).map(String).join(" "));
process.exit(0);
