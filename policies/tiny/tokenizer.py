"""The tiny policy's tokenizer: a byte-level BPE over demonstrations.

Words keep their punctuation (` "get_order",` can become one token), digits come in pairs, and every byte has
a token,
so that any text survives encoding and decoding. GPT-2's splitting would double the length of an episode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 1024
"""256 bytes, 100 pairs of digits, the markers, and words or parts of words."""
PAD = "<|pad|>"
END_OF_TURN = "<|end|>"
MARKERS = (PAD, END_OF_TURN, "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>")
CALL_MARKERS = ("<tool_call>", "</tool_call>")

_PIECES = Regex(r"[0-9]{1,2}| ?[^\s0-9]+|\s")
_DIGIT_PAIRS = " ".join(f"{pair:02d}" for pair in range(100))
_DIGIT_WEIGHT = 400
"""How often each pair is shown to the BPE, so that all pairs are merged whatever the demonstrations hold."""


def train_tokenizer(texts: Iterable[str], vocabulary: int = VOCABULARY) -> Tokenizer:
    """A tokenizer of at most `vocabulary` tokens, learnt from texts in which the markers may stand.

    The ids depend on the texts only, not on their order or the platform.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(_PIECES, behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(CALL_MARKERS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[AddedToken(marker, special=True, normalized=False) for marker in MARKERS],
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(texts), trainer)
    tokenizer.add_tokens([AddedToken(marker, special=False, normalized=False) for marker in CALL_MARKERS])
    return tokenizer


def _corpus(texts: Iterable[str]) -> Iterable[str]:
    marker = re.compile("|".join(map(re.escape, (*MARKERS, *CALL_MARKERS))))
    for text in texts:
        yield marker.sub("\n", text)
    for _ in range(_DIGIT_WEIGHT):
        yield _DIGIT_PAIRS


def save_tokenizer(tokenizer: Tokenizer, directory: Path, context: int) -> None:
    """Write `tokenizer.json`, and the `tokenizer_config.json` that AutoTokenizer looks for."""
    import orjson

    tokenizer.save(str(directory / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END_OF_TURN,
        "pad_token": PAD,
        "clean_up_tokenization_spaces": False,
        "model_max_length": context,
    }
    (directory / "tokenizer_config.json").write_bytes(orjson.dumps(settings, option=orjson.OPT_INDENT_2))
