"""The picture of the README: how much faster than the fastest peer, case by case, on a log scale."""

from __future__ import annotations

import re
from html import escape
from math import ceil, floor, log2

from benchmarks.results import Case

WIDTH, LABELS, RIGHT = 920, 440, 140
TOP, ROW, BOTTOM = 66, 17, 34
QUALITY = re.compile(r" \(quality: .*\)")
"""What the column of quality shows in a case; there is none here."""

# The colours of the panel and of what is on it change together, so that each is legible on the other.
STYLE = """
  svg { --panel: #ffffff; --frame: #d0d7de; --text: #1f2328; --faint: #59636e; --grid: #e4e8ec;
        --faster: #0b7285; --slower: #c2410c; }
  @media (prefers-color-scheme: dark) {
    svg { --panel: #0d1117; --frame: #3d444d; --text: #f0f6fc; --faint: #9da7b3; --grid: #262c36;
          --faster: #56c8d8; --slower: #ff9d5c; }
  }
  text { font: 11px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--text); }
  .title { font-size: 15px; font-weight: 600; }
  .faint { fill: var(--faint); }
  .panel { fill: var(--panel); stroke: var(--frame); }
  .grid { stroke: var(--grid); }
  .one { stroke: var(--text); stroke-width: 1.5; }
  .faster { stroke: var(--faster); fill: var(--faster); }
  .slower { stroke: var(--slower); fill: var(--slower); }
  line.faster, line.slower { stroke-width: 3; }
""".strip("\n")


def picture(cases: list[Case]) -> str:
    """An SVG with a line per case that has a peer, the worst ratio first."""
    entries = sorted(
        (case.least_ratio, f"{QUALITY.sub('', case.case)}, {case.data}", case.fastest_peer)
        for case in cases
        if case.fastest_peer is not None
    )
    ratios = [ratio for ratio, *_ in entries]
    low, high = min(-1, floor(log2(min(ratios)))), max(1, ceil(log2(max(ratios))))
    height = TOP + ROW * len(entries) + BOTTOM
    bottom = height - BOTTOM

    def across(ratio: float) -> float:
        return LABELS + (WIDTH - LABELS - RIGHT) * (log2(ratio) - low) / (high - low)

    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="title description">',
        '<title id="title">Time of the fastest peer over the time of Assay</title>',
        f'<desc id="description">{escape(_in_words(ratios))}</desc>',
        f"<style>\n{STYLE}\n</style>",
        f'<rect class="panel" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        '<text class="title" x="16" y="26">Time of the fastest peer ÷ time of Assay</text>',
    ]
    for power in range(low, high + 1):
        x, kind = across(2.0**power), "one" if power == 0 else "grid"
        drawn.append(f'<line class="{kind}" x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom}"/>')
        drawn += [_text(x, y, f"{2.0**power:g}", "middle", "faint") for y in (TOP - 13, bottom + 14)]
    one = across(1.0)
    drawn.append(_text(one - 12, bottom + 28, "← slower", "end", "faint"))
    drawn.append(_text(one + 12, bottom + 28, "faster →", "start", "faint"))
    for place, (ratio, label, peer) in enumerate(entries):
        y, x, kind = TOP + ROW * (place + 0.5), across(ratio), "slower" if ratio < 1 else "faster"
        drawn.append(_text(LABELS - 12, y + 4, label, "end"))
        drawn.append(f'<line class="{kind}" x1="{one:.1f}" y1="{y}" x2="{x:.1f}" y2="{y}"/>')
        drawn.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y}" r="3.5"/>')
        drawn.append(_text(max(x, one) + 9, y + 4, f"{ratio:.3g} · {peer}", "start"))
    return "\n".join([*drawn, "</svg>", ""])


def _in_words(ratios: list[float]) -> str:
    middle = ratios[len(ratios) // 2]
    return (
        f"{len(ratios)} cases on a log scale with a line at 1; the ratios go from {ratios[0]:.2f} "
        f"to {ratios[-1]:.0f}, half of them are above {middle:.1f}."
    )


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
