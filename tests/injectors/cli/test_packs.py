"""The commands `crosswind noise pack`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from crosswind.injectors.cli import packs
from crosswind.injectors.cli.commands import noise
from crosswind.injectors.packs.load import load_all
from crosswind.injectors.packs.parts import OPERATORS, WANTED_DOMAINS
from tests.injectors.packs.test_checks import GOOD, pack


def run(*arguments: object) -> Result:
    return CliRunner().invoke(noise, ["pack", *map(str, arguments)])


@pytest.fixture
def too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pack with a single entry, and none besides."""
    first = load_all()[0]
    few = replace(first, entries=first.entries[:1], lines=first.lines[:1])
    monkeypatch.setattr(packs, "load_all", lambda: [few])


def test_list_names_all_packs_and_fits_80_columns() -> None:
    result = run("list")
    assert result.exit_code == 0 and max(map(len, result.output.splitlines())) <= 80
    for one in load_all():
        assert one.name in result.output and one.digest[:12] in result.output
    assert "Missing" not in result.output
    assert "all entries that are asked of them" in result.output
    without = " ".join(result.output.split("\nDomains without a pack")[1].split())
    assert "de files, code, banking, messaging, search, devices, health, data es files" in without
    assert " en " not in without


@pytest.mark.usefixtures("too_few")
def test_list_names_what_is_missing_in_80_columns() -> None:
    result = run("list")
    assert result.exit_code == 0 and max(map(len, result.output.splitlines())) <= 80
    entries, absent = result.output.split("\nMissing entries\n")[1].split("\nMissing packs\n")
    assert entries.count("en/general ") == len(OPERATORS)
    assert "  es  general, shopping, travel, messaging\n" in absent


def test_list_as_json_has_every_part() -> None:
    document = json.loads(run("list", "--json").output)
    assert [one["name"] for one in document["packs"]] == [one.name for one in load_all()]
    assert set(document["packs"][0]["entries"]) == set(OPERATORS)
    assert document["missing"] == []


@pytest.mark.usefixtures("too_few")
def test_list_as_json_has_each_part_that_is_missing() -> None:
    missing = json.loads(run("list", "--json").output)["missing"]
    assert len({(row["language"], row["domain"]) for row in missing}) == sum(
        map(len, WANTED_DOMAINS.values())
    )
    assert all(row["has"] < row["wanted"] for row in missing)


def test_check_of_a_good_file_is_silent(tmp_path: Path) -> None:
    file = tmp_path / "travel.jsonl"
    file.write_bytes(pack(*GOOD))
    result = run("check", file)
    assert (result.exit_code, result.output) == (0, "1 pack, 10 entries, 0 problems\n")


def test_check_names_file_line_and_problem(tmp_path: Path) -> None:
    file = tmp_path / "travel.jsonl"
    file.write_bytes(pack({**GOOD[0], "text": "At 9?"}, GOOD[1]) + b"{}\n")
    result = run("check", file)
    assert result.exit_code == 1
    assert f"{file}:2: text 'At 9?': leave the digits out" in result.output
    assert f"{file}:4: id, for, part, half, text: missing" in result.output
    found = json.loads(run("check", file, "--json").output)
    assert [(one["file"], one["line"]) for one in found] == [(str(file), 2), (str(file), 4)]


def test_check_compares_the_halves_of_files(tmp_path: Path) -> None:
    first, second = tmp_path / "travel.jsonl", tmp_path / "general.jsonl"
    first.write_bytes(pack(*GOOD))
    second.write_bytes(
        pack(
            {**GOOD[0], "text": "So why do planes fly?", "half": "test"},
            {**GOOD[1], "text": "hm", "half": "train"},
            name="en/general",
        )
    )
    result = run("check", first, second)
    assert f"{second}:2: words 'why do planes fly' are in line 2 of en/travel" in result.output


def write_own(folder: Path, *entries: dict[str, Any], name: str = "en/health", place: str = "") -> Path:
    file = folder / f"{place or name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(pack(*entries, name=name))
    return file


