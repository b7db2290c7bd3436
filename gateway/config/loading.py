"""Read the configuration: flags override `CROSSWIND_*` environment variables, and these the YAML file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsError

from crosswind.gateway.config.settings import ENVIRONMENT_PREFIX, Settings
from crosswind.gateway.errors import ConfigurationError, nearest

_OTHER_VARIABLES = {
    *("config", "control_url"),  # Flags read these.
    *("session", "base_url", "api_key", "sample", "task", "task_id", "mcp_url", "mcp_urls", "api_urls"),
    *("bfcl_env", "mitmproxy_env", "trl_env", "vllm_env", "environment_timeout"),
}
"""Variables that are no settings: those that flags read, those that agents are given, which may start a
command of ours, and those of other tools.
"""
_DOCUMENT: ContextVar[dict[str, Any]] = ContextVar("document")
"""The file's content, while it is loaded."""


def load(file: Path | None, flags: Mapping[str, Any], *, complete: bool = True) -> Settings:
    """Read the configuration. `flags` holds the command line's flags; None means not given.
    `complete`: refuse a configuration that nothing could be served with.

    Raises ConfigurationError with all problems; each names the field, the value and the fix.
    """
    document = read_document(file) if file else {}
    problems = [*_find_wrong_variables()]

    given = {name: value for name, value in flags.items() if value is not None}
    token = _DOCUMENT.set(document)
    try:
        settings = _Loaded(**given)
    except ValidationError as error:
        problems += _describe_errors(error, file)
        # A key that is missing is often a misspelt one.
        misspelt = any(one["type"] == "extra_forbidden" and len(one["loc"]) == 1 for one in error.errors())
        if complete and not misspelt:
            problems += _find_missing_upstream({*given, *document, *_list_variables().values()})
        raise ConfigurationError(*problems) from None
    except SettingsError as error:
        # A variable that isn't JSON; `problems` names it.
        raise ConfigurationError(*(problems or [f"environment: {error}"])) from None
    finally:
        _DOCUMENT.reset(token)
    problems += _find_incomplete(settings) if complete else ()
    if problems:
        raise ConfigurationError(*problems)
    return settings


class _Loaded(Settings):
    """Settings that read the file, too. It is one class: one for each load would take megabytes, which are
    free again only after a full garbage collection.
    """

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=_DOCUMENT.get())


def read_document(file: Path) -> dict[str, Any]:
    import yaml

    try:
        document = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"configuration file {file}: can't be read ({error}); name a readable YAML file"
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise ConfigurationError(
            f"configuration file {file}{where}: malformed YAML: {problem}; correct that line"
        ) from None
    if document is None:
        return {}
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise ConfigurationError(
            f"configuration file {file}: expected `key: value` lines, found {type(document).__name__}"
        )
    return document


def _list_variables() -> dict[str, str]:
    """Our environment variables, with the setting that each names."""
    ours = (name for name in sorted(os.environ) if name.upper().startswith(ENVIRONMENT_PREFIX))
    return {name: name[len(ENVIRONMENT_PREFIX) :].lower().partition("__")[0] for name in ours}


def _find_wrong_variables() -> Iterator[str]:
    """Variables that name no setting (a misspelt one would silently change nothing), and sections that are
    given by something else than JSON.
    """
    known = {*Settings.model_fields, *_OTHER_VARIABLES}
    for variable, name in _list_variables().items():
        if name not in known:
            names = {ENVIRONMENT_PREFIX + one.upper() for one in known}
            yield f"environment variable {variable} is no setting: {nearest(variable, names)}"
        elif name in Settings.model_fields and "__" not in variable:
            yield from _check_section_variable(variable, name)


def _check_section_variable(variable: str, name: str) -> Iterator[str]:
    annotation = Settings.model_fields[name].annotation
    section, is_list = _find_section(annotation), get_origin(annotation) is tuple
    if not (section or is_list) or _is_json(os.environ[variable]):
        return
    if is_list or section is None:
        yield f"environment variable {variable}: `{name}` is a list: give it as JSON, in brackets"
        return
    secret = "password" in json.dumps(section.model_json_schema())
    value = "" if secret else f", value {os.environ[variable]!r}"
    keys = ", ".join(f"{variable}__{key.upper()}" for key in section.model_fields)
    yield f"environment variable {variable}{value}: `{name}` is a section: set one of its keys ({keys})"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _find_missing_upstream(given: Collection[str]) -> Iterator[str]:
    if not {"upstream", "upstreams"} & set(given):
        yield (
            "upstream is missing: give --upstream URL (the OpenAI-compatible server's base, such as "
            "http://127.0.0.1:8000/v1), CROSSWIND_UPSTREAM, or `upstream:` in the file"
        )


def _find_incomplete(settings: Settings) -> Iterator[str]:
    if not settings.every_upstream:
        yield from _find_missing_upstream(())
    if settings.auth == "keys" and not settings.keys:
        yield (
            "auth 'keys' needs at least one entry under `keys`: add `keys: [{key: ...}]`, or set "
            "`auth: passthrough`"
        )


def _describe_errors(error: ValidationError, file: Path | None) -> Iterator[str]:
    """A line for each problem, misspelt keys first: a missing key is often a misspelt one."""
    problems = error.errors(include_url=False)
    misspelt = [one for one in problems if one["type"] == "extra_forbidden"]
    sections = {one["loc"][:-1] for one in misspelt}
    others = [
        one
        for one in problems
        if one not in misspelt and not (one["type"] == "missing" and one["loc"][:-1] in sections)
    ]
    for one in misspelt:
        location = ".".join(str(part) for part in one["loc"])
        where = f"configuration file {file}" if file else "configuration"
        hint = nearest(str(one["loc"][-1]), _list_keys(one["loc"][:-1]))
        yield f"{where}: unknown key {location!r}: {hint}"
    for one in others:
        location = ".".join(str(part) for part in one["loc"])
        message = one["msg"].removeprefix("Value error, ")
        value = _format_value(location, one["input"])
        field = f"configuration field {location!r}{value}" if location else "configuration"
        yield f"{field}: {message}"


def _format_value(location: str, value: Any) -> str:
    """The value for the message; empty if it may hold a credential or is a whole section."""
    secret = any(word in location for word in ("key", "headers", "query")) or "@" in str(value)
    secret |= re.fullmatch(r"noise_model(\.judge)?|upstreams(\.\d+)?", location) is not None
    return "" if secret or isinstance(value, dict | BaseModel) else f", value {value!r}"


def _list_keys(path: tuple[int | str, ...]) -> list[str]:
    """The keys of the section at a path."""
    model: type[BaseModel] = Settings
    for part in path:
        if isinstance(part, int) or part not in model.model_fields:
            continue  # a place in a list, or a name in a table
        model = _find_section(model.model_fields[part].annotation) or model
    return list(model.model_fields)


def _find_section(annotation: Any) -> type[BaseModel] | None:
    """The section in a field's type, which may be wrapped in a tuple or an optional."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _find_section(one))), None)
