"""What a search found, frozen: a profile like any other, with the lineage that says where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from crosswind.injectors.profiles.load import Profile, parse
from crosswind.studies.evolve.space import Candidate

SOURCE = (
    "AgentNoiseBench, section 2.2.2 (eq. 1): profile parameters, searched so that a reference agent fails as "
    "often as can be at a given dose. The guard keeps every task solvable, as it does under any profile."
)
WIDTH = 118


def text(
    name: str,
    version: int,
    candidate: Candidate,
    against: Profile,
    summary: str,
    lineage: Mapping[str, Any] | None = None,
) -> str:
    """The profile's YAML. Its bounds, and what it assumes of tools, are those of the profile that it is held
    against: they are part of the dose."""
    bounds = against.model_dump(mode="json", include={"bounds"}, exclude_defaults=True)
    assumed = against.model_dump(
        mode="json", include={"assume_tools", "tool_classes", "expected_turns"}, exclude_defaults=True
    )
    body = candidate.body()
    document = {
        "name": name,
        "version": version,
        "summary": summary,
        "source": SOURCE,
        "compose": body["compose"],
        **assumed,
        **bounds,
        "rules": body["rules"],
        **({"lineage": dict(lineage)} if lineage else {}),
    }
    written: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=WIDTH)
    parse(written, name)
    return written
