"""Any layout of a model becomes a version that says exactly what the model said; what can't is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from crosswind.policies.commands.policy import policy
from crosswind.policies.tiny.directory import TEMPLATE
from crosswind.policies.versions.version import read_version, verify
from tests.policies.imports.models import change, logits, make_model, read_tensors, write_model
from tests.policies.versions.test_full_disk import no_file_above

SAID = [{"role": "user", "content": "What is the status of order 17?"}]


def run_import(source: Path | str, versions: Path, *more: str) -> Result:
    given = ["import", str(source), "--name", "base", "--versions", str(versions), *more]
    return CliRunner().invoke(policy, given)


def test_shards_become_one_file_with_the_same_bytes(tmp_path: Path) -> None:
    source = write_model(tmp_path / "source", dtype="bfloat16", max_shard_size="100KB")
    assert len(list(source.glob("*.safetensors"))) > 2
    done = run_import(source, tmp_path / "versions")
    assert done.exit_code == 0, done.output
    assert "base: Qwen2ForCausalLM, 0." in done.output and "M parameters, bfloat16, in" in done.output
    version = read_version(tmp_path / "versions" / "base")
    verify(version)
    assert version.metrics["imported_from"] == str(source) and version.kind == "full"
    theirs, ours = read_tensors(source), read_tensors(version.path)
    assert theirs.keys() == ours.keys()
    assert all(ours[name].dtype == torch.bfloat16 for name in ours)
    assert all(torch.equal(theirs[name], ours[name]) for name in ours)
    assert torch.equal(logits(version.path), logits(source))
    assert sorted(path.name for path in version.path.iterdir()) == [
        "chat_template.jinja",
        "config.json",
        "crosswind.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]


def make_old(directory: Path, *, prefix: bool = True, shards: int = 1) -> Path:
    """As models were published in 2023: pickles, a vocabulary with merges, templates in the settings."""
    write_model(directory)
    tensors = read_tensors(directory)
    (directory / "model.safetensors").unlink()
    if not prefix:
        tensors = {name.removeprefix("model."): tensor for name, tensor in tensors.items()}
    names = sorted(tensors)
    if shards == 1:
        torch.save(tensors, directory / "pytorch_model.bin")
    else:
        files = {name: f"pytorch_model-{index % shards}.bin" for index, name in enumerate(names)}
        for file in set(files.values()):
            torch.save({name: tensors[name] for name in names if files[name] == file}, directory / file)
        index = {"metadata": {}, "weight_map": files}
        (directory / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    Tokenizer.from_file(str(directory / "tokenizer.json")).model.save(str(directory))
    (directory / "tokenizer.json").unlink()
    (directory / "chat_template.jinja").unlink()
    end = {"__type": "AddedToken", "content": "<|end|>", "special": True, "normalized": False}
    change(
        directory / "tokenizer_config.json",
        tokenizer_class="Qwen2Tokenizer",
        eos_token=end | {"lstrip": False, "rstrip": False, "single_word": False},
        chat_template=[
            {"name": "default", "template": "plain: {{ messages[0].content }}\n"},
            {"name": "tool_use", "template": "\n" + TEMPLATE.read_text()},
        ],
    )
    return directory


@pytest.mark.parametrize(("prefix", "shards"), [(True, 1), (True, 3), (False, 1)])
def test_older_layouts_say_what_they_said(tmp_path: Path, prefix: bool, shards: int) -> None:
    source = make_old(tmp_path / "source", prefix=prefix, shards=shards)
    done = run_import(source, tmp_path / "versions")
    assert done.exit_code == 0, done.output
    made = tmp_path / "versions" / "base"
    assert torch.equal(logits(made), logits(source))
    settings = json.loads((made / "tokenizer_config.json").read_text())
    assert settings["eos_token"] == "<|end|>" and "chat_template" not in settings
    ours, theirs = AutoTokenizer.from_pretrained(made), AutoTokenizer.from_pretrained(source)
    tool = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}
    for tools in (None, [tool]):
        shown = {"tools": tools, "add_generation_prompt": True, "tokenize": False}
        assert ours.apply_chat_template(SAID, **shown) == theirs.apply_chat_template(SAID, **shown)
    text = "What is the status? äöü 12,500 <|end|>"
    assert ours.encode(text) == theirs.encode(text)
    assert Tokenizer.from_file(str(made / "tokenizer.json")).encode(text).ids == ours.encode(text)


def test_code_of_the_models_own_is_never_run(tmp_path: Path) -> None:
    source = write_model(tmp_path / "source")
    (source / "modeling_own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    own = {"AutoConfig": "modeling_own.Own", "AutoModelForCausalLM": "modeling_own.Own"}
    change(source / "config.json", auto_map=own)
    change(source / "tokenizer_config.json", auto_map={"AutoTokenizer": ["modeling_own.Own", None]})
    done = run_import(source, tmp_path / "versions")
    assert done.exit_code == 0, done.output
    made = tmp_path / "versions" / "base"
    assert "auto_map" not in (made / "config.json").read_text() + (made / "tokenizer_config.json").read_text()
    assert not list(made.glob("*.py"))
    change(source / "config.json", model_type="own", architectures=["OwnForCausalLM"])
    done = run_import(source, tmp_path / "others")
    assert done.exit_code == 2 and "code of its own (auto_map), which is never run" in done.output
    assert not (tmp_path / "ran").exists()


def test_a_pickle_that_would_run_something_is_refused(tmp_path: Path) -> None:
    class Runs:
        def __reduce__(self) -> tuple[object, tuple[str, str]]:
            return open, (str(tmp_path / "ran"), "w")

    source = make_old(tmp_path / "source")
    torch.save({"model.norm.weight": Runs()}, source / "pytorch_model.bin")
    done = run_import(source, tmp_path / "versions")
    assert done.exit_code == 2 and "can't be read as tensors alone" in done.output, done.output
    assert done.output.count("\n") == 1 and not (tmp_path / "ran").exists()


def _drop_shard(source: Path) -> None:
    next(source.glob("model-00002*")).unlink()


def _cut_shard(source: Path) -> None:
    file = next(source.glob("model-00002*"))
    file.write_bytes(file.read_bytes()[:-8])


def _ask_for_more(source: Path) -> None:
    change(source / "config.json", num_hidden_layers=3, layer_types=None)


def _drop_template(source: Path) -> None:
    (source / "chat_template.jinja").unlink()


def _spoil_template(source: Path) -> None:
    (source / "chat_template.jinja").write_text("{% for x in %}")


def _drop_weights(source: Path) -> None:
    for file in source.glob("model*"):
        file.unlink()


def _drop_tokenizer(source: Path) -> None:
    (source / "tokenizer.json").unlink()
    change(source / "tokenizer_config.json", tokenizer_class="Qwen2Tokenizer")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (
            _drop_shard,
            r"model.safetensors.index.json names model-00002-of-\d+.safetensors, which isn't there",
        ),
        (
            _cut_shard,
            r"model-00002-of-\d+.safetensors: has \d+ bytes, must have \d+; download that file again",
        ),
        (_ask_for_more, r"\d+ weights that config.json asks for are in no file \(model.layers.2"),
        (_drop_template, "no chat template .* give one with --chat-template FILE"),
        (_spoil_template, "the chat template can't be rendered: .* --chat-template FILE"),
        (_drop_weights, "no weights: none of model.safetensors, .* give a complete directory"),
        (_drop_tokenizer, r"no tokenizer can be read \(there is no tokenizer.json\); give"),
        (
            lambda source: change(source / "config.json", architectures=["Qwen2ForSequenceClassification"]),
            "field 'architectures' is 'Qwen2ForSequenceClassification', not a causal language model's",
        ),
        (
            lambda source: change(source / "config.json", model_type="t5"),
            "field 'model_type' is 't5', of which transformers knows no causal language model",
        ),
        (
            lambda source: change(source / "config.json", quantization_config={"quant_method": "awq"}),
            "field 'quantization_config': quantised weights can't be trained",
        ),
        (
            lambda source: change(source / "config.json", hidden_size="many"),
            "config.json: describes no Qwen2ForCausalLM: .*hidden_size",
        ),
        (
            lambda source: (source / "config.json").write_text("[]"),
            "config.json: isn't a JSON object; download that file again",
        ),
        (lambda source: (source / "config.json").unlink(), r"config.json: can't be read \(there is none\)"),
    ],
)
def test_bad_input_gets_one_line(spoil: Callable[[Path], object], reason: str, tmp_path: Path) -> None:
    source = write_model(tmp_path / "source", max_shard_size="100KB")
    spoil(source)
    done = run_import(source, tmp_path / "versions")
    assert done.exit_code == 2, done.output
    assert done.output.count("\n") == 1 and str(source) in done.output, done.output
    assert re.search(reason, done.output), done.output
    assert not list((tmp_path / "versions").glob("*"))


def test_a_template_is_given_where_the_model_has_none(tmp_path: Path) -> None:
    source = write_model(tmp_path / "source")
    (source / "chat_template.jinja").rename(tmp_path / "mine.jinja")
    done = run_import(source, tmp_path / "versions", "--chat-template", str(tmp_path / "mine.jinja"))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "versions/base/chat_template.jinja").read_text() == TEMPLATE.read_text()


def test_a_taken_name_a_full_disk_and_nothing_there(tmp_path: Path) -> None:
    source, versions = write_model(tmp_path / "source"), tmp_path / "versions"
    with no_file_above(100_000):
        full = run_import(source, versions)
    assert full.exit_code == 1 and "'base' can't be written" in full.output and "free space" in full.output
    assert not list(versions.glob("*")) and full.output.count("\n") == 1
    assert run_import(source, versions).exit_code == 0
    taken = run_import(source, versions)
    assert taken.exit_code == 2 and "has a version 'base' already; name another with --name" in taken.output
    gone = run_import(tmp_path / "nowhere", versions)
    assert gone.exit_code == 2 and "there is no such directory" in gone.output


def test_weights_that_are_no_part_of_the_model_are_named(tmp_path: Path) -> None:
    """A head that repeats tied embeddings says nothing; a layer that the configuration leaves out does."""
    source = write_model(tmp_path / "source", "Qwen3")
    change(source / "config.json", num_hidden_layers=1, layer_types=None)
    done = run_import(source, tmp_path / "versions")
    assert done.exit_code == 0 and "(left out: 11 tensors, model.layers.1." in done.output, done.output
    assert "model.layers.1.input_layernorm.weight" not in read_tensors(tmp_path / "versions/base")
    assert sum(tensor.numel() for tensor in make_model("Qwen3", 512).parameters()) < 2_000_000
