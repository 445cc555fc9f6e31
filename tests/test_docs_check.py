"""What looks at the built pages finds what is wrong with them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

PLACE = Path(__file__).parents[1] / "docs" / "check.py"


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("docs_check", PLACE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_check"] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    yield module
    del sys.modules["docs_check"]


PATH = "a path of this machine, as in a warning that an example gives"
GOOD = (
    '<p id="here"><a href="b.html#there">b</a><a href="#here">up</a><img src="x.png" alt="x"></p>'
)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("", ""),
        ('<a href="c.html">c</a>', "leads nowhere: c.html"),
        ('<a href="b.html#gone">b</a>', "leads nowhere: b.html#gone"),
        ('<img src="x.png">', "image without alternative text: x.png"),
        ('<img src="y.png" alt="y">', "leads nowhere: y.png"),
        ('<script src="https://host/x.js"></script>', "loaded from the network: https://host/x.js"),
        (f"<pre>{PLACE.parents[1]}/src: DegenerateDataWarning</pre>", PATH),
        ('<a href="https://host/">elsewhere is not looked at</a>', ""),
    ],
)
def test_faults_of_pages_are_found(check, tmp_path, bad, said):
    (tmp_path / "x.png").touch()
    (tmp_path / "a.html").write_text(GOOD + bad)
    (tmp_path / "b.html").write_text('<h1 id="there">there</h1>')
    assert list(check.check_pages(tmp_path)) == ([f"a.html: {said}"] if said else [])
