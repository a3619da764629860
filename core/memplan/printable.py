"""Text from people's files made harmless: on one line, and nothing that a terminal would obey."""

from __future__ import annotations

import re

# Patterns are compiled by `re`, which remembers them, when a text comes: the window's start waits for every import.
_SPACES = r"[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]+"
_OBEYED = r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
"""Control characters, marks that turn the direction of what follows them, and what XML has no form for."""
_OBEYED_IN_JSON = rf"(?!\n){_OBEYED}"
"""The same in written JSON, whose own lines may stay."""


def printable(text: str) -> str:
    """Write text on one line, with its control characters as escapes.

    >>> printable("two\\nlines"), printable("\\x1b[31mred")
    ('two lines', '\\\\x1b[31mred')
    """
    return re.sub(_OBEYED, _escape, re.sub(_SPACES, " ", text))


def printable_lines(text: str) -> str:
    """Write text with its lines as they are, and its control characters as escapes."""
    return "\n".join(re.sub(_OBEYED, _escape, line.expandtabs(4)) for line in text.splitlines())


def printable_json(text: str) -> str:
    """Write JSON with the control characters of its texts as JSON's own escapes: it means the same.

    >>> printable_json('{"a": "\x9b"}')
    '{"a": "\\\\u009b"}'
    """
    return re.sub(_OBEYED_IN_JSON, lambda found: f"\\u{ord(found.group()):04x}", text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
