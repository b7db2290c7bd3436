"""Protocols: one folder each. A request finds its protocol by the `path` of the folder's codec; nothing else
lists it.

A folder has, in the order in which they are written:

- `codec.py` (required): `CODEC`, a `codec.Codec`: the route, and how a body is split, read and written back.
  `message_format.MessageFormat` is the part of it that reads and writes one message.
- `answer.py` (unless `codec.py` holds it): an `answer.AnswerReader`, which reads the plain answer and the
  stream. For a list of choices, `choices.ChoicesAnswer` does most of this.
- `tool_mapping.py`, `mapped_answer.py` and `mapped_stream.py` (if the protocol has tools and noise may change
  them): a `tool_mapping.ToolMapping`, and a `mapped_answer.MappedAnswer`. The latter restores the names of
  the client's own tools and removes hidden calls, in a plain answer and in a stream.
- `provider_errors.py` (for faults of the model): a `provider_errors.ProviderErrors`.
- `text_deltas.py` and the like (for speed): how a stream's plain text events are read many at once.
- further files for what only this protocol has, such as `responses/items.py`.

`completions` needs only the first two files, `embeddings` only the first. Every codec obeys the laws of
`tests/gateway/protocols/codec_laws.py`. The other modules here are shared: JSON by byte spans (`document`,
`json_values`), requests and histories (`request`, `history`, `history_cache`, `server_history`), tools
(`tools`, `hidden_tools`), tokens (`token_capture`, `sampled_tokens`).
"""
