// One long debate, by the TypeScript SDK with requests that end some time after the last sign of life:
// `node mcp_patient_client.mjs MODULES MILLISECONDS COMMAND...`. Prints one JSON object with what was seen.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, timeout, command, ...args] = process.argv.slice(2);
const require = createRequire(`${modules}/node_modules/`);
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");

const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" }));
let beats = 0;
const options = { timeout: Number(timeout), resetTimeoutOnProgress: true, onprogress: () => { beats += 1; } };
const began = Date.now();
const asked = { topic: "Tea?", rounds: 4, wait: 120 };
const result = await client.callTool({ name: "start_roundtable", arguments: asked }, undefined, options);
const seconds = (Date.now() - began) / 1000;
await client.close();
console.log(JSON.stringify({ status: result.structuredContent.status, seconds, beats }));
