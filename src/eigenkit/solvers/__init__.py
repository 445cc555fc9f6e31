"""How a pencil is solved: statistical choices are made before, computational ones here.

:func:`solve` answers one pencil, :func:`solve_path` the same data for a grid of ridges at
little more than the cost of one. Every solver gives the same attributes, scale and signs.
"""

from eigenkit.solvers.stages import (
    REGRESSIONS,
    SOLVERS,
    Choice,
    Settings,
    choose,
    solve,
    solve_path,
)

__all__ = ["REGRESSIONS", "SOLVERS", "Choice", "Settings", "choose", "solve", "solve_path"]
