"""Mutation testing of chosen rooms: put small faults into a copy of the source, one at a time, and see
whether the tests that execute the faulty line notice.

    python -m benchmarks.mutants run --root TREE --python PYTHON --work DIR --out FILE [--seed 11]
                          [--count 300] [--tests tests/a --tests tests/b] ROOM[=PATH,PATH...] ...
    python -m benchmarks.mutants report FILE [LATER_FILE]

A room is a folder, or a name for several files and folders. The first run in DIR copies the tree there, runs
the tests once under `coverage` (which PYTHON must be able to import) and keeps which test executes which
line. Then it tries mutants, one JSON line each in FILE. Started again, it goes on with the rest.

A mutant is known by what it is, not where: the function's qualified name, the kind of change, the code before
and after, and which of several equal ones it is. The order of the sample follows from these and the seed, so
that in a tree whose files were moved the same mutants are drawn. `--like FILE` tries exactly those of FILE,
and finds them where names were changed too, by the shape of the function or else of the statement.
`benchmarks/mutants/version_0_1_0.jsonl` holds the rows of version 0.1.0, seed 11.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import hashlib
import importlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

FIRST = 25
"""So many of the tests most likely to notice are run before all the others."""
PYTEST = ("-q", "-p", "no:cacheprovider", "-m", "not slow and not vllm")
PRELOADED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
LEFT_OUT = (".git", ".venv*", "runs", "node_modules", "__pycache__", ".hypothesis", ".*_cache", "*.egg-info")
PAIRS = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *(
        (ast.And, ast.Or),
        (ast.Add, ast.Sub),
        (ast.Mult, ast.FloorDiv),
        (ast.BitAnd, ast.BitOr),
        (ast.LShift, ast.RShift),
    ),
)
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
NAMES = ("id", "attr", "arg", "name", "asname", "module", "rest", "returns", "annotation")
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    **dict(PAIRS),
    **{b: a for a, b in PAIRS},
    **dict.fromkeys((ast.Div, ast.Mod, ast.Pow), ast.Mult),
}


@dataclass
class Mutant:
    """One change to one statement."""

    room: str
    file: str
    line: int
    function: str
    kind: str
    before: str
    after: str
    span: tuple[int, int, int, int] = field(repr=False)
    """First line, its column in bytes, last line, its column."""
    lines: tuple[int, int] = field(repr=False)
    """Whoever executes one of these lines may notice."""
    statement: str = field(repr=False)
    shapes: tuple[str, str]
    """What renaming leaves as it was: of the function, of the statement, with the mutant's number therein."""
    key: str = ""

    def row(self) -> dict[str, Any]:
        """What is written of it."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.repr}


# ---- which mutants there are


def variants(node: Any) -> Iterator[tuple[str, Any, Any]]:  # noqa: PLR0912
    """What may be changed about a node itself: the kind of change, what is replaced and by what."""

    def with_(**fields: Any) -> Any:
        new = copy.copy(node)
        vars(new).update(fields)
        return new

    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                yield "comparison", node, with_(ops=[*ops[:at], SWAPPED[type(op)](), *ops[at + 1 :]])
        case ast.BoolOp(op=op):
            yield "and/or", node, with_(op=SWAPPED[type(op)]())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", node, operand
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPPED:
            yield "arithmetic", node, with_(op=SWAPPED[type(op)]())
        case ast.Constant(value=bool(value)):
            yield "constant", node, with_(value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "constant", node, with_(value=value + 1)
        case ast.Constant(value=str(value)) if len(value.split()) < 3:  # Longer ones are told to people.
            yield "string", node, with_(value=value + "~")
        case ast.Constant(value=bytes(value)):
            yield "string", node, with_(value=value + b"~")
        case ast.Return(value=None | ast.Constant(value=None)):
            pass
        case ast.Return():
            yield "return", node, with_(value=ast.Constant(None))
        case ast.If(test=ast.Constant()) | ast.IfExp(test=ast.Constant()) | ast.While(test=ast.Constant()):
            pass
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield "condition", test, ast.Constant(False)
            if not isinstance(node, ast.While):
                yield "condition", test, ast.Constant(True)
    match node:
        case (
            (ast.Expr(value=ast.Call() | ast.Await()) | ast.Continue() | ast.Break() | ast.Raise())
            | ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
            | ast.AugAssign(target=ast.Attribute() | ast.Subscript())
        ):
            yield "removal", node, ast.Pass()


def parts(node: Any) -> Iterator[Any]:
    """The node and what is in it, without the statements in it, and without annotations, types, text for logs
    and within f-strings (Python 3.11 doesn't say where their parts are)."""
    if isinstance(node, ast.JoinedStr | ast.ClassDef | ast.ExceptHandler):
        return
    yield node
    left_out = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    left_out += getattr(node, "decorator_list", [])
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        left_out += {"isinstance": node.args[1:], "cast": node.args[:1]}.get(called, [])
        if called.split(".")[0].lstrip("_") in ("log", "logger"):
            return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) or child in left_out:
            continue
        for part in parts(child):
            if not (isinstance(node, ast.Raise) and isinstance(part, ast.Constant)):  # An error's text.
                yield part


