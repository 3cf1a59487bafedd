"""Ends streams, which last as long as a client listens, when the server ends."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send


async def until(closing: asyncio.Event, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Serve a stream; when `closing` is set, the application is told that the client has gone."""
    whole = False

    async def hear() -> Message:
        hearing, ending = asyncio.ensure_future(receive()), asyncio.ensure_future(closing.wait())
        try:
            await asyncio.wait({hearing, ending}, return_when=asyncio.FIRST_COMPLETED)
            return hearing.result() if hearing.done() else {"type": "http.disconnect"}
        finally:
            hearing.cancel()
            ending.cancel()

    async def say(message: Message) -> None:
        nonlocal whole
        whole = message["type"] == "http.response.body" and not message.get("more_body", False)
        await send(message)

    await app(scope, hear, say)
    if closing.is_set() and not whole:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
