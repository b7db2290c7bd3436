"""Vocabularies of tools' results: a false value is another word of the same list."""

from __future__ import annotations

import re

from crosswind.injectors.operators.words.foreign_vocabularies import (
    FOREIGN_LIFECYCLES,
    FOREIGN_VOCABULARIES,
    read_lists,
)
from crosswind.injectors.text.languages import Language
from crosswind.injectors.text.word_lists import make_phrases
from crosswind.injectors.values.known_names import CITIES, GIVEN_NAMES

_ENGLISH_LIFECYCLES = (
    ("pending", "cancelled"),
    ("pending", "shipped", "delivered", "returned"),
    ("pending", "confirmed", "cancelled"),
    ("open", "closed"),
    ("assigned", "in progress", "resolved"),
    ("scheduled", "boarding", "departed", "landed"),
    ("pending", "completed"),
    ("queued", "in_progress", "completed"),
    ("inactive", "active", "suspended"),
    ("unpaid", "authorised", "paid", "refunded"),
    ("stopped", "running"),
    ("unlocked", "locked"),
    ("released", "pressed"),
    ("disengaged", "engaged"),
    ("off", "on"),
    ("offline", "online"),
    ("disconnected", "connected"),
    ("disabled", "enabled"),
    ("preliminary", "final"),
    ("read", "unread"),
    ("idle", "heating"),
    ("filed", "adjourned", "decided"),
    ("anchored", "moored", "underway"),
    ("admitted", "discharged"),
    ("draft", "published", "archived"),
    ("waitlisted", "booked", "attended"),
)
UNDER_WAY = (
    ("new", "open", "on hold"),
    ("pending", "processing", "confirmed", "queued", "scheduled"),
)
"""States of what has just been asked for."""
LIFECYCLES = (*_ENGLISH_LIFECYCLES, *FOREIGN_LIFECYCLES)
"""States in their order: an older snapshot of a thing shows an earlier word."""

VOCABULARIES = (
    ("pending", "processing", "confirmed", "completed"),
    ("unavailable", "available", "reserved"),
    *_ENGLISH_LIFECYCLES,
    ("basic_economy", "economy", "premium_economy", "business", "first_class"),
    ("low", "medium", "high", "critical"),
    ("small", "medium", "large"),
    ("bronze", "silver", "gold", "platinum"),
    ("black", "white", "red", "green", "blue", "yellow", "grey"),
    ("north", "east", "south", "west"),
    ("northeast", "southeast", "southwest", "northwest"),
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ("credit_card", "debit_card", "gift_card", "bank_transfer", "paypal", "visa", "mastercard", "voucher"),
    ("UPS", "DHL", "FedEx", "DPD"),
    CITIES[Language.EN],
    ("Brazil", "Canada", "France", "Germany", "India", "Italy", "Japan", "Kenya", "Norway", "Spain"),
    ("one_way", "round_trip"),
    ("yes", "no"),
    ("sunny", "cloudy", "rainy", "snowy", "windy"),
    ("standard", "express", "overnight"),
    ("two", "three", "four", "five", "six", "seven", "eight"),
    ("morning", "afternoon", "evening"),
    ("daily", "weekly", "monthly", "quarterly", "annual"),
    ("increased", "decreased"),
    ("higher", "lower"),
    ("highest", "lowest"),
    ("before", "after"),
    ("above", "below"),
    ("inside", "outside"),
    ("larger", "smaller"),
    ("longer", "shorter"),
    ("faster", "slower"),
    ("earlier", "later"),
    ("early", "late"),
    ("positive", "negative"),
    ("minimum", "maximum"),
    ("increase", "decrease"),
    ("increases", "decreases"),
    ("growth", "decline"),
    ("improved", "declined"),
    ("rising", "falling"),
    ("strong", "weak"),
    ("fast", "slow"),
    ("January", "February", "April", "June", "July", "September", "October", "November", "December"),
    *read_lists(
        """
        spring, summer, autumn, winter
        male, female
        single, double, twin, suite
        beginner, intermediate, advanced, expert
        easy, moderate, difficult
        buy, sell
        debit, credit
        inbound, outbound
        left, right
        deposit, withdrawal
        public, private, internal
        admin, editor, viewer
        owner, member, guest
        bug, feature, task
        development, staging, production
        manual, automatic
        petrol, electric, hybrid
        sedan, hatchback, coupe, van
        cash, card, cheque
        basic, plus, premium, enterprise
        hardcover, paperback, audiobook
        fiction, biography, poetry
        drama, comedy, thriller, horror, romance
        rock, pop, jazz, folk, blues
        wood, steel, aluminium, plastic, glass
        cotton, linen, wool, silk
        timber, grain, coal
        engineering, marketing, sales, finance, legal
        technology, healthcare, energy, utilities, industrials
        cardiology, neurology, oncology, radiology
        civil, criminal, commercial
        checked in, checked out
        on display, on loan, in storage
        used, refurbished
        present, absent
        fixed, variable
        domestic, international
        indoor, outdoor
        fresh, frozen, dried
        vegan, vegetarian
        window, aisle
        clear, overcast, rain, drizzle, snow, fog
        partly cloudy, mostly cloudy
        English, French, German, Italian, Spanish, Portuguese, Dutch, Polish
        Python, Java, JavaScript, TypeScript, Ruby
        """
    ),
    *FOREIGN_VOCABULARIES,
    *(names for language, names in CITIES.items() if language is not Language.EN),
)
"""Each list holds words of one kind; in a list that has an order, neighbours stand side by side."""

_PLAIN_IN_PROSE = make_phrases(
    """
    Seattle | Brazil | sunny | north | northeast | black | three | evening | weekly | increased | higher |
    highest | before | above | inside | larger | longer | faster | earlier | early | positive | minimum |
    increase | increases | growth | improved | rising | strong | fast
    """
)
"""A word of each list whose words mean the same wherever a text has them, as they are written there."""

COUNTING = frozenset(next(words for words in VOCABULARIES if "three" in words))
"""Numbers in words, which may count what stands behind them."""

_NAMES_IN_PROSE = frozenset(GIVEN_NAMES) - {"Frank", "Jack", "Mark", "Max", "Rosa"}
"""Names that are no words, where a sentence may begin with them."""

IN_PROSE = re.compile(
    "|".join(
        rf"\b{re.escape(word)}\b"
        for words in (*VOCABULARIES, tuple(sorted(_NAMES_IN_PROSE)))
        if not {*_PLAIN_IN_PROSE, "Anna"}.isdisjoint(words)
        for word in words
    )
)
"""Words in running text for which another word of their list could stand."""
