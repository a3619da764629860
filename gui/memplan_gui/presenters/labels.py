"""Short labels of other parts: a scenario's tab, the window's title, a file to export to, a heading in Help."""

from __future__ import annotations

import re

from memplan import Estimate, Scenario, choice_title, number

MOST_TAB_LETTERS = 32


def tab_text(name: str) -> str:
    """A scenario's name, short enough for a tab: cut in its middle, for names differ at their ends.

    >>> tab_text("QLoRA, rank 16, checkpointing, 8,192 tokens")
    'QLoRA, rank 16,…ng, 8,192 tokens'
    """
    name = name.strip() or "unnamed"
    if len(name) <= MOST_TAB_LETTERS:
        return name
    half = MOST_TAB_LETTERS // 2
    return f"{name[: half - 1].rstrip()}…{name[-half:].lstrip()}"


def file_stem(*names: str) -> str:
    """Names joined to one that every file system takes.

    >>> file_stem("Llama 3.1 8B, SFT", "a/b")
    'Llama-3.1-8B-SFT-a-b'
    """
    text = " ".join(name for name in names if name.strip())
    return re.sub(r"[^\w.]+", "-", text).strip("-.")[:120] or "plan"


def anchor(heading: str) -> str:
    """A heading's name in links, as code hosts make it.

    >>> anchor("What a lever saves, and what it costs"), anchor("16-bit adapters")
    ('what-a-lever-saves-and-what-it-costs', '16-bit-adapters')
    """
    return re.sub(r"[^\w\- ]", "", heading.casefold()).replace(" ", "-")


def picture_subtitle(scenario: Scenario, estimate: Estimate, *more: str) -> str:
    """What a picture of a chart is about, for who sees it away from the plan; more of it behind."""
    from memplan import devices_words  # a part of reports, which few people ask for at once

    training = scenario.training
    parts = (
        estimate.model_name,
        choice_title("method", training.method),
        f"{number(training.micro_batch)} × {number(training.sequence_length)} tokens",
        devices_words(scenario.hardware, estimate.device_name),
        *more,
    )
    return " · ".join(parts)
