"""A chat model on an OpenAI-compatible server, asked one thing at a time. Every failure is named."""

from __future__ import annotations

from typing import Any

import aiohttp

from crosswind.gateway.config.noise_model import ChatModel
from crosswind.gateway.protocols.document import decode, encode

_MOST = 1 << 20
"""The longest answer that is read, in bytes."""


class ModelFailed(Exception):
    """The model gave no text. The message says what happened; it holds neither key nor content."""


async def asked(http: aiohttp.ClientSession, model: ChatModel, system: str, user: str) -> str:
    """What the model answers. ModelFailed."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    body = {
        "model": model.model,
        "messages": messages,
        "temperature": model.temperature,
        "max_tokens": model.max_tokens,
    }
    headers = {"content-type": "application/json"}
    if model.secret is not None:
        headers["authorization"] = f"Bearer {model.secret}"
    try:
        async with http.post(
            f"{model.url}/chat/completions",
            data=encode(body),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=model.timeout),
            allow_redirects=False,
        ) as answer:
            if answer.status != 200:
                raise ModelFailed(f"the model answered HTTP {answer.status}")
            raw = await answer.content.read(_MOST)
            while len(raw) < _MOST and (more := await answer.content.read(_MOST - len(raw))):
                raw += more
    except TimeoutError:
        raise ModelFailed(f"the model gave no answer within {model.timeout:g} s") from None
    except aiohttp.ClientError as error:
        raise ModelFailed(f"the model can't be asked ({type(error).__name__})") from None
    return _text(raw)


def _text(raw: bytes) -> str:
    try:
        document: Any = decode(raw)
        choice = document["choices"][0]
        text = choice["message"]["content"]
    except (ValueError, RecursionError, LookupError, TypeError):
        raise ModelFailed("the model's answer is no chat completion") from None
    if not isinstance(text, str) or not text.strip():
        raise ModelFailed("the model's answer is empty")
    if choice.get("finish_reason") == "length":
        raise ModelFailed("the model's answer was cut off; raise max_tokens")
    return text
