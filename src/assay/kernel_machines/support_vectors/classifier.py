"""Support vector classification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from assay import parameters
from assay.certificates import Certificates, at_most
from assay.kernel_machines.support_vectors.base import INSTEAD, MACHINE_DOMAINS, SupportVectorModel, values_block
from assay.kernel_machines.support_vectors.certificates import stored_certificate
from assay.kernel_machines.support_vectors.leave_one_out import leave_one_out_error, xi_alpha_bound
from assay.kernel_machines.support_vectors.machine import MachineData, Standing
from assay.kernel_machines.support_vectors.pairs import (
    Duel,
    class_scores,
    classes_of,
    duels,
    packed,
    unpacked,
)
from assay.kernel_machines.support_vectors.probabilities import class_probabilities, inverse_temperature
from assay.kernel_machines.support_vectors.selection import SelectsMachines
from assay.losses import Hinge
from assay.models.capabilities import require_memory
from assay.models.classes import CLASS_WEIGHT, Classifier, class_factors
from assay.parameters import Domain
from assay.rows import Block, MemoryRows
from assay.solvers.rkhs.problem import Array, RKHSProblem
from assay.suitability import Suitability


class SVC(SelectsMachines, Classifier, SupportVectorModel):
    """Support vector classification in the Hilbert space of a kernel.

    Minimises over h in the space of the kernel and over b

        ½‖h‖² + C Σ_i s_i max(0, 1 − y_i (h(x_i) + b)),        y_i = ±1, b not penalised,

    by its dual: max Σ ν_i y_i − ½ νᵀKν over ν_i y_i in [0, C s_i] and Σν = 0, with h = Σ ν_i k(x_i, ·). Pairs of
    rows are solved for in working sets, all rows inside their box at once where that is cheaper, until the relative
    duality gap is at most `tol`. Several classes are told apart by one machine for each two, or each against the rest.

    The fit compares all pairs of rows: n_samples² kernel values in time; in memory the kernel rows of `cache_size`.
    Predictions are made block by block, from any source.

    Assumes: a positive semi-definite kernel. The minimiser needs no more; that its error on new rows is near the one
    measured needs independent rows of one law.

    Certificates: relative duality gap by a feasible dual point, optimality conditions row by row, feasibility;
    `certify` makes the kernel values afresh and compares all that is stored. With two classes, a bound on the
    leave-one-out error.

    Parameters
    ----------
    C : float above 0, default=1.0
        The cost of a slack. Sangnier's (λ/2)‖w‖² + (1/n) Σ ξ has C = 1/(λn).
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "rbf" or "gaussian", "laplacian", "polynomial" or "poly", "exponential", "sigmoid",
        "precomputed"), an object of `assay.kernels`, or a function of two rows. With "precomputed", X is the Gram
        matrix at the fit and the cross matrix afterwards.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : "scale", "auto" or float, default="scale"
        Scale of the named kernels: 1/(n_features · variance of X), 1/n_features, or the number.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    shrinking : bool, default=True
        As in scikit-learn; working sets leave out what does not move anyway, so that it changes nothing.
    probability : bool or "deprecated", default="deprecated"
        Whether `predict_proba` works: values are turned into probabilities by a sigmoid through 0 (a softmax of
        several classes) whose slope is fitted to five cross-fitted folds, so that the most probable class is the
        one predicted.
    tol : float above 0, default=1e-6
        Relative duality gap to reach.
    cache_size : float, default=1000
        Megabytes for kernel rows.
    class_weight : dict or "balanced", optional
        Factors of C for each class.
    verbose : bool, default=False
        Accepted; see scikit-learn's callbacks for progress.
    max_iter : int, default=-1
        Most steps per machine; −1 for no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` gives a score per class or one per machine of two classes.
    break_ties : bool, default=False
        Whether equally many duels are decided by their values in place of the order of the classes.
    random_state : int, Generator or None, default=None
        Draws the pairs of `working_set="random"`.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One machine for each two classes, or each class against the rest.
    penalty_strength : float, optional
        The penalty λ‖h‖² on the mean loss; takes the place of `C`, with C = 1/(2λn).
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    kernel_params : dict, optional
        Further arguments of a callable kernel.
    working_set : {"second_order", "max_violating_pair", "random"}, default="second_order"
        How pairs are chosen. The other two keep the whole Gram matrix; "random" is the algorithm of the notes.
    history : bool, default=False
        Whether `history_` keeps the dual value after each round, which never falls.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    support_ : array of shape (n_SV,)
        Places of the support vectors, sorted by class.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
    n_support_ : array of shape (n_classes,)
    dual_coef_ : array of shape (n_classes − 1, n_SV), (n_classes, n_SV) against the rest
        ν of each support vector in each machine, laid out as scikit-learn does.
    intercept_ : array of shape (n_machines,)
    intercept_interval_ : array of shape (n_machines, 2)
        Intercepts that are as good; a single point when a support vector is on the margin.
    C_, penalty_strength_ : float
    slack_, kkt_violations_ : arrays of shape (n_samples,), (n_machines, n_samples) for several classes
        ξ of each row, and how far it is from the optimality conditions.
    point_sets_ : array of the same shape
        0 outside (ν = 0), 1 on the margin, 2 at the bound; see `point_sets`.
    rkhs_norm_, margin_ : arrays of shape (n_machines,)
        ‖h‖ and the width 1/‖h‖ on either side of the frontier.
    primal_value_, dual_value_, loss_value_ : arrays of shape (n_machines,)
        The objective, the value of the dual, and C Σ s ξ; the other term of the objective is ½ ‖h‖².
    leave_one_out_bound_ : float
        Share of rows with 2 α R² + ξ ≥ 1; with two classes only.
    kernel_ : Kernel
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import TwoMoons
    >>> from assay.kernel_machines import SVC
    >>> X, y = TwoMoons(noise=0.2).sample(200, random_state=0)
    >>> model = SVC(C=10.0).fit(X, y)
    >>> model.certificates_.holds, bool(model.score(X, y) > 0.9)
    (True, True)

    References
    ----------
    Sangnier §1.4.1, §1.4.3, §1.4.6; Wei §8.4.
    """

    _source: ClassVar[str] = "Sangnier §1.4.6"
    _suits: ClassVar[Suitability | None] = Suitability(complexity=5, max_rows=5000, select={}, settings={})
    _domains: ClassVar[Mapping[str, Domain]] = {
        **MACHINE_DOMAINS,
        "probability": parameters.boolean | parameters.one_of("deprecated"),
        "class_weight": CLASS_WEIGHT,
        "decision_function_shape": parameters.one_of("ovr", "ovo"),
        "break_ties": parameters.boolean,
        "multi_class": parameters.one_of("ovo", "ovr"),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-6,
        cache_size: float = 1000,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
        penalty_strength: float | None = None,
        fit_intercept: bool = True,
        kernel_params: dict[str, Any] | None = None,
        working_set: str = "second_order",
        history: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.penalty_strength = penalty_strength
        self.fit_intercept = fit_intercept
        self.kernel_params = kernel_params
        self.working_set = working_set
        self.history = history

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit the machines.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Training rows in memory; the Gram matrix when the kernel is precomputed.
        y : array of shape (n_samples,)
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.
        """
        require_memory(self, X, instead=INSTEAD)
        opened, weights = self._open_classes(X, y, sample_weight)
        assert isinstance(opened, MemoryRows)
        self.class_weight_ = class_factors(self.class_weight, self.classes_, weights)
        self.kernel_ = self._kernel_for(opened.X)
        self._set_strength(float(weights.sum()))
        machines, codes = self._opened_machines(opened, fitting=True)
        solutions = self._solve_all(X, y, machines)
        self._solved = [solution.coef for solution in solutions]
        standings = self._judge(machines, solutions, opened.X.dtype)
        coefs = np.zeros((opened.X.shape[0], len(machines)))
        for place, (data, solution) in enumerate(zip(machines, solutions, strict=True)):
            coefs[data.rows, place] = solution.coef
        intercepts = np.array([solution.intercept for solution in solutions])
        self._store(opened, codes, coefs, intercepts)
        self._positive = codes == 1
        self.__dict__.update(self._implied(machines, standings, opened.X.shape[0]))
        self.n_iter_ = np.array([solution.n_iter for solution in solutions], dtype=np.int32)
        self.fit_status_, self.shape_fit_ = int(not self.converged_), opened.X.shape
        if self.probability is True:
            self.inverse_temperature_ = inverse_temperature(self, X, y, sample_weight)
        return self

    def _gram_problems(self, y: NDArray, weight: NDArray | None, gram: Array) -> list[MachineData]:
        """The machines of a unit cost on a Gram matrix."""
        nothing = np.empty((len(y), 0))
        return self._machines(nothing, y.astype(np.intp), self._costs(y.astype(np.intp), weight), gram)

    def _costs(self, codes: NDArray[np.intp], weight: NDArray | None) -> Array:
        """Cost of each row for C = 1."""
        counts = np.bincount(codes, weight, minlength=len(self.classes_)).astype(np.float64)
        factors = class_factors(self.class_weight, self.classes_, counts)[codes]
        return factors if weight is None else factors * weight

    def _machines(
        self, X: Any, codes: NDArray[np.intp], cost: Array, gram: NDArray | None
    ) -> list[MachineData]:
        """The rows and the objective of each machine."""
        machines = []
        for positive, negative in self._duels:
            taken = cost > 0
            if negative is not None:
                taken = taken & ((codes == positive) | (codes == negative))
            rows = None if taken.all() else np.flatnonzero(taken)
            sign = np.where(codes == positive, 1.0, -1.0)
            problem: RKHSProblem[Any] = RKHSProblem(Hinge(), sign, cost, self.fit_intercept)
            problem = problem if rows is None else problem.take(rows)
            machines.append(self._machine(X, gram, rows, problem))
        return machines

    def _opened_machines(self, data: MemoryRows, *, fitting: bool) -> tuple[list[MachineData], NDArray[np.intp]]:
        """The machines of opened rows, and the class of each row."""
        assert data.y is not None
        codes = data.y.astype(np.intp)
        gram = self._gram_of(data.X, fitting=fitting)
        return self._machines(data.X, codes, self.C_ * self._costs(codes, data.weight), gram), codes

    def _predictions_of(self, values: NDArray) -> NDArray:
        """Places of the classes, from values of shape (n_rows, n_models, n_machines)."""
        flat = values.reshape(-1, values.shape[2])
        places = np.arange(len(self.classes_))
        decided = classes_of(flat, places, against_rest=self.multi_class == "ovr", break_ties=bool(self.break_ties))
        return decided.reshape(values.shape[:2])

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> Array:
        return (predictions != y[:, None]).astype(np.float64)

    @property
    def _duels(self) -> list[Duel]:
        return duels(len(self.classes_), against_rest=self.multi_class == "ovr")

    def _store(self, data: MemoryRows, codes: NDArray[np.intp], coefs: Array, intercepts: Array) -> None:
        """What predictions read, support vectors sorted by class."""
        support = np.flatnonzero(coefs.any(axis=1))
        support = support[np.argsort(codes[support], kind="stable")]
        self.support_ = support.astype(np.int32)
        self.support_vectors_ = data.X[support]
        if self._is_precomputed:
            self.support_vectors_ = np.empty((0, 0), dtype=data.X.dtype)
        self.n_support_ = np.bincount(codes[support], minlength=len(self.classes_)).astype(np.int32)
        columns = packed(coefs[support], codes[support], len(self.classes_), self._duels)
        self.dual_coef_, self.intercept_ = columns.astype(data.X.dtype), intercepts.astype(data.X.dtype)

    def _implied(self, machines: list[MachineData], standings: list[Standing], n: int) -> dict[str, Any]:
        """Slacks, sets, norms and values of the machines."""

        def spread(parts: list[NDArray]) -> NDArray:
            table = np.zeros((len(machines), n), dtype=parts[0].dtype)
            for line, data, part in zip(table, machines, parts, strict=True):
                line[data.rows] = part
            return table[0] if len(machines) == 1 else table

        norms = np.sqrt([standing.gap.squared_norm for standing in standings])
        with np.errstate(divide="ignore"):
            margins = 1 / norms
        two = len(machines) == 1
        bound = xi_alpha_bound(machines[0], standings[0], self.kernel_, self.C_) if two else None
        return {
            "slack_": spread([standing.slack for standing in standings]),
            "kkt_violations_": spread([standing.violations for standing in standings]),
            "point_sets_": spread([standing.sets for standing in standings]),
            "intercept_interval_": np.array([standing.interval for standing in standings]),
            "rkhs_norm_": norms,
            "margin_": margins,
            "primal_value_": np.array([standing.gap.primal for standing in standings]),
            "dual_value_": np.array([standing.gap.dual for standing in standings]),
            "loss_value_": np.array([float(standing.gap.row_loss.sum()) for standing in standings]),
            **({"leave_one_out_bound_": bound} if two else {}),
        }

    def point_sets(self) -> dict[str, NDArray[np.intp]]:
        """Places of the rows on the margin (M), at the bound (I) and outside (O), by the sign of their class.

        Two classes only. Support vectors are those on the margin and at the bound.
        """
        if len(self.classes_) != 2:
            raise ValueError("point_sets tells the rows of two classes; with more, read 'point_sets_'.")
        sign = np.where(self._positive, "+", "-")
        names = np.array(["O", "M", "I"])[self.point_sets_]
        both = np.char.add(names, sign)
        return {name: np.flatnonzero(both == name) for name in ("M+", "M-", "I+", "I-", "O+", "O-")}

    @property
    def coef_(self) -> NDArray:
        """Coefficients of the columns, for the linear kernel: shape (n_machines, n_features)."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return np.asarray(self._columns.T @ self.support_vectors_)

    @property
    def _columns(self) -> NDArray:
        """Coefficients of the support vectors, one column per machine."""
        codes = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        return unpacked(self.dual_coef_, codes, len(self.classes_), self._duels)

    def _values(self, X: Any, after: Any, *, dtype: Any, width: int | None) -> Any:
        data = self._open_new_rows(X)
        support = (self.support_vectors_, self.support_)
        fitted = self.kernel_, support, self._columns, self.intercept_
        return data.map(machines_block, fitted, after, dtype=dtype, width=width)

    def decision_function(self, X: Any) -> Any:
        """Values of the machine of two classes, shape (n_samples,); else a score per class, or per machine."""
        n_classes, dtype = len(self.classes_), self.intercept_.dtype
        if n_classes == 2:
            return self._values(X, _first, dtype=dtype, width=None)
        if self.multi_class == "ovr" or self.decision_function_shape == "ovo":
            return self._values(X, _as_they_are, dtype=dtype, width=len(self.intercept_))
        return self._values(X, _Scores(n_classes), dtype=dtype, width=n_classes)

    def predict(self, X: Any) -> Any:
        """Class of each row: an array, or a lazy Dask array for Dask input."""
        if self.break_ties and self.decision_function_shape == "ovo" and len(self.classes_) > 2:
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        ties = bool(self.break_ties) or self.probability is True
        decide = _Decide(self.classes_, self.multi_class == "ovr", ties)
        return self._values(X, decide, dtype=self.classes_.dtype, width=None)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class; needs `probability=True`."""
        if self.probability is not True:
            raise AttributeError("predict_proba is not available when probability is not True")
        shape = _Probabilities(len(self.classes_), self.multi_class == "ovr", self.inverse_temperature_)
        return self._values(X, shape, dtype=self.intercept_.dtype, width=len(self.classes_))

    def certify(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, leave_one_out: bool = False
    ) -> Certificates:
        """Measure every certificate afresh on the data of the fit.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.
        leave_one_out : bool, default=False
            Whether to fit the model without each support vector in turn, and compare the error with its bound.
        """
        require_memory(self, X, instead="certify on a sample of them")
        opened = self._open_new_classes(X, y, sample_weight)
        assert isinstance(opened, MemoryRows)
        machines, codes = self._opened_machines(opened, fitting=False)
        coefs = np.zeros((opened.X.shape[0], len(machines)))
        coefs[self.support_] = self._columns
        standings = self._standings(machines, coefs, self.intercept_.astype(np.float64))
        pairs = {
            name: (getattr(self, name), value)
            for name, value in self._implied(machines, standings, opened.X.shape[0]).items()
            if name not in ("kkt_violations_", "intercept_interval_")
        }
        pairs["n_support_"] = self.n_support_, np.bincount(codes[self.support_], minlength=len(self.classes_))
        if not self._is_precomputed:
            vectors = opened.X[self.support_]
            pairs["support_vectors_"] = tuple(
                each.toarray() if hasattr(each, "toarray") else each for each in (self.support_vectors_, vectors)
            )
        weight = opened.total_weight
        pairs["penalty_strength_"] = self.penalty_strength_, 1 / (2 * self.C_ * weight)
        if self.probability is True:
            again = inverse_temperature(self, X, y, sample_weight)
            pairs["inverse_temperature_"] = self.inverse_temperature_, again
        single = self.dual_coef_.dtype == np.float32
        claims = [*self._claims(standings, self.dual_coef_.dtype), stored_certificate(pairs, self._source, single=single)]
        if leave_one_out:
            claims.append(self._leave_one_out_claim(X, y, sample_weight, machines[0], standings[0]))
        return Certificates(claims)

    def _leave_one_out_claim(
        self, X: Any, y: Any, sample_weight: Any, data: MachineData, standing: Standing
    ) -> Any:
        if len(self.classes_) != 2:
            raise ValueError("The bound on the leave-one-out error is that of two classes.")
        error = leave_one_out_error(self, X, y, sample_weight)
        bound = xi_alpha_bound(data, standing, self.kernel_, self.C_)
        claim = "Leaving out one row at a time, the share of errors is at most that of rows with 2αR² + ξ ≥ 1."
        return at_most(
            claim,
            "leave-one-out error",
            error,
            bound,
            "Joachims (2000)",
            assumptions=("a support vector on the margin",),
            trivial=1.0,
        )


class _Scores:
    """One score per class from the values of the machines of two."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def __call__(self, values: NDArray) -> NDArray:
        return class_scores(values, self.n_classes).astype(values.dtype)


class _Decide:
    """The class of each row."""

    def __init__(self, classes: NDArray, against_rest: bool, break_ties: bool) -> None:
        self.classes, self.against_rest, self.break_ties = classes, against_rest, break_ties

    def __call__(self, values: NDArray) -> NDArray:
        return classes_of(values, self.classes, against_rest=self.against_rest, break_ties=self.break_ties)


class _Probabilities:
    """Probabilities of the classes."""

    def __init__(self, n_classes: int, against_rest: bool, slope: float) -> None:
        self.n_classes, self.against_rest, self.slope = n_classes, against_rest, slope

    def __call__(self, values: NDArray) -> NDArray:
        scores = values if self.against_rest or self.n_classes == 2 else class_scores(values, self.n_classes)
        return class_probabilities(scores, self.slope).astype(values.dtype)


def _first(values: NDArray) -> NDArray:
    return values[:, 0]


def _as_they_are(values: NDArray) -> NDArray:
    return values


def machines_block(block: Block, fitted: tuple[Any, ...], after: Any) -> NDArray:
    """What is made of the values of the machines at the rows of a block."""
    kernel, support, coefs, intercept = fitted
    return np.asarray(after(values_block(block, kernel, support, coefs, intercept)))
