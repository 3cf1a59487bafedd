// Remembers and recalls with the client that @hey-api/openapi-ts generated.
import { client } from "./hey/client.gen.js";
import { recall, remember } from "./hey/sdk.gen.js";

client.setConfig({ baseUrl: process.argv[2] });
const receipt = await remember({
  body: { agent_id: "hey", type: "semantic", content: "Ana prefers green tea" },
});
if (receipt.data === undefined) throw new Error(JSON.stringify(receipt.error));
const answer = await recall({ body: { agent_id: "hey", query: "What does Ana like to drink?" } });
if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
const first: string = String(answer.data.results[0].content);
console.log(first);
