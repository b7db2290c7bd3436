"""Phantom tools that tempt: a name that promises, or that is borrowed, and a description that admits the
drawback."""

from __future__ import annotations

from crosswind.injectors.conversation import Site, ToolSchema
from crosswind.injectors.operator import Registered, register
from crosswind.injectors.operators.schema.added_tools import (
    add_sentence,
    answer_unavailable,
    complete_schema,
    draw_place,
)
from crosswind.injectors.operators.schema.names import abbreviate, add_suffix
from crosswind.injectors.operators.words.tools import COSTS_MORE, TAKES_LONGER
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import AddedTool, Draw, Recovery, Result, ToolChange, ToolTarget


class Distractor:
    """A phantom beside the tool, with its description and parameters and an honest sentence on its price.

    `suffix` ends the phantom's name; without one, the phantom takes the tool's name and the tool an
    abbreviated one. In the `wordings` of the sentence, `{tool}` is the true tool and `{times}` a whole number
    above 1.
    """

    def __init__(self, suffix: str, wordings: tuple[str, ...]) -> None:
        self._suffix, self._wordings = suffix, wordings

    def draw(self, target: ToolTarget, rng: SeededRandom, severity: float) -> Draw | None:
        present = rng.chance(severity)
        wording, times = rng.choice(self._wordings), rng.choice((3, 4, 5, 8, 10))
        behind, order = draw_place(target, rng), f"{rng.integer(0, 2**32 - 1):08x}"
        name = target.tool.name
        true, phantom = (name, add_suffix(name, self._suffix, target.taken))
        # Without a suffix the phantom takes the name, so the true tool needs a free one of its own.
        if not self._suffix:
            true, phantom = abbreviate(name), name
        if not present or phantom is None or phantom == true or (true != name and true in target.taken):
            return None
        says = wording.format(tool=true, times=times)
        return {"true": true, "phantom": phantom, "says": says, "behind": behind, "order": order}

    def apply(self, target: ToolTarget, draw: Draw) -> Result:
        tool, name = target.tool, draw["phantom"]
        description, parameters = (
            add_sentence(tool.description, draw["says"]),
            complete_schema(tool.parameters),
        )
        phantom = AddedTool(name, description, parameters, answer_unavailable(name), draw["behind"])
        true = ToolSchema(draw["true"], tool.description, tool.parameters)
        renamed = "" if true.name == tool.name else f" {tool.name} itself is shown as {true.name}."
        note = f"A tool {name}, worse by its own description, stands beside {true.name}.{renamed}"
        return Result(ToolChange(true, (phantom,), order=draw["order"]), note)


TEMPTING = """A tool `X{suffix}` stands beside `X`, and its description admits that it {drawback}.

The name tempts, the description tells the truth. The true tool is unchanged, and is the right one under the
cue that the benchmark adds to the query (`user.{cue}`). The list is shuffled. Severity: the share of tools
that have such a neighbour."""

NEUTRAL = """A tool `X{suffix}` stands beside `X`, and its description admits that it {drawback}.

The true tool is unchanged, and is the right one under the cue that the benchmark adds to the query
(`user.{cue}`). The list is shuffled. Severity: the share of tools that have such a neighbour."""

RENAMED = """The true tool is renamed (`{example}`), and a {worse} one takes its old name.

The old name belongs to the distractor alone: a call of it never reaches the agent's tool. Both keep the true
description, and the distractor's adds that it {drawback}. The list is shuffled; the query has no cue.
Severity: the share of tools that are renamed. A name without a longer word is left alone."""

DEAR = {
    "drawback": "costs more",
    "cue": "cost_cue",
    "worse": "dearer",
    "example": "country_info.capital` to `cou_info.cap",
}
SLOW = {
    "drawback": "takes longer",
    "cue": "speed_cue",
    "worse": "slower",
    "example": "mutation_type.find` to `mut_type.find",
}


def _register(
    name: str, aliases: tuple[str, ...], suffix: str, documentation: str, appendix: str = "appendix C"
) -> None:
    wordings, words = (TAKES_LONGER, SLOW) if "_time" in name else (COSTS_MORE, DEAR)
    register(
        Registered(
            name,
            Site.TOOL_SCHEMA,
            Recovery.OTHER_TOOL,
            Distractor(suffix, wordings),
            aliases,
            f"RobustBench-TC, table 1 and {appendix} (Reward)",
            documentation=documentation.format(suffix=suffix, **words),
            version=2,
        )
    )


_register("schema.misleading_description", ("CD", "MisDesc"), "_Budget", TEMPTING)
_register("schema.misleading_description_neutral", ("CD_NT", "MisDesc-N"), "_1", NEUTRAL)
_register(
    "schema.misleading_description_abbreviated",
    ("CD_AB", "MisDesc-Abbr"),
    "",
    RENAMED,
    appendix="appendices C and O",
)
_register("schema.misleading_time", ("TD", "TimeDesc"), "_Fast", TEMPTING)
_register("schema.misleading_time_neutral", ("TD_NT", "TimeDesc-N"), "_1", NEUTRAL)
_register("schema.misleading_time_abbreviated", ("TD_AB", "TimeDesc-Abbr"), "", RENAMED)
