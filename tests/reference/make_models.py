"""Save models with an earlier version, to load them with the present one.

The files in `models/` were written by this script on the sources of commit 114eb75, the last in which a class
said it lives in its file (`assay.cluster._kmeans`) and not in its package (`assay.cluster`). They are kept as
they are; to make them again: `git worktree add earlier 114eb75`, then, with `earlier/src` on the path,
`python tests/reference/make_models.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assay import save
from assay.cluster import KMeans
from assay.kernel_machines import KernelRidge
from assay.kernels import Gaussian
from assay.linear import LogisticRegression

FOLDER = Path(__file__).parent / "models"


def main() -> None:
    """Write one file per model; it holds the rows and what the model said about them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=30)
    for model, target in (
        (KMeans(3, random_state=0), None),
        (KernelRidge(kernel=Gaussian(0.5)), y),
        (LogisticRegression(), np.where(y > 0, "above", "below")),
    ):
        predictions = model.fit(X, target).predict(X).tolist()
        about = {"rows": X.tolist(), "predictions": predictions}
        save(model, FOLDER / f"{type(model).__name__}.skops", about=about)


if __name__ == "__main__":
    main()
