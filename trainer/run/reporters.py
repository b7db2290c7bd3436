"""Where a run's figures go beside its output: a file of JSON lines, TensorBoard, a Prometheus endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import orjson
from prometheus_client import CollectorRegistry, Gauge, start_http_server

from crosswind.trainer.errors import RunRefused

Figures = Mapping[str, Any]


class Reporter(Protocol):
    """Takes each step's figures, as `crosswind train run --json-progress` prints them."""

    def step(self, figures: Figures) -> None: ...

    def close(self) -> None: ...


class JsonLines:
    """Appends a line for each step; a resumed run goes on in the same file."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise RunRefused(
                f"--metrics-file: {path} can't be written ({error.strerror}); name another"
            ) from None

    def step(self, figures: Figures) -> None:
        self._file.write(orjson.dumps(figures, option=orjson.OPT_APPEND_NEWLINE))

    def close(self) -> None:
        self._file.close()


class TensorBoard:
    """Writes every number of the figures as a scalar: `levels/user.typos`, say."""

    def __init__(self, folder: Path) -> None:
        try:  # tensorboard is an extra, and takes seconds to import
            from torch.utils.tensorboard import SummaryWriter
        except ModuleNotFoundError:
            raise RunRefused(
                "--tensorboard: tensorboard isn't installed: install crosswind[tensorboard]"
            ) from None
        self._writer = SummaryWriter(str(folder))

    def step(self, figures: Figures) -> None:
        for name, value in list_scalars(figures):
            self._writer.add_scalar(name, value, figures["step"])
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


_BY_TYPE = {
    "levels": ("crosswind_train_level", "Level of a noise type"),
    "shares": ("crosswind_train_share", "Share of a group's rollouts that have a noise type"),
    "gaps": ("crosswind_train_gap", "Clean success less noisy success of the exposed, by noise type"),
    "counted_gaps": ("crosswind_train_gap_as_assigned", "The same, not divided by the rate of exposure"),
    "exposure_rates": ("crosswind_train_exposure_rate", "Exposed rollouts of those assigned a noise type"),
}
_BY_ARM = {
    "rewards": ("crosswind_train_reward", "Mean reward"),
    "success": ("crosswind_train_success", "Share of rollouts that succeeded"),
}
_PLAIN = {
    "step": "Training steps taken",
    "rho": "Share of a group's rollouts that are noisy",
    "groups": "Groups of the step",
    "filtered_groups": "Groups of the step with all rewards equal",
    "flat_arms": "Arms of the step whose rewards are all equal",
    "trained_rollouts": "Rollouts of the step that trained",
    "tokens": "Sampled tokens of the step",
    "tokens_per_second": "Sampled tokens over the seconds that their training took",
    "staleness": "Versions between the oldest token and the newest version",
    "loss": "Loss",
    "kl": "How far the step moved the policy, in nats a token",
    "clip_share": "Ratios without gradient",
    "gradient_norm": "Norm of the gradient before clipping",
    "entropy": "Mean entropy of sampled tokens, in nats",
    "effective_share": "Effective sample size as a share of the tokens",
    "seconds": "Seconds that the step took, publication included",
    "waited_seconds": "Seconds that the step waited for groups",
}


class Prometheus:
    """Serves the last step's figures at `/metrics`."""

    def __init__(self, port: int, host: str) -> None:
        registry = CollectorRegistry()
        self._plain = {
            name: Gauge(f"crosswind_train_{name}", said, registry=registry) for name, said in _PLAIN.items()
        }
        self._by_type = {
            name: Gauge(metric, said, ["type"], registry=registry)
            for name, (metric, said) in _BY_TYPE.items()
        }
        self._by_arm = {
            name: Gauge(metric, said, ["arm"], registry=registry) for name, (metric, said) in _BY_ARM.items()
        }
        self._versions = Gauge(
            "crosswind_train_version", "1 for the newest version", ["version"], registry=registry
        )
        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            raise RunRefused(
                f"--metrics-port: {host}:{port} can't be listened on ({error.strerror}); name another"
            ) from None

    @property
    def port(self) -> int:
        return int(self._server.server_port)

    def step(self, figures: Figures) -> None:
        for name, gauge in self._plain.items():
            gauge.set(figures[name])
        for name, gauge in self._by_type.items():
            _set(gauge, figures[name])
        _set(self._by_arm["rewards"], figures["rewards"])
        _set(self._by_arm["success"], {"clean": figures["clean_success"], "noisy": figures["noisy_success"]})
        self._versions.clear()
        self._versions.labels(figures["version"]).set(1)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def list_scalars(figures: Figures, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Every number of the figures by its name; those of a mapping as NAME/KEY, those of a list left out."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from list_scalars(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool) and name != "step":
            yield f"{prefix}{name}", float(value)


def _set(gauge: Gauge, values: Mapping[str, float | None]) -> None:
    """A label without a figure in this step isn't shown: its last one would be taken for today's."""
    gauge.clear()
    for label, value in values.items():
        if value is not None:
            gauge.labels(label).set(value)
