"""The page holds all it needs, runs only what it names, and shows text from data as text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import sys
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from eigenkit.report import render_html, render_text, write_html
from eigenkit.report.cells import visible
from eigenkit.report.html import json_block
from report_records import HOSTILE, LABELS, classes, hostile, many, numbers

pytest.importorskip("plotly")
VOID = {"meta", "input", "br", "img", "link", "hr"}


class Page(HTMLParser):
    """Tags with their attributes, checked to be nested well, and the text of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        if self.open and self.open[-1] == "script":
            attrs, before = self.scripts[-1]
            self.scripts[-1] = (attrs, before + text)
        elif not self.open or self.open[-1] != "style":
            self.text += text

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.tags if tag == name]


@pytest.fixture(scope="module", params=[hostile, classes, numbers, many])
def record(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param()


@pytest.fixture(scope="module")
def page(record: dict[str, Any]) -> Page:
    return Page(render_html(record))


def policy(page: Page) -> dict[str, str]:
    (meta,) = [m for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    rules = [rule.strip().partition(" ") for rule in str(meta["content"]).split(";")]
    return {name: value for name, _, value in rules}


def test_the_policy_forbids_the_network_and_names_the_scripts_by_hash(page):
    rules = policy(page)
    assert rules["default-src"] == "'none'"
    assert not any("http" in value or "*" in value for value in rules.values())
    assert "unsafe" not in rules["script-src"]
    packed = {attrs.get("id"): text for attrs, text in page.scripts}["plotly"]
    library = gzip.decompress(base64.b64decode(packed)).decode()
    (own,) = [text for attrs, text in page.scripts if not attrs]
    for script in (library, own):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in rules["script-src"]
    assert "plotly.js" in library[:200]


def test_the_policy_stands_before_anything_that_could_run(page):
    names = [tag for tag, _ in page.tags]
    first = next(i for i, (tag, a) in enumerate(page.tags) if a.get("http-equiv"))
    assert first < min(names.index("script"), names.index("style"))


def test_nothing_is_loaded(page):
    for tag, attrs in page.tags:
        assert "src" not in attrs, tag
        assert str(attrs.get("href", "#")).startswith("#")
        assert not any(name.startswith("on") for name in attrs)
        assert tag not in {"iframe", "object", "embed", "base", "form", "link", "img"}


def test_plotly_is_embedded_once_and_the_file_stays_small(record):
    html = render_html(record)
    assert html.count('id="plotly"') == 1
    assert len(html) < 4e6


def test_text_from_data_never_becomes_markup():
    html = render_html(hostile())
    assert HOSTILE not in html
    assert "<script>alert" not in html
    assert "<img" not in html
    page = Page(html)
    assert [attrs.get("id") for attrs, _ in page.scripts] == ["record", "names", "plotly", None]
    assert f"name {HOSTILE}" in page.text
    assert "<img src=x onerror=alert(0)>" in page.text
    for label in LABELS:
        assert visible(label) in page.text
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_the_record_inside_the_page_is_the_record(record, page):
    held = {attrs.get("id"): text for attrs, text in page.scripts}["record"]
    assert json.loads(held) == record


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "]]>", "\u2028", "&lt;", '"\\'])
def test_json_in_a_script_has_no_way_out(text):
    block = json_block({"x": text})
    assert not set(block) & set("<>&\u2028")
    assert json.loads(block) == {"x": text}


def test_headings_identifiers_and_alternatives(page):
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert set(levels[1:]) == {2}
    ids = Counter(attrs["id"] for _, attrs in page.tags if "id" in attrs)
    assert max(ids.values()) == 1
    for _, attrs in page.tags:
        for name in ("aria-labelledby", "href"):
            target = str(attrs.get(name, "")).lstrip("#")
            assert not target or target in ids
    plots = [a for a in page.all("div") if a.get("class") == "plot"]
    assert len(plots) >= 5
    assert all(a["role"] == "group" and a["aria-label"] for a in plots)
    assert len(page.all("caption")) == len(page.all("table"))


def test_the_result_the_failure_and_the_way_back_are_told(page, record):
    assert record["environment"]["numpy"] in page.text
    assert visible(record["command"], 2000) in page.text
    for method in record["methods"]:
        for failure in method["failures"]:
            assert failure["error"] in page.text


