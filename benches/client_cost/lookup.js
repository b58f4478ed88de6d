// The published client, timed by its parent: benches/client_cost.rs.
//
// The first line of standard input is {"url", "token", "sql", "rows"}. Each line after it is a number of lookups, and
// is answered by {"wall_us", "cpu_us"}: the time that they took, and the CPU time of this process, all threads.
import { createClient } from "@libsql/client";
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const nextLine = async () => (await lines.next()).value;

const { url, token, sql, rows } = JSON.parse(await nextLine());
const client = createClient({ url, authToken: token });
let key = 0;

async function lookUp() {
  key = (key % rows) + 1;
  const answer = await client.execute({ sql, args: [key] });
  if (answer.rows.length !== 1) throw new Error(`key ${key}: ${answer.rows.length} rows`);
}

for (let line = await nextLine(); line; line = await nextLine()) {
  const cpu = process.cpuUsage();
  const begun = performance.now();
  for (let left = Number(line); left > 0; left--) await lookUp();
  const wall_us = (performance.now() - begun) * 1000;
  const { user, system } = process.cpuUsage(cpu);
  console.log(JSON.stringify({ wall_us, cpu_us: user + system }));
}
client.close();
process.exit(0);
