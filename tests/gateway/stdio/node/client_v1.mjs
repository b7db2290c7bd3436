// The same session as in client.mjs, with the SDK's first generation (@modelcontextprotocol/sdk 1.x).
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
const env = { PATH: process.env.PATH, PYTHONPATH: process.env.PYTHONPATH ?? "" };
const transport = command.startsWith("http://")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env, stderr: "ignore" });
await client.connect(transport);

const call = async (name, given) => {
  const result = await client.callTool({ name, arguments: given });
  return { error: result.isError ?? false, text: result.content[0].text, value: result.structuredContent ?? null };
};
const seen = {
  tools: (await client.listTools()).tools.map((tool) => tool.name).sort(),
  echo: [await call("echo", { message: "x" }), await call("echo", { message: "x" })],
  structured: await call("get-structured-content", { location: "Chicago" }),
};
console.log(JSON.stringify(seen));
await client.close();
