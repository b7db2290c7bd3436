"""Vocabularies of tools' results: a false value is another word of the same list."""

from __future__ import annotations

import re

LIFECYCLES = (
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
)
"""States in their order: an older snapshot of a thing shows an earlier word."""

VOCABULARIES = (
    *LIFECYCLES,
    ("basic_economy", "economy", "premium_economy", "business", "first_class"),
    ("low", "medium", "high", "critical"),
    ("small", "medium", "large"),
    ("black", "white", "red", "green", "blue", "yellow", "grey", "silver"),
    ("north", "east", "south", "west"),
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ("credit_card", "debit_card", "gift_card", "bank_transfer", "paypal", "visa", "mastercard", "voucher"),
    ("UPS", "DHL", "FedEx", "DPD"),
    (
        *(
            "Austin",
            "Berlin",
            "Boston",
            "Chicago",
            "Dallas",
            "Denver",
            "Houston",
            "Lisbon",
            "London",
            "Madrid",
        ),
        *("Memphis", "Miami", "New York", "Omaha", "Osaka", "Paris", "Phoenix", "Rome", "Seattle", "Tampa"),
    ),
    ("Brazil", "Canada", "France", "Germany", "India", "Italy", "Japan", "Kenya", "Norway", "Spain"),
    ("one_way", "round_trip"),
    ("available", "unavailable"),
    ("yes", "no"),
    ("sunny", "cloudy", "rainy", "snowy", "windy"),
    ("standard", "express", "overnight"),
    ("two", "three", "four", "five", "six", "seven", "eight"),
    ("morning", "afternoon", "evening"),
    ("January", "February", "April", "June", "July", "September", "October", "November", "December"),
)
"""Each list holds words of one kind; in a list that has an order, neighbours stand side by side."""

_PLAIN_IN_PROSE = ("Berlin", "Brazil", "sunny", "north", "black", "three", "evening")
"""A word of each list whose words mean the same wherever a text has them, as they are written there."""

IN_PROSE = re.compile(
    "|".join(
        rf"\b{re.escape(word)}\b"
        for words in VOCABULARIES
        if not set(_PLAIN_IN_PROSE).isdisjoint(words)
        for word in words
    )
)
"""Words in running text for which another word of their list could stand."""
