"""What one piece of evidence says of a tool's class."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import NamedTuple


class Says(IntEnum):
    """What a name, a description or a parameter says."""

    READS = auto()
    TELLS = auto()
    """What is given back, and not what is done for it."""
    NAMES_A_FACT = auto()
    """A noun phrase for what is asked for. It counts where nothing but that can be chosen."""
    PERHAPS_ACTS = auto()
    """A verb that may be a noun, or may only compute: it reads if the description says that this is done."""
    NOTHING = auto()
    READS_ONLY = auto()
    """It promises to be read-only, whatever it is given."""
    UNSURE = auto()
    """It may do anything, or something else each time: never read-only."""
    WRITES = auto()


class Evidence(NamedTuple):
    """What a name or a description says, and the word that says it where one does."""

    says: Says
    word: str = ""
