"""What a provider keeps belongs to the tenant that made it, though all tenants share the provider's account.

Where keys of the gateway are required (`auth: keys`), ids in paths and bodies that are another tenant's
or on no record are refused as if they didn't exist, and lists are filtered. Elsewhere nothing is looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import structlog

from crosswind.gateway.clock import now_us
from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.body import RequestBody
from crosswind.gateway.protocols.document import replace_values
from crosswind.gateway.protocols.json_values import decode
from crosswind.gateway.proxy.provider_objects import find_described_ids, find_references
from crosswind.gateway.recorder.queue import NotDurable
from crosswind.gateway.recorder.recorder import Recorder
from crosswind.gateway.trajectory.record import ProviderObject
from crosswind.gateway.trajectory.store import Store, StoreError

_log = structlog.get_logger("crosswind.tenants")


class ProviderOwnership:
    """Knows whose an object at the provider is. `wait_s` bounds the wait for a new object's record."""

    def __init__(self, store: Store, recorder: Recorder, wait_s: float) -> None:
        self._store = store
        self._recorder = recorder
        self._wait_s = wait_s

    async def check(self, ids: Iterable[str], tenant: str) -> None:
        """Refuse ids that aren't the tenant's: ServiceError 404, as for objects that don't exist."""
        wanted = set(ids)
        if not wanted:
            return
        owners = await self._owners(wanted)
        for one in sorted(wanted):
            if owners.get(one) != tenant:
                raise ServiceError(
                    404,
                    f"no object {one!r}; name one that was made with your own key",
                    kind="not_found_error",
                    code="not_found",
                )

    async def check_request(self, body: RequestBody, tenant: str) -> None:
        """As `check_body`. ServiceError 415 where the provider may read a body that can't be read here."""
        if body.encoded:
            raise ServiceError(
                415,
                "the request's `Content-Encoding` can't be undone here, so that what the body names can't be "
                "checked; send it unencoded",
                code="unreadable_encoding",
            )
        await self.check_body(body.body, tenant)

    async def check_body(self, body: bytes | str, tenant: str, also: Set[str] = frozenset()) -> None:
        """Refuse a body that names what isn't the tenant's (404), or can't be read but seems to (400).
        `also`: ids that may be named besides.
        """
        try:
            references = find_references(body)
        except ValueError as error:
            raise ServiceError(
                400, f"the request's body isn't JSON: {error}; send JSON", code="invalid_json"
            ) from None
        await self.check(references - also, tenant)

    async def keep(self, ids: Iterable[str], tenant: str) -> None:
        """Record new objects as the tenant's, durably, before the tenant learns their ids.

        Where the store is down, the tenant gets its answer all the same, and may have to wait for the record.
        """
        rows = [ProviderObject(one, tenant, now_us()) for one in sorted(ids)]
        if not rows:
            return
        try:
            await self._recorder.ensure_durable(self._recorder.submit(rows), self._wait_s)
        except NotDurable as error:
            _log.warning("a provider's object isn't on record yet as its tenant's", error=str(error))

    async def select(self, page: bytes, tenant: str) -> tuple[bytes, str | None]:
        """A listed page with the tenant's objects only, and the id after which the next page begins where
        nothing is left of this one. A page that can't be read shows nothing.
        """
        try:
            listed = decode(page)
            entries = listed["data"]
            ids = [entry["id"] for entry in entries]
            owners = await self._owners(set(ids))
        except (ValueError, RecursionError, TypeError, KeyError):
            return b'{"object":"list","data":[],"has_more":false}', None
        own = [entry for entry in entries if owners.get(entry["id"]) == tenant]
        if own == entries:
            return page, None
        changed: dict[tuple[str | int, ...], Any] = {("data",): own}
        for name, index in (("first_id", 0), ("last_id", -1)):
            if name in listed:
                changed[name,] = own[index]["id"] if own else None
        following = ids[-1] if not own and listed.get("has_more") else None
        return replace_values(page, changed), following

    async def _owners(self, ids: set[str]) -> Mapping[str, str]:
        """The tenants of those ids that are on record. ServiceError 503 if the store can't tell."""
        try:
            owners = await asyncio.to_thread(self._store.owners_of_objects, sorted(ids))
            if ids - owners.keys():
                # An object that was made a moment ago may still be on its way to the disk.
                await self._recorder.wait_durable(self._recorder.submit((), retry=False))
                owners = await asyncio.to_thread(self._store.owners_of_objects, sorted(ids))
        except StoreError as error:
            _log.error("the owners of a provider's objects can't be read", error=str(error))
            raise ServiceError(
                503,
                "whose object this is can't be read at the moment; try again",
                kind="server_error",
                code="store_unavailable",
            ) from error
        return owners


@dataclass(frozen=True, slots=True)
class TenantShare:
    """What a tenant gets of an answer: its part of a list (`lists`), or an object that becomes its own."""

    ownership: ProviderOwnership
    tenant: str
    lists: bool

    async def keep(self, answer: bytes) -> None:
        await self.ownership.keep(find_described_ids(answer), self.tenant)

    async def select(self, page: bytes) -> tuple[bytes, str | None]:
        return await self.ownership.select(page, self.tenant)
