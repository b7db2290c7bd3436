"""From a model's directory to a version: the configuration is checked, and the files become a version's."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from crosswind.policies.deployment.reference import read_first_line
from crosswind.policies.imports.source import ModelSource
from crosswind.policies.imports.tokenizer import write_tokenizer
from crosswind.policies.imports.weights import (
    WEIGHTS,
    WrittenWeights,
    check_space,
    find_weights,
    write_weights,
)
from crosswind.policies.versions.version import PolicyVersion, Registry, VersionError, check_name

CONFIG, GENERATION = "config.json", "generation_config.json"


@dataclass(frozen=True, slots=True)
class ImportedModel:
    """A version that was made of a model, and what it was made of."""

    version: PolicyVersion
    architecture: str
    weights: WrittenWeights

    def describe(self) -> str:
        """One line for a person."""
        millions = self.weights.parameters / 1e6
        said = f"{self.architecture}, {millions:.4g} M parameters, {self.weights.dtype}"
        left = self.weights.left_out
        return said + (f" (left out: {len(left)} tensors, {left[0]} say)" if left else "")


def import_model(
    source: ModelSource, name: str, registry: Registry, template: Path | None = None
) -> ImportedModel:
    """Make a version of that name in the registry. Raises VersionError, naming the file, the field and the
    fix, and NotWritten where the disk doesn't take it. Nothing is left of an import that fails.
    """
    check_name(name)
    if (registry.root / name).exists():
        raise VersionError(f"{registry.root} has a version {name!r} already; name another with --name")
    try:
        import transformers
    except ModuleNotFoundError as error:
        raise VersionError(f"{error.name} isn't installed: install crosswind[train]") from None
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    config = _read_config(source.directory)
    model = _make_empty(source.directory, config)
    files = find_weights(source.directory)
    check_space(files, registry.root)
    tied = bool(model.config.get_text_config().tie_word_embeddings)
    architecture, written = type(model).__name__, list[WrittenWeights]()
    about = {"imported_from": source.named, "revision": source.revision, "architecture": architecture}

    def write(target: Path) -> None:
        write_tokenizer(source.directory, target, template, _read_end(config))
        written.append(write_weights(source.directory, files, model, target / WEIGHTS))
        made = {"architectures": [architecture], "dtype": written[0].dtype, "tie_word_embeddings": tied}
        _write_config(source.directory / CONFIG, target / CONFIG, made)
        if (source.directory / GENERATION).is_file():
            shutil.copyfile(source.directory / GENERATION, target / GENERATION)

    version = registry.add(name, write, metrics={key: value for key, value in about.items() if value})
    return ImportedModel(version, architecture, written[0])


def _read_config(directory: Path) -> dict[str, Any]:
    """`config.json` of a causal language model. Raises VersionError."""
    path = directory / CONFIG
    if not path.is_file():
        if (directory / "adapter_config.json").is_file():
            raise VersionError(f"{directory}: an adapter without its base; import the merged model")
        raise VersionError(f"{path}: can't be read (there is none); give a model's directory")
    try:
        config = orjson.loads(path.read_bytes())
    except ValueError:
        config = None
    if not isinstance(config, dict):
        raise VersionError(f"{path}: isn't a JSON object; download that file again")
    if config.get("quantization_config"):
        raise VersionError(
            f"{path}: field 'quantization_config': quantised weights can't be trained; give the model in "
            "bfloat16 or float32"
        )
    return config


def _make_empty(directory: Path, config: dict[str, Any]) -> Any:
    """The model without weights. Raises VersionError where it isn't a causal language model's, or where
    only code of its own knows it.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    path, kind = directory / CONFIG, config.get("model_type")
    known = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(kind)
    if known is None:
        own = "it brings code of its own (auto_map), which is never run; " if config.get("auto_map") else ""
        raise VersionError(
            f"{path}: field 'model_type' is {kind!r}, of which transformers knows no causal language model; "
            f"{own}give another model"
        )
    named = config.get("architectures") or [known]
    if named[0] != known:
        raise VersionError(
            f"{path}: field 'architectures' is {named[0]!r}, not a causal language model's ({known}); give "
            "one that generates text"
        )
    try:
        loaded = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(loaded, trust_remote_code=False)
    except Exception as error:  # strict configurations raise their own kinds
        reason = read_first_line(error)
        raise VersionError(f"{path}: describes no {known}: {reason}; correct that field") from None


def _read_end(config: dict[str, Any]) -> int | None:
    """The token that ends a turn, by its id: the first where there are several."""
    end = config.get("eos_token_id")
    first = end[0] if isinstance(end, list) and end else end
    return first if isinstance(first, int) else None


def _write_config(source: Path, target: Path, made: dict[str, Any]) -> None:
    """The configuration as it was, with what engines ask for and without what would have them run code."""
    body = source.read_bytes()
    config = orjson.loads(body)
    wanted = made | {name: value for name, value in config.items() if name != "auto_map"}
    if "torch_dtype" in config and "dtype" not in config:
        del wanted["dtype"]  # its name before
    changed = orjson.dumps(wanted, option=orjson.OPT_INDENT_2)
    target.write_bytes(body if wanted == config else changed)
