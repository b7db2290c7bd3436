"""The aims of the data plane, measured in pairs: `python -m benchmarks.gateway.pairs`, a part of
`make bench-gateway`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks.gateway.baseline import BASELINE, Earlier
from benchmarks.gateway.contestants import BOTH, NEITHER, NGINX, RECORDING, RELAY, Contestant, Missing
from benchmarks.gateway.measure import OTHER_CORE
from benchmarks.gateway.paired import SLICES, Unsound, ceiling, measure_pairs, ratios
from benchmarks.processes import DidNotStart
from benchmarks.sections import put_section

FOLDER = Path("runs/bench-gateway")
EARLIER = Earlier(f"Crosswind {BASELINE}: noise, recording", flags=BOTH.flags)
EARLIER_RECORDING = Earlier(f"Crosswind {BASELINE}: recording", flags=RECORDING.flags)
AIMS: tuple[tuple[Contestant, Contestant, Mapping[str, float]], ...] = (
    (BOTH, RELAY, {"2k": 3.2, "60k": 3.2, "stream": 2.3, "60k new": 25}),
    (BOTH, NGINX, {"2k": 18, "60k": 11, "stream": 1.8, "60k new": 90}),
    (NEITHER, RELAY, {"2k": 1.2, "60k": 1.2, "stream": 1.0, "60k new": 1.5}),
    (BOTH, EARLIER, {"2k": 0.42, "60k": 0.42, "stream": 0.5, "60k new": 0.42}),
    (RECORDING, EARLIER_RECORDING, {}),
)
"""Who is compared with whom, and the most that it may take, by kind of request. The last row has no aim: it
tells the gateway's own share of the one above from that of the noise, whose texts have changed since.
"""

_SECTION = """\
## In pairs

CPU per request at 16 connections as a share of another's: all stand at once and take the same slices of
requests in turn, so that a busy machine slows down both. The median of {slices} paired slices, the least and
the most of them, and the aim. Operators leave other texts clean than those of an earlier commit did: where
one injected less, `even` is the most that its share could be if it had injected as much. The checkout of
{baseline} runs with the libraries that are installed here.
{injected}

{table}
"""


@click.command()
@click.option("--slices", type=click.IntRange(1), default=SLICES, show_default=True)
@click.option("--case", "kinds", multiple=True, help="Measure only these kinds, such as 60k.")
@click.option("--without", multiple=True, help="Leave this contestant out, such as nginx.")
@click.option("--out", type=click.Path(path_type=Path), help="The page that gets the table.")
def main(slices: int, kinds: tuple[str, ...], without: tuple[str, ...], out: Path | None) -> None:
    """Measure the gateway in pairs with others and with an earlier commit, and hold it against the aims."""
    folder = FOLDER.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    contestants = [
        one
        for one in (RELAY, NGINX, EARLIER, EARLIER_RECORDING, BOTH, RECORDING, NEITHER)
        if one.name not in without
    ]
    try:
        for one in contestants:
            one.installed(folder)
        os.sched_setaffinity(0, {OTHER_CORE})
        run = measure_pairs(folder, contestants, slices=slices, kinds=kinds)
    except (Missing, DidNotStart, Unsound) as error:
        raise click.ClickException(str(error)) from None
    (folder / "pairs.json").write_text(json.dumps(run, indent=1) + "\n")
    injected = "; ".join(
        f"{', '.join(f'{count:,} ({kind})' for kind, count in counts.items())} under {name}"
        for name, counts in run["injected"].items()
    )
    text = _SECTION.format(
        slices=slices, baseline=BASELINE, table=_table(run), injected=f"Noise injected: {injected}."
    )
    click.echo(text)
    if out is not None:
        put_section(out, "pairs", text)


def _table(run: Mapping[str, Any]) -> str:
    kinds = list(next(iter(run["cpu_ms"].values())))
    lines = [f"| | {' | '.join(kinds)} |", f"|---{'|---:' * len(kinds)}|"]
    for own, other, aims in AIMS:
        if not {own.name, other.name, RECORDING.name} <= run["cpu_ms"].keys():
            continue
        cells = []
        for kind in kinds:
            middle, least, most = ratios(run, own.name, other.name, kind)
            even = ceiling(run, own.name, other.name, RECORDING.name, kind)
            noted = f", even ≤ {even:.2f}" if even > middle and own is BOTH else ""
            aim = f", aim {aims[kind]:g}" if kind in aims else ""
            cells.append(f"{middle:.2f} ({least:.2f}–{most:.2f}{noted}){aim}")
        lines.append(f"| {own.name} ÷ {other.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
