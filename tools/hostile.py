"""Every public estimator against everything hostile that the tests know, counted.

    python tools/hostile.py [--only LDA] [--wrong]

The cases are those of tests/test_hostile.py and tests/test_hostile_everywhere.py, and weights and
changes of scale of this file. Of every run one of four things comes out:

    correct      fitted, finite; and where the case changes nothing, with the scores of plain data
    clear error  a ValueError or TypeError of one sentence, and the estimator as it was
    wrong        what must be refused is not, numbers that are not finite or differ, other errors
    crash        the process ended, or did not within a minute
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src"), str(ROOT)]

from eigenkit.exceptions import EigenkitWarning  # noqa: E402
from test_contract import ESTIMATORS, default  # noqa: E402
from test_hostile import ERRORS, VALUES  # noqa: E402
from test_hostile_everywhere import X_CASES  # noqa: E402

SECONDS = 60
KINDS = ("correct", "clear error", "wrong", "crash")
# Other containers of the same numbers: the same scores.
SAME = {
    *("longdouble", "read-only", "negative strides", "strided", "big-endian", "frame"),
    *("extension types", "arrow-backed frame", "polars", "arrow table", "lists", "memmap"),
    *("fortran", "unaligned", "plain", "weights of one", "weights of 1e-3", "float64 weights"),
}
# What must be refused, but not by those who take it as it is meant.
MEANT = {
    ("PLSRegressionCV", "n_components 99"),  # the most to try
    *(
        (cls, name)  # gaps
        for cls in ("BayesianCCA", "ProbabilisticCCA")
        for name in ("NaN in X", "None in X", "pd.NA")
    ),
}
Case = Callable[[np.ndarray, Any], tuple]


def given(make: Callable[[int], Any]) -> Case:
    """Weights made for so many samples."""
    return lambda X, y: (X, y, {"sample_weight": make(len(X))})


def changed(make: Callable[[np.ndarray], Any]) -> Case:
    """X changed, y as it is."""
    return lambda X, y: (make(X), y)


def on_four_columns(make: Callable[[np.ndarray], Any]) -> Case:
    """The same for cases that name four columns."""
    return lambda X, y: (make(X[:, :4]), y)


def weights() -> dict[str, Case]:
    """Weights of every kind, and scales of X and y."""
    return {
        "plain": lambda X, y: (X, y),
        "weights of one": given(np.ones),
        "weights that sum to 1": given(lambda n: np.full(n, 1 / n)),
        "weights of 1e-100": given(lambda n: np.full(n, 1e-100)),
        "weights over 1e±100": given(lambda n: 10.0 ** np.linspace(-100, 100, n)),
        "some weights of zero": given(lambda n: (np.arange(n) % 4 > 0).astype(float)),
        "one weight": given(lambda n: 2.0),
        "list of weights": given(lambda n: [1, 2] * (n // 2)),
        **{f"X times {s:g}": changed(partial(np.multiply, s)) for s in (1e-300, 1e-160, 1e160)},
        "a column of 1e-170": lambda X, y: (np.hstack([X, 1e-170 * X[:, :1] ** 2]), y),
        "a column of 1e170": lambda X, y: (np.hstack([X, 1e170 * X[:, :1] ** 2]), y),
        "offset of 1e6": lambda X, y: (X + 1e6, y),
    }


def refused() -> dict[str, Case]:
    """What must not be taken."""
    found = {name: make for name, (make, _) in ERRORS.items()}
    found |= {name: on_four_columns(make) for name, (make, _) in X_CASES.items()}
    return found | {
        "masked weights": given(lambda n: np.ma.masked_array(np.ones(n), np.arange(n) == 0)),
        "complex weights": given(lambda n: np.ones(n) + 0j),
        "two columns of weights": given(lambda n: np.ones((n, 2))),
        "weights of words": given(lambda n: ["heavy"] * n),
    }


def base(model: Any) -> tuple[np.ndarray, Any]:
    """Forty samples with two clear directions, and y of the kind that the estimator takes."""
    rng = np.random.default_rng(3)
    classes = np.arange(40) % 3
    X = np.abs(rng.normal(size=(40, 5))) + np.eye(3)[classes] @ np.eye(3, 5) * 2
    if type(model).__name__ == "ShrinkageRegression":
        return X, X[:, 0] + rng.normal(size=40)
    if is_classifier(model) or not is_regressor(model):
        return X, classes
    return X, np.eye(3)[classes][:, :2] + 0.1 * rng.normal(size=(40, 2))


def made(cls: type) -> Any:
    """As constructed by default, with a seed where there is one."""
    model = default(cls)
    seed = {"random_state": 0} if "random_state" in model.get_params() else {}
    return model.set_params(**seed)


def scores(model: Any, X: Any) -> np.ndarray:
    """What the fitted model says of samples."""
    if hasattr(model, "labels_"):
        return np.asarray(model.labels_, dtype=float)
    names = ("transform", "decision_function", "predict")
    return np.asarray(next(getattr(model, n) for n in names if hasattr(model, n))(X), dtype=float)


def run(cls: type, name: str, case: Case, must_fail: bool) -> tuple[str, str]:
    """How one run ends, and why if it is wrong."""
    model = made(cls)
    X, y, *more = case(*base(model))
    options = dict(more[0]) if more else {}
    weight = {k: options.pop(k) for k in ("sample_weight",) if k in options}
    if not options.keys() <= model.get_params().keys():
        return "", ""
    if name in ("no y", "3-D y", "other number of rows") and not _needs_y(model):
        return "", ""
    model.set_params(**options)
    before = set(vars(model))
    try:
        Z = scores(model.fit(X, y, **weight), X)
    except (ValueError, TypeError) as error:
        text = str(error)
        if "\n" in text.strip() or not text:
            return "wrong", f"not one sentence: {text[:80]!r}"
        if set(vars(model)) != before:
            return "wrong", "a failed fit left something"
        return ("wrong", f"refused: {text[:120]}") if name in SAME else ("clear error", "")
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {str(error)[:80]}"
    if must_fail and (cls.__name__, name) not in MEANT:
        return "wrong", "accepted"
    if not np.all(np.isfinite(Z)):
        return "wrong", "not finite"
    if name in SAME:
        X, y = base(model)
        plain = scores(made(cls).set_params(**options).fit(X, y), X)
        if plain.shape != Z.shape or np.max(np.abs(plain - Z)) > 1e-7 * np.max(np.abs(plain)):
            return "wrong", "other scores than of plain data"
    return "correct", ""


def _needs_y(model: Any) -> bool:
    return bool(get_tags(model).target_tags.required)


def cases() -> list[tuple[str, Case, bool]]:
    """Name, change, and whether it must be refused."""
    good = VALUES | weights()
    return [(n, c, False) for n, c in good.items()] + [(n, c, True) for n, c in refused().items()]


def _child(queue: Any, cls: type, first: int) -> None:
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", EigenkitWarning)
    for i, (name, case, must_fail) in enumerate(cases()[first:], start=first):
        queue.put((i, None))
        queue.put((i, run(cls, name, case, must_fail)))
    queue.put((-1, None))


def outcomes(cls: type) -> Iterator[tuple[str, str, str]]:
    """Name, kind and reason of every case, in processes of their own that may die."""
    context, first, names = multiprocessing.get_context("fork"), 0, [case[0] for case in cases()]
    while first < len(names):
        queue = context.SimpleQueue()
        process = context.Process(target=_child, args=(queue, cls, first))
        process.start()
        for i, found in _answers(queue, process):
            first = i + 1
            if found[0]:
                yield names[i], *found
        process.kill()
        process.join()


def _answers(queue: Any, process: Any) -> Iterator[tuple[int, tuple[str, str]]]:
    """Results until the process is done; a crash of the case that it was at if it died or hung."""
    at = 0
    while True:
        alive = _wait(queue, process)
        if not alive:
            yield at, ("crash", f"exit code {process.exitcode}")
            return
        i, found = queue.get()
        if i < 0:
            return
        at = i
        if found is not None:
            yield i, found


def _wait(queue: Any, process: Any) -> bool:
    for _ in range(10 * SECONDS):
        if queue._reader.poll(0.1):
            return True
        if not process.is_alive():
            return bool(queue._reader.poll(0))
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="estimators whose name contains this")
    parser.add_argument("--wrong", action="store_true", help="say what was wrong, and why")
    arguments = parser.parse_args()
    total: collections.Counter[str] = collections.Counter()
    for cls in ESTIMATORS:
        if arguments.only and arguments.only not in cls.__name__:
            continue
        count: collections.Counter[str] = collections.Counter()
        for name, kind, why in outcomes(cls):
            count[kind] += 1
            if arguments.wrong and kind in ("wrong", "crash"):
                print(f"  {cls.__name__}, {name}: {kind} ({why})")
        total += count
        print(f"{cls.__name__:28}" + "".join(f"{count[kind]:6} {kind}" for kind in KINDS))
    print(f"{'all':28}" + "".join(f"{total[kind]:6} {kind}" for kind in KINDS))


if __name__ == "__main__":
    main()
