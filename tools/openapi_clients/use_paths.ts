// Remembers and recalls with the types that openapi-typescript generated, through openapi-fetch.
import createClient from "openapi-fetch";
import type { paths } from "./paths.js";

const client = createClient<paths>({ baseUrl: process.argv[2] });
const receipt = await client.POST("/v0/remember", {
  body: { agent_id: "paths", type: "semantic", content: "Ana prefers green tea" },
});
if (receipt.data === undefined) throw new Error(JSON.stringify(receipt.error));
const answer = await client.POST("/v0/recall", {
  body: { agent_id: "paths", query: "What does Ana like to drink?" },
});
if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
const first: string = String(answer.data.results[0].content);
console.log(first);
