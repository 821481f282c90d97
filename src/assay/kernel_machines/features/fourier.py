"""Random Fourier features of stationary kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters, rows
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.kernel_machines.features.base import KernelFeatures, evenly_spaced
from assay.kernel_machines.features.spectral_laws import (
    draw_frequencies,
    largest_step,
    mean_error_bound,
    squared_length_share,
)
from assay.kernel_machines.scale import scale_of_rows
from assay.kernels import Gaussian, Laplacian
from assay.kernels.stationary import Stationary
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Rows

SOURCE = "Sangnier §1.4.2; Rahimi & Recht 2007"

MEASURED_ROWS = 64
"""Evenly spaced rows whose pairs are measured."""

DELTA = 1e-9
"""Chance that draws of the law fail a certificate."""

KERNELS: Mapping[str, type[Stationary]] = {"rbf": Gaussian, "laplacian": Laplacian}

MOST_FEATURES = 2**20
"""Features beyond which a table of them is taken for a mistake."""

INDEPENDENT = "frequencies were drawn from the law of the kernel, apart from the rows"


class FourierMap(NamedTuple):
    """x ↦ √(2/D) cos(xW + b), as a pure function of rows."""

    weights: NDArray
    offset: NDArray

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.weights.shape[1])

    def __call__(self, X: Any) -> NDArray:
        """The features of rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            angle = np.asarray(X @ self.weights.astype(X.dtype, copy=False))
            angle += self.offset.astype(X.dtype, copy=False)
            np.cos(angle, out=angle)
        angle *= angle.dtype.type(np.sqrt(2.0 / self.width))
        if not np.isfinite(angle.sum()):  # the cosine of what is beyond the numbers is none
            raise ValueError(
                f"The products of X with the frequencies overflow {angle.dtype.name}: divide the columns of "
                "X by their scale first."
            )
        return angle


