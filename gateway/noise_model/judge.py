"""A judge's score for what a model wrote (RobustBench-TC, appendix F: 1 to 5, below 4 is refused)."""

from __future__ import annotations

import json
import re

import aiohttp

from crosswind.gateway.config.noise_model import Judge
from crosswind.gateway.noise_model.chat_model import ModelFailed, asked
from crosswind.injectors.wording import Prompt

_TASK = (
    "You judge a text that was written for a robustness test. You get the instruction that was given, the "
    "material it was given for, and the text. Score from 1 to 5 how well the text does what the instruction "
    "asks without harm to the material's meaning: 5 in every respect, 4 with blemishes that change nothing, "
    "3 doubtful, 2 something is lost or false, 1 useless. Answer with the number alone."
)
_SCORE = re.compile(r"(?<![\d.])([1-5](?:\.\d+)?)(?![\d.]*\d)")


async def scored(http: aiohttp.ClientSession, judge: Judge, prompt: Prompt, text: str) -> float:
    """The judge's score. ModelFailed where it gives none."""
    told = {"instruction": prompt.system, "material": prompt.user, "text": text}
    answer = await asked(http, judge, _TASK, json.dumps(told, ensure_ascii=False))
    found = _SCORE.search(answer)
    if found is None or float(found[1]) > 5:
        raise ModelFailed("the judge gave no score from 1 to 5")
    return float(found[1])
