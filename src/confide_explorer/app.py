"""The routes: a page for each screen, what is uploaded, and the computations behind them."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from confide.errors import ConfideError
from confide_explorer.jobs import Job, Jobs
from confide_explorer.pages import SCREENS, View, view
from confide_explorer.screens.number import held
from confide_explorer.security import LARGEST_BODY, Guard
from confide_explorer.state import PageState

_HERE = Path(__file__).parent
#: seconds that a page waits for what is quickly computed, before it is shown without; releases that are held
_PATIENCE, _MOST_HELD = 0.6, 50


class Explorer:
    """The application: jobs, the releases that are held in memory, and the pages."""

    def __init__(self, jobs: Jobs, patience: float = _PATIENCE) -> None:
        self.jobs, self.patience = jobs, patience
        self._held: OrderedDict[str, str] = OrderedDict()
        loader = FileSystemLoader(_HERE / "templates")
        self._templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)

    def app(self, token: str, port: int) -> Any:
        """The guarded application."""
        routes = [
            Route("/", lambda _: RedirectResponse("/know", 303)),
            *(Route(f"/{name}", self._screen(name)) for name in SCREENS),
            Route("/release", self.upload, methods=["POST"]),
            Route("/job/{key}", self.progress),
            Route("/job/{key}/{what}", self.change, methods=["POST"]),
            Route("/picture/{key}/{place:int}/{size}.svg", self.picture),
            Route("/take/{what}", self.file),
            Route("/static/{name}", self.static),
        ]
        handlers: Any = {HTTPException: _refused, Exception: _failed}
        return Guard(Starlette(routes=routes, exception_handlers=handlers), token=token, port=port)

    def _screen(self, name: str) -> Any:
        def page(request: Request) -> Response:
            state = PageState.read(request.query_params)
            return self.page(name, state, self._held.get(state.release, ""))

        return page

    def page(
        self, name: str, state: PageState, text: str, errors: dict[str, str] | None = None, typed: str = ""
    ) -> Response:
        """A screen: what was typed, what is wrong with it, and what was found if it is soon found."""
        shown = view(name, state, text, errors or {}, typed)
        jobs = [self.jobs.ask(task, told, given) for task, told, given in shown.tasks]
        until = time.monotonic() + self.patience * self.jobs.warm
        for job in jobs:
            job.over.wait(max(0.0, until - time.monotonic()))
        return HTMLResponse(self._render(shown, jobs), 422 if errors else 200)

    def _render(self, shown: View, jobs: list[Job]) -> str:
        template = self._templates.get_template(f"{shown.name}.html")
        return template.render(view=shown, state=shown.state, jobs=jobs, screens=SCREENS, here=shown.name)

    async def upload(self, request: Request) -> Response:
        """A release that was uploaded or pasted: it is public, is held in memory, and known by its digest."""
        form = await request.form(max_files=1, max_fields=60, max_part_size=LARGEST_BODY)
        try:
            state, text = PageState.read(_texts(form)), await _text(form)
        finally:
            await form.close()
        return await run_in_threadpool(self._hold, state, text)

    def _hold(self, state: PageState, text: str) -> Response:
        try:
            if not text.strip():
                raise ConfideError("nothing was pasted or chosen; paste the text of a release file, or choose the file")
            held(text)
        except ConfideError as error:
            return self.page("number", state, "", {"text": str(error)}, text)
        digest = hashlib.sha256(text.encode()).hexdigest()[:20]
        self._held[digest] = text
        while len(self._held) > _MOST_HELD:
            self._held.popitem(last=False)
        return RedirectResponse(f"/number?{state.address(release=digest)}", 303)

    def progress(self, request: Request) -> Response:
        """How far a computation is, for the script of the page."""
        job = self._job(request)
        job.asked = time.monotonic()
        what, done, total = job.progress
        return JSONResponse({"status": job.status, "what": what, "done": done, "total": total, "seconds": job.seconds})

    async def change(self, request: Request) -> Response:
        """Stop a computation, or let it begin again; then back to the page."""
        form = await request.form(max_files=0, max_fields=5, max_part_size=20_000)
        key, what = request.path_params["key"], request.path_params["what"]
        if what == "cancel":
            self.jobs.cancel(key)
        elif what == "leave":
            self.jobs.leave(key)
        elif what == "again":
            self.jobs.forget(key)
        else:
            raise HTTPException(404)
        back = str(form.get("back", ""))
        place = urlsplit(back)
        ours = not place.scheme and not place.netloc and place.path.removeprefix("/") in SCREENS
        return RedirectResponse(f"{place.path}?{place.query}" if ours else "/know", 303)

    def picture(self, request: Request) -> Response:
        """A picture of an answer, for a page or for a phone."""
        answer, place = self._job(request).answer, request.path_params["place"]
        if answer is None or place >= len(answer.drawings) or request.path_params["size"] not in ("wide", "narrow"):
            raise HTTPException(404)
        return Response(getattr(answer.drawings[place], request.path_params["size"]), media_type="image/svg+xml")

    def file(self, request: Request) -> Response:
        """The channel file or the report, to be saved."""
        files = {"channel.toml": "application/toml", "report.html": "text/html", "script.py": "text/x-python"}
        what = request.path_params["what"]
        shown = view("take", PageState.read(request.query_params), "", {}, "")
        if what not in files or not shown.tasks:
            raise HTTPException(404)
        job = self.jobs.ask(*shown.tasks[0])
        job.over.wait(self.patience)
        if job.answer is None:  # it is still computed: the page shows how far it is
            return RedirectResponse(f"/take?{shown.state.address()}", 303)
        content = {
            "channel.toml": job.answer.channel_file,
            "report.html": job.answer.page,
            "script.py": job.answer.script,
        }
        kept = {"Content-Disposition": f'attachment; filename="{what}"'}
        return Response(content[what], media_type=files[what], headers=kept)

    def static(self, request: Request) -> Response:
        """The style and the script."""
        kinds = {"style.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
        name = request.path_params["name"]
        if name not in kinds:
            raise HTTPException(404)
        return Response((_HERE / "static" / name).read_text(encoding="utf-8"), media_type=kinds[name])

    def _job(self, request: Request) -> Job:
        job = self.jobs.find(request.path_params["key"])
        if job is None:
            raise HTTPException(404)
        return job


def _texts(form: FormData) -> dict[str, str]:
    return {name: value for name, value in form.items() if isinstance(value, str)}


async def _text(form: FormData) -> str:
    """What was chosen, or else what was pasted."""
    chosen = form.get("file")
    if isinstance(chosen, UploadFile) and chosen.filename:
        content = await chosen.read()
        return content.decode("utf-8", errors="replace")
    return str(form.get("text", ""))


def _refused(_: Request, error: HTTPException) -> Response:
    told = {404: "There is no such page.", 405: "Only GET and POST are understood."}
    return PlainTextResponse(told.get(error.status_code, "This request cannot be understood."), error.status_code)


def _failed(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"An unexpected error ({type(error).__name__}). Go back, and change what was asked.", 500)
