"""No page, script, error, listing or file tells the password of a URL, in whatever form the URL holds it."""

import json
import re

import pytest

import confide as cf
from confide._redaction import redacted
from confide.errors import ConfideError
from confide.published.errors import DataError
from confide.releasing.ledger import store
from confide.reporting.script import from_environment
from confide_cli import run

MARK = "Xq7MARKER"
CHANNEL = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=2)
URLS = [
    f"postgresql://ann:{MARK}@127.0.0.1:1/db",
    f"postgresql://:{MARK}@127.0.0.1:1/db",
    f"postgresql://ann:p%40{MARK}%2F@127.0.0.1:1/db",
    f"postgresql://ann:a@b{MARK}@127.0.0.1:1/db",
    f"postgresql://ann:a/b?c#{MARK}@127.0.0.1:1/db",
    f"postgresql://ann:a b'c\"{MARK}@127.0.0.1:1/db",
    f"postgresql://127.0.0.1:1/db?user=ann&password={MARK}",
    f"postgresql://127.0.0.1:1/db?user=ann;password={MARK}",
    f"postgresql://127.0.0.1:1/db?password=a b{MARK}&sslmode=require",
    f"postgresql://127.0.0.1:1/db?sslpassword={MARK}&sslkey=/{MARK}",
    f"postgresql+psycopg://ann:{MARK}@127.0.0.1:1/db?connect_timeout=1",
    f"https://{MARK}@127.0.0.1:1/x.csv",
    f"https://127.0.0.1:1/x.csv?sv=2022&sig={MARK}%3D",
    f"https://127.0.0.1:1/x.parquet?X-Amz-Signature={MARK}&X-Amz-Security-Token={MARK}",
    f"https://127.0.0.1:1/x.xls?token={MARK}",
    f"https://127.0.0.1:1/x.csv#{MARK}",
    f"duckdb://md:db?motherduck_token={MARK}",
    f"mysql://ann:{MARK}@127.0.0.1:1/db",
    f"host=127.0.0.1 user=ann password={MARK}",
]


@pytest.mark.parametrize("url", URLS)
def test_redaction_hides_the_secret_and_keeps_the_place(url):
    for text in (url, f"--ledger={url}", redacted(url), repr(url), f"the file {redacted(url)!r} is not there"):
        assert MARK not in redacted(text) or text == repr(url)  # a bare repr of a blank or quotation mark is no URL
        assert "127.0.0.1" in redacted(text) or "md:db" in redacted(text)


@pytest.mark.parametrize(
    "text", ["budget.db", "people/*.csv", "postgresql://ann@host/db", "sqlite:////tmp/a b.db", "x**2 > 3"]
)
def test_what_holds_no_secret_stays_as_it_is(text):
    assert redacted(text) == text


def told(error):
    """All that an error tells, with those that it comes from."""
    parts = []
    while error is not None:
        parts += [str(error), repr(error), repr(getattr(error, "value", "")), repr(error.args)]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return " ".join(parts)


@pytest.mark.parametrize("url", URLS)
def test_errors_of_a_source_and_of_a_ledger(url):
    with pytest.raises(ConfideError) as caught:
        cf.release(CHANNEL, url, table="t", column="x")
    assert MARK not in told(caught.value)
    with pytest.raises(ConfideError) as caught:
        cf.Ledger(url if "://" in url else f"{url}/no/folder")
    assert MARK not in told(caught.value)
    error = DataError(f"the file {redacted(url)!r} cannot be read")
    assert MARK not in told(error)
    assert "cannot be read" in str(error)


@pytest.mark.parametrize("url", [url for url in URLS if url.startswith("postgresql")])
def test_the_place_of_a_ledger(url, monkeypatch):
    monkeypatch.setattr(store.Store, "_prepare", lambda self: ("identity", "secret"))
    try:
        book = cf.Ledger(url)
    except ConfideError as error:
        assert MARK not in told(error)
    else:
        assert MARK not in book.place + repr(book)


@pytest.mark.parametrize("url", URLS)
def test_a_release_on_the_command_line(url, monkeypatch, tmp_path, capsys):
    """The page quotes the command line twice: as it was typed, and as a script that runs again."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    opened = []

    def pretend(channel, data, **options):
        opened.append(data)
        return cf.Release(channel, 0.5)

    monkeypatch.setattr(cf, "release", pretend)
    page = tmp_path / "r.html"
    arguments = ["release", url, "--statistic", "mean x", "--bounds", "0", "1", "--privacy", "pure:1", "--n", "2"]
    assert run([*arguments, "--report", str(page), "--json"]) == 0
    assert opened == [url]  # the password is hidden from readers, not from the engine
    text, (printed, said) = page.read_text(encoding="utf-8"), capsys.readouterr()
    assert MARK not in text + printed + said
    assert "CONFIDE_DATA" in text
    script = re.search(r'<pre id="script">(.*?)</pre>', text, flags=re.DOTALL)[1].replace("&#x27;", "'")
    monkeypatch.setenv("CONFIDE_DATA", url)
    exec(script.replace("&quot;", '"').replace("&amp;", "&").replace("&gt;", ">"), {})
    assert opened == [url, url]


@pytest.mark.parametrize("url", URLS)
def test_wrong_command_lines(url, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    common = ["--statistic", "mean x", "--bounds", "0", "1", "--privacy", "pure:1", "--n", "2"]
    for arguments in (
        ["release", "x.csv", url, *common],
        ["release", "x.csv", f"--ledger={url}", "--dataset", "d", *common],
        ["release", "x.csv", "--part", url, *common],
        ["release", url, *common],
        ["ledger", url],
        ["infer", url, "--population", "normal_variance"],
        [url],
    ):
        assert run(arguments) != 0
        printed, said = capsys.readouterr()
        assert MARK not in printed + said, arguments


def test_a_script_leaves_secrets_to_the_environment():
    where, notes = from_environment({"CONFIDE_DATA": URLS[0], "CONFIDE_LEDGER": None})
    assert where == {"CONFIDE_DATA": "os.environ['CONFIDE_DATA']"}
    assert len(notes) == 1
    assert MARK not in notes[0]
    assert json.dumps(where)
