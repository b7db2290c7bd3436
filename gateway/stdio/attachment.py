"""Attach the relay to a session of a gateway: its plan comes from there, and its events go there."""

from __future__ import annotations

import contextlib
import secrets
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from crosswind.gateway.stdio.control_plane import ControlPlane, Refused, Unreachable
from crosswind.injectors.engine.plan import Assignment, Plan, Seed, make_plan
from crosswind.injectors.packs.load import PackError, use_texts
from crosswind.injectors.profiles.load import load

_REQUEST_S, _RETRY_S = 2.0, 0.2


class _Attached(NamedTuple):
    """What a gateway says of a session."""

    session: str
    plan: Plan
    noise: bool
    packs: Mapping[str, str] | None
    """What goes before the shipped phrase packs there: the files' texts, by name. None: no rule draws any."""


class Attachment:
    """A session of a gateway, and the plan that it gave it."""

    def __init__(
        self,
        control: ControlPlane,
        link: str,
        session: str | None,
        profile: str | None,
        patience_s: float,
        *,
        leg: str | None = None,
    ) -> None:
        """`leg` names one that ends with its session: trainers wait for its events. `patience_s` is how long
        to wait for a gateway that isn't there yet; then there is no noise. Raises Refused where the gateway
        won't have the session."""
        self._control, self._link = control, link
        self._leg = {} if leg is None else {"leg": leg}
        self.noise = True
        """Whether noise is switched on there."""
        given = self._open(session, profile, patience_s)
        if given is None:
            print(
                f"crosswind: {control.url} doesn't answer: no noise in this session; events wait",
                file=sys.stderr,
            )
            self.session = session or f"mcp-{secrets.token_hex(8)}"
            self.plan = make_plan(load("off"), Seed(0, self.session), Assignment("clean"))
        else:
            self.session, self.plan, self.noise, packs = given
            if packs is not None:
                _use_packs(packs)

    def serve(self, tools: Iterable[str]) -> None:
        """Tell the gateway which tools are served here: the model leg leaves them alone from now on."""
        body = {"link": self._link, "tools": sorted(tools)}
        try:
            self.noise = self._attach(self.session, body).noise
        except (Unreachable, ValueError) as error:
            print(f"crosswind: the gateway doesn't know of these tools: {error}", file=sys.stderr)

    def _open(self, session: str | None, profile: str | None, patience_s: float) -> _Attached | None:
        """What the gateway says of the session; None: it doesn't answer."""
        named = {} if profile is None else {"profile": profile}
        until = time.monotonic() + patience_s
        while True:
            try:
                if session is None:
                    with _reading():
                        session = str(self._control.post("/api/sessions", named, _REQUEST_S)["id"])
                return self._attach(session, {"link": self._link, **named, **self._leg})
            except Unreachable:
                if time.monotonic() > until:
                    return None
                time.sleep(_RETRY_S)

    def _attach(self, session: str, body: Mapping[str, Any]) -> _Attached:
        """Raises Unreachable or Refused."""
        said = self._control.attach(session, body, _REQUEST_S)
        with _reading():
            packs = said.get("packs")
            return _Attached(str(said["session"]), Plan.from_json(said["plan"]), bool(said["noise"]), packs)


def _use_packs(texts: Mapping[str, str]) -> None:
    """Draw from the gateway's packs. Raises Refused where they can't be read."""
    try:
        use_texts(texts)
    except PackError as error:
        raise Refused(f"the gateway's packs: {error}; run the gateway's version here") from error


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """What can't be read of an answer makes it none of a control plane: Refused."""
    try:
        yield
    except Refused:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Refused(
            f"the answer is none of a control plane ({type(error).__name__}: {error!s:.100}); "
            "give the control plane's URL"
        ) from error
