"""The curriculum in force, and the older ones that groups were first opened under."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

import structlog

from crosswind.gateway.clock import now_us
from crosswind.gateway.config.sections import DEFAULT_TENANT
from crosswind.gateway.trajectory.record import Setting
from crosswind.gateway.trajectory.store import Store
from crosswind.injectors.engine.curriculum import Curriculum

_log = structlog.get_logger("crosswind.sessions")

KIND = "curriculum"
_CURRENT = "current"


class Curricula:
    """A group keeps the curriculum it was first opened under, across restarts too: its plans name the
    version.
    """

    def __init__(self, store: Store, settings: Iterable[Setting]) -> None:
        self._store = store
        stored = dict(_read_curricula(settings))
        self.current = stored.pop(_CURRENT, None)
        self._versions = {curriculum.version: curriculum for curriculum in stored.values()}
        self._groups: dict[tuple[str, str], Curriculum] = {}
        """By id and tenant."""

    def rows(self, curriculum: Curriculum) -> list[Setting]:
        """What is to be written when this curriculum comes into force."""
        value, now = curriculum.to_json(), now_us()
        return [
            Setting(KIND, _CURRENT, value, now),
            Setting(KIND, f"version-{curriculum.version}", value, now),
        ]

    def put(self, curriculum: Curriculum) -> None:
        """Let it come into force for groups that are opened from now on."""
        self.current = curriculum
        self._versions[curriculum.version] = curriculum

    async def of_group(self, group_id: str, tenant: str | None) -> Curriculum | None:
        """The curriculum of a tenant's group: the one it was first opened under, else the current one."""
        group = group_id, tenant or DEFAULT_TENANT
        if group not in self._groups:
            chosen = await asyncio.to_thread(self._opened_under, *group) or self.current
            if chosen is None:
                return None
            self._groups.setdefault(group, chosen)
        return self._groups[group]

    def _opened_under(self, group_id: str, tenant: str) -> Curriculum | None:
        # Sessions of the default tenant may have been opened when there were no tenants.
        only = None if tenant == DEFAULT_TENANT else tenant
        for session in self._store.sessions(group_id=group_id, tenant=only, limit=1000):
            version = session.plan.get("curriculum_version")
            ours = (session.tenant or DEFAULT_TENANT) == tenant
            if ours and isinstance(version, int) and version in self._versions:
                return self._versions[version]
        return None


def _read_curricula(settings: Iterable[Setting]) -> Iterator[tuple[str, Curriculum]]:
    for setting in settings:
        try:
            yield setting.name, Curriculum.from_json(setting.value)
        except ValueError as error:
            _log.error(
                "a stored curriculum can't be used: it is skipped", curriculum=setting.name, error=str(error)
            )
