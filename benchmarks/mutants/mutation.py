"""Which mutants there are: one small change each, known by the code and not by where it stands."""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

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


def list_mutants(root: Path, room: str, path: Path) -> Iterator[tuple[Mutant, str]]:
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


def find_mutants(root: Path, rooms: dict[str, list[str]]) -> list[Mutant]:
    """All of the rooms, with their keys. Those that are equal in all but their place are counted, in an order
    that moving files doesn't change: by the code of their functions."""
    equal: defaultdict[str, list[tuple[str, str, Mutant]]] = defaultdict(list)
    for room, names in rooms.items():
        given = [root / name for name in names]
        paths = {file for each in given for file in (each.rglob("*.py") if each.is_dir() else [each])}
        for path in sorted(paths):
            for mutant, code in list_mutants(root, room, path):
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


def match_rows(rows: list[dict[str, Any]], mutants: list[Mutant]) -> dict[str, Mutant]:
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


def apply_mutant(source: bytes, mutant: Mutant) -> bytes | None:
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
