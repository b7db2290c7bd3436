"""A run's figures as a page: everything in it was computed from this one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.gateway.cases import KINDS
from benchmarks.gateway.contestants import BOTH, DIRECT, LITELLM_PROXY, NGINX, PROFILE

_HEADLINE = 16
"""Connections of the table to judge by."""
AIMS = (("2k", 35, 100, 12.0), ("60k", 35, 80, 12.0), ("stream", 100, 300, 2.5))
"""Kind, how many times less CPU than LiteLLM (aim and stretch), how many times nginx at most (stretch)."""

_OPENING = """\
# Benchmarks

Made by `make bench-gateway` (`{command}`) on {date}; every figure is of this one run. Machine: {machine}.
Against {versions}.{left_out} Rounds: {rounds}. One sync of the store's disk takes {sync:.2f} ms (median of
an append of 4 KiB).

Noise is the profile `{profile}`. Recording is full and strict: no answer completes before its turn is on
disk."""

_CPU = """\
## CPU

CPU seconds of a proxy's processes per 1,000 requests (which is milliseconds per request) at {headline}
connections; in brackets the least and the most of the rounds. Start: seconds from the command to the first
answer with status 200. Memory: resident MB after all cases.

{table}"""

_RATIOS = """\
## Against others

CPU per request with noise **and** strict recording on, as a share of what others take to relay bare.

{table}"""

_LATENCY = """\
## Added latency

Milliseconds above direct, medians, one connection. First byte: of the answer's body. A plain answer is
released whole, once its turn is on disk; of a stream the completing chunk alone waits, with what follows
it. One sync took {sync:.2f} ms.

{table}"""

_LONG = """\
## Long conversations

CPU milliseconds per request, one connection. The later turns bring {growth:.1f} times the bytes: a ratio
below that is work that does not grow with what came before beyond reading it.

{table}"""

_METHOD = """\
## How it was measured

- Load generator and upstream are compiled (`benchmarks/gateway/load.c`, `upstream.c`) and share core 1; a
  contestant's processes have core 0. *Other core busy* near 100 % means that they, not the contestant, set
  the pace. Every other round goes backwards, and each starts every contestant afresh with an empty store.
- Closed loops over kept connections, fixed counts of requests (fewer for LiteLLM). Requests are those of
  scripted agents: growing conversations with tool calls, results and user turns, each in a session of its
  own, with the headers of the openai SDK. Histories hold what the upstream answered, nothing is sent twice,
  and every contestant gets the same bytes.
- *60k* are the turns around the 40th of conversations whose history the gateway knows, as it does in their
  course. *60k new* brings 40 turns at once into a session never seen.
- *stream* writes 64 chunks at once, each by itself; *paced* writes a chunk to all streams every {step:g}
  ms, as an engine decodes, so that every chunk is handled alone.
- CPU is user and system time of all of a contestant's processes, by the kernel's clock of each, up to 250
  ms after the last answer. LiteLLM has one worker and logs only errors; nginx has one worker and doesn't
  buffer answers; the ASGI relay is `benchmarks/gateway/relay.py`. None of these records or perturbs
  anything.
