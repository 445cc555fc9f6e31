"""What every estimator does for its user: parameters checked, nothing lost on errors.

This module does not depend on the data.
"""

from __future__ import annotations

import numbers
import re
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from inspect import isfunction
from textwrap import indent
from typing import Any, ClassVar, NoReturn, Self, TypeVar

import numpy as np

T = TypeVar("T")

# -- parameters -------------------------------------------------------------------------


def refuse(name: str, value: Any, expected: str) -> NoReturn:
    """Raise the error of a parameter that cannot have this value."""
    raise ValueError(f"{name}={shown(value)} is not valid: give {expected}.")


def check_real(name: str, value: Any, *, low: float = 0.0, high: float = np.inf) -> float:
    """``value`` as a finite float between the bounds (inclusive)."""
    number = np.nan
    if isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_):
        with suppress(OverflowError):  # 10**400
            number = float(value)
    if not low <= number <= high or not np.isfinite(number):
        bounds = f"of at least {low:g}" if high == np.inf else f"from {low:g} to {high:g}"
        refuse(name, value, f"a finite number {bounds}")
    return number


def check_above_zero(name: str, value: Any, *, hint: str = "") -> float:
    """``value`` as a finite float above zero."""
    number = 0.0
    with suppress(ValueError):
        number = check_real(name, value)
    if number == 0.0:
        refuse(name, value, f"a finite number above 0{hint}")
    return number


def check_flag(name: str, value: Any) -> bool:
    """``value``, True or False: another value that counts as true may mean something else."""
    if not isinstance(value, bool | np.bool_):
        refuse(name, value, "True or False")
    return bool(value)


def is_sequence(value: Any) -> bool:
    """Whether ``value`` holds several values: a string or a mapping is one."""
    several = hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping)
    return several and bool(getattr(value, "ndim", 1))


def check_sequence(name: str, value: Any, what: str) -> list[Any]:
    """The members of ``value``, which are ``what``; a single one is not taken for a sequence."""
    with suppress(TypeError):
        if is_sequence(value):
            if len(value) == 0:
                raise ValueError(f"{name} is empty: give {what}.")
            return list(value)
    refuse(name, value, f"a sequence of {what}")


def check_numbers(name: str, value: Any) -> list[float]:
    """The members of ``value``, a number or a sequence of them, each finite and not negative."""
    given = check_sequence(name, value, "numbers") if is_sequence(value) else [value]
    return [check_real(name, number) for number in given]


def time_of(seconds: float) -> str:
    """A time in words."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def counted(n: int, word: str) -> str:
    """A number and its noun, in the plural where there are several.

    Examples
    --------
    >>> from eigenkit.shell import counted
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"


def shown(value: Any) -> str:
    """The value as it would be typed, on one line, shortened if it is long."""
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def with_article(name: str) -> str:
    """The name of a class after "a" or "an", chosen by pronunciation: a PCA, an LDA, an int."""
    spelled = (name[:2].isupper() and name[1] not in "AEIOU") or name == "ndarray"
    vowel = name[:1] in ("AEFHILMNORSXn" if spelled else "AEIOUaeiou")
    return f"{'an' if vowel else 'a'} {name}"


def what_is(value: Any) -> str:
    """What a value is: "a list", "an LDA"."""
    return with_article(type(value).__name__)


def check_count(
    name: str, value: Any, *, low: int = 1, high: float = np.inf, hint: str = "", expected: str = ""
) -> int:
    """``value`` as an integer within the bounds; True and False do not count."""
    fine = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
    if not fine or not low <= value <= high:
        refuse(name, value, expected or f"an integer of at least {low}{hint}")
    return int(value)


def count_or(*others: str | None, hint: str) -> Callable[[str, Any], None]:
    """The rule for an integer of at least 1, or one of these words, or None."""

    def check_this(name: str, value: Any) -> None:
        if not isinstance(value, str | None) or value not in others:
            check_count(name, value, hint=hint)

    return check_this


# An integer of at least 1, or None, which stands for all.
check_all_or_count = count_or(None, hint=", or None for all")

# A generator of random numbers can begin with integers up to this.
_LARGEST_SEED = 2**32 - 1
_SEED = f"an integer from 0 to {_LARGEST_SEED}"
# ``value`` as such an integer.
check_seed = partial(check_count, low=0, high=_LARGEST_SEED, expected=_SEED)


def random_of(random_state: Any) -> np.random.RandomState:
    """The generator that ``random_state`` stands for, as in scikit-learn."""
    from sklearn.utils import check_random_state

    check_random("random_state", random_state)
    found: np.random.RandomState = check_random_state(random_state)
    return found


def check_random(name: str, value: Any) -> None:
    """``value`` is what scikit-learn takes for a ``random_state``."""
    if not (value is None or value is np.random or isinstance(value, np.random.RandomState)):
        wanted = f"{_SEED}, a RandomState, or None"
        check_count(name, value, low=0, high=_LARGEST_SEED, expected=wanted)


def check_jobs(name: str, value: Any) -> None:
    """``value`` is a number of processes as joblib takes it."""
    wanted = "a number of processes, -1 for one per processor, or None"
    if value is not None:
        check_count(name, value, low=-(2**31), high=2**31 - 1, expected=wanted)
        if value == 0:
            refuse(name, value, wanted)


def check_folds(name: str, value: Any) -> None:
    """``value`` says how rows are cut for cross-validation, as in scikit-learn."""
    no_pairs = isinstance(value, str | bytes) or hasattr(value, "tocsr")
    if no_pairs or not (hasattr(value, "split") or np.iterable(value)):
        wanted = "an integer of at least 2, a splitter or pairs of rows to fit and to score on"
        check_count(name, value, low=2, expected=wanted)


