"""A run's figures as a section of the page: everything in it was computed from this one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ROWS = (
    ("decoding stands still for a swap at 16 streams", "{pause:.0f} ms (at most {pause_most:.0f})", "150 ms"),
    ("tokens/s with a swap each second, of those without, 16 streams", "{swapping}", "85 %"),
    (
        "to the first token through the gateway, above the engine's that is asked for the same",
        "{first}",
        "+10 %",
    ),
    ("… above the bare engine's, which isn't asked for token ids and log-probabilities", "{first_whole}", ""),
    ("… of it the engine's own, asked for them without the gateway", "{first_asked}", ""),
    ("time per token through the gateway, above the engine's that is asked for the same", "{token}", "+3 %"),
    ("… above the bare engine's", "{token_whole}", ""),
    ("… of it the engine's own", "{token_asked}", ""),
    ("CPU per token: engine, bare", "{engine_cpu:.0f} µs", ""),
    ("… engine, asked for token ids and log-probabilities", "{captured_cpu:.0f} µs", ""),
    ("… engine, behind the gateway", "{behind_cpu:.0f} µs", ""),
    ("… gateway", "{gateway_cpu:.0f} µs ({cpu:.1%})", ""),
    ("prompt tokens from the prefix cache, clean sessions", "{clean:.1%}", ""),
    ("… sessions with noise (`{profile}`)", "{noisy:.1%}", "{least:.1%}"),
)
_SECTION = """\
## Policies on vLLM

Made by `make bench-engine` (`{command}`) on {date}; every figure is of this one run, and what is compared
took turns within it. Machine: {machine}. vLLM {vllm}, {build} build, with the policy of 0.9 M parameters
that comes with the package, in float32; engine, gateway and load share all cores. Rounds: {rounds}.{busy}

{table}

Ratios are medians over the rounds, in brackets the least and the most; the pause is the median of {swaps}
swaps. {swapped} versions were published while the streams beside them were counted.

To the first token and per token: 32 streams of 64 tokens at a time, begun together. Bare: {bare_first:.0f} ms
and {bare_rate:,.0f} tokens/s; asked for token ids and log-probabilities, as a trainer would ask without a
gateway too, {captured_first:.0f} ms and {captured_rate:,.0f} tokens/s; through the gateway, which asks for
them, {gateway_first:.0f} ms and {gateway_rate:,.0f} tokens/s, each stream a session of its own, recorded in
full and strictly. What capture costs at the engine is the engine's own: it sends a chunk for each token, also
where that has no text yet, and finds and writes each one's log-probability. Where engine, gateway and load
share all cores, whatever CPU the gateway spends is taken from the engine.

Prefix cache: {sessions} sessions of {turns} turns on each side, the first turns left out.

```json
{figures}
```
"""
_BUSY = (
    "\n\n**The machine was busy with other work**: what is timed says little, as the spread of the rounds "
    "shows; pauses, CPU and the prefix cache bear it better. Measure on an idle one."
)


def section(run: Mapping[str, Any], figures: str) -> str:
    """The section's text."""
    machine = run["machine"]
    told = (
        f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, load {machine['load_before']} before the start"
    )
    busy = _BUSY if machine["load_before"] > machine["cores"] / 2 else ""
    rows = [" | ".join(row).format(**run) for row in _ROWS]
    table = "\n".join(("| | measured | aim |", "|---|---:|---:|", *(f"| {row} |" for row in rows)))
    return _SECTION.format(**{**run, "machine": told, "busy": busy, "table": table, "figures": figures})
