"""A scripted model provider for tests: real HTTP on loopback, answers that a script decides, no key.

It speaks Chat Completions, Responses, Messages, Completions and Embeddings, plain and as streams; it refuses
what the real providers refuse, and records every request as it came:

    look_up = Answer(calls=(Call("get_order", {"id": "W17"}),))
    with ScriptedProvider(look_up, Answer("It is shipped.")) as provider:
        run_my_agent(base_url=provider.base_url, api_key="any")
    assert len(provider.requests) == 2

One operator alone, without a server:

    assert apply_operator("tool.lost", "shipped").payload.startswith("ERROR")

docs/testing.md has more.
"""

from crosswind.testing.dialogue import (
    Answer,
    Call,
    CallItem,
    Decide,
    DecideMessage,
    DeclaredTool,
    Dialogue,
    MessageItem,
    ResultItem,
    SampledAnswer,
    Step,
    answer_messages,
    script,
)
from crosswind.testing.errors import ProviderError
from crosswind.testing.operators import apply_operator
from crosswind.testing.provider import ScriptedProvider
from crosswind.testing.replies import CUT, ReceivedRequest, Reply, chunks, plain

__all__ = [
    "CUT",
    "Answer",
    "Call",
    "CallItem",
    "Decide",
    "DecideMessage",
    "DeclaredTool",
    "Dialogue",
    "MessageItem",
    "ProviderError",
    "ReceivedRequest",
    "Reply",
    "ResultItem",
    "SampledAnswer",
    "ScriptedProvider",
    "Step",
    "answer_messages",
    "apply_operator",
    "chunks",
    "plain",
    "script",
]
