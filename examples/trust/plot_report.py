"""
How accurate is my model, and how was it computed?
==================================================

Every fitted projection carries a report: which solver was used and why, how well the solution satisfies the
equations, and how well conditioned the problem was.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from eigenkit import CCA

rng = np.random.default_rng(0)
base = rng.normal(size=(200, 12))
Y = base[:, :3] + rng.normal(size=(200, 3))

# %%
# Before fitting, ``plan`` says which method would be used, and what it would cost.
print(CCA().plan(base, Y))

# %%
# After fitting, ``report_`` gives the residual of the eigenvalue problem, the largest entry of W'BW - I, and the condition
# number. Here four columns become more and more similar to four others. The solution stays accurate long after X'X has
# become numerically singular.
names = ("residual", "orthogonality")
closeness = np.logspace(0, -6, 13)
reports = []
for size in closeness:
    X = np.hstack([base, base[:, :4] + size * rng.normal(size=(200, 4))])
    reports.append(CCA(alpha=0).fit(X, Y).report_)

# %%
condition = [report.condition for report in reports]
for name in names:
    plt.loglog(
        condition, [getattr(report, name) for report in reports], "o-", label=name
    )
plt.xlabel("condition number of X'X")
plt.ylabel("relative error")
plt.legend()
plt.show()
