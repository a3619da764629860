"""How each term is coloured, wherever it is drawn: in the window, in exports, in a page of a report."""

from __future__ import annotations

from typing import NamedTuple


class TermLook(NamedTuple):
    """How a term is filled: a colour, and hatching for a term that is kin to the one whose colour it shares."""

    colour: str
    hatched: bool = False


# Okabe and Ito's seven in the order whose neighbours differ most for colour-blind eyes (least CIEDE2000 distance
# 18.2); what is left over is a grey, or the colour of its kin under hatching. Outlines carry it where contrast is low.
TERM_LOOKS: dict[str, TermLook] = {
    "weights": TermLook("#E69F00"),
    "adapters": TermLook("#E69F00", hatched=True),
    "gradients": TermLook("#56B4E9"),
    "optimizer states": TermLook("#0072B2"),
    "master weights": TermLook("#D55E00"),
    "KV cache": TermLook("#009E73", hatched=True),
    "activations": TermLook("#009E73"),
    "logits and loss": TermLook("#F0E442"),
    "temporary buffers": TermLook("#CC79A7"),
    "communication buffers": TermLook("#CC79A7", hatched=True),
    "framework": TermLook("#BBBBBB"),
    "allocator slack": TermLook("#BBBBBB", hatched=True),
}


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2: 0 for black, 1 for white.

    >>> luminance("#FFFFFF"), luminance("#000000")
    (1.0, 0.0)
    """
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21.

    >>> contrast("#000000", "#FFFFFF")
    21.0
    """
    bright, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return round((bright + 0.05) / (dark + 0.05), 2)


def text_on(colour: str) -> str:
    """Black or white, whichever reads better on the colour."""
    known = _TEXT_ON.get(colour)
    if known is None:
        known = _TEXT_ON[colour] = max(("#000000", "#FFFFFF"), key=lambda text: contrast(text, colour))
    return known


_TEXT_ON: dict[str, str] = {}