def statements(body: list[ast.stmt], owners: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """All statements with the classes and functions that they are in; none of docstrings and of what is there
    for the type checker or for a reader only."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.Pass():
                continue
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.FunctionDef(name="__repr__"):
                continue
            case ast.Expr(value=ast.Call() as call) if len(list(parts(call))) == 1:  # A line for the log.
                continue
        yield statement, owners
        defines = isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        inner = (*owners, statement) if defines else owners
        holders = [statement, *getattr(statement, "handlers", []), *getattr(statement, "cases", [])]
        for holder in holders:
            for name in ("body", "orelse", "finalbody"):
                yield from statements(getattr(holder, name, []), inner)


def digest(*words: object) -> str:
    return hashlib.sha256("\0".join(map(str, words)).encode()).hexdigest()


def documents(statement: Any) -> bool:
    """Whether it is a docstring, or another constant by itself."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def shape(node: Any, *, header: bool = False) -> str:
    """A digest of code without names, annotations and documentation; `header`: without what it contains."""
    code = copy.copy(node)
    if header:
        vars(code).update({name: [] for name in BLOCKS if isinstance(getattr(code, name, None), list)})
    code = copy.deepcopy(code)
    for each in ast.walk(code):
        for name in NAMES:
            if hasattr(each, name):
                setattr(each, name, None)
        if isinstance(body := getattr(each, "body", None), list):
            vars(each)["body"] = [one for one in body if not documents(one)]
    return digest(ast.dump(code))[:16]


def mutants_of(root: Path, room: str, path: Path) -> Iterator[tuple[Mutant, str]]:
    """The mutants of a file, each with a digest of the function that it is in."""
    tree: Any = ast.parse(path.read_bytes())
    shapes: dict[Any, str] = {}
    numbers: Counter[Any] = Counter()
    for statement, owners in statements(tree.body, ()):
        owner = owners[-1] if owners else tree
        shapes[owner] = shapes.get(owner) or shape(owner)
        shapes[statement] = shape(statement, header=True)
        running = isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef)
        # What runs at import is noticed by those who call the function, or use anything in the file.
        defines = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        whole = (statement.lineno, statement.end_lineno) if defines else (1, 10**6)
        function, code = ".".join(each.name for each in owners), digest(ast.unparse(owner))
        file, place = str(path.relative_to(root)), f"{path}:{statement.lineno}:{statement.col_offset}"
        for part in parts(statement):
            for kind, old, new in variants(part):
                if not running and (kind == "string" or isinstance(getattr(part, "op", None), ast.BitOr)):
                    continue  # Tables of words, and unions of types.
                numbers.update((owner, (statement,)))
                alike = (f"{shapes[owner]} {numbers[owner]}", f"{shapes[statement]} {numbers[statement,]}")
                span = (old.lineno, old.col_offset, old.end_lineno, old.end_col_offset)
                lines = (old.lineno, old.end_lineno) if running else whole
                texts = (kind, ast.unparse(old), ast.unparse(new))
                yield Mutant(room, file, old.lineno, function, *texts, span, lines, place, alike), code


