"""Japanese kana as they are typed: in Latin letters, which the input method turns into kana. A slip of a key
leaves other kana, or letters that it can't turn.
"""

from __future__ import annotations

_ROWS = {
    "": "あいうえお",
    "k": "かきくけこ",
    "s": "さしすせそ",
    "t": "たちつてと",
    "n": "なにぬねの",
    "h": "はひふへほ",
    "m": "まみむめも",
    "r": "らりるれろ",
    "g": "がぎぐげご",
    "z": "ざじずぜぞ",
    "d": "だぢづでど",
    "b": "ばびぶべぼ",
    "p": "ぱぴぷぺぽ",
}
_KANA = {
    consonant + vowel: kana
    for consonant, row in _ROWS.items()
    for vowel, kana in zip("aiueo", row, strict=True)
} | {"ya": "や", "yu": "ゆ", "yo": "よ", "wa": "わ", "wo": "を", "nn": "ん"}
_SOUNDS = {kana: sound for sound, kana in _KANA.items()}
_WIDE = str.maketrans({letter: chr(ord(letter) + 0xFEE0) for letter in "abcdefghijklmnopqrstuvwxyz"})


def spell(kana: str) -> str | None:
    """The keys that write it; None where it has other characters."""
    sounds = [_SOUNDS.get(one) for one in kana]
    return "".join(one for one in sounds if one) if all(sounds) else None


def convert(keys: str) -> str:
    """The kana that the keys give, with the letters that give none."""
    out: list[str] = []
    at = 0
    while at < len(keys):
        for length in (2, 1):
            if (kana := _KANA.get(keys[at : at + length])) is not None:
                out.append(kana)
                at += length
                break
        else:
            doubled = keys[at] == keys[at + 1 : at + 2] and keys[at] not in "aiueon"
            out.append("っ" if doubled else keys[at].translate(_WIDE))
            at += 1
    return "".join(out)
