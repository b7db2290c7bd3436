from __future__ import annotations

import pytest

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.operators.phrases import PhraseDraw, find_setting
from crosswind.injectors.packs.address import detect_address
from crosswind.injectors.packs.draw import Setting, list_settings
from crosswind.injectors.seeded_random import SeededRandom
from crosswind.injectors.targets import Branch, UserTarget
from crosswind.injectors.text.languages import Language


@pytest.mark.parametrize(
    "language,text,address",
    [
        ("de", "Zeig mir bitte alle Flüge nach Berlin", "informal"),
        ("de", "Kannst du das prüfen?", "informal"),
        ("de", "Bitte storniere meine Bestellung W12.", "informal"),
        ("de", "Können Sie mir sagen, wann der Zug fährt?", "formal"),
        ("de", "Buchen Sie mir bitte ein Zimmer", "formal"),
        ("de", "Ich suche einen Flug.", None),
        ("de", "Meine Schwester fliegt auch. Sie braucht einen Platz.", None),
        ("de", "Guten Tag, ich hätte gern drei Karten für den Faust.", "formal"),
        ("de", "Guten Tag, kannst du mir drei Karten geben?", "informal"),
        ("de", "Hallo, ich hätte gern drei Karten für den Faust.", None),
        ("fr", "Madame, Monsieur, je cherche deux places", "formal"),
        ("fr", "Bonjour, je cherche deux places", None),
        ("es", "Estimados señores: necesito dos entradas", "formal"),
        ("es", "Buenos días, busco dos entradas", None),
        ("fr", "Réserve-moi un vol", "informal"),
        ("fr", "Peux-tu vérifier mon solde ?", "informal"),
        ("fr", "Pouvez-vous annuler ma commande ?", "formal"),
        ("fr", "Je cherche un hôtel à Lyon", None),
        ("es", "¿Puedes reservarme una mesa?", "informal"),
        ("es", "Envíame el informe", "informal"),
        ("es", "Envíeme el informe", "formal"),
        ("es", "¿Me podría decir el saldo?", "formal"),
        ("es", "Dígame el precio", "formal"),
        ("es", "¿Podés cancelar mi pedido?", "other"),
        ("es", "¿Podéis mirar mi pedido?", "other"),
        ("es", "Quiero saber el estado de mi pedido", None),
        ("zh", "你好，请帮我查一下明天的高铁票", "informal"),
        ("zh", "您好，帮我退货", "formal"),
        ("zh", "你们店几点开门", None),
        ("ja", "明日の天気を教えてください", "formal"),
        ("ja", "明日の天気教えて", "informal"),
        ("ja", "予約をキャンセルしたい。", "informal"),
        ("ja", "東京から大阪までの新幹線、11月15日", None),
        ("ar", "أريد حجز رحلة إلى القاهرة", "formal"),
        ("ar", "عايز احجز تذكرة", "informal"),
    ],
)
def test_how_a_user_addresses_the_agent(language: str, text: str, address: str | None) -> None:
    assert detect_address([text], Language(language)) == address


def test_the_first_text_that_shows_it_decides() -> None:
    texts = ["Ich suche einen Flug.", "Kannst du einen finden?", "Können Sie ihn buchen?"]
    assert detect_address(texts, Language.DE) == "informal"


UNTOLD = "Ich hätte gern drei Karten für den Faust am 19. Dezember, Buchung B4711."


def _find(text: str, *described: str, key: str = "") -> Setting:
    tools = tuple(ToolSchema(f"tool_{at}", one, {}) for at, one in enumerate(described))
    setting = find_setting(UserTarget(text, 0, (), tools, branch=Branch(key=key, opening=text)))
    assert setting is not None
    return setting


@pytest.mark.parametrize(
    "described,address",
    [
        ("Zeigt eine Buchung. Geben Sie die Nummer der Buchung an.", "formal"),
        ("Zeigt eine Buchung. Gib die Nummer deiner Buchung an.", "informal"),
    ],
)
def test_the_tools_descriptions_tell_where_the_user_does_not(described: str, address: str) -> None:
    found = [_find(UNTOLD, described, key=str(key)) for key in range(8)]
    assert {one.address for one in found} == {address} and not any(one.guessed for one in found)


def test_descriptions_in_another_language_tell_nothing() -> None:
    assert _find(UNTOLD, "Shows a booking that has been made. Sie is German for you.").guessed


@pytest.mark.parametrize("key", range(8))
def test_where_nothing_tells_what_addresses_nobody_goes_first(key: int) -> None:
    setting = _find(UNTOLD, key=str(key))
    first, guessed = list_settings(setting)
    assert guessed is setting and first.address == "other" and setting.address in ("formal", "informal")
    drawn = PhraseDraw(UserTarget(UNTOLD, 0), setting, SeededRandom(str(key)), "user.cost_cue")
    for _ in range(12):
        assert (found := drawn.draw("cue")) is not None
        assert not detect_address([f"Gut. {found.text}"], Language.DE), found.text


def test_the_guessed_address_is_used_where_no_other_entry_is_left() -> None:
    setting = _find(UNTOLD)
    drawn = PhraseDraw(UserTarget(UNTOLD, 0), setting, SeededRandom("1"), "user.cost_cue")
    texts = []
    while (found := drawn.draw("cue")) is not None:
        texts.append(detect_address([f"Gut. {found.text}"], Language.DE))
    assert {*texts} == {None, setting.address} and texts[-1] == setting.address
