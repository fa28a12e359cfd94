"""`explore`: a local page."""

from __future__ import annotations

from confide.errors import IncompatibleError, InvalidArgument


def explore(port: int, browser: bool) -> None:
    """Serve the page until interrupted."""
    try:
        from confide_explorer.serving import serve
    except ModuleNotFoundError as error:
        raise IncompatibleError(f'the page needs {error.name}; pip install "confide[explore]"') from None
    try:
        serve(port, browser=browser)
    except OSError as error:
        remedy = "leave it out, and one that is free is taken"
        raise InvalidArgument("--port", port, f"cannot be used ({error.strerror})", remedy) from None
