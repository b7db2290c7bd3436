"""`crosswind http serve` between httpx and an API."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.forward.api import ENCODERS, ITEMS, LARGE
from tests.gateway.forward.conftest import Proxy, Served, write_profile

Serve = Callable[..., Proxy]


def client(proxy: Proxy, **settings: Any) -> httpx.Client:
    trust = ssl.create_default_context(cafile=str(proxy.authority))
    return httpx.Client(proxy=proxy.url, verify=trust, trust_env=False, **settings)


def outcomes(proxy: Proxy) -> list[str]:
    return [one["draw"]["outcome"] for one in proxy.read_events() if one["operator"] == "call"]


def test_without_noise_every_body_is_as_the_api_sent_it(serve: Serve, api: Served) -> None:
    proxy = serve()
    with client(proxy) as through, httpx.Client(verify=False, trust_env=False) as direct:
        for base in (api.url, api.secure_url):
            for path in ("/a", *(f"/encoded/{one}" for one in ENCODERS), "/chunked", "/events", "/missing"):
                with through.stream("GET", base + path) as ours, direct.stream("GET", base + path) as theirs:
                    assert ours.status_code == theirs.status_code
                    assert b"".join(ours.iter_raw()) == b"".join(theirs.iter_raw())
                    assert _headers(ours) == _headers(theirs)
            assert through.get(f"{base}/large").content == LARGE
            assert through.post(f"{base}/orders", json={"n": 1}).json()["state"] == "paid"
    assert len(api.api.orders) == 2
    assert all("proxy-authorization" not in headers for _, _, headers, _ in api.api.seen)
    assert set(outcomes(proxy)) == {"answered", "tool_error"}


def _headers(answer: httpx.Response) -> list[tuple[str, str]]:
    return [(name, value) for name, value in answer.headers.multi_items() if name != "date"]


def test_a_call_fails_before_it_is_delivered_and_the_same_call_made_again_passes(
    serve: Serve, api: Served, tmp_path: Path
) -> None:
    proxy = serve("--profile", write_profile(tmp_path, {"operator": "tool.timeout", "severity": 1.0}))
    with client(proxy) as through:
        failed = through.post(f"{api.secure_url}/orders", json={"sum": 5})
        assert failed.status_code == 504 and not api.api.orders
        assert failed.headers["content-type"] == "application/json"
        assert through.post(f"{api.secure_url}/orders", json={"sum": 5}).json()["state"] == "paid"
    assert api.api.orders == [{"sum": 5}]
    assert outcomes(proxy) == ["injected", "answered"]
    ended = [one for one in proxy.read_events() if one["operator"] == "call"]
    assert ended[1]["attempt"] == 1 and ended[1]["draw"]["recovered"] is True
    assert {one["session"] for one in ended} == {"s1"}


@pytest.mark.parametrize(
    ("operator", "status", "header"),
    [("tool.rate_limit", 429, "retry-after"), ("tool.auth_error", 401, "www-authenticate")],
)
def test_a_call_that_openapi_describes_is_refused_as_apis_do(
    serve: Serve, api: Served, tmp_path: Path, operator: str, status: int, header: str
) -> None:
    parameter = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    document = {
        "openapi": "3.1.0",
        "servers": [{"url": api.secure_url}],
        "paths": {"/items/{id}": {"get": {"operationId": "getItem", "parameters": [parameter]}}},
    }
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    profile = write_profile(tmp_path, {"operator": operator, "severity": 1.0})
    proxy = serve("--profile", profile, "--openapi", tmp_path / "openapi.json")
    with client(proxy) as through:
        refused = through.get(f"{api.secure_url}/items/17")
        assert refused.status_code == status and header in refused.headers
        assert through.get(f"{api.secure_url}/items/17").status_code == 200
        assert through.get(f"{api.url}/items/17").status_code == 200
    assert {(one["tool"], one["link"]) for one in proxy.read_events()} == {
        ("getItem", api.secure_url.removeprefix("https://"))
    }


@pytest.mark.parametrize("path", ["/a", *(f"/encoded/{one}" for one in ENCODERS), "/chunked"])
def test_a_result_is_changed_in_whatever_encoding_it_comes(
    serve: Serve, api: Served, tmp_path: Path, path: str
) -> None:
    proxy = serve("--profile", write_profile(tmp_path, {"operator": "tool.redundant", "severity": 1.0}))
    with client(proxy) as through:
        answer = through.get(api.url + path)
    assert answer.status_code == 200 and "etag" not in answer.headers
    assert answer.text != json.dumps(ITEMS)
    assert ITEMS["items"][3]["title"] in answer.text
    encoding = path.rpartition("/")[2]
    assert answer.headers.get("content-encoding") == (encoding if path.startswith("/encoded") else None)


def test_events_of_a_stream_are_changed_one_by_one(serve: Serve, api: Served, tmp_path: Path) -> None:
    proxy = serve("--profile", write_profile(tmp_path, {"operator": "tool.redundant", "severity": 1.0}))
    with client(proxy) as through:
        text = through.get(f"{api.url}/events").text
    events = text.removesuffix("\n\n").split("\n\n")
    assert len(events) == 5
    for number, event in enumerate(events):
        name, event_id, data = event.split("\n", 2)
        assert (name, event_id) == ("event: item", f"id: {number}")
        changed = "\n".join(line.removeprefix("data: ") for line in data.split("\n"))
        assert f"Blue lamp number {number}" in changed
    assert any("data: " + json.dumps({"title": f"Blue lamp number {n}"}) not in events[n] for n in range(5))


def test_events_of_a_stream_are_cut_only_by_opt_in_and_stalled_without(
    serve: Serve, api: Served, tmp_path: Path
) -> None:
    stall = {"operator": "transport.sse_stall", "severity": 0.01}
    cut = {"operator": "transport.sse_cut", "severity": 1.0}
    proxy = serve("--profile", write_profile(tmp_path, stall, cut), "--may-repeat", "get_events")
    with client(proxy) as through, httpx.Client(trust_env=False) as direct:
        for url in (api.url, api.secure_url):
            whole = direct.get(f"{api.url}/events/12").text
            got = b""
            with (
                pytest.raises(httpx.RemoteProtocolError),
                through.stream("GET", f"{url}/events/12") as cut_off,
            ):
                for piece in cut_off.iter_raw():
                    got += piece
            assert whole.encode().startswith(got) and 0 < len(got) < len(whole)
            assert through.get(f"{url}/events/12").text == whole
            assert through.get(f"{url}/ticks/12").text == whole
    events = proxy.read_events()
    told = [(one["tool"], one["draw"]["outcome"]) for one in events if one["operator"] == "call"]
    passed = [("get_events", "answered"), ("get_ticks", "answered")]
    assert told == [("get_events", "injected"), *passed] * 2
    acted = {(one["tool"], one["operator"]) for one in events if one.get("after")}
    assert {("get_events", cut["operator"]), ("get_events", stall["operator"])} <= acted
    assert ("get_ticks", stall["operator"]) in acted and ("get_ticks", cut["operator"]) not in acted


def test_an_answer_that_no_rule_is_for_is_not_held(serve: Serve, api: Served, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {tool: order, method: POST, path: /orders}\n")
    profile = write_profile(tmp_path, {"operator": "tool.timeout", "severity": 1.0})
    proxy = serve("--profile", profile, "--rules", rules)
    with client(proxy) as through:
        assert through.get(f"{api.url}/a").status_code == 200
        assert through.get(f"{api.url}/large").content == LARGE
        assert through.post(f"{api.url}/orders", json={}).status_code == 504
    assert [one["tool"] for one in proxy.read_events()] == ["order"] * 2
    assert "3 requests came through (python-httpx 3): 1 call of tools, 1 with noise" in proxy.said()


def test_an_answer_is_cut_after_its_call_was_carried_out_only_by_opt_in(
    serve: Serve, api: Served, tmp_path: Path
) -> None:
    profile = write_profile(tmp_path, {"operator": "transport.truncated_body", "severity": 1.0})
    proxy = serve("--profile", profile, "--may-repeat", "post_orders")
    with client(proxy) as through:
        with pytest.raises(httpx.RemoteProtocolError):
            through.post(f"{api.url}/orders", json={"sum": 1})
        assert through.get(f"{api.url}/a").json()["path"] == "/a"
    assert api.api.orders == [{"sum": 1}]


def test_a_connection_is_reset_before_the_call_is_delivered(
    serve: Serve, api: Served, tmp_path: Path
) -> None:
    profile = write_profile(tmp_path, {"operator": "transport.reset", "severity": 1.0})
    proxy = serve("--profile", profile, "--may-repeat", "post_orders")
    with client(proxy) as through:
        with pytest.raises(httpx.TransportError):
            through.post(f"{api.secure_url}/orders", json={"sum": 2})
        for _ in range(3):
            if (answer := _try(through, api)) is not None:
                break
    assert answer is not None and answer.json()["state"] == "paid"


def _try(through: httpx.Client, api: Served) -> httpx.Response | None:
    try:
        return through.post(f"{api.secure_url}/orders", json={"sum": 2})
    except httpx.TransportError:
        return None


def test_a_duplicated_delivery_needs_an_opt_in(serve: Serve, api: Served, tmp_path: Path) -> None:
    profile = write_profile(tmp_path, {"operator": "transport.duplicated_delivery", "severity": 1.0})
    proxy = serve("--profile", profile, "--may-repeat", "post_orders")
    with client(proxy) as through:
        for number in range(3):
            assert through.post(f"{api.url}/orders", json={"sum": number}).status_code == 200
            assert through.get(f"{api.url}/a?n={number}").status_code == 200
    counted = [sum(one == {"sum": number} for one in api.api.orders) for number in range(3)]
    assert max(counted) == 2 and all(one in (1, 2) for one in counted)
    assert sum(method == "GET" for method, *_ in api.api.seen) == 3


def test_a_client_names_its_session_by_credentials_and_is_asked_for_them(serve: Serve, api: Served) -> None:
    proxy = serve()
    address = proxy.url.rpartition("@")[2]
    trust = ssl.create_default_context(cafile=str(proxy.authority))
    with httpx.Client(proxy=f"http://{address}", verify=trust, trust_env=False) as nameless:
        assert nameless.get(f"{api.url}/a").status_code == 407
        with pytest.raises(httpx.ProxyError, match="407"):
            nameless.get(f"{api.secure_url}/a")
    for name in ("one", "two"):
        with httpx.Client(proxy=f"http://{name}:x@{address}", verify=trust, trust_env=False) as named:
            assert named.get(f"{api.secure_url}/a").status_code == 200
    assert [one["session"] for one in proxy.read_events()] == ["one", "two"]


def test_in_reverse_mode_a_header_names_the_session(serve: Serve, api: Served) -> None:
    proxy = serve("--session", "other")
    with httpx.Client(trust_env=False) as plain:
        headers = {"x-crosswind-session": "mine", "authorization": "Bearer k"}
        assert plain.get(f"{proxy.reverse}/a", headers=headers).json()["path"] == "/a"
        assert plain.get(f"{proxy.reverse}/b").json()["path"] == "/b"
    assert [one["session"] for one in proxy.read_events()] == ["mine", "other"]
    assert api.api.seen[0][2]["authorization"] == "Bearer k"
    assert "x-crosswind-session" not in api.api.seen[0][2]


def test_an_api_that_is_down_is_the_apis_own_failure(serve: Serve, api: Served) -> None:
    proxy = serve()
    with client(proxy) as through:
        assert through.get("http://127.0.0.1:9/a").status_code == 502
    assert outcomes(proxy) == ["unanswered"]


def test_a_dry_run_changes_nothing_and_says_what_it_would_have(
    serve: Serve, api: Served, tmp_path: Path
) -> None:
    profile = write_profile(tmp_path, {"operator": "tool.timeout", "severity": 1.0})
    proxy = serve("--profile", profile, "--dry-run")
    long = "orders/17/" + "very-" * 20 + "long"
    with client(proxy) as through:
        assert through.get(f"{api.url}/a").status_code == 200
        assert through.get(f"{api.url}/{long}").status_code == 200
    assert proxy.read_events()[0]["note"].startswith("Dry run, nothing was done")
    said = proxy.said().partition("a dry run, nothing was done\n")[2].splitlines()
    assert [line.split() for line in said[:2]] == [
        ["tool", "class", "calls", "would", "be", "hit", "by", "times"],
        ["get_a", "read_only", "1", "tool.timeout", "1"],
    ]
    assert said[2].startswith("get_orders_very") and said[3].split() == [
        "read_only",
        "1",
        "tool.timeout",
        "1",
    ]
    assert max(map(len, (*said[:2], said[3]))) <= 80


def test_noise_that_fails_passes_everything_on(serve: Serve, api: Served, tmp_path: Path) -> None:
    """The events' folder is gone under the proxy: whatever fails inside, the client sees the API."""
    profile = write_profile(tmp_path, {"operator": "tool.redundant", "severity": 1.0})
    proxy = serve("--profile", profile, "--events", "/dev/full")
    with client(proxy) as through:
        for path in ("/a", "/events", "/chunked", "/missing", "/large"):
            assert through.get(api.url + path).status_code == (404 if path == "/missing" else 200)
        assert through.post(f"{api.secure_url}/orders", json={"sum": 1}).json()["state"] == "paid"
    assert len(api.api.orders) == 1
    assert "the noise failed" in proxy.said()


