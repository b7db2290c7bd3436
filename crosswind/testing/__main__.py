"""`python -m crosswind.testing`: a provider that echoes, for trying a client or the gateway by hand."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import click

from crosswind.testing import Answer, Dialogue, MessageItem, ScriptedProvider


def echo(dialogue: Dialogue) -> Answer:
    """Repeats the user's last message."""
    said = [item.text for item in dialogue.items if isinstance(item, MessageItem) and item.role == "user"]
    return Answer(f"You said: {said[-1] if said else ''}")


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0: a free one.", show_default=True)
@click.option("--answer", help="Always this text, instead of an echo.")
def main(port: int, answer: str | None) -> None:
    """Serve Chat Completions, Responses, Messages, Completions and Embeddings without a model."""

    async def serve() -> None:
        step = echo if answer is None else Answer(answer)
        async with ScriptedProvider(step, strict=False, keep=False, port=port) as provider:
            click.echo(f"scripted provider at {provider.base_url}")
            await asyncio.Event().wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())


if __name__ == "__main__":
    main()
