"""Messages of several domains and languages, with values that fill the tools' parameters."""

from __future__ import annotations

from typing import Any

from crosswind.injectors.conversation import ToolSchema
from crosswind.injectors.text.languages import Language

TEXT, COUNT, AMOUNT, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}


def choice(*options: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(options)}


def tool(name: str, **parameters: Any) -> ToolSchema:
    return ToolSchema(name, "", {"type": "object", "properties": parameters})


HOSPITAL = (
    tool(
        "book",
        patient_name=TEXT,
        date=TEXT,
        time=TEXT,
        department=choice("cardiology", "radiology", "surgery"),
    ),
    tool("discharge", patient_id=TEXT),
    tool("prescribe", dose_mg=COUNT, days=COUNT),
)
SQL = (tool("query", table=TEXT, limit=COUNT, order=choice("ascending", "descending"), date_from=TEXT),)
GIT = (
    tool("open_issue", title=TEXT, assignee=TEXT, priority=choice("low", "medium", "high")),
    tool("revert", count=COUNT),
)
HOTEL = (
    tool(
        "book_room",
        city=TEXT,
        check_in_date=TEXT,
        nights=COUNT,
        guests=COUNT,
        room_type=choice("single", "double", "suite"),
        max_price=AMOUNT,
        breakfast=FLAG,
    ),
    tool("cancel_booking", booking_id=TEXT),
)
HOME = (
    tool("set_thermostat", room=choice("kitchen", "bedroom"), temperature=AMOUNT, mode=choice("eco", "away")),
    tool("set_alarm", time=TEXT, days=TEXT),
)
BANK = (
    tool("transfer", recipient=TEXT, amount=AMOUNT, date=TEXT),
    tool("limit", period=choice("daily", "weekly")),
)
MAIL = (tool("send", recipient=TEXT, send_at=TEXT), tool("event", date=TEXT, start_time=TEXT, duration=COUNT))

ENGLISH = (
    (
        HOSPITAL,
        "Please book Maria Lopez into cardiology on March 14 at 9:30 am, and give her 200 mg for 5 days.",
    ),
    (SQL, "Show me the 20 latest orders since 2026-03-01, descending by total."),
    (GIT, "Open an issue with high priority, assign it to Anna and revert the last three commits."),
    (
        HOTEL,
        "I want a double room in Oslo from 12 May for 4 nights, two guests, up to 150 euros, with breakfast.",
    ),
    (HOME, "Set the bedroom to 19 degrees in eco mode and wake me up at 6:45 tomorrow."),
    (BANK, "Transfer $1,500 to Daniel Kim on the 3rd of April and set a weekly limit of 800 dollars."),
    (MAIL, "Schedule a 45 minute call with Tom on Tuesday at 3 pm."),
)
OTHERS = (
    (
        HOTEL,
        "Ich brauche ein Zimmer in Köln ab dem 5. Mai für 3 Nächte, bitte nicht mehr als 120 Euro pro Nacht.",
    ),
    (HOTEL, "Necesito un hotel en Sevilla para el 3 de mayo, cuatro noches, por menos de 300 euros."),
    (HOTEL, "Il me faut une chambre à Nice le 4 juillet pour 5 nuits, à moins de 250 euros."),
    (HOTEL, "我想在5月3日住北京的酒店，3天，每晚不超过400元。"),
    (HOTEL, "京都で5月3日から3泊、2名でホテルを予約してほしい。"),
    (HOTEL, "أحتاج غرفة في الرياض يوم 3 مايو لمدة 4 ليال."),
)