def every_mutant(root: Path, rooms: dict[str, list[str]]) -> list[Mutant]:
    """All of the rooms, with their keys. Those that are equal in all but their place are counted, in an order
    that moving files doesn't change: by the code of their functions."""
    equal: defaultdict[str, list[tuple[str, str, Mutant]]] = defaultdict(list)
    for room, names in rooms.items():
        given = [root / name for name in names]
        paths = {file for each in given for file in (each.rglob("*.py") if each.is_dir() else [each])}
        for path in sorted(paths):
            for mutant, code in mutants_of(root, room, path):
                look = f"{mutant.function} | {mutant.kind} | {mutant.before} => {mutant.after}"
                equal[look].append((code, mutant.file, mutant))
    for look, group in equal.items():
        for number, (*_, mutant) in enumerate(sorted(group, key=lambda each: each[:2])):
            mutant.key = f"{look} | {number}"
    return [mutant for group in equal.values() for *_, mutant in group]


def sample(mutants: list[Mutant], seed: int) -> list[Mutant]:
    """One mutant of each statement, in an order of which every beginning is a sample: rooms in proportion to
    their statements, and kinds of change alike within a statement."""
    by_statement: defaultdict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        by_statement[mutant.statement].append(mutant)
    by_room: defaultdict[str, list[Mutant]] = defaultdict(list)
    for group in by_statement.values():
        kind = min({each.kind for each in group}, key=lambda kind: digest(seed, "kind", kind, group[0].key))
        chosen = min((m for m in group if m.kind == kind), key=lambda each: digest(seed, "one", each.key))
        by_room[chosen.room].append(chosen)
    ordered: list[tuple[float, str, Mutant]] = []
    for room, members in by_room.items():
        members.sort(key=lambda each: digest(seed, "order", each.key))
        ordered += [((rank + 0.5) / len(members), room, each) for rank, each in enumerate(members)]
    return [mutant for *_, mutant in sorted(ordered, key=lambda each: each[:2])]


def alike(rows: list[dict[str, Any]], mutants: list[Mutant]) -> dict[str, Mutant]:
    """What has become of the mutants of these rows, by their keys: first those that have the same key, then
    those of functions of the same shape, then of statements, in their room and where there is enough to
    tell them by. Of several, the one that reads most alike."""
    found = {mutant.key: mutant for mutant in mutants}
    found = {row["key"]: found[row["key"]] for row in rows if row["key"] in found}
    for which in (0, 1):
        taken = {mutant.key for mutant in found.values()}
        by_shape: defaultdict[tuple[str, str], list[Mutant]] = defaultdict(list)
        for mutant in mutants:
            if mutant.key not in taken:
                by_shape[mutant.shapes[which], mutant.kind].append(mutant)
        for row in (row for row in rows if row["key"] not in found):
            reads = SequenceMatcher(b=row["key"])
            best: tuple[float, Mutant] | None = None
            for each in by_shape[row["shapes"][which], row["kind"]]:
                telling = each.room == row["room"] and min(len(each.before), len(row["before"])) >= 15
                if each.key not in taken and (which == 0 or telling):
                    reads.set_seq1(each.key)
                    best = max(best or (-1.0, each), (reads.ratio(), each), key=lambda pair: pair[0])
            if best is not None:
                found[row["key"]] = best[1]
                taken.add(best[1].key)
    return {row["key"]: found[row["key"]] for row in rows if row["key"] in found}


