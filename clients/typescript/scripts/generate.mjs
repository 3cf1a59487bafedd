// Writes src/wire.ts, the types of the wire format, from the OpenAPI document of the server in this checkout.
// `--check` changes nothing, and fails when the committed file is not what would be written.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTypescript, { astToString } from "openapi-typescript";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const target = fileURLToPath(new URL("../src/wire.ts", import.meta.url));
const python = process.env.PYTHON ?? `${root}.venv/bin/python`;
const program = "import json; from memorywire_server.http.openapi import openapi; print(json.dumps(openapi()))";
const document = JSON.parse(execFileSync(python, ["-c", program], { maxBuffer: 1 << 26, encoding: "utf8" }));
document.paths = {}; // the client has the addresses; what it needs here are the schemas
for (const schema of Object.values(document.components.schemas)) {
  if (schema.properties !== undefined) delete schema.anyOf; // which of two fields must be there: no type says it
}
const head = "// Written by scripts/generate.mjs from the server's OpenAPI document: do not edit.\n\n";
const written = head + astToString(await openapiTypescript(document, { alphabetize: true, defaultNonNullable: false }));

if (!process.argv.includes("--check")) {
  writeFileSync(target, written);
} else if (readFileSync(target, "utf8") !== written) {
  throw new Error("src/wire.ts is not what the server describes: run npm run generate");
}
