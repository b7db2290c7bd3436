"""The checks of phrase packs that are a language's own: its numbers, days, addresses and habits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.injectors.packs.samples import DRIFT, SAME, problems

NUMBERS = [
    ("de", "Geht das auch für zwei Leute?", "zwei"),
    ("de", "Oder erst übermorgen?", "übermorgen"),
    ("de", "Warum wird man mit dreißig so müde?", "dreissig"),
    ("fr", "Ça marche aussi à trois ?", "trois"),
    ("fr", "Les pluies d’août, ça donne quoi ?", "août"),
    ("fr", "Rien de prévu aujourd'hui ?", "aujourd'hui"),
    ("es", "¿Vale también para tres?", "tres"),
    ("es", "Dicen que el miércoles llueve.", "miércoles"),
    ("es", "¿Por qué los aviones salen de mañana?", "mañana"),
    ("zh", "带两个人行不行", "两"),
    ("zh", "大概三十来个吧", "三"),
    ("zh", "是不是周日也营业", "周日"),
    ("zh", "星期天人多不多", "星期天"),
    ("zh", "后天会下雨吗", "后天"),
    ("zh", "等了半个小时才轮到", "半"),
    ("zh", "国庆的时候哪儿都是人", "国庆"),
    ("ja", "二人でも乗れる？", "二"),
    ("ja", "月曜日は混むのかな", "月曜"),
    ("ja", "明日って雨？", "明日"),
    ("ja", "半年も待つ人いる？", "半"),
    ("ja", "十分後には飛ぶ？", "十"),
    ("ar", "هل يكفي مقعدان لثلاثة أشخاص؟", "لثلاثه"),
    ("ar", "وأربعين دقيقة من الانتظار", "واربعين"),
    ("ar", "هل تطير يوم الأحد؟", "الاحد"),
    ("ar", "والأربعاء أيضًا؟", "والاربعاء"),
    ("ar", "هل ستمطر غدًا؟", "غدا"),
    ("ar", "كيف الجو اليوم؟", "اليوم"),
    ("ar", "أهي مزدحمة في أغسطس؟", "اغسطس"),
    ("ar", "انتظرت ساعتين", "ساعتين"),
]


@pytest.mark.parametrize(("language", "text", "word"), NUMBERS)
def test_a_number_or_a_day_could_be_taken_for_a_value(language: str, text: str, word: str) -> None:
    first, *more = problems({**DRIFT, "half": "train", "text": text}, name=f"{language}/travel")
    assert f"word {word!r} could be taken for a value" in first.what and (not more or language == "zh")


@pytest.mark.parametrize(
    ("language", "text", "what"),
    [
        ("de", "Weißt du, warum Flugzeuge weiß sind?", "informal"),
        ("de", "Können Sie mir das erklären?", "formal"),
        ("de", "Haben eure Flugzeuge Namen?", "informal"),
        ("de", "Nur eine Frage, Ihre Flugzeuge sind weiß, warum?", "formal"),
        ("fr", "Dis, tu le savais ?", "informal"),
        ("fr", "t'as une idée de la hauteur", "informal"),
        ("fr", "Les avions, laissez-moi rire.", "formal"),
        ("fr", "Vos avions ont des noms ?", "formal"),
        ("es", "¿Tú lo sabías?", "informal"),
        ("es", "me podrias explicar como vuelan", "informal"),
        ("es", "Imagínate un avión sin ventanas.", "informal"),
        ("es", "¿Cree usted que llueve?", "formal"),
        ("es", "Le agradecería una explicación.", "formal"),
        ("es", "Explíqueme cómo vuelan.", "formal"),
        ("zh", "２０岁的人也这样吗", "leave the digits out"),
        ("zh", "你见过长翅膀的鱼吗", "informal"),
        ("zh", "请问您怎么看", "formal"),
        ("ja", "あと９００キロくらい？", "leave the digits out"),
        ("ja", "飛行機ってなぜ白いんだろう", "informal"),
        ("ja", "これ何だっけ", "informal"),
        ("ja", "パイロットの人にも聞いといて", "informal"),
        ("ja", "飛行機はなぜ白いのですか", "formal"),
        ("ja", "どなたか教えてください", "formal"),
        ("ja", "飛行機に乗ったことがありません", "formal"),
        ("ar", "انتظرت ٣ ساعات", "leave the digits out"),
        ("ar", "ليش الطيارات بيضا", "informal"),
        ("ar", "مش معقول", "informal"),
        ("ar", "هل حضرتك من هنا؟", "formal"),
    ],
)
def test_an_address_is_named_and_digits_are_left_out(language: str, text: str, what: str) -> None:
    (problem,) = problems({**DRIFT, "half": "train", "text": text}, name=f"{language}/travel")
    assert what in problem.what


def test_words_of_one_language_are_none_of_another() -> None:
    assert (
        problems({**DRIFT, "half": "train", "text": "Geht das auch für zwei Leute?"}, name="fr/travel") == []
    )


def in_halves(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of both halves in turn."""
    return [{**DRIFT, "half": ("train", "test")[at % 2], **entry} for at, entry in enumerate(entries)]


def test_german_that_addresses_nobody_or_says_whom() -> None:
    entries = [
        {"text": "Die Piloten, sagen sie das im Mai? Sie wissen es ja."},
        {"text": "Ihr Flug war ruhig, meint meine Mutter."},
        {"text": "weißt du das", "address": "informal"},
        {"text": "Das wissen Sie bestimmt.", "address": "formal"},
    ]
    assert [problem.what for problem in problems(*in_halves(entries), name="de/travel")] == [
        "word 'mai' could be taken for a value: leave it out, or use a slot"
    ]


