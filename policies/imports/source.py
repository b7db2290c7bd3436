"""Where a model that isn't a version lies: in a directory, or on a hub, from which it is downloaded."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosswind.policies.deployment.reference import read_first_line
from crosswind.policies.versions.version import VersionError, checksum_file

READ = ("*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken", "*.safetensors", "*.bin")
"""The files that an import may read. Code isn't among them: none is ever run."""

_HUB_ID = re.compile(r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(@(?P<revision>[\w./-]+))?")
_ANSWERS_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model's directory and what it is called."""

    named: str
    """As the person named it."""
    directory: Path
    revision: str | None = None
    """The hub's commit; None where the directory isn't a hub's."""

    def digest(self) -> str:
        """What tells this content from any other: the commit, or a digest of all files that are read."""
        if self.revision is not None:
            return self.revision
        files = sorted({path for pattern in READ for path in self.directory.glob(pattern) if path.is_file()})
        listing = "".join(f"{path.name} {checksum_file(path)}\n" for path in files)
        return hashlib.blake2b(listing.encode(), digest_size=20).hexdigest()


def find_source(named: str) -> ModelSource | None:
    """The model of a directory or of a hub's id (`ORG/NAME`, `ORG/NAME@REVISION`); None where the text is
    neither. A path whose first folder exists is a path. Raises VersionError where the hub doesn't give it.
    """
    path = Path(named)
    if path.is_dir():
        return ModelSource(named, path)
    found = _HUB_ID.fullmatch(named)
    if found is None or path.exists() or Path(path.parts[0]).exists():
        return None
    return _download(named, found["repo"], found["revision"])


def _download(named: str, repo: str, revision: str | None) -> ModelSource:
    """Bring the files here, or find them in the hub's own cache. Raises VersionError."""
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError
        from huggingface_hub.utils.logging import set_verbosity_error
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ModuleNotFoundError as error:
        raise VersionError(f"{error.name} isn't installed: install crosswind[train]") from None

    set_verbosity_error()  # type: ignore[no-untyped-call]
    disable_progress_bars()
    api = HfApi()
    try:
        api.model_info(repo, revision=revision, timeout=_ANSWERS_WITHIN_S)
    except GatedRepoError:
        raise VersionError(f"{named}: the hub gives it to members only: set HF_TOKEN to yours") from None
    except (RepositoryNotFoundError, RevisionNotFoundError):
        raise VersionError(
            f"{named}: no such directory, and no such model or revision on the hub (or it is private: set "
            "HF_TOKEN); correct the name"
        ) from None
    except Exception as error:  # the hub's client raises those of whatever it is built on
        return _find_kept(api, named, repo, revision, read_first_line(error))
    try:
        folder = api.snapshot_download(repo, revision=revision, allow_patterns=list(READ))
    except Exception as error:
        raise VersionError(
            f"{named}: can't be downloaded ({read_first_line(error)}); mend that and try again"
        ) from None
    return ModelSource(named, Path(folder), Path(folder).name)  # the folder is called by its commit


def _find_kept(api: Any, named: str, repo: str, revision: str | None, reason: str) -> ModelSource:
    """What the hub's own cache has of a model. Raises VersionError with why the hub couldn't be asked."""
    try:
        folder = api.snapshot_download(
            repo, revision=revision, allow_patterns=list(READ), local_files_only=True
        )
    except Exception:
        raise VersionError(
            f"{named}: no such directory, and the hub can't be reached ({reason}); give a directory, or set "
            "HF_ENDPOINT to a hub that can be"
        ) from None
    return ModelSource(named, Path(folder), Path(folder).name)
