"""The explorer in a real browser."""

import json
import re
import time
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

import confide as cf
from tests.explorer.browser.conftest import LONG, Tab
from tests.explorer.test_pages import BESIDE, COUNTS, NUMBER, SCREEN, TWO, WRONG, WRONG_ROWS, run

pytestmark = pytest.mark.browser
#: a search over everything for two parameters, exactly: minutes, also on a machine that has nothing else to do
SLOW = "/statistic?population=gamma&precision=exact&n=3000&high1="
ROWS = "column=pain&column_b=dose&rows=linear_regression"
APART = "column=age&population=normal_mean&column_b=weight"
PRIVATE = "counting=private&population=bernoulli"


def wide(page):
    """Whether something is wider than the screen."""
    return page.locator("html").evaluate("element => element.scrollWidth > element.clientWidth + 1")


@pytest.mark.parametrize(
    ("path", "shows"),
    [
        ("/know", "outside of the bounds"),
        (f"/statistic?{TWO}&pick=mean+abs(x)", "Simulated releases"),
        ("/worth?pick=mean+x&population=bernoulli&sd1=0.05", "What it costs"),
        (f"/number?{NUMBER}", "the noise alone"),
        (f"/number?{COUNTS}", "add up to 98"),
        (f"/take?{TWO}", "channel.toml"),
        (f"/know?{ROWS}", "rows, drawn at the middle"),
        (f"/statistic?{APART}&statistics=mean+age%0Amean+age,+weight", "best linear combination"),
        (f"/statistic?{PRIVATE}&statistics=sum+1,+x%0Asum+1,+2*x", "records is assumed"),
        (f"/worth?{PRIVATE}&pick=sum+1,+x&sd1=0.05", "What it costs"),
        (f"/take?{PRIVATE}&statistics=sum+1,+x%0Asum+1,+2*x", "--neighbours add-remove"),
    ],
)
@pytest.mark.parametrize("phone", [False, True])
def test_each_screen_on_a_desk_and_on_a_phone(tab, path, shows, phone):
    if phone:
        tab.page.set_viewport_size({"width": 390, "height": 844})
    page = tab.go(path)
    page.get_by_text(shows).first.wait_for()
    for picture in page.locator("figure img").all():
        picture.scroll_into_view_if_needed()
        assert picture.evaluate("element => element.decode().then(() => element.naturalWidth)") > 100
        # letters are as large as the page's, not those of a wide picture made small
        assert picture.evaluate("element => element.currentSrc").endswith("/narrow.svg" if phone else "/wide.svg")
    for table in page.get_by_role("table").all():
        assert not table.locator("xpath=..").evaluate("element => element.scrollWidth > element.clientWidth + 1")
        # no number goes over two lines, and however it is laid out it is a table
        numbers = table.get_by_role("cell").filter(has_text=re.compile(r"^[\d.,]+%?$"))
        lines = "each => each.map(cell => { const all = document.createRange(); all.selectNodeContents(cell); return all.getClientRects().length; })"
        assert set(numbers.evaluate_all(lines)) <= {1}
        assert table.get_by_role("columnheader").count() > 1 and table.get_by_role("rowheader").count() > 0
    assert page.get_by_role("heading", level=1).count() == 1
    assert not wide(page)


@pytest.mark.parametrize("beside", [*WRONG, *WRONG_ROWS])
def test_what_is_wrong_is_said_beside_each_field_and_nothing_is_lost(tab, beside):
    screen = SCREEN.get(beside, beside)
    kept = urlencode({"value": "1"} | BESIDE[beside])
    for name, text in (WRONG | WRONG_ROWS)[beside].items():
        page = tab.go(f"/{screen}?{kept}", done=False)
        field = page.locator(f"[name={name}]:not([type=hidden])").first
        if field.evaluate("element => element.tagName") == "SELECT":
            continue  # a browser lets nobody choose what is not there; the tests in process do
        field.fill(text)
        # leave the page by the button of the field's own form
        field.evaluate("element => element.form.requestSubmit()")
        told = page.locator(f"#{name}-wrong")
        told.wait_for()
        assert page.locator(":focus").get_attribute("name") == name  # where it is mended
        assert page.locator(f"[name={name}]:not([type=hidden])").first.input_value() == text
        # both places at once, for the page may be scrolling to the field
        place = "e => e.getBoundingClientRect().y - document.getElementById(e.id.replace('-wrong', '')).getBoundingClientRect().y"
        below = told.evaluate(place)
        assert 0 < below < 250
        said = {each: told.replace("\r\n", "\n") for each, told in parse_qsl(urlsplit(page.url).query)}
        assert {"value": "1"} | BESIDE[beside] | {name: text} == {
            each: said.get(each) for each in {"value", name, *BESIDE[beside]}
        }


