"""Pages in a real browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(NAMES)} is there")
FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader", "--disable-background-networking"]


class Visit:
    """A page that is open, with all that it said and asked for."""

    def __init__(self, browser: Any, path: Path, width: int = 1100, **context: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, **context)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("dialog", lambda d: (self.errors.append(d.message), d.dismiss()))
        self.page.goto(path.as_uri())
        if "<script" in path.read_text(encoding="utf-8"):
            self.page.wait_for_selector("html[data-ready=yes]", timeout=60_000)

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)