- Not measured: TLS, several workers, real engines."""


def markdown(run: Mapping[str, Any]) -> str:
    """The page."""
    method = _METHOD.format(step=run["step_ms"])
    parts = [_opening(run), _cpu(run), _ratios(run), _latency(run), _long(run), _every_case(run), method]
    return "\n\n".join(part for part in parts if part) + "\n"


def _opening(run: Mapping[str, Any]) -> str:
    machine, versions = run["machine"], run["versions"]
    known = [f"{name} {version}" for name, version in versions.items() if not name.startswith("Crosswind:")]
    return _OPENING.format(
        command=run["command"],
        date=run["date"],
        machine=(
            f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gb']} GB, "
            f"{machine['system']}, Python {machine['python']}, load {machine['load_before']} before the start"
        ),
        versions=", ".join(known),
        left_out=f" Not measured: {', '.join(run['left_out'])}." if run["left_out"] else "",
        rounds=run["rounds"],
        sync=run["sync_p50_ms"],
        profile=PROFILE,
    )


def _cpu(run: Mapping[str, Any]) -> str:
    kinds = [name for name in KINDS if f"{name}, {_HEADLINE}" in run["cases"]]
    rows = []
    for name, standing in _proxies(run):
        cells = [_spread(standing["cases"][f"{kind}, {_HEADLINE}"]) for kind in kinds]
        rows.append([name, *cells, f"{standing['start_s']:.2f}", f"{standing['rss_mb']:.0f}"])
    return _CPU.format(headline=_HEADLINE, table=_table(["", *kinds, "start, s", "memory, MB"], rows))


def _ratios(run: Mapping[str, Any]) -> str:
    contestants = run["contestants"]
    own = contestants.get(BOTH.name)
    lite, nginx = contestants.get(LITELLM_PROXY.name), contestants.get(NGINX.name)
    if own is None or (lite is None and nginx is None):
        return ""
    rows = []
    for kind, aim, stretch, most in AIMS:
        for key in (key for key, case in run["cases"].items() if case["kind"] == kind):
            row = [key, *(["–"] * 5)]
            if lite is not None:
                row[1:4] = f"1/{1 / _ratio(own, lite, key):.0f}", f"1/{aim}", f"1/{stretch}"
            if nginx is not None:
                row[4:6] = f"{_ratio(own, nginx, key):.1f}×", f"{most:g}×"
            rows.append(row)
    header = ["case, connections", "of LiteLLM", "aim", "stretch", "of nginx", "stretch"]
    return _RATIOS.format(table=_table(header, rows))


def _ratio(own: Mapping[str, Any], other: Mapping[str, Any], case: str) -> float:
    """CPU per request as a share of another's."""
    share: float = own["cases"][case]["cpu_s_per_1000"] / other["cases"][case]["cpu_s_per_1000"]
    return share


def _latency(run: Mapping[str, Any]) -> str:
    direct = run["contestants"][DIRECT]["cases"]
    kinds = [name for name in KINDS if f"{name}, 1" in direct]
    rows = []
    for name, standing in _proxies(run):
        row = [name]
        for kind in kinds:
            cell, base = standing["cases"][f"{kind}, 1"], direct[f"{kind}, 1"]
            row += [f"{cell[at] - base[at]:.2f}" for at in ("first_byte_p50_ms", "p50_ms")]
        rows.append(row)
    header = ["", *(f"{kind}: {which}" for kind in kinds for which in ("first byte", "last byte"))]
    return _LATENCY.format(sync=run["sync_p50_ms"], table=_table(header, rows))


def _long(run: Mapping[str, Any]) -> str:
    if not {"60k, 1", "600k, 1"} <= run["cases"].keys():
        return ""
    rows = []
    for name, standing in _proxies(run):
        short, long = (standing["cases"][f"{kind}, 1"]["cpu_s_per_1000"] for kind in ("60k", "600k"))
        rows.append([name, f"{short:.3f}", f"{long:.3f}", f"{long / short:.1f}×"])
    growth = run["cases"]["600k, 1"]["request_bytes"] / run["cases"]["60k, 1"]["request_bytes"]
    return _LONG.format(growth=growth, table=_table(["", "turns 37–44", "turns 397–404", "ratio"], rows))


def _every_case(run: Mapping[str, Any]) -> str:
    parts = ["## Every case"]
    times = ("p50_ms", "p99_ms", "first_byte_p50_ms")
    header = ["", "requests", "CPU s/1,000", "requests/s", "p50, ms", "p99, ms", "first byte p50, ms"]
    for key, case in run["cases"].items():
        rows = []
        for name, standing in run["contestants"].items():
            cell = standing["cases"][key]
            count = f"{cell['requests']}" + (f" ({cell['failed']} failed)" if cell["failed"] else "")
            cpu = "–" if name == DIRECT else f"{cell['cpu_s_per_1000']:.3f}"
            row = [name, count, cpu, f"{cell['requests_per_s']:,.0f}", *(f"{cell[at]:.2f}" for at in times)]
            rows.append([*row, f"{cell['other_core_busy']:.0%}"])
        about = f"{KINDS[case['kind']].about}; connections: {case['connections']}"
        size = f"Requests have {case['request_bytes'] / 1000:.1f} KB on average."
        parts.append(f"### {about}\n\n{size}\n\n{_table([*header, 'other core busy'], rows)}")
    return "\n\n".join(parts)


def _proxies(run: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, standing) for name, standing in run["contestants"].items() if name != DIRECT]


def _spread(cell: Mapping[str, float]) -> str:
    least, most = cell["cpu_s_per_1000_least"], cell["cpu_s_per_1000_most"]
    middle = f"{cell['cpu_s_per_1000']:.3f}"
    return middle if least == most else f"{middle} ({least:.3f}–{most:.3f})"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(header)} |", f"|---{'|---:' * (len(header) - 1)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
