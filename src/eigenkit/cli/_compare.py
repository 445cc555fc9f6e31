"""compare and test: which methods do best on a file, and which of their components are real."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from eigenkit import evaluation
from eigenkit.cli import _data
from eigenkit.cli import _options as o
from eigenkit.cli._console import FAILED, Forecast, Result, keeping, progress, saying
from eigenkit.cli._report import show
from eigenkit.estimators.registry import METHODS, Method, comparable, gap_params, usual, view_params
from eigenkit.evaluation.record import from_dict
from eigenkit.files import Data
from eigenkit.files._checks import groups_in
from eigenkit.files._reading import stacked
from eigenkit.files._targets import target_in
from eigenkit.models import ComponentsCV, Preparation
from eigenkit.models._features import learn_features, view_columns
from eigenkit.models._fitting import check_target
from eigenkit.shell import counted

# Those that the library knows by the same names.
_AS_GIVEN = ("train_size", "classifier", "baselines", "random_state")


def compare(given: o.Given) -> Result:
    _check_splits(given)
    data, methods, out, test = given.data, given.methods, given.out, given.test
    told = [] if methods in (None, ["all"]) else methods
    named = [name for text in told for name in o.method_names(text, "--methods")]
    ridges: Any = "auto" if given.alphas == "auto" else None
    if given.alphas not in ("auto", "none"):
        ridges = o.numbers("--alphas", given.alphas)
    options = _data.reading(given)
    o.choice("--classifier", given.classifier, evaluation.CLASSIFIERS)
    views = _data.checked_views(given, named)
    written = out, given.report
    # Where finished splits are kept until all are done.
    partial = None if out is None else f"{out}.partial"
    o.outputs([data, test, given.label_list], given.force, *written, state=partial)
    files = _data.load_all(data, test, options, given.missing)
    prepared = _Prepared(files, given.task, **o.feature_options(given))
    if test is None and given.train_size is None:
        _check_folds(given.cv, prepared)
    chosen = _estimators(named, prepared, given, views)
    record = _evaluated(prepared, chosen, ridges, partial, given)
    _count_as_in_files(record, files)
    record["next"] = _next_step(given, record)
    shown = show(record, *written, [_data.found_line(data, files[0].source.found)])
    asked = [method for method in record["methods"] if not method["baseline"]]
    scores = [score for method in asked for score in method["scores"].values()]
    # A comparison fails if every method failed.
    return replace(shown, code=FAILED if all(s["mean"] is None for s in scores) else 0)


def _check_splits(given: o.Given) -> None:
    others = {"--cv": "cv", "--repeats": "repeats", "--train-size": "train_size"}
    named = [option for option, name in others.items() if getattr(given, name) is not None]
    if given.test is not None and named:
        raise o.bad("--test", f"the test file is the only split: leave out {' and '.join(named)}.")
    if given.train_size is not None and given.cv is not None:
        raise o.bad("--train-size", "random partitions have no folds: leave out --cv.")


def _check_folds(cv: int | None, prepared: _Prepared) -> None:
    """Refuse more folds than rows or groups; the message says whether they are the default."""
    what, n = "rows", len(prepared.y)
    if prepared.groups is not None:
        what, n = "groups", len(set(prepared.groups))
    k, default = (cv, "") if cv else (5, ", the default,")
    if n < k:
        few = f"give from 2 to {n}" if n > 1 else f"add {what}"
        raise o.bad("--cv", f"{k} folds{default} need {k} {what}, and there are {n}: {few}.")


def _evaluated(
    prepared: _Prepared, chosen: dict[str, Any], ridges: Any, partial: str | None, given: o.Given
) -> dict[str, Any]:
    """Compare; finished splits are kept beside the output, so that an interrupted run continues."""
    learned, target = prepared.learned, prepared.target
    how = {name: getattr(given, name) for name in _AS_GIVEN}
    how |= {"cv": given.cv or 5, "repeats": given.repeats or 1, "alphas": ridges}
    n_splits = how["repeats"] * (how["cv"] if how["train_size"] is None else 1)
    if prepared.split is not None:
        n_splits, how["cv"] = 1, [prepared.split]
    say = saying()
    also = " and the baselines" if how["baselines"] else ""
    size = " and ".join(map(counted, prepared.X.shape, ("row", "feature")))
    methods, splits = counted(len(chosen), "method"), counted(n_splits, "split")
    say(f"comparing {methods}{also} on {size}, in {splits}")
    forecast = Forecast(n_splits, "split", say)
    with keeping(partial), progress("comparing") as advance:
        return evaluation.evaluate(
            prepared.X,
            prepared.y,
            chosen,
            **how,
            name=Path(prepared.path).name if prepared.path != "-" else "standard input",
            feature_names=learned.feature_names(),
            label_names=None if target.kind == "classes" else list(target.names),
            task="numbers" if target.kind == "numbers" else None,
            groups=prepared.groups,
            prepare=Preparation(learned.missing, given.scale, learned.n_numbers),
            progress=forecast.along(advance),
            forecast=forecast.roughly,
            checkpoint=partial,
            command=shlex.join(["eigenkit", *sys.argv[1:]]),
        )


class _Prepared:
    """The data before filling in and scaling, and the split that a test file makes."""

    def __init__(self, files: list[Data], task: str | None, **features: Any) -> None:
        source, blocks = files[0].source, [_data.rows_of(data) for data in files]
        self.path, self.target = source.path, target_in(source, blocks[0].labels, task)
        self.learned = learn_features(source, lambda: blocks[:1], **features)
        self.X = stacked([self.learned.raw(source.path, block) for block in blocks])
        told = [(data.source.path, b.labels) for data, b in zip(files, blocks, strict=True)]
        ys = [self.target.encode(*each) for each in told]
        self.target.check_known(files[-1].source.path, ys[-1])
        self.y, n = np.concatenate(ys), len(blocks[0])
        alone = len(files) == 1
        self.split = None if alone else (np.arange(n), np.arange(n, len(self.y)))
        self.groups = groups_in(source, blocks[0])
        if self.groups is not None:  # every test row is a group of its own
            self.groups = np.array([*self.groups, *range(n, len(self.y))], dtype=object)


def _count_as_in_files(record: dict[str, Any], files: list[Data]) -> None:
    """Number the rows as in the files, where rows with missing values were left out."""
    numbers: list[int] = []
    for data in files:
        begins = numbers[-1] + 1 if numbers else 0
        rows = np.arange(len(data.block())) if data.rows is None else data.rows
        numbers += (begins + rows).tolist()
    record["protocol"]["test_begins"] = begins
    for found in (worst for method in record["methods"] for worst in method["worst"]):
        found["row"] = numbers[found["row"]]
    record["points"]["rows"] = [numbers[row] for row in record["points"]["rows"]]


def _estimators(
    named: list[str], prepared: _Prepared, given: o.Given, views: tuple[str, ...]
) -> dict[str, Any]:
    """The named methods, all that can be compared, or the usual ones, with their views."""
    path, kind, missing = prepared.path, prepared.target.kind, given.missing
    for name in named:
        check_target(path, METHODS[name], prepared.target)
    able = comparable(kind, bool(views), missing == "keep")
    names = named or (able if given.methods == ["all"] else usual(able, bool(views)))
    columns = view_columns(path, prepared.learned.feature_names(), views)
    chosen, found = [METHODS[name] for name in names], {}
    _check_used(chosen, kind, given)
    number = given.components
    for method in chosen:
        params, search = {**view_params(method, columns), **gap_params(method, missing)}, False
        if _data.takes_components(method, number):
            search = number == "cv" or (number is None and method.picks_components)
            if number not in (None, "cv"):
                params["n_components"] = o.count("--components", number)
        made = method.make(**params)
        # In every training part anew.
        found[method.name] = ComponentsCV(made, cv=3) if search else made
    return found


def _check_used(methods: list[Any], kind: str, given: o.Given) -> None:
    """Refuse options that none of the methods has a use for."""
    components = given.components
    if components is not None and not any(_data.takes_components(m, components) for m in methods):
        raise o.bad("--components", "none of the methods has a use for it: leave it out.")
    ridges = [m for m in methods if "alpha" in m.estimator_class()._get_param_names()]
    if given.alphas not in ("auto", "none") and not ridges:
        raise o.bad("--alphas", "none of the methods has an alpha to choose: leave it out.")
    if kind == "numbers" and given.classifier != "svm":
        raise o.bad("--classifier", "numbers are predicted without a classifier: leave it out.")


# Options of compare that fit takes as well, and their defaults.
_SHARED = {**o.LEARNING, "components": o.COMPONENTS}


def _next_step(given: o.Given, record: dict[str, Any]) -> str:
    """The command that fits the recommended method; empty if there is none."""
    from eigenkit.report.words import recommended

    best = recommended(from_dict(record))
    if best is None:
        return ""
    words = ["eigenkit", "fit", given.data, "--method", best.name]
    if best.alpha is not None:
        words += ["--alpha", "cv"]
        words += [] if given.alphas == "auto" else ["--alphas", given.alphas]
    method = METHODS[best.name]
    unused = set() if method.views else {"views"}
    unused |= set() if _data.takes_components(method, given.components) else {"components"}
    for name, option in _SHARED.items():
        if name not in unused:
            words += o.said_again(name, getattr(given, name), option.default)
    return shlex.join([*words, "--out", "model.ek"])


# -- which components are more than chance -----------------------------------------------


def significance(given: o.Given) -> Result:
    from eigenkit.analysis import permutation_test
    from eigenkit.analysis.permutation import STATISTICS

    data, name = given.data, o.method_name(given.method)
    options = _data.reading(given)
    o.choice("--statistic", given.statistic, STATISTICS)
    chosen = _testable(name)
    params = o.parameters(chosen, given.set_, alpha=given.alpha, n_components=given.components)
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
    from eigenkit.analysis._sides import check_testable

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


def _record(found: Any, name: str, level: float) -> dict[str, Any]:
    rows = zip(found.singular_values, found.statistics, found.p_values, strict=True)
    return {
        "method": name,
        "n_samples": found.n_samples,
        "n_permutations": found.n_permutations,
        "n_blocks": found.n_blocks,
        "statistic": found.statistic,
        "level": level,
        "n_significant": found.n_significant(level),
        "components": [
            {"component": j, "value": float(v), "statistic": float(s), "p": float(p)}
            for j, (v, s, p) in enumerate(rows, start=1)
        ],
    }
