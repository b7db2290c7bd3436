"""A model's tokenizer and chat template, from any layout that transformers reads, as a version has them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from crosswind.policies.deployment.reference import read_first_line
from crosswind.policies.versions.version import VersionError

TOKENIZER, SETTINGS, TEMPLATE = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
_NAMED = ("bos_token", "eos_token", "pad_token")
_VOCABULARIES = (TOKENIZER, "vocab.json", "vocab.txt", "*.model", "*.tiktoken")
_PROBE = [{"role": "user", "content": "x"}]


def write_tokenizer(source: Path, target: Path, given: Path | None, end: int | None) -> None:
    """Write `tokenizer.json`, its settings and the chat template into `target`.

    `given` is a template's file that wins over the model's own; `end` is the id of the token that ends a turn
    by the model's configuration. Raises VersionError naming the file and the fix.
    """
    tokenizer = _load(source)
    if (source / TOKENIZER).is_file():
        shutil.copyfile(source / TOKENIZER, target / TOKENIZER)
    else:
        _convert(tokenizer, source, target)
    template = given.read_text() if given is not None else _find_template(tokenizer.chat_template)
    if not template:
        raise VersionError(
            f"{source}: no chat template in {TEMPLATE} or in {SETTINGS}: give one with --chat-template FILE "
            "(`crosswind policy import`)"
        )
    _try_template(tokenizer, template, given or source)
    (target / TEMPLATE).write_text(template)
    named = {name: str(value) for name in _NAMED if (value := getattr(tokenizer, name, None)) is not None}
    if "eos_token" not in named:
        named["eos_token"] = _find_end(tokenizer, end, source)
    settings = _read_settings(source / SETTINGS) or {"tokenizer_class": "PreTrainedTokenizerFast"}
    for name in ("chat_template", "auto_map"):
        settings.pop(name, None)
    (target / SETTINGS).write_bytes(orjson.dumps(settings | named, option=orjson.OPT_INDENT_2))


def _load(source: Path) -> Any:
    """The tokenizer by transformers. Where the vocabulary's file is missing, that would make an empty one."""
    from transformers import AutoTokenizer

    try:
        if not any(found for pattern in _VOCABULARIES for found in source.glob(pattern)):
            raise FileNotFoundError(f"there is no {TOKENIZER}")
        return AutoTokenizer.from_pretrained(source, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # tokenizers raises bare Exception
        reason = read_first_line(error)
        raise VersionError(
            f"{source}: no tokenizer can be read ({reason}); give {TOKENIZER}, vocab.json with "
            "merges.txt, or tokenizer.model, for a tokenizer that needs no code of its own"
        ) from None


def _convert(tokenizer: Any, source: Path, target: Path) -> None:
    """Write an older layout's tokenizer as `tokenizer.json`."""
    if not getattr(tokenizer, "is_fast", False):
        raise VersionError(
            f"{source}: {type(tokenizer).__name__} has no {TOKENIZER} and can't be made one; save it with "
            "transformers' save_pretrained there first"
        )
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        shutil.copyfile(Path(folder) / TOKENIZER, target / TOKENIZER)


def _find_template(own: str | Mapping[str, str] | None) -> str | None:
    """One template. Of several, `tool_use` is for requests with tools, as transformers chooses them."""
    if own is None or isinstance(own, str):
        return own
    default, tools = own.get("default"), own.get("tool_use")
    if default is None or tools is None:
        return default or tools
    # Jinja drops a template's last line end. Empty expressions keep it from trimming those beside the tags.
    tools, default = (f"{{{{ '' }}}}{text.removesuffix(chr(10))}{{{{ '' }}}}" for text in (tools, default))
    return f"{{% if tools %}}{tools}{{% else %}}{default}{{% endif %}}"


def _try_template(tokenizer: Any, template: str, where: Path) -> None:
    try:
        tokenizer.apply_chat_template(
            _PROBE, chat_template=template, tokenize=False, add_generation_prompt=True
        )
    except Exception as error:  # Jinja's, and whatever an expression in it raises
        reason = read_first_line(error)
        raise VersionError(
            f"{where}: the chat template can't be rendered: {reason}; correct it, or give another with "
            "--chat-template FILE"
        ) from None


def _find_end(tokenizer: Any, end: int | None, source: Path) -> str:
    text = tokenizer.convert_ids_to_tokens(end) if end is not None else None
    if text is None:
        raise VersionError(
            f"{source / SETTINGS}: field 'eos_token' is missing, and config.json's 'eos_token_id' names no "
            "token; name the token that ends a turn"
        )
    return str(text)


def _read_settings(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        settings = orjson.loads(path.read_bytes())
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise VersionError(f"{path}: isn't a JSON object; download that file again")
    return settings
