"""A tool that is shown otherwise than it is declared."""

from __future__ import annotations

from typing import Any

TOOL = "search_customer_orders"
ABBREVIATED = "schema.misleading_description_abbreviated"
MISMATCH = "schema.type_mismatch"
DUPLICATE = "schema.duplicate_no_description"


def tool(
    name: str = TOOL, description: str = "Search the orders of a customer.", **more: Any
) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {
            "customer": {"type": "string", "description": "The customer."},
            "limit": {"type": "integer"},
        },
        "required": ["customer"],
    }
    function = {"name": name, "description": description, "parameters": parameters, **more}
    return {"type": "function", "function": function}


def profile(*operators: str) -> str:
    rules = "".join(
        f"  - operator: {one}\n    severity: 1.0\n    when: {{probability: 1.0}}\n" for one in operators
    )
    head = "name: closed\nversion: 1\nsummary: Tools are shown otherwise.\ncompose: all_of\n"
    return f"{head}rules:\n{rules}"
