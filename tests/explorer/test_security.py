"""Who is answered, what a hostile request gets, and what is imported."""

import html
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import confide as cf
from confide_explorer.pages import SCREENS
from confide_explorer.security import LARGEST_BODY
from tests.explorer.conftest import HERE, PORT, TOKEN, AtOnce, client_of

PAGES = [*(f"/{name}" for name in SCREENS), "/static/style.css", "/static/page.js"]


def test_the_token_is_asked_for_everywhere_and_leaves_the_address():
    stranger = client_of(AtOnce(never=True), known=False)
    for path in [*PAGES, "/", "/job/0", "/picture/0/0/wide.svg", "/take/report.html"]:
        assert stranger.get(path).status_code == 403, path
    assert stranger.post("/release", data={"text": "x"}).status_code == 403
    assert stranger.get("/?token=another").status_code == 403
    assert stranger.post(f"/release?token={TOKEN}", data={"text": "x"}).status_code == 403
    first = stranger.get(f"/?token={TOKEN}")
    assert first.status_code == 303 and TOKEN not in first.headers["location"]
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert stranger.get("/number").status_code == 200


def test_another_host_and_another_origin_are_refused(idle):
    for host in ("evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT}.evil.example", ""):
        assert idle.get("/know", headers={"host": host}).status_code == 400, host
    assert idle.get("/know", headers={"host": f"localhost:{PORT}"}).status_code in (200, 403)
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{PORT + 1}", f"https://127.0.0.1:{PORT}"):
        assert idle.post("/release", data={"text": "x"}, headers={"origin": origin}).status_code == 403, origin
    del idle.headers["origin"]
    assert idle.post("/release", data={"text": "x"}).status_code == 403


def test_every_answer_has_a_strict_policy(idle):
    for path in [*PAGES, "/nowhere", "/picture/0/0/wide.svg"]:
        headers = idle.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"


def test_pages_have_no_script_and_no_style_of_their_own_and_ask_nothing_from_outside(client):
    query = "statistics=mean+abs(x)%0Amean+x**2&published=mean+x&value=1&scale=1&count=9"
    for name in SCREENS:
        page = client.get(f"/{name}?{query}").text
        assert page.count("<script") == page.count('<script src="/static/page.js"') == 1
        assert " style=" not in page and "<style" not in page and " on" + "click" not in page
        assert "http://" not in page.replace(HERE, "") and "https://" not in page and 'src="//' not in page


def test_no_page_tells_where_it_runs(client):
    here = {str(Path.home()), str(Path.cwd()), sys.prefix, str(Path(__file__).parents[2])} - {"/", "/root"}
    answers = [client.get(path).text for path in [*PAGES, "/nowhere", "/statistic?statistics=mean+(x", "/take"]]
    answers.append(client.post("/release", data={"text": '{"format": "confide-release", "version": 2}'}).text)
    for text in answers:
        assert not [place for place in here if place in text]
        assert "site-packages" not in text and '.py"' not in text.replace("script.py", "")


def test_what_is_too_large_is_refused(idle):
    assert idle.post("/release", data={"text": "x" * (LARGEST_BODY + 1)}).status_code == 413
    assert idle.get("/know?n=" + "1" * 20_000).status_code == 414
    assert idle.get("/know?n=" + "1" * 10_000).status_code == 200


PIECES = ["", "%", "%00", "%ff%fe", "=", "&", "[", "{}", "<script>", "'", '"', "\\", "../../etc/passwd", "%2e%2e%2f", "1e999",
          "-1", "nan", "inf", "9" * 400, "x" * 3000, "mean x", "mean " + "(" * 200, "x**x**x", "__import__('os')", "{{7*7}}",
          "normal(1)", "quantile 2 x", "mean x on 1 0", "each x", "histogram a: 1", "count", "é", "\u202e", "0", "1,2"]  # fmt: skip


