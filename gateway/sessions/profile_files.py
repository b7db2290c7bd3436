"""Profiles in files, read once for all processes: one that was edited since, and not reloaded, must not be in
force in a worker that was started again, or that is the last to be asked for it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from crosswind.injectors.profiles.load import Profile, ProfileError, parse


def is_file(name: str) -> bool:
    """Whether a profile is named by its file."""
    return name.endswith((".yaml", ".yml"))


def read(name: str, folder: Path | None, reading: int) -> Profile:
    """The profile of a file, as the first of the processes that share the folder found it in this reading of
    the configuration; as it is now where there is no folder. ProfileError.
    """
    kept = None if folder is None else folder / f"profile-{reading}-{sha256(name.encode()).hexdigest()}"
    if kept is not None and kept.exists():
        return parse(_text(kept), name)
    text = _text(Path(name))
    profile = parse(text, name)
    if kept is None:
        return profile
    return parse(_first(kept, text), name)


def _first(kept: Path, text: str) -> str:
    """Keep a text, unless another process was first; gives what is kept."""
    draft = kept.with_name(f"{kept.name}.{os.getpid()}")
    try:
        draft.write_text(text, "utf-8")
        with suppress(FileExistsError):
            os.link(draft, kept)
        return kept.read_text("utf-8")
    except OSError:
        # A full disk, say: what is lost is that the others see the same.
        return text
    finally:
        with suppress(OSError):
            draft.unlink()


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(
            f"profile file {path}: can't be read ({error}); name a readable YAML file"
        ) from None
