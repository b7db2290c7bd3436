"""A scripted model that plays a customer. It does what its instructions say, and knows nothing else."""

from __future__ import annotations

import re
from typing import Any

from crosswind.simulators.episodes.users import STOP

ROLE = "You play a customer"
_FACT = re.compile(r"^- \w+: (.+)$", re.MULTILINE)
_WISH = re.compile(r"^Your wish: (.+)$", re.MULTILINE)
_NAMED = re.compile(r"\b(?:my )?(order|product) #[WP]\d+")


def customer(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The customer's next message."""
    told, heard = str(messages[0]["content"]), str(messages[-1]["content"])
    wish, facts = _WISH.findall(told)[0], _FACT.findall(told)
    if len(messages) == 2:
        return _said(_opening(told, wish))
    if not heard.endswith("?"):
        return _said(STOP)
    return _said(" ".join(f"It is {fact}." for fact in facts))


def _opening(told: str, wish: str) -> str:
    """The wish, as far as the instructions say how it is talked about."""

    def told_to(*words: str) -> bool:
        return any(word in told for word in words)

    if told_to("talk vaguely", "'that one'", "as if the assistant knew"):
        wish = _NAMED.sub(r"my \1", wish)
    if told_to("contradict yourself", "in doubt about"):
        wish = f"I do not want anything. No, that is wrong: {wish}"
    if told_to("ramble about", "you go back to"):
        wish = f"I had such a long day. {wish} My neighbour plays the piano, you know."
    if told_to("drift off"):
        wish = f"{wish} By the way, do you like the rain? Anyway, back to what I asked."
    if told_to("how far the assistant goes", "test what the assistant knows"):
        wish = f"{wish} And could you bend the rules a bit for me? If not, I accept that."
    if told_to("can hardly do", "could do with help"):
        wish = f"{wish} Please also water my plants. If you can't, leave it."
    return wish


def _said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}