def test_back_forward_and_reload(tab):
    page = tab.go("/know")
    page.get_by_label("Records").fill("4321")
    page.get_by_role("button", name="Show it").click()
    page.wait_for_url(re.compile("n=4321"))
    tab.found()
    page.get_by_role("link", name="Is it worth it").first.click()
    page.wait_for_url(re.compile("worth.*n=4321"))
    page.go_back()
    page.wait_for_url(re.compile("know.*n=4321"))
    page.go_back()
    assert page.get_by_label("Records").input_value() == "1000"
    page.go_forward()
    page.wait_for_url(re.compile("n=4321"))
    page.reload()
    assert page.get_by_label("Records").input_value() == "4321"
    tab.found().get_by_text("outside of the bounds").wait_for()


def test_two_tabs_have_states_of_their_own(tab, other):
    tab.go("/know?n=111")
    other.go("/know?n=222")
    tab.page.reload()
    assert tab.page.get_by_label("Records").input_value() == "111"
    assert other.page.get_by_label("Records").input_value() == "222"
    tab.page.get_by_role("link", name="Which statistic").first.click()
    tab.page.wait_for_url(re.compile("n=111"))


def test_a_slow_computation_shows_progress_lets_one_type_and_can_be_stopped(tab, other):
    page = tab.go(f"{SLOW}{time.time()}", done=False)
    bar = page.locator("progress")
    bar.wait_for()
    page.locator(".what", has_text="families and mechanisms").wait_for(timeout=LONG * 1000)
    page.get_by_label("To compare").fill("mean x is being typed")
    first = page.locator(".seconds").inner_text()
    # another tab is answered meanwhile
    other.go("/know").get_by_text("outside of the bounds").wait_for()
    page.locator(".seconds").filter(has_not_text=re.compile(f"^{first}$")).wait_for()
    assert page.get_by_label("To compare").input_value() == "mean x is being typed"
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Stopped, as you asked").wait_for()
    page.reload()
    page.get_by_text("Stopped, as you asked").wait_for()
    # and it comes in when it is asked for after all, without touching what is being typed
    page.get_by_role("button", name="Compute it after all").click()
    page.locator("progress").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Stopped, as you asked").wait_for()


def test_a_posterior_of_a_private_number_says_how_far_it_is_and_can_be_stopped(tab):
    """One simulated release of a continuous column takes most of a minute: what happens inside of it is told."""
    listed = "sum 1, x / 10\nsum 1, x / 5 on -5 5"
    told = {"counting": "private", "population": "normal_mean", "n": str(800 + time.time_ns() % 400)}
    page = tab.go(f"/statistic?{urlencode(told | {'statistics': listed, 'pick': 'sum 1, x / 10'})}", done=False)
    page.get_by_text("records is assumed").wait_for(timeout=LONG * 1000)
    page.locator(".what", has_text=re.compile("simulated releases.*likelihoods so far")).wait_for(timeout=LONG * 1000)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Stopped, as you asked").wait_for()
    page.get_by_role("link", name="sum 1, x / 10").wait_for()  # what was found before is there still


def test_a_screen_reader_is_told_what_was_found_and_keeps_its_place(tab):
    page = tab.go(f"/know?high1=7.{time.time_ns() % 10**6}", done=False)
    button = page.get_by_role("button", name="Cancel")
    button.focus()
    said = page.locator("#said").element_handle()
    page.get_by_role("status").filter(has_text="It is being computed").wait_for()
    tab.found().get_by_role("status").filter(has_text="Before anything is published: a record is").wait_for()
    # a place that was there before is what is spoken of, and one that is taken away sends the keyboard to the top
    assert said.evaluate("element => element.isConnected && element.ariaLive") == "polite"
    assert page.locator(":focus").get_attribute("id") == "result"
    page.keyboard.press("Tab")
    assert page.locator(":focus").evaluate("element => document.getElementById('result').contains(element)")


