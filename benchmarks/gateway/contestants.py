"""Who is measured: how each is started in front of an upstream, and what has to be installed for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from benchmarks.gateway.work import KEY, MODEL

LITELLM = "litellm[proxy]==1.106.2"
PROFILE = "noisyagent"
_BIN = Path(sys.executable).parent
_RELAY = Path(__file__).parent / "relay.py"


class Missing(Exception):
    """Something that a contestant needs isn't installed; the message says how to install it."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """`slow` ones are given fewer requests."""

    name: str
    slow: bool = False

    def installed(self, folder: Path) -> str:
        """Install what is missing, and give the version. Missing where that is the user's to do."""
        return ""

    def command(self, upstream: int, port: int, control: int, folder: Path) -> list[str]:
        """The command that serves on `port`. `control` is a free port, `folder` a new one."""
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        return {}


class Nginx(Contestant):
    """nginx as a reverse proxy: one worker, no buffering of answers, kept connections to the upstream."""

    def installed(self, folder: Path) -> str:
        if shutil.which("nginx") is None:
            raise Missing(
                "nginx is missing: apt-get install nginx-light, or leave it out with --without nginx"
            )
        said = subprocess.run(["nginx", "-v"], check=True, capture_output=True, text=True).stderr
        return said.strip().split("/")[-1]

    def command(self, upstream: int, port: int, control: int, folder: Path) -> list[str]:
        path = folder / "nginx.conf"
        path.write_text(
            f"""
            daemon off; master_process on; worker_processes 1; pid {folder}/nginx.pid; error_log stderr error;
            events {{ worker_connections 4096; }}
            http {{
              access_log off; keepalive_requests 1000000; client_max_body_size 8m; client_body_buffer_size 1m;
              client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
              fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
              scgi_temp_path {folder}/scgi;
              upstream model {{ server 127.0.0.1:{upstream}; keepalive 256; keepalive_requests 1000000; }}
              server {{
                listen 127.0.0.1:{port} backlog=4096;
                location / {{
                  proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection "";
                  proxy_buffering off; proxy_read_timeout 600s;
                }}
              }}
            }}
            """
        )
        return ["nginx", "-p", str(folder), "-c", str(path), "-e", "stderr"]


class Relay(Contestant):
    """relay.py."""

    def installed(self, folder: Path) -> str:
        return f"uvicorn {version('uvicorn')}, aiohttp {version('aiohttp')}"

    def command(self, upstream: int, port: int, control: int, folder: Path) -> list[str]:
        return [sys.executable, str(_RELAY), f"http://127.0.0.1:{upstream}", str(port)]


class LiteLLM(Contestant):
    """LiteLLM's proxy, bare, with one worker, in an environment of its own."""

    def installed(self, folder: Path) -> str:
        python = _litellm() / "bin" / "python"
        if not python.exists():
            print(f"installing {LITELLM} into {_litellm()}", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", str(_litellm())], check=True)
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", LITELLM], check=True)
        code = "from importlib.metadata import version; print(version('litellm'))"
        return subprocess.run(
            [str(python), "-c", code], check=True, capture_output=True, text=True
        ).stdout.strip()

    def command(self, upstream: int, port: int, control: int, folder: Path) -> list[str]:
        path = folder / "litellm.yaml"
        path.write_text(
            f"""
            model_list:
              - model_name: {MODEL}
                litellm_params:
                  {{model: openai/{MODEL}, api_base: "http://127.0.0.1:{upstream}/v1", api_key: sk-upstream}}
            litellm_settings: {{telemetry: false, num_retries: 0}}
            general_settings: {{master_key: {KEY}}}
            """
        )
        address = ["--host", "127.0.0.1", "--port", str(port)]
        return [str(_litellm() / "bin" / "litellm"), "--config", str(path), *address, "--num_workers", "1"]

    def environment(self) -> Mapping[str, str]:
        return {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR", "LITELLM_TELEMETRY": "False"}


@dataclass(frozen=True, slots=True)
class Crosswind(Contestant):
    """This gateway, as `crosswind serve` starts it."""

    flags: tuple[str, ...] = field(default=())

    def installed(self, folder: Path) -> str:
        return version("crosswind")

    def command(self, upstream: int, port: int, control: int, folder: Path) -> list[str]:
        ports = ["--port", str(port), "--control-port", str(control)]
        where = [
            "--upstream",
            f"http://127.0.0.1:{upstream}/v1",
            "--store",
            f"sqlite:///{folder}/crosswind.db",
        ]
        return [str(_BIN / "crosswind"), "serve", *ports, *where, *self.flags]


def _litellm() -> Path:
    return _BIN.parent.with_name(f"{_BIN.parent.name}-litellm")


STRICT = ("--record", "full", "--durability", "strict")
NGINX = Nginx("nginx")
RELAY = Relay("ASGI relay")
NEITHER = Crosswind("Crosswind: neither", flags=("--profile", "off", "--record", "none"))
LITELLM_PROXY = LiteLLM("LiteLLM", slow=True)
BOTH = Crosswind("Crosswind: noise, recording", flags=("--profile", PROFILE, *STRICT))
RECORDING = Crosswind("Crosswind: recording", flags=("--profile", "off", *STRICT))
CONTESTANTS: tuple[Contestant, ...] = (
    NGINX,
    RELAY,
    NEITHER,
    Crosswind("Crosswind: noise", flags=("--profile", PROFILE, "--record", "none")),
    RECORDING,
    BOTH,
    LITELLM_PROXY,
)
DIRECT = "direct"
