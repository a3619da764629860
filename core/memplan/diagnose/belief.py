"""Which of a message's figures can be true: counters run over, points get lost in pictures, Windows lends memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from memplan.diagnose.amounts import Amount
from memplan.diagnose.message import Message, OtherProcess
from memplan.units import GIB

MOST_BYTES = 8 * 2**40
"""No device has as much; PyTorch writes 2^64 bytes where a counter went below 0."""
ABSURD_BYTES = 2**50
ROOM = 1.02
"""Figures are rounded each on its own, so a part may seem larger than the whole by a little."""
_OF_THE_CARD = ("allocated", "reserved", "unallocated", "free", "process", "active")
_TITLES = {
    "allocated": "allocated",
    "reserved": "reserved",
    "unallocated": "reserved but unallocated",
    "free": "free",
    "process": "in use by this process",
    "active": "active",
    "total": "total",
}


def believed(message: Message) -> Message:
    """The message without figures that cannot be; each is told in `notes`."""
    notes: list[str] = []
    total = message.total
    if total is not None and total.low_bytes > MOST_BYTES:
        notes.append(f"{total.text} in total is more than any device has; the figure is left out.")
        message, total = replace(message, total=None), None
    for name in _OF_THE_CARD:
        held = cast("Amount | None", getattr(message, name))
        if held is None:
            continue
        if held.low_bytes > MOST_BYTES:
            notes.append(f"{held.text} {_TITLES[name]} is a counter that went below zero (2^64 bytes); it is left out.")
            message = _without(message, name)
        elif total is not None and held.low_bytes > ROOM * total.high_bytes and not _shares_host_memory(message, name):
            notes.append(_beyond_the_card(name, held, total))
            message = _without(message, name)
    if total is not None and message.allocated is not None and message.allocated.low_bytes > ROOM * total.high_bytes:
        notes.append("More is allocated than the card has: Windows lends a process memory of the host, which is slow.")
    message = _with_others(message, notes)
    if notes:
        message = replace(message, notes=(*message.notes, *notes))
    return message


def _without(message: Message, name: str) -> Message:
    gone: dict[str, Any] = {name: None}
    return replace(message, **gone)


def _with_others(message: Message, notes: list[str]) -> Message:
    """Processes with possible figures; one of them may be this process under a number it does not know itself by."""
    believable = tuple(other for other in message.others if other.held.low_bytes <= MOST_BYTES)
    if len(believable) < len(message.others):
        notes.append("A process is said to hold 2^64 bytes: a counter that went below zero; it is left out.")
    message = replace(message, others=believable)
    own = message.reserved_in_all
    if message.process is not None or own is None or not believable:
        return message
    fitting = [other for other in believable if other.held.high_bytes >= own.low_bytes]
    if not fitting:
        return message
    this = min(fitting, key=lambda other: other.held.high_bytes)
    others: tuple[OtherProcess, ...] = tuple(other for other in believable if other is not this)
    holds = "holds what the allocator reports and a little more"
    notes.append(f"Process {this.pid} {holds}: it is taken for the process that failed.")
    return replace(message, process=this.held, others=others)


def _shares_host_memory(message: Message, name: str) -> bool:
    """Whether allocated and reserved are beyond the card together: Windows does that, a slip of a reader does not."""
    if name not in ("allocated", "reserved", "process") or message.total is None:
        return False
    others = [one for one in (message.allocated, message.reserved, message.process) if one is not None]
    return len(others) > 1 and all(one.low_bytes > message.total.high_bytes for one in others)


def _beyond_the_card(name: str, held: Amount, total: Amount) -> str:
    words = f"{held.text} {_TITLES[name]} is more than the card's {total.text}; the figure is left out"
    digits, _, unit = held.text.partition(" ")
    if "." not in digits and len(digits) > 2 and held.middle_bytes // 100 <= total.high_bytes:
        return f"{words}. A lost point would make it {digits[:-2]}.{digits[-2:]} {unit}."
    return f"{words}."


def is_absurd(message: Message) -> bool:
    """Whether what was asked for is no matter of sizing: far more than the card, or than any machine has."""
    asked = message.asked
    if asked is None:
        return False
    if message.total is not None and message.kind != "host":
        return asked.low_bytes > 2 * message.total.high_bytes and asked.low_bytes > 100 * GIB
    return asked.low_bytes > ABSURD_BYTES
