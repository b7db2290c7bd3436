"""A protocol's folder that isn't complete stops the start, with an error that names it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crosswind.gateway import protocols
from crosswind.gateway.app import create_app
from crosswind.gateway.config.settings import Settings
from crosswind.gateway.errors import ConfigurationError
from crosswind.gateway.protocols.codec import codecs


@pytest.mark.parametrize(
    ("codec", "missing"),
    [
        (None, "gemini.codec"),
        ("from crosswind.gateway.protocols.gemini.answer import GeminiAnswer\n", "gemini.answer"),
        ("", "CODEC"),
    ],
)
def test_an_incomplete_folder_is_named_at_the_start(
    codec: str | None, missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "gemini"
    folder.mkdir()
    (folder / "__init__.py").touch()
    if codec is not None:
        (folder / "codec.py").write_text(codec)
    monkeypatch.setattr(protocols, "__path__", [*protocols.__path__, str(tmp_path)])
    codecs.cache_clear()
    try:
        with pytest.raises(
            ConfigurationError, match=rf"gateway/protocols/gemini can't be loaded: .*{missing}"
        ):
            create_app(Settings(upstream="http://127.0.0.1:1/v1", store=f"sqlite:///{tmp_path}/store.db"))
    finally:
        codecs.cache_clear()
        for name in [name for name in sys.modules if name.startswith("crosswind.gateway.protocols.gemini")]:
            del sys.modules[name]
