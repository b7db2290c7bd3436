"""LangChain's chat models with tools bound, and LangGraph's agent on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from tests.clients import shop
from tests.clients.job import MODEL, Desk, Job, Outcome, Row, put_questions
from tests.clients.patience import Unusable, asking_again, final, usable

COMPLETE = ("stop", "tool_calls", "end_turn", "tool_use", "completed")

MakeModel = Callable[[Job], Any]


def chat(job: Job) -> Any:
    return ChatOpenAI(
        model=MODEL, base_url=job.base_url, api_key=job.api_key, max_retries=0, stream_usage=True
    )  # type: ignore[arg-type]


def responses(job: Job) -> Any:
    return ChatOpenAI(
        model=MODEL,
        base_url=job.base_url,
        api_key=job.api_key,  # type: ignore[arg-type]
        max_retries=0,
        use_responses_api=True,
        output_version="responses/v1",
    )


def messages(job: Job) -> Any:
    return ChatAnthropic(  # type: ignore[call-arg]
        model=MODEL, base_url=job.anthropic_base_url, api_key=job.api_key, max_retries=0, max_tokens=2000
    )


def tools(desk: Desk) -> list[StructuredTool]:
    def made(name: str, description: str, parameters: dict[str, Any]) -> StructuredTool:
        return StructuredTool(
            name=name,
            description=description,
            args_schema=parameters,
            func=lambda **arguments: desk.run(name, arguments),
        )

    return [made(name, *rest) for name, rest in shop.TOOLS.items()]


async def by_hand(job: Job, *, make: MakeModel) -> Outcome:
    """A chat model with tools bound; the application calls the tools."""
    desk, history = Desk(), list[Any]([SystemMessage(shop.SYSTEM)])
    model = make(job).bind_tools(tools(desk))

    async def ask() -> tuple[str, list[Any]]:
        message = await asking_again(job, partial(_said, model, history, job.stream))
        history.append(message)
        return message.text, [
            ToolMessage(desk.run(call["name"], call["args"]), tool_call_id=call["id"])
            for call in message.tool_calls
        ]

    answers = await put_questions(history, ask, message=HumanMessage)
    return Outcome(answers, desk.calls, [_shown(one) for one in history])


async def _said(model: Any, history: list[Any], streamed: bool) -> Any:
    if streamed:
        message: Any = None
        async for chunk in model.astream(history):
            message = chunk if message is None else message + chunk
    else:
        message = await model.ainvoke(history)
    told = message.response_metadata
    end = told.get("finish_reason") or told.get("stop_reason") or told.get("status")
    calls = [(call["id"], call["name"], call["args"]) for call in message.tool_calls]
    if message.invalid_tool_calls:
        raise Unusable(f"arguments are no JSON: {message.invalid_tool_calls}")
    usable(message.text, calls, ended=end in COMPLETE)
    return message


async def by_graph(job: Job, *, make: MakeModel) -> Outcome:
    """LangGraph: a node that asks the model, and one that calls the tools."""
    desk, outcome = Desk(), Outcome()
    bound = make(job).bind_tools(tools(desk))

    async def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    built = StateGraph(MessagesState)
    built.add_node("ask", ask)
    built.add_node("tools", ToolNode(tools(desk)))
    built.add_edge(START, "ask")
    built.add_conditional_edges("ask", tools_condition, ["tools", END])
    built.add_edge("tools", "ask")
    graph = built.compile()
    history: list[Any] = [SystemMessage(shop.SYSTEM)]
    for question in shop.QUESTIONS:
        given: Any = {"messages": [*history, HumanMessage(question)]}
        history = await asking_again(job, partial(_ran, graph, given, job.stream))
        outcome.answers.append(history[-1].text)
    outcome.calls = sorted(desk.calls, key=json.dumps)
    outcome.history = [_shown(one) for one in history]
    return outcome


async def _ran(graph: Any, given: Any, streamed: bool) -> list[Any]:
    """The messages after a question."""
    config: Any = {"recursion_limit": 60}
    state: Any = None
    if streamed:
        # In this mode the graph makes its models stream, token by token.
        async for mode, part in graph.astream(given, config, stream_mode=["messages", "values"]):
            if mode == "values":
                state = part
    else:
        state = await graph.ainvoke(given, config)
    messages: list[Any] = state["messages"]
    if messages[-1].invalid_tool_calls:
        raise Unusable(f"arguments are no JSON: {messages[-1].invalid_tool_calls}")
    final(messages[-1].text)
    return messages


def _shown(message: Any) -> Any:
    """A message without the ids that LangChain itself draws at random."""
    shown = message.model_dump(mode="json", exclude={"id"} if not isinstance(message, AIMessage) else set())
    if str(shown.get("id")).startswith("lc_run"):
        del shown["id"]
    shown.pop("chunk_position", None)
    return shown


ROWS = tuple(
    Row(client, protocol, partial(converse, make=make), f"pypi:{package}")
    for client, converse, own in (("LangChain", by_hand, None), ("LangGraph", by_graph, "langgraph"))
    for protocol, make, package in (
        ("Chat Completions", chat, own or "langchain-openai"),
        ("Responses", responses, own or "langchain-openai"),
        ("Messages", messages, own or "langchain-anthropic"),
    )
)
