"""The command `crosswind noise preview`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import msgspec
from rich.console import Console, Group
from rich.text import Text

from crosswind.gateway.protocols.content_text import read_content_texts
from crosswind.gateway.protocols.history import HistoryStep
from crosswind.gateway.protocols.json_values import as_mapping
from crosswind.gateway.protocols.message_format import ToolResultPart
from crosswind.injectors.cli.commands import read_profile, report_errors
from crosswind.injectors.cli.completion import complete_profiles
from crosswind.injectors.cli.rendering import render_event, render_heading, shorten
from crosswind.injectors.engine.dose import SessionDose, find_places, measure_dose
from crosswind.injectors.engine.plan import NOISY, Assignment, Plan, Seed
from crosswind.studies.conversations import (
    RecordedConversation,
    find_answers,
    read_conversation,
    read_message,
    tools_in,
)
from crosswind.studies.gateway_options import ServedNoise, gateway_options
from crosswind.studies.preview.calm import TRIED, find_noise
from crosswind.studies.preview.events import PreviewEvent, preview_events

SPOKEN = ("text", "input_text", "output_text")
"""The types of parts that hold texts, in any protocol."""
MOST_SEEDS = 1000
"""All draws are made before one is shown."""


@click.command(
    short_help="Show a profile on one conversation.",
    epilog="""\b
Examples:
  crosswind noise preview --profile chaos/confused-users conversation.json
  crosswind noise preview --profile mine.yaml --seeds 10 conversation.json
  crosswind noise preview --profile mine.yaml --seed 7 --json conversation.json
  crosswind noise preview --profile mine.yaml --config crosswind.yaml conversation.json
""",
)
@click.option(
    "--profile",
    "profile_name",
    required=True,
    shell_complete=complete_profiles,
    help="A built-in profile, NAME/level-K, or a YAML file.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the draws; vary it to see more.")
@click.option(
    "--seeds",
    type=click.IntRange(1, MOST_SEEDS),
    default=1,
    show_default=True,
    help="How many seeds to draw with, from --seed on.",
)
@click.option("--level", type=int, help="Level of the profile; by default the profile's own.")
@click.option("--type", "noise_type", help="Keep this operator only.")
@click.option("--only-changed", is_flag=True, help="Show only what noise changed.")
@gateway_options
@click.option("--json", "as_json", is_flag=True, help="Print each event as a line of JSON.")
@click.argument("conversation_file", metavar="CONVERSATION", type=click.Path(path_type=Path, dir_okay=False))
def preview(
    profile_name: str,
    seed: int,
    seeds: int,
    level: int | None,
    noise_type: str | None,
    only_changed: bool,
    served: ServedNoise,
    as_json: bool,
    conversation_file: Path,
) -> None:
    """Show what a profile does to CONVERSATION: before, after and why. It is a JSON file of messages, or of a
    request's body in the shape of Chat Completions, Responses or Messages."""
    codec, request = read_conversation(conversation_file)
    recorded = RecordedConversation.of_request("preview", codec, request)
    profile = read_profile(profile_name, tools_in([recorded]))
    dose = Assignment(NOISY, level=level, noise_type=noise_type)
    tables = (*served.tool_classes, profile.tool_classes)

    def make_plan(one: int) -> Plan:
        return recorded.make_plan(served.apply(profile), Seed(one, "preview"), dose, tables)

    with report_errors():
        plans = [make_plan(one) for one in range(seed, seed + seeds)]
    with served.open_texts() as texts:
        drawn = [(plan, list(preview_events(plan, recorded, texts=texts))) for plan in plans]
        others = map(make_plan, range(seed + seeds, seed + TRIED))
        calm = None if as_json else find_noise(recorded, drawn, others, texts)
    shown = [
        (plan, [one for one in events if one.after is not None or not only_changed]) for plan, events in drawn
    ]
    if as_json:
        for plan, events in shown:
            for one in events:
                told = {"seed": plan.seed, **msgspec.to_builtins(one)}
                click.echo(json.dumps(told, ensure_ascii=False))
        return
    console = Console()
    said = calm.explain(profile) if calm is not None else ()
    first = plans[0]
    at = "" if first.level is None else f"level {first.level}, "
    named = f"seed {seed}" if seeds == 1 else f"seeds {seed} to {seed + seeds - 1}"
    console.print(f"profile {first.profile}, {at}{named}, type {first.noise_type or 'any'}", markup=False)
    if assumption := served.describe_assumption(profile):
        console.print(Text(assumption))
    if seeds == 1:
        if only_changed:
            _print_events(console, shown[0][1])
        else:
            _print_conversation(console, recorded, request.steps, shown[0][1])
        _print_dose(console, recorded, *drawn[0])
        _print_lines(console, said)
        return
    for plan, events in shown:
        if events or not only_changed:
            console.print(_render_heading(f"seed {plan.seed}"))
            _print_events(console, events)
    _print_doses(console, recorded, drawn)
    _print_lines(console, said)


