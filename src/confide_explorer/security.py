"""Who is answered: the browser that has the token, at the address that was printed, from pages of our own.

A page of somebody else that is open in the same browser can send requests to this machine. It does not know the token,
its cookie is not sent along (SameSite), a name of its own that it points here is not in the list of hosts, and what
changes anything must come from our own pages.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: bytes of a body (a release that is larger is for the command line, and no upload is ever written to a temporary
#: file, which begins at 2²⁰), and of the query of an address
LARGEST_BODY, LARGEST_QUERY = 1_000_000, 16_000
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # of our own pages only: without it a browser says of a form that it comes from nowhere
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Middleware that lets a request through, or says why not."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self.cookie = f"confide-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        refused = self._refuses(scope)
        guarded = _with_headers(send)
        if refused is not None:
            await refused(scope, receive, guarded)
            return
        body = await _whole(receive)
        if body is None:
            told = PlainTextResponse("This is larger than 1 MB: read it with confide infer.", 413)
            await told(scope, receive, guarded)
            return
        await self.app(scope, _again(body, receive), guarded)

    def _refuses(self, scope: Scope) -> Response | None:
        headers, method = Headers(scope=scope), scope["method"]
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return PlainTextResponse("This address is not the one that confide explore printed.", 400)
        if method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Only GET and POST are understood.", 405)
        if len(scope["query_string"]) > LARGEST_QUERY:
            return PlainTextResponse("The address is too long.", 414)
        if not self._known(scope, headers):
            return PlainTextResponse("Open the whole address that confide explore printed, with its token.", 403)
        if method == "POST" and headers.get("origin") != f"http://{hosts[0]}":
            return PlainTextResponse("This did not come from a page of the explorer.", 403)
        if method == "GET" and "token" in QueryParams(scope["query_string"]):
            # it is in the cookie from now on, and in no address that is copied
            moved = RedirectResponse("/", 303)
            moved.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
            return moved
        return None

    def _known(self, scope: Scope, headers: Headers) -> bool:
        given = QueryParams(scope["query_string"]).get("token") if scope["method"] == "GET" else None
        if given is None:
            given = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        return hmac.compare_digest(given.encode(), self.token.encode())


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            told = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            names = {name for name, _ in told}
            message["headers"] = [each for each in message.get("headers", []) if each[0] not in names] + told
        await send(message)

    return guarded


async def _whole(receive: Receive) -> bytes | None:
    """The body, None if it is too large."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """The same body for who reads it next, then whatever follows."""
    told = [False]

    async def once() -> Message:
        if told[0]:
            return await receive()
        told[0] = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once
