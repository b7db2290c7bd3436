"""Continuous batching: sequences enter and leave between decode steps, and take each step together."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence as Seq
from dataclasses import dataclass

import torch

from crosswind.policies.embedded.checkpoint import Checkpoint
from crosswind.policies.embedded.forward import ForwardPass, Rotations, Rows, hidden_states
from crosswind.policies.embedded.prefix_cache import BLOCK, PrefixCache, block_keys
from crosswind.policies.embedded.sampling import likeliest, sample
from crosswind.policies.embedded.sequence import Sequence

_REACH_STEP = 32
"""Attention spans are rounded up to this many positions, so that the shapes seen by the allocator stay few.
"""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Sizes of the engine's memory."""

    rows: int = 64
    """Sequences that decode together; more wait."""
    prefill: int = 16
    """Sequences whose prompts are computed together."""
    cache_tokens: int = 65_536


class DecodeBatch:
    """The sequences in flight, and the cache rows they live in: `running[r]` has row r."""

    def __init__(self, checkpoint: Checkpoint, limits: BatchLimits) -> None:
        self.checkpoint = checkpoint
        self.limits = limits
        self.running: list[Sequence] = []
        self.waiting: deque[Sequence] = deque()
        self._entering: list[Sequence] = []
        """Taken from those that wait, not all with those that run yet."""
        self._rotations = Rotations(checkpoint.shape)
        self._rows = Rows(checkpoint.shape, limits.rows, checkpoint.shape.context)
        self._prefixes = PrefixCache(checkpoint.shape, limits.cache_tokens)

    @property
    def version(self) -> str:
        return self.checkpoint.version.version

    def swap(self, checkpoint: Checkpoint) -> None:
        """Serve other weights of the same shape from the next token on. What runs goes on with the keys it
        has.
        """
        self.checkpoint = checkpoint
        self._prefixes.clear()
        for sequence in self.running:
            sequence.mixed = True

    def step(self) -> list[Sequence]:
        """One token for every sequence that runs or can enter; gives those that got one."""
        self._drop_cancelled()
        moved = self.running[:]
        if moved:
            self._decode()
        moved += self._admit()
        self._remove_finished()
        return moved

    def clear(self) -> list[Sequence]:
        """Give up everything in flight, and the prefix cache with it; gives what was in flight."""
        dropped = list(dict.fromkeys((*self.running, *self._entering, *self.waiting)))
        for sequences in (self.running, self._entering, self.waiting):
            sequences.clear()
        self._prefixes.clear()
        return dropped

    def score(self, prompts: Seq[list[int]], completions: Seq[list[int]]) -> list[list[float]]:
        """Log-probabilities of the completions' tokens at temperature 1, from scratch."""
        lengths = [
            len(prompt) + len(completion) for prompt, completion in zip(prompts, completions, strict=True)
        ]
        longest = max(lengths)
        ids = torch.zeros(len(prompts), longest, dtype=torch.long)
        for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
            ids[row, : lengths[row]] = torch.tensor(prompt + completion)
        positions = torch.arange(longest).expand(len(prompts), longest)
        rows = Rows(self.checkpoint.shape, len(prompts), longest)
        step = ForwardPass(self._rotations, rows, slice(0, len(prompts)), positions, longest)
        hidden = hidden_states(self.checkpoint, ids, step)
        scored = []
        for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
            logits = self._logits(hidden[row, len(prompt) - 1 : lengths[row] - 1])
            chosen = torch.log_softmax(logits, dim=-1).gather(1, torch.tensor(completion)[:, None])
            scored.append(chosen[:, 0].tolist())
        return scored

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(hidden, self.checkpoint.head)

    def _sample(self, sequences: Seq[Sequence], hidden: torch.Tensor) -> None:
        """Sample one token for each sequence from its last hidden state [sequences, hidden]."""
        tokens, logprobs, whole = sample(
            self._logits(hidden),
            [sequence.temperature for sequence in sequences],
            [sequence.key for sequence in sequences],
            [len(sequence.prompt) + len(sequence.tokens) for sequence in sequences],
        )
        tops = likeliest(whole, [sequence.top for sequence in sequences])
        for sequence, token, logprob, top in zip(sequences, tokens, logprobs, tops, strict=True):
            sequence.append(token, logprob, self.version, top)

    def _decode(self) -> None:
        ids = torch.tensor([[sequence.tokens[-1]] for sequence in self.running])
        places = [len(sequence.prompt) + len(sequence.tokens) - 1 for sequence in self.running]
        span, positions = slice(0, len(self.running)), torch.tensor(places)[:, None]
        step = ForwardPass(self._rotations, self._rows, span, positions, self._reach(max(places)))
        hidden = hidden_states(self.checkpoint, ids, step)
        self._sample(self.running, hidden[:, 0])

    def _admit(self) -> list[Sequence]:
        """Prefill waiting sequences into free rows, and sample their first tokens."""
        admitted: list[Sequence] = []
        while self.waiting and len(self.running) < self.limits.rows:
            chosen = self._choose()
            self._entering = [sequence for sequence, _, _ in chosen]
            for start in range(0, len(chosen), self.limits.prefill):
                self._prefill(chosen[start : start + self.limits.prefill])
            admitted += self._entering
            self._entering = []
        return admitted

    def _choose(self) -> list[tuple[Sequence, list[bytes], int]]:
        """The sequences to prefill now, with their block keys and how many of their leading blocks are known.

        Of several that miss the same block only the first is chosen: the others find it in the cache right
        after.
        """
        chosen: list[tuple[Sequence, list[bytes], int]] = []
        put_off: list[Sequence] = []
        missing: set[bytes] = set()
        while self.waiting and len(self.running) + len(chosen) < self.limits.rows:
            sequence = self.waiting.popleft()
            keys = block_keys(self.version, sequence.prompt[:-1])  # the last token is always computed
            known = self._prefixes.count_known(keys)
            if known < len(keys) and keys[known] in missing:
                put_off.append(sequence)
                continue
            missing.update(keys[known:])
            chosen.append((sequence, keys, known))
        self.waiting.extendleft(reversed(put_off))
        return sorted(chosen, key=lambda item: len(item[0].prompt) - item[2] * BLOCK)

    def _prefill(self, chosen: Seq[tuple[Sequence, list[bytes], int]]) -> None:
        first = len(self.running)
        news = []
        for row, (sequence, keys, _) in enumerate(chosen, first):
            # Count again: blocks may have been added or evicted since the sequence was chosen.
            known = self._prefixes.count_known(keys)
            sequence.cached = known * BLOCK
            self._prefixes.load(keys[:known], self._rows, row)
            news.append(len(sequence.prompt) - sequence.cached)
        longest = max(news)
        ids = torch.zeros(len(chosen), longest, dtype=torch.long)
        for row, (sequence, _, _) in enumerate(chosen):
            ids[row, : news[row]] = torch.tensor(sequence.prompt[sequence.cached :])
        starts = torch.tensor([sequence.cached for sequence, _, _ in chosen])
        context = self.checkpoint.shape.context
        positions = (starts[:, None] + torch.arange(longest)).clamp_(max=context - 1)
        span = slice(first, first + len(chosen))
        reach = self._reach(int(positions.max()))
        step = ForwardPass(self._rotations, self._rows, span, positions, reach)
        hidden = hidden_states(self.checkpoint, ids, step)
        self.running += [sequence for sequence, _, _ in chosen]
        for row, (_, keys, _) in enumerate(chosen, first):
            self._prefixes.store(keys, self._rows, row)
        ends = torch.tensor(news) - 1
        self._sample([sequence for sequence, _, _ in chosen], hidden[torch.arange(len(chosen)), ends])

    def _reach(self, last: int) -> int:
        return min(-(-(last + 1) // _REACH_STEP) * _REACH_STEP, self.checkpoint.shape.context)

    def _drop_cancelled(self) -> None:
        self.waiting = deque(sequence for sequence in self.waiting if not sequence.cancelled)
        for row in reversed(range(len(self.running))):
            if self.running[row].cancelled:
                self._vacate(row)

    def _remove_finished(self) -> None:
        for row in reversed(range(len(self.running))):
            sequence = self.running[row]
            if sequence.finish is None:
                continue
            if not sequence.mixed:
                computed = (sequence.prompt + sequence.tokens)[:-1]
                self._prefixes.store(block_keys(self.version, computed), self._rows, row)
            self._vacate(row)

    def _vacate(self, row: int) -> None:
        """Free a row: the last row's sequence moves in, so that running rows stay together."""
        last = self.running.pop()
        if row < len(self.running):
            self.running[row] = last
            self._rows.move(len(self.running), row, len(last.prompt) + len(last.tokens))
