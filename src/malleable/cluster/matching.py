"""Which classes of jobs are suggested to which nodes: linear programs of Rasooli and Down 2011."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from malleable.arrays import Floats, Integers
from malleable.checkpoints import by_value
from malleable.display import counted
from malleable.files.advice import library
from malleable.validation import WEIGHT, floats

# A share is called zero when it serves less than this part of what its class needs.
_ZERO = 1e-7
# A dual value above this is not zero.
_PRICED = 1e-9


@by_value()
class ClassMatching(NamedTuple):
    """How much of each node is meant for each class.

    Attributes
    ----------
    growth : float
        Lambda: all arrival rates times this can just be served; infinity if no job comes.
    share : ndarray of float64, shape (F, M)
        Delta: part of node j's time for class i, equal for nodes of one type.
    suggested : ndarray of bool, shape (F, M)
        Whether class i is in SC_j, the classes suggested to node j.
    """

    growth: float
    share: Floats
    suggested: npt.NDArray[np.bool_]

    def sets(self) -> list[Integers]:
        return [np.flatnonzero(column) for column in self.suggested.T]


@by_value()
class AdaptiveMatching(NamedTuple):
    """The last solution of the linear programs, and the present rates. A row of the arrays is a class of
    jobs, a column a group of alike nodes.

    Attributes
    ----------
    classes : tuple of (priority, program)
        The class of each row. A program is a name, or for jobs without programs the logarithms (base 4) of
        the numbers and seconds of their tasks, rounded up.
    nodes : list of ndarray
        The nodes of each column.
    arrival_rates, minimum_arrival_rates : ndarray of float64, shape (F,)
        Jobs of the class that arrive in a second: all, and those of users with a minimum share.
    execution_rates : ndarray of float64, shape (F, R)
        Jobs of the class that one node of the column could serve in a second.
    share, minimum_share : ndarray of float64, shape (F, R)
        Delta' (fairness) and delta (minimum shares). Above 0: the nodes are suggested to the class.
    solves : int
        How often the programs have been solved.
    """

    classes: tuple[tuple[float, Any], ...]
    nodes: list[Integers]
    arrival_rates: Floats
    minimum_arrival_rates: Floats
    execution_rates: Floats
    share: Floats
    minimum_share: Floats
    solves: int


def check_solver() -> Any:
    return library("highspy", "matching classes", "'malleable[lp]'")


def _checked(field: str, values: npt.ArrayLike, dimensions: int) -> Floats:
    array = floats(field, values, WEIGHT)
    if array.ndim != dimensions:
        raise ValueError(f"{field} has {counted(array.ndim, 'dimension')}, expected {dimensions}")
    return array


def match_classes(
    arrival_rates: npt.ArrayLike,
    execution_rates: npt.ArrayLike,
    *,
    group: bool = True,
    serve_idle: bool = True,
) -> ClassMatching:
    """Match classes of jobs with nodes so that all classes could grow alike as far as possible.

    delta_ij is the part of node j's time for class i. Maximises lambda subject to ``sum_j mu_ij delta_ij >=
    lambda alpha_i`` for every class i and ``sum_i delta_ij <= 1`` for every node j. If several vertices are
    optimal, the result puts later classes on later
    nodes: among all optimal delta, the largest ``sum_ij (i + 1)^a (j + 1)^b n_j mu_ij delta_ij / alpha_i``
    with a = 1 / sqrt(2), b = 1 / sqrt(3) (irrational, so that sums do not tie), types in the order of their
    first node, n_j being the nodes of a type (1 without grouping).

    Parameters
    ----------
    arrival_rates : array_like of float, shape (F,)
        alpha, jobs a second.
    execution_rates : array_like of float, shape (F, M)
        mu, jobs a second that the whole node could serve; 0: the class cannot run there.
    group : bool
        Solve for types of nodes (equal columns), with the same lambda, and equal shares within a type. False:
        for each node, as in Rasooli and Down 2011.
    serve_idle : bool
        A class that has not come yet (rate 0) is suggested to the nodes that are fastest for it, with share
        0. False: to no node, as in Rasooli and Down 2011.

    Returns
    -------
    ClassMatching

    Raises
    ------
    ValueError
        Names the field, the first bad entry and its value; also for a class that comes but runs nowhere.
    ImportError
        highspy, which solves linear programs, is not installed.

    See Also
    --------
    malleable.AdaptiveLiteral : The policy that follows the matching.

    Notes
    -----
    Cost: two linear programs of F G + 1 variables and F + G rows, G being types or nodes. Source:
    Rasooli and Down 2011, section 6.2, 3.

    Examples
    --------
    >>> import malleable as mb
    >>> found = mb.match_classes([2.45, 2.45], [[9, 5], [2, 1]])  # needs malleable[lp]
    >>> round(found.growth, 4)
    1.0204
    """
    alpha = _checked("arrival_rates", arrival_rates, 1)
    mu = _checked("execution_rates", execution_rates, 2)
    classes, nodes = mu.shape
    if len(alpha) != classes:
        raise ValueError(
            f"arrival_rates has {counted(len(alpha), 'entry')} but execution_rates has "
            f"{counted(classes, 'row')}"
        )
    first, member = _types(mu) if group else (np.arange(nodes), np.arange(nodes))
    count = np.bincount(member, minlength=len(first)).astype(np.float64)
    share = resource_shares(alpha, mu[:, first], count)
    growth = np.inf
    come = np.flatnonzero(alpha > 0.0)
    if len(come):
        growth = float(((mu[:, first] * count * share).sum(axis=1)[come] / alpha[come]).min())
    used = share > 0.0
    if serve_idle and nodes:
        for row in np.flatnonzero(alpha == 0.0):
            best = mu[row, first].max()
            used[row] = (mu[row, first] == best) & (best > 0.0)
    return ClassMatching(
        growth, np.ascontiguousarray(share[:, member]), np.ascontiguousarray(used[:, member])
    )


def resource_shares(alpha: Floats, mu: Floats, count: Floats) -> Floats:
    """Shares (delta) of resources, each of which stands for ``count`` nodes. ``alpha``: arrival rates of
    classes; ``mu``: jobs a second that a node serves; both are checked."""
    check_solver()
    share = np.zeros(mu.shape)
    come = np.flatnonzero(alpha > 0.0)
    for row in come:
        if not mu[row].any():
            raise ValueError(f"execution_rates[{row}]: all 0, the class runs on no node")
    if len(come):
        share[come] = _solve(alpha[come], mu[come] * count)
    return share


def _types(mu: Floats) -> tuple[Integers, Integers]:
    # The first node of each type (nodes with equal columns), and the type of each node.
    _, first, member = np.unique(mu, axis=1, return_index=True, return_inverse=True)
    member = member.reshape(-1)
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order].astype(np.int64), place[member].astype(np.int64)


def _solve(alpha: Floats, capacity: Floats) -> Floats:
    # Shares at the chosen vertex; capacity[i, g]: jobs of class i that all nodes of g serve in a second.
    # In units in which equal shares give growth 1, so that 1 <= growth <= F.
    equal = float((capacity.sum(axis=1) / alpha).min()) / len(alpha)
    # A class that needs less than a ten-millionth of all capacity counts as needing that much.
    speed = np.minimum(capacity / (alpha[:, None] * equal), 1e7)
    classes, columns = speed.shape
    rank = speed * np.outer(
        np.arange(1.0, classes + 1.0) ** np.sqrt(0.5),
        np.arange(1.0, columns + 1.0) ** np.sqrt(1 / 3),
    )
    rank /= max(float(rank.max()), 1e-300)
    found = _highs(speed, rank)
    served = speed * found
    served[served <= _ZERO * served.sum(axis=1, keepdims=True)] = 0.0
    share = np.where(served > 0.0, found, 0.0)
    # Rounding must not share more than a node has.
    return np.asarray(share / np.maximum(share.sum(axis=0), 1.0), dtype=np.float64)


def _highs(speed: Floats, rank: Floats) -> Floats:
    # Shares by the solver HiGHS: the largest lambda, then among these optima the largest sum of ``rank``.
    import highspy

    classes, columns = speed.shape
    count = classes * columns
    infinity = highspy.kHighsInf

    class Quiet(highspy.Highs):  # type: ignore[misc]
        """Since version 1.16 a solver prints a line as soon as it has callbacks, before options can be set."""

        def enableCallbacks(self) -> None:  # noqa: N802
            pass

    solver = Quiet()
    for option, setting in (
        ("output_flag", False),
        ("threads", 1),
        ("solver", "simplex"),
        ("presolve", "off"),
        ("primal_feasibility_tolerance", 1e-10),
        ("dual_feasibility_tolerance", 1e-10),
    ):
        solver.setOptionValue(option, setting)
    # Shares by class and type of nodes, then lambda. A class that cannot run on a type gets no share of it.
    upper = np.append(np.where(speed.reshape(-1) > 0.0, infinity, 0.0), infinity)
    solver.addVars(count + 1, np.zeros(count + 1), upper)
    solver.changeColCost(count, 1.0)
    solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
    places = np.arange(count, dtype=np.int32).reshape(classes, columns)
    for own, rates in zip(places, speed, strict=True):
        at = np.append(own, np.int32(count))
        solver.addRow(0.0, infinity, columns + 1, at, np.append(rates, -1.0))
    for own in places.T.copy():
        solver.addRow(-infinity, 1.0, classes, own, np.ones(classes))

    def solved() -> bool:
        solver.run()
        return bool(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal)

    if not solved():
        status = solver.modelStatusToString(solver.getModelStatus())
        raise RuntimeError(f"HiGHS: {status}")
    best = solver.getSolution()
    vertex = np.array(best.col_value)[:count]
    # Restricts to the first program's optima: variables and rows with a price stay at their bounds.
    # Its vertex is an optimum, so primal simplex continues from there.
    priced = np.flatnonzero(np.abs(np.array(best.col_dual)[:count]) > _PRICED)
    solver.changeColsBounds(
        len(priced), priced.astype(np.int32), np.zeros(len(priced)), np.zeros(len(priced))
    )
    for k in np.flatnonzero(np.abs(np.array(best.row_dual)) > _PRICED).tolist():
        bound = 0.0 if k < classes else 1.0
        solver.changeRowBounds(k, bound, bound)
    solver.changeColsCost(
        count + 1, np.arange(count + 1, dtype=np.int32), np.append(rank.reshape(-1), 0.0)
    )
    solver.setOptionValue("simplex_strategy", 4)
    if solved():
        vertex = np.array(solver.getSolution().col_value)[:count]
    return vertex.reshape(classes, columns)
