"""Texts of every script: what acts on them leaves characters whole, and what doesn't says nothing."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from crosswind.injectors import registry
from crosswind.injectors.conversation import Site
from crosswind.injectors.operator import Registered
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Branch, ToolClass, ToolResultTarget, UserTarget
from crosswind.injectors.text.entities import find_protected_spans
from crosswind.injectors.text.graphemes import find_boundary, shorten
from crosswind.injectors.text.languages import UNABLE, Language, detect_language, is_foreign
from crosswind.injectors.wording import Prompt, WrittenText
from crosswind.studies.conversations import RecordedConversation
from crosswind.studies.preview.events import preview_events
from tests.injectors.dialogues import SCRIPTS, conversation
from tests.injectors.plans import plan_with

LONGER = {
    "german": "Guten Tag, bitte ändern Sie die Adresse zu W17 auf Schöne Straße 5 in München. Ich möchte "
    "zwei größere Lampen in Blau, danke!",
    "chinese": "你好,请帮我查询订单W17的状态。我想把蓝色的台灯换成红色的,最好明天送到。谢谢!",
    "arabic": "مرحباً، أريد تغيير عنوان الطلب W17 من فضلك. أحتاج إلى مصباحين باللون الأزرق. شكراً جزيلاً!",
    "thai": "สวัสดีครับช่วยตรวจสอบคำสั่งซื้อให้หน่อยครับผมต้องการเปลี่ยนที่อยู่จัดส่งเป็นกรุงเทพมหานครขอบคุณมากครับ",
    "jamo": unicodedata.normalize("NFD", "안녕하세요주문상태를알려주세요감사합니다배송지를서울로바꿔주세요"),
    "flags": "🇩🇪🇫🇷🇯🇵🇰🇷🇧🇷🇮🇳" * 8,
    "families": "👨‍👩‍👧‍👦👍🏽❤️‍🔥🏴󠁧󠁢󠁥󠁮󠁧󠁿" * 5,
    "marks": unicodedata.normalize("NFD", "Tôi muốn đổi đèn màu xanh sang màu đỏ, W17, où élève naïve déjà."),
}
TEXTS = {**SCRIPTS, **{f"longer {name}": text for name, text in LONGER.items()}}
OPERATORS = [
    entry
    for _, entry in sorted(registry.operators().items())
    if entry.site in (Site.USER_TEXT, Site.TOOL_RESULT)
]
_CHARACTER = regex.compile(r"\X")


def target(entry: Registered, text: str) -> UserTarget | ToolResultTarget:
    if entry.site is Site.USER_TEXT:
        branch = Branch(opening=text)
        return UserTarget(text, 0, find_protected_spans(text, ()), (), clean=text, branch=branch)
    return ToolResultTarget(text, 0, "get_order", '{"order_id": "W17"}', ToolClass.READ_ONLY, 0, ())


def characters(text: str) -> set[str]:
    """The characters, as readers see them, that are more than a letter. A line's end is none: an error page
    may have other ones than the text in whose place it stands."""
    found = _CHARACTER.findall(text.replace("\r\n", "\n"))
    return {one for one in found if len(one) > 1 or unicodedata.category(one)[0] == "M"}


def wrapped(text: str) -> str:
    items = [{"name": text[:20], "price": 12.5}, {"name": text[20:], "price": 3}]
    return json.dumps({"id": "W17", "status": "shipped", "items": items, "note": text}, ensure_ascii=False)


@pytest.mark.parametrize("entry", OPERATORS, ids=lambda entry: entry.name)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_what_acts_changes_something_and_tears_no_character(entry: Registered, as_json: bool) -> None:
    for name, text in TEXTS.items():
        shown = wrapped(text) if as_json else text
        for seed in range(12):
            drawn = entry.draw({}, target(entry, shown), SeededRandom(f"{name}|{seed}"), 1.0)
            if drawn is None or UNABLE in drawn:
                continue
            after = str(entry.apply(target(entry, shown), drawn).payload)
            assert after != shown, "an event that changes nothing"
            # A phrase of the text's own language has characters of its own.
            added = json.dumps(drawn, ensure_ascii=False)
            torn = characters(_plain(after)) - characters(shown) - characters(added)
            assert not torn, (name, torn, after)


def _plain(text: str) -> str:
    """JSON that was rewritten may have its letters escaped."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text


