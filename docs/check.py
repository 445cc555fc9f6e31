"""Looks at the built pages: ``python docs/check.py docs/_build/html`` ends with 1 if one is wrong.

Links and anchors within the pages lead somewhere, images say what they show, nothing is loaded from
the network, nothing tells where the pages were built, the notebook runs top to bottom. Where a
browser and playwright are installed, pages are opened without network at three widths, light and
dark: nothing sticks out, nothing fails, and the search finds. What is not installed is said, not
counted as seen.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

# Attributes by which a page makes the browser load something.
LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTHS = (390, 820, 1400)
SEEN = (
    "index",
    "choosing",
    "cca_family",
    "reference",
    "reference/pls",
    "gallery/index",
    "cli",
    "papers/papers",
)
NOTEBOOK = "plot_00_tutorial.ipynb"
ROOT = Path(__file__).resolve().parents[1]
LITE = "lite"  # JupyterLite's own pages, which load Pyodide


@dataclass
class Page(HTMLParser):
    """What of a page can be wrong."""

    path: Path
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.text = self.path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors.update(a for a in (found.get("id"), found.get("name")) if a)
        for name, value in attrs:
            if value and (tag, name) in LOADS and found.get("rel") != "canonical":
                self.loads.append(value)
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        if tag == "img" and not found.get("alt") and "_thumb" not in str(found.get("src")):
            self.silent.append(str(found.get("src")))


def is_elsewhere(link: str) -> bool:
    return "://" in link or link.startswith(("mailto:", "data:", "javascript:"))


def check_pages(root: Path) -> Iterator[str]:
    """A sentence for everything that is wrong with links, images and loading."""
    pages = {
        path: Page(path) for path in sorted(root.rglob("*.html")) if root / LITE not in path.parents
    }
    for path, page in pages.items():
        name = path.relative_to(root)
        if str(ROOT) in page.text:
            yield f"{name}: a path of this machine, as in a warning that an example gives"
        yield from (f"{name}: image without alternative text: {src}" for src in page.silent)
        yield from (
            f"{name}: loaded from the network: {url}"
            for url in page.loads
            if is_elsewhere(url) and not url.startswith("data:")
        )
        for link in {*page.links, *page.loads}:
            if not is_elsewhere(link) and not leads_somewhere(link, path, pages):
                yield f"{name}: leads nowhere: {link}"


def leads_somewhere(link: str, path: Path, pages: dict[Path, Page]) -> bool:
    target, anchor = urldefrag(link)
    place = (path.parent / unquote(target.split("?")[0])).resolve() if target else path
    place = place / "index.html" if place.is_dir() else place
    if not place.exists():
        return False
    page = pages.get(place)
    return not anchor or page is None or unquote(anchor) in page.anchors


def check_notebook(root: Path) -> Iterator[str]:
    """Run the tutorial as those who download it do."""
    try:
        import ipykernel  # noqa: F401
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError
    except ImportError as error:
        print(f"notebook not run: {error.name} is not installed")
        return
    found = next(root.rglob(NOTEBOOK), None)
    if found is None:
        yield f"no {NOTEBOOK} to download"
        return
    try:
        NotebookClient(nbformat.read(found, as_version=4), timeout=300).execute()
    except CellExecutionError as error:
        yield f"{NOTEBOOK}: {error}"


def find_browser() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def check_in_browser(root: Path) -> Iterator[str]:
    """Open pages as readers do."""
    program = find_browser()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        print("pages not opened: no browser, or no playwright")
        return
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            for width in WIDTHS:
                size = {"width": width, "height": 900}
                context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
                for name in SEEN:
                    seen = (root / f"{name}.html").as_uri()
                    for fault in look(context.new_page(), seen):
                        yield f"{name} at {width} pixels, {scheme}: {fault}"
        yield from search(browser.new_context(offline=True).new_page(), root)
        browser.close()


def look(tab: Any, url: str) -> list[str]:
    """Errors of the page, and whether it is wider than the window."""
    faults: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("requestfailed", lambda request: faults.append(f"not loaded: {request.url}"))
    tab.goto(url)
    element = "document.documentElement"
    wider = tab.evaluate(f"{element}.scrollWidth - {element}.clientWidth")
    tab.close()
    return [*faults, f"{wider} pixels stick out"] if wider > 0 else faults


def search(tab: Any, root: Path) -> Iterator[str]:
    """The search finds what is there, without a network."""
    tab.goto((root / "search.html").as_uri() + "?q=canonical+correlation")
    try:
        tab.wait_for_selector("#search-results li", timeout=20_000)
    except Exception as error:
        yield f"the search finds nothing: {error}"


def main(root: Path) -> int:
    """Print what is wrong; 0 if nothing is."""
    found = [*check_pages(root), *check_notebook(root), *check_in_browser(root)]
    print("\n".join(found) or "the pages are as they should be")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
