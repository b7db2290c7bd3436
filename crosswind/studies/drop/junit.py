"""Figures as JUnit's XML, which every CI shows: a test for each task under noise, and one for each goal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from crosswind.figures.attempts import Arm, Attempt
from crosswind.figures.drop import by_number
from crosswind.figures.gate import GateResult
from crosswind.figures.sequential import Verdict

_UNFIT = {code: None for code in range(32) if code not in (9, 10, 13)} | {0xFFFE: None, 0xFFFF: None}


def write_junit(attempts: Sequence[Attempt], store: str, result: GateResult | None = None) -> str:
    """The XML. A task fails where a clean attempt solved it and a noisy one didn't. `store`: where the
    attempts' sessions are.
    """
    suites = Element("testsuites", name="crosswind")
    by_profile: dict[str, dict[str, list[Attempt]]] = {}
    for one in attempts:
        if one.arm is Arm.NOISY:
            by_profile.setdefault(one.profile or "noise", {}).setdefault(one.task, []).append(one)
    solved = {one.task for one in attempts if one.arm is Arm.CLEAN and one.counts and one.success == 1.0}
    known = {one.task for one in attempts if one.arm is Arm.CLEAN and one.counts}
    for profile, tasks in sorted(by_profile.items()):
        cases = [
            _task(profile, task, tried, store, solvable=task in solved or task not in known)
            for task, tried in sorted(tasks.items(), key=lambda item: by_number(item[0]))
        ]
        _add_suite(suites, profile, cases)
    if result is not None:
        _add_suite(
            suites, "gate", [_goal(text.measure.value, text.verdict, text.text) for text in result.goals]
        )
    indent(suites)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{tostring(suites, encoding='unicode')}\n"


def _add_suite(suites: Element, name: str, cases: list[Element]) -> None:
    counts = {
        f"{kind}s" if kind != "skipped" else kind: str(sum(case.find(kind) is not None for case in cases))
        for kind in ("failure", "error", "skipped")
    }
    suite = SubElement(suites, "testsuite", {"name": _clean(name), "tests": str(len(cases)), **counts})
    suite.extend(cases)


def _task(profile: str, task: str, tried: Sequence[Attempt], store: str, *, solvable: bool) -> Element:
    seconds = sum(one.seconds or 0.0 for one in tried)
    case = Element("testcase", classname=_clean(profile), name=_clean(task), time=f"{seconds:.3f}")
    counted = [one for one in tried if one.counts]
    failed = [one for one in counted if one.success != 1.0]
    if not counted:
        reasons = {one.void.value for one in tried if one.void is not None}
        SubElement(
            case, "skipped", message=f"no attempt counts: {', '.join(sorted(reasons)) or 'no outcome'}"
        )
    elif failed and not solvable:
        SubElement(case, "skipped", message="no clean attempt solved it, either")
    elif failed:
        met = dict.fromkeys(fault.operator for one in failed for fault in one.faults)
        message = (
            f"{len(failed)} of {len(counted)} noisy attempts failed; met: {', '.join(met) or 'no noise'}"
        )
        failure = SubElement(case, "failure", message=_clean(message))
        failure.text = _clean(
            "\n".join(
                f"crosswind sessions show {one} --store {shlex.quote(store)}"
                for try_ in failed
                for one in try_.sessions
            )
        )
    return case


def _goal(name: str, verdict: Verdict, text: str) -> Element:
    case = Element("testcase", classname="gate", name=name)
    if verdict is Verdict.FAILED:
        SubElement(case, "failure", message=_clean(text))
    elif verdict is Verdict.INCONCLUSIVE:
        SubElement(case, "error", message=_clean(text))
    return case


def _clean(text: str) -> str:
    """Without the characters that XML can't hold."""
    return text.encode("utf-8", "replace").decode().translate(_UNFIT)
