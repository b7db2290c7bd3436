"""What is wrong with a profile is one line with file, line, field, value and the fix."""

from __future__ import annotations

import pytest

from crosswind.injectors.profiles.load import ProfileError, parse

OPTIONS = "name: t\nlevels: [0, 1]\nrules:\n  - "
TALK = "name: t\nrules:\n  - operator: user.redundant\n    severity: 1\n    entries:"
RULES = "rules:\n  - operator: tool.timeout\n    severity: 0.5\n"


@pytest.mark.parametrize(
    "text,line,words",
    [
        ("name: t\nrulez: []\n", 2, ["rulez", "unknown field", "'rules'"]),
        (f"name: t\n{RULES}    wen: {{}}\n", 5, ["rules[0].wen", "'when'"]),
        (f"name: t\n{RULES}    when:\n      evry: 2\n", 6, ["rules[0].when.evry", "'every'"]),
        (
            f"name: t\n{RULES}    when:\n      every: 0\n",
            6,
            ["rules[0].when.every", "0", "greater than or equal to 1"],
        ),
        (f"name: t\n{RULES}    when:\n      stage: soon\n", 6, ["stage", "'soon'", "'early'"]),
        (f"name: t\n{RULES}    when: {{burst: {{entr: 1}}}}\n", 5, ["rules[0].when.burst.entr", "'enter'"]),
        (f"name: t\n{RULES}    when: {{burst: {{enter: 0.5, leave: 0.6}}}}\n", 5, ["1.1", "add up to 1"]),
        (
            f"name: t\n{RULES}    with: [{{operator: Typo, severty: 1}}]\n",
            5,
            ["with[0].severty", "'severity'"],
        ),
        (f"name: t\n{RULES}    with: [{{operator: Tipo, severity: 1}}]\n", 5, ["with[0].operator", "'Typo'"]),
        (f"name: t\n{RULES}    with: [{{operator: Typo}}]\n", 5, ["with[0]", "`levels`"]),
        (f"name: t\n{RULES}    when: {{regime: 0}}\n", 5, ["when.regime", "greater than or equal to 1"]),
        (
            "name: t\nrules:\n  - {operator: CD, severity: 1, when: {after_tool: a}}\n",
            3,
            ["rules[0].when.after_tool", "'a'", "remove it"],
        ),
        (f"name: t\n{RULES}    where:\n      tool: [a]\n", 6, ["rules[0].where.tool", "'tools'"]),
        (f"name: t\n{RULES}    entries: {{'*': 0}}\n", 5, ["rules[0].entries", "draws no entries"]),
        (f"{TALK} {{en/generall#chat-401: 2}}\n", 5, ["'en/general#chat-401'"]),
        (
            f"{TALK} {{'*': 0, 'en/*': 1}}\n",
            5,
            ["entries.en/*", "it never counts, since '*' stands before it"],
        ),
        (f"{TALK} {{'en/*': -1}}\n", 5, ["entries.en/*", "greater than or equal to 0"]),
        (
            "name: t\nrules:\n  - operator: tool.timeot\n    severity: 1\n",
            3,
            ["'tool.timeot'", "'tool.timeout'"],
        ),
        (
            "name: t\nrules:\n  - operator: 'zool.*'\n    severity: 1\n",
            3,
            ["'zool.*'", "matches no operator"],
        ),
        ("name: t\nrules:\n  - severity: 1\n", 3, ["rules[0].operator", "missing"]),
        ("name: t\nrules:\n  - operator: tool.timeout\n    severity: 7\n", 4, ["severity", "7", "less than"]),
        ("name: t\nrules:\n  - operator: tool.timeout\n", 3, ["rules[0].severity", "`levels`"]),
        ("name: t\nrules:\n  - operator: tool.timeout\n    severity: high\n", 4, ["'high'"]),
        (
            "name: t\nrules:\n  - operator: tool.timeout\n    severity: true\n",
            4,
            ["severity", "True", "no number"],
        ),
        (f"name: t\n{RULES}    when: {{every: true}}\n", 5, ["when.every", "True", "no number"]),
        (
            f"name: t\n{RULES}    when: {{during: [false, 0.5]}}\n",
            5,
            ["during[0]", "False", "no number"],
        ),
        (f"name: t\ncompose: one_of\n{RULES}    weight: true\n", 6, ["weight", "True", "no number"]),
        ("name: t\nlevels: [0, true]\n", 2, ["levels[1]", "True", "no number"]),
        ("name: t\nlevels: [0, 1]\nlevel: true\n", 3, ["level", "True", "no number"]),
        ("name: t\nversion: true\n", 2, ["version", "True", "no number"]),
        ("name: t\ncoverage: true\n", 2, ["coverage", "True", "no number"]),
        ("name: t\nbounds:\n  faults_per_call: true\n", 3, ["faults_per_call", "True", "no number"]),
        (
            "name: t\nrules:\n  - operator: Typo\n    severity: 1\n    options:\n      between: [true, 4]\n",
            6,
            ["options.between", "no number"],
        ),
        (f"name: t\ncompose: any\n{RULES}", 2, ["compose", "'any'", "'one_of'"]),
        ("name: t\nlevels: [0.1, 0.5]\n", 2, ["levels[0]", "0.1", "0.0"]),
        ("name: t\nlevels:\n- 0\n- 0.5\n- 0.2\n", 5, ["levels[2]", "0.2", "at least 0.5"]),
        ("name: t\nlevels: [0, 1]\nlevel: 2\n", 3, ["level", "2"]),
        (f"name: t\n{RULES}    weight: 2\n", 5, ["weight", "one_of"]),
        (f"name: t\ncompose: sequence\n{RULES}    when: {{stage: late}}\n", 6, ["stage", "sequence"]),
        (
            "name: t\ntool_classes:\n  pay: dangerous\n",
            3,
            ["tool_classes.pay", "'dangerous'", "'destructive'"],
        ),
        ("name: t\nassume_tools: no\n", 2, ["assume_tools", "'replayable'"]),
        ("name: t\nbounds: {faults_per_call: -1}\n", 2, ["bounds.faults_per_call", "-1"]),
        ("version: 1\n", 1, ["name", "missing"]),
        (
            f"name: t\ntools: [get_order, cancel_order]\n{RULES}    where:\n      tools: [get_ordr]\n",
            7,
            ["rules[0].where.tools[0]", "'get_ordr'", "'get_order'"],
        ),
        (
            f"name: t\ntools: [get_order]\n{RULES}    where: {{tools: ['pay*']}}\n",
            6,
            ["'pay*'", "known are: get_order"],
        ),
        ("name: t\ntools: [pay]\ntool_classes:\n  pai: read_only\n", 4, ["tool_classes.pai", "'pay'"]),
        (
            "name: t\nrules: &all\n  - operator: Typo\n    severity: 1\n    with: *all\n",
            5,
            ["rules[0].with", "a cycle"],
        ),
        ("name: t\nrules:\n  - &it\n    operator: Typo\n    with: [*it]\n", 3, ["with[0]", "a cycle"]),
        (
            f"name: t\n{RULES}    when: {{probability: 1.5}}\n",
            5,
            ["when.probability", "1.5", "less than or equal to 1"],
        ),
        (f"name: t\n{RULES}    when: {{probability: -0.1}}\n", 5, ["when.probability", "-0.1"]),
        ("name: t\ncoverage: 2\n", 2, ["coverage", "2", "less than or equal to 1"]),
        (
            "name: t\nbounds:\n  faults_per_call: 5\n  faults_per_session: 2\n",
            3,
            ["bounds.faults_per_call", "5", "`faults_per_session`", "2"],
        ),
        ("name: t\nbounds: {faults_per_session: 9, events_per_session: 3}\n", 2, ["faults_per_session: 9"]),
        ("name: t\nbounds: {events_per_tool: 9, events_per_session: 3}\n", 2, ["events_per_tool: 9"]),
        (
            f"name: t\nbounds: {{events_per_session: 3}}\n{RULES}    when: {{at_most: 7}}\n",
            6,
            ["when.at_most", "7", "`events_per_session`", "3"],
        ),
        (f"name: t\n{RULES}    when: {{first_call: true, nth: 3}}\n", 5, ["when.nth", "3", "`first_call`"]),
        (f"name: t\n{RULES}    when: {{nth: 3, every: 2}}\n", 5, ["when.every", "2", "`nth: 3`"]),
        (f"name: t\n{RULES}    when: {{nth: 2, from_nth: 3}}\n", 5, ["when.from_nth", "3", "`nth: 2`"]),
        (f"name: t\n{RULES}    when: {{first_call: true, regime: 4}}\n", 5, ["when.regime", "4"]),
        (
            f"name: t\nbounds: {{faults_per_call: 0}}\n{RULES}",
            5,
            ["rules[0].severity", "0.5", "allows no faults"],
        ),
        (
            f"name: t\n{RULES}    where: {{tools: [cancel_order, pay]}}\n",
            4,
            ["rules[0].severity", "cancel_order, of class destructive", "`assume_tools: replayable`"],
        ),
        (
            f"name: t\ntools: [get_order]\n{RULES}    when: {{after_tool: get_ordr}}\n",
            6,
            ["rules[0].when.after_tool", "'get_ordr'", "'get_order'"],
        ),
        (f"name: t\ncompose: one_of\n{RULES}    weight: .inf\n", 6, ["rules[0].weight", "inf", "finite"]),
        (
            "name: t\nrules: [{operator: Typo, severity: 1, options: {between: [4, 2]}}]\n",
            2,
            ["options.between", "[4, 2]", "swap the two"],
        ),
        (f"name: t\n{RULES}    severity: 0.9\n", 5, ["'severity'", "line 4, too"]),
        ("name: t\nbounds: {faults_per_call: 1, faults_per_call: 2}\n", 2, ["'faults_per_call'", "too"]),
        (f"name: t\n{RULES}    where:\n      text: '(a'\n", 6, ["where.text", "no regular expression"]),
        (f"name: t\n{RULES}    when: {{during: [0.5, 0.2]}}\n", 5, ["ends before it begins"]),
        (f"name: t\n{RULES}    when: {{during: [0.2, 0.5], stage: late}}\n", 5, ["keep one of the two"]),
        (f"name: t\n{RULES}    when: {{during: [0.2, 1.5]}}\n", 5, ["less than or equal to 1"]),
        (
            f"{OPTIONS}{{operator: redundant, options: {{num_tols: 2}}}}",
            4,
            ["num_tols", "'num_tools'"],
        ),
        (
            f"{OPTIONS}{{operator: redundant, options: {{num_tools: 99}}}}",
            4,
            ["num_tools", "99", "less than"],
        ),
        (f"{OPTIONS}{{operator: failure, options: {{kinds: ['418']}}}}", 4, ["options.kinds", "'401'"]),
        (f"{OPTIONS}{{operator: failure, options: {{kinds: []}}}}", 4, ["options.kinds", "at least 1"]),
        (
            f"{OPTIONS}{{operator: QueryPara, options: {{language: nl}}}}",
            4,
            ["options.language", "user.paraphrase has none: remove"],
        ),
        ("name: [\n", 2, ["not valid YAML"]),
        ("name: t\n\t- x\n", 2, ["not valid YAML"]),
        ("- 1\n", 1, ["mapping"]),
        ("", 1, ["mapping"]),
        ("name: !!python/object:os.system x\n", 1, ["not valid YAML"]),
    ],
)
def test_an_error_is_one_line_with_file_line_field_value_and_fix(
    text: str, line: int, words: list[str]
) -> None:
    with pytest.raises(ProfileError) as caught:
        parse(text, "my.yaml")
    message = str(caught.value)
    assert message.startswith(f"my.yaml:{line}: ")
    assert "\n" not in message
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize(
    "more",
    [
        "bounds: {events_per_session: 3}",
        "bounds: {faults_per_session: 0, faults_per_call: 0}\nassume_tools: replayable",
        "tool_classes: {pay: idempotent}",
        "assume_tools: replayable",
    ],
)
def test_what_can_come_about_is_not_refused(more: str) -> None:
    where = "where: {tools: [pay]}" if "pay" in more or "replayable" in more else "where: {}"
    severity = 0 if "faults_per_session: 0" in more else 0.5
    parse(f"name: t\n{more}\nrules:\n  - {{operator: tool.timeout, severity: {severity}, {where}}}\n", "t")
