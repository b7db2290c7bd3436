"""Make the noise that a relay's flags ask for: by itself, or as part of a gateway's session."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.stdio.message_noise import EventFile, LinkNoise
from crosswind.gateway.tools.events import ToolEvent
from crosswind.gateway.tools.leg import ToolLeg
from crosswind.gateway.tools.masking import EventMask
from crosswind.injectors.engine.plan import Plan, Seed, make_plan
from crosswind.injectors.packs.load import use_folder
from crosswind.injectors.profiles import load as profiles
from crosswind.injectors.profiles.model import Profile
from crosswind.injectors.targets import ToolClass

_LAST_S = 1.5
"""How long the relay stays to send its last events: clients kill it after two seconds."""


class Wanted(msgspec.Struct, frozen=True):
    """What the flags ask for."""

    profile: str | None
    seed: int
    session: str | None
    link: str
    events: Path | None
    read_only: tuple[str, ...]
    may_repeat: tuple[str, ...]
    dry_run: bool
    patience_s: float
    packs: Path | None = None
    """Phrase packs that go before the shipped ones. A gateway's session comes with the gateway's."""


def load_noise(wanted: Wanted, control_url: str | None, key: str | None) -> LinkNoise:
    """The noise on a server's messages. Raises ValueError or OSError where it can't be as it is asked for."""
    file = None if wanted.events is None else EventFile(wanted.events)
    if control_url is None:
        return _make_alone(wanted, file)
    return _make_attached(wanted, file, control_url, key)


def warm(plan: Plan) -> None:
    """Read the words and patterns that the plan's rules need, before a call waits for them."""
    if plan.rules:
        leg = ToolLeg(plan, "warm", "warm")
        begun = leg.begin("warm", "warm", "{}", 0)
        if begun.failure is not None:
            begun = leg.begin("warm", "warm", "{}", 0)
        leg.finish(begun, ['{"warm": 1}'], 0)


def _start_masking(*keys: str | None) -> EventMask:
    mask = EventMask(keys)
    threading.Thread(target=mask.warm, daemon=True).start()
    return mask


def _make_alone(wanted: Wanted, file: EventFile | None) -> LinkNoise:
    session = wanted.session or "session"
    use_folder(wanted.packs)  # before the profile is read: it may weigh their entries
    plan = plan_alone(read_profile(wanted.profile or "off"), wanted.seed, session, wanted.read_only)
    warm(plan)
    leg = ToolLeg(plan, session, secrets.token_hex(6), may_repeat=wanted.may_repeat)
    mask = _start_masking()

    def record(events: Sequence[ToolEvent]) -> None:
        if file is not None:
            file.add(mask.mask(events))

    return LinkNoise(leg, wanted.link, record, dry=wanted.dry_run)


def _make_attached(wanted: Wanted, file: EventFile | None, control_url: str, key: str | None) -> LinkNoise:
    # A relay without a gateway needs no HTTP client.
    from crosswind.gateway.stdio.attachment import Attachment
    from crosswind.gateway.stdio.control_plane import ControlPlane
    from crosswind.gateway.stdio.spool import Spool, default_folder

    control, leg_id = ControlPlane(control_url, key), secrets.token_hex(6)
    named = wanted.session, wanted.profile
    joined = Attachment(control, wanted.link, *named, wanted.patience_s, leg=leg_id)
    warm(joined.plan)
    leg = ToolLeg(joined.plan, joined.session, leg_id, may_repeat=wanted.may_repeat, enabled=joined.noise)

    def set_noise(enabled: bool) -> None:
        leg.enabled = enabled and not spool.full

    spool = Spool(default_folder(), leg_id, control, joined.session, on_noise=set_noise)
    mask = _start_masking(key)

    def record(events: Sequence[ToolEvent]) -> None:
        masked = mask.mask(events)
        spool.add(masked)
        if spool.full:
            leg.enabled = False
        if file is not None:
            file.add(masked)

    def serve(tools: frozenset[str]) -> None:
        joined.serve(tools)
        set_noise(joined.noise)

    return LinkNoise(
        leg, wanted.link, record, dry=wanted.dry_run, serve=serve, end=lambda: spool.close(_LAST_S)
    )


def read_profile(name: str) -> Profile:
    """The profile of a name or in a YAML file. Raises ProfileError or ConfigurationError."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        try:
            return profiles.parse(path.read_text(encoding="utf-8"), name)
        except OSError as error:
            raise ConfigurationError(f"{name}: {error.strerror}: name a file that can be read") from error
    return profiles.load(name)


def plan_alone(profile: Profile, seed: int, session: str, read_only: Sequence[str]) -> Plan:
    """The plan of a session without a gateway, as the flags ask for it."""
    tables = [dict.fromkeys(read_only, ToolClass.READ_ONLY)]
    return make_plan(profile, Seed(seed, session), tool_classes=tables)
