"""test: which components of a method are more than chance."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, progress
from eigenkit.cli._data import check_choices, found_line, load_data, reading
from eigenkit.cli._fit import _check_parameters, _given

if TYPE_CHECKING:
    from eigenkit.analysis import PermutationTest
    from eigenkit.files import Data


@o.takes(o.LEARNING)
def significance(
    *,
    data: o.DataFile,
    method: Annotated[str, typer.Option("--method", "-m", help="See eigenkit methods.")] = "cca",
    permutations: Annotated[int, typer.Option(min=1, help="Number of permutations.")] = 999,
    statistic: Annotated[
        str, typer.Option(help="wilks, trace or roy; auto is wilks for correlations, else trace.")
    ] = "auto",
    level: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Level at which components are counted.")
    ] = 0.05,
    nuisance: Annotated[
        list[str] | None,
        typer.Option("--nuisance", help="Features (names or patterns) whose influence is removed."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option("--groups", help="Column of groups within which rows may be exchanged."),
    ] = None,
    alpha: Annotated[float | None, typer.Option(min=0.0, help="Ridge.")] = None,
    components: o.Components = None,
    set_: o.Set = None,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all cores.")] = 1,
    scale: o.Scale = "none",
    seed: o.Seed = 0,
    given: dict[str, Any],
    as_json: o.Json = False,
    debug: o.Debug = False,
) -> Result:
    """Test which components of a method are more than chance, by permutations.

    Features are made from the whole file, as in compare.
    """
    given = {**given, "scale": scale}
    (name,) = o.method_names(method)
    n_components = None if components is None else o.count("--components", components)
    params = {**o.parameters(set_), **_given(n_components=n_components, alpha=alpha)}
    # Its cells are wanted, and as a feature it vanishes within groups.
    options = reading(given, groups=groups)
    check_choices(given)
    from eigenkit.analysis import permutation_test
    from eigenkit.analysis.permutation import STATISTICS
    from eigenkit.registry import find

    o.choice("--statistic", statistic, STATISTICS)
    _check_parameters(find(name), params)
    whole = load_data(data, options, as_json)
    X, y, names, cells = _prepared(
        whole,
        given["task"],
        scale=scale,
        **o.feature_options(given),
    )
    with progress("permuting", as_json) as advance:
        found = permutation_test(
            find(name).make(**params),
            X,
            y,
            nuisance=None if nuisance is None else X[:, _picked(nuisance, names)],
            groups=None if groups is None else cells[whole.source.categorical_names[-1]],
            statistic=statistic,
            n_permutations=permutations,
            random_state=seed,
            n_jobs=jobs,
            progress=lambda done, total: advance(done, total, f"{done} of {total} permutations"),
        )
    head = found_line(data, whole.found)
    return Result(_record(found, name, level), f"{head}\n{found.summary(level)}")


def _prepared(data: Data, task: str | None, **features: Any) -> tuple[Any, Any, list[str], Any]:
    """X, y, the names of the features, and the cells of text columns."""
    from eigenkit.files import FileError, target_of
    from eigenkit.models._features import complete, learn_features

    source = data.source
    (block,) = complete(lambda: [data.block()], features["missing"])
    if not len(block):
        raise FileError(source.path, "every row misses a value: nothing is left.")
    separator = source.options.label_separator
    target = target_of(source.path, block.labels, source.label_names, task, separator)
    learned = learn_features(source, lambda: [block], **features)
    y = target.encode(source.path, block.labels)
    return learned.matrix(source.path, block), y, learned.feature_names(), block.text


def _picked(patterns: list[str], names: list[str]) -> list[int]:
    """The features that some pattern names."""
    wanted = o.split(patterns)
    for item in wanted:
        if not any(fnmatchcase(name, item) for name in names):
            raise typer.BadParameter(f"no feature is named {item!r}.", param_hint="--nuisance")
    return [j for j, name in enumerate(names) if any(fnmatchcase(name, item) for item in wanted)]


def _record(found: PermutationTest, name: str, level: float) -> dict[str, Any]:
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
