"""What is said in a shop's chat, in plain English: the instructions, requests and tools that the benchmark's
conversations are made of. Noise acts on words that mean something: an operator that reads texts leaves
strings of random words alone, and a gateway that leaves its texts alone is fast.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

_INSTRUCTIONS = (
    "You serve the customers of a shop that sells clothes and things for the home.",
    "Look things up before you act, and say what you did.",
    "Ask for the order's number if the customer hasn't told it.",
    "Never change an order without having shown the customer what will change.",
    "Only orders that have not been shipped can be changed or cancelled.",
    "A delivered item can be returned within thirty days, with its label on it.",
    "Refunds go to the card or the account that paid, and take three to five days.",
    "Vouchers can't be paid out, and only one of them counts for each order.",
    "If an item is out of stock, offer the same one in another colour first.",
    "Sale items can be exchanged for another size, but not returned.",
    "Parcels over twenty kilos are brought by a carrier of their own, on weekdays.",
    "An address in another country needs a new order, since duties are paid with it.",
    "Don't promise a day of delivery: name the carrier's estimate and call it that.",
    "Write short answers, without lists, and thank nobody for waiting.",
    "If two tools disagree, trust the order rather than the parcel's record.",
    "When a tool fails, try it once more before you tell the customer about it.",
    "Lamps and mirrors are checked before they leave; broken ones are replaced at no cost.",
    "Hand the chat to a colleague when the customer asks for one.",
    "Gift wrapping costs four pounds and can be added until the parcel is packed.",
    "Invoices are sent by mail as soon as the order is complete.",
    "Payment by invoice is offered to companies only, after their first three orders.",
    "Do not tell one customer anything about another one's orders.",
    "Prices include taxes; shipping is free from sixty pounds on.",
    "A size that doesn't fit may be exchanged twice, after that it is returned.",
)

_OPENINGS = (
    "Hi, I'd like to change something about my order {order} before it leaves; my address is {address}.",
    "Hello, could you please have a look at order {order} for me? I have moved and live at {address}.",
    "There was a mistake when I ordered, so please send order {order} to {address} instead.",
    "My order {order} still hasn't come, although it should have been at {address} last week.",
    "I am not happy with the {item} from order {order} and want to return it for my money back.",
    "Can you tell me what has happened to order {order}? It was meant as a present for my mother.",
    "The {item} in order {order} doesn't fit, so I need to exchange it for size {size} if I can.",
    "I have changed my mind: please cancel the {item} in order {order} and keep everything else.",
)

_DETAILS = (
    "The {item} should come in {colour}, size {size}.",
    "Someone is at home on {day} after {hour} in the afternoon.",
    "I paid {price} pounds for the {item}, with the card that ends in {digits}.",
    "If the {item} isn't in stock in {colour}, take the {colour} one in size {size}.",
    "Please leave the parcel with the neighbour at {address} if nobody opens.",
    "The {item} that I ordered on {day} was too small for me.",
    "I would like to have the refund by {day}, on the account that paid.",
    "My voucher over {price} pounds should count for the {item} as well.",
    "The label on the box says {colour}, but the {item} in it is {colour}.",
    "Send the invoice for the {item} to the office in {city}, please.",
    "My sister in {city} wants the same {item}, so order {number} of them.",
    "The carrier told me that the {item} would be here on {day}.",
)

_ITEMS = (
    "wool jacket",
    "cotton shirt",
    "desk lamp",
    "rain coat",
    "leather belt",
    "coffee table",
    "running shoes",
    "winter scarf",
    "linen curtain",
    "bread knife",
    "garden chair",
    "travel bag",
    "wall mirror",
    "denim skirt",
    "tea pot",
    "reading chair",
)
_COLOURS = ("blue", "dark green", "grey", "black", "red", "cream", "brown", "white")
_SIZES = ("S", "M", "L", "XL", "38", "40", "42")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_STREETS = ("Mill Lane", "Church Road", "Station Street", "Park Avenue", "Oak Close", "Bridge Street")
_CITIES = ("Bristol", "Leeds", "Norwich", "Exeter", "York", "Durham", "Bath")

LOOK_UPS = ("get_shipment", "get_invoice", "get_product", "get_ticket")
"""The tools that conversations call, plainly reads, so that all their results may be failed. No system behind
them has to say so much beside its results that it would repeat itself."""
_ORDER_PARAMETER = (
    "order_id",
    "The order's number, such as W000123, as it stands in the customer's confirmation.",
)

_TOOLS = (
    (LOOK_UPS[0], "Show where an order's parcels are, and what is in them.", "carrier", "Who brings them."),
    (
        LOOK_UPS[1],
        "Show what an order's items cost, and what is paid.",
        "currency",
        "Pounds, or another one.",
    ),
    (LOOK_UPS[2], "Show the products of an order as the shop lists them.", "colour", "One colour only."),
    (LOOK_UPS[3], "Show what was asked and answered on an order before.", "day", "Since which day."),
    ("change_address", "Send an order to another address.", "address", "Street, house number and city."),
    ("cancel_item", "Cancel one item of an order that hasn't been shipped.", "item", "The item's name."),
    ("exchange_item", "Exchange an item for another size of it.", "size", "The new size, such as M or 42."),
    ("refund_item", "Pay back what an item of an order has cost.", "reason", "Why it is paid back."),
    ("plan_delivery", "Choose the day on which an order is delivered.", "day", "A day of this week."),
    ("apply_voucher", "Take a voucher off the total of an order.", "amount", "The voucher, in pounds."),
    ("book_pickup", "Have the carrier collect a parcel that is returned.", "hour", "From when on."),
    ("hand_over", "Give the chat about an order to a colleague.", "summary", "What has been said so far."),
)


def write_instructions(rng: random.Random, size: int) -> str:
    """A system prompt of about so many characters."""
    first, *others = _INSTRUCTIONS
    return _lengthen(first, rng.sample(others, len(others)), size)


def write_request(rng: random.Random, size: int) -> str:
    """A user's message of about so many characters. Its values fill parameters of the declared tools."""
    order = f"W{rng.randint(100_000, 999_999)}"
    asks = _fill(rng, rng.choice(_OPENINGS).replace("{order}", order))
    details = [_fill(rng, detail) for detail in rng.sample(_DETAILS, len(_DETAILS))]
    return _lengthen(asks, details, size)


