"""Operators in a model's words: what is kept, what is refused, and that the rule is always there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crosswind.injectors import registry
from crosswind.injectors.conversation import (
    Conversation,
    InstructionText,
    Ref,
    Site,
    ToolCall,
    ToolResult,
    ToolSchema,
    UserText,
)
from crosswind.injectors.engine.decision import Decision, Injection
from crosswind.injectors.engine.messages import perturb_instructions, perturb_messages, replay
from crosswind.injectors.engine.plan import CompiledRule, Plan, Seed, make_plan
from crosswind.injectors.engine.tools import perturb_tools
from crosswind.injectors.profiles.load import ProfileError, parse
from crosswind.injectors.targets import InstructionsTarget
from crosswind.injectors.text.json_payload import holds_all
from crosswind.injectors.wording import WORDING, Prompt, WrittenText, all_written_forms, apply_draw

SAYS = (
    "Hello, I would like to know exactly where order #W2378156 is. "
    "Please send the answer to mia.garcia@example.com before Friday. Thank you for helping me!"
)
RESULT = {"order_id": "#W2378156", "status": "delivered", "total": 38.5}
INSTRUCTIONS = InstructionText(Ref(0), f"You are Mia, a customer. You want this: {SAYS}", "text:2#0", 0)
TOOL = ToolSchema(
    "get_order",
    "Look an order up. Returns its status and items.",
    {
        "type": "object",
        "properties": {"order_id": {"type": "string", "description": "The specified order's number."}},
        "required": ["order_id"],
    },
)
NEIGHBOURS = [
    {"name": f"{verb}_order", "says": f"{verb} orders for the archive", "parameter": "when", "kind": "string"}
    for verb in ("stamp", "shelve")
]
LINES = "\n".join(f"- It may be worth a look at {word} things first." for word in "abcdefghijklmn")
ASKS = "1. do you ever get bored?\n2. is it raining where you are?"

GOOD: dict[str, str] = {
    "user.paraphrase": (
        '"Hi, could you establish where #W2378156 is, and write to mia.garcia@example.com before Friday?"'
    ),
    "user.ambiguous": (
        "Hi, where is my order by now, roughly? Please write to mia.garcia@example.com before Friday."
    ),
    "user.interaction_pattern": "You sigh a lot, and speak of 'that parcel' until you are asked which one.",
    "user.redundant": LINES,
    "user.topic_drift": ASKS,
    "user.boundary_probing": ASKS,
    "user.out_of_scope": "Please also hum me a tune.\nPlease also feed my cat.",
    "tool.misleading": LINES,
    "tool.redundant": LINES,
    "schema.paraphrase_tool": "Finds an order and gives its status and items.",
    "schema.paraphrase_parameter": '```json\n{"order_id": "The number of the order meant."}\n```',
    "schema.redundant_tool": json.dumps(NEIGHBOURS),
    "schema.ghost_tool": "The newer way to look an order up, with the same answer.",
}
BAD = {
    "nothing": "  ",
    "a refusal": "As an AI language model I can't help with this.",
    "a secret number": "The code for #W2378156 and mia.garcia@example.com before Friday is 4711?\n" * 14,
    "the prompt's own words": "{" * 10_000,
    "one short word": "Fine.",
}
SHORT_WILL_DO = frozenset({("user.interaction_pattern", "one short word")})
"""Where even that is a use of words that does no harm: what it stands behind is whole."""


class Fixed:
    """One text for every prompt, or none and why."""

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.prompts: list[Prompt] = []

    def get(self, slot: str, prompt: Prompt) -> WrittenText | None:
        self.prompts.append(prompt)
        return (
            WrittenText(self.text, "scribe")
            if self.text is not None
            else WrittenText(None, why="it is too late")
        )


def plan(operator: str, **more: Any) -> Plan:
    rule = CompiledRule(operator, operator, 1.0, **more)
    return Plan("p", 1, 3, "session", "s", "noisy", rules=(rule,))


def conversation() -> Conversation:
    call = ToolCall("c1", "get_order", '{"order_id": "#W2378156"}')
    result = ToolResult(Ref(2), json.dumps(RESULT), "call:c1#0", 0, call, "logical:1")
    return Conversation((UserText(Ref(0), SAYS, "text:1#0", 0), result), (TOOL,))


def inject(operator: str, texts: Fixed | None, **more: Any) -> Injection:
    made, site = plan(operator, **more), registry.resolve(operator).site
    if site is Site.INSTRUCTIONS:
        _, new = perturb_instructions(made, INSTRUCTIONS, {}, texts=texts)
        (one,) = new.injections if new is not None else ()
    elif site is Site.TOOL_SCHEMA:
        (one,) = perturb_tools(made, (TOOL,), texts=texts).injections
    else:
        (one,) = [
            one
            for new in perturb_messages(made, conversation(), {}, texts=texts).new
            for one in new.injections
        ]
    return one


def test_the_forms_are_those_that_are_tried_here() -> None:
    registry.operators()
    assert all_written_forms().keys() == GOOD.keys()


@pytest.mark.parametrize("operator", GOOD)
def test_a_good_text_is_used_and_nothing_true_is_lost(operator: str) -> None:
    texts = Fixed(GOOD[operator])
    one = inject(operator, texts)
    assert one.after is not None, one.note
    assert one.decision.draw[WORDING] == {"form": "model", "model": "scribe", "text": GOOD[operator]}
    assert one.note.endswith("In the words of scribe.")
    assert inject(operator, Fixed(GOOD[operator])) == one
    assert len(texts.prompts) == 1 and texts.prompts[0].operator == operator
    if operator.startswith("user.") and operator not in ("user.paraphrase", "user.ambiguous"):
        assert one.before in one.after
    if operator.startswith("tool."):
        assert holds_all(json.loads(one.after), RESULT)
        assert texts.prompts[0].user.count("delivered") == 0, "the result isn't known when it is asked for"


@pytest.mark.parametrize("operator", GOOD)
def test_the_stored_draw_gives_the_same_again_without_any_model(operator: str) -> None:
    one = inject(operator, Fixed(GOOD[operator]))
    stored = Decision.from_json(json.loads(json.dumps(one.decision.to_json())))
    if registry.resolve(operator).site is Site.TOOL_SCHEMA:
        shown = perturb_tools(plan(operator), (TOOL,), texts=Fixed(GOOD[operator]))
        longer = (TOOL, ToolSchema("ping", "", {}))
        again = perturb_tools(plan(operator), longer, known=shown, allow_new=False)
        assert {tool.name: tool for tool in again.tools if tool.name != "ping"} == {
            tool.name: tool for tool in shown.tools
        }
        return
    if registry.resolve(operator).site is Site.INSTRUCTIONS:
        target = InstructionsTarget(INSTRUCTIONS.text, 0)
        assert apply_draw(registry.resolve(operator), target, stored.draw).payload == one.after
        return
    item = next(item for item in conversation().items if item.text == one.before)
    assert replay([stored], item, conversation()) == one.after


@pytest.mark.parametrize(
    ("operator", "bad"), [(name, bad) for name in GOOD for bad in BAD if (name, bad) not in SHORT_WILL_DO]
)
def test_a_bad_text_is_refused_and_the_rule_stands_in(operator: str, bad: str) -> None:
    one = inject(operator, Fixed(BAD[bad]))
    assert one.after is not None
    wording = one.decision.draw[WORDING]
    assert wording["form"] == "rule" and wording["why"].startswith("the guard refused the model's text")
    by_rule = inject(operator, None)
    assert one.after == by_rule.after


@pytest.mark.parametrize("operator", GOOD)
def test_where_there_is_no_text_the_rule_stands_in_and_says_why(operator: str) -> None:
    one = inject(operator, Fixed(None))
    by_rule = inject(operator, None)
    assert one.after == by_rule.after
    assert one.decision.draw[WORDING] == {"form": "rule", "why": "it is too late"}
    assert WORDING not in by_rule.decision.draw
    assert one.note == f"{by_rule.note} By rule: it is too late."


@pytest.mark.parametrize("operator", GOOD)
def test_prompts_depend_on_content_and_on_the_profiles_words(operator: str) -> None:
    prompts = []
    for more in ({}, {}, {"prompt": "Write as a pirate would."}):
        texts = Fixed(None)
        inject(operator, texts, **more)
        prompts.append({prompt.key("scribe") for prompt in texts.prompts})
    assert prompts[0] == prompts[1] != prompts[2]
    assert texts.prompts[0].key("scribe") != texts.prompts[0].key("another model")


def test_a_description_for_which_no_model_writes_may_not_be_given_one() -> None:
    text = "name: p\nrules:\n  - {operator: user.typos, severity: 1, prompt: Write badly.}\n"
    with pytest.raises(ProfileError, match=r"p.yaml:3.*prompt.*no model writes"):
        parse(text, "p.yaml")
    fine = parse(text.replace("user.typos", "user.paraphrase"), "p.yaml")
    made = make_plan(fine, Seed(0, "s"))
    assert made.rules[0].prompt == "Write badly."