ENGLISH = [
    *("Cancel order W17 please", "Ship it to Boston", "Thanks", "W17?", "yes", "ORD-1 ORD-2 W17 W18 lamp"),
    *("I want to return two lamps in blue", "Mia Garcia, mia@example.com", "Can I get a refund for it?", ""),
    *("My flight to Oslo was cancelled.", "Look an order up. Returns its status and items."),
    *("Cancel pending order items", "List all product types.", "Café in Malmö near Los Angeles, two beds"),
    *(SCRIPTS[name] for name in ("latin", "emoji", "combining", "surrogate")),
]


@pytest.mark.parametrize("text", ENGLISH)
def test_english_and_what_tells_no_language_is_not_taken_for_another(text: str) -> None:
    assert not is_foreign(text)


@pytest.mark.parametrize("name", [name for name in TEXTS if SCRIPTS.get(name) not in ENGLISH])
def test_other_languages_are_told_from_english(name: str) -> None:
    emoji = not any(letter.isalpha() for letter in TEXTS[name])
    assert is_foreign(TEXTS[name]) or emoji


SPOKEN = {
    None: (
        *("Reserve um quarto para duas pessoas em Lisboa de 3 a 5 de maio.", "Apague o arquivo notas.txt"),
        *("Quero cancelar o meu pedido 4821 e receber o dinheiro de volta.", "Liga a luz da sala"),
        *("Prenota un tavolo per quattro persone stasera.", "Cancella il file note.txt"),
        *("Verwijder het bestand notities.txt", "Ik wil mijn bestelling annuleren."),
        *(
            "Usuń plik notatki.txt",
            "Tänd lampan i köket",
            "notlar.txt dosyasını sil",
            "Hapus file catatan.txt",
        ),
    ),
    Language.ES: (
        "Borra el archivo notas.txt",
        "Abre notas.txt",
        "Enciende la luz",
        "Reserva hotel en Sevilla",
    ),
    Language.FR: ("Supprime le fichier notes.txt", "Ouvre notes.txt", "Appelle Pierre", "Affiche le prix"),
    Language.DE: ("Lösche die Datei notizen.txt", "Mach das Licht an", "Storniere Bestellung 4821"),
    Language.EN: (
        *("Delete the file notes.txt", "docker start web", "Play Despacito by Luis Fonsi", "ls -la /var/log"),
        *("Reserve a room at Hotel de la Paix for Maria do Carmo", "Translate 'Wie geht es dir' to French"),
        *("Book Café Zoë tomorrow", "Search for Casa de Papel", "Order die cast model cars"),
    ),
}


@pytest.mark.parametrize("language", SPOKEN, ids=str)
def test_short_commands_have_their_language_and_those_without_a_pack_have_none(
    language: Language | None,
) -> None:
    for text in SPOKEN[language]:
        assert detect_language(text) is language, text
        assert is_foreign(text) == (language is not Language.EN), text


@given(st.text(sorted({one for text in TEXTS.values() for one in text}), max_size=40), st.integers(0, 40))
@example("0\u0e33", 1)
@example("\u1100\u1100\uac00\u11a8\u11a8\u1100", 6)
@example("\u1100\ucde8", 1)
@example("\u09cd\u09be\u0924", 2)
def test_a_text_is_cut_between_characters(text: str, at: int) -> None:
    cut = find_boundary(text, min(at, len(text)))
    assert 0 <= cut <= at and cut in {0, *(match.end() for match in _CHARACTER.finditer(text))}


@pytest.mark.parametrize("name", TEXTS)
def test_an_answer_that_the_limit_of_tokens_ends_is_cut_between_characters(name: str) -> None:
    text = TEXTS[name]
    found: Any = Counter(_CHARACTER.findall(text))
    for tenth in range(10):
        kept = shorten(text, tenth / 10)
        assert text.startswith(kept) and len(kept) <= len(text) * tenth / 10
        assert not Counter(_CHARACTER.findall(kept)) - found


