"""A gateway that may open few files: clients of the data plane can't lock the operator out."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path

import httpx

from tests.gateway.servers import upstream
from tests.loop.children import COMMAND, Children
from tests.loop.polling import WAIT_S, wait_for

FILES = 300
BOUNDED = ("sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh", *COMMAND)


async def test_the_control_plane_is_there_however_many_connections_are_half_open(
    children: Children, tmp_path: Path
) -> None:
    async with upstream() as app, httpx.AsyncClient(trust_env=False, timeout=WAIT_S) as http:
        gateway = children.gateway(app.url, tmp_path / "store.db", command=BOUNDED)
        port = httpx.URL(gateway.data).port
        with ExitStack() as stack:
            for _ in range(2 * FILES):
                client = stack.enter_context(socket.create_connection(("127.0.0.1", port or 0), WAIT_S))
                client.sendall(b"GET /v1/models HTTP/1.1\r\n")
            assert (await http.get(f"{gateway.control}/readyz")).status_code == 200
            put = await http.put(f"{gateway.control}/api/noise", json={"enabled": False})
            assert put.json() == {"enabled": False}
            metrics = (await http.get(f"{gateway.control}/metrics")).text
            assert 'crosswind_clients_refused_total{plane="data",reason="too_few_files"}' in metrics

        async def served() -> bool:
            return (await http.get(f"{gateway.data}/healthz")).status_code == 200

        assert await wait_for(served)
