"""The rivals of set kernels, against their definitions; and the comparison of them all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from eigenkit.images import ImageAnnotator, Plan, comparison, make_shapes
from eigenkit.images.comparison import (
    Comparison,
    Row,
    advice,
    as_records,
    compare,
    figures,
    verdict,
)
from eigenkit.images.record import compared_record
from eigenkit.images.rivals import PLAIN, RIVALS, Fold, SvmBank, image_wise
from eigenkit.images.term_reports import measures, thresholds
from eigenkit.images.weights import bank_of, fit_judged
from eigenkit.solvers.kernel_weights import silp

pytest.importorskip("PIL.Image", reason="needs the extra [images]")
# Few small pictures tell little of some terms; what is said of that has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore:terms are predicted for nearly every set")


def fold(n=60, new=20, seed=0, groups=None):
    """Sets of two pictures; the first two numbers tell the first two terms."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n + new, 3)) < 0.4).astype(float)
    pictures = [np.hstack([y, 0, 0, 0]) + 0.3 * rng.normal(size=(2, 6)) for y in Y]
    means = np.array([p.mean(axis=0) for p in pictures])
    kernels = np.array([rbf_kernel(means[:, c], gamma=1.0) for c in (slice(0, 3), slice(3, 6))])
    chosen = fit_judged(kernels[:, :n, :n], np.array([[0.8, 0.2]]), Y[:n], groups, seed)
    rows = [0.8 * kernels[0, n:, :n] + 0.2 * kernels[1, n:, :n]]
    return Fold(
        kernels[:, :n, :n],
        kernels[:, n:, :n],
        np.ones((2, new)),
        Y[:n],
        groups,
        (chosen.scores(rows), thresholds(Y[:n], chosen.held_out)),
        np.array([0.5, 0.5]),
        pictures[:n],
        pictures[n:],
        seed,
    ), Y[n:]


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_finds_what_is_there(name):
    given, Y_new = fold()
    S, limits = RIVALS[name](given)
    assert S.shape == Y_new.shape
    assert limits.shape == (3,)
    auc, _, f1 = measures(Y_new, S, limits)
    assert auc > 0.85
    assert f1 > 0.7


@pytest.mark.parametrize("name", RIVALS)
def test_rivals_leave_groups_out(name):
    """Groups change what is chosen, never the shape of the answer."""
    given, _ = fold(groups=np.arange(60) // 4)
    S, _ = RIVALS[name](given)
    assert np.all(np.isfinite(S))


def test_svm_cuts_bound_the_criterion():
    given, _ = fold()
    bank, _ = bank_of(given.K)
    criterion = SvmBank(bank, given.Y[:, 0], C=1.0)
    rng = np.random.default_rng(0)
    for _ in range(5):
        mu, nu = rng.dirichlet(np.ones(2), 2)
        here, values = criterion.cut(mu)
        there, _ = criterion.cut(nu)
        assert here == pytest.approx(values @ mu)
        assert there >= values @ nu - 1e-3 * abs(there)


def test_svm_weights_are_the_best_of_a_line():
    given, _ = fold()
    bank, _ = bank_of(given.K)
    criterion = SvmBank(bank, given.Y[:, 0], C=1.0)
    found = silp(criterion, 1e-3, 100)

    def F(t):
        return criterion.cut(np.array([t, 1 - t]))[0]

    best = min(F(t) for t in np.linspace(0, 1, 41))
    assert found.objective <= best * 1.002
    assert found.weights[0] > 0.5


def test_the_svm_criterion_is_the_value_of_the_dual():
    given, _ = fold(n=25)
    bank, _ = bank_of(given.K)
    y = np.where(given.Y[:, 0] > 0, 1.0, -1.0)
    K = bank.mix(np.array([0.5, 0.5]))
    Q = K * np.outer(y, y)
    answer = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.full(25, 0.1),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, 1)] * 25,
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y},
    )
    value, _ = SvmBank(bank, given.Y[:, 0], C=1.0).cut(np.array([0.5, 0.5]))
    assert value == pytest.approx(-answer.fun, rel=1e-3)


def test_single_images_are_averaged():
    given, Y_new = fold()
    S, _ = image_wise(given)
    assert roc_auc_score(Y_new[:, 0], S[:, 0]) > 0.8
    doubled = Fold(
        **{**vars(given), "pictures_new": [np.vstack([p, p]) for p in given.pictures_new]}
    )
    np.testing.assert_allclose(image_wise(doubled)[0], S, atol=1e-8)


