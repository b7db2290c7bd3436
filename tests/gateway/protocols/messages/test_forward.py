"""Messages mapped back and forward again: the identity for the client."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from crosswind.gateway.protocols.hidden_tools import Reinsertion
from crosswind.gateway.protocols.json_values import decode, encode
from crosswind.gateway.protocols.messages.tool_mapping import MessagesToolMapping

BLOCKS = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text}, st.sampled_from(["a", "ab", "c"])),
        st.builds(
            lambda text: {"type": "thinking", "thinking": text, "signature": f"s{text}"},
            st.sampled_from("xy"),
        ),
    ),
    max_size=3,
)
CALLS = st.lists(st.booleans(), min_size=1, max_size=4)


@given(st.lists(BLOCKS, max_size=3), BLOCKS, CALLS, st.booleans())
def test_forward_undoes_what_back_did(
    rounds: list[list[Any]], last: list[Any], calls: list[bool], marked: bool
) -> None:
    """Any rounds and blocks, real (True) and phantom calls among them: the policy meets them all again."""
    forms = MessagesToolMapping()
    before: list[Any] = []
    for number, blocks in enumerate(rounds):
        call = {"type": "tool_use", "id": f"p{number}", "name": "ghost", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"p{number}", "content": "nothing"}
        before += [
            {"role": "assistant", "content": [*blocks, call]},
            {"role": "user", "content": [result]},
        ]
    made: list[Any] = list(last)
    for at, real in enumerate(calls):
        made.insert(
            at * 2, {"type": "tool_use", "id": f"c{at}", "name": "t" if real else "ghost", "input": {}}
        )
    inner = [(at, block) for at, block in enumerate(made) if block.get("name") == "ghost"]
    delivered = [block for blocks in rounds for block in blocks]
    delivered += [block for block in made if block.get("name") != "ghost"]
    if marked and delivered:
        made = [{**block, "cache_control": 1} if block is delivered[-1] else block for block in made]
        marked = any(block is delivered[-1] for blocks in rounds for block in blocks)
        delivered[-1] = {**delivered[-1], "cache_control": 1}
    results = [{"type": "tool_result", "tool_use_id": block["id"], "content": ""} for _, block in inner]
    put = Reinsertion(
        before=tuple(encode(message).decode() for message in before),
        text="".join(block["text"] for block in last if block["type"] == "text") if rounds else None,
        calls=tuple((at, encode(block).decode()) for at, block in inner),
        results=(encode({"role": "user", "content": results}).decode(),) if results else (),
    )
    raw = encode({"role": "assistant", "content": delivered})
    whole = decode(b"[" + forms.reinsert(raw, put) + b"]")
    assert whole == [*before, *([{"role": "assistant", "content": made}] if made else [])]
    following = decode(forms.insert_results(encode({"role": "user", "content": "so"}), put))
    said = [{"type": "text", "text": "so"}] if results else "so"
    assert following["content"] == ([*results, *said] if results else said)
