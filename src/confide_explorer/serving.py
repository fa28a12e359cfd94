"""`confide explore`: the server, on this machine only."""

from __future__ import annotations

import secrets
import socket
import webbrowser

import uvicorn

from confide_explorer.app import Explorer
from confide_explorer.jobs import Jobs

#: connections side by side: a browser opens six
_MOST_CONNECTIONS = 64


def serve(port: int = 0, *, browser: bool = True) -> None:
    """Serve the page until interrupted; port 0 is any that is free."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    # before the address is printed, so that whoever opens it at once waits and is not refused
    listening.listen(_MOST_CONNECTIONS)
    port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    jobs = Jobs()
    jobs.start()
    app = Explorer(jobs).app(token, port)
    # no log: an address holds what was typed, and the first one the token
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, date_header=False,
        limit_concurrency=_MOST_CONNECTIONS, timeout_keep_alive=5, timeout_graceful_shutdown=1, ws="none",
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}/?token={token}"
    print(
        f"Confide is open at {address}\nIt is for this machine only; no data ever reach it. Stop it with Ctrl-C.",
        flush=True,
    )
    if browser:
        webbrowser.open(address)
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        jobs.stop()
        listening.close()
