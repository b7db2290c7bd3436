"""Engines keep idle connections for longer than the gateway does: the end that closes them must be the one
that knows that no request is on its way.
"""

from __future__ import annotations

from pathlib import Path

from crosswind.gateway.config.settings import Settings
from crosswind.policies.embedded.batch import BatchLimits
from crosswind.policies.embedded.server import make_server
from crosswind.policies.versions.version import PRETRAINED
from crosswind.policies.vllm.environment import VllmEnvironment
from crosswind.policies.vllm.launch import Launch


def test_engines_keep_connections_longer_than_the_gateway(tmp_path: Path) -> None:
    gateways = Settings().timeouts.idle
    embedded = make_server(PRETRAINED / "retail", seed=0, limits=BatchLimits())
    assert embedded.config.timeout_keep_alive > 2 * gateways
    (tmp_path / ".crosswind-lock").write_text("cpu 0\n")
    launch = Launch(
        VllmEnvironment(tmp_path), tmp_path, "127.0.0.1", 1, 0, 1, tmp_path / "log", tmp_path / "state"
    )
    name = "VLLM_HTTP_TIMEOUT_KEEP_ALIVE"
    assert int(launch.variables({})[name]) > 2 * gateways
    assert launch.variables({name: "3"})[name] == "3"