def mutated(source: bytes, mutant: Mutant) -> bytes | None:
    """The source with the change, or nothing where it can't be or changes nothing."""
    lines = source.splitlines(keepends=True)
    first, begin, last, end = mutant.span
    text = mutant.after if mutant.kind in ("removal", "return") else f"({mutant.after})"
    if isinstance(ast.parse(mutant.before).body[0], ast.AugAssign):
        text = mutant.after
    head, tail = lines[first - 1][:begin], lines[last - 1][end:]
    new = b"".join([*lines[: first - 1], head + text.encode() + tail, *lines[last:]])
    try:
        return new if ast.dump(ast.parse(new)) != ast.dump(ast.parse(source)) else None
    except SyntaxError:
        return None


# ---- which tests execute what


class Executed:
    """Which tests execute which lines, and how long each takes."""

    def __init__(self, work: Path) -> None:
        facts = json.loads((work / "tests.json").read_text())
        self.seconds: dict[str, float] = facts["seconds"]
        self.preload: list[str] = facts["preload"]
        self._lines: defaultdict[str, dict[str, int]] = defaultdict(dict)
        """By file and test: the executed lines as the bits of a number."""
        self._in_all: Counter[str] = Counter()
        rows = (
            "SELECT path, context, numbits FROM line_bits "
            "JOIN file ON file.id = file_id JOIN context ON context.id = context_id"
        )
        tree = (work / "tree").resolve()
        for path, test, bits in sqlite3.connect(work / "coverage").execute(rows):
            if test in self.seconds:
                lines = int.from_bytes(bits, "little")
                self._lines[str(Path(path).relative_to(tree))][test] = lines
                self._in_all[test] += lines.bit_count()

    def tests(self, mutant: Mutant) -> list[str]:
        """Those that execute the mutant's lines; first such as are short, execute little besides, and aren't
        one more case of the same test."""
        first, last = mutant.lines
        wanted = ((1 << last + 1) - 1) >> first << first
        costs = {
            test: max(self.seconds[test], 0.05) * self._in_all[test] / (lines & wanted).bit_count()
            for test, lines in self._lines[mutant.file].items()
            if lines & wanted
        }
        cases: Counter[str] = Counter()
        for test in sorted(costs, key=lambda test: (costs[test], test)):
            cases[test.partition("[")[0]] += 1
            costs[test] *= cases[test.partition("[")[0]]
        return sorted(costs, key=lambda test: (costs[test], test))


def own(name: str) -> bool:
    """Whether an imported module is of the tree that this process runs in."""
    file = Path(getattr(sys.modules[name], "__file__", None) or "")
    return file.is_absolute() and file.resolve().is_relative_to(Path.cwd().resolve())


def trace(work: Path, files: list[str], tests: list[str]) -> None:
    """Run the tests once, and keep what each executes. Runs in a process of its own, in the copied tree."""
    before = set(sys.modules)
    coverage: Any = importlib.import_module("coverage")
    covering = coverage.Coverage(data_file=str(work / "coverage"), include=files, config_file=False)
    seconds: Counter[str] = Counter()
    passed: dict[str, bool] = {}

    class Watch:
        def pytest_runtest_logstart(self, nodeid: str) -> None:
            covering.switch_context(nodeid)

        def pytest_runtest_logfinish(self) -> None:
            covering.switch_context("")

        def pytest_runtest_logreport(self, report: Any) -> None:
            seconds[report.nodeid] += report.duration
            passed[report.nodeid] = passed.get(report.nodeid, True) and report.passed

    covering.start()
    code = importlib.import_module("pytest").main([*PYTEST, *tests], plugins=[Watch()])
    assert code in (0, 1), f"pytest ended with {code}"
    covering.stop()
    covering.save()
    assert covering.get_data().measured_files(), "the tests import another tree than the one they are in"
    preload = [name for name in sys.modules if name not in before and not own(name)]
    unused = [test for test in passed if not passed[test]]
    print("not used, since they fail or are skipped:", *unused, sep="\n  ")
    facts = {"seconds": {test: seconds[test] for test in passed if passed[test]}, "preload": preload}
    (work / "tests.json").write_text(json.dumps(facts))


