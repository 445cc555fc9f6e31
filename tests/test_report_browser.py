"""The report in a real browser: it draws, answers, and keeps to itself."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from axe import needs_axe, violations
from browsing import Visit, needs_browser
from eigenkit.cli import app
from eigenkit.report import compare_html, write_html
from report_records import classes, hostile, many, numbers

pytest.importorskip("plotly")
Image = pytest.importorskip("PIL.Image")

# Starting a browser takes longer than most tests.
pytestmark = [pytest.mark.slow, needs_browser]


def pixels(visit: Visit, selector: str) -> np.ndarray:
    visit.page.wait_for_timeout(300)
    shot = visit.page.locator(selector).screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_html(hostile(), tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def visit(browser: Any, path: Path) -> Iterator[Visit]:
    opened = Visit(browser, path)
    yield opened
    opened.context.close()


def coloured(pixels: np.ndarray) -> int:
    """Pixels that are not some gray."""
    return int(np.sum(np.ptp(pixels, axis=2) > 60))


def test_every_figure_is_drawn_without_error_or_request(visit, path):
    assert visit.errors == []
    assert visit.requests == [path.as_uri()]
    assert not visit.page.get_by_text("could not be drawn").count()
    for plot in visit.page.locator(".plot").all():
        assert plot.locator(".main-svg").count() > 0
        assert coloured(pixels(visit, f"#{plot.get_attribute('id')}")) > 100


def test_names_are_shown_as_text(visit):
    assert "<script>alert(1)</script>" in visit.page.locator("h1").inner_text()
    drawn = visit.page.locator("#plot-counts").text_content()
    assert "</script><script>alert(1)" in drawn
    assert "<b>&amp;</b>" in drawn


def test_selecting_a_label_changes_the_scatter(visit):
    before = pixels(visit, "#plot-scatter")
    boxes = visit.page.locator("#chips input")
    assert boxes.count() == 5
    for i in range(5):
        boxes.nth(i).set_checked(False, force=True)
    gray = pixels(visit, "#plot-scatter")
    assert coloured(before) > 500
    assert coloured(gray) < coloured(before) / 10
    boxes.nth(2).set_checked(True, force=True)
    assert coloured(pixels(visit, "#plot-scatter")) > 200


def test_fewer_samples_three_dimensions_and_another_method(visit):
    count = "document.getElementById('plot-scatter').data.reduce((n, t) => n + t.x.length, 0)"
    assert visit.page.evaluate(count) == 150
    visit.page.get_by_text("held out", exact=True).click()
    assert visit.page.evaluate(count) == sum(hostile()["points"]["held_out"])
    visit.page.get_by_text("3D", exact=True).click()
    visit.page.wait_for_selector("#plot-scatter canvas")
    visit.page.select_option("#scatter-method", index=1)
    assert coloured(pixels(visit, "#plot-scatter")) > 100
    assert visit.errors == []
    visit.page.get_by_text("2D", exact=True).click()
    visit.page.get_by_text("all", exact=True).click()
    assert visit.page.evaluate(count) == 150


def test_tables_are_sorted_and_searched(browser, tmp_path):
    visit = Visit(browser, write_html(many(), tmp_path / "many.html"))
    table = visit.page.locator("table.sortable", has_text="By label").first
    first = table.locator("tbody th").first
    assert first.inner_text() == "tag 0"
    assert table.locator("tbody th").nth(2).inner_text() == "tag 2"  # not tag 10
    table.get_by_role("button", name="F1").click()
    values = [float(v) for v in table.locator("tbody td:nth-child(2)").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    table.get_by_role("button", name="F1").click()
    assert table.locator("th[aria-sort=ascending]").count() == 1
    for words in ("tag 1", "  TAG   1 "):  # blanks count once, and not at the ends
        visit.page.get_by_label("Search in By label").first.fill(words)
        seen = [t for t in table.locator("tbody th").all() if t.is_visible()]
        assert sorted(t.inner_text() for t in seen) == ["tag 1", *(f"tag 1{i}" for i in range(4))]
    visit.context.close()


def test_many_labels_are_shown_by_the_hardest_or_in_small(browser, tmp_path):
    visit = Visit(browser, write_html(many(), tmp_path / "many.html"))
    assert visit.page.evaluate("document.getElementById('plot-roc').data.length") == 9
    visit.page.get_by_text("precision and recall", exact=True).click()
    assert visit.page.evaluate("document.getElementById('plot-roc').data.length") == 8
    visit.page.select_option("#roc-view", index=1)
    assert visit.page.locator("#small-curves svg").count() == 14
    assert not visit.page.locator("#plot-roc").is_visible()
    visit.page.select_option("#roc-view", index=0)
    assert visit.page.locator("#plot-roc").is_visible()
    assert visit.errors == []
    visit.context.close()


SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


@needs_axe
@SCHEMES
@pytest.mark.parametrize("make", [hostile, classes, numbers, many])
def test_axe_finds_nothing(browser, tmp_path, make, scheme):
    page = write_html(make(), tmp_path / "page.html")
    assert narrow_violations(browser, page, scheme) == []


def narrow_violations(browser: Any, page: Path, scheme: str) -> list[tuple[str, str]]:
    """What axe-core finds in a page of 400 pixels."""
    visit = Visit(browser, page, width=400, color_scheme=scheme, bypass_csp=True)
    found = violations(visit.page)
    visit.context.close()
    return found


def side_by_side(folder: Path) -> Path:
    """Several runs, of the same data and of others, as one page."""
    page = folder / "runs.html"
    page.write_text(compare_html({"a": hostile(), "b": hostile(), "c": many()}), encoding="utf-8")
    return page


def model_page(folder: Path) -> Path:
    """A model with everything that its page may show."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).round(4)
    names = ["a_rather_long_name_of_a_feature_that_goes_on", "<b>", "c", "d", "class"]
    lines = [",".join([*map(str, x), "uv"[int(x[0] > 0)]]) for x in X]
    (folder / "t.csv").write_text("\n".join([",".join(names), *lines]))
    page = folder / "model.html"
    fit = ["fit", str(folder / "t.csv"), "--labels", "class", "-m", "lda", "--alpha", "cv"]
    for words in (
        [*fit, "--stability", "20", "-o", str(folder / "m.ek")],
        ["inspect", str(folder / "m.ek"), "--report", str(page)],
    ):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
    return page


