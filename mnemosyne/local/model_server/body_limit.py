"""Refuse bodies that are too large, before they are in memory."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """ASGI middleware: 413 for a request with more than ``limit`` bytes, declared or sent."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what is received."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                # An HTTPException: anything else that is raised here, FastAPI reports as broken JSON.
                raise HTTPException(413, f"The body has more than the {self._limit} bytes allowed")
            return message

        await self._app(scope, counted, send)
