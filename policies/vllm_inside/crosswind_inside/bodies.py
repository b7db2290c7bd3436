"""Checks of the bodies that the /policy routes take. Needs the standard library only: both engines use it."""

from __future__ import annotations

from typing import Any


def read_text(body: Any, name: str) -> str:
    """A field that must be a text. Raises ValueError."""
    value = body.get(name) if isinstance(body, dict) else None
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is {value!r}: it must be a string")
    return value


def read_sequences(body: Any, vocabulary: int, longest: int) -> tuple[list[list[int]], list[list[int]]]:
    """The token ids of the prompts, and of their completions; both together are at most `longest` tokens.
    Raises ValueError naming the sequence that can't be scored.
    """
    sequences = body.get("sequences") if isinstance(body, dict) else None
    if not isinstance(sequences, list):
        raise ValueError("sequences must be a list")
    prompts, completions = [], []
    for index, item in enumerate(sequences):
        prompts.append(_read_ids(item, "prompt_token_ids", index, vocabulary))
        completions.append(_read_ids(item, "completion_token_ids", index, vocabulary))
        length = len(prompts[-1]) + len(completions[-1])
        if length > longest:
            raise ValueError(f"sequences[{index}] has {length} tokens: at most {longest} can be scored")
    return prompts, completions


def _read_ids(item: Any, name: str, index: int, vocabulary: int) -> list[int]:
    value = item.get(name) if isinstance(item, dict) else None
    at = f"sequences[{index}].{name}"
    if not isinstance(value, list) or not value:
        raise ValueError(f"{at} must be a list of at least one token id")
    for token in value:
        if isinstance(token, bool) or not isinstance(token, int) or not 0 <= token < vocabulary:
            raise ValueError(f"{at} holds {token!r}: ids are integers from 0 to {vocabulary - 1}")
    return value