@pytest.mark.slow
def test_comparison_is_paired_and_names_those_level():
    sets, Y, terms = make_shapes(40, size=64)
    model = ImageAnnotator([Plan("thumbnail"), Plan("hsv")], size=(64, 64), weights="equal")
    chosen = ["set kernels, equal weights", "best single kernel", PLAIN]
    told: list[str] = []
    tell = lambda done, total, text: told.append(text)  # noqa: E731
    by = {"cv": 3, "groups": np.arange(40), "progress": tell}
    found = compare(sets, Y, terms, annotator=model, rivals=chosen, **by)
    assert told[-1].startswith("fold 3 of 3, kernel ")
    assert told[0].startswith("descriptors: 1 of ")
    assert {row.name for row in found.rows} == set(chosen)
    qualities = [row.quality.mean() for row in found.rows]
    assert qualities == sorted(qualities, reverse=True)
    assert found.recommended == found.rows[0].name
    plain = next(r for r in as_records(found) if r["name"] == PLAIN)
    assert plain["difference"] == 0
    assert found.recommended in verdict(found)
    tests = np.concatenate([rows for _, rows in found.held_out])
    assert sorted(tests) == list(range(40))


@pytest.mark.parametrize("grouped", [pytest.param(False, marks=pytest.mark.slow), True])
def test_sets_without_labels_are_learned_from_as_in_fit(grouped):
    """They are on the training side of every fold, unless their group is on the other."""
    sets, _, _ = make_shapes(40, size=32)
    Y, terms = np.eye(2)[np.arange(40) % 2], ["even", "odd"]
    Y[::5] = np.nan
    groups = np.arange(40) // 5 if grouped else None
    names = ["set kernels, equal weights", "mean of vectors, linear"]
    found = compare(
        sets,
        Y,
        terms,
        annotator=ImageAnnotator(["hsv"], size=(32, 32)),
        rivals=names,
        groups=groups,
        cv=2,
    )
    assert [one.name for one in found.sets] == [s.name for i, s in enumerate(sets) if i % 5]
    assert len(found.Y) == len(found.vectors["hsv"]) == 32
    assert not np.isnan(found.Y).any()
    for model, test in found.held_out:
        there = {found.sets[i].name for i in test}
        wanted = {s.name for s in sets} - there
        if grouped:
            elsewhere = {groups[i] for i, s in enumerate(sets) if s.name in there}
            wanted = {
                s.name for s, group in zip(sets, groups, strict=True) if group not in elsewhere
            }
        assert set(model.set_names_) == wanted
        assert len(model._labelled_) == 32 - len(test)


@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.ImageWarning")
def test_descriptors_that_learn_see_the_training_sets_of_a_fold_alone(tmp_path):
    sets, Y, terms = make_shapes(20, size=32)
    plans = [Plan("pca_sift-16", "pyramid"), Plan("hsv")]
    model = ImageAnnotator(plans, size=(32, 32), weights="equal", cache=tmp_path)
    found = compare(sets, Y, terms, annotator=model, rivals=["best single kernel"], cv=2)
    for fold, test in found.held_out:
        others = [sets[i] for i in range(20) if i not in test]
        alone = clone(model).fit(others, Y[[i for i in range(20) if i not in test]], terms)
        (own,), (there,) = ([d for d in m._descriptors_ if d.learns] for m in (fold, alone))
        np.testing.assert_array_equal(own.components_, there.components_)
        new = [sets[i] for i in test]
        np.testing.assert_array_equal(fold.predict_proba(new), alone.predict_proba(new))
    record = compared_record(found, "folds")  # drawn from the vectors of each fold
    fold, test = found.held_out[0]
    why = fold.explain(sets[test[0]])
    shown = {j: p for j, p, _ in record["sets"][int(test[0])]["scores"]}
    assert all(why.probabilities[j] == pytest.approx(p, abs=1e-3) for j, p in shown.items())


def test_a_rival_that_is_not_known_is_named_before_anything_is_computed():
    sets, Y, _ = make_shapes(6, size=32)
    with pytest.raises(ValueError, match="rivals='best kernel' is not known: choose"):
        compare(sets, Y, rivals=["best kernel"], progress=lambda *told: pytest.fail("computed"))


@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.ImageWarning")
def test_two_groups_are_two_folds_whose_training_sets_are_of_one_group():
    """Sets of one group are then left out one by one, as they would be without groups."""
    sets, Y, terms = make_shapes(24, size=32)
    model, halves = ImageAnnotator(["hsv", "thumbnail"], size=(32, 32)), np.arange(24) % 2
    found = compare(sets, Y, terms, annotator=model, groups=halves, cv=2)
    assert all(np.isfinite(row.quality).all() for row in found.rows)
    for fitted, test in found.held_out:
        train = np.flatnonzero(halves != halves[test[0]])
        alone = clone(model).fit([sets[i] for i in train], Y[train], terms)
        # Sums in single precision round otherwise where memory lies otherwise.
        np.testing.assert_allclose(fitted.thresholds_, alone.thresholds_, rtol=1e-5)


