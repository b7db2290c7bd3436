"""Any model where a policy is asked for: it is imported once, and kept by its content."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from crosswind.policies.imports.model import import_model
from crosswind.policies.imports.source import find_source
from crosswind.policies.versions.version import METADATA, Registry, VersionError, check_name, find_policy

_LONGEST = 60
"""Characters of a name: the digest and a step's number have room after it."""


def cache_root() -> Path:
    """Where imported models are kept: `$XDG_CACHE_HOME/crosswind/policies`."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "crosswind" / "policies"


def resolve_policy(given: Path, say: Callable[[str], None]) -> Path:
    """The directory of the version that a person means: a version's, the name of one that comes with the
    package, a model's directory or a hub's id. The last two are imported where that wasn't done before, and
    `say` is told in one line. What is none of these is given back. Raises VersionError.
    """
    directory = find_policy(given)
    if (directory / METADATA).is_file():
        return directory
    source = find_source(str(given))
    if source is None:
        return directory
    stem = source.named.split("@")[0] if source.revision else source.directory.resolve().name
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:_LONGEST] or "model"
    name = f"{readable}-{source.digest()[:12]}"
    check_name(name)
    kept = cache_root() / name
    if not (kept / METADATA).is_file():
        try:
            made = import_model(source, name, Registry(kept.parent))
        except VersionError:
            if not (kept / METADATA).is_file():  # else another process was faster
                raise
        else:
            say(f"{given} isn't a version: imported as {name} ({made.describe()}) into {kept}")
    return kept
