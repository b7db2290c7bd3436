"""Profiles in files: their texts are sent to the gateway, which reads no file that a client names."""

from __future__ import annotations

from pathlib import Path

import yaml

from crosswind.gateway.client import Client, GatewayError
from crosswind.simulators.errors import UsageError


def send_profile(control: str, option: str, name: str) -> str:
    """The name under which the gateway at `control` knows a profile. A file's text is stored there first,
    under the profile's own name. Raises UsageError where that can't be done.
    """
    if not name.endswith((".yaml", ".yml")):
        return name
    try:
        text = Path(name).read_text("utf-8")
        own = str(yaml.safe_load(text)["name"])
    except (OSError, ValueError, yaml.YAMLError, TypeError, KeyError) as error:
        raise UsageError(f"{option}: {name} is no profile that can be read: {error!r:.200}") from None
    try:
        with Client(control) as client:
            client.put_profile(own, text)
    except GatewayError as error:
        raise UsageError(f"{option}: {name} can't be given to the gateway: {error}") from None
    return own
