"""test: which components of a method are more than chance."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from eigenkit.analysis import PermutationTest, permutation_test
from eigenkit.analysis._sides import check_testable
from eigenkit.analysis.permutation import STATISTICS
from eigenkit.cli import _data
from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, progress
from eigenkit.cli._fit import parameters
from eigenkit.estimators.registry import METHODS, Method, view_params
from eigenkit.files._checks import groups_in
from eigenkit.files._targets import target_in
from eigenkit.models._features import learn_features, view_columns
from eigenkit.models._fitting import check_target

_TOLD = ("n_samples", "n_permutations", "n_blocks", "statistic")


def significance(given: o.Given) -> Result:
    data, name = given.data, o.method_name(given.method)
    options = _data.reading(given)
    o.choice("--statistic", given.statistic, STATISTICS)
    chosen = _testable(name)
    params = parameters(chosen, given.set_, alpha=given.alpha, n_components=given.components)
    if given.missing == "keep":
        raise o.bad("--missing", "a test needs complete rows: use mean, median or drop.")
    views = _data.checked_views(given, [name])
    whole = _data.load_data(data, options, given.missing)
    block, source = _data.rows_of(whole), whole.source
    y = None
    if not chosen.needs_views:
        target = target_in(source, block.labels, given.task)
        check_target(data, chosen, target, _can_be_tested)
        y = target.encode(data, block.labels)
    how = {"scale": given.scale, **o.feature_options(given)}
    learned = learn_features(source, lambda: [block], **how)
    X, names = learned.matrix(data, block), learned.feature_names()
    own, aside = _parted(names, o.split(given.nuisance))
    told = view_params(chosen, view_columns(data, [names[j] for j in own], views))
    model = chosen.make(**told, **params)
    run = {"statistic": given.statistic, "n_permutations": given.permutations}
    run |= {"random_state": given.random_state, "n_jobs": given.jobs}
    run |= {"nuisance": X[:, aside] if aside else None, "groups": groups_in(source, block)}
    with progress("permuting") as advance:
        found = permutation_test(model, X[:, own], y, **run, progress=advance)
    head, level = _data.found_line(data, source.found), given.level
    return Result(_record(found, name, level), f"{head}\n{found.summary(level)}")


def _testable(name: str) -> Method:
    """The method of that name, if its components can be tested."""
    if not _can_be_tested(METHODS[name]):
        able = ", ".join(key for key, method in METHODS.items() if _can_be_tested(method))
        raise o.bad("--method", f"components of {name} cannot be tested: use one of {able}.")
    return METHODS[name]


def _can_be_tested(method: Method) -> bool:
    try:
        check_testable(method.make())
    except (TypeError, ValueError):
        return False
    return True


def _parted(names: list[str], nuisance: tuple[str, ...]) -> tuple[list[int], list[int]]:
    """The features to test, and those that some pattern names."""
    for item in nuisance:
        if not any(fnmatchcase(name, item) for name in names):
            raise o.bad("--nuisance", f"no feature is named {item!r}.")
    aside = [j for j, n in enumerate(names) if any(fnmatchcase(n, item) for item in nuisance)]
    own = [j for j in range(len(names)) if j not in {*aside}]
    if not own:
        raise o.bad("--nuisance", "it names all features: none is left to test.")
    return own, aside


def _record(found: PermutationTest, name: str, level: float) -> dict[str, Any]:
    rows = zip(found.singular_values, found.statistics, found.p_values, strict=True)
    return {
        "method": name,
        **{key: getattr(found, key) for key in _TOLD},
        "level": level,
        "n_significant": found.n_significant(level),
        "components": [
            {"component": j, "value": float(v), "statistic": float(s), "p": float(p)}
            for j, (v, s, p) in enumerate(rows, start=1)
        ],
    }
