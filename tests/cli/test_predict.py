"""`assay predict`: predictions where they are asked for, and a word on what the model has never seen."""

from __future__ import annotations

import io

import pandas as pd

import assay
from assay.report.writing import MODEL


def test_predict_writes_predictions_and_tells_what_is_new(run, table):
    options = ("--methods", "LinearRegression", "--repeats", 1, "--quiet")
    assert run("compare", table, "--target", "price", *options, "--output", "twice").exit_code == 0
    # The class of this table repeats the town.
    result = run("predict", f"twice/{MODEL}", table, "--interval", 0.9)
    assert result.stdout.startswith("prediction,lower,upper\n")
    assert "cannot tell its own prediction intervals (Inference needs linearly" in result.stderr
    assert run("compare", table, "--target", "price", "--drop", "class", *options).exit_code == 0
    model = f"assay-report/{MODEL}"
    result = run("predict", model, table, "--interval", 0.9)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("prediction,lower,upper\n")
    assert result.stdout.count("\n") == 61
    pd.read_csv(table).assign(town="Brest").to_csv("new.csv", index=False)
    result = run("predict", model, "new.csv", "--output", "out.csv")
    assert result.stderr == (
        "assay: column 'town' has values that the model has not seen: 'Brest'.\n"
        "assay: 60 predictions in out.csv.\n"
    )
    pd.read_csv(table).drop(columns="age").to_csv("short.csv", index=False)
    refused = run("predict", model, "short.csv")
    assert refused.exit_code == 2
    assert refused.stderr == "assay: The table lacks the column 'age' that the model was fitted on.\n"
    about = assay.persistence.about(model)
    assert (about["task"], about["target"], about["method"]) == ("regression", "price", "LinearRegression")


def test_columns_can_be_kept_beside_their_predictions(run, table):
    assert run("fit", "LinearRegression", table, "--target", "price", "--drop", "class").exit_code == 0
    result = run("predict", "model.skops", table, "--keep", "town", "--keep", "age", "--interval", 0.5)
    assert (result.exit_code, result.stderr) == (0, "")
    found = pd.read_csv(io.StringIO(result.stdout))
    assert list(found.columns) == ["town", "age", "prediction", "lower", "upper"]
    assert list(found["town"]) == list(pd.read_csv(table)["town"])
    for option, sentence in ((("--keep", "nothing"), "'nothing'"), (("--interval", 1.5), "between 0 and 1")):
        refused = run("predict", "model.skops", table, *option)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert sentence in refused.stderr
