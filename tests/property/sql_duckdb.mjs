// usage: DUCKDB_DIR=FOLDER node sql_duckdb.mjs <{"sql": [..], "ask": [..]}; FOLDER has had `npm install @duckdb/node-api`.
// Runs the statements, then the queries; prints the rows of these.
import { createRequire } from "module";
import fs from "fs";
const require = createRequire((process.env.DUCKDB_DIR || ".") + "/package.json");
const { DuckDBInstance } = require("@duckdb/node-api");
const { sql, ask } = JSON.parse(fs.readFileSync(0, "utf8"));
const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
for (const s of sql) {
  try {
    await connection.run(s);
  } catch (e) {
    console.error(`${s}\n${e}`);
    process.exit(1);
  }
}
const all = [];
for (const q of ask) all.push((await connection.runAndReadAll(q)).getRows());
process.stdout.write(JSON.stringify(all) + "\n", () => process.exit(0)); // once all of it is written
