// For the scenarios of the wire format: each line of standard input is a call, each line of output its answer.
import { createInterface } from "node:readline";
import { Memory, MemorywireError } from "../dist/index.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { url, tenant, operation, payload } = JSON.parse(line);
  try {
    const answer = await new Memory({ url, tenant, retries: 0 }).call(operation, payload);
    console.log(JSON.stringify({ answer }));
  } catch (error) {
    if (!(error instanceof MemorywireError)) throw error;
    const { code, message: detail, field, fix } = error;
    console.log(JSON.stringify({ problem: { code, detail, field, fix } }));
  }
}
