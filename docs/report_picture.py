"""The picture of a report on the front page: ``python docs/report_picture.py`` draws it."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from check import find_browser
from PIL import Image
from playwright.sync_api import sync_playwright

from eigenkit import demo

PICTURE = Path(__file__).parent / "_static" / "report.png"


def write() -> None:
    """The top of the page that ``eigenkit demo`` writes, as a browser shows it."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        demo.report(Path(folder))
        browser = driver.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1200, "height": 1160})
        tab.goto((Path(folder) / "eigenkit-demo.html").as_uri())
        tab.wait_for_timeout(2000)
        shot = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
        browser.close()
    small = shot.resize((900, 870), Image.Resampling.LANCZOS)
    small.quantize(128, method=Image.Quantize.MAXCOVERAGE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    write()