def test_check_takes_a_folder(tmp_path: Path) -> None:
    file = write_own(tmp_path, {**GOOD[0], "text": "At 9?"}, GOOD[1])
    result = run("check", tmp_path)
    assert result.exit_code == 1 and f"{file}:2: text 'At 9?'" in result.output
    assert "1 pack, 2 entries, 1 problem\n" in result.output
    file.unlink()
    assert "put LANGUAGE/DOMAIN.jsonl in it" in run("check", tmp_path).output


def test_check_compares_an_own_pack_with_the_shipped_ones(tmp_path: Path) -> None:
    shipped = next(
        entry
        for one in load_all()
        for entry in one.entries
        if one.name == "en/general" and entry.part == "chat" and len(entry.text.split()) > 5
    )
    other = "test" if shipped.half == "train" else "train"
    file = write_own(
        tmp_path,
        {"id": "a", "for": shipped.operator, "part": "chat", "half": other, "text": shipped.text},
    )
    result = run("check", file)
    assert result.exit_code == 1 and f"of en/general, in the {shipped.half} half" in result.output


def test_check_names_a_pack_that_lies_in_another_place(tmp_path: Path) -> None:
    file = write_own(tmp_path, name="en/health", place="es/general")
    assert f"{file}:1: pack 'en/health': the file is read as es/general; move it to en/health.jsonl" in (
        run("check", file).output
    )


def test_show_prints_a_copy_whose_version_is_to_be_raised(tmp_path: Path) -> None:
    shown = run("show", "de/general")
    file = tmp_path / "de" / "general.jsonl"
    file.parent.mkdir()
    file.write_bytes(shown.stdout_bytes)
    [shipped] = [one for one in load_all() if one.name == "de/general"]
    assert run("check", file).output == f"1 pack, {len(shipped.entries)} entries, 0 problems\n"
    header, *entries = shown.stdout.splitlines(keepends=True)
    file.write_text("".join([header, *entries[:-1]]), "utf-8")
    found = run("check", file)
    told = f"{file}:1: warning: version {shipped.version} is that of the shipped de/general, which differs"
    assert found.exit_code == 0 and told in found.output and "0 problems, 1 warning\n" in found.output
    assert "warning" in json.loads(run("check", file, "--json").output)[0]
    raised = {**json.loads(header), "version": shipped.version + 1}
    file.write_text("".join([json.dumps(raised), "\n", *entries[:-1]]), "utf-8")
    assert "warning" not in run("check", file).output


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("de/theatre", "'theatre' is no domain: use one of general"),
        ("general", "'general' is no language"),
        ("de/health", "none is shipped; there are de/general, de/"),
    ],
)
def test_show_says_what_there_is(name: str, said: str) -> None:
    result = run("show", name)
    assert result.exit_code == 2 and said in " ".join(result.stderr.split()) and not result.stdout


def test_a_file_that_no_gateway_reads_is_named(tmp_path: Path) -> None:
    file = write_own(tmp_path, {**GOOD[0]}, name="de/general", place="de/theatre")
    listed = run("list", "--packs", tmp_path)
    assert listed.exit_code == 2
    assert f"{file} would never be used" in listed.output and "use one of general, shopping" in listed.output
    assert f"{file}:1: pack 'de/general': no gateway reads this file" in run("check", tmp_path).output


def test_list_shows_own_packs_and_forgets_them(tmp_path: Path) -> None:
    write_own(tmp_path, {**GOOD[0]})
    own = json.loads(run("list", "--packs", tmp_path, "--json").output)["packs"]
    shipped = json.loads(run("list", "--json").output)["packs"]
    changed = [mine["name"] for mine, ours in zip(own, shipped, strict=True) if mine != ours]
    assert changed == ["en/health"]
    result = run("list", "--packs", tmp_path / "other")
    assert result.exit_code == 2 and "is no folder" in result.output


@pytest.mark.parametrize("arguments", [("check", "nowhere.jsonl"), ("check", "--strict")])
def test_usage_errors(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2
