// Every tool of a server, called by the TypeScript SDK: `node mcp_client.mjs MODULES stdio COMMAND...` or
// `node mcp_client.mjs MODULES http URL`. Prints one JSON object with what was seen.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, kind, ...words] = process.argv.slice(2);
const require = createRequire(`${modules}/node_modules/`);
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)).href);
const { Client } = await load("client/index.js");

async function transport() {
  if (kind === "stdio") {
    const { StdioClientTransport } = await load("client/stdio.js");
    return new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env, stderr: "ignore" });
  }
  const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
  return new StreamableHTTPClientTransport(new URL(words[0]));
}

const client = new Client({ name: "test", version: "1" });
await client.connect(await transport());
const { tools } = await client.listTools();
let beats = 0;
const call = async (name, args = {}) => {
  const options = { timeout: 60000, resetTimeoutOnProgress: true, onprogress: () => { beats += 1; } };
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  result.said = JSON.parse(result.content[0].text);
  if (!result.isError && JSON.stringify(result.said) !== JSON.stringify(result.structuredContent)) {
    throw new Error(`${name}: text and structured content differ`);
  }
  return result;
};
const begun = (await call("start_roundtable", { topic: "Tea or coffee?", rounds: 2, step: true })).structuredContent;
const named = { sessionId: begun.sessionId };
const spoken = { ...named, agentId: begun.agentResponses[0].agentId };
const seen = {};
for (const [name, args] of [
  ["continue_roundtable", named],
  ["get_consensus", named],
  ["get_agents", {}],
  ["list_sessions", { limit: 5 }],
  ["get_thoughts", spoken],
  ["export_session", named],
  ["get_round_details", { ...named, roundNumber: 2 }],
  ["get_response_detail", { ...spoken, roundNumber: 1 }],
  ["get_citations", named],
  ["synthesize_debate", named],
  ["control_session", { ...named, action: "pause" }],
]) {
  const result = await call(name, args);
  seen[name] = result.isError ? result.said.code : "answered";
}
const { resources } = await client.listResources();
const { prompts } = await client.listPrompts();
await client.close();
console.log(JSON.stringify({ tools: tools.length, beats, seen, resources: resources.length, prompts: prompts.length }));
