"""Conversations to perturb: an order desk's, and arbitrary ones for hypothesis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from crosswind.gateway.protocols.codec import SessionReader, codecs
from crosswind.gateway.protocols.history import hide_nothing
from crosswind.gateway.protocols.json_values import encode
from crosswind.injectors.conversation import Conversation

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name.replace('_', ' ')}.",
            "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}},
        },
    }
    for name in ("get_order", "search_items", "cancel_order")
]

SCRIPTS = {
    "latin": "Hello, could you please check where the parcel for #W2378156 is? Mia Garcia paid 38.50 €.",
    "german": "Guten Tag, könnten Sie bitte die Lieferung ORD-991 nach Köln prüfen? Größe XL, nicht rot.",
    "greek": "Καλημέρα, θέλω να ακυρώσω την παραγγελία ΑΒ-١٢٣ σήμερα παρακαλώ.",
    "cyrillic": "Здравствуйте, пожалуйста проверьте заказ №12345 на имя Ивана Петрова, спасибо большое.",
    "arabic": "مرحبا، أريد إلغاء الطلب رقم ١٢٣٤٥ من فضلك.",
    "hebrew": "שלום, אני רוצה לבטל את ההזמנה 12345 בבקשה.",
    "devanagari": "नमस्ते, कृपया मेरा आदेश १२३४५ रद्द करें।",
    "bengali": "অনুগ্রহ করে আমার অর্ডার ১২৩৪৫ বাতিল করুন।",
    "thai": "สวัสดีครับ กรุณายกเลิกคำสั่งซื้อ ๑๒๓๔๕ ด้วย",
    "chinese": "你好,请取消我的订单12345,谢谢。共三十八元。",
    "japanese": "こんにちは、注文番号「ORD-123」をキャンセルしてください。",
    "korean": "안녕하세요, 주문 12345 을 취소해 주세요.",
    "georgian": "გამარჯობა, გთხოვთ გააუქმოთ შეკვეთა 12345.",
    "emoji": "Please cancel 🙏🏽 my order 👩‍👩‍👧 #W1 now, thanks a lot everyone!",
    "combining": "Cafe\u0301 orders are really wonderful, please confirm re\u0301sume\u0301 number 7.",
    "surrogate": "please cancel \ud800 order 12, thanks",
}
"""One message in each of many scripts, with digits of the script's own where it has them."""


def call(tool: str, arguments: dict[str, Any], result: str, number: int) -> list[dict[str, Any]]:
    """A call by the assistant and the tool's result."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"call_{number}", "content": result},
    ]


def conversation(messages: Sequence[Any], tools: Sequence[Any] = ()) -> Conversation:
    """The view that operators see of chat messages."""
    codec = codecs()["chat"]
    split = codec.split(encode({"messages": messages, "tools": tools}))
    assert split is not None
    return codec.read(split, SessionReader(codec), hide_nothing).conversation


def order_desk(calls: int = 4) -> list[dict[str, Any]]:
    """A user asks, the agent looks the same order up again and again, the user thanks."""
    order = {"order_id": "#W2378156", "status": "delivered", "items": [{"name": "kettle", "price": 38.5}]}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You help customers."},
        {"role": "user", "content": SCRIPTS["latin"]},
    ]
    for number in range(calls):
        messages += call("get_order", {"order_id": "#W2378156"}, json.dumps(order), number)
    messages += [
        {"role": "assistant", "content": "It was delivered."},
        {"role": "user", "content": "Thank you for helping me, that was really quick."},
    ]
    return messages


texts = st.one_of(
    st.sampled_from(list(SCRIPTS.values())),
    st.text(alphabet=st.characters(exclude_categories=[]), max_size=200),
    st.text(alphabet="abcdefg ABC.,!?'\"`#@_-/:\n0123٣४", max_size=120),
)
"""Any text that a message may hold, lone surrogates included."""

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
payloads = st.one_of(
    texts,
    st.builds(json.dumps, json_values),
    st.builds(lambda value: json.dumps(value, indent=2, ensure_ascii=False), json_values),
)
"""What tools answer: JSON in several styles, and plain text."""

_steps = st.one_of(
    st.tuples(st.just("user"), texts),
    st.tuples(
        st.sampled_from(["get_order", "search_items", "cancel_order", "shop.findItems"]),
        st.sampled_from([{"order_id": "#W1"}, {"order_id": "#W2"}, {}]),
        payloads,
    ),
)


@st.composite
def conversations(draw: st.DrawFn, max_steps: int = 7) -> list[dict[str, Any]]:
    """Chat messages: users' texts and tool calls with results, often the same call again."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You help customers."}]
    for number, step in enumerate(draw(st.lists(_steps, max_size=max_steps))):
        if len(step) == 2:
            messages.append({"role": "user", "content": step[1]})
        else:
            messages += call(step[0], step[1], step[2], number)
    return messages