def draw_city(rng: random.Random) -> str:
    """Where an order goes."""
    return rng.choice(_CITIES)


def draw_item(rng: random.Random) -> str:
    """The name of something that is sold."""
    return f"{rng.choice(_ITEMS)}, {rng.choice(_COLOURS)}"


def declare_tool(number: int) -> dict[str, object]:
    """The tool of that number as the request declares it, of about 350 characters."""
    name, about, second, meant = _TOOLS[number % len(_TOOLS)]
    order, described = _ORDER_PARAMETER
    properties = {
        order: {"type": "string", "description": described},
        second: {"type": "string", "description": meant},
    }
    parameters = {"type": "object", "properties": properties, "required": [order]}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


def _fill(rng: random.Random, text: str) -> str:
    """The sentence with a value drawn for each of its gaps."""
    address = f"{rng.randint(1, 99)} {rng.choice(_STREETS)}, {rng.choice(_CITIES)}"
    drawn: dict[str, Callable[[], str]] = {
        "{address}": lambda: address,
        "{item}": lambda: rng.choice(_ITEMS),
        "{colour}": lambda: rng.choice(_COLOURS),
        "{size}": lambda: rng.choice(_SIZES),
        "{day}": lambda: rng.choice(_DAYS),
        "{hour}": lambda: f"{rng.randint(1, 5)}:30",
        "{price}": lambda: f"{rng.randint(5, 90)}.50",
        "{digits}": lambda: str(rng.randint(1000, 9999)),
        "{city}": lambda: rng.choice(_CITIES),
        "{number}": lambda: str(rng.randint(2, 6)),
    }
    for gap, draw in drawn.items():
        while gap in text:
            text = text.replace(gap, draw(), 1)
    return text


def _lengthen(text: str, sentences: Sequence[str], size: int) -> str:
    """The text with so many sentences behind it that it has the size."""
    for sentence in sentences:
        if len(text) >= size:
            break
        text += " " + sentence
    return text
