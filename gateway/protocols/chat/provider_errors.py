"""Chat Completions of a provider out of sorts."""

from __future__ import annotations

import time
from typing import Any

from crosswind.gateway.errors import ServiceError
from crosswind.gateway.http.sse import DONE
from crosswind.gateway.protocols.document import encode
from crosswind.gateway.protocols.faults import Fault
from crosswind.gateway.protocols.provider_errors import picked, refusal, shortened
from crosswind.gateway.protocols.request import Request
from crosswind.injectors.identity import digest


class ChatForms:
    """The forms of Chat Completions."""

    def refusal(self, fault: Fault) -> ServiceError:
        return refusal(
            fault,
            too_long="This model's maximum context length is exceeded. Please reduce the messages.",
            param="messages",
        )

    def blank(self, request: Request, kind: str) -> dict[str, Any]:
        finish = "content_filter" if kind == "content_filter" else "stop"
        choices = [
            {"index": index, "message": {"role": "assistant", "content": ""}, "finish_reason": finish}
            for index in range(request.choices)
        ]
        return {
            "id": f"chatcmpl-{digest(request.document.body.decode('utf-8', 'replace'))[:24]}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.model,
            "choices": choices,
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }

    def edited(self, answer: dict[str, Any], fault: Fault, request: Request) -> dict[str, Any] | None:
        choice = answer["choices"][0] if answer.get("choices") else {}
        message = choice.get("message") or {}
        calls, text = message.get("tool_calls") or [], message.get("content") or ""
        functions = [call["function"] for call in calls if isinstance(call.get("function"), dict)]
        match fault.settings["edit"]:
            case "length_cut" if text:
                message["content"] = shortened(text, fault.number("keep"))
                message.pop("tool_calls", None)
                choice["finish_reason"] = "length"
            case "malformed_arguments" if functions:
                function = functions[picked(len(functions), fault)]
                function["arguments"] = shortened(function["arguments"], fault.number("keep"))
            case "unknown_tool" if functions:
                functions[picked(len(functions), fault)]["name"] += fault.settings["suffix"]
            case "duplicated_call_id" if len(calls) > 1:
                for call in calls:
                    call["id"] = calls[0]["id"]
            case _:
                return None
        return answer

    def events(self, answer: dict[str, Any], request: Request) -> bytes:
        head: dict[str, Any] = {name: answer[name] for name in ("id", "created", "model") if name in answer}
        head["object"] = "chat.completion.chunk"
        deltas: list[dict[str, Any]] = []
        for choice in answer["choices"]:
            index, message = choice["index"], choice["message"]
            calls = [{"index": at, **call} for at, call in enumerate(message.get("tool_calls") or ())]
            opening = {**message, "content": "" if message.get("content") else None}
            opening.pop("tool_calls", None)
            said = [{"content": word} for word in _words(message.get("content") or "")]
            called = [{"tool_calls": [call]} for call in calls]
            deltas += [
                {"index": index, "delta": delta, "finish_reason": None} for delta in (opening, *said, *called)
            ]
            deltas.append({"index": index, "delta": {}, "finish_reason": choice["finish_reason"]})
        chunks = [{**head, "choices": [delta]} for delta in deltas]
        if "usage" in request.asked and answer.get("usage"):
            chunks.append({**head, "choices": [], "usage": answer["usage"]})
        return b"".join(b"data: " + raw + b"\n\n" for raw in (*map(encode, chunks), DONE))

    def has_content(self, data: bytes) -> bool:
        return b'"content":"' in data.replace(b" ", b"") or b'"tool_calls"' in data


def _words(text: str) -> list[str]:
    """A text in pieces, as engines stream it."""
    pieces = text.split(" ")
    return [*(f"{piece} " for piece in pieces[:-1]), pieces[-1]] if text else []
