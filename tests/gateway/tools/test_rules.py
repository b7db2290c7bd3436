"""Which HTTP requests are calls of a tool, and with which arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crosswind.gateway.tools.openapi import load_document, read_openapi
from crosswind.gateway.tools.output_schema import is_valid
from crosswind.gateway.tools.rules import HttpRules, parse_rules

JSON = "application/json; charset=utf-8"


def rules(*values: dict[str, Any], **settings: bool) -> HttpRules:
    return HttpRules(parse_rules(list(values)), **settings)


def call(of: HttpRules, method: str, url: str, body: object = None, content_type: str = JSON) -> Any:
    raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    found = of.find(method, url)
    made = None if found is None else found.read(content_type, raw)
    return made and (made.tool, json.loads(made.arguments))


def test_arguments_come_from_path_query_and_body() -> None:
    ours = rules(
        {
            "tool": "update_item",
            "method": "PUT",
            "path": "/orders/{order_id}/items/{item}.json",
            "types": {"order_id": "integer", "tag": "array", "dry": "boolean"},
        }
    )
    made = call(ours, "put", "/orders/17/items/a%2Fb.json?tag=x&dry=true&n=1&n=2", {"count": 3})
    assert made == (
        "update_item",
        {"order_id": 17, "item": "a/b", "tag": ["x"], "dry": True, "n": ["1", "2"], "count": 3},
    )
    assert call(ours, "GET", "/orders/17/items/a.json") is None
    assert call(ours, "PUT", "/orders/17/items/a/b.json") is None
    assert call(ours, "PUT", "/orders/x/items/y.json?dry=perhaps")[1]["dry"] == "perhaps"


def test_an_api_with_one_address_names_tool_and_arguments_in_the_body() -> None:
    ours = rules(
        {
            "path": "/rpc",
            "tool_at": "/method",
            "arguments_at": "/params",
            "ignore": ["/meta/request", "/nonce"],
        }
    )
    body = {"method": "pay", "params": {"sum": 3, "nonce": 9, "meta": {"request": 1, "kept": True}}, "id": 5}
    assert call(ours, "POST", "/rpc", body) == ("pay", {"sum": 3, "meta": {"kept": True}})
    assert call(ours, "POST", "/rpc", {"method": "list"}) == ("list", {})
    assert call(ours, "POST", "/rpc", {"method": 3}) is None
    assert call(ours, "POST", "/rpc", b"not JSON") is None
    assert call(ours, "POST", "/rpc") is None


def test_bodies_that_are_no_json_object() -> None:
    ours = rules({"tool": "put", "path": "/files/{path*}"})
    assert call(ours, "POST", "/files/a/b?c=", [1, 2]) == ("put", {"path": "a/b", "c": "", "body": [1, 2]})
    form = call(ours, "POST", "/files/a", b"x=1&y=2&y=3", "application/x-www-form-urlencoded")
    assert form == ("put", {"path": "a", "x": "1", "y": ["2", "3"]})
    one, other = (call(ours, "POST", "/files/a", raw, "image/png")[1]["body"] for raw in (b"\xff1", b"\xff2"))
    assert one != other and len(one) == 32
    large = call(ours, "POST", "/files/a", b"[" + b"1," * 600_000 + b"1]")
    assert len(large[1]["body"]) == 32


def test_hosts_and_order() -> None:
    ours = rules(
        {"tool": "first", "path": "/a", "host": "*.example.com"},
        {"tool": "local", "path": "/a", "host": "127.0.0.1:*"},
        {"tool": "any", "path": "/a"},
    )
    assert call(ours, "GET", "https://user@API.example.com:443/a")[0] == "first"
    assert call(ours, "GET", "http://127.0.0.1:9000/a")[0] == "local"
    assert call(ours, "GET", "http://example.org/a")[0] == "any"
    assert call(ours, "HEAD", "http://example.org/a") is None
    assert call(ours, "GET", "http://example.org") is None


def test_a_tool_is_inferred_from_an_address_that_is_no_models() -> None:
    ours = HttpRules(infer=True)
    assert call(ours, "GET", "http://x/api/v1/orders/17/items?n=2") == (
        "get_api_orders_items",
        {"path": "/api/v1/orders/17/items", "n": "2"},
    )
    assert call(ours, "POST", "http://x/v1/chat/completions", {"model": "m"}) is None
    assert call(ours, "OPTIONS", "http://x/orders") is None
    assert call(HttpRules(), "GET", "http://x/orders") is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"path": "/a"}, "rules[0]: give either `tool`"),
        ({"tool": "a", "tool_at": "/b", "path": "/a"}, "rules[0]: give either `tool`"),
        ({"tool": "a", "path": "a"}, "rules[0].path: "),
        ({"tool": "a", "path": "/{b}/{b}"}, "the same parameter twice"),
        ({"tool": "a", "path": "/{b"}, "open brace"),
        ({"tool": "a", "path": "/a", "methode": "GET"}, "unknown field `methode`"),
        ({"tool": "a", "path": "/a", "method": "GET,POST"}, "rules[0].method"),
        ({"tool": "a", "path": "/a", "types": {"b": "int"}}, "rules[0].types"),
        ("a", "rules[0]: "),
    ],
)
def test_a_faulty_rule_says_what_is_wrong(value: object, said: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_rules([value])
    assert said in str(raised.value)
    with pytest.raises(ValueError, match="give a list"):
        parse_rules("rules")


DOCUMENT = {
    "openapi": "3.0.3",
    "servers": [{"url": "https://api.example.com/v2/"}],
    "paths": {
        "/orders/{id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "get": {
                "operationId": "getOrder",
                "description": "Read an order.",
                "responses": {
                    "404": {"description": "none"},
                    "200": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}
                    },
                },
            },
        },
        "/orders/latest": {"get": {"summary": "The latest.", "responses": {}}},
        "/orders": {
            "post": {
                "operationId": "createOrder",
                "parameters": [{"name": "X-Trace", "in": "header"}],
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}
                },
                "responses": {},
            }
        },
    },
    "components": {
        "parameters": {"Id": {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}},
        "schemas": {
            "Order": {
                "type": "object",
                "required": ["price"],
                "properties": {
                    "price": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "example": 3},
                    "note": {"type": "string", "nullable": True},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Order"}},
                },
            }
        },
    },
}


def test_openapi_gives_rules_tools_types_and_outputs() -> None:
    api = read_openapi(DOCUMENT)
    ours = HttpRules(api.rules)
    assert call(ours, "GET", "/orders/17") == ("getOrder", {"id": 17})
    assert call(ours, "GET", "/v2/orders/17") == ("getOrder", {"id": 17})
    assert call(ours, "GET", "/orders/latest") == ("get_orders_latest", {})
    tools = {tool.name: tool for tool in api.tools}
    assert tools["getOrder"].description == "Read an order."
    assert tools["getOrder"].parameters == {
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "required": ["id"],
    }
    created = tools["createOrder"].parameters
    assert set(created["properties"]) == {"price", "note", "parts"} and created["required"] == ["price"]
    output = api.outputs["getOrder"]
    assert is_valid({"price": 2, "note": None, "parts": [{"price": 1.5}]}, output)
    assert not is_valid({"price": 0}, output)
    assert not is_valid({"price": 2, "parts": [{"price": "1"}]}, output)


def test_a_day_in_an_openapi_document_is_text() -> None:
    schema = "{type: string, format: date, default: 2026-12-03}"
    operation = f"{{operationId: find, parameters: [{{name: day, in: query, schema: {schema}}}]}}"
    api = read_openapi(load_document(f"openapi: 3.0.0\npaths: {{/slots: {{get: {operation}}}}}"))
    assert api.tools[0].parameters["properties"]["day"]["default"] == "2026-12-03"


def test_openapi_on_its_hosts() -> None:
    ours = HttpRules(read_openapi(DOCUMENT, on_hosts=True).rules)
    assert call(ours, "GET", "https://api.example.com/v2/orders/17") == ("getOrder", {"id": 17})
    assert call(ours, "GET", "https://api.example.com/orders/17") is None
    assert call(ours, "GET", "https://other.example.com/v2/orders/17") is None


@pytest.mark.parametrize("document", [None, [], {"swagger": "2.0"}, {"openapi": "3.1.0", "paths": {}}])
def test_what_is_no_openapi_document_says_so(document: object) -> None:
    with pytest.raises(ValueError, match="OpenAPI"):
        read_openapi(document)
