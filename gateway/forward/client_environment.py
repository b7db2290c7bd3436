"""The environment variables by which HTTP clients find the proxy and trust its certificates."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import certifi

from crosswind.gateway.stdio.server_process import KEY_VARIABLE

PRELOAD = Path(__file__).with_name("node_env_proxy.cjs")

_PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_NO_PROXY = ("NO_PROXY",)
_BUNDLES = (
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "AWS_CA_BUNDLE", "GIT_SSL_CAINFO"),
    *("CARGO_HTTP_CAINFO", "HTTPLIB2_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "NIX_SSL_CERT_FILE"),
)
"""Each replaces a stack's whole trust store, so the file has all of it."""
_ADDED = ("NODE_EXTRA_CA_CERTS", "DENO_CERT")
"""These add to what their stacks trust."""


def write_bundles(folder: Path, own: bytes, environment: Mapping[str, str]) -> None:
    """Write the files that the variables name. `own` is the certificate of the run's authority."""
    (folder / "ca.pem").write_bytes(own)
    (folder / "bundle.pem").write_bytes(trusted(environment) + own)
    added = _read(environment.get("NODE_EXTRA_CA_CERTS"))
    (folder / "added.pem").write_bytes(added + own)


def trusted(environment: Mapping[str, str]) -> bytes:
    """What clients of this environment trust: the public authorities, and those that its variables name."""
    named = {environment[name] for name in (*_BUNDLES, *_ADDED) if environment.get(name)}
    return b"".join(_read(path) for path in (certifi.where(), *sorted(named)))


def client_environment(environment: Mapping[str, str], proxy: str, folder: Path) -> dict[str, str]:
    """The environment of the client's command, with the proxy at this URL and the files in this folder."""
    # Our key for the gateway is none of the client's business.
    out = {name: value for name, value in environment.items() if name != KEY_VARIABLE}
    for name in _PROXY:
        out[name] = out[name.lower()] = proxy
    for name in _NO_PROXY:
        # It often holds localhost, where the tools may well be.
        out[name] = out[name.lower()] = ""
    out |= dict.fromkeys(_BUNDLES, str(folder / "bundle.pem"))
    out |= dict.fromkeys(_ADDED, str(folder / "added.pem"))
    out["npm_config_cafile"] = str(folder / "bundle.pem")
    out["UV_NATIVE_TLS"] = "true"
    out["NODE_USE_ENV_PROXY"] = "1"
    out["NODE_OPTIONS"] = f"{out.get('NODE_OPTIONS', '')} --require={PRELOAD}".strip()
    return out


def find_proxy(environment: Mapping[str, str]) -> str | None:
    """The variable of this environment that names another proxy, if one does."""
    names = (name for upper in _PROXY for name in (upper, upper.lower()))
    return next((name for name in names if environment.get(name)), None)


def _read(path: str | None) -> bytes:
    try:
        return (Path(path).read_bytes().rstrip() + b"\n") if path else b""
    except OSError:
        return b""


def child_paths(paths: list[str]) -> str:
    """Where mitmproxy's process finds our packages: behind its own."""
    own = str(Path(__file__).parents[3])
    ours = [path for path in paths if "site-packages" in path or "dist-packages" in path]
    return os.pathsep.join(dict.fromkeys((own, *ours)))