def _print_conversation(
    console: Console,
    recorded: RecordedConversation,
    steps: Sequence[HistoryStep],
    events: Sequence[PreviewEvent],
) -> None:
    """Print the whole conversation, with each event under the message that it changes."""
    prompt = recorded.instructions
    if prompt is not None and prompt.ref.message < 0:
        console.print(_render_heading("[system]"), _render_text(prompt.text), sep="\n")
    _print_events(console, [one for one in events if one.message is None and one.answer is None])
    answers = find_answers(steps)
    for number, step in enumerate(steps):
        console.print(_render_message(number, step))
        answer = answers.index(number) if number in answers else -1
        _print_events(console, [one for one in events if one.message == number or one.answer == answer])


def _print_dose(
    console: Console, recorded: RecordedConversation, plan: Plan, events: Sequence[PreviewEvent]
) -> None:
    dose = _measure_dose(recorded, plan, events)
    console.print(f"\nassigned {plan.noise_type or 'every rule'}: {dose.exposure or 'there is no rule'}")
    for name, one in dose.operators.items():
        console.print(
            f"  {name}: eligible {one.eligible}, decided {one.decided}, injected {one.injected}, "
            f"withheld {one.withheld}",
            markup=False,
            highlight=False,
        )


def _print_doses(
    console: Console,
    recorded: RecordedConversation,
    drawn: Sequence[tuple[Plan, Sequence[PreviewEvent]]],
) -> None:
    """Print the doses of several seeds together."""
    doses = [_measure_dose(recorded, plan, events) for plan, events in drawn]
    exposed = sum(bool(dose.exposed) for dose in doses)
    console.print(f"\nexposed under {exposed} of {len(doses)} seeds", highlight=False)
    for name in dict.fromkeys(name for dose in doses for name in dose.operators):
        met = [dose.operators[name] for dose in doses if name in dose.operators]
        injected, withheld = sum(one.injected for one in met), sum(one.withheld for one in met)
        acts = sum(one.injected > 0 for one in met)
        console.print(
            f"  {name}: acts under {acts}, injected {injected}, withheld {withheld}",
            markup=False,
            highlight=False,
        )


def _print_lines(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(line, markup=False, highlight=False)


def _measure_dose(recorded: RecordedConversation, plan: Plan, events: Sequence[PreviewEvent]) -> SessionDose:
    decided = [(one.decision.operator, one.after is not None) for one in events]
    places = find_places(plan, recorded.items, recorded.conversation.tools, recorded.turns)
    return measure_dose(plan, decided, places)


def _print_events(console: Console, events: Iterable[PreviewEvent]) -> None:
    for one in events:
        console.print(
            render_heading(f"{one.decision.rule} at severity {one.decision.severity:g}: {one.place}")
        )
        console.print(render_event(one.before, one.after, one.note))


def _render_message(number: int, step: HistoryStep) -> Group:
    """One message as the client has it: its role, or the type of what has none, its texts and its calls."""
    read, message = step.parsed, as_mapping(read_message(step))
    parts = [
        text for part in read.parts for text in (part.texts if isinstance(part, ToolResultPart) else [part])
    ]
    said = read_content_texts(message.get("content"), SPOKEN)
    texts = [part.text for part in parts] if read.parts else [text for _, text in said]
    calls = [Text(f"  calls {call.name}({call.arguments})", style="italic") for call in read.calls]
    return Group(
        _render_heading(f"[{number}] {message.get('role') or message.get('type', 'user')}"),
        *map(_render_text, texts),
        *calls,
    )


def _render_heading(said_by: str) -> Text:
    return Text(f"\n{said_by}", style="bold blue")


def _render_text(text: str) -> Text:
    return Text(f"  {shorten(text)}")
