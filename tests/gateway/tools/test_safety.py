"""No destructive call runs twice, or is lost, because of noise: 10,000 interleavings on a counting server."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

from crosswind.gateway.tools.decision import Act
from crosswind.gateway.tools.leg import ToolLeg
from crosswind.gateway.tools.mcp import McpLink
from crosswind.gateway.tools.safety import Origin, assess
from crosswind.injectors.conversation import ToolHints, ToolSchema
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import ToolClass
from tests.gateway.tools.links import call, result
from tests.injectors.plans import plan_with

FAULTS = (
    *("tool.execution_failure", "tool.timeout", "tool.incomplete", "tool.erroneous", "tool.rate_limit"),
    *("tool.fabricated_observation", "tool.silent_noop", "transport.reset", "transport.hang"),
    *("transport.duplicated_delivery", "transport.truncated_body", "transport.status", "tool.redundant"),
)
INTERLEAVINGS = 10_000


class CountingServer:
    """Carries out whatever reaches it, and counts."""

    def __init__(self) -> None:
        self.carried_out: Counter[str] = Counter()

    def take(self, raw: bytes) -> bytes:
        request = json.loads(raw)
        what = json.dumps(request["params"]["arguments"])
        self.carried_out[what] += 1
        return result(request["id"], f"Order {what} was placed: number A-{self.carried_out[what]}.")


@cache
def plans() -> list[Plan]:
    """Plans under which calls fail in every way, and whose profile takes every call for one to repeat."""
    rng, made = SeededRandom("plans"), []
    for _ in range(60):
        more = f"assume_tools: replayable\nbounds: {{faults_per_call: {rng.integer(1, 3)}}}"
        operators = rng.shuffled(FAULTS)[:3]
        made.append(plan_with(*operators, severity=rng.choice((0.3, 1.0)), more=more))
    return made


def play(seed: int) -> None:
    """Three orders by an agent that makes an order again only where it was told that it failed; their steps
    and the server's come in any order."""
    rng = SeededRandom(f"interleaving {seed}")
    plan = replace(rng.choice(plans()), seed=seed)
    drawn = [rule.operator for rule in plan.rules]
    link = McpLink(ToolLeg(plan, "s", "leg"), "shop")
    server, at_server, to_client = CountingServer(), list[bytes](), list[bytes]()
    wanted = [{"n": n % 2} if rng.chance(0.5) else {"n": n} for n in range(3)]
    open_calls: dict[int, dict[str, Any]] = {}
    told: Counter[str] = Counter()
    number = 0
    pending = list(wanted)
    while pending or at_server or to_client:
        steps = [
            name for name, queue in (("ask", pending), ("serve", at_server), ("hear", to_client)) if queue
        ]
        match rng.choice(steps):
            case "ask":
                number += 1
                open_calls[number] = pending.pop(rng.integer(0, len(pending) - 1))
                raw = call(number, "place_order", open_calls[number])
                decision = link.from_client(raw, number)
                assert not decision.copy
                if decision.act in (Act.PASS, Act.REPLACE):
                    at_server.append(decision.body or raw)
                else:
                    to_client.append(decision.body)
            case "serve":
                answer = server.take(at_server.pop(rng.integer(0, len(at_server) - 1)))
                decision = link.from_server(answer, number)
                assert decision.act in (Act.PASS, Act.REPLACE)
                to_client.append(decision.body or answer)
            case "hear":
                heard = json.loads(to_client.pop(0))
                order = open_calls.pop(heard["id"])
                if "error" in heard or heard["result"].get("isError"):
                    pending.append(order)
                else:
                    assert "was placed" in heard["result"]["content"][0]["text"]
                    told[json.dumps(order)] += 1
    assert server.carried_out == told == Counter(json.dumps(order) for order in wanted), drawn


def test_each_order_is_placed_as_often_as_the_agent_was_told() -> None:
    for seed in range(INTERLEAVINGS):
        play(seed)


def test_a_class_comes_with_its_origin() -> None:
    plan = plan_with("tool.timeout", tool_classes=[{"declared_*": ToolClass.READ_ONLY}])
    hinted = ToolSchema("frobnicate", "", {}, ToolHints(read_only=True))
    found = {
        name: assess(plan, name, [hinted], method=method)
        for name, method in (
            ("declared_x", None),
            ("frobnicate", None),
            ("get_weather", None),
            ("zork", None),
            ("orders", "DELETE"),
        )
    }
    assert [(one.tool_class, one.origin) for one in found.values()] == [
        (ToolClass.READ_ONLY, Origin.DECLARED),
        (ToolClass.READ_ONLY, Origin.ANNOTATIONS),
        (ToolClass.READ_ONLY, Origin.WORDING),
        (ToolClass.UNKNOWN, Origin.NOTHING),
        (ToolClass.IDEMPOTENT, Origin.METHOD),
    ]