GERMAN: list[dict[str, Any]] = [
    {"role": "user", "content": "Guten Tag, bitte ändern Sie die Adresse auf Schöne Straße, danke sehr!"},
    {"role": "assistant", "content": "Gern."},
    {"role": "user", "content": "请帮我查询状态。我想把蓝色的台灯换成红色的,最好明天送到。"},
]
HOLT = "Holt einen Auftrag und gibt seinen Zustand."
NUMMER = {"type": "string", "description": "Die Nummer des Auftrags, wie sie auf der Rechnung steht."}
AUFTRAG = {"name": "hole_auftrag", "description": HOLT, "parameters": {"properties": {"nummer": NUMMER}}}


@pytest.mark.parametrize("name", ["user.paraphrase", "schema.paraphrase_tool", "schema.paraphrase_parameter"])
def test_an_event_says_why_nothing_was_done(name: str) -> None:
    seen = conversation(GERMAN, [{"type": "function", "function": AUFTRAG}])
    events = [
        one
        for one in preview_events(plan_with(name), RecordedConversation("s", seen, 1))
        if one.after is None
    ]
    assert events
    for one in events:
        assert one.note.startswith("Withheld: ") and one.decision.draw[UNABLE] in one.note


def test_a_model_writes_where_the_rule_has_no_words() -> None:
    class Written:
        def get(self, slot: str, prompt: Prompt) -> WrittenText:
            return WrittenText("Guten Tag, ändern Sie doch bitte die Adresse auf Schöne Straße, danke!", "m")

    [one] = preview_events(
        plan_with("user.paraphrase"), RecordedConversation("s", conversation(GERMAN[:1]), 1), texts=Written()
    )
    assert one.after is not None and one.after.startswith("Guten Tag, ändern Sie doch")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Hola, quiero reservar un hotel en Madrid", "es"),
        ("Quiero que canceles el pedido #W123 por favor", "es"),
        ("Kannst du mir helfen", "de"),
        ("Flug nach Rom", "de"),
        ("Je voudrais un vol pour Paris", "fr"),
        ("你好", "zh"),
        ("帮我 book 一个 flight to Beijing", "zh"),
        ("Please translate 你好 into English for my friend", "en"),
        ("フライトを予約して", "ja"),
        ("明日の会議を予約して", "ja"),
        ("أريد حجز رحلة", "ar"),
        ("order 17 status", "en"),
        ("Could you help me with the hotel in München?", "en"),
        ("Vorrei un biglietto per Roma", None),
        ("Ik wil graag een kamer", None),
        ("Помогите мне, пожалуйста", None),
        ("", None),
        ("12345 !!", None),
    ],
)
def test_the_language_is_told_by_script_or_small_words(text: str, language: str | None) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Jamais avant 10h, si possible le 2026-12-07.", "fr"),
        ("Genou, 2026-12-07", "fr"),
        ("Le 2026-12-07, merci", "fr"),
        ("Termin am 2026-12-07, Knie. P-1222", "de"),
        ("Knie, 2026-12-07, 10:15, P-1222", "de"),
        ("Lieber nachmittags, ab 15 Uhr", "de"),
        ("Cualquier día excepto el 2026-12-01 me va bien.", "es"),
        ("Cita el 2026-12-07, rodilla. P-1222", "es"),
        ("Afspraak knie maandag 2026-12-07", None),
        ("Wizyta u lekarza, kolano, 2026-12-07", None),
        ("The 08:15 one, please", "en"),
        ("Knee appointment Tuesday morning", "en"),
        ("cardiology tuesday 10:15 brandt", "en"),
        ("As soon as possible.", "en"),
    ],
)
def test_the_language_of_a_few_words_is_told_or_left_open(text: str, language: str | None) -> None:
    assert detect_language(text) == language


def test_several_words_of_which_none_is_english_are_not_taken_for_it() -> None:
    assert detect_language("lutron kesta velim boru") is None
    assert detect_language("W17 lamp") is Language.EN
