"""The command `assay`: compare methods on a table, fit one, predict with it, and read its certificates."""

from __future__ import annotations

import sys
from typing import Any

# Typer, Rich, NumPy and scikit-learn are imported where they are used: `assay --help` answers at once, and a
# missing package is said in a sentence.

__all__ = ["application", "main"]


def main() -> None:
    """Run the command; the entry point of the package."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write(
            "assay: the command needs typer and rich: install them with pip install 'assay[cli]'.\n"
        )
        raise SystemExit(2) from None
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    application()()


def application() -> Any:
    """Build the Typer application."""
    from assay.cli.commands import build

    return build()
