"""What goes into the bundle, how its size is told, what its packages say. Building it takes minutes: `make installers`."""

from __future__ import annotations

import doctest
import plistlib
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from tests.tools.packaging_scripts import PACKAGING, ROOT, module


@pytest.mark.parametrize("name", ["bundle_contents", "sizes", "windows/version_resource", "macos/bundle_info"])
def test_worked_examples_are_right(name: str) -> None:
    result = doctest.testmod(module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_folder_hides_no_package() -> None:
    assert not (PACKAGING / "__init__.py").exists()


def test_sizes_are_those_of_the_files_and_too_large_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = module("sizes")
    folder = tmp_path / "memplan" / "_internal" / "numpy"
    folder.mkdir(parents=True)
    (folder / "a.so").write_bytes(b"x" * 2_000_000)
    archive = tmp_path / "a.tar.xz"
    archive.write_bytes(b"x" * 1_000_000)
    for disk, status in (("2", 0), ("1.9", 1)):
        arguments = ["sizes.py", str(tmp_path / "memplan"), str(archive), "--disk", disk, "--archive", "1"]
        monkeypatch.setattr(sys, "argv", arguments)
        assert sizes.main() == status
    assert "2.0 MB  numpy" in capsys.readouterr().out


def test_desktop_entry_and_file_type_speak_of_the_same_type() -> None:
    entry = (PACKAGING / "linux" / "memplan.desktop").read_text(encoding="utf-8")
    tree = ET.parse(PACKAGING / "linux" / "memplan-mime.xml")
    space = {"m": "http://www.freedesktop.org/standards/shared-mime-info"}
    (kind,) = tree.getroot().findall("m:mime-type", space)
    assert f"MimeType={kind.get('type')};" in entry
    assert [glob.get("pattern") for glob in kind.findall("m:glob", space)] == ["*.memplan"]
    info = ET.parse(PACKAGING / "linux" / "org.memplan.memplan.metainfo.xml").getroot()
    assert info.findtext("provides/mediatype") == kind.get("type")
    assert info.findtext("launchable") == "memplan.desktop"


def test_every_command_stands_in_the_man_page() -> None:
    from memplan.cli.commands import memplan_command

    page = (PACKAGING / "linux" / "memplan.1").read_text(encoding="utf-8")
    named = set(re.findall(r"^\.BR? (\w+)(?: [,.])?$", page, re.MULTILINE))
    commands = {name for name, command in memplan_command.commands.items() if not command.hidden}
    assert commands <= named


def test_macos_gives_plans_the_type_that_it_opens() -> None:
    info = plistlib.loads(plistlib.dumps(module("macos/bundle_info").info_plist("1.2.3")))
    (document,), (exported,) = info["CFBundleDocumentTypes"], info["UTExportedTypeDeclarations"]
    assert document["LSItemContentTypes"] == [exported["UTTypeIdentifier"]]
    assert exported["UTTypeTagSpecification"]["public.filename-extension"] == ["memplan"]
    entitlements = plistlib.loads((PACKAGING / "macos" / "entitlements.plist").read_bytes())
    assert all(entitlements.values())


@pytest.mark.skipif(shutil.which("makensis") is None, reason="NSIS is not installed")
def test_the_windows_installer_compiles_and_carries_the_bundle(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    (bundle / "_internal").mkdir(parents=True)
    (bundle / "memplan-window.exe").write_bytes(b"program")
    (bundle / "_internal" / "library").write_bytes(b"library")
    Image = pytest.importorskip("PIL.Image", reason="pillow, which draws the icon, is not installed")  # noqa: N806
    Image.new("RGBA", (32, 32)).save(tmp_path / "memplan.ico")
    out = tmp_path / "memplan-1.2.3-setup.exe"
    defined = {"VERSION": "1.2.3", "BUNDLE": bundle, "OUT": out, "ICON": tmp_path / "memplan.ico"}
    arguments = [f"-D{name}={value}" for name, value in defined.items()]
    script = str(PACKAGING / "windows" / "memplan.nsi")
    done = subprocess.run(["makensis", "-V4", "-WX", *arguments, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "memplan-window.exe" in done.stdout
    assert "library" in done.stdout
    assert out.read_bytes()[:2] == b"MZ"


def test_the_release_runs_what_is_there() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert {entry["name"] for entry in jobs["build"]["strategy"]["matrix"]["include"]} == {
        "linux-x86_64",
        "macos-arm64",
        "macos-x86_64",
        "windows-x86_64",
    }
    for path in re.findall(r"packaging/[\w/.-]+", text):
        assert (ROOT / path).exists(), path
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for task in re.findall(r"run: make (\w+)", text):
        assert f"\n{task}:" in makefile, task


def test_the_release_takes_others_actions_by_their_commits() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert used
    for action in used:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", action), action


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="an ELF file is at hand on Linux alone")
def test_sections_of_a_program_are_those_that_it_has() -> None:
    program = Path(sys.executable).resolve().read_bytes()
    found = {name: (offset, length) for name, offset, length in module("linux/appimage_runtime").sections(program)}
    offset, length = found[".interp"]
    assert b"/ld-linux" in program[offset : offset + length]


def test_the_head_of_an_appimage_ends_with_its_table_and_says_nothing_of_the_carriers_updates() -> None:
    names = b"\0.shstrtab\0.upd_info\0"
    start = 64 + len(names)
    table = start + 16
    header = b"\x7fELF".ljust(40, b"\0") + struct.pack("<Q", table) + bytes(10) + struct.pack("<3H", 64, 2, 0)
    sections = (struct.pack("<IIQQQQ", 1, 3, 0, 0, 64, len(names)), struct.pack("<IIQQQQ", 11, 1, 0, 0, start, 16))
    program = header + names + b"gh-releases|them" + b"".join(one.ljust(64, b"\0") for one in sections)
    runtime = module("linux/appimage_runtime").runtime_of(program + b"hsqs and its files")
    assert runtime == program.replace(b"gh-releases|them", bytes(16))


def test_the_bundle_has_qts_words_in_memplans_languages_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = module("bundle_contents")
    catalog = tmp_path / "pt_BR" / "LC_MESSAGES" / "memplan.mo"
    catalog.parent.mkdir(parents=True)
    catalog.touch()
    monkeypatch.setattr(contents, "TRANSLATIONS", tmp_path)
    folder = "PySide6/Qt/translations"
    assert contents.is_wanted(f"{folder}/qtbase_pt_BR.qm")
    assert not any(contents.is_wanted(f"{folder}/{name}.qm") for name in ("qtbase_de", "qtbase_pt_PT", "qt_pt_BR"))
    assert contents.is_wanted("resources/translations/pt_BR/LC_MESSAGES/memplan.mo")
    assert not contents.is_wanted("resources/translations/memplan.pot")
