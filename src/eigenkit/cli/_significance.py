"""test: which components of a method are more than chance."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenkit.cli import _options as o
from eigenkit.cli._console import Result, progress
from eigenkit.cli._data import check_choices, check_views, found_line, load_data, reading
from eigenkit.cli._fit import _check_parameters, _given

if TYPE_CHECKING:
    from eigenkit.analysis import PermutationTest
    from eigenkit.files import Block, Data


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
) -> Result:
    """Test which components of a method are more than chance, by permutations.

    Features are made from the whole file, as in compare. The views of multiview_cca are tested
    against each other, without labels.
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
    from eigenkit.models._views import view_columns, view_params
    from eigenkit.registry import find

    o.choice("--statistic", statistic, STATISTICS)
    chosen, views = find(name), o.split(given["views"])
    _check_parameters(chosen, params)
    check_views(views, [chosen])
    if given["missing"] == "keep":
        raise o.bad("--missing", "a test needs complete rows: use mean, median or drop.")
    whole = load_data(data, options, as_json, given["missing"])
    block = _complete(whole, given["missing"])
    y = None if chosen.needs_views else _encoded(whole, block, given["task"])
    X, names = _features(whole, block, scale=scale, **o.feature_options(given))
    group = None if groups is None else whole.source.categorical_names[-1]
    aside = _picked(nuisance or [], names)
    own = [j for j in range(len(names)) if j not in aside and not _made_of(names[j], group)]
    told = view_params(chosen, view_columns(data, [names[j] for j in own], views))
    with progress("permuting", as_json) as advance:
        found = permutation_test(
            chosen.make(**told, **params),
            X[:, own],
            y,
            nuisance=X[:, aside] if aside else None,
            groups=None if group is None else block.text[group],
            statistic=statistic,
            n_permutations=permutations,
            random_state=seed,
            n_jobs=jobs,
            progress=lambda done, total: advance(done, total, f"{done} of {total} permutations"),
        )
    head = found_line(data, whole.found)
    return Result(_record(found, name, level), f"{head}\n{found.summary(level)}")


def _complete(data: Data, missing: str) -> Block:
    """The rows that are used."""
    from eigenkit.files import FileError
    from eigenkit.models._features import complete

    (block,) = complete(lambda: [data.block()], missing, data.source.categorical_names)
    if not len(block):
        raise FileError(data.source.path, "every row has a missing value: nothing is left.")
    return block


def _encoded(data: Data, block: Block, task: str | None) -> Any:
    from eigenkit.files import target_of

    source = data.source
    separator = source.options.label_separator
    target = target_of(source.path, block.labels, source.label_names, task, separator)
    return target.encode(source.path, block.labels)


def _features(data: Data, block: Block, **how: Any) -> tuple[Any, list[str]]:
    """X and the names of its columns."""
    from eigenkit.models._features import learn_features

    learned = learn_features(data.source, lambda: [block], **how)
    return learned.matrix(data.source.path, block), learned.feature_names()


def _made_of(feature: str, column: str | None) -> bool:
    """Whether a feature is a category of a column."""
    return column is not None and feature.startswith(f"{column}=")


def _picked(patterns: list[str], names: list[str]) -> list[int]:
    """The features that some pattern names."""
    wanted = o.split(patterns)
    for item in wanted:
        if not any(fnmatchcase(name, item) for name in names):
            raise o.bad("--nuisance", f"no feature is named {item!r}.")
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
