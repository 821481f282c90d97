"""Inference as a table: plain text that lines up, and HTML."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.linear.least_squares.inference import Inference


def text_summary(found: Inference, level: float) -> str:
    """Facts of the fit, one row a parameter, and the assumptions."""
    facts, table = _facts(found), _table(found, level)
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
    lines += ["", *(f"assuming {assumption}" for assumption in found.assumptions)]
    lines += [str(certificate) for certificate in found.certificates.failed]
    return "\n".join(lines)


def html_summary(found: Inference, level: float = 0.95) -> str:
    """The same for notebooks."""
    facts = "".join(
        f'<tr><th style="text-align:left">{html.escape(label)}</th>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for label, value in _facts(found)
    )
    header, *rows = _table(found, level)
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join(
        f'<tr><th style="text-align:left">{html.escape(row[0])}</th>'
        + "".join(f'<td style="text-align:right">{html.escape(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    assumptions = html.escape("; ".join(found.assumptions))
    return (
        f'<table class="inference-facts">{facts}</table>'
        f'<table class="inference"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f"<p>assuming {assumptions}</p>"
        + "".join(f"<p>{html.escape(str(certificate))}</p>" for certificate in found.certificates.failed)
    )


def _facts(found: Inference) -> list[tuple[str, str]]:
    return [
        ("rows", f"{found.nobs:g}"),
        ("parameters", f"{len(found.names)}"),
        ("residual degrees of freedom", f"{found.df_resid:g}"),
        ("noise variance", f"{found.noise_variance:.6g}"),
        ("R²", f"{found.rsquared:.4f} (adjusted {found.rsquared_adj:.4f})"),
        (
            f"F({found.df_model}, {found.df_resid:g})",
            f"{found.fvalue:.4g} (p = {found.f_pvalue:.3g})",
        ),
        ("AIC, BIC", f"{found.aic:.6g}, {found.bic:.6g}"),
        ("covariance", found.covariance_type),
    ]


def _table(found: Inference, level: float) -> list[list[str]]:
    low, high = (1 - level) / 2, (1 + level) / 2
    header = ["", "params", "bse", "tvalues", "pvalues", f"[{low:.4g}", f"{high:.4g}]"]
    interval = found.conf_int(level)
    return [
        header,
        *(
            [
                name,
                f"{found.params[j]:.5g}",
                f"{found.bse[j]:.4g}",
                f"{found.tvalues[j]:.3f}",
                f"{found.pvalues[j]:.3g}",
                f"{interval[j, 0]:.5g}",
                f"{interval[j, 1]:.5g}",
            ]
            for j, name in enumerate(found.names)
        ),
    ]
