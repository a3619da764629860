"""Reading and writing files: whole or not at all, and what went wrong in words.

A file is written beside its target, forced to the disk and renamed over it, so that whatever happens in between
(a full disk, a kill, a power cut) either the old file or the new one stands there.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path

from memplan.errors import MemplanError
from memplan.number_style import number
from memplan.units import MB

_PIPE = ("is a pipe or a socket, not a file.", "Give the name of a file.")
_READ_WORDS: dict[int, tuple[str, str]] = {
    errno.ENOENT: ("there is no such file.", "Check the name."),
    errno.ENOTDIR: ("a part of the path is a file, not a folder.", "Check the name."),
    errno.EISDIR: ("is a folder, not a file.", "Give a file inside it."),
    errno.EACCES: ("may not be read.", "Change its permissions, or copy it to where you may read it."),
    errno.EPERM: ("may not be read.", "Change its permissions, or copy it to where you may read it."),
    errno.ENAMETOOLONG: ("the name is too long for this disk.", "Check the name."),
    errno.ELOOP: ("is a link that leads back to itself.", "Give the file itself."),
    errno.ESPIPE: _PIPE,
}
_WRITE_WORDS: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full.", "Free some space, or save to another disk."),
    errno.EDQUOT: ("your share of the disk is used up.", "Free some space, or save to another disk."),
    errno.EFBIG: ("the file would be larger than is allowed here.", "Save to another disk."),
    errno.EROFS: ("the disk can only be read.", "Save to another folder."),
    errno.EACCES: ("may not be written.", "Save to another folder, or change the permissions."),
    errno.EPERM: ("may not be written.", "Save to another folder, or change the permissions."),
    errno.ENOENT: ("the folder does not exist.", "Make the folder first, or save to another one."),
    errno.ENOTDIR: ("a part of the path is a file, not a folder.", "Save to another folder."),
    errno.EISDIR: ("is a folder.", "Give the name of a file inside it."),
    errno.ENAMETOOLONG: ("the name is too long for this disk.", "Choose a shorter name."),
    errno.ELOOP: ("is a link that leads back to itself.", "Choose another name."),
    errno.ESPIPE: _PIPE,
}
_TEMPORARY = re.compile(r"\.memplan-[0-9a-f]{12}\.tmp")
_ABANDONED_S = 3600
_CLOSED_FOLDER = ("nothing can be written into its folder.", "Save to another folder, or change its permissions.")


def is_folder(path: Path) -> bool:
    """Whether a folder stands there that can be looked at."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises where a name is too long or a folder is closed


def is_missing(path: Path) -> bool:
    """Whether nothing stands there. What cannot be looked at may be there: reading it says why not."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def read_file(path: Path, *, limit_bytes: int, what: str, error: type[MemplanError] = MemplanError) -> bytes:
    """Return a file's bytes.

    Args:
        path: the file.
        limit_bytes: refuse anything longer, after reading no more than this.
        what: what such a file is, for the message about its size: "a plan".
        error: which error to raise.

    Raises:
        MemplanError: why it cannot be read, and what to do.
    """
    try:
        refuse_pipe(path)
        with path.open("rb") as stream:
            data = stream.read(limit_bytes + 1)
            size = max(len(data), os.fstat(stream.fileno()).st_size)
    except OSError as problem:
        # Windows calls the opening of a folder a matter of permissions.
        code = errno.EISDIR if is_folder(path) else problem.errno
        raise _in_words(_READ_WORDS, code, problem, path, error) from problem
    except ValueError as problem:
        raise error(f"{str(path)!r} is not the name of a file: {problem}.") from problem
    if size > limit_bytes:
        raise error(
            f"is {number(size / MB, ',.1f')} MB; {what} takes at most {number(limit_bytes / MB, ',.0f')} MB.",
            place=str(path),
            remedy="Check that it is the right file.",
        )
    return data


def write_file(path: Path, data: bytes, *, error: type[MemplanError] = MemplanError) -> None:
    """Write a file whole or not at all. A link is followed; an existing file keeps its permissions.

    Raises:
        MemplanError: why it cannot be written, and what to do. What stood there before still stands.
    """
    try:
        target = Path(os.path.realpath(path))
        if target.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not os.access(target, os.W_OK):
            # A rename would replace it all the same; who protects a file means it.
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        refuse_pipe(target)
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # A device: nothing stands there that could be lost.
        else:
            _replace(target, data)
    except OSError as problem:
        raise _in_words(_write_words(path), problem.errno, problem, path, error) from problem
    except ValueError as problem:
        raise error(f"{str(path)!r} is not the name of a file: {problem}.") from problem


def refuse_pipe(path: Path) -> None:
    """Refuse what may keep one waiting for ever: a pipe with nobody at its other end, a socket.

    Those under /dev are the shell's: it stands at the other end of `<(...)` itself.

    Raises:
        OSError: it is one.
    """
    if path.as_posix().startswith("/dev/") or path.is_file() or not path.exists():
        return
    mode = path.stat().st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        raise OSError(errno.ESPIPE, _PIPE[0].removesuffix("."))


def _write_words(path: Path) -> dict[int, tuple[str, str]]:
    """What errors mean for that file: of a new one in a folder that is there, it is the folder that takes nothing."""
    target = Path(os.path.realpath(path))
    if not (is_missing(target) and is_folder(target.parent)):
        return _WRITE_WORDS
    # Some file systems (/proc) say that what cannot be made does not exist.
    return _WRITE_WORDS | dict.fromkeys((errno.ENOENT, errno.EACCES, errno.EPERM), _CLOSED_FOLDER)


def _replace(target: Path, data: bytes) -> None:
    old_mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    temporary = target.with_name(f".memplan-{os.urandom(6).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # A new file gets what the umask leaves; a replaced one is nobody else's to read before it has its own mode.
    descriptor = os.open(temporary, flags, 0o666 if old_mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if old_mode is not None:
            temporary.chmod(old_mode)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)
    _sweep(target.parent)


def _sweep(folder: Path) -> None:
    """Remove what writings that were killed left beside their targets; one that goes on touched its file just now."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name):
                with suppress(OSError):
                    about = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(about.st_mode) and time.time() - about.st_mtime > _ABANDONED_S:
                        os.unlink(entry.path)  # noqa: PTH108 - beside scandir, which a folder of many files wants


def _sync_folder(folder: Path) -> None:
    """Make the rename itself last; not every system lets a folder be opened for that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _in_words(
    words: dict[int, tuple[str, str]], code: int | None, problem: OSError, path: Path, error: type[MemplanError]
) -> MemplanError:
    message, remedy = words.get(code or 0, (f"{(problem.strerror or str(problem)).lower()}.", ""))
    return error(message, place=str(path), remedy=remedy)
