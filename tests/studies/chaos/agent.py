"""An agent in the standard library that reads flights' gates, or misbehaves as its argument says."""

import json
import os
import subprocess
import sys
import time
import urllib.request

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "flight_status",
            "description": "Read the status of a flight.",
            "parameters": {"type": "object", "properties": {"flight": {"type": "string"}}},
        },
    }
]


def ask(messages, tools=TOOLS, model="scripted"):
    body = {"model": model, "messages": messages, **({"tools": tools} if tools else {})}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


def play(prompt):
    messages = [{"role": "user", "content": prompt}]
    for _ in range(6):
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for call in message["tool_calls"]:
            flight = json.loads(call["function"]["arguments"])["flight"]
            status = {"flight": flight, "status": "on time", "gate": "B" + flight[3:], "price": 214}
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(status)})
    return None


def call_over_mcp(method, params):
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    request = urllib.request.Request(
        os.environ["CROSSWIND_MCP_URL"],
        json.dumps(call).encode(),
        {"content-type": "application/json", "accept": "application/json, text/event-stream"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def main(mode):
    prompt = sys.stdin.read()
    if mode == "crash":
        ask([{"role": "user", "content": prompt}], tools=[])
        raise RuntimeError("out of ideas")
    if mode == "hang":
        ask([{"role": "user", "content": prompt}], tools=[])
        time.sleep(3600)
    if mode == "flood":
        ask([{"role": "user", "content": prompt}], tools=[])
        while True:
            print("x" * 65536)
    if mode == "toolless":
        print(ask([{"role": "user", "content": prompt}], tools=[])["content"])
    elif mode == "ignore":
        print("Gate B1.")
    elif mode == "two":
        ask([{"role": "user", "content": prompt}], tools=[], model="another")
        print(play(prompt))
    elif mode == "children":
        sleep = [sys.executable, "-c", "import time; time.sleep(3600)"]
        children = [subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)]
        print(*(child.pid for child in children), file=sys.stderr)
        print(play(prompt))
    elif mode == "mcp":
        ask([{"role": "user", "content": prompt}], tools=[])
        call_over_mcp("tools/list", {})
        called = call_over_mcp("tools/call", {"name": "get_gate", "arguments": {"flight": "HA-1"}})
        result = called.get("result") or {}
        print("error" if result.get("isError", "error" in called) else result["content"][0]["text"])
    elif mode == "json":
        print(play(prompt))
        print(json.dumps({"success": prompt.endswith("-1"), "reason": "only the first one is mine"}))
    else:
        print(play(prompt))


main(sys.argv[1] if len(sys.argv) > 1 else "")