def check_scoring(name: str, value: Any) -> None:
    """``value`` names a score of scikit-learn, or is a function that gives one."""
    if callable(value):
        return
    from sklearn.metrics import get_scorer_names

    if not isinstance(value, str) or value not in get_scorer_names():
        raise ValueError(
            f"{name}={shown(value)} is not known: give a name that "
            "sklearn.metrics.get_scorer_names() lists, a function, or None."
        )


# What the values of a parameter must be: one of some choices, or what a function of its name and
# its value does not refuse.
Rule = Collection[str] | Callable[[str, Any], Any]


def as_function(rule: Rule) -> Callable[[str, Any], Any]:
    """The rule as a function that refuses a value which is against it."""
    return rule if callable(rule) else partial(check_choice, choices=rule)


def optional(rule: Rule) -> Rule:
    """The rule for a parameter that may be None as well."""
    refuse_others = as_function(rule)
    return lambda name, value: None if value is None else refuse_others(name, value)


# ``value`` as a float from 0 to 1.
check_share = partial(check_real, high=1.0)

# Parameters that mean the same wherever they are.
RULES: dict[str, Rule] = {
    "n_components": check_all_or_count,
    "alpha": check_real,
    "tol": check_real,
    "max_iter": check_count,
    "n_neighbors": check_count,
    "label_rank": count_or("auto", None, hint=", 'auto' or None for all"),
    "random_state": check_random,
    "n_jobs": check_jobs,
    "cv": optional(check_folds),
    "scoring": optional(check_scoring),
}


def checked(estimator: T) -> T:
    """The estimator, its parameters checked by the ``_rules`` of its class and of the bases."""
    kind: Any = type(estimator)
    values = vars(estimator)
    for name, rule in _rules_of(kind).items():
        if name in values:
            rule(name, values[name])
    return estimator


@cache
def _rules_of(kind: Any) -> dict[str, Callable[[str, Any], Any]]:
    rules = ChainMap(*(vars(base).get("_rules", {}) for base in kind.__mro__))
    return {name: as_function(rule) for name, rule in rules.items()}


def check_at_most(
    name: str, value: int | None, most: int, what: str, *, hint: str = ", or None for all"
) -> int:
    """``value``, or ``most`` for None. More is an error; ``what`` names what there are ``most`` of.

    The one rule for all that can be asked for in too large a number, components above all: fewer
    than asked for would come as a surprise wherever their number is counted on.
    """
    if value is not None and value > most:
        raise ValueError(
            f"{name}={shown(value)} exceeds {most}, {what}: give at most {most}{hint}."
        )
    return most if value is None else int(value)


def check_choice(name: str, value: Any, choices: Any) -> str:
    """``value``, one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={shown(value)} is not known: choose one of {known}.")
    return value


def lacks(owner: Any, verb: str) -> NoReturn:
    """Raise the error of a method that a class was expected to define, and does not.

    The base classes of data, kernels and estimators end here for every method that a subclass may
    or may not define.
    """
    name = owner.__name__ if isinstance(owner, type) else type(owner).__name__
    raise TypeError(f"{name} does not define {verb}, which is needed here: define it in the class.")


def take_parameters(estimator: Any, given: Mapping[str, Any]) -> None:
    """Keep the arguments of a constructor, its ``locals()``, as attributes of their names.

    For constructors that add a few parameters to the many of a base class.
    """
    for name, value in given.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


# -- the fitted state -------------------------------------------------------------------


def is_fitted_name(name: str) -> bool:
    """Whether an attribute of this name is left by fitting."""
    return name.endswith("_") and not name.endswith("__")


@contextmanager
def unchanged_on_error(estimator: Any, *, anew: bool = False) -> Iterator[None]:
    """Restore the estimator if anything inside fails, Ctrl-C included.

    With ``anew`` it first forgets everything that an earlier fit has set.
    """
    before = dict(vars(estimator))
    try:
        for name in filter(is_fitted_name, before if anew else ()):
            delattr(estimator, name)
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


# -- parameters of other libraries -------------------------------------------------------

UNCHANGED = "the caller's arrays are never changed, so there is nothing to copy"


class Instead:
    """A base class whose constructors answer known foreign parameters with one sentence.

    Examples
    --------
    >>> from eigenkit import PCA
    >>> PCA(batch_size=100)
    Traceback (most recent call last):
    TypeError: PCA takes no batch_size: give the batches to partial_fit.
    """

    # Name of a parameter, and how the sentence ends. Subclasses may take what a base does not.
    _instead: ClassVar[dict[str, str]] = {}

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        for name in parameters:
            if name in cls._instead:
                raise TypeError(f"{cls.__name__} takes no {name}: {cls._instead[name]}.")
        return super().__new__(cls)


# -- docstrings -------------------------------------------------------------------------


def filled(parts: Mapping[str, str]) -> Callable[[T], T]:
    """A decorator: lines ``{name}`` of docstrings become the part of that name.

    In the docstring of a function, or of a class and of the methods that it defines. A part may
    name others. Lines with names of no part stay: subclasses elsewhere may have their own.
    """

    def with_parts(text: str) -> str:
        return re.sub(r"^( *)\{(\w+)\}$", part, text, flags=re.M)

    def part(line: re.Match[str]) -> str:
        if line[2] not in parts:
            return line[0]
        return indent(with_parts(parts[line[2]].strip("\n")), line[1])

    def fill(documented: T) -> T:
        # Methods that scikit-learn's available_if hides at times are functions within it.
        inside = vars(documented).values() if isinstance(documented, type) else ()
        methods = [getattr(value, "fn", value) for value in inside]
        for each in (documented, *filter(isfunction, methods)):
            if each.__doc__:  # not under python -OO
                each.__doc__ = with_parts(each.__doc__)
        return documented

    return fill
