"""What an operator does to samples: every place that it was offered, before and after."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.noise_quality.doses import plan_of
from benchmarks.noise_quality.eligibility import Place
from benchmarks.noise_quality.own import USER_INSTRUCTIONS
from benchmarks.noise_quality.samples import Sample
from crosswind.injectors.conversation import Conversation, Site, ToolResult, ToolSchema
from crosswind.injectors.engine.decision import KnownText
from crosswind.injectors.engine.messages import perturb_instructions, perturb_messages
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.engine.tools import perturb_tools

TEXTS = (Site.INSTRUCTIONS, Site.USER_TEXT, Site.TOOL_SCHEMA, Site.TOOL_RESULT)
"""The sites of the operators that are measured: the others change no text."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A place of a sample. `at` is the index of the message or of the tool."""

    sample: Sample
    at: int
    place: Place


@dataclass(frozen=True, slots=True)
class Outcome:
    """`shown` is None where the place was left clean."""

    offer: Offer
    shown: str | None


def list_offers(site: Site, samples: Sequence[Sample]) -> list[Offer]:
    """Every place of a site. A list of tools that several samples share is offered once."""
    found: list[Offer] = []
    seen: set[str] = set()
    for sample in samples:
        if site == Site.TOOL_SCHEMA:
            anchor = sample.recorded.conversation.tools
            key = json.dumps([one.name for one in anchor])
            if key in seen:
                continue
            seen.add(key)
        found += _offers(site, sample)
    return found


def _offers(site: Site, sample: Sample) -> Iterator[Offer]:
    conversation = sample.recorded.conversation
    count = len(conversation.tools)
    if site == Site.TOOL_SCHEMA:
        for at, tool in enumerate(conversation.tools):
            yield Offer(sample, at, Place(_write(tool), (), tool.name, _schema(tool), count))
    elif site == Site.INSTRUCTIONS:
        if (prompt := sample.recorded.instructions) is not None:
            yield Offer(sample, prompt.ref.message, Place(prompt.text))
    elif sample.corpus != USER_INSTRUCTIONS:
        for item in conversation.items:
            if item.site == site:
                called = item.call.name if isinstance(item, ToolResult) else ""
                gold = sample.gold.get(item.ref.message, ())
                peers = tuple(tool.name for tool in conversation.tools)
                yield Offer(sample, item.ref.message, Place(item.text, gold, called, {}, count, peers))


def run_operator(operator: str, dose: str, site: Site, offers: Sequence[Offer], seed: int) -> list[Outcome]:
    """The operator on the whole conversation of every offer."""
    shown: dict[str, Mapping[int, str]] = {}
    for offer in offers:
        sample = offer.sample
        if sample.name not in shown:
            shown[sample.name] = perturb(plan_of(operator, dose, seed, sample.name), site, sample)
    return [Outcome(offer, shown[offer.sample.name].get(offer.at)) for offer in offers]


def perturb(plan: Plan, site: Site, sample: Sample, only: int | None = None) -> dict[int, str]:
    """What is shown in place of a sample's texts, by index; with `only` that message alone is new."""
    recorded, conversation = sample.recorded, sample.recorded.conversation
    if site == Site.INSTRUCTIONS:
        prompt = recorded.instructions
        text = perturb_instructions(plan, prompt, {})[0] if prompt is not None else None
        return {} if text is None or prompt is None else {prompt.ref.message: text}
    if site == Site.TOOL_SCHEMA:
        return _perturb_schema(plan, sample)
    known: dict[str, KnownText] = {}
    if only is not None:
        items = tuple(item for item in conversation.items if item.ref.message <= only)
        known = {item.anchor: KnownText(None) for item in items if item.ref.message < only}
        conversation = Conversation(items, conversation.tools)
    noise = perturb_messages(plan, conversation, known)
    return {
        new.item.ref.message: new.text
        for new in noise.new
        if new.item.site == site and new.text is not None and new.text != new.item.text
    }


def _perturb_schema(plan: Plan, sample: Sample) -> dict[int, str]:
    """By the tool's index: the tools that are shown on its account, one a line, less the tool itself where it
    stands unchanged. A tool that only stands elsewhere is shown as it is."""
    tools = sample.recorded.conversation.tools
    places = {tool.name: at for at, tool in enumerate(tools)}
    shown: dict[int, str] = {}
    for one in perturb_tools(plan, tools, sample.recorded.constraints).injections:
        if one.after is not None and one.tool in places:
            clean = _document(tools[places[one.tool]])
            listed = [_read_shown(tool) for tool in json.loads(one.after)]
            others = [tool for tool in listed if tool != clean] or [clean]
            shown[places[one.tool]] = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in others)
    return shown


def _read_shown(tool: Mapping[str, object]) -> dict[str, object]:
    """A tool of an event without what the policy isn't shown, as its place."""
    members = ((key, tool.get(key)) for key in ("name", "description", "parameters"))
    return {key: value for key, value in members if value is not None}


def _schema(tool: ToolSchema) -> dict[str, object]:
    return {"description": tool.description, "parameters": tool.parameters}


def _write(tool: ToolSchema) -> str:
    return json.dumps(_document(tool), ensure_ascii=False)


def _document(tool: ToolSchema) -> dict[str, object]:
    return {"name": tool.name, **_schema(tool)}
