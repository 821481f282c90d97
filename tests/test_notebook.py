"""What a notebook shows of a model: scikit-learn's diagram, and after a fit its certificates."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay.certificates import Certificate, Certificates
from assay.cluster import KMeans
from assay.datasets import diabetes
from assay.linear import LinearRegression, Ridge


@pytest.fixture
def model():
    return Ridge(alpha=0.1).fit(*diabetes(return_X_y=True))


def without_ids(html: str) -> str:
    """The page without the counter that scikit-learn gives each diagram."""
    return re.sub(r"sk-[\w-]*id-\d+", "sk-id", html)


def test_a_fitted_model_shows_its_certificates_below_the_diagram(model):
    html = model._repr_html_()
    assert html.index("sk-container") < html.index('<details class="certificates"')
    for certificate in model.certificates_:
        assert certificate.quantity in html
        assert certificate.claim in html
    assert "all hold" in html
    assert 'class="fails"' not in html


def test_notebooks_get_the_same_page_and_the_plain_text(model):
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    assert without_ids(bundle["text/html"]) == without_ids(model._repr_html_())


def test_an_unfitted_model_shows_what_scikit_learn_shows():
    model = Ridge()
    plain = BaseEstimator._repr_html_.fget(model)()
    assert without_ids(model._repr_html_()) == without_ids(plain)
    assert "certificates" not in model._repr_mimebundle_()["text/html"]


def test_a_certificate_that_fails_is_seen_at_once(model):
    first, *rest = model.certificates_
    model.certificates_ = Certificates([replace(first, value=first.bound + 1.0), *rest])
    html = model._repr_html_()
    assert '<details class="certificates" open' in html
    assert f"1 of {len(model.certificates_)} fails" in html
    assert html.count('class="fails"') == 2  # beside the word "Certificates", and in its row


def test_a_vacuous_bound_is_counted_and_everything_is_escaped():
    proof = Certificates(
        [
            Certificate("a < b & <script>", "<i>gap</i>", 0.1, "<=", 2.0, trivial=1.0, source="<b>"),
            Certificate("It ends.", "rise", 0.0, "<=", 0.0, assumptions=("x < y",)),
        ]
    )
    html = proof.to_html(collapsible=True)
    assert "all hold, 1 vacuous" in html
    for raw in ("<script>", "<i>", "<b>", "x < y"):
        assert raw not in html
    assert "a &lt; b &amp; &lt;script&gt;" in html
    assert " open" not in html.partition(">")[0]
    assert proof._repr_html_() == proof.to_html()


def test_diagrams_that_are_switched_off_stay_off(model):
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def test_a_pipeline_keeps_the_diagram_of_scikit_learn():
    X, y = diabetes(return_X_y=True)
    html = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)._repr_html_()
    assert "LinearRegression" in html
    assert '<details class="certificates"' not in html


def test_a_clusterer_shows_its_certificates_too():
    X, _ = diabetes(return_X_y=True)
    model = KMeans(3, n_init=2, random_state=0).fit(X)
    html = model._repr_html_()
    assert all(certificate.quantity in html for certificate in model.certificates_)