def test_a_client_that_refuses_the_certificate_gets_the_host_unopened_from_then_on(
    serve: Serve, api: Served
) -> None:
    proxy = serve()
    trust = ssl.create_default_context(cafile=str(api.certificate))  # It pins the API's own.
    with httpx.Client(proxy=proxy.url, verify=trust, trust_env=False) as pinning:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            pinning.get(f"{api.secure_url}/a")
        assert pinning.get(f"{api.secure_url}/a").json()["path"] == "/a"
    assert "a client refused the proxy's certificate 1 time;" in proxy.said()


def test_a_client_that_leaves_settles_its_call(serve: Serve, api: Served) -> None:
    proxy = serve()
    port = int(proxy.reverse.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as leaving:
        leaving.sendall(b"GET /hang HTTP/1.1\r\nhost: api\r\n\r\n")
        assert api.api.arrived.wait(60)
    with proxy.events.open() as events:
        while not (line := events.readline()):
            time.sleep(0.02)
    assert json.loads(line)["draw"]["outcome"] == "cancelled"


def test_what_no_rule_is_for_is_passed_on_piece_by_piece(serve: Serve, api: Served, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {tool: order, method: POST, path: /orders}\n")
    proxy = serve("--rules", rules)
    with client(proxy) as through, through.stream("GET", f"{api.url}/drip") as answer:
        pieces = answer.iter_bytes()
        assert next(pieces) == b"first"
        api.api.release.set()
        assert next(pieces) == b"second"


def test_no_order_is_lost_or_doubled_in_any_interleaving(serve: Serve, api: Served, tmp_path: Path) -> None:
    """Many sessions, each with draws of its own; in each, orders side by side by clients that try again."""
    operators = ("tool.execution_failure", "tool.timeout", "transport.reset", "transport.duplicated_delivery")
    rules = [{"operator": one, "severity": 0.3, "when": {}} for one in operators]
    bounds = {"faults_per_session": 1000, "events_per_session": 1000}
    proxy = serve("--profile", write_profile(tmp_path, *rules, bounds=bounds))

    def order(item: str) -> bool:
        session = item.partition("-")[0]
        named = proxy.url.replace("s1:", f"{session}:")
        with httpx.Client(proxy=named, verify=False, trust_env=False) as through:
            for _ in range(8):
                with contextlib.suppress(httpx.TransportError):
                    if through.post(f"{api.url}/orders", json={"item": item}).status_code == 200:
                        return True
        return False

    items = [f"s{session}-{number}" for session in range(20) for number in range(4)]
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(order, items))
    assert sorted(one["item"] for one in api.api.orders) == sorted(items)
    assert outcomes(proxy).count("injected") > len(items) / 4
