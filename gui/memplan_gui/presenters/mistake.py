"""What a report of memplan's own mistakes says: kinds, places and versions, and nothing personal."""

from __future__ import annotations

import getpass
import platform
import re
import traceback
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path, PurePath

from memplan import MemplanError, __version__

LONGEST_MESSAGE = 200
LEAST_NAME = 3
"""Names shorter than this stand in too many words to be taken out of them."""
MOST_FRAMES = 30
MOST_CAUSES = 5
_SPEAK_OF_CODE = (AttributeError, ImportError, NameError, TypeError)
"""What these quote are names of the program; what others quote may be of a person's file."""
_QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"|“[^”]*”|`[^`]*`")
_PATH = re.compile(r"(?<![\w.])(~|[A-Za-z]:|\\)?((?:[\\/][^\\/\s:'\"]+)+[\\/]?)")
_PACKAGES = ("site-packages", "memplan_gui", "memplan")


def mistake_report(mistake: BaseException, versions: str, private: Iterable[str] = ()) -> str:
    """The error and what caused it, each with where it came about, under the versions of what was running.

    Args:
        mistake: the error.
        versions: a line that says what was running.
        private: words of the open plans that must not be in it.
    """
    known = tuple(private)
    lines = [without_personal(versions, known)]
    for number, error in enumerate(_chain(mistake)):
        lines += ["", ("caused by " if number else "") + _headline(error, known), *_places(error)]
    return "\n".join(lines)


def running_versions(qt: str) -> str:
    """What is running; `qt` says which Qt, and on which kind of screen.

    >>> running_versions("Qt 6.11").startswith("memplan ")
    True
    """
    system = " ".join(part for part in (platform.system(), platform.release(), platform.machine()) if part)
    return f"memplan {__version__}, Python {platform.python_version()}, {qt}, {system}"


def without_personal(text: str, private: Iterable[str] = ()) -> str:
    """The text without the home folder, files' paths, the names of person and computer, and the given words.

    >>> without_personal("of /mnt/clients/acme.memplan and Acme 70B", ["Acme 70B"])
    'of /… and …'
    """
    for home in _homes():
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
    text = _PATH.sub(lambda found: f"{found[1] or ''}{found[2][0]}…", text)
    words = {word for word in private if len(word) >= LEAST_NAME}
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(word, "…")
    for name in _names():
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "…", text, flags=re.IGNORECASE)
    return text


def mistake_places(mistake: BaseException) -> str:
    """Kind and places alone: for a log, where nobody asks which plans were open."""
    return "\n".join([type(mistake).__name__, *_places(mistake)])


def mistake_place(mistake: BaseException) -> str:
    """Kind and innermost place: the same mistake at every paint has one."""
    return "\n".join([type(mistake).__name__, *list(_places(mistake))[-1:]])


def _chain(mistake: BaseException) -> Iterator[BaseException]:
    error: BaseException | None = mistake
    for _ in range(MOST_CAUSES):
        if error is None:
            return
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _headline(error: BaseException, private: tuple[str, ...]) -> str:
    """The error's kind, and of its message what cannot be of a file."""
    kind = type(error).__name__
    if isinstance(error, MemplanError):  # its message says what was found in a file
        return kind
    try:
        message = (str(error).splitlines() or [""])[0]
    except Exception:
        return kind
    if not isinstance(error, _SPEAK_OF_CODE):
        message = _QUOTED.sub("'…'", message)
    message = without_personal(message, private)
    return f"{kind}: {message[:LONGEST_MESSAGE]}".rstrip(": ")


def _places(error: BaseException) -> Iterator[str]:
    for frame in traceback.extract_tb(error.__traceback__)[-MOST_FRAMES:]:
        yield f"  {_file_in_package(frame.filename)}:{frame.lineno} in {frame.name}"


def _file_in_package(name: str) -> str:
    """The file's place in its package: what stands before it is where somebody put the program."""
    parts = PurePath(name.replace("\\", "/")).parts
    for package in _PACKAGES:
        if package in parts[:-1]:
            start = len(parts) - 1 - parts[::-1].index(package)
            return "/".join(parts[start + (package == "site-packages") :])
    return parts[-1] if parts else name


@lru_cache
def _homes() -> tuple[str, ...]:
    try:
        home = str(Path.home())
    except (OSError, RuntimeError):
        return ()
    found = {home, home.replace("\\", "/"), home.replace("\\", "\\\\")}
    return tuple(one for one in sorted(found, key=len, reverse=True) if len(one) >= LEAST_NAME)


@lru_cache
def _names() -> tuple[str, ...]:
    """How the person and the computer are called."""
    found = {platform.node(), platform.node().partition(".")[0]}
    try:
        found.add(getpass.getuser())
        found.add(Path.home().name)
    except (OSError, RuntimeError, KeyError, ImportError):
        pass
    names = {name for name in found if len(name) >= LEAST_NAME and name.lower() != "localhost"}
    return tuple(sorted(names, key=len, reverse=True))
