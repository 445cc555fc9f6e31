"""The page of a run: escaped, without network, and in a real browser quick and complete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from axe import needs_axe, violations
from browsing import Visit, needs_browser
from eigenkit.evaluation.metrics import auc_per_label, rates_of
from eigenkit.images import Descriptor, ImageAnnotator, ImageSet, Plan, make_shapes
from eigenkit.images.comparison import compare
from eigenkit.images.descriptors.frame import grid
from eigenkit.images.page import render_page, write_page
from eigenkit.images.record import (
    _held_out_evidence,
    _placed,
    compared_record,
    fitted_record,
    predicted_record,
)
from eigenkit.images.ridge import Spectrum, Targets
from eigenkit.images.rivals import CHOSEN
from eigenkit.report.html import asset

pytest.importorskip("PIL.Image", reason="needs the extra [images]")
# Few small pictures tell little of some terms; what is said of that has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore:terms are predicted for nearly every set")

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
PLANS = [Plan("thumbnail"), Plan("correlation-16", "pyramid", {"bins": "vocabulary"})]


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    sets, Y, terms = make_shapes(50, size=64)
    terms = [EVIL, *terms[1:]]
    model = ImageAnnotator(PLANS, size=(64, 64), weights="equal").fit(sets, Y, terms)
    new, given, _ = make_shapes(30, size=64, random_state=3)
    new[0] = ImageSet(EVIL, new[0].pictures)
    given[1] = np.nan
    return predicted_record(model, new, f"run {EVIL}", given)


@pytest.mark.slow
def test_a_record_is_plain_and_complete(record):
    assert json.loads(json.dumps(record, allow_nan=False)) == json.loads(json.dumps(record))
    assert len(record["sets"]) == 30
    first = record["sets"][0]
    assert first["pictures"][0][2].startswith("data:image/")
    assert len(first["near"]) == 5
    assert all(name in record["train"] for name, _ in first["near"])
    shares = first["evidence"][0]["shares"]
    assert len(shares) == 3
    assert max(abs(v) for e in first["evidence"] for s in e["shares"].values() for v in s) == 100
    assert record["sets"][1]["given"] is None
    assert record["sees"] == {
        "thumbnail mean map": "colours, place by place",
        "correlation-16 pyramid": "brightness in patches",
    }
    for j, parts in first["parts"].items():
        assert next(name for name, _ in parts) == "any set"
        p = next(p for term, p, _ in first["scores"] if term == j)
        assert 1 / (1 + np.exp(-sum(v for _, v in parts))) == pytest.approx(p, abs=2e-3)


def test_nothing_of_the_data_is_markup(record):
    page = render_page(record)
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "http" not in re.sub(r"http-equiv", "", page)
    assert page.count("<script") == 2


@pytest.mark.slow
def test_fitted_and_compared_records():
    sets, Y, terms = make_shapes(40, size=64)
    model = ImageAnnotator(PLANS, size=(64, 64), weights="equal")
    told: list[tuple[str, int, int]] = []
    tell = lambda done, total, text: told.append((text.split(":")[0], done, total))  # noqa: E731
    fitted = fitted_record(model.fit(sets, Y, terms), sets, "fit", tell)
    assert told == [(step, i + 1, 40) for step in ("evidence", "page") for i in range(40)]
    assert all(one["evidence"] for one in fitted["sets"])
    assert all(len(one["parts"]) == 3 for one in fitted["sets"])
    assert {n for one in fitted["sets"] for p in one["parts"].values() for n, _ in p} == {
        "correlation-16 pyramid"
    }
    assert fitted["grids"].keys() == {"correlation-16 pyramid"}
    assert all(one["name"] not in [n for n, _ in one["near"]] for one in fitted["sets"])
    rivals = ["set kernels, equal weights", "mean of vectors, linear"]
    found = compare(sets, Y, terms, annotator=model, rivals=rivals, cv=2)
    told.clear()
    record = compared_record(found, "compared", tell)
    assert [total for step, done, total in told if step == "page" and done == total] == [20, 20]
    assert [row["name"] for row in record["methods"]] == [row.name for row in found.rows]
    assert len(record["sets"]) == 40
    assert "(recommended)" in render_page(record)
    S, chosen = np.zeros(Y.shape), np.zeros(Y.shape)
    for model, test in found.held_out:
        S[test] = model.decision_function([sets[i] for i in test])
        chosen[test] = S[test] > model.thresholds_
    assert [t["auc"] for t in record["terms"]] == pytest.approx(auc_per_label(Y, S), abs=1e-4)
    assert [t["f1"] for t in record["terms"]] == pytest.approx(rates_of(Y, chosen)["f1"], abs=1e-4)


@pytest.mark.slow
def test_a_comparison_says_whose_figures_it_shows_and_of_how_many_sets():
    sets, Y, terms = make_shapes(41, size=32)
    rivals = ["mean of vectors, linear"]
    model = ImageAnnotator(["hsv", "thumbnail"], size=(32, 32))
    found = compare(sets, Y, terms, annotator=model, rivals=rivals, cv=2)
    record = compared_record(found, "compared")
    page = render_page(record)
    assert "in the way &quot;chosen by the annotator&quot; (recommended is another one" in page
    assert "a model for each of 2 folds, fitted on 20 to 21 sets" in page
    assert "The model was fitted" not in page
    assert "Means over folds ± standard errors. Recommended" in page
    first, second = (dict(model.weights_) for model, _ in found.held_out)
    means = {name: (first[name] + second[name]) / 2 for name in first}
    assert dict(record["weights"]) == pytest.approx(means)
    chosen = compare(sets, Y, terms, annotator=model, rivals=[CHOSEN], cv=2)
    assert "is another one" not in render_page(compared_record(chosen, "compared"))


# -- in a browser -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def path(record, tmp_path_factory) -> Path:
    return write_page(record, tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture
def visit(browser, path) -> Iterator[Visit]:
    opened = Visit(browser, path)
    yield opened
    opened.context.close()
    assert opened.errors == []


def cards(page: Any, n: int) -> None:
    """Wait until so many sets are shown; the policy of the page lets no test wait inside it."""
    from playwright.sync_api import expect

    expect(page.locator(".card")).to_have_count(n)


@pytest.mark.slow
@needs_browser
def test_cards_names_and_no_request(visit, path):
    page = visit.page
    assert page.locator(".card").count() == 24
    assert page.locator(".card h3 button").first.inner_text() == EVIL
    assert {url for url in visit.requests if not url.startswith("data:")} == {path.as_uri()}
    assert page.locator("#count").inner_text() == "30 sets"


@needs_axe
@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, path, scheme):
    opened = Visit(browser, path, width=400, color_scheme=scheme, bypass_csp=True)
    assert violations(opened.page) == []
    opened.page.locator(".card h3 button").first.click()
    assert violations(opened.page) == []
    opened.context.close()


@needs_browser
def test_search_filters_and_pages(visit, record):
    page = visit.page
    page.fill("#search", "set0005")
    cards(page, 1)
    term = record["terms"][record["sets"][5]["given"][0]]["name"]
    page.fill("#search", f"{term.upper()}  set0005")
    cards(page, 1)
    page.fill("#search", "")
    cards(page, 24)
    page.click("#next")
    assert page.locator(".card").count() == 6
    page.select_option("#error", "unknown")
    assert page.locator(".card").count() == 1
    page.select_option("#error", "missed")
    missed = sum(
        any(j not in [s[0] for s in one["scores"] if s[2]] for j in one["given"] or [])
        for one in record["sets"]
    )
    assert page.locator("#count").inner_text() == f"{missed} of 30 sets"
    assert page.locator(".card").count() == page.locator(".card:has(.missed)").count()
    page.select_option("#error", "all")
    page.select_option("#term", "1")
    given = sum(
        1 in (one["given"] or []) or any(s[0] == 1 and s[2] for s in one["scores"])
        for one in record["sets"]
    )
    assert page.locator("#count").inner_text() == f"{given} of 30 sets"


# All choices at once: to click them one by one takes seconds.
COUNTS = """kinds => Object.fromEntries(kinds.map(kind => {
  const choice = document.getElementById("error");
  choice.value = kind;
  choice.dispatchEvent(new Event("change", {bubbles: true}));
  return [kind, parseInt(document.getElementById("count").innerText)];
}))"""


@needs_browser
def test_with_a_term_the_choices_add_up_to_its_number(visit):
    page, seen = visit.page, set()
    for j in map(str, range(9)):
        page.select_option("#term", j)
        counts = page.evaluate(COUNTS, ["all", "wrong", "missed", "extra", "clean", "unknown"])
        option = page.locator(f"#term option[value='{j}']").text_content()
        assert option.endswith(f" ({counts['all']})")
        assert counts["wrong"] == counts["missed"] + counts["extra"]
        assert counts["all"] == counts["wrong"] + counts["clean"] + counts["unknown"]
        seen |= {kind for kind, n in counts.items() if n}
    assert seen >= {"missed", "extra", "clean", "unknown"}


@needs_browser
def test_keys_and_evidence(visit):
    page = visit.page
    names = page.locator(".card h3 button").all_inner_texts()
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.dataset.position") == "1"
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] canvas")
    painted = (
        "(() => { const c = document.querySelector('dialog canvas');"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 40; return n; })()"
    )
    assert page.evaluate(painted) > 50
    assert "orange speaks for it" in page.locator("dialog .note").first.inner_text()
    reasons = page.locator("dialog").inner_text()
    assert "What speaks for " in reasons
    assert "brightness in patches (correlation-16 pyramid), drawn above" in reasons
    assert "any set" in reasons
    assert "they add up to" in reasons
    assert page.locator("dialog h2").inner_text() == EVIL
    assert page.locator("dialog .near > div").count() == 5
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert page.locator("dialog h2").inner_text() == names[1]
    assert page.evaluate("document.activeElement.id") == "detail-name"
    page.keyboard.press("Escape")
    assert not page.locator("dialog[open]").count()
    # The browser gives the focus back first, and tells the page that the set is closed later.
    page.wait_for_selector("[data-position='1']:focus")
    page.keyboard.press("Tab")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.dataset.position") == "3"
    page.keyboard.press("n")
    assert page.locator("#where").inner_text() == "25 to 30 of 30"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("Escape")
    page.locator("#previous").click()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.dataset.position") == "0"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"


@needs_browser
def test_the_ink_of_a_point_is_its_share(browser):
    """Whatever the size of its patch, in the middle and at the edge; so signs of sums agree."""
    script = asset("page.js", "eigenkit.images.page")
    drawing = script[script.index("function heat(") : script.index("function paint(")]
    places = [500, 500, 20, 980]
    grids = {f"r{r}": {"radius": r, "width": 128, "places": places} for r in (8, 16, 32)}
    pieces = [
        {"kernel": f"r{r}", "shares": {"0": [share, 0], "1": [0, share]}}
        for r, share in ((8, -60), (16, 25), (32, 30))
    ]
    ink = f"([pieces, grids, j]) => {{ {drawing} return heat(pieces, grids, j, 96, 64)"
    ink += ".reduce((a, b) => a + b, 0); }"
    page = browser.new_page()
    for j in (0, 1):
        for piece in pieces:
            (share,) = filter(None, piece["shares"][str(j)])
            assert page.evaluate(ink, [[piece], grids, j]) == pytest.approx(share)
        assert page.evaluate(ink, [pieces, grids, j]) == pytest.approx(-5, abs=1e-4)
    page.close()


@pytest.mark.slow
@needs_browser
def test_a_phone_and_the_dark(browser, path):
    visit = Visit(browser, path, width=390, color_scheme="dark")
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 390
    paper = "getComputedStyle(document.body).backgroundColor"
    assert visit.page.evaluate(paper) == "rgb(20, 24, 29)"
    visit.page.click("#theme")
    assert visit.page.evaluate(paper) == "rgb(255, 255, 255)"
    visit.page.locator(".card h3 button").first.click()
    box = visit.page.locator("dialog").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    visit.context.close()


@needs_browser
@pytest.mark.slow
def test_without_scripts_the_tables_are_there(browser, path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("#terms table").is_visible()
    assert page.locator("noscript .notice").is_visible()
    context.close()


@needs_browser
@pytest.mark.slow
def test_two_thousand_sets(browser, record, tmp_path):
    sets = [{**one, "name": f"{i} {one['name']}"} for i in range(67) for one in record["sets"]]
    many = {**record, "sets": sets[:2000]}
    visit = Visit(browser, write_page(many, tmp_path / "many.html"))
    assert visit.page.locator(".card").count() == 24
    visit.page.fill("#search", "66 set0001")
    cards(visit.page, 1)
    assert visit.errors == []
    visit.context.close()


def test_evidence_of_a_training_set_is_that_of_the_others():
    """What a model without the set says of it, also where groups are left out together."""
    sets, Y, terms = make_shapes(24, size=64)
    model = ImageAnnotator(PLANS[1:], size=(64, 64), weights="equal")
    model.fit(sets, Y, terms, groups=np.arange(24) // 2)
    K = model.training_kernel()
    shown = np.tile(np.arange(len(terms)), (24, 1))
    pieces = _held_out_evidence(model, sets, shown, None)[5]
    shares = sum(piece.shares.sum(axis=0) for piece in pieces)
    rest = np.delete(np.arange(24), [4, 5])
    others, targets = Spectrum.of(K[np.ix_(rest, rest)]), Targets.of(Y)
    T = Y @ targets.R
    slopes = _slopes(model, Spectrum.of(K).coefficients(T, model.alpha_) @ targets.back)
    A = others.coefficients(T[rest], model.alpha_) @ targets.back
    np.testing.assert_allclose(shares, slopes * (K[5, rest] @ A), atol=1e-4)


def test_a_page_has_a_point_for_every_radius_of_patches_and_loses_no_share():
    sets, Y, terms = make_shapes(24, size=64)
    plan = Plan("dense_sift-16", "fisher", {"n_gaussians": 4})
    model = ImageAnnotator([plan], size=(64, 64), weights="equal").fit(sets, Y, terms)
    why = model.explain(sets[0])
    assert len(why.evidence[0].places) == 25
    for piece, pooled in zip(why.evidence, _placed(why.evidence, (64, 64)), strict=True):
        np.testing.assert_allclose(pooled.places * 64, grid((64, 64), 16))
        np.testing.assert_allclose(pooled.shares.sum(axis=0), piece.shares.sum(axis=0))
        corner = piece.shares[[0, 1, 5, 6]].sum(axis=0)  # those halfway belong to the first
        np.testing.assert_allclose(pooled.shares[0], corner)


def test_nothing_is_drawn_of_points_whose_places_are_not_known():
    sets, Y, terms = make_shapes(24, size=32)
    mine = Descriptor("rows", lambda image: image[:, :8, 0] / 255)
    plans = [Plan("rows", "pyramid"), Plan("correlation-16", "pyramid")]
    model = ImageAnnotator(plans, descriptors=[mine], size=(32, 32), weights="equal")
    model.fit(sets, Y, terms)
    for record in (predicted_record(model, sets[:3], "new"), fitted_record(model, sets, "old")):
        assert list(record["grids"]) == ["correlation-16 pyramid"]
        one = record["sets"][0]
        assert {e["kernel"] for e in one["evidence"]} == {"correlation-16 pyramid"}
        for parts in one["parts"].values():
            assert {"rows pyramid", "correlation-16 pyramid"} <= {name for name, _ in parts}


def _slopes(model, raw):
    """Of the log-odds, from the raw coefficients of all sets."""
    return np.sum(model._coefficients_[0] * raw, axis=0) / np.sum(raw * raw, axis=0)


def test_figures_of_the_training_sets_are_not_taken_for_those_of_new_ones():
    sets, Y, terms = make_shapes(30, size=64)
    model = ImageAnnotator(["hsv"], size=(64, 64)).fit(sets, Y, terms)
    note = "F1 and AUC are those of the training sets"
    assert note in render_page(predicted_record(model, sets[:2], "new"))
    assert note not in render_page(predicted_record(model, sets[:2], "new", Y[:2]))
