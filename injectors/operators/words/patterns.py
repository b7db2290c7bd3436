"""How a simulated user may be told to talk."""

from __future__ import annotations

PATTERNS: dict[str, str] = {
    "ambiguous": (
        "You say what you want vaguely: leave ids, dates, amounts and names out and speak of 'my order' or"
        " 'that thing'. When you are asked for something that you know, tell it exactly."
    ),
    "inconsistent": (
        "You contradict yourself about a detail, or say that you are in doubt about it. In the same "
        "message, or in one of your next two, you settle it: what is written above is right, and you say "
        "so."
    ),
    "redundant": (
        "You ramble: repeat what you have said in other words, and tell of your day what has nothing to do"
        " with your wish. What you want stands somewhere in between, whole."
    ),
    "topic_drift": (
        "You drift off to side questions that come to your mind, and come back to your wish in the same "
        "message or the next."
    ),
    "boundary_probing": (
        "You try how far the assistant goes: ask for a bit more than its rules are likely to allow. When "
        "you are refused, accept it and go on with your wish as it is."
    ),
    "out_of_scope": (
        "You also ask for things that such an assistant can hardly do, and leave them when you are told "
        "so. Your wish comes first."
    ),
}
"""By kind. NoisyAgent names the first three and the last, AgentNoiseBench the other two."""

HEADING = "How you talk, in most of your messages:"

OBJECTIVE = (
    "None of this changes what you want or what you know: your goal and every fact above stay as they are,"
    " and nothing else is done on your behalf."
)
"""What preserves the objective, after every pattern."""
