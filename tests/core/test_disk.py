"""A file is written whole or not at all, and what went wrong is said in words."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memplan.disk import read_file, write_file
from memplan.errors import MemplanError

HERE = Path(__file__).parent
on_posix = pytest.mark.skipif(os.name != "posix", reason="permissions and signals of POSIX")


def run(*arguments: str) -> str:
    result = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@on_posix
def test_a_kill_during_save_never_loses_the_old_file(tmp_path: Path) -> None:
    assert run(str(HERE / "saving_under_fire.py"), str(tmp_path), "150", "whole") == "0"


@on_posix
def test_a_kill_that_loses_the_file_would_be_seen(tmp_path: Path) -> None:
    assert int(run(str(HERE / "saving_under_fire.py"), str(tmp_path), "60", "naive")) > 0


def test_a_new_file_and_a_replaced_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_file(path, b"one")
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


@on_posix
def test_an_existing_file_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"")
    path.chmod(0o640)
    write_file(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    old = os.umask(0o027)
    try:
        write_file(tmp_path / "b.txt", b"new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "b.txt").stat().st_mode) == 0o640


@on_posix
def test_a_link_is_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "a.txt", tmp_path / "link.txt"
    real.parent.mkdir()
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_file(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


@on_posix
def test_a_device_is_written_to_and_stays_a_device() -> None:
    write_file(Path(os.devnull), b"gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_what_a_killed_save_left_is_swept_by_a_later_one(tmp_path: Path) -> None:
    """Only what memplan calls so itself, and what nobody has written to for an hour."""
    names = {"old": ".memplan-0123456789ab.tmp", "new": ".memplan-ba9876543210.tmp", "other": ".memplan-notes.tmp"}
    for name in names.values():
        (tmp_path / name).write_bytes(b"half")
    for name in (names["old"], names["other"]):
        os.utime(tmp_path / name, (0, 0))
    write_file(tmp_path / "a.txt", b"whole")
    assert {entry.name for entry in tmp_path.iterdir()} == {names["new"], names["other"], "a.txt"}


@on_posix
@pytest.mark.parametrize("statement", ["read_file(path, limit_bytes=9, what='a plan')", "write_file(path, b'new')"])
def test_a_pipe_is_refused_and_waited_for_by_nobody(tmp_path: Path, statement: str) -> None:
    """Opening one waits until somebody opens its other end, POSIX says (open, O_NONBLOCK clear): here for ever."""
    os.mkfifo(tmp_path / "a.memplan")
    code = f"""
from pathlib import Path
from memplan.disk import read_file, write_file
path = Path({str(tmp_path / "a.memplan")!r})
try:
    {statement}
except ValueError as problem:
    print(problem)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False).stdout
    assert said.strip().endswith("a.memplan: is a pipe or a socket, not a file. Give the name of a file.")


@on_posix
def test_a_pipe_among_a_models_weights_is_waited_for_by_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.safetensors")
    code = f"""
from pathlib import Path
from memplan.exchange.weight_files import weights_facts
try:
    weights_facts([Path({str(tmp_path / "model.safetensors")!r})], "")
except ValueError as problem:
    print(problem)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False).stdout
    assert said.strip().endswith("model.safetensors: is a pipe or a socket, not a file.")


@on_posix
def test_what_the_shell_hands_over_as_a_pipe_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"text")
    os.close(writing)
    assert read_file(Path(f"/dev/fd/{reading}"), limit_bytes=9, what="a plan") == b"text"
    os.close(reading)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_what_fails_on_the_way_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, code: int
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def fail(*arguments: object) -> None:
        raise OSError(code, os.strerror(code))

    # A full disk shows at the latest when the bytes are forced to it.
    monkeypatch.setattr(os, step, fail)
    words = (
        "a.txt: the disk is full. Free some space, or save to another disk."
        if code == errno.ENOSPC
        else "a.txt: input/output error."
    )
    with pytest.raises(MemplanError) as caught:
        write_file(path, b"new")
    monkeypatch.undo()
    assert str(caught.value).endswith(words)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


@on_posix
def test_a_write_that_the_system_cuts_short(tmp_path: Path) -> None:
    """The limit on a file's size ends a real write in the middle, as a full disk does."""
    code = f"""
import resource
from pathlib import Path
from memplan.disk import write_file
path = Path({str(tmp_path)!r}) / "a.txt"
write_file(path, b"old")
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_file(path, b"x" * 100_000)
except ValueError as problem:
    print(problem.message, path.read_bytes(), len(list(path.parent.iterdir())))
"""
    assert run("-c", code) == "the file would be larger than is allowed here. b'old' 1"


def as_nobody(folder: Path, statement: str) -> str:
    """Runs a write as a user who owns nothing; permissions do not bind root."""
    code = f"""
import os
from pathlib import Path
from memplan.disk import read_file, write_file
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.chdir({str(folder)!r})
try:
    {statement}
except ValueError as problem:
    print(problem)
"""
    return run("-c", code)


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder that any user can reach."""
    for folder in itertools.takewhile(
        lambda folder: folder != Path(tempfile.gettempdir()), (tmp_path, *tmp_path.parents)
    ):
        folder.chmod(0o755)
    return tmp_path


@on_posix
def test_a_read_only_folder(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    try:
        words = as_nobody(open_folder, 'write_file(Path("a.txt"), b"new")')
    finally:
        open_folder.chmod(0o755)
    assert words == "a.txt: nothing can be written into its folder. Save to another folder, or change its permissions."
    assert list(open_folder.iterdir()) == []


@on_posix
def test_a_protected_file_is_not_replaced_behind_its_back(open_folder: Path) -> None:
    (open_folder / "a.txt").write_bytes(b"old")
    (open_folder / "a.txt").chmod(0o444)
    open_folder.chmod(0o777)
    words = as_nobody(open_folder, 'write_file(Path("a.txt"), b"new")')
    assert words == "a.txt: may not be written. Save to another folder, or change the permissions."
    assert (open_folder / "a.txt").read_bytes() == b"old"


@on_posix
def test_a_file_that_may_not_be_read(open_folder: Path) -> None:
    (open_folder / "a.txt").write_bytes(b"secret")
    (open_folder / "a.txt").chmod(0o000)
    words = as_nobody(open_folder, 'read_file(Path("a.txt"), limit_bytes=9, what="a plan")')
    assert words == "a.txt: may not be read. Change its permissions, or copy it to where you may read it."


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing/a.txt", "the folder does not exist. Make the folder first, or save to another one."),
        (".", "is a folder. Give the name of a file inside it."),
        ("n" * 300, "the name is too long for this disk. Choose a shorter name."),
        ("a\0b", "is not the name of a file"),
    ],
)
def test_a_place_where_nothing_can_be_written(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(MemplanError) as caught:
        write_file(tmp_path / name, b"new")
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_not_said_to_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux answers "no such file" to whoever makes a file in /proc."""

    def refuse(path: str, *_: object) -> int:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(MemplanError, match="nothing can be written into its folder"):
        write_file(tmp_path / "a.txt", b"new")


@on_posix
def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "a")
    with pytest.raises(MemplanError, match="is a link that leads back to itself"):
        read_file(tmp_path / "a", limit_bytes=9, what="a plan")
    with pytest.raises(MemplanError, match="is a link that leads back to itself"):
        write_file(tmp_path / "a", b"new")


@on_posix
def test_no_more_is_read_than_is_allowed() -> None:
    with pytest.raises(MemplanError, match="a plan takes at most"):
        read_file(Path("/dev/zero"), limit_bytes=1000, what="a plan")
