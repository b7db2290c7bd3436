"""What our process tells mitmproxy's, and what it says in return."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.stdio.loading import plan_alone
from crosswind.gateway.tools.dry_run import DryRun
from crosswind.gateway.tools.openapi import load_document, read_openapi
from crosswind.gateway.tools.rules import HttpRules, parse_rules
from crosswind.injectors.conversation import ToolList
from crosswind.injectors.engine.plan import Plan
from crosswind.injectors.packs.load import use_folder
from crosswind.injectors.profiles import load as profiles
from crosswind.injectors.profiles.model import Profile

CANARY_HOST = "crosswind-canary.invalid"
"""Requests to this host only say that their client uses the proxy."""
OFF = "off"


class ProxySettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the addon is to do. The values have been checked."""

    folder: str
    """Of this run; removed at its end."""
    status_fd: int
    """A pipe to our process: a `Status` a line."""
    lifeline_fd: int
    """A pipe from our process, which breaks when that ends."""
    session: str
    """Of requests that name none."""
    profile: str = OFF
    """A profile's name or its YAML text."""
    packs: str | None = None
    """A folder of phrase packs that go before the shipped ones."""
    seed: int = 0
    rules: tuple[dict[str, Any], ...] = ()
    openapi: dict[str, Any] | None = None
    events: str | None = None
    """A file that gets the events."""
    may_repeat: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    dry_run: bool = False
    control: str | None = None
    """The control plane of the sessions' gateway, and a key for it."""
    key: str | None = None
    patience_s: float = 10.0
    """How long calls wait for a gateway that doesn't answer; then they go on without noise."""
    require_session: bool = False
    """Whether clients of the forward proxy must name a session by its credentials."""

    def read_rules(self) -> Api:
        """The rules by hand before those of the OpenAPI document; without either they are inferred. Raises
        ValueError."""
        own = parse_rules(self.rules)
        if self.openapi is None:
            return Api(HttpRules(own, infer=not own), ToolList(), {})
        api = read_openapi(self.openapi, on_hosts=True)
        return Api(HttpRules((*own, *api.rules)), api.tools, api.outputs)

    def read_profile(self) -> Profile:
        """Read the packs, then the profile, which may weigh them. Raises PackError or ProfileError."""
        use_folder(None if self.packs is None else Path(self.packs))
        return (
            profiles.parse(self.profile, "--profile") if "\n" in self.profile else profiles.load(self.profile)
        )

    def make_plan(self, profile: Profile, session: str) -> Plan:
        return plan_alone(profile, self.seed, session, self.read_only)


class Api(msgspec.Struct, frozen=True):
    """The rules of all APIs behind the proxy, and what is known of their tools."""

    rules: HttpRules
    tools: ToolList
    outputs: Mapping[str, Any]
    """By tool, the JSON schema of its answer."""


class Tally(msgspec.Struct):
    """What came through the proxy."""

    requests: dict[str, int] = {}
    """By client, as its User-Agent says."""
    calls: dict[str, int] = {}
    """By tool."""
    noisy: int = 0
    """Injections."""
    unopened: dict[str, int] = {}
    """By host, TLS connections that were passed on unopened: no rule is for that host."""
    distrusted: dict[str, int] = {}
    """By host, TLS connections that the client closed because it doesn't trust our certificate."""
    would: DryRun | None = None
    """What a dry run would have done."""
    failures: int = 0
    """Of the noise itself: what it was about was passed on."""


class Status(msgspec.Struct, omit_defaults=True):
    """A line from the addon."""

    ports: tuple[int, ...] | None = None
    """It listens: the ports, by mode."""
    used: bool = False
    """The first request came."""
    canary: str | None = None
    """This client uses the proxy."""
    tally: Tally | None = None
    """What came through, at the end."""


def read_rule_file(path: Path) -> tuple[dict[str, Any], ...]:
    """The rules in a YAML or JSON file: a list, or a mapping with the member `rules`."""
    values = _read_yaml(path)
    values = values.get("rules") if isinstance(values, dict) else values
    rules: list[dict[str, Any]] = values if isinstance(values, list) else []
    try:
        parse_rules(values, f"{path}: rules")
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    return tuple(rules)


def read_openapi_file(path: Path) -> dict[str, Any]:
    document = _read_yaml(path)
    try:
        read_openapi(document)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise ConfigurationError(f"{path}: {error}") from None
    plain: dict[str, Any] = document
    return plain


def _read_yaml(path: Path) -> Any:
    import yaml

    try:
        return load_document(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}: name a file that can be read") from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise ConfigurationError(f"{path}: this is neither YAML nor JSON: {error!s:.200}") from None
