"""Every colour of the window, once: roles for light and dark. The terms' own colours are memplan's. Plain Python."""

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
    outline: str
    """Around the parts of a chart: 3:1 against one of any two that stand side by side."""
    accent: str
    """What can be acted on, and what is selected; nothing else."""
    on_accent: str
    accent_soft: str
    fits: str
    tight: str
    does_not_fit: str


ROOM, OVER = "#0072B2", "#D55E00"
"""Room to spare and too much, on the map: Okabe and Ito's blue and vermilion, which nobody takes for each other."""

CARD_COLOURS = {
    "tensors": "#0072B2",
    "reserved": "#56B4E9",
    "process": "#999999",
    "outside": "#CC79A7",
    "others": "#CC79A7",
}
"""Parts of a card in an out-of-memory message, by Okabe and Ito; free is empty, what was asked for is hatched."""

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
    faint="#69727E",
    outline="#1A1E24",
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
    outline="#14161A",
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
