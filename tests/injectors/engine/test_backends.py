"""Which tools share a backend, and that they fail together."""

from __future__ import annotations

from typing import Any

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.stacks.backends import find_backend
from tests.injectors.dialogues import call, conversation
from tests.injectors.plans import plan_of

DECLARED = tuple(
    ToolSchema(name, "", {})
    for name in (
        "github_get_issue",
        "github_list_issues",
        "slack_post",
        "get_order",
        "list_orders",
        "orderStatus",
    )
)


@pytest.mark.parametrize(
    "tool,arguments,backend",
    [
        ("mcp__github__get_issue", "{}", "github"),
        ("shop.get_order", "{}", "shop"),
        ("functions.get_order", "{}", ""),
        ("shop:orders:get", "{}", "shop.orders"),
        ("github_get_issue", "{}", "github"),
        ("slack_post", "{}", ""),
        ("get_order", "{}", ""),
        ("list_orders", "{}", ""),
        ("orderStatus", "{}", ""),
        ("fetch", '{"url": "https://Docs.acme.io/setup?x=1"}', "docs.acme.io"),
        ("fetch", '{"url": "https:\\/\\/docs.acme.io\\/setup"}', "docs.acme.io"),
    ],
)
def test_a_backend_is_a_host_a_namespace_or_a_shared_prefix(tool: str, arguments: str, backend: str) -> None:
    assert find_backend(tool, arguments, DECLARED) == backend


PROFILE = """
name: t
bounds: {faults_per_call: 1, faults_per_session: 400, events_per_session: 400}
rules:
  - operator: tool.execution_failure
    severity: 1.0
    when: {burst: {enter: 0.05, leave: 0.1, of: backend}}
  - {operator: tool.timeout, severity: 1.0, when: {burst: {enter: 0.05, leave: 0.1, of: backend}}}
"""
TOOLS = ("crm__get_user", "crm__list_users", "pay__get_invoice", "pay__list_invoices")


def failed(seed: int, profile: str = PROFILE, count: int = 240) -> list[tuple[str, bool]]:
    messages: list[dict[str, Any]] = []
    for at in range(count):
        messages += call(TOOLS[at % 4], {"id": at}, '{"id": 1, "name": "Ada"}', at)
    new = perturb_messages(plan_of(profile, seed), conversation(messages, []), {}).new
    return [(TOOLS[at % 4], bool(one.decisions)) for at, one in enumerate(new)]


def test_the_tools_of_one_backend_fail_together_and_those_of_others_on_their_own() -> None:
    same = other = 0.0
    for seed in range(12):
        found = failed(seed)
        by_tool = {name: [hit for tool, hit in found if tool == name] for name in TOOLS}
        assert 0 < sum(hit for _, hit in found) < len(found)
        same += agreement(by_tool["crm__get_user"], by_tool["crm__list_users"])
        other += agreement(by_tool["crm__get_user"], by_tool["pay__get_invoice"])
    assert same / 12 > 0.85 and other / 12 < 0.75


def agreement(one: list[bool], two: list[bool]) -> float:
    return sum(a == b for a, b in zip(one, two, strict=True)) / len(one)


def test_a_longer_conversation_leaves_a_backends_bursts_as_they_were() -> None:
    whole = failed(3)
    assert failed(3, count=100) == whole[:100]


def test_rules_with_bursts_of_their_own_are_as_before() -> None:
    own = PROFILE.replace(", of: backend", "")
    assert failed(1, own) != failed(1)
    assert failed(1, own) == failed(1, own.replace("leave: 0.1", "leave: 0.1, of: rule"))
