"""Tool traffic: the pure core of the tool leg. It does no I/O and reads no clock; a *shell* does both.

A session has one `ToolLeg` (`leg.py`). It holds what all of its tools share: the plan, the identity of
calls, the noise, the bounds, the safety of tools, and the events.

    leg = ToolLeg(plan, session_id, leg_id, may_repeat=("search_*",))

**A shell for MCP** has an `McpLink` (`mcp.py`) for each server and session. It gives the link the bytes
of each message that `gate.may_concern_client` or `link.waits` lets through, and carries out the
`Decision`:

    link = McpLink(leg, "orders")
    decision = link.from_client(raw, now_us)          # one JSON-RPC message, with its line end if it has one
    decision = link.from_server(raw, now_us)          # the same in the other direction
    link.cancel(raw, now_us)                          # `notifications/cancelled`: end the wait of this key
    link.close(now_us)                                # the client has left

Wait for `decision.wait_s` first, without holding other messages back. Then do what `decision.act` says:

- PASS: send the message on as the bytes it was. REPLACE: send `decision.body` in its place.
- ANSWER: send `decision.body` back to the client; nothing goes on. Over HTTP with `decision.status`, and
  with Retry-After where `retry_after_s` is given.
- CLOSE: a link that carries one exchange is closed as `decision.close` says, after `decision.sent` was
  sent. A link that others share (stdio) sends `decision.body`, a JSON-RPC error, to the client instead.
- DROP: send nothing.
- `decision.copy`: send these bytes to the server, too; `from_server` drops the answer.
- After each message: `link.take_notifications()`, which are due to the client: noise has changed the list of
  tools in the middle of the session. `link.learn(raw)` is told the server's answer to `initialize`
  (`gate.may_declare`), which says whether its clients may be told.
- `decision.name`: the tool's true name, where the message was changed to it: the header `Mcp-Name` must say
  so.

A shell over HTTP whose clients share a link gives each exchange its own `scope`, since ids of two clients
may be equal.

**A shell for HTTP tools** uses the leg itself: `begin` before a request is sent on, `finish` with the
texts of its answer, `end` where there is none. `Begun` and `Finished` say what to do. `rules.py` says which
request is a call, with rules of the configuration or of an OpenAPI document (`openapi.py`); `http_results.py`
reads and writes the texts of an answer, and words a failure. The events of a stream are changed one by one
(`change_event`), and `finish` then gets no texts.

After each of these calls `leg.drain()` gives the new events; `events.as_row` makes rows of the record of
them. Messages of other methods, and whatever can't be read, are passed on as they came: probes and
handshakes (`server/discover`, `initialize`, `notifications/initialized`, `ping`) never come in here.
"""
