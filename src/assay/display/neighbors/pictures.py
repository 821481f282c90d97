"""Which pictures there are of models of neighbours."""

from __future__ import annotations

from typing import Any

from assay.display.classes.curves import CalibrationDisplay
from assay.display.classes.pictures import ConfusionDisplay
from assay.display.linear.predictions import PredictionsDisplay, ResidualsDisplay
from assay.display.neighbors.maps import NeighborMapDisplay
from assay.display.neighbors.paths import (
    BandwidthDisplay,
    NeighborDistanceDisplay,
    NeighborPathDisplay,
    NeighborSharesDisplay,
)
from assay.display.registry import Default, declare
from assay.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NadarayaWatsonClassifier,
    NadarayaWatsonRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)


def _default(model: Any, X: Any, y: Any) -> str:
    """The map of two features and more on data with a target, else the errors of every number."""
    return "map" if X is not None and y is not None and model.n_features_in_ > 1 else "path"


declare(
    KNeighborsClassifier,
    default=_default,
    map=NeighborMapDisplay,
    path=NeighborPathDisplay,
    shares=NeighborSharesDisplay,
    confusion=ConfusionDisplay,
    calibration=CalibrationDisplay,
)
declare(
    KNeighborsRegressor,
    default=Default("predictions", "path", target=True),
    predictions=PredictionsDisplay,
    residuals=ResidualsDisplay,
    path=NeighborPathDisplay,
)
declare(NearestNeighbors, default=Default("distances", "distances"), distances=NeighborDistanceDisplay)

declare(
    RadiusNeighborsClassifier,
    default=Default("confusion", "distances", target=True),
    confusion=ConfusionDisplay,
    distances=NeighborDistanceDisplay,
)
declare(
    RadiusNeighborsRegressor,
    default=Default("predictions", "distances", target=True),
    predictions=PredictionsDisplay,
    residuals=ResidualsDisplay,
    distances=NeighborDistanceDisplay,
)
declare(
    NadarayaWatsonClassifier,
    default=Default("confusion", "bandwidth", target=True),
    confusion=ConfusionDisplay,
    calibration=CalibrationDisplay,
    bandwidth=BandwidthDisplay,
)
declare(
    NadarayaWatsonRegressor,
    default=Default("predictions", "bandwidth", target=True),
    predictions=PredictionsDisplay,
    residuals=ResidualsDisplay,
    bandwidth=BandwidthDisplay,
)
