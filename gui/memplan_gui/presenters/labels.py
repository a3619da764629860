"""Short labels of other parts: a scenario's tab, the window's title, a file to export to, a heading in Help."""

from __future__ import annotations

import re

from memplan import Estimate, Scenario, Unit, choice_title, format_bytes, number, tr, translated

MOST_TAB_LETTERS = 32


def tab_text(name: str) -> str:
    """A scenario's name, short enough for a tab: cut in its middle, for names differ at their ends.

    >>> tab_text("QLoRA, rank 16, checkpointing, 8,192 tokens")
    'QLoRA, rank 16,…ng, 8,192 tokens'
    """
    name = name.strip() or tr("unnamed")
    if len(name) <= MOST_TAB_LETTERS:
        return name
    half = MOST_TAB_LETTERS // 2
    return f"{name[: half - 1].rstrip()}…{name[-half:].lstrip()}"


def term_title(term: str) -> str:
    """A term's name as a line begins with it.

    >>> term_title("optimizer states"), term_title("KV cache")
    ('Optimizer states', 'KV cache')
    """
    words = translated(term)
    return words[:1].upper() + words[1:]


def usable_label(usable_bytes: int, unit: Unit, device: str) -> str:
    """What stands at the usable line of a chart."""
    return tr("{size} usable · {device}").format(size=format_bytes(usable_bytes, unit), device=device)


def peak_figure(size: str) -> str:
    """What stands at the peak of a chart."""
    return tr("{size}  peak").format(size=size)


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
        translated(choice_title("method", training.method)),
        tr("{batch} × {length} tokens").format(
            batch=number(training.micro_batch), length=number(training.sequence_length)
        ),
        devices_words(scenario.hardware, estimate.device_name),
        *more,
    )
    return " · ".join(parts)
