"""What a sentence asks for, as a bare infinitive."""

from __future__ import annotations

import pytest

from crosswind.injectors.operators.user.requests.extraction import Doer, extract_request, find_requests
from crosswind.injectors.text.languages import Language


@pytest.mark.parametrize(
    ("text", "infinitive", "doer"),
    [
        ("Could you please book a table for four on Friday?", "book a table for four on Friday", Doer.EITHER),
        ("Hi, I want to cancel my visit to Dr. Shaw.", "cancel my visit to Dr. Shaw", Doer.EITHER),
        ("Send me the list of open invoices.", "send me the list of open invoices", Doer.AGENT),
        ("I'd like to fly from Lyon to Rome.", "fly from Lyon to Rome", Doer.USER),
        ("Would you mind checking the balance?", "check the balance", Doer.EITHER),
        ("I'd like to know which trains leave.", "tell me which trains leave", Doer.AGENT),
        ("What's the weather in Oslo tomorrow?", "tell me the weather in Oslo tomorrow", Doer.AGENT),
        ("who is the mayor of Bath?", "tell me who the mayor of Bath is", Doer.AGENT),
        ("Transfer 200 euros to Anna, thanks!", "transfer 200 euros to Anna", Doer.EITHER),
        ("Lock the car ,  if you can, thank you so much!?", "lock the car", Doer.AGENT),
    ],
)
def test_a_request_is_read_as_an_infinitive(text: str, infinitive: str, doer: Doer) -> None:
    found = extract_request(text, Language.EN)
    assert found is not None
    assert (found.infinitive, found.doer) == (infinitive, doer)
    assert text[found.start : found.end] == text


def test_a_request_with_much_white_space_is_read_once() -> None:
    # Quadratic work on it takes half a second.
    gap = " ," * 1_900
    found = extract_request(f"Book a table{gap} for four, please.", Language.EN)
    assert found is not None and found.infinitive == f"book a table{gap} for four"


@pytest.mark.parametrize(
    "text",
    [
        "Order 17 is late.",
        "Book prices are high.",
        "The kettle leaks.",
        "Thanks a lot!",
        "Run 'make clean. Then make' in the shell.",
        "Could you, by any chance, be there?",
    ],
)
def test_no_request_is_read_where_none_is_sure(text: str) -> None:
    assert find_requests(text, Language.EN) == ()


@pytest.mark.parametrize(
    ("language", "text", "infinitive"),
    [
        (Language.DE, "Kannst du mir bitte einen Flug buchen?", "mir einen Flug buchen"),
        (Language.ES, "Quiero cancelar mi pedido W123, por favor.", "cancelar mi pedido W123"),
        (Language.FR, "Pourriez-vous réserver une table pour quatre ?", "réserver une table pour quatre"),
        (Language.ZH, "请帮我查询订单A20931的状态。", "查询订单A20931的状态"),
        (Language.JA, "東京行きの便を予約してください。", "東京行きの便を予約する"),
        (Language.AR, "أريد حجز رحلة إلى دبي.", "حجز رحلة إلى دبي"),
    ],
)
def test_requests_in_other_languages(language: Language, text: str, infinitive: str) -> None:
    found = extract_request(text, language)
    assert found is not None
    assert found.infinitive == infinitive


@pytest.mark.parametrize(
    ("language", "text", "asked"),
    [
        (Language.DE, "Bitte hinterlegen Sie die Karten im 1. Rang.", "die Karten im 1. Rang hinterlegen"),
        (Language.DE, "Reservieren Sie mir bitte drei Plätze.", "mir drei Plätze reservieren"),
        (Language.DE, "Tragen Sie den Termin ein.", "den Termin eintragen"),
        (Language.DE, "Kündige meinen Vertrag zum Monatsende.", "meinen Vertrag zum Monatsende kündigen"),
        (Language.DE, "Haben Sie vielen Dank.", None),
        (Language.DE, "Wir nehmen sie alle zusammen.", None),
        (Language.ES, "Cancela mi cita del martes y avísame.", None),
        (Language.FR, "Annule ma commande et rembourse-moi.", None),
    ],
)
def test_an_order_in_another_language_is_read_as_an_infinitive(
    language: Language, text: str, asked: str | None
) -> None:
    found = extract_request(text, language)
    assert (found.infinitive if found else None) == asked
