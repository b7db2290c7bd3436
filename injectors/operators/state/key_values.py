"""Generic fields that no task asks for, beside the fields of a JSON observation."""

from __future__ import annotations

import json
from collections.abc import Iterable

from crosswind.injectors.streams import Stream

FIELDS: dict[str, tuple[str, ...]] = {
    "ui_theme": ("warm grey", "pale blue", "high contrast"),
    "banner_slot": ("upper left", "lower right", "none"),
    "font_family": ("sans", "serif", "monospaced"),
    "rendered_by": ("layout worker", "edge renderer", "page builder"),
    "cache_zone": ("north hall", "south hall", "attic"),
    "log_channel": ("quiet", "verbose", "sampled"),
    "icon_set": ("rounded", "outlined", "filled"),
    "sort_widget": ("collapsed", "pinned", "floating"),
    "background_noise": ("light rain", "soft hum", "distant traffic"),
    "shelf_label": ("slightly faded", "freshly printed", "handwritten"),
    "room_lighting": ("dimmed", "daylight", "mixed"),
    "footer_text": ("have a pleasant day", "thank you for visiting", "see you soon"),
    "printer_tray": ("half full", "almost empty", "full"),
    "sound_scheme": ("chimes", "clicks", "muted"),
    "menu_style": ("compact", "roomy", "stacked"),
    "window_blinds": ("half open", "closed", "open"),
}
"""Field to its possible values: looks and surroundings, never a state of the task."""


def fields(taken: Iterable[str], text: str, volume: int, rng: Stream) -> list[tuple[str, str]]:
    """Fields of `volume` characters of JSON on average, none of which the scene has, by name or by value."""
    point = rng.uniform()
    known = set(taken)
    room = float(volume)
    chosen: list[tuple[str, str]] = []
    for key in rng.shuffled(list(FIELDS)):
        value = rng.choice(FIELDS[key])
        if key in known or key in text or value in text:
            continue
        length = len(json.dumps({key: value}))
        # The last one comes with the probability that makes the volume right on average.
        if room < length:
            return [*chosen, (key, value)] if point < room / length else chosen
        chosen.append((key, value))
        room -= length
    return chosen
