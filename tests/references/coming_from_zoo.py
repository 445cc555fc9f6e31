"""Values of cca-zoo for docs/coming_from.md and tests/test_docs_coming_from.py.

Run: python tests/references/coming_from_zoo.py > tests/references/coming_from_zoo.json
"""

import json
from importlib.metadata import version

import numpy as np
from cca_zoo.linear import CCA, MCCA, RidgeCCA

i, j = np.mgrid[1:31, 1:6]
s = np.arange(1, 31)
X = np.sin(i * j) + np.cos(3 * i + j) * np.sqrt(j)
Y = np.column_stack([X[:, 0] + np.sin(s), X[:, 1] - X[:, 3] + np.cos(2 * s), np.sin(3 * s)])
X[:, 0] += 1 + s % 3
views = [X, Y]
fitted = {
    "cca": CCA(n_components=3).fit(views),
    "ridge": RidgeCCA(n_components=3, shrinkage=[0.1, 0.3]).fit(views),
    "mcca": MCCA(n_components=2).fit([X[:, :2], X[:, 2:], Y]),
}
found = {"version": f"cca-zoo {version('cca-zoo')}"}
for name, model in fitted.items():
    seen = [X[:, :2], X[:, 2:], Y] if name == "mcca" else views
    scores = model.transform(seen)
    found[name] = [np.asarray(part).tolist() for part in scores]
print(json.dumps(found))
