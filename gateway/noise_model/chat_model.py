"""Ask a chat model on an OpenAI-compatible server for one text, or a judge for its score of one."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

from crosswind.gateway.config.noise_model import ChatModel, Judge
from crosswind.gateway.protocols.json_values import decode, encode
from crosswind.injectors.wording import Prompt

if TYPE_CHECKING:
    import httpx

_MOST = 1 << 20
"""The longest answer that is read, in bytes."""
_JUDGE_TASK = (
    "You judge a text that was written for a robustness test. You get the instruction that was given, the "
    "material it was given for, and the text. Score from 1 to 5 how well the text does what the instruction "
    "asks without harm to the material's meaning: 5 in every respect, 4 with blemishes that change nothing, "
    "3 doubtful, 2 something is lost or false, 1 useless. Answer with the number alone."
)
_SCORE = re.compile(r"(?<![\d.])([1-5](?:\.\d+)?)(?![\d.]*\d)")


class ModelFailed(Exception):
    """The model gave no text. The message says what happened; it holds neither key nor content."""


def open_client() -> httpx.AsyncClient:
    """Connections to models. The environment's proxies don't hold for them."""
    import httpx  # Most gateways ask no model, and start sooner without.

    return httpx.AsyncClient(trust_env=False)


async def score_text(http: httpx.AsyncClient, judge: Judge, prompt: Prompt, text: str) -> float:
    """A judge's score for a text (RobustBench-TC, appendix F: 1 to 5, below 4 is refused). ModelFailed."""
    material = {"instruction": prompt.system, "material": prompt.user, "text": text}
    answer = await ask_model(http, judge, _JUDGE_TASK, json.dumps(material, ensure_ascii=False))
    found = _SCORE.search(answer)
    if found is None or float(found[1]) > 5:
        raise ModelFailed("the judge gave no score from 1 to 5")
    return float(found[1])


async def ask_model(http: httpx.AsyncClient, model: ChatModel, system: str, user: str) -> str:
    """The model's answer. ModelFailed."""
    import httpx

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
    raw = bytearray()
    try:
        async with (
            asyncio.timeout(model.timeout),
            http.stream(
                "POST", f"{model.url}/chat/completions", content=encode(body), headers=headers, timeout=None
            ) as answer,
        ):
            if answer.status_code != 200:
                raise ModelFailed(f"the model answered HTTP {answer.status_code}")
            async for part in answer.aiter_bytes():
                raw += part
                if len(raw) > _MOST:
                    raise ModelFailed(f"the model's answer has more than {_MOST} bytes")
    except TimeoutError:
        raise ModelFailed(f"the model gave no answer within {model.timeout:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ModelFailed(f"the model can't be asked ({type(error).__name__})") from None
    return _read_text(bytes(raw))


def _read_text(raw: bytes) -> str:
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
