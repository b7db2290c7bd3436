"""What stands in quotation marks, and what is to be passed on word for word."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosswind.injectors.conversation import Conversation, Ref, ToolList, ToolSchema, UserText
from crosswind.injectors.engine.messages import perturb_messages
from crosswind.injectors.engine.plan import Assignment, Seed, make_plan
from crosswind.injectors.profiles.load import load
from crosswind.injectors.text.entities import find_protected_spans
from crosswind.injectors.text.quotations import find_literals, find_open_end, find_passed_on, find_plain_names
from crosswind.studies.audit import words

LONG = "Dear support, please confirm that my order for 150 shares was carried out. " * 4
NOTE = (
    "I've decided to drop those large, old stocks from my line-up, and the users' small garden is dry. Do "
    "water it on Friday, as I told you. It's the cheaper way"
)

PASSED_ON = {
    "long": (f"Send Jane the message '{LONG}Thank you.'. My user id is USR001.", f"{LONG}Thank you."),
    "apostrophes": (f"Send my friend a note stating, '{NOTE}.' My user id is USR002.", NOTE),
    "lines": (f'Post this:\n"Hello,\n\n{NOTE},\nsee you"\non my page.', f"Hello,\n\n{NOTE},\nsee you"),
    "no space behind": (
        f"See that they get the message '{NOTE}?'in their inbox. I am in a hurry.",
        f"{NOTE}?",
    ),
    "no end": (f"Open a ticket labeled 'Urgent: Issue' with the description '{NOTE}.", NOTE),
    "no end, double": (f'Please tweet "{NOTE}', NOTE),
    "curly": (f"Send Bob “{NOTE}” and then ‘{NOTE}’, please.", NOTE),
    "guillemets": (f"Send Bob « {NOTE} » please. Or »{NOTE}«, maybe.", NOTE),
    "German": (f"Send Bob „{NOTE}“ please.", NOTE),
    "backticks": (f"Write `{NOTE}` into the file, please.", NOTE),
    "no quotes, colon": (f"Toss a tweet out. Here is the post content I am thinking about:{NOTE}", NOTE),
    "no quotes, saying": (
        "Please post a comment saying great old friends we have. Thanks!",
        "great old friends we have",
    ),
    "no quotes, content": (
        "Create notes.txt with the content sunny days are here again. Then show me the list, please.",
        "sunny days are here again",
    ),
    "no quotes, message": (
        "Send the message hello dear old friend, see you soon. I am USR001.",
        "hello dear old friend, see you soon",
    ),
    "no quotes, tweet": (
        "Could you tweet sunny morning in the large garden? Many thanks.",
        "sunny morning in the large garden",
    ),
}
"""Messages of users, each with what must reach the agent as it is."""

PARAMETERS = {
    "user_id": {"type": "string"},
    "day": {"type": "string", "format": "date"},
    "shares": {"type": "integer"},
}
TOOLS = ToolList([ToolSchema("post", "", {"properties": PARAMETERS})])

PROFILES = (
    *(
        ("noisyagent/all", level, kind)
        for level in (3, 5)
        for kind in ("user.inconsistent", "user.redundant")
    ),
    ("noisyagent", 5, "user.typos"),
    ("chaos/confused-users", None, None),
)


@pytest.mark.parametrize("name", PASSED_ON)
def test_what_is_passed_on_is_protected_whole_and_the_audit_knows_it(name: str) -> None:
    text, literal = PASSED_ON[name]
    at = text.index(literal)
    spans = find_protected_spans(text)
    assert any(start <= at and at + len(literal) <= end for start, end in spans), spans
    assert not name.startswith(("no quotes, saying", "no quotes, content")) or find_open_end(text) is None
    if not name.startswith("no quotes") or name.endswith("colon"):
        spoilt = text.replace("stocks", "stokcs").replace("confirm", "confrim")
        assert words.find_missing(text, text) == [] != words.find_missing(text, spoilt)


@pytest.mark.parametrize("profile,level,kind", PROFILES)
def test_no_noise_touches_what_is_passed_on(profile: str, level: int | None, kind: str | None) -> None:
    acted = 0
    for text, literal in PASSED_ON.values():
        for seed in range(12):
            plan = make_plan(
                load(profile), Seed(seed, "s"), Assignment("noisy", noise_type=kind, level=level)
            )
            item = UserText(Ref(0), text, "text:a", 0)
            [new] = perturb_messages(plan, Conversation((item,), TOOLS), {}).new
            assert literal in (new.text or text), (seed, new.text)
            acted += new.text is not None
    assert acted > 20


@pytest.mark.parametrize(
    "text,quoted",
    [
        ("I don't know the users' folder, and it's 5' 10\" tall", []),
        ("'tis a pity, rock 'n' roll is from the '60s", ["'n'"]),
        ('a 27" screen and a 24" one', []),
        ('he said "they said "no" to me" today', ['"they said "no" to me"']),
        ("the 'a' and the 'b c', please", ["'a'", "'b c'"]),
        ("l'heure d'été n'est pas 'à vous'", ["'à vous'"]),
        ('他说"你好"然后“再见”了', ['"你好"', "“再见”"]),
        ("run ```a\n\nb``` and `c d` now", ["```a\n\nb```", "`c d`"]),
        ("``a ` b`` is code", ["``a ` b``"]),
        ("»Text« and „Wort“ and «mot» and ”ord”", ["»Text«", "„Wort“", "«mot»", "”ord”"]),
        ("an `open one\n\nand more", ["`open one"]),
        ('an "open one\n\nand more', ['"open one\n\nand more']),
        ("Send a message to Bob about the delay.", []),
        ("Please tweet about it. I saw the tweet you posted.", []),
        ("I got a message saying that it is late.", []),
        ("Delete the message with id: 67", []),
    ],
)
def test_quotations_are_told_from_apostrophes_inches_and_reports(text: str, quoted: list[str]) -> None:
    assert [text[one.start : one.end] for one in find_literals(text)] == quoted


@pytest.mark.parametrize(
    "text,names",
    [
        ("Move it into the communal folder, then list the research directory.", ["communal", "research"]),
        ("a playlist called summer hits in my new folder", ["summer hits"]),
        ("Open the file, the whole document and another branch.", []),
    ],
)
def test_words_are_names_by_the_words_beside_them(text: str, names: list[str]) -> None:
    assert [text[start:end] for start, end in find_plain_names(text)] == names


@pytest.mark.parametrize(
    "text,kept",
    [
        (
            "log a minor incident on stand B12: the loader scraped the sill, released by maintenance",
            "the loader",
        ),
        ("Open a ticket for gate 4: printer keeps jamming", "printer"),
        ("Melde einen Schaden an Stand 4: Das Band hat die Tür gestreift", "Das Band"),
        ("Schreib eine Nachricht mit dem Text wir sitzen im 1. Rang rechts", "wir sitzen"),
        ("I want to report a problem: the parcel hasn't arrived yet", None),
        ("Report a problem: the parcel hasn't arrived, can you check where it is?", None),
        ("Log a payment for invoice: 1234 please", None),
        ("The error log says: nothing was found there", None),
    ],
)
def test_an_account_that_is_put_on_record_runs_to_the_end(text: str, kept: str | None) -> None:
    assert find_open_end(text) == (None if kept is None else text[text.index(kept) :])


LEADING = (
    "send Jane a Message |post this note|NOTES: |note id: |reply with |Saying, |which reads|with the text as "
)
LEADING += (
    "|subject is |tweet |a tweet |as follows:|leave a short comment about|echo |hello there|It was |. |\n"
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(LEADING.split("|")), max_size=8))
def test_what_is_passed_on_is_the_same_behind_another_script(pieces: list[str]) -> None:
    text = "".join(pieces)
    alone = [(one.start, one.end, one.closed) for one in find_passed_on(text)]
    behind = [(one.start - 3, one.end - 3, one.closed) for one in find_passed_on(f"é\n\n{text}")]
    assert alone == behind


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab '\"`“”‘’«»„\n.s:", max_size=60))
def test_literals_lie_in_the_text_and_an_open_end_ends_it(text: str) -> None:
    assert all(0 <= one.start < one.end <= len(text) for one in find_literals(text))
    open_end = find_open_end(text)
    assert open_end is None or text.rstrip().endswith(open_end)
