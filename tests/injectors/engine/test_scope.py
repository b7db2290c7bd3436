"""What a profile may touch: sessions by coverage, payloads by their text."""

from __future__ import annotations

import pytest

from crosswind.injectors.cli.documents import conversation
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Plan, Seed, make_plan
from crosswind.injectors.profiles.load import ProfileError, parse
from tests.injectors.dialogues import call

RULE = "rules:\n  - operator: tool.timeout\n    severity: 1\n"


def plan_of(yaml_text: str, seed: int = 0) -> Plan:
    return make_plan(parse(yaml_text, "t.yaml"), Seed(seed, "g", "group"))


@pytest.mark.parametrize("coverage,low,high", [(0.0, 0, 0), (0.3, 40, 80), (1.0, 200, 200)])
def test_coverage_is_the_share_of_sessions_with_rules(coverage: float, low: int, high: int) -> None:
    plans = [plan_of(f"name: t\ncoverage: {coverage}\n{RULE}", seed) for seed in range(200)]
    assert low <= sum(bool(plan.rules) for plan in plans) <= high


def test_a_rule_touches_only_what_holds_its_text_and_counts_only_that() -> None:
    plan = plan_of(f"name: t\n{RULE}    when: {{nth: 2}}\n    where: {{text: 'parcel|letter'}}\n")
    assert Plan.from_json(plan.to_json()) == plan
    texts = ["a parcel", "a box", "a letter", "a parcel"]
    chat = [
        message for number, text in enumerate(texts) for message in call(f"get_{number}", {}, text, number)
    ]
    (ref,) = perturb_messages(plan, conversation(chat), {}).replacements
    assert chat[ref.message]["content"] == "a letter"


@pytest.mark.parametrize(
    "text,line,words",
    [
        (
            f"name: t\n{RULE}    where:\n      text: '(a'\n",
            6,
            ["rules[0].where.text", "no regular expression"],
        ),
        (f"name: t\ncoverage: 1.5\n{RULE}", 2, ["coverage", "1.5"]),
    ],
)
def test_an_error_names_the_line_and_the_field(text: str, line: int, words: list[str]) -> None:
    with pytest.raises(ProfileError) as caught:
        parse(text, "my.yaml")
    assert str(caught.value).startswith(f"my.yaml:{line}: ")
    assert [word for word in words if word not in str(caught.value)] == []