def test_a_thousand_malformed_requests_get_an_answer_and_no_traceback(idle):
    from dataclasses import fields

    from confide_explorer.state import PageState

    random.seed(20)
    names = [each.name for each in fields(PageState)] + ["token", "text", "file", "back", "unknown"]
    paths = [*PAGES, "/", "/release", "/job/x", "/job/x/cancel", "/job/x/again", "/job/x/what", "/picture/x/0/wide.svg",
             "/picture/x/-1/narrow.svg", "/picture/x/0/svg.svg", "/take/channel.toml", "/take/..", "/static/../app.py", "/static/app.py", "//", "/%00"]  # fmt: skip
    kinds = ["application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=b", "text/plain",
             "application/json", "\xff", "multipart/form-data; boundary=" + "b" * 500]  # fmt: skip
    for _ in range(1000):
        method = random.choice(
            ["GET", "GET", "POST", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "X"]
        )
        query = "&".join(f"{random.choice(names)}={random.choice(PIECES)}" for _ in range(random.randrange(6)))
        path = random.choice(paths)
        body = random.choice([b"", query.encode(), b"--b\r\n", random.randbytes(200), b"text=%7B", b"&" * 500,
                              b'--b\r\nContent-Disposition: form-data; name="file"; filename="../x"\r\n\r\n{}\r\n--b--\r\n'])  # fmt: skip
        headers = {"content-type": random.choice(kinds).encode("latin-1"), "cookie": f"confide-{PORT}={TOKEN}"}
        if random.random() < 0.2:
            headers["origin"] = random.choice(["null", "http://x", ""])
        answer = idle.request(method, f"{path}?{query}".replace("\\", "%5C"), content=body, headers=headers)
        assert answer.status_code in (200, 303, 400, 403, 404, 405, 413, 414, 422), (
            method,
            path,
            query,
            body,
            answer.text,
        )
        assert "Traceback" not in answer.text and "File " not in answer.text


def test_the_explorer_imports_nothing_that_reads_data():
    """Neither in its text nor while it computes."""
    folder = Path(__file__).parents[2] / "src" / "confide_explorer"
    for path in folder.rglob("*.py"):
        assert "confide.releasing" not in path.read_text() and "confide_cli.publish" not in path.read_text(), path
    code = """
import sys
from confide_explorer import app, serving, jobs, worker
from confide_explorer.state import PageState
told = PageState(published="mean x", value="1", scale="1", count="9", statistics="mean x\\nmean abs(x)")
for name in ("know", "rank", "number", "take"):
    assert worker.compute(name, told, "")[0] == "done", name
assert not [name for name in sys.modules if name.startswith(("confide.releasing", "opendp", "ibis", "duckdb"))]
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert made.returncode == 0, made.stderr[-2000:]


@pytest.mark.parametrize(
    "name", ["https://evil.example/know", "//evil.example/know", "/release", "know", "", "javascript:x"]
)
def test_going_back_stays_here(idle, name):
    answer = idle.post("/job/x/cancel", data={"back": name})
    assert answer.status_code == 303 and answer.headers["location"] in ("/know", "know?", "/know?")


BAD = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'{{7*7}}"


def leaves(told, path=()):
    """Where the texts of a file are."""
    if isinstance(told, str):
        yield path
    elif isinstance(told, dict | list):
        for at, each in told.items() if isinstance(told, dict) else enumerate(told):
            yield from leaves(each, (*path, at))


def test_a_script_in_any_text_of_a_release_file_is_shown_as_text_or_refused(idle, tmp_path):
    """One text after the other, the rest of the file being right; and as the name of every field."""
    channel = cf.Channel(cf.Histogram("ward", categories=["a", "b"]), cf.Laplace(scale=2.0, step=1), n=98)
    cf.Release(channel, [57.0, 40.0, 1.0], dataset="people", purpose="a trial", part="north").save(tmp_path / "r.json")
    whole = json.loads((tmp_path / "r.json").read_text())
    places = list(leaves(whole))
    assert len(places) > 10
    files = []
    for place in places:
        changed = json.loads(json.dumps(whole))
        inside = changed
        for at in place[:-1]:
            inside = inside[at]
        inside[place[-1]] = BAD
        files.append(changed)
    files += [{BAD if name == other else other: each for other, each in whole.items()} for name in whole]
    for file in files:
        answer = idle.post("/release", data={"text": json.dumps(file)})
        assert answer.status_code in (303, 422), file
        shown = idle.get(answer.headers["location"]) if answer.status_code == 303 else answer
        assert "<script>alert" not in shown.text and "<img src=x" not in shown.text and "Traceback" not in shown.text
        # what was pasted is there as it was, and was computed by nobody
        assert answer.status_code == 303 or "{{7*7}}" in html.unescape(shown.text)


def test_a_script_in_any_field_is_shown_as_text(idle):
    from dataclasses import fields

    from confide_explorer.state import PageState

    for each in fields(PageState):
        for name in SCREENS:
            page = idle.get(f"/{name}", params={"column_b": "age", each.name: BAD}).text
            assert "<script>alert" not in page and "<img src=x" not in page, (name, each.name)
