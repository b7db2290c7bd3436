// Preloaded into Node (NODE_OPTIONS=--require): what NODE_USE_ENV_PROXY=1 does from 22.21 and 24 on, for older ones.
"use strict";
const [major, minor] = process.versions.node.split(".").map(Number);
const proxy = process.env.HTTP_PROXY && new URL(process.env.HTTP_PROXY);
const supported = major >= 24 || (major === 22 && minor >= 21);
if (proxy && !supported && typeof fetch === "function") {
  const http = require("node:http");
  const tls = require("node:tls");
  const dispatcher = Symbol.for("undici.globalDispatcher.1");
  // Every connection is a tunnel through the proxy.
  const connect = (options, done) => {
    const secure = options.protocol === "https:";
    const host = options.hostname;
    const port = options.port || (secure ? 443 : 80);
    const headers = { host: `${host}:${port}` };
    if (proxy.username) {
      const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
      headers["proxy-authorization"] = `Basic ${Buffer.from(user).toString("base64")}`;
    }
    const asked = http.request({
      host: proxy.hostname, port: proxy.port, method: "CONNECT", path: `${host}:${port}`, headers, agent: false,
    });
    asked.on("error", (error) => done(error, null));
    asked.on("connect", (answer, socket) => {
      if (answer.statusCode !== 200) {
        socket.destroy();
        done(new Error(`the proxy answered ${answer.statusCode} to CONNECT ${host}:${port}`), null);
      } else if (!secure) {
        done(null, socket);
      } else {
        const wrapped = tls.connect({ socket, servername: options.servername || host, ALPNProtocols: ["http/1.1"] });
        wrapped.once("secureConnect", () => done(null, wrapped));
        wrapped.once("error", (error) => done(error, null));
      }
    });
    asked.end();
  };
  // Node's own undici isn't to be had by name: its agent's class is that of the dispatcher, which the first
  // fetch makes. This one ends before anything is sent.
  fetch("data:,").catch(() => {});
  const agent = globalThis[dispatcher];
  if (agent) globalThis[dispatcher] = new agent.constructor({ connect });
}