PAGES = pytest.mark.parametrize("make", [side_by_side, model_page])


@PAGES
def test_other_pages_fit_a_narrow_screen_and_ask_for_nothing(browser, tmp_path, make):
    visit = Visit(browser, make(tmp_path), width=400)
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 400
    assert visit.errors == []
    assert len(visit.requests) == 1
    visit.context.close()


@needs_axe
@SCHEMES
@PAGES
def test_axe_finds_nothing_in_other_pages(browser, tmp_path, make, scheme):
    assert narrow_violations(browser, make(tmp_path), scheme) == []


def test_titles_of_tables_are_not_cut_on_a_narrow_screen(browser, tmp_path):
    visit = Visit(browser, write_html(hostile(), tmp_path / "page.html"), width=400)
    ends = visit.page.evaluate(
        "[...document.querySelectorAll('table caption')].map((c) => {"
        " const r = document.createRange(); r.selectNodeContents(c);"
        " return r.getBoundingClientRect().right; })"
    )
    assert ends
    assert max(ends) <= 400
    visit.context.close()


def test_metric_and_curves_follow_their_menus(visit):
    for menu, plot in (("#metric", "comparison"), ("#roc-view", "roc")):
        before = pixels(visit, f"#plot-{plot}")
        visit.page.select_option(menu, index=2)
        after = pixels(visit, f"#plot-{plot}")
        assert before.shape != after.shape or np.any(before != after)


def test_the_theme_follows_the_system_and_the_button_by_keyboard(browser, path):
    visit = Visit(browser, path, color_scheme="dark")
    corner = "#plot-scree"
    assert pixels(visit, corner)[5, 5].max() < 60
    visit.page.locator("#theme").focus()
    visit.page.keyboard.press("Enter")
    assert pixels(visit, corner)[5, 5].min() > 240
    visit.context.close()


def test_a_narrow_screen_needs_no_sideways_scrolling(browser, path):
    visit = Visit(browser, path, width=400)
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 400
    plots = visit.page.locator(".plot").all()
    assert all(plot.evaluate("p => p.scrollWidth <= p.clientWidth") for plot in plots)
    visit.context.close()


def test_figures_follow_the_width_of_the_window(browser, path):
    visit = Visit(browser, path, width=1100)
    fits = "[...document.querySelectorAll('.plot')].every((p) => p.scrollWidth <= p.clientWidth)"
    places = "[...document.querySelectorAll('.plot .main-svg')].map((p) => p.clientWidth)"
    wide = visit.page.evaluate(places)
    for width in (400, 1100):
        visit.page.set_viewport_size({"width": width, "height": 900})
        visit.page.wait_for_timeout(2000)
        assert visit.page.evaluate(fits)
        assert visit.page.evaluate("document.documentElement.scrollWidth") == width
    assert visit.page.evaluate(places) == wide
    assert visit.errors == []
    visit.context.close()