# ---- running tests on a mutant


def serve(work: Path) -> None:
    """Answer requests to run tests: each in a fork of this process, which has imported everything that isn't
    the project's and nothing that is."""
    import pytest

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in Executed(work).preload:
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
    early = [name for name in sys.modules if own(name)]
    assert not early, early
    by, log = work / "by", work / "log"

    class Chosen:
        def __init__(self, tests: Iterable[str]) -> None:
            self.tests = set(tests)

        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            items[:] = [item for item in items if item.nodeid in self.tests]

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed and not by.exists():
                by.write_text(report.nodeid)

        pytest_collectreport = pytest_runtest_logreport

    for line in sys.stdin:
        tests, seconds = json.loads(line)
        by.unlink(missing_ok=True)
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for out in (1, 2):
                os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), out)
            files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
            code = pytest.main(["-x", *PRELOADED, *PYTEST, *files], plugins=[Chosen(tests)])
            os._exit(int(code))
        ended, status = 0, 0
        while not ended and time.monotonic() - began < seconds:
            ended, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0 if ended else 0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if not ended:
            os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        outcome = "timeout" if not ended else "survived" if code in (0, 5) else "killed"
        told = by.read_text() if by.exists() else f"pytest ended with {code}"
        print(json.dumps([outcome, told if outcome == "killed" else ""]), flush=True)


