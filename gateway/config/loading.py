"""Read the configuration: flags override `CROSSWIND_*` environment variables, and these the YAML file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

from crosswind.gateway.config.settings import ENVIRONMENT_PREFIX, Settings
from crosswind.gateway.errors import ConfigurationError, nearest

_FLAG_VARIABLES = {"config"}
"""Variables that flags read and that are no settings."""


def load(file: Path | None, flags: Mapping[str, Any]) -> Settings:
    """Read the configuration. `flags` holds the command line's flags; None means not given.

    Raises ConfigurationError, in one line that names the field, the value and the fix.
    """
    document = read_document(file) if file else {}
    _check_variables()

    class Loaded(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=document)

    try:
        settings = Loaded(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        raise ConfigurationError(_describe_error(error, file)) from None
    _check_completeness(settings)
    return settings


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


def _check_variables() -> None:
    """Refuse unknown variables: a misspelt one would silently change nothing."""
    known = {*Settings.model_fields, *_FLAG_VARIABLES}
    for variable in sorted(os.environ):
        if variable.upper().startswith(ENVIRONMENT_PREFIX):
            name = variable[len(ENVIRONMENT_PREFIX) :].lower().partition("__")[0]
            if name not in known:
                names = {ENVIRONMENT_PREFIX + one.upper() for one in known}
                raise ConfigurationError(
                    f"environment variable {variable} is no setting: {nearest(variable, names)}"
                )


def _check_completeness(settings: Settings) -> None:
    if not settings.every_upstream:
        raise ConfigurationError(
            "upstream is missing: give --upstream URL (the OpenAI-compatible server's base, such as "
            "http://127.0.0.1:8000/v1), CROSSWIND_UPSTREAM, or `upstream:` in the file"
        )
    if settings.auth == "keys" and not settings.keys:
        raise ConfigurationError(
            "auth 'keys' needs at least one entry under `keys`: add `keys: [{key: ...}]`, or set "
            "`auth: passthrough`"
        )


def _describe_error(error: ValidationError, file: Path | None) -> str:
    problems = error.errors(include_url=False)
    # Report a misspelt key first: a missing key is often a misspelt one.
    problem = next((one for one in problems if one["type"] == "extra_forbidden"), problems[0])
    location = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        where = f"configuration file {file}" if file else "configuration"
        hint = nearest(str(problem["loc"][-1]), _list_keys(problem["loc"][:-1]))
        return f"{where}: unknown key {location!r}: {hint}"
    message = problem["msg"].removeprefix("Value error, ")
    if not location:
        return f"configuration: {message}"
    return f"configuration field {location!r}{_format_value(location, problem['input'])}: {message}"


def _format_value(location: str, value: Any) -> str:
    """The value for the message; empty if it may hold a credential or is a whole section."""
    secret = any(word in location for word in ("key", "headers")) or "@" in str(value)
    return "" if secret or isinstance(value, dict | BaseModel) else f", value {value!r}"


def _list_keys(path: tuple[int | str, ...]) -> list[str]:
    """The keys of the section at a path."""
    model: type[BaseModel] = Settings
    for part in path:
        if isinstance(part, int):
            continue
        model = _find_section(model.model_fields[part].annotation) or model
    return list(model.model_fields)


def _find_section(annotation: Any) -> type[BaseModel] | None:
    """The section in a field's type, which may be wrapped in a tuple or an optional."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _find_section(one))), None)
