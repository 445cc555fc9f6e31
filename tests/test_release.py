"""What a release says of itself is said once: the version, and a changelog in the usual form."""

from __future__ import annotations

import re
from pathlib import Path

import eigenkit

ROOT = Path(__file__).parents[1]
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_the_citation_has_the_version_of_the_package():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == eigenkit.__version__


def test_the_changelog_keeps_to_its_form():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *versions = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert first == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", version) for version in versions)
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.+)$", part, re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds]
        assert not re.search(r"^- ", part.split("### ")[0], re.MULTILINE), "a line without a kind"
