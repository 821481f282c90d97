"""How much each column matters to an ensemble of trees, with standard errors over the trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = ("impurity", "unbiased", "permutation")


@dataclass(frozen=True, eq=False)
class Importance:
    """Importance of each column.

    Attributes
    ----------
    kind : {"impurity", "unbiased", "permutation"}
    names : list of str
        The columns.
    importances : array of shape (n_columns,)
        Mean over the trees.
    standard_errors : array of shape (n_columns,)
        Of that mean, from the spread over the trees.
    each : array of shape (n_trees, n_columns)
        Tree by tree.
    """

    kind: str
    names: list[str]
    importances: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    each: NDArray[np.float64]

    def conf_int(self, level: float = 0.95) -> NDArray[np.float64]:
        """Ends of normal intervals, one row per column."""
        from scipy.stats import norm

        reach = norm.ppf(0.5 + level / 2) * self.standard_errors
        return np.column_stack([self.importances - reach, self.importances + reach])

    def __str__(self) -> str:
        order = np.argsort(-self.importances, kind="stable")
        width = max(map(len, self.names))
        lines = [
            f"{self.names[j]:<{width}}  {self.importances[j]:>10.4g}  ± {self.standard_errors[j]:.2g}"
            for j in order
        ]
        return "\n".join(
            [f"{self.kind} importance, mean over {len(self.each)} trees ± standard error", *lines]
        )


def summarised(kind: str, names: list[str], each: NDArray[np.float64]) -> Importance:
    """Mean and standard error over the trees."""
    n_trees = len(each)
    spread = each.std(axis=0, ddof=1) if n_trees > 1 else np.zeros(each.shape[1])
    return Importance(kind, names, each.mean(axis=0), spread / np.sqrt(n_trees), each)


def names_of(model: Any) -> list[str]:
    """Names of the columns of a fitted model, x0, x1, … where they have none."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [str(name) for name in names]
