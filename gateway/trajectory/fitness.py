"""Whether a turn may be trained on, and if not, why; and the source of a failure."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class StoredWord(StrEnum):
    """A closed set of stored words. Unknown words, stored by another version, are kept unchanged."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        word = str.__new__(cls, value)
        word._name_, word._value_ = "UNKNOWN", str(value)
        return word


class Source(StoredWord):
    """The party that caused a failure."""

    OURS = "ours"
    UPSTREAM = "upstream"
    TOOL = "tool"
    CLIENT = "client"
    INJECTED = "injected"


class Fitness(StoredWord):
    """A turn's fitness for training: `FIT`, or the first reason against it."""

    FIT = "fit"

    NOTHING_SAMPLED = "nothing_sampled"
    """No policy samples in such a request, embeddings for example. Its rollout trains without the turn."""

    # The answer, in the order in which it is checked.
    UPSTREAM_ERROR = "upstream_error"
    FINISH_NOT_SEEN = "finish_not_seen"
    ABORTED = "aborted"
    SEVERAL_PROMPTS = "several_prompts"
    NO_TOKEN_IDS = "no_token_ids"
    """Token ids were not requested."""
    ENGINE_NO_TOKENS = "engine_no_tokens"
    """Token ids were requested, and the engine gave none."""
    PROMPT_IDS_MALFORMED = "prompt_ids_malformed"
    TOKEN_IDS_MALFORMED = "token_ids_malformed"
    IDS_LOGPROBS_MISMATCH = "ids_logprobs_mismatch"
    VERSIONS_MISMATCH = "versions_mismatch"
    USAGE_MISMATCH = "usage_mismatch"
    UNDECODABLE = "undecodable"
    """The answer's encoding has no decoder here, is broken, or decodes to too much."""
    ANSWER_TOO_LARGE = "answer_too_large"
    """The answer exceeds `limits.answer`, or as a stream `limits.stream`."""

    # The other failures, by their source.
    OURS_ERROR = "ours_error"
    TOOL_ERROR = "tool_error"
    CLIENT_ERROR = "client_error"
    INJECTED_ERROR = "injected_error"

    # The noise.
    LEDGER_UNAVAILABLE = "ledger_unavailable"
    NOISE_STOPPED = "noise_stopped"
    NOISE_FAILED = "noise_failed"

    # The request and its content.
    CONSTRAINED_SAMPLING = "constrained_sampling"
    """A grammar, a mask or a sampling parameter may have forced some of the tokens."""
    REDACTED_SECRET = "redacted_secret"
    CONTAINS_SECRET = "contains_secret"
    CONTENT_NOT_RECORDED = "content_not_recorded"
    """The turn was fit, and `record: metadata` doesn't store its token ids."""

    # The policy's version.
    POLICY_MISMATCH = "policy_mismatch"
    """The engine was seen not to serve the turn's policy version correctly."""
    VERSION_SPAN_UNKNOWN = "version_span_unknown"
    """Several versions may have sampled the turn, and the engine doesn't say which one sampled what."""

    @classmethod
    def of_failure(cls, source: Source) -> Fitness:
        return cls(f"{source}_error")