@pytest.mark.parametrize(
    ("language", "texts", "addressed"),
    [
        (
            "fr",
            ["Un rendez-vous chez eux, c'est assez rare.", "Où va-t-on ?", "L'attente, d'où vient-elle ?"],
            {"vous riez": "formal", "t’es là": "informal"},
        ),
        (
            "es",
            [
                "El té con su limón, ¿de qué país viene?",
                "¿Y ustedes de dónde llaman?",
                "Detrás de las librerías se oye que el tiempo no perdona.",
            ],
            {"¿Sabes?": "informal", "Disculpe.": "formal"},
        ),
        (
            "zh",
            [
                "万一下雨，飞机十分颠簸吗",
                "千万别笑话我",
                "扫二维码会不会乱七八糟",
                "等了半天，一点都不急",
                "你们家的本周日程谁排的",
                "迷你的飞机有人坐吗",
            ],
            {},
        ),
        (
            "ja",
            [
                "（一応、余談。）",
                "万が一のときの酸素マスク、十分な数あり？",
                "ますます謎な一般論",
                "まだよくある話、ただわりと深い",
                "用事は済ませんと",
            ],
            {"白いですよね": "formal", "白いじゃん": "informal"},
        ),
        (
            "ar",
            [
                "هل من أحد يعرف السبب؟",
                "ألف شكر مقدمًا",
                "السماء صافية طوال اليوم",
                "تأخر الغدا",
                "قرأت عن سبب ذلك من قبل",
            ],
            {},
        ),
    ],
)
def test_words_that_name_no_number_and_texts_that_address_nobody_or_say_whom(
    language: str, texts: list[str], addressed: dict[str, str]
) -> None:
    entries = [{"text": text} for text in texts]
    entries += [{"text": text, "address": address} for text, address in addressed.items()]
    assert problems(*in_halves(entries), name=f"{language}/travel") == []


@pytest.mark.parametrize(
    ("language", "word", "texts"),
    [
        ("de", "übrigens", "Übrigens, die Züge.|Ist das übrigens weit?|Übrigens weg.|übrigens, was ist das"),
        ("fr", "avion", "L'avion, quel mystère.|Pas d’avion en vue.|Un avion gris|avion ou train"),
        (
            "es",
            "aviones",
            "¿Los aviones duermen?|los aviones, qué misterio|Me gustan los aviones.|Aviones grises",
        ),
        ("zh", "顺便", "顺便问个事|这个顺便看看|想顺便打听|能不能顺便帮忙"),
        ("ja", "飛行機", "余談、飛行機|飛行機が好き|白い飛行機|飛行機は遅れがち"),
        ("ja", "パイロット", "パイロット|あのパイロット|白いパイロットの帽子|パイロットって"),
        ("ja", "ちなみに", "ちなみに雨|白いの、ちなみに|あれちなみに|ちなみに犬"),
        ("ar", "طائره", "الطائرة، يا للغرابة|وبالطائرة كم يستغرق|طائره بيضاء|للطّائرة جناح"),
    ],
)
def test_a_word_that_is_a_habit_in_all_its_forms(language: str, word: str, texts: str) -> None:
    (problem,) = problems(*in_halves({"text": text} for text in texts.split("|")), name=f"{language}/general")
    assert f"word '{word}' is in 4 of 4" in problem.what


@pytest.mark.parametrize(
    "text", ["Pasa de {rival} a {value}.", "No sé si {rival} o {value}.", "el {rival}, {value}"]
)
def test_a_spanish_word_that_would_change_with_the_value(text: str) -> None:
    found = [problem.what for problem in problems({**SAME, "half": "train", "text": text}, name="es/travel")]
    assert any("depends on the slot's value" in what for what in found)
    fine = {**SAME, "half": "train", "text": "Entre {rival}, por un lado, y lo otro: {value}"}
    assert problems(fine, name="es/travel") == []


def test_chinese_is_compared_by_characters() -> None:
    texts = ("顺便问一下，飞机为什么飞得那么高？", "对了，飞机为什么飞得那么高，有人知道吗？")
    first, *_ = problems(*in_halves({"text": text} for text in texts), name="zh/travel")
    assert "飞 机 为 什 么 飞 得 那" in first.what


def test_a_latin_word_in_chinese_is_one_sign() -> None:
    texts = ("在吗，whatsapp 是啥意思", "我妈的 whatsapp 老响")
    assert problems(*in_halves({"text": text} for text in texts), name="zh/travel") == []


def test_japanese_that_mixes_polite_and_plain() -> None:
    mixed = {**DRIFT, "half": "train", "text": "白いじゃん、なぜですか"}
    for address in ("formal", "informal"):
        assert len(problems({**mixed, "address": address}, name="ja/travel")) == 1


def test_an_arabic_slot_with_a_clitic() -> None:
    for text in ("{rival}، عفوًا و{value}", "{rival} بل لـ{value}"):
        (problem,) = problems({**SAME, "half": "train", "text": text}, name="ar/travel")
        assert "the first word depends on the slot's value" in problem.what


def test_an_arabic_opening_is_the_same_with_and_before_it() -> None:
    train = {**DRIFT, "half": "train", "text": "وبالمناسبة لماذا تطير عاليًا هكذا؟"}
    test = {**DRIFT, "half": "test", "text": "بالمناسبة، لماذا تطير الطائرات أصلًا؟"}
    (problem,) = problems(train, test, name="ar/travel")
    assert "opening 'مناسبه لماذا تطير' is in line 2 too" in problem.what
