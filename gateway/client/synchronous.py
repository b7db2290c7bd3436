"""The synchronous client of the control plane."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import httpx

from crosswind.gateway.client.calls import DEFAULT_TIMEOUT_S, Calls, authorization

P = ParamSpec("P")
T = TypeVar("T")


class _BlockingCalls(Calls):
    """Calls that block instead of suspending."""

    def __init__(self, url: str, control_key: str | None, timeout_s: float) -> None:
        super().__init__(url)
        self._http = httpx.Client(
            base_url=self.url, headers=authorization(control_key), timeout=timeout_s, trust_env=False
        )

    async def _send(self, method: str, path: str, body: Any, query: Mapping[str, Any]) -> httpx.Response:
        return self._http.request(method, path, json=body, params=query)

    async def _disconnect(self) -> None:
        self._http.close()


def _block(
    call: Callable[Concatenate[Calls, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Client, P], T]:
    """The call as a method of the synchronous client: its coroutine ends at the first step."""

    @wraps(call)
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            call(self._calls, *args, **kwargs).send(None)
        except StopIteration as end:
            result: T = end.value
            return result
        raise AssertionError("a blocking call doesn't suspend")

    return method


class Client:
    """The synchronous client. `url` is the control plane's address, `control_key` its key; without one, the
    variable CROSSWIND_CONTROL_KEY is used. Every call may raise GatewayError.
    """

    def __init__(
        self, url: str, *, control_key: str | None = None, timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> None:
        self._calls = _BlockingCalls(url, control_key, timeout_s)
        self.url = self._calls.url

    open_session = _block(Calls.open_session)
    reward = _block(Calls.reward)
    close = _block(Calls.close)
    delete = _block(Calls.delete)
    session = _block(Calls.session)
    trajectory = _block(Calls.trajectory)
    events = _block(Calls.events)
    groups = _block(Calls.groups)
    highest_deleted = _block(Calls.highest_deleted)
    get_curriculum = _block(Calls.get_curriculum)
    put_curriculum = _block(Calls.put_curriculum)
    put_profile = _block(Calls.put_profile)
    noise_enabled = _block(Calls.noise_enabled)
    set_noise = _block(Calls.set_noise)
    begin_drill = _block(Calls.begin_drill)
    end_drill = _block(Calls.end_drill)
    drill = _block(Calls.drill)
    drill_record = _block(Calls.drill_record)
    healthy = _block(Calls.healthy)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
