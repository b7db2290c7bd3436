"""The detectors find what gives noise away, and nothing where nothing does."""

from __future__ import annotations

from crosswind.studies.detectors import Labelled, detect_by_phrases, detect_by_regression

WORDS = ("red", "blue", "green", "grey", "white", "black", "brown", "pink")


def _texts(begin: int, count: int, tail: str = "") -> list[str]:
    numbers = range(begin, begin + count)
    return [f"Show me order {n} in {WORDS[n % 8]} and {WORDS[n // 8 % 8]}{tail}" for n in numbers]


def test_a_planted_phrase_is_found_by_both() -> None:
    train = Labelled(_texts(0, 100, ". To settle it, the first."), _texts(0, 200))
    test = Labelled(_texts(300, 80, ". To settle it, the first."), _texts(300, 150))
    by_phrases, by_regression = detect_by_phrases(train, test), detect_by_regression(train, test)
    assert (by_phrases.caught, by_phrases.noisy, by_phrases.false) == (80, 80, 0)
    assert len(by_phrases.phrases) == 1, "one phrase is enough"
    assert (by_regression.caught, by_regression.false) == (80, 0)


def test_at_most_five_phrases_are_learned() -> None:
    tails = [f" zq{n % 10}x." for n in range(200)]
    noisy = [text + tail for text, tail in zip(_texts(0, 200), tails, strict=True)]
    found = detect_by_phrases(Labelled(noisy, _texts(0, 200)), Labelled(noisy, _texts(0, 200)))
    assert len(found.phrases) == 5 and found.caught == 100, "half of ten equally frequent stamps"


def test_equal_texts_are_not_told_apart() -> None:
    train, test = Labelled(_texts(0, 150), _texts(0, 150)), Labelled(_texts(150, 150), _texts(150, 150))
    for detect in (detect_by_phrases, detect_by_regression):
        found = detect(train, test)
        assert found.caught <= 0.05 * found.noisy and found.false <= 0.01 * found.clean


def test_a_phrase_that_held_out_clean_texts_have_counts_for_nothing() -> None:
    train = Labelled(_texts(0, 100, " please"), _texts(0, 100))
    test = Labelled(_texts(200, 100, " please"), _texts(300, 100, " please"))
    assert detect_by_phrases(train, test).caught == 0


def test_a_planted_word_is_found_without_spaces() -> None:
    clean = [f"请帮我查订单{n}的状态{chr(0x4E00 + n)}" for n in range(200)]
    noisy = [f"{text}再说一遍" for text in clean]
    found = detect_by_phrases(Labelled(noisy[:100], clean[:100]), Labelled(noisy[100:], clean[100:]))
    assert found.caught == 100