def test_what_is_found_comes_in_where_it_belongs(tab):
    page = tab.go(f"/know?high1=7.{time.time_ns() % 10**6}", done=False)
    page.get_by_label("Column", exact=True).fill("half a wor")
    tab.found().get_by_text("outside of the bounds").wait_for()
    assert page.get_by_label("Column", exact=True).input_value() == "half a wor"


def test_the_slider_and_a_choice_take_effect_at_once(tab):
    page = tab.go("/know")
    slider = page.get_by_label("slide")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_url(re.compile("level=0.05"))
    page.locator("#promise", has_text="1.05").wait_for()
    page.get_by_label("Population", exact=True).select_option("bernoulli")
    page.wait_for_url(re.compile("population=bernoulli"))
    assert page.get_by_label("probability: between").input_value() == "0.1"


def test_a_record_becomes_a_row_and_a_number_again(tab):
    page = tab.go("/know")
    page.get_by_label("Column", exact=True).fill("pain")
    page.get_by_label("Another column").fill("dose")
    page.get_by_role("button", name="Show it").click()
    page.wait_for_url(re.compile("column_b=dose"))
    page.get_by_label("How they hang together").select_option("linear_regression")
    page.wait_for_url(re.compile("rows=linear_regression"))
    assert page.get_by_role("group", name="Column 2").get_by_label("its values: between").input_value() == "-2"
    tab.found().get_by_text("rows, drawn at the middle").wait_for()
    page.locator("#column_b").fill("")
    page.get_by_role("button", name="Show it").click()
    page.get_by_role("group", name="What is not known").wait_for()
    assert page.locator("#population").input_value() == "normal_variance"
    page.go_back()
    page.wait_for_url(re.compile("column_b=dose"))
    assert page.get_by_label("How they hang together").input_value() == "linear_regression"


def body(page, caption):
    """The texts of a table's rows."""
    rows = page.get_by_role("table", name=caption).get_by_role("row").all()[1:]
    return [row.get_by_role("rowheader").all_inner_texts() + row.get_by_role("cell").all_inner_texts() for row in rows]


def test_rows_are_planned_chosen_and_taken_along_and_their_scripts_give_the_same_numbers(tab):
    """Two columns from nothing, by keyboard and mouse, to a script that is run."""
    page = tab.go("/know")
    page.get_by_label("Column", exact=True).fill("age")
    page.get_by_label("Another column").fill("weight")
    page.get_by_role("button", name="Show it").click()
    page.wait_for_url(re.compile("column_b=weight"))
    for column in ("Column 1", "Column 2"):
        page.get_by_role("group", name=column).get_by_label("Population", exact=True).select_option("normal_mean")
        page.get_by_role("group", name=column).get_by_label("mean: between").wait_for()
    tab.found().get_by_role("table", name="How much is clipped").get_by_text("weight").wait_for()
    page.get_by_role("link", name="Next: which statistic?").click()
    page.get_by_label("Guarantee").select_option("gdp")
    page.get_by_label("To compare").fill(
        "mean age / 10, weight / 10 with gaussian\nmean age / 5, weight / 10 with gaussian"
    )
    page.get_by_role("button", name="Rank them").click()
    page.wait_for_url(re.compile("kind=gdp"))
    tab.found()
    before = body(page, "Ranked, the best first")
    page.get_by_role("link", name="mean age / 10, weight / 10 with gaussian").click()
    page.wait_for_url(re.compile("pick="))
    tab.found().get_by_text("What an analyst would know").wait_for()
    # another level: the table follows, and what was chosen stays chosen
    page.get_by_label("μ, the privacy loss").fill("0.25")
    page.get_by_label("μ, the privacy loss").press("Enter")
    page.wait_for_url(re.compile("level=0.25"))
    tab.found().get_by_text("What an analyst would know").wait_for()
    after = body(page, "Ranked, the best first")
    # Gaussian noise at a quarter of μ is four times as far from zero
    assert [float(row[-2]) for row in after] == pytest.approx([4 * float(row[-2]) for row in before], rel=2e-3)
    assert "weight clipped to [-10, 10] over 1,000 records" in page.locator(".answer").nth(1).inner_text()
    ranks, expects = page.locator("details.script").all()
    for details in (ranks, expects):
        details.locator("summary").click()
    told = run(ranks.locator("pre").inner_text())
    assert all(each in told for row in after for each in row[4:6])  # what will be known of either mean
    told = run(expects.locator("pre").inner_text())
    simulated = body(page, "Simulated releases, and what an analyst would say of each")
    assert len(simulated) == 6
    for name, _, _, mean, sd, _ in simulated:
        assert f"{name}: {mean} ± {sd}" in told
    page.get_by_role("link", name="Take it with you").click()
    assert 'statistic = "mean age / 10, weight / 10"' in tab.found().locator("article").inner_text()


