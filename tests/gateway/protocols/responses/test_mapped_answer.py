"""Any response of any world: streamed and plain say the same, and what the policy made is put back."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.http.sse import EventSplitter, SseEvent
from crosswind.gateway.protocols.codec import SessionReader
from crosswind.gateway.protocols.hidden_tools import CallMapping, HistoryEdits
from crosswind.gateway.protocols.history import policy_anchor_base
from crosswind.gateway.protocols.request import Request
from crosswind.gateway.protocols.responses.codec import CODEC
from crosswind.gateway.protocols.responses.mapped_answer import MappedResponsesAnswer
from crosswind.gateway.protocols.responses.tool_mapping import ResponsesToolMapping
from crosswind.testing.response_events import events
from tests.gateway.protocols.responses.conversation import RESPONSE, event
from tests.gateway.protocols.test_documents import same

USER = {"role": "user", "content": "hi"}
CLOSING = ResponsesToolMapping()


class Shown:
    """`other` is the client's `mine`, and so is its duplicate `another`; `phantom` is nobody's, `typed` is
    refused where its arguments are bad.
    """

    hides_calls = True

    def client_name(self, name: str) -> str:
        return {"other": "mine", "another": "mine"}.get(name, name)

    def shown_name(self, name: str) -> str:
        return "other" if name in ("other", "another") else name

    def is_hidden(self, name: str, arguments: str) -> bool:
        return name == "phantom" or (name == "typed" and arguments == '"bad"')

    def needs_arguments(self, name: str) -> bool:
        return name == "typed"

    def may_continue(self, name: str) -> bool:
        return False


WORLD: CallMapping = Shown()
ITEMS = st.one_of(
    st.just({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}),
    st.just({"type": "message", "role": "assistant", "status": "completed"}),
    st.builds(
        lambda name, arguments: {"type": "function_call", "name": name, "arguments": arguments},
        st.sampled_from(["other", "another", "phantom", "typed", "plain"]),
        st.sampled_from(['"bad"', "{}"]),
    ),
)


def numbered(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Items with ids, and messages with words, of their own."""
    out = []
    for at, item in enumerate(items):
        own: dict[str, Any] = {"id": f"i{at}"}
        if item["type"] == "function_call":
            own["call_id"] = f"c{at}"
        if item["type"] == "message":
            own["content"] = [{"type": "output_text", "text": f"Word {at}.", "annotations": []}]
        out.append(item | own)
    return out


OUTPUTS = st.lists(ITEMS, min_size=1, max_size=7).map(numbered)


def request(*items: Any) -> Request:
    split = CODEC.split(json.dumps({"model": "m", "input": [USER, *items], "store": False}).encode())
    assert split is not None
    return CODEC.read(split, SessionReader(CODEC), same)


def plain(output: list[Any]) -> tuple[MappedResponsesAnswer, list[Any]]:
    answer = MappedResponsesAnswer(WORLD, request())
    body = answer.read_body(json.dumps(RESPONSE | {"output": output}).encode())
    delivered: list[Any] = json.loads(body)["output"]
    return answer, delivered


@given(OUTPUTS)
def test_a_stream_says_what_a_plain_answer_says(output: list[Any]) -> None:
    answer = MappedResponsesAnswer(WORLD, request())
    raw = b""
    for one in events(RESPONSE | {"output": output}):
        data = event(one)
        raw += answer.read_event(SseEvent(data, json.dumps(one).encode())).raw
    if answer.unanswered:
        raw += answer.conclude()
    told = [json.loads(one.data) for one in EventSplitter(1 << 20).feed(raw)]
    assert [one["sequence_number"] for one in told] == list(range(len(told)))
    done = [one for one in told if one["type"] == "response.output_item.done"]
    opened = [one["output_index"] for one in told if one["type"] == "response.output_item.added"]
    assert opened == [one["output_index"] for one in done] == list(range(len(done)))
    _, delivered = plain(output)
    assert [one["item"] for one in done] == told[-1]["response"]["output"] == delivered
    names = {one["name"] for one in delivered if one["type"] == "function_call"}
    assert not names & {"phantom", "other", "another"}
    assert [one["id"] for one in output if one["type"] == "message"] == [
        one["id"] for one in delivered if one["type"] == "message"
    ]


@given(OUTPUTS)
def test_reasoning_is_never_parted_from_all_that_follows_it(output: list[Any]) -> None:
    """It is delivered with an item of its own, or withheld with all of them."""
    _, delivered = plain(output)
    kept = {one["id"] for one in delivered}
    for at, item in enumerate(output):
        if item["type"] == "reasoning":
            behind = []
            for one in output[at + 1 :]:
                if one["type"] == "reasoning":
                    break
                behind.append(one["id"] in kept)
            assert (item["id"] in kept) == (any(behind) or not behind)


@given(OUTPUTS)
def test_what_is_put_back_is_what_the_policy_made(output: list[Any]) -> None:
    answer, delivered = plain(output)
    if not delivered:
        return
    results = [(call, f"inner {call.call_id}") for call in answer.hidden_calls()]
    kept = CLOSING.find_reinsertions(answer, WORLD, [], (answer.produced_body(), results))
    anchored = {f"{policy_anchor_base(call_id, said)}#{before}": put for (call_id, said, before), put in kept}
    outputs = [
        {"type": "function_call_output", "call_id": one["call_id"], "output": "own"}
        for one in delivered
        if one["type"] == "function_call"
    ]
    later = request(*delivered, *outputs)
    put_back = {
        index: anchored[anchor] for index, anchor in enumerate(later.policy_anchors()) if anchor in anchored
    }
    sent, _ = later.write({}, {}, same, HistoryEdits(CLOSING, {"mine": "other"}, put_back))
    inner = [json.loads(raw) for raw in CLOSING.result_messages(results)]
    assert json.loads(sent)["input"] == [USER, *output, *inner, *outputs]
