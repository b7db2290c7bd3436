"""The same agent in several frameworks, written as their users would: no base URL, no key, no session."""

import asyncio
import json
import sys

PROMPT = sys.stdin.read()


def flight_status(flight: str) -> str:
    """Read the status of a flight."""
    return json.dumps({"flight": flight, "status": "on time", "gate": "B" + flight[3:], "price": 214})


PARAMETERS = {"type": "object", "properties": {"flight": {"type": "string"}}, "required": ["flight"]}


def with_openai() -> str:
    from openai import OpenAI

    client, given = OpenAI(), [{"role": "user", "content": PROMPT}]
    tool = {"type": "function", "name": "flight_status", "description": "Reads.", "parameters": PARAMETERS}
    for _ in range(6):
        answer = client.responses.create(model="scripted", input=given, tools=[tool])
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return answer.output_text
        given += answer.output
        for call in calls:
            output = flight_status(**json.loads(call.arguments))
            given.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
    return ""


def with_anthropic() -> str:
    from anthropic import Anthropic

    client, messages = Anthropic(), [{"role": "user", "content": PROMPT}]
    tool = {"name": "flight_status", "description": "Read a flight.", "input_schema": PARAMETERS}
    for _ in range(6):
        answer = client.messages.create(model="scripted", max_tokens=100, messages=messages, tools=[tool])
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in answer.content if block.type == "text")
        messages.append({"role": "assistant", "content": answer.content})
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": flight_status(**call.input)}
            for call in calls
        ]
        messages.append({"role": "user", "content": results})
    return ""


def with_agents() -> str:
    from agents import Agent, Runner, function_tool, set_tracing_disabled

    set_tracing_disabled(True)
    agent = Agent("reader", model="scripted", tools=[function_tool(flight_status)])
    return str(asyncio.run(Runner.run(agent, PROMPT)).final_output)


def with_langgraph() -> str:
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent

    agent = create_react_agent(ChatOpenAI(model="scripted"), [tool(flight_status)])
    return str(agent.invoke({"messages": [("user", PROMPT)]})["messages"][-1].content)


if __name__ == "__main__":
    print(globals()[f"with_{sys.argv[1]}"]())