def test_a_phone_shows_which_screen_it_is(tab):
    """The list of screens is wider than the page there, and scrolled to where one is."""
    tab.page.set_viewport_size({"width": 400, "height": 800})
    page = tab.go(f"/take?{TWO}")
    box = page.locator("nav [aria-current]").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 400


def test_the_keyboard_reaches_everything(tab):
    """Tab after tab: the skip link first, then whatever can be used, in the order of the page, and each has a name."""
    page = tab.go(f"/statistic?{TWO}")
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        at = page.locator(":focus")
        if at.count():
            reached.add(at.evaluate("element => element.id || element.innerText"))
    assert {"kind", "level", "slide", "statistics", "precision"} <= reached
    assert {"Rank them", "mean abs(x)", "The Python that gives these numbers"} <= {each.strip() for each in reached}


def test_without_a_script_everything_is_still_there(chromium, address):
    context = chromium.new_context(java_script_enabled=False)
    tab = Tab(context, address)
    page = tab.page
    page.goto(address)
    page.get_by_label("Records").fill("77")
    # by the keyboard: whether a button has stopped moving is found by a script, too
    page.get_by_label("Records").press("Enter")
    page.get_by_text("outside of the bounds").wait_for(timeout=LONG * 1000)  # the page asks again by itself
    assert page.get_by_label("Records").input_value() == "77"
    assert not tab.wrong, tab.wrong
    context.close()


def hostile(tmp_path):
    """A release file with a script in every text that may hold one."""
    bad = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>"
    channel = cf.Channel(cf.Histogram("ward", categories=[bad, "{{7*7}}"]), cf.Laplace(scale=2.0, step=1), n=98)
    made = cf.Release(channel, [57.0, 40.0, 1.0], dataset=bad[:60], purpose=bad, part=bad[:60])
    made.save(tmp_path / "release.json")
    return tmp_path / "release.json"


def test_a_hostile_release_file_is_shown_and_does_nothing(tab, tmp_path):
    page = tab.go("/number")
    page.get_by_label("or choose the file").set_input_files(hostile(tmp_path))
    page.get_by_role("button", name="Read the release").click()
    page.wait_for_url(re.compile("release="))
    tab.found().get_by_text("onload=alert(1)").first.wait_for()
    page.get_by_text("{{7*7}}").first.wait_for()
    assert page.locator("article img[src=x], article svg").count() == 0


@pytest.mark.parametrize(
    "junk", [b"", b"\x89PNG\r\n\x1a\n\x00\xff", b"{" * 50_000, b'{"format": "confide-release", "version": 99}']
)
def test_junk_is_refused_in_words(tab, tmp_path, junk):
    (tmp_path / "junk.json").write_bytes(junk)
    page = tab.go("/number?n=555")
    page.get_by_label("or choose the file").set_input_files(tmp_path / "junk.json")
    page.get_by_role("button", name="Read the release").click()
    page.locator("#text-wrong").wait_for()
    assert page.locator("input[type=hidden][name=n]").first.get_attribute("value") == "555"


def test_a_pasted_release_is_read(tab, tmp_path):
    channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=1000)
    cf.Release(channel, 1.31).save(tmp_path / "release.json")
    page = tab.go("/number")
    page.get_by_label("Paste it").fill(json.dumps(json.loads((tmp_path / "release.json").read_text())))
    page.get_by_role("button", name="Read the release").click()
    page.wait_for_url(re.compile("release="))
    tab.found().get_by_text("the noise alone").first.wait_for()
    page.reload()
    tab.found().get_by_text("the noise alone").first.wait_for()


def test_a_row_is_chosen_and_taken_along(tab, tmp_path):
    page = tab.go(f"/statistic?{TWO}")
    page.get_by_role("link", name="mean x**2 on -4 4").click()
    page.wait_for_url(re.compile("pick="))
    tab.found().get_by_text("Simulated releases").wait_for()
    page.get_by_role("link", name="Take it with you").click()
    tab.found()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="channel.toml").click()
    waiting.value.save_as(tmp_path / "channel.toml")
    assert 'statistic = "mean x**2"' in (tmp_path / "channel.toml").read_text()
