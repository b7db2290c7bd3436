"""A scripted model provider for tests: real HTTP on loopback, answers that a script decides, no network and
no key.

It speaks Chat Completions, Responses, Messages, Completions and Embeddings, plain and as streams; it refuses
what the real providers refuse, and records every request as it came. A test of an operator of yours, from end
to end:

    provider = ScriptedProvider(Answer(calls=(Call("get_order", {"id": "W17"}),)), Answer("It is on its
    way.")) with provider:
        subprocess.Popen(["crosswind", "serve", "--upstream", provider.base_url, "--profile", "mine.yaml"])
        ...

and of the operator alone, without a server:

    assert apply_operator("tool.lost", '{"status": "shipped"}').startswith("ERROR")
"""

from crosswind.testing.dialogue import (
    Answer,
    Call,
    Decide,
    DecideMessage,
    Dialogue,
    Message,
    SampledAnswer,
    Step,
    Tool,
    ToolCall,
    ToolResult,
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
    "Decide",
    "DecideMessage",
    "Dialogue",
    "Message",
    "ProviderError",
    "ReceivedRequest",
    "Reply",
    "SampledAnswer",
    "ScriptedProvider",
    "Step",
    "Tool",
    "ToolCall",
    "ToolResult",
    "answer_messages",
    "apply_operator",
    "chunks",
    "plain",
    "script",
]
