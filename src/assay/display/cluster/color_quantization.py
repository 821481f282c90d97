"""The picture of an image in few colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import quantize_colors
from assay.display.base import Display
from assay.display.style import PALETTE
from assay.randomness import RandomState


@dataclass
class ColorQuantizationDisplay(Display):
    """An image, the image in few colours, and the distortion against the number of colours.

    Parameters
    ----------
    n_colors : sequence of int
    distortions : array of shape (n_numbers,)
        Mean squared error of a pixel at each.
    images : sequence of pairs (str, array of shape (height, width, 3))
        The images shown, with their titles.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import ColorQuantizationDisplay
    >>> y, x = np.mgrid[0:1:24j, 0:1:32j]
    >>> display = ColorQuantizationDisplay.from_image(np.stack([x, y, 1 - x], axis=2), (2, 4, 8))
    >>> [title for title, _ in display.images]
    ['original', '2 colours', '4 colours']
    """

    n_colors: Sequence[int]
    distortions: NDArray
    images: Sequence[tuple[str, NDArray]]

    @classmethod
    def from_image(
        cls, image: Any, n_colors: Sequence[int], *, random_state: RandomState = 0, ax: Any = None
    ) -> Self:
        """Reduce an image to several numbers of colours, and draw what is lost.

        Parameters
        ----------
        image, n_colors, random_state, ax
            As in `plot_color_quantization`.

        Returns
        -------
        display : ColorQuantizationDisplay
        """
        counts = [int(count) for count in n_colors]
        found = [quantize_colors(image, count, random_state=random_state) for count in counts]
        original = np.asarray(image)
        original = original / 255.0 if original.dtype.kind in "iu" else original
        shown = [("original", original)]
        shown += [(f"{counts[place]} colours", found[place].image) for place in (0, len(counts) // 2)]
        return cls(counts, np.array([one.distortion for one in found]), shown).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.n_colors, self.distortions, "o-", color=PALETTE[0])
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        low, high = ax.get_ylim()
        ax.set_ylim(low, high * (high / low) ** 0.9)  # the images stand above the curve
        for place, (title, picture) in enumerate(self.images):
            inset = ax.inset_axes((0.01 + 0.335 * place, 0.54, 0.32, 0.38))
            inset.imshow(np.clip(picture, 0.0, 1.0))
            inset.set_axis_off()
            inset.set_title(title, fontsize=9, pad=3)
        ax.set_xticks(self.n_colors, [str(count) for count in self.n_colors])
        ax.minorticks_off()
        ax.set(xlabel="colours", ylabel="mean squared error of a pixel", title="an image in few colours")


def plot_color_quantization(
    image: Any,
    n_colors: Sequence[int] = (2, 4, 8, 16, 32, 64),
    *,
    random_state: RandomState = 0,
    ax: Any = None,
) -> Any:
    """Draw an image, the image in few colours, and the distortion against the number of colours.

    Parameters
    ----------
    image : array-like of shape (height, width, 3)
        See `assay.cluster.quantize_colors`.
    n_colors : sequence of int
        Numbers of colours; the images of the first and the middle one are shown.
    random_state : None, int, Generator, SeedSequence or RandomState, default=0
        Where the initial colours come from.
    ax : matplotlib Axes, optional
        Where to draw the distortion, with the images above it; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import plot_color_quantization
    >>> y, x = np.mgrid[0:1:24j, 0:1:32j]
    >>> plot_color_quantization(np.stack([x, y, 1 - x], axis=2), (2, 4, 8)).get_ylabel()
    'mean squared error of a pixel'
    """
    return ColorQuantizationDisplay.from_image(image, n_colors, random_state=random_state, ax=ax).ax_