def test_the_policy_holds_against_scripts_and_the_network(browser, path):
    visit = Visit(browser, path)
    visit.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.head.append(s); }"
    )
    assert visit.page.evaluate("window.ran") is None
    blocked = "fetch('http://127.0.0.1:9/').then(() => 'sent', (e) => e.name)"
    asked = len(visit.requests)
    assert visit.page.evaluate(blocked) == "TypeError"
    assert any("Content Security Policy" in text for text in visit.errors)
    assert all(url.startswith("file:") for url in visit.requests[:asked])
    visit.context.close()


def test_the_record_can_be_saved_from_the_page(visit):
    import json

    with visit.page.expect_download() as waiting:
        visit.page.locator("#download").click()
    assert json.loads(Path(waiting.value.path()).read_text()) == hostile()


def test_printing_is_light_and_opens_what_is_folded(browser, path, tmp_path):
    visit = Visit(browser, path)
    visit.page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 50_000
    visit.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert visit.page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    assert visit.page.evaluate("document.documentElement.dataset.theme") == "light"
    visit.context.close()


@PAGES
def test_other_pages_print_light_and_whole_without_scripts(browser, tmp_path, make):
    visit = Visit(browser, make(tmp_path), color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert visit.page.evaluate(paper) == "rgb(20, 24, 29)"
    visit.page.emulate_media(media="print")
    assert visit.page.evaluate(paper) == "rgb(255, 255, 255)"
    heights = "[...document.querySelectorAll('details table')].map((t) => t.offsetHeight)"
    assert all(height > 0 for height in visit.page.evaluate(heights))
    visit.context.close()


def test_one_component_has_no_circle(browser, tmp_path):
    record = classes()
    drawn = [m for m in record["methods"] if (m["model"] or {}).get("label_correlations")]
    drawn[0]["model"]["label_correlations"] = drawn[0]["model"]["label_correlations"][:1]
    visit = Visit(browser, write_html(record, tmp_path / "classes.html"))
    circle = visit.page.locator("#plot-circle")
    assert not circle.is_visible()
    assert visit.errors == []
    visit.page.locator("#circle-method").select_option(index=1)
    assert circle.is_visible()
    visit.context.close()


def test_names_of_arrows_do_not_lie_on_each_other(browser, tmp_path):
    record = classes()
    first = next(m for m in record["methods"] if (m["model"] or {}).get("label_correlations"))
    loadings = first["model"]["loadings"]
    places = [[0.9, 0.1], [0.6, 0.12], [-0.5, 0.1], [0.4, 0.6]]  # the second beside the first
    for item, place in zip(loadings, places, strict=False):
        item["correlations"][:2] = place
    del loadings[len(places) :]
    visit = Visit(browser, write_html(record, tmp_path / "arrows.html"))
    drawn = visit.page.locator("#plot-circle .textpoint text").all_text_contents()
    shown = [item["name"] in drawn for item in loadings]
    assert shown == [True, False, True, True]
    visit.context.close()


def test_classes_are_all_coloured_at_first(browser, tmp_path):
    visit = Visit(browser, write_html(classes(), tmp_path / "classes.html"))
    assert visit.page.locator("#chips input:checked").count() == 3
    assert visit.errors == []
    visit.context.close()


def test_without_scripts_the_tables_say_it_all(browser, path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("noscript .notice").is_visible()
    assert page.locator("#result table").first.is_visible()
    assert not page.locator("#theme").is_visible()
    context.close()


def test_fifty_thousand_points(browser, tmp_path):
    record = classes()
    rng = np.random.default_rng(0)
    n = 50_000
    record["data"]["n_samples"] = n
    y = rng.integers(0, 3, n)
    record["points"] = {
        "rows": list(range(n)),
        "labels": [[int(j)] for j in y],
        "held_out": (rng.random(n) < 0.3).tolist(),
    }
    for method in record["methods"]:
        if method["model"]:
            Z = rng.normal(size=(n, 3)) + 3 * np.eye(3)[y]
            method["model"]["coordinates"] = Z.round(4).tolist()
    visit = Visit(browser, write_html(record, tmp_path / "many.html"))
    before = pixels(visit, "#plot-scatter")
    assert coloured(before) > 10_000
    visit.page.locator("#chips input").first.set_checked(False, force=True)
    assert np.any(before != pixels(visit, "#plot-scatter"))
    visit.page.get_by_text("3D", exact=True).click()
    visit.page.wait_for_selector("#plot-scatter canvas")
    assert visit.errors == []
    visit.context.close()
