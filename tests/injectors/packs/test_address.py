from __future__ import annotations

import pytest

from crosswind.injectors.packs.address import detect_address
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
