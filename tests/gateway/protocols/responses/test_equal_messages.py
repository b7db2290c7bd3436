"""Messages that say the same within one answer on Responses: each gets back what stood around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crosswind.testing import Answer, ScriptedProvider, script
from tests.gateway.noise.test_tool_view import ABBREVIATED
from tests.gateway.protocols.responses.test_tool_mapping import STREAMED, Client, calling, closed, fine, user
from tests.gateway.servers import gateway

__all__ = ["closed"]


@STREAMED
async def test_a_round_is_put_back_between_two_equal_messages(
    tmp_path: Path, closed: Any, stream: bool
) -> None:
    policy = script(
        calling(0, text="Let me see."),
        calling(1, text="Let me see."),
        calling(0, text="Let me see."),
        Answer("Two orders."),
        Answer("Nothing else."),
    )
    async with (
        ScriptedProvider(policy) as app,
        gateway(tmp_path, app.url, **closed(ABBREVIATED)) as running,
        Client(running, stream=stream) as client,
    ):
        await client.turn(user("What did ACME order?"))
        answered_inside = await client.answer_calls()
        assert answered_inside.output_text == "Let me see.Let me see."
        await client.answer_calls()
        await client.turn(user("And what else?"))
        assert len(app.requests) == 5
        fine(app)
