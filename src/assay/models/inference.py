"""What inference about parameters shares: standard errors, tests, intervals, ellipsoids, and their tables."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from assay.certificates import Certificates
from assay.parameters import refusal

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]


class ParameterInference:
    """Base of inference results: a subclass is a frozen dataclass with the attributes below.

    Names are those of statsmodels; the first parameter is the intercept, if there is one. `assumptions` are
    those under which the laws behind p-values and intervals hold.
    """

    statistic: ClassVar[str] = "tvalues"
    params: Array
    names: tuple[str, ...]
    covariance: Any
    covariance_type: str
    nobs: float
    has_intercept: bool
    llf: Any
    certificates: Certificates = Certificates()
    assumptions: Any = ()

    @property
    def has_student_law(self) -> bool:
        """Whether tests use Student's and Fisher's laws in place of the Gaussian and χ² ones."""
        return True

    @property
    def df_resid(self) -> float:
        """Degrees of freedom n − p of the residual."""
        return self.nobs - len(self.names)

    @cached_property
    def bse(self) -> Array:
        """Standard error of each parameter."""
        return np.sqrt(np.einsum("ii...->i...", self.covariance))

    @cached_property
    def tvalues(self) -> Array:
        """Statistic β̂_j/bse_j of the hypothesis β_j = 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.params / self.bse

    @cached_property
    def pvalues(self) -> Array:
        """Two-sided p-value of each statistic, under Student's law with n − p degrees of freedom or Gauss'.

        Robust covariances use Student's law too (statsmodels: `use_t=True`); it is the cautious choice.
        """
        size = -np.abs(self.tvalues)
        tail = special.stdtr(self.df_resid, size) if self.has_student_law else special.ndtr(size)
        return 2 * np.asarray(tail, dtype=np.float64)

    def conf_int(self, level: float = 0.95) -> Array:
        """Interval β̂_j ± q bse_j of each parameter, q the quantile (1 + level)/2 of its law.

        Parameters
        ----------
        level : float, default=0.95
            Probability that the interval covers β_j (1 − alpha of statsmodels).

        Returns
        -------
        interval : array of shape (p, 2) or (p, 2, n_targets)
        """
        check_level(f"{type(self).__name__}.conf_int", "level", level)
        upper = (1 + level) / 2
        quantile = special.stdtrit(self.df_resid, upper) if self.has_student_law else special.ndtri(upper)
        half = quantile * self.bse
        return np.stack([self.params - half, self.params + half], axis=1)

    def confidence_region(self, L: Any = None, level: float = 0.95) -> ConfidenceRegion:
        """Ellipsoid that covers Lβ with probability `level`.

        {b : (b − Lβ̂)ᵀ (L V Lᵀ)⁻¹ (b − Lβ̂) ≤ q f_{q, n−p, level}}, V the covariance of the parameters; with
        χ²_{q, level} on the right where no noise variance is estimated.

        Parameters
        ----------
        L : array-like of shape (q, p) or (p,), name, or list of names, optional
            As in `wald_test`; all parameters by default.
        level : float, default=0.95
        """
        owner = f"{type(self).__name__}.confidence_region"
        check_level(owner, "level", level)
        if self.params.ndim != 1:
            raise ValueError("A confidence region is of one target; take inference.target(k) first.")
        matrix = hypothesis(owner, self.names if L is None else L, self.names)
        q = matrix.shape[0]
        fisher = self.has_student_law
        square = q * special.fdtri(q, self.df_resid, level) if fisher else special.chdtri(q, 1 - level)
        shape = matrix @ self.covariance @ matrix.T
        return ConfidenceRegion(matrix @ self.params, shape, float(np.sqrt(square)), float(level))

    @property
    def aic(self) -> Any:
        """Akaike's criterion −2 llf + 2p; as in statsmodels p does not count a variance (R counts it).

        None where the law has no likelihood.
        """
        return None if self.llf is None else -2 * self.llf + 2 * len(self.names)

    @property
    def bic(self) -> Any:
        """Schwarz' criterion −2 llf + p log n; as in statsmodels p does not count a variance.

        None where the law has no likelihood.
        """
        return None if self.llf is None else -2 * self.llf + np.log(self.nobs) * len(self.names)

    def to_frame(self, level: float = 0.95) -> pandas.DataFrame:
        """The table of one target as a pandas frame, one row per parameter."""
        if self.params.ndim != 1:
            raise ValueError("A frame is of one target; take inference.target(k) first.")
        import pandas as pd

        low, high = self.conf_int(level).T
        columns = {"params": self.params, "bse": self.bse, self.statistic: self.tvalues}
        return pd.DataFrame(
            columns | {"pvalues": self.pvalues, "lower": low, "upper": high}, index=pd.Index(self.names)
        )

    def summary(self, level: float = 0.95) -> str:
        """Everything as a plain-text table, one after the other for several targets.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals shown.
        """
        check_level(f"{type(self).__name__}.summary", "level", level)
        if self.params.ndim == 1:
            return text_summary(self, level)
        return "\n\n".join(f"target {k}\n{text_summary(one, level)}" for k, one in enumerate(self._each()))

    def _each(self) -> Any:
        """The inference of each target."""
        return [self]

    def _facts(self) -> list[tuple[str, str]]:
        """What the summary says before its table."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        shown = f"{len(self.names)} parameters, {self.nobs:g} rows, covariance={self.covariance_type!r}"
        name = f"{type(self).__name__}({shown})"
        return name if self.params.ndim > 1 and self.params.shape[1] > 1 else f"{name}\n{self.summary()}"

    def _repr_html_(self) -> str:
        return "".join(html_summary(one) for one in self._each())


@dataclass(frozen=True)
class WaldTest:
    """Test of Lβ = r.

    Attributes
    ----------
    fvalue, pvalue : float or array of shape (n_targets,)
        Statistic, and its p-value under F(df_num, df_denom).
    df_num : int
        Rows q of L.
    df_denom : float
        n − p.
    """

    fvalue: Any
    pvalue: Any
    df_num: int
    df_denom: float


@dataclass(frozen=True, eq=False)
class ConfidenceRegion:
    """Ellipsoid {b : (b − center)ᵀ shape⁻¹ (b − center) ≤ radius²} that covers Lβ with probability `level`.

    Attributes
    ----------
    center : array of shape (q,)
        Lβ̂.
    shape : array of shape (q, q)
        Estimated covariance of Lβ̂.
    radius : float
        √(q f_{q, n−p, level}), or √χ²_{q, level} where no noise variance is estimated.
    level : float

    Examples
    --------
    >>> import numpy as np
    >>> from assay.linear import ConfidenceRegion
    >>> disc = ConfidenceRegion(np.zeros(2), np.eye(2), 2.0, 0.95)
    >>> disc.contains([[1.0, 1.0], [2.0, 1.0]])
    array([ True, False])
    """

    center: Array
    shape: Array
    radius: float
    level: float

    @property
    def axes(self) -> Array:
        """Half-axes of the ellipsoid as rows, the longest first."""
        values, vectors = np.linalg.eigh(self.shape)
        lengths = self.radius * np.sqrt(np.maximum(values, 0.0))
        return (vectors * lengths).T[::-1]

    def contains(self, points: Any) -> Any:
        """Whether points of the space of Lβ lie inside.

        Parameters
        ----------
        points : array-like of shape (q,) or (n_points, q)
            Values Lβ of the hypothesis; β itself if L was not given.

        Returns
        -------
        inside : bool or boolean array of shape (n_points,)
        """
        given = np.asarray(points, dtype=np.float64)
        q = len(self.center)
        if given.ndim not in (1, 2) or given.shape[-1] != q:
            raise ValueError(
                f"The points of ConfidenceRegion.contains must have {q} coordinates. Got shape {given.shape}."
            )
        inside = quadratic_form(self.shape, (given - self.center).reshape(-1, q).T) <= self.radius**2
        return bool(inside[0]) if given.ndim == 1 else inside


def parameter_names(model: Any) -> tuple[str, ...]:
    """The intercept, if there is one, and the features."""
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])
    return (*(("intercept",) if model.fit_intercept else ()), *map(str, names))


def check_level(owner: str, name: str, level: Any) -> None:
    """Refuse what is no probability strictly between 0 and 1."""
    if not isinstance(level, Real) or isinstance(level, bool) or not 0 < float(level) < 1:
        raise refusal(owner, name, "a number above 0 and below 1", level)


def hypothesis(owner: str, L: Any, names: tuple[str, ...]) -> Array:
    """The matrix of a linear hypothesis, given as numbers or by the names of parameters."""
    p = len(names)
    wanted = np.atleast_1d(np.asarray(L))
    if wanted.ndim == 1 and wanted.dtype.kind in "UO":
        unknown = [name for name in wanted.tolist() if name not in names]
        if unknown:
            raise refusal(owner, "L", f"numbers or names of parameters ({_few(names)})", unknown[0])
        matrix = np.eye(p)[[names.index(name) for name in wanted.tolist()]]
    else:
        matrix = np.atleast_2d(np.asarray(L, dtype=np.float64))
    if matrix.ndim != 2 or matrix.shape[1] != p or not matrix.shape[0]:
        raise ValueError(
            f"The 'L' parameter of {owner} must have {p} columns, one per parameter ({_few(names)}). "
            f"Got shape {np.shape(L)} instead."
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"The 'L' parameter of {owner} must hold finite numbers.")
    rank = int(np.linalg.matrix_rank(matrix))
    if rank < matrix.shape[0]:
        raise ValueError(
            f"The 'L' parameter of {owner} must have linearly independent rows. Got {matrix.shape[0]} rows "
            f"of rank {rank} instead; drop the redundant ones."
        )
    return matrix


def quadratic_form(matrix: Array, vectors: Array) -> Array:
    """vᵀ matrix⁻¹ v of each column v, the matrix scaled to unit diagonal first; NaN if it is singular."""
    diagonal = np.diagonal(matrix)
    if not diagonal.all():  # no noise at all: any difference is infinitely many standard errors
        return np.where(np.any(vectors != 0, axis=0), np.inf, 0.0)
    scale = 1 / np.sqrt(diagonal)
    factor, info = linalg.lapack.dpotrf(matrix * scale * scale[:, None], lower=True, clean=True)
    if info != 0:
        return np.full(vectors.shape[1], np.nan)
    whitened = linalg.solve_triangular(factor, scale[:, None] * vectors, lower=True)
    return np.sum(whitened**2, axis=0)


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names if len(names) <= 6 else (*names[:5], "…"))


def text_summary(inference: ParameterInference, level: float) -> str:
    """Facts of the fit, one row per parameter, and the assumptions."""
    facts, table = inference._facts(), _table(inference, level)
    width = max(len(label) for label, _ in facts)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [f"{label.ljust(width)}  {value}" for label, value in facts]
    lines.append("")
    lines += [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        )
        for row in table
    ]
    lines += ["", *(f"assuming {assumption}" for assumption in inference.assumptions)]
    lines += [str(certificate) for certificate in inference.certificates.failed]
    return "\n".join(lines)


def html_summary(inference: ParameterInference, level: float = 0.95) -> str:
    """The same for notebooks."""
    facts = "".join(
        f'<tr><th style="text-align:left">{html.escape(label)}</th>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for label, value in inference._facts()
    )
    header, *rows = _table(inference, level)
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join(
        f'<tr><th style="text-align:left">{html.escape(row[0])}</th>'
        + "".join(f'<td style="text-align:right">{html.escape(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    assumptions = html.escape("; ".join(inference.assumptions))
    return (
        f'<table class="inference-facts">{facts}</table>'
        f'<table class="inference"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f"<p>assuming {assumptions}</p>"
        + "".join(f"<p>{html.escape(str(certificate))}</p>" for certificate in inference.certificates.failed)
    )


def _table(inference: ParameterInference, level: float) -> list[list[str]]:
    low, high = (1 - level) / 2, (1 + level) / 2
    columns = (inference.params, inference.bse, inference.tvalues, inference.pvalues)
    formats = (".5g", ".4g", ".3f", ".3g")
    rows = [
        [
            name,
            *(format(column[j], form) for column, form in zip(columns, formats, strict=True)),
            *(f"{end:.5g}" for end in interval),
        ]
        for j, (name, interval) in enumerate(zip(inference.names, inference.conf_int(level), strict=True))
    ]
    header = ["", "params", "bse", inference.statistic, "pvalues", f"[{low:.4g}", f"{high:.4g}]"]
    return [header, *rows]