def test_classes_are_called_classes():
    text = Page(render_html(classes())).text
    assert "Samples per class." in text
    assert "Samples per label." not in text
    assert "per class." in render_text(classes())


def test_thinning_is_told():
    record = hostile()
    assert "All 150 samples are drawn." in Page(render_html(record)).text
    points = record["points"]
    record["points"] = {key: values[:40] for key, values in points.items()}
    for method in record["methods"]:
        if method["model"]:
            method["model"]["coordinates"] = method["model"]["coordinates"][:40]
    assert "40 of 150 samples are drawn, chosen at random." in Page(render_html(record)).text


def test_the_same_record_gives_the_same_page():
    assert render_html(hostile()) == render_html(hostile())


def test_write_html_writes_the_page(tmp_path):
    path = write_html(classes(), tmp_path / "out.html")
    assert path.read_text(encoding="utf-8") == render_html(classes())
    assert [p.name for p in tmp_path.iterdir()] == ["out.html"]


def test_without_plotly_the_sentence_says_what_to_install(monkeypatch):
    from eigenkit.report import html

    html.plotly.cache_clear()
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match="needs plotly: pip install plotly"):
        render_html(classes())
    html.plotly.cache_clear()


# -- text --------------------------------------------------------------------------------


def test_text_tells_the_result_and_steers_no_terminal():
    text = render_text(hostile(), width=160)
    assert not any(ord(c) < 32 and c != "\n" for c in text)
    assert "\u202e" not in text
    assert "(mean AUC over labels)" in " ".join(text.split())
    assert "y has several columns" in text


def test_plain_columns_stand_under_each_other():
    lines = render_text(classes()).splitlines()
    start = lines.index("Scores on the test parts")
    rule, first, second = lines[start + 3], lines[start + 4], lines[start + 5]
    assert len(first) == len(second) == len(rule)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\u202eabc", "\\u202eabc"),
        ("x" * 10_000, "x" * 59 + "…"),
        ("naïve – 日本語", "naïve – 日本語"),  # noqa: RUF001
        ("\ud800", "\\ud800"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown


# -- colours -----------------------------------------------------------------------------


def themes() -> dict[str, dict[str, np.ndarray]]:
    css = files("eigenkit.report").joinpath("page.css").read_text()
    blocks = {"light": ":root {", "dark": ':root[data-theme="dark"] {'}
    found = {}
    for name, start in blocks.items():
        block = css[css.index(start) :].split("}")[0]
        pairs = re.findall(r"--([\w-]+): #([0-9a-f]{6});", block)
        found[name] = {key: np.array(list(bytes.fromhex(v))) / 255 for key, v in pairs}
    return found


def linear(colour: np.ndarray) -> np.ndarray:
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def contrast(a: np.ndarray, b: np.ndarray) -> float:
    """As the Web Content Accessibility Guidelines define it."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_marks_stand_out_from_the_paper(theme):
    c = themes()[theme]
    for ink in ("ink", "soft", "accent"):
        assert contrast(c[ink], c["paper"]) >= 4.5
        assert contrast(c[ink], c["wash"]) >= 4.5
    assert contrast(c["accent-ink"], c["accent"]) >= 4.5
    for i in range(8):
        assert contrast(c[f"c{i}"], c["paper"]) >= 3


def test_both_ways_to_dark_are_the_same():
    css = files("eigenkit.report").joinpath("page.css").read_text()
    by_system = css[css.index(':root:not([data-theme="light"]) {') :].split("{")[1].split("}")[0]
    by_button = css[css.index(':root[data-theme="dark"] {') :].split("{")[1].split("}")[0]
    assert by_system.split() == by_button.split()


# Machado, Oliveira and Fernandes (2009), full severity, on linear RGB.
BLIND = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def lab(rgb: np.ndarray) -> np.ndarray:
    M = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    f = np.cbrt(np.maximum(np.array(M) @ rgb, 0) / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", BLIND)
def test_colours_of_the_same_mark_or_neighbours_differ_to_the_colour_blind(theme, kind):
    c = themes()[theme]
    seen = [lab(np.clip(np.array(BLIND[kind]) @ linear(c[f"c{i}"]), 0, 1)) for i in range(8)]
    # The first five also differ in shape; colours that share a shape must differ more.
    for i, j in [(0, 1), (1, 2), (0, 2), (0, 5), (1, 6), (2, 7)]:
        assert np.linalg.norm(seen[i] - seen[j]) > 15, (i, j)
