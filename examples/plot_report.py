"""
What a model tells about itself
===============================

How the problem was solved, why so, and how exact the answer is: every fitted projection carries a report.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from eigenkit import CCA

rng = np.random.default_rng(0)
base = rng.normal(size=(200, 12))
Y = base[:, :3] + rng.normal(size=(200, 3))

# %%
# Before fitting: which method would be taken, and what it would cost.
print(CCA().plan(base, Y))

# %%
# Afterwards: the residual of the eigenvalue problem, W'BW - I, and the condition number. Here columns are made
# more and more alike; the answer stays exact long after X'X has become useless.
names = ("residual", "orthogonality")
closeness = np.logspace(0, -6, 13)
reports = []
for size in closeness:
    X = np.hstack([base, base[:, :4] + size * rng.normal(size=(200, 4))])
    reports.append(CCA(alpha=0).fit(X, Y).report_)

# %%
condition = [report.condition for report in reports]
for name in names:
    plt.loglog(condition, [getattr(report, name) for report in reports], "o-", label=name)
plt.xlabel("condition number of X'X")
plt.ylabel("error, relative")
plt.legend()
plt.show()