class Trials:
    """Tries mutants, in a copy of the tree."""

    def __init__(self, root: Path, python: str, work: Path, files: list[str], tests: list[str]) -> None:
        self.tree, self._work, temporary = work / "tree", work, work / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        if not self.tree.exists():
            shutil.copytree(root, self.tree, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        path = os.pathsep.join(filter(None, (str(self.tree), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary), "OMP_NUM_THREADS": "1"}
        inside: dict[str, Any] = {"cwd": self.tree, "env": environment, "text": True}
        me = [python, str(Path(__file__).resolve())]
        if not (work / "tests.json").exists():
            sources = [str(self.tree.resolve() / file) for file in files]
            subprocess.run([*me, "trace", json.dumps([str(work), sources, tests])], check=True, **inside)
        self.executed = Executed(work)
        inside |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._server = subprocess.Popen([*me, "serve", json.dumps([str(work)])], **inside)
        self._sound: dict[str, bool] = {}

    def _ask(self, tests: list[str]) -> tuple[str, str]:
        assert self._server.stdin is not None and self._server.stdout is not None
        deadline = 3 * sum(self.executed.seconds[test] for test in tests) + 20
        print(json.dumps([tests, deadline]), file=self._server.stdin, flush=True)
        outcome, by = json.loads(self._server.stdout.readline())
        shutil.rmtree(self._work / "tmp", ignore_errors=True)
        (self._work / "tmp").mkdir(exist_ok=True)
        return outcome, by

    def try_(self, mutant: Mutant, new: bytes) -> tuple[str, str, int]:
        """What became of the mutant, which test noticed, and how many execute it. A test that fails without
        the mutant too isn't asked again."""
        path = self.tree / mutant.file
        old, stat = path.read_bytes(), path.stat()
        while True:
            tests = [test for test in self.executed.tests(mutant) if self._sound.get(test, True)]
            outcome, by = ("survived" if tests else "no coverage"), ""
            try:
                path.write_bytes(new)
                # A time of its own, so that nothing compiled from one text is taken for another's.
                os.utime(path, (stat.st_mtime, stat.st_mtime + 10 + int(digest(mutant.key)[:6], 16)))
                for batch in filter(None, (tests[:FIRST], tests[FIRST:])):
                    outcome, by = self._ask(batch)
                    if outcome != "survived":
                        break
            finally:
                path.write_bytes(old)
                os.utime(path, (stat.st_mtime, stat.st_mtime))
            if by in self.executed.seconds and by not in self._sound:
                self._sound[by] = self._ask([by])[0] == "survived"
            if self._sound.get(by, True):
                return outcome, by, len(tests)


def read(file: Path) -> list[dict[str, Any]]:
    """The rows of a file; none where it isn't there yet."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def run(options: argparse.Namespace) -> None:
    """Try the first mutants of the sample, as many as are asked for; those that are in the file are done."""
    root, work, out = options.root.resolve(), options.work.resolve(), options.out
    named = (room.partition("=") for room in options.rooms)
    mutants = every_mutant(root, {name: (paths or name).split(",") for name, _, paths in named})
    order = sample(mutants, options.seed)
    likes: dict[str, str] = {}
    if options.like:
        rows = read(options.like)
        found = alike(rows, mutants)
        order, likes = list(found.values()), {mutant.key: key for key, mutant in found.items()}
        print("No more in this tree:", *(row["key"] for row in rows if row["key"] not in found), sep="\n  ")
    done = {row["key"] for row in read(out)}
    trials = Trials(root, options.python, work, sorted({m.file for m in mutants}), options.tests)
    print(f"{len(mutants)} mutants, to draw from:", dict(Counter(m.room for m in order)), flush=True)
    tried = 0
    for mutant in order:
        new = mutated((trials.tree / mutant.file).read_bytes(), mutant)
        tried += new is not None
        if tried > options.count:
            break
        if new is None or mutant.key in done:
            continue
        began = time.monotonic()
        status, by, tests = trials.try_(mutant, new)
        seconds = round(time.monotonic() - began, 1)
        like = {"like": likes[mutant.key]} if options.like else {}
        row = {**mutant.row(), **like, "status": status, "by": by, "tests": tests, "seconds": seconds}
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")


def report(options: argparse.Namespace) -> None:
    """Counts by room and by kind, the survivors, and, beside an earlier file, what lives that died."""
    files = [read(file) for file in options.files]
    for name, rows in zip(options.files, files, strict=True):
        for group in ("room", "kind"):
            print(f"\n{name}, by {group}")
            for value in [*sorted({row[group] for row in rows}), *["all"][: len(rows)]]:
                counts = Counter(row["status"] for row in rows if value in (row[group], "all"))
                died = (counts["killed"] + counts["timeout"]) / counts.total()
                print(f"  {value:22} {counts.total():4}  died {died:6.1%}  {dict(counts)}")
        for status in ("survived", "no coverage"):
            print(f"\n{name}: {status}")
            for row in (row for row in rows if row["status"] == status):
                print(f"  {row['file']}:{row['line']} {row['key']}  ({row['tests']} tests)")
    if len(files) == 2:
        before, after = ({row.get("like", row["key"]): row["status"] for row in rows} for rows in files)
        print(f"\nIn both: {len(before.keys() & after.keys())}. Died before and lives now:")
        dead = ("killed", "timeout")
        print(*(f"  {k}" for k in after if before.get(k) in dead and after[k] not in dead), sep="\n")


def main() -> None:
    """As the docstring of this file says; `trace` and `serve` are for its own processes."""
    if sys.argv[1] in ("trace", "serve"):
        sys.path[0] = str(Path.cwd())
        work, *more = json.loads(sys.argv[2])
        trace(Path(work), *more) if more else serve(Path(work))
        return
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.set_defaults(do=run)
    for name in ("root", "work", "out"):
        running.add_argument(f"--{name}", type=Path, required=True)
    running.add_argument("--python", default=sys.executable)
    running.add_argument("--like", type=Path)
    running.add_argument("--seed", type=int, default=11)
    running.add_argument("--count", type=int, default=300)
    running.add_argument("--tests", action="append", required=True)
    running.add_argument("rooms", nargs="+")
    reporting = commands.add_parser("report")
    reporting.set_defaults(do=report)
    reporting.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
