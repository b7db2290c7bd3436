"""user.out_of_scope: a wish that no tool serves, beside the task."""

from __future__ import annotations

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.words.asides import ERRANDS, LEAVES_FREE
from tests.injectors.operators.user.acting import BAGGAGE, shown, user_target


def test_the_request_is_whole_and_the_rest_may_be_left() -> None:
    for after in shown("user.out_of_scope", user_target(BAGGAGE), 1.0):
        assert after.startswith(BAGGAGE)
        assert sum(request in after for request, _ in ERRANDS) == 2
        assert after.endswith(LEAVES_FREE)


def test_nothing_is_asked_that_a_declared_tool_could_do() -> None:
    tools = [
        ToolSchema("music.playSong", "Plays.", {}),
        ToolSchema("act", "Walk a dog, any pet.", {"properties": {"plant": {"type": "string"}}}),
    ]
    seen = " ".join(shown("user.out_of_scope", user_target(BAGGAGE, tools=tools), 1.0))
    assert "kitchen" in seen
    assert not any(word in seen for word in ("lullaby", "dog", "parrot", "water the plants"))