_TRIP = (
    tool("book_flight", origin=TEXT, destination=TEXT, date=TEXT),
    tool("book_table", city=TEXT, time=TEXT, date=TEXT),
)
DENIED = (
    (_TRIP, "Book a flight to Berlin, not to Paris, on May 14.", "Paris"),
    (_TRIP, "Find a flight to anywhere except Paris on May 14.", "Paris"),
    (_TRIP, "Book a flight on May 14, but never to Paris.", "Paris"),
    (_TRIP, "Find a flight to any city but Paris on May 14.", "Paris"),
    (_TRIP, "Book a table in Rome at 8 pm, not 7 pm, for Friday.", "7 pm"),
    (_TRIP, "Book a table in Rome on Friday instead of Saturday at 8 pm.", "Saturday"),
    (_TRIP, "Please don't book a flight to Paris on May 14.", "Paris"),
    (_TRIP, "Bitte buche einen Tisch am 14. Mai, aber nicht in Wien.", "Wien"),
    (_TRIP, "Bitte buche einen Flug am 14. Mai, aber nicht nach Wien.", "Wien"),
    (_TRIP, "Reserva una mesa el 14 de mayo, pero no en Madrid.", "Madrid"),
    (_TRIP, "Réserve une table le 14 mai, mais pas à Lyon.", "Lyon"),
    (HOTEL, "请帮我订5月3日的酒店，不要在北京。", "北京"),
    (HOTEL, "京都以外で5月3日から3泊、ホテルを予約してほしい。", "京都"),
    (HOTEL, "أحتاج غرفة يوم 3 مايو، ليس في الرياض.", "الرياض"),
)
"""Messages, each with a value that a negation governs."""

CLINIC = (
    tool("book_appointment", date=TEXT, time=TEXT, patient_id=TEXT, doctor_name=TEXT, nights=COUNT),
    tool("cancel_appointment", confirmation=TEXT),
)
RESTRICTED = {
    Language.EN: (
        "Nothing {bound} {time} {on} {date} please.",
        "None of the slots {on} {date} suit me.",
        "I refuse to come {bound} {time} {on} {date}.",
        "I hate coming {at} {time}, as you know.",
        "I'd rather not come {on} {date}.",
        "I can do Mondays and Wednesdays only, never {bound} {time}.",
        "She can only come {bound} {time} and never {on} {date}.",
        "Nobody is free {on} {date} {bound} {time}.",
        "I can hardly come {on} {date}.",
        "Any day except {date}, please.",
        "Any day other than {date} will do.",
        "Please avoid {date} if possible.",
        "Move it away from the evening, and no later than {time}.",
        "Book me with P-1222 {on} {date} at the latest.",
        "It has to be {date} or earlier.",
        "{time} only, please.",
        "{date} doesn't work for me.",
        "Not {on} {date}, 2026-12-18 or 2026-12-19, please.",
        "Unless it is {on} {date}, any day will do.",
        "I need a bed for at least 3 nights.",
        "Please keep away from {date}.",
        "I'd rather wait than come at {time}.",
        "I'm busy on {date}, sorry.",
    ),
    Language.DE: (
        "Bitte nichts vor {time} Uhr am {date}.",
        "Ich komme nie nach {time} Uhr und ungern am {date}.",
        "Am {date} kann ich leider nicht.",
        "Jeder Tag außer dem {date} passt mir.",
        "Ich kann nur am {date} kommen.",
        "Bitte spätestens am {date} und bis {time} Uhr.",
        "Sie kann erst ab {time} Uhr am {date}.",
    ),
    Language.FR: (
        "Je ne peux jamais venir avant {time} le {date}.",
        "Rien le {date} s'il vous plaît, c'est impossible.",
        "Je refuse de venir après {time}.",
        "Tous les jours sauf le {date} me vont bien.",
        "Je peux venir seulement le {date} avec vous.",
        "Le {date} je ne peux pas venir.",
    ),
    Language.ES: (
        "Nunca puedo ir antes de las {time} del {date}.",
        "Nada para el {date}, por favor.",
        "Cualquier día excepto el {date} me va bien.",
        "Solo puedo ir el {date} con usted.",
        "El {date} no puedo ir.",
        "Necesito la cita a más tardar el {date}, por favor.",
    ),
    Language.ZH: (
        "{date}之前都不行，请安排别的时间。",
        "我不能在{date}来。",
        "除了{date}都可以。",
        "请别约在{time}之后。",
    ),
    Language.JA: (
        "{date}は行けません。",
        "{date}以外でお願いします。",
        "{time}以降でお願いします。",
        "{date}だけ空いています。",
    ),
    Language.AR: (
        "لا أستطيع الحضور يوم {date}.",
        "أي يوم باستثناء {date} مناسب لي.",
        "أريد الموعد قبل {date} من فضلك.",
    ),
}
"""Sentences of which each value is ruled out, or bounds what the user wants."""
