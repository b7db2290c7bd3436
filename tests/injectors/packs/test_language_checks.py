"""The checks of phrase packs that are a language's own: its numbers, days, addresses and habits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.injectors.packs.samples import DRIFT, SAME, problems


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Geht das auch für zwei Leute?", "word 'zwei' could be taken for a value"),
        ("Oder erst übermorgen?", "word 'übermorgen' could be taken for a value"),
        ("Warum wird man mit dreißig so müde?", "word 'dreissig' could be taken for a value"),
        ("Weißt du, warum Flugzeuge weiß sind?", "informal"),
        ("Können Sie mir das erklären?", "formal"),
        ("Haben eure Flugzeuge Namen?", "informal"),
        ("Nur eine Frage, Ihre Flugzeuge sind weiß, warum?", "formal"),
    ],
)
def test_german_numbers_days_and_addresses(text: str, what: str) -> None:
    (problem,) = problems({**DRIFT, "half": "train", "text": text}, name="de/travel")
    assert what in problem.what
    assert problems({**DRIFT, "half": "train", "text": text}, name="fr/travel") == []


def test_german_that_addresses_nobody_or_says_whom() -> None:
    entries = [
        {**DRIFT, "half": "train", "text": "Die Piloten, sagen sie das im Mai? Sie wissen es ja."},
        {**DRIFT, "half": "test", "text": "Ihr Flug war ruhig, meint meine Mutter."},
        {**DRIFT, "half": "train", "text": "weißt du das", "address": "informal"},
        {**DRIFT, "half": "test", "text": "Das wissen Sie bestimmt.", "address": "formal"},
    ]
    assert [problem.what for problem in problems(*entries, name="de/travel")] == [
        "word 'mai' could be taken for a value: leave it out, or use a slot"
    ]


def test_german_words_that_are_a_habit() -> None:
    texts = ["Übrigens, die Züge.", "Ist das übrigens weit?", "Übrigens weg.", "übrigens, was ist das"]
    entries = [
        {**DRIFT, "half": half, "text": text} for half, text in zip(["train", "test"] * 2, texts, strict=True)
    ]
    (problem,) = problems(*entries, name="de/general")
    assert "word 'übrigens' is in 4 of 4" in problem.what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Ça marche aussi à trois ?", "word 'trois' could be taken for a value"),
        ("Les pluies d’août, ça donne quoi ?", "word 'août' could be taken for a value"),
        ("Rien de prévu aujourd'hui ?", 'word "aujourd\'hui" could be taken for a value'),
        ("Dis, tu le savais ?", "informal"),
        ("t'as une idée de la hauteur", "informal"),
        ("Les avions, laissez-moi rire.", "formal"),
        ("Vos avions ont des noms ?", "formal"),
    ],
)
def test_french_numbers_days_and_addresses(text: str, what: str) -> None:
    (problem,) = problems({**DRIFT, "half": "train", "text": text}, name="fr/travel")
    assert what in problem.what


def test_french_that_addresses_nobody_or_says_whom() -> None:
    texts = [
        "Un rendez-vous chez eux, c'est assez rare.",
        "Où va-t-on ?",
        "L'attente, d'où vient-elle ?",
    ]
    entries: list[dict[str, Any]] = [{"text": text} for text in texts]
    entries += [{"text": "vous riez", "address": "formal"}, {"text": "t’es là", "address": "informal"}]
    halves = [{**DRIFT, "half": ["train", "test"][at % 2], **entry} for at, entry in enumerate(entries)]
    assert problems(*halves, name="fr/travel") == []


def test_french_words_that_are_a_habit_with_or_without_an_article() -> None:
    texts = ["L'avion, quel mystère.", "Pas d’avion en vue.", "Un avion gris", "avion ou train"]
    entries = [
        {**DRIFT, "half": half, "text": text} for half, text in zip(["train", "test"] * 2, texts, strict=True)
    ]
    (problem,) = problems(*entries, name="fr/general")
    assert "word 'avion' is in 4 of 4" in problem.what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("¿Vale también para tres?", "word 'tres' could be taken for a value"),
        ("Dicen que el miércoles llueve.", "word 'miércoles' could be taken for a value"),
        ("¿Por qué los aviones salen de mañana?", "word 'mañana' could be taken for a value"),
        ("¿Tú lo sabías?", "informal"),
        ("me podrias explicar como vuelan", "informal"),
        ("Imagínate un avión sin ventanas.", "informal"),
        ("¿Cree usted que llueve?", "formal"),
        ("Le agradecería una explicación.", "formal"),
        ("Explíqueme cómo vuelan.", "formal"),
    ],
)
def test_spanish_numbers_days_and_addresses(text: str, what: str) -> None:
    (problem,) = problems({**DRIFT, "half": "train", "text": text}, name="es/travel")
    assert what in problem.what


def test_spanish_that_addresses_nobody_or_says_whom() -> None:
    texts = [
        "El té con su limón, ¿de qué país viene?",
        "¿Y ustedes de dónde llaman?",
        "Detrás de las librerías se oye que el tiempo no perdona.",
    ]
    entries: list[dict[str, Any]] = [{"text": text} for text in texts]
    entries += [{"text": "¿Sabes?", "address": "informal"}, {"text": "Disculpe.", "address": "formal"}]
    halves = [{**DRIFT, "half": ["train", "test"][at % 2], **entry} for at, entry in enumerate(entries)]
    assert problems(*halves, name="es/travel") == []


def test_spanish_words_that_are_a_habit() -> None:
    texts = ["¿Los aviones duermen?", "los aviones, qué misterio", "Me gustan los aviones.", "Aviones grises"]
    entries = [
        {**DRIFT, "half": half, "text": text} for half, text in zip(["train", "test"] * 2, texts, strict=True)
    ]
    (problem,) = problems(*entries, name="es/general")
    assert "word 'aviones' is in 4 of 4" in problem.what


@pytest.mark.parametrize(
    "text", ["Pasa de {rival} a {value}.", "No sé si {rival} o {value}.", "el {rival}, {value}"]
)
def test_a_spanish_word_that_would_change_with_the_value(text: str) -> None:
    found = [problem.what for problem in problems({**SAME, "half": "train", "text": text}, name="es/travel")]
    assert any("depends on the slot's value" in what for what in found)
    fine = {**SAME, "half": "train", "text": "Entre {rival}, por un lado, y lo otro: {value}"}
    assert problems(fine, name="es/travel") == []


def test_chinese_is_compared_by_characters() -> None:
    texts = [
        ("train", "顺便问一下，飞机为什么飞得那么高？"),
        ("test", "对了，飞机为什么飞得那么高，有人知道吗？"),
    ]
    entries = [{**DRIFT, "half": half, "text": text} for half, text in texts]
    assert "飞 机 为 什 么 飞 得 那" in problems(*entries, name="zh/travel")[0].what


def test_a_latin_word_in_chinese_is_one_sign() -> None:
    texts = [("train", "在吗，whatsapp 是啥意思"), ("test", "我妈的 whatsapp 老响")]
    entries = [{**DRIFT, "half": half, "text": text} for half, text in texts]
    assert problems(*entries, name="zh/travel") == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("带两个人行不行", "word '两' could be taken for a value"),
        ("大概三十来个吧", "word '三' could be taken for a value"),
        ("是不是周日也营业", "word '周日' could be taken for a value"),
        ("星期天人多不多", "word '星期天' could be taken for a value"),
        ("后天会下雨吗", "word '后天' could be taken for a value"),
        ("等了半个小时才轮到", "word '半' could be taken for a value"),
        ("国庆的时候哪儿都是人", "word '国庆' could be taken for a value"),
        ("２０岁的人也这样吗", "leave the digits out"),
        ("你见过长翅膀的鱼吗", "informal"),
        ("请问您怎么看", "formal"),
    ],
)
def test_chinese_numbers_days_and_addresses(text: str, what: str) -> None:
    (first, *_) = problems({**DRIFT, "half": "train", "text": text}, name="zh/travel")
    assert what in first.what


def test_chinese_words_with_a_numeral_that_name_no_number() -> None:
    texts = [
        "万一下雨，飞机十分颠簸吗",
        "千万别笑话我",
        "扫二维码会不会乱七八糟",
        "等了半天，一点都不急",
        "你们家的本周日程谁排的",
        "迷你的飞机有人坐吗",
    ]
    entries = [{**DRIFT, "half": ["train", "test"][at % 2], "text": text} for at, text in enumerate(texts)]
    assert problems(*entries, name="zh/travel") == []


def test_chinese_words_that_are_a_habit() -> None:
    texts = ["顺便问个事", "这个顺便看看", "想顺便打听", "能不能顺便帮忙"]
    entries = [
        {**DRIFT, "half": half, "text": text} for half, text in zip(["train", "test"] * 2, texts, strict=True)
    ]
    (problem,) = problems(*entries, name="zh/general")
    assert "word '顺便' is in 4 of 4" in problem.what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("二人でも乗れる？", "word '二' could be taken for a value"),
        ("月曜日は混むのかな", "word '月曜' could be taken for a value"),
        ("明日って雨？", "word '明日' could be taken for a value"),
        ("半年も待つ人いる？", "word '半' could be taken for a value"),
        ("十分後には飛ぶ？", "word '十' could be taken for a value"),
        ("あと９００キロくらい？", "leave the digits out"),
        ("飛行機ってなぜ白いんだろう", "informal"),
        ("これ何だっけ", "informal"),
        ("パイロットの人にも聞いといて", "informal"),
        ("飛行機はなぜ白いのですか", "formal"),
        ("どなたか教えてください", "formal"),
        ("飛行機に乗ったことがありません", "formal"),
    ],
)
def test_japanese_numbers_days_and_politeness(text: str, what: str) -> None:
    (problem,) = problems({**DRIFT, "half": "train", "text": text}, name="ja/travel")
    assert what in problem.what


def test_japanese_that_is_neither_polite_nor_plain_and_words_that_name_no_number() -> None:
    texts = [
        "（一応、余談。）",
        "万が一のときの酸素マスク、十分な数あり？",
        "ますます謎な一般論",
        "まだよくある話、ただわりと深い",
        "用事は済ませんと",
    ]
    entries: list[dict[str, Any]] = [{"text": text} for text in texts]
    entries += [{"text": "白いですよね", "address": "formal"}, {"text": "白いじゃん", "address": "informal"}]
    halves = [{**DRIFT, "half": ["train", "test"][at % 2], **entry} for at, entry in enumerate(entries)]
    assert problems(*halves, name="ja/travel") == []


def test_japanese_that_mixes_polite_and_plain() -> None:
    mixed = {**DRIFT, "half": "train", "text": "白いじゃん、なぜですか"}
    for address in ("formal", "informal"):
        assert len(problems({**mixed, "address": address}, name="ja/travel")) == 1


@pytest.mark.parametrize(
    ("texts", "word"),
    [
        (["余談、飛行機", "飛行機が好き", "白い飛行機", "飛行機は遅れがち"], "飛行機"),
        (["パイロット", "あのパイロット", "白いパイロットの帽子", "パイロットって"], "パイロット"),
        (["ちなみに雨", "白いの、ちなみに", "あれちなみに", "ちなみに犬"], "ちなみに"),
    ],
)
def test_japanese_words_that_are_a_habit(texts: list[str], word: str) -> None:
    entries = [
        {**DRIFT, "half": half, "text": text} for half, text in zip(["train", "test"] * 2, texts, strict=True)
    ]
    (problem,) = problems(*entries, name="ja/general")
    assert f"word '{word}' is in 4 of 4" in problem.what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("هل يكفي مقعدان لثلاثة أشخاص؟", "word 'لثلاثه' could be taken for a value"),
        ("وأربعين دقيقة من الانتظار", "word 'واربعين' could be taken for a value"),
        ("هل تطير يوم الأحد؟", "word 'الاحد' could be taken for a value"),
        ("والأربعاء أيضًا؟", "word 'والاربعاء' could be taken for a value"),
        ("هل ستمطر غدًا؟", "word 'غدا' could be taken for a value"),
        ("كيف الجو اليوم؟", "word 'اليوم' could be taken for a value"),
        ("أهي مزدحمة في أغسطس؟", "word 'اغسطس' could be taken for a value"),
        ("انتظرت ساعتين", "word 'ساعتين' could be taken for a value"),
        ("انتظرت ٣ ساعات", "leave the digits out"),
        ("ليش الطيارات بيضا", "informal"),
        ("مش معقول", "informal"),
        ("هل حضرتك من هنا؟", "formal"),
    ],
)
def test_arabic_numbers_days_and_addresses(text: str, what: str) -> None:
    (problem,) = problems({**DRIFT, "half": "train", "text": text}, name="ar/travel")
    assert what in problem.what


def test_arabic_that_names_no_number_and_addresses_in_no_way() -> None:
    texts = [
        "هل من أحد يعرف السبب؟",
        "ألف شكر مقدمًا",
        "السماء صافية طوال اليوم",
        "تأخر الغدا",
        "قرأت عن سبب ذلك من قبل",
    ]
    entries = [{**DRIFT, "half": ["train", "test"][at % 2], "text": text} for at, text in enumerate(texts)]
    assert problems(*entries, name="ar/travel") == []


def test_arabic_words_are_the_same_with_clitics_and_signs() -> None:
    texts = ["الطائرة، يا للغرابة", "وبالطائرة كم يستغرق", "طائره بيضاء", "للطّائرة جناح"]
    entries = [
        {**DRIFT, "half": half, "text": text} for half, text in zip(["train", "test"] * 2, texts, strict=True)
    ]
    (problem,) = problems(*entries, name="ar/general")
    assert "word 'طائره' is in 4 of 4" in problem.what


def test_an_arabic_slot_with_a_clitic() -> None:
    for text in ("{rival}، عفوًا و{value}", "{rival} بل لـ{value}"):
        (problem,) = problems({**SAME, "half": "train", "text": text}, name="ar/travel")
        assert "the first word depends on the slot's value" in problem.what


def test_an_arabic_opening_is_the_same_with_and_before_it() -> None:
    train = {**DRIFT, "half": "train", "text": "وبالمناسبة لماذا تطير عاليًا هكذا؟"}
    test = {**DRIFT, "half": "test", "text": "بالمناسبة، لماذا تطير الطائرات أصلًا؟"}
    (problem,) = problems(train, test, name="ar/travel")
    assert "opening 'مناسبه لماذا تطير' is in line 2 too" in problem.what
