"""A policy that has learnt a few answers by heart, so that an engine samples odd ones too, from its own
distribution and with no constraint.
"""

from __future__ import annotations

import torch
from safetensors.torch import load_file

from crosswind.policies.embedded.chat import ChatFormat
from crosswind.policies.embedded.checkpoint import read_shape
from crosswind.policies.tiny.directory import write_successor
from crosswind.policies.tiny.model import Qwen3
from crosswind.policies.versions.version import PolicyVersion, Registry
from tests.policies.conftest import TOOLS

ANSWERS = {
    "two calls": '<tool_call>{"name": "get_order", "arguments": {"order_id": "#W12"}}</tool_call>'
    '<tool_call>{"name": "find_item", "arguments": {"name": "chair", "colour": "red"}}</tool_call>',
    "thought": "<think>I read the order.</think>It is cancelled.",
    "arguments of another type": '<tool_call>{"name": "get_order", "arguments": 17733}</tool_call>',
    "arguments out of the schema": '<tool_call>{"name": "fly", "arguments": {"order_id": 5}}</tool_call>',
    "no JSON": '<tool_call>{"name": get_order}</tool_call>',
    "half a call": 'Sure. <tool_call>{"name": "get_order", "arg',
}
"""By what the user says."""

_STEPS, _RATE, _ENOUGH = 200, 3e-3, 2e-3


def reciting(registry: Registry, first: PolicyVersion, name: str = "recites") -> PolicyVersion:
    """The first version's weights, trained on a few seconds of one thread to give `ANSWERS`."""
    shape = read_shape(first.path)
    chat = ChatFormat(first.path)
    rows = [
        (chat.prompt_ids([{"role": "user", "content": asked}], tools), [*chat.encode(said), chat.end])
        for asked, said in ANSWERS.items()
        for tools in ((TOOLS, None) if asked == "thought" else (TOOLS,))
    ]
    length = max(len(prompt) + len(said) for prompt, said in rows)
    ids, wanted = torch.zeros(len(rows), length, dtype=torch.long), torch.zeros(len(rows), length)
    for row, (prompt, said) in enumerate(rows):
        end = len(prompt) + len(said)
        ids[row, :end] = torch.tensor(prompt + said)
        wanted[row, len(prompt) : end] = 1.0
    torch.manual_seed(0)
    weights = load_file(first.path / "model.safetensors")
    # Tokens that are new to the policy have empty rows: two that are equal are learnt very slowly.
    embedding = weights["model.embed_tokens.weight"]
    new = (embedding == 0).all(dim=1)
    embedding[new] = torch.randn(int(new.sum()), embedding.shape[1]) * embedding[~new].std()
    model = Qwen3(shape, weights)
    optimiser = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=0.0)
    for _ in range(_STEPS):
        logprobs = torch.log_softmax(model(ids[:, :-1]), dim=-1).gather(-1, ids[:, 1:, None])[..., 0]
        loss = -(logprobs * wanted[:, 1:]).sum() / wanted.sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if loss.item() < _ENOUGH:
            break
    else:
        raise AssertionError(
            f"not learnt by heart within {_STEPS} steps: the loss is still {loss.item():.4f}"
        )
    learnt = model.weights()
    return registry.add(
        name, lambda path: write_successor(path, first.path, learnt), parent=first.version, step=1
    )
