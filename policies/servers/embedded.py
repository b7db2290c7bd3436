"""The in-process torch engine, for laptops, demos and tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from crosswind.policies.server import ServeError, ServeRequest, listen_error, reject_unused_options
from crosswind.policies.versions.version import VersionError


class EmbeddedServer:
    """Serves in this process."""

    name: ClassVar[str] = "embedded"

    @classmethod
    def serve(cls, request: ServeRequest, say: Callable[[str], None]) -> None:
        reject_unused_options(request, cls.name)
        try:
            from crosswind.policies.embedded.batch import BatchLimits
            from crosswind.policies.embedded.server import serve
        except ModuleNotFoundError as error:
            raise ServeError(f"{error.name} isn't installed: install crosswind[train]") from None
        try:
            serve(
                request.directory,
                host=request.host,
                port=request.port,
                seed=request.seed,
                limits=BatchLimits(rows=request.rows),
                ready=lambda url: say(f"serving {request.directory.name} at {url}"),
            )
        except VersionError as error:
            raise ServeError(str(error)) from None
        except OSError as error:
            raise listen_error(request.host, request.port, error) from None