class RandomFourierFeatures(KernelFeatures):
    """Cosines of random frequencies: φ(x) = √(2/D) cos(Wᵀx + b).

    Finds D frequencies w by drawing them from the law whose Fourier transform is the kernel (Bochner), and
    phases b uniformly, so that E⟨φ(x), φ(z)⟩ = k(x − z): N(0, 2γI) for exp(−γ‖x − z‖²), a Cauchy law of
    scale γ for exp(−γ‖x − z‖). No row is read but for gamma="scale"; tables anywhere are mapped block by
    block. With orthogonal frequencies (groups of n_features of them) the features of the Gaussian kernel
    vary less.

    Assumes: rows that do not depend on the draws.

    Certificates: the kernel of pairs of up to 64 rows against the features, within Hoeffding's and
    Bernstein's promise √(8 log(2m/δ)/D) or better; lengths of the frequencies against their law;
    `certify` adds that weights and phases are the draws of the seed, and orthogonality.

    Parameters
    ----------
    gamma : float or "scale", default=1.0
        Scale of the kernel; "scale" is 1/(n_features · Var X).
    n_components : int, default=100
        Number D of features.
    kernel : {"rbf", "laplacian"}, default="rbf"
        exp(−γ‖x − z‖²) or exp(−γ‖x − z‖), with Euclidean norms.
    orthogonal : bool, default=False
        Whether frequencies are orthogonal within groups.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None

    Attributes
    ----------
    random_weights_ : array of shape (n_features, n_components)
    random_offset_ : array of shape (n_components,)
    seed_ : int
        What frequencies and phases are drawn from.
    kernel_ : Kernel
        The kernel with γ filled in.
    kernel_error_ : float
        Largest |⟨φ(x), φ(z)⟩ − k(x, z)| over pairs of up to 64 rows.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_machines import RandomFourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = RandomFourierFeatures(gamma=0.5, n_components=2000, random_state=0).fit(X)
    >>> model.certificates_.holds, bool(model.kernel_error_ < 0.1)
    (True, True)

    References
    ----------
    Sangnier §1.4.2; Wei §6.1.3.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "gamma": parameters.one_of("scale") | parameters.real(above=0.0, squared=True),
        "n_components": parameters.integer(at_least=1),
        "kernel": parameters.one_of(*KERNELS),
        "orthogonal": parameters.boolean,
        "random_state": parameters.random_state,
    }

    def __init__(
        self,
        *,
        gamma: Any = 1.0,
        n_components: int = 100,
        kernel: str = "rbf",
        orthogonal: bool = False,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.kernel = kernel
        self.orthogonal = orthogonal
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw frequencies for rows of this many columns.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : ignored
            But a column name of a table outside memory is left out of the features.
        """
        data = self._open_rows(X, y, with_target=rows.is_external(X) and rows.is_name(y))
        if self.n_components > MOST_FEATURES:
            raise self._refuse("n_components", f"at most {MOST_FEATURES}")
        self.kernel_ = self._kernel(data)
        self.seed_ = int(generator(self.random_state).integers(2**63))
        weights, offset = self._drawn(data.shape[1])
        self.random_weights_, self.random_offset_ = weights.astype(data.dtype), offset.astype(data.dtype)
        measured, allowed = self._errors(data)
        self.kernel_error_ = float(measured.max())
        self.certificates_ = Certificates(self._certificates(measured, allowed))
        return self

    def _kernel(self, data: Rows) -> Stationary:
        gamma = scale_of_rows(data) if isinstance(self.gamma, str) else float(self.gamma)
        return KERNELS[self.kernel](gamma)  # type: ignore[call-arg]

    def _drawn(self, n_features: int) -> Any:
        orthogonal = bool(self.orthogonal)
        return draw_frequencies(
            self.kernel_, n_features, self.n_components, orthogonal=orthogonal, seed=self.seed_
        )

    def _map(self) -> FourierMap:
        return FourierMap(self.random_weights_, self.random_offset_)

    def _errors(self, data: Rows) -> tuple[NDArray, NDArray]:
        """Differences between features and kernel over pairs of rows, and what the theorems allow."""
        X = data.take(evenly_spaced(data.shape[0], MEASURED_ROWS)).astype(np.float64)
        features = self._map()(X)
        upper = np.triu_indices(len(X))
        with np.errstate(over="ignore", invalid="ignore"):
            at, twice = self.kernel_.gram(X)[upper], self.kernel_.gram(2.0 * X)[upper]
        if not np.isfinite(at + twice).all():
            raise ValueError("The squares of X overflow: divide its columns by their scale first.")
        width, group = self.random_weights_.shape[1], self.random_weights_.shape[0] if self.orthogonal else 1
        allowed = mean_error_bound(at, twice, len(at), -(-width // group), delta=DELTA)
        return np.abs((features @ features.T)[upper] - at), allowed

    def _certificates(self, measured: NDArray, allowed: NDArray) -> list[Certificate]:
        worst = int(np.argmax(measured / allowed))
        n_lengths = self.random_weights_.shape[1]
        shares = squared_length_share(self.kernel_, self.random_weights_)
        return [
            at_most(
                f"On {len(measured)} pairs of rows features and kernel differ by no more than means of so "
                f"many draws do with probability 1 − {DELTA:g}.",
                "kernel error where it is nearest to its bound",
                measured[worst],
                allowed[worst] + ROUNDING * float(np.finfo(self.random_weights_.dtype).eps),
                SOURCE,
                assumptions=(INDEPENDENT,),
                trivial=2.0,
            ),
            at_most(
                "Lengths of the frequencies have the law of the kernel (Dvoretzky, Kiefer & Wolfowitz).",
                "largest step between their distribution functions",
                largest_step(shares),
                np.sqrt(np.log(2.0 / DELTA) / (2.0 * n_lengths)),
                SOURCE,
                assumptions=(INDEPENDENT,),
                trivial=1.0,
            ),
        ]

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates afresh on the rows of the fit.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
            The rows of the fit.
        y, sample_weight : ignored
        """
        data = self._open_new_rows(X)
        measured, allowed = self._errors(data)
        weights, offset = self._drawn(data.shape[1])
        # Lengths of a Cauchy law differ by orders of magnitude: each frequency is compared on its own scale.
        scale = np.abs(weights).max(axis=0)
        pairs = {
            "random_weights_": (self.random_weights_ / scale, weights / scale),
            "random_offset_": (self.random_offset_, offset),
            "kernel_error_": (self.kernel_error_, float(measured.max())),
            "gamma": (self.kernel_.gamma, self._kernel(data).gamma),
        }
        claim = "Frequencies and phases are the draws of the seed, γ and the error what the rows give again."
        rough = 1e-9 if self.random_weights_.dtype == np.float64 else 1e-4
        found = [*self._certificates(measured, allowed), agreement(claim, pairs, SOURCE, rtol=rough)]
        if self.orthogonal:
            found.append(self._orthogonality())
        return Certificates(found)

    def _orthogonality(self) -> Certificate:
        weights = self.random_weights_.astype(np.float64)
        directions, worst = weights / np.linalg.norm(weights, axis=0), 0.0
        for start in range(0, weights.shape[1], weights.shape[0]):
            group = directions[:, start : start + weights.shape[0]]
            worst = max(worst, float(np.abs(group.T @ group - np.eye(group.shape[1])).max()))
        claim = "Frequencies of one group are orthogonal."
        bound = 100.0 * len(weights) * float(np.finfo(self.random_weights_.dtype).eps)
        return at_most(claim, "largest cosine between two of them", worst, bound, SOURCE)


ROUNDING = 1e4
"""Rounding of a kernel value and a mean of cosines, in units of the precision."""
