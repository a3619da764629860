"""Every colour of the window, once: roles for light and dark, and the colour of each term. Plain Python, no Qt."""

from __future__ import annotations

from typing import Literal, NamedTuple

Scheme = Literal["light", "dark"]


class Roles(NamedTuple):
    """What a colour is for. Widgets name the role, never the colour."""

    scheme: Scheme
    window: str
    """Behind the answer: chart, verdict, tables."""
    panel: str
    """Behind what is asked: the plan panel."""
    field: str
    """Inside editors and lever cards."""
    hover: str
    hairline: str
    border: str
    """Around what can be edited or pressed; 3:1 against what is behind it."""
    text: str
    muted: str
    faint: str
    """Text of what does not apply."""
    accent: str
    """What can be acted on, and what is selected; nothing else."""
    on_accent: str
    accent_soft: str
    fits: str
    tight: str
    does_not_fit: str


LIGHT = Roles(
    scheme="light",
    window="#FFFFFF",
    panel="#F5F6F8",
    field="#FFFFFF",
    hover="#ECEEF2",
    hairline="#E1E4E9",
    border="#848D9B",
    text="#1A1E24",
    muted="#565F6C",
    faint="#6F7884",
    accent="#4350C8",
    on_accent="#FFFFFF",
    accent_soft="#EBEDFB",
    fits="#157347",
    tight="#8A5A00",
    does_not_fit="#B93815",
)

DARK = Roles(
    scheme="dark",
    window="#1B1E23",
    panel="#22262C",
    field="#2A2F37",
    hover="#323842",
    hairline="#363C46",
    border="#7A8493",
    text="#E8EBEF",
    muted="#A6AFBB",
    faint="#8E98A6",
    accent="#98A4FF",
    on_accent="#14172B",
    accent_soft="#2F3455",
    fits="#5FCB93",
    tight="#E8B64A",
    does_not_fit="#FF8B6B",
)

ROLES: dict[Scheme, Roles] = {"light": LIGHT, "dark": DARK}


def high_contrast(roles: Roles) -> Roles:
    """The same roles for a person who asked the system for more contrast."""
    return roles._replace(muted=roles.text, faint=roles.text, hairline=roles.border, border=roles.text)


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
