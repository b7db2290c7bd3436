// A session of the official client for Node with a server: `client.mjs MODE COMMAND...`. Prints what it saw.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, command, ...args] = process.argv.slice(2);
const options = mode === "auto" ? { versionNegotiation: { mode } } : {};
const client = new Client({ name: "test", version: "1" }, options);
const env = { PATH: process.env.PATH, PYTHONPATH: process.env.PYTHONPATH ?? "" };
await client.connect(new StdioClientTransport({ command, args, env, stderr: "ignore" }));

const call = async (name, given) => {
  const result = await client.callTool({ name, arguments: given });
  return { error: result.isError ?? false, text: result.content[0].text, value: result.structuredContent ?? null };
};
const seen = {
  protocol: client.getNegotiatedProtocolVersion?.() ?? null,
  tools: (await client.listTools()).tools.map((tool) => tool.name).sort(),
  echo: [await call("echo", { message: "x" }), await call("echo", { message: "x" })],
  structured: await call("get-structured-content", { location: "Chicago" }),
};
console.log(JSON.stringify(seen));
await client.close();