def test_more_folds_than_sets():
    sets, Y, terms = make_shapes(6, size=64)
    with pytest.raises(ValueError, match="cv=7 is not valid: give 2 to 6"):
        compare(sets, Y, terms, cv=7)


def test_measures_against_scikit_learn():
    rng = np.random.default_rng(0)
    Y = (rng.random((30, 4)) < 0.4).astype(float)
    S = Y + rng.normal(size=Y.shape)
    auc, p1, f1 = measures(Y, S, np.full(4, 0.5))
    assert auc == pytest.approx(roc_auc_score(Y, S, average="macro"))
    from sklearn.metrics import f1_score

    assert f1 == pytest.approx(f1_score(Y, S > 0.5, average="macro"))
    carried = Y.any(axis=1)
    assert p1 == np.mean([y[s.argmax()] for y, s in zip(Y[carried], S[carried], strict=True)])


@pytest.mark.slow
def test_the_plain_machine_can_be_fitted():
    sets, Y, terms = make_shapes(30, size=64)
    model = ImageAnnotator("pooled", size=(64, 64)).fit(sets, Y, terms)
    assert list(model.weights_) == ["joined pooled"]


def test_a_recommendation_says_how_to_fit_it():
    """Every way of fit is one of its options, and the first of them its default."""
    chosen, linear, usual = "chosen by the annotator", "mean of vectors, linear", ImageAnnotator()
    assert advice([chosen, linear], usual) == "It is what annotate fit does by itself."
    assert advice([PLAIN, linear], usual) == "It is fitted by annotate fit --kernels pooled."
    assert "--kernels default --weights best" in advice(["best single kernel"], usual)
    assert advice([linear], usual).endswith("annotate fit does not offer it.")
    other = advice([linear, PLAIN, chosen], usual)
    assert other.endswith(f"Next comes {PLAIN}, fitted by annotate fit --kernels pooled.")


def test_a_recommendation_repeats_what_was_measured():
    plans = ["hsv", Plan("thumbnail", "pooled"), Plan("sift-16")]
    given = ImageAnnotator(plans, size=(64, 32), views=False, random_state=3)
    kernels = "--kernels hsv,thumbnail:pooled,sift-16"
    others = "--no-views --size 64x32 --random-state 3."
    found = advice(["set kernels, equal weights"], given)
    assert found == f"It is fitted by annotate fit {kernels} --weights equal {others}"
    found = advice(["chosen by the annotator"], given)
    assert found == f"It is fitted by annotate fit {kernels} {others}"
    assert advice([PLAIN], given).endswith("fit --kernels pooled --size 64x32 --random-state 3.")
    thesis = ImageAnnotator("thesis", views=True)
    assert advice(["best single kernel"], thesis).endswith(
        "--kernels thesis --weights best --views."
    )
    unseen = advice(["chosen by the annotator"], ImageAnnotator(views="unseen"))
    assert unseen == "It is fitted by annotate fit --unseen-views."
    auto = advice(["chosen by the annotator"], ImageAnnotator(weights="auto"))
    assert auto == "It is fitted by annotate fit --weights auto."


def test_nothing_is_compared_with_a_plain_rival_that_did_not_run():
    row = Row("best single kernel", (0.9, 0.8), (1.0, 1.0), (0.5, 0.6), 0.1)
    found = as_records(Comparison([row], row.name, [], [], [], np.zeros((0, 1)), {}))[0]
    assert found["difference"] is None
    assert found["difference_error"] is None
    assert figures(found)[-1] == "not measured"
    apart = {**found, "difference": 0.1, "difference_error": 0.02}
    assert figures(apart)[-1] == "+0.100 ± 0.020"


@pytest.mark.filterwarnings("ignore::eigenkit.exceptions.ImageWarning")
def test_a_comparison_that_was_interrupted_goes_on(tmp_path, monkeypatch):
    sets, Y, terms = make_shapes(16, size=32)
    model = ImageAnnotator(["hsv"], size=(32, 32), cache=tmp_path)
    told = {"annotator": model, "rivals": ["mean of vectors, linear"], "cv": 2}

    def stop(measures):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(sets, Y, terms, **told, each=stop)
    assert sorted(path.name for path in tmp_path.glob("folds/*/*")) == ["0.ek", "0.json"]
    measured, made = comparison._measured, []
    monkeypatch.setattr(comparison, "_measured", lambda *a: made.append(1) or measured(*a))
    found = compare(sets, Y, terms, **told)
    assert (len(made), len(found.rows[0].auc)) == (1, 2)
    assert not list(tmp_path.glob("folds/*/*"))
