"""Rewards of a judge model, and how far it agrees with what is verified."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import httpx

from crosswind.figures.intervals import wilson
from crosswind.gateway.trajectory.record import RewardState, Trajectory
from crosswind.gateway.trajectory.store import Store
from crosswind.trainer.config.settings import JudgeSettings
from crosswind.trainer.errors import RunFailed, RunRefused
from crosswind.trainer.grading.grader import SUCCESS, Grade, describe_conversation, describe_task
from crosswind.verdicts.judge import Judge, Judgement, find_judge_key, parse_judge

VERIFIED = "verifier"
"""The source of rewards that a judge is compared with."""
AGREEMENT = 0.9
"""Below this, calibration warns."""


class JudgeGrader:
    """Asks the judge that `crosswind chaos` asks, about several sessions at a time."""

    source = "judge"

    def __init__(self, settings: JudgeSettings) -> None:
        """Raises RunRefused where the settings can't be used."""
        try:
            self._url, self._model = parse_judge(settings.model)
        except ValueError as error:
            raise RunRefused(f"judge.model: {error}") from None
        try:
            self._key = find_judge_key(self._url, settings.key_env)
        except ValueError as error:
            raise RunRefused(f"judge.key_env: {error}") from None
        self._settings = settings

    def grade(self, sessions: Sequence[Trajectory]) -> list[Grade]:
        said, prompt = asyncio.run(self._ask(sessions))
        return [self._grade(one, prompt) for one in said]

    def close(self) -> None:
        """Nothing stays open."""

    def _grade(self, said: Judgement, prompt: str) -> Grade:
        components = {"prompt": prompt, "model": self._model, "yes": said.yes, "no": said.no}
        reward = None if said.success is None else float(said.success)
        return Grade(reward, components, said.note)

    async def _ask(self, sessions: Sequence[Trajectory]) -> tuple[list[Judgement], str]:
        settings, at_once = self._settings, asyncio.Semaphore(self._settings.concurrency)
        async with httpx.AsyncClient(timeout=settings.timeout, trust_env=False) as http:
            judge = Judge(
                *(http, self._url, self._model, self._key, settings.rubric, settings.samples),
                timeout_s=settings.timeout,
            )

            async def ask(one: Trajectory) -> Judgement:
                async with at_once:
                    return await judge.decide(describe_task(one), describe_conversation(one))

            return list(await asyncio.gather(*map(ask, sessions))), judge.prompt_hash

    def calibrate(self, store: Store) -> str:
        """How far the judge agrees with the newest verified sessions, in words. RunFailed where it gives no
        answer about any of them.
        """
        verified = _find_verified(store, self._settings.calibration)
        if not verified:
            return "the judge isn't calibrated: no session of the store has a reward of a verifier"
        grades = self.grade(verified)
        given = [one.session.reward or 0.0 for one in verified]
        pairs = [(one.reward, was) for one, was in zip(grades, given, strict=True) if one.reward is not None]
        if not pairs:
            raise RunFailed(f"the judge at {self._url} gives no usable answer: {grades[0].note}")
        agreed = sum((said >= SUCCESS) is (was >= SUCCESS) for said, was in pairs)
        low, high = wilson(agreed / len(pairs), len(pairs))
        found = f"the judge agrees with the verifier on {agreed} of {len(pairs)} sessions"
        found += f" ({agreed / len(pairs):.2f} [{low:.2f}, {high:.2f}])"
        if agreed < AGREEMENT * len(pairs):
            found += f": below {AGREEMENT:g}, the run learns the judge's mistakes; "
            found += "improve --rubric, or name another --judge"
        return found


def _find_verified(store: Store, most: int) -> list[Trajectory]:
    """The newest sessions that a verifier rewarded, and that were recorded with their conversations."""
    found = [
        one
        for one in store.sessions(limit=50 * most)
        if one.reward_state is RewardState.GIVEN and one.reward_source == VERIFIED
    ]
    read = (store.trajectory(one.id) for one in found[:most])
    return [one for one in read if one is not None and one.turns]
