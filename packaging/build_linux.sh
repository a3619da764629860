#!/usr/bin/env bash
# Builds the Linux packages from a checkout: the bundle, NAME.tar.xz, NAME.deb and NAME.AppImage in dist/, and checks each.
#
#     packaging/build_linux.sh          (`make installers` calls it)
#
# Needs Debian or its kin: Python, dpkg-deb, xz, strip; for the AppImage mksquashfs. Nothing is written outside build/ and dist/.
set -euo pipefail
cd "$(dirname "$0")/.."

MOST_DISK_MB=170
MOST_ARCHIVE_MB=48

python=${PYTHON:-python3}
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' core/memplan/version.py)
name=memplan-$version-linux-$(uname -m)
work=build/installers
rm -rf "$work" && mkdir -p "$work" dist

# An environment of its own: what tests and linters need must not find its way into the bundle.
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip --disable-pip-version-check install --quiet --constraint constraints.txt '.[gui,bundle]'
"$work/venv/bin/python" -m pip --disable-pip-version-check uninstall --quiet --yes memplan
rm -rf build/licences
"$work/venv/bin/python" packaging/licences.py build/licences
PATH=$PWD/$work/venv/bin:$PATH pyinstaller --noconfirm --log-level ERROR --workpath "$work/pyinstaller" --distpath "$work/dist" packaging/memplan.spec

bundle=$work/dist/memplan
"$bundle/memplan" --self-test
"$python" packaging/breakages.py "$bundle"  # a self-test that passes says something only if it can fail

# The same files give the same archive: times and owners are not those of this build.
stamp=$(git log -1 --format=%ct 2>/dev/null || echo 0)
tar --sort=name --mtime="@$stamp" --owner=0 --group=0 --numeric-owner -C "$work/dist" \
  --transform "s,^memplan,$name," -cf - memplan | xz -9 -T1 > "dist/$name.tar.xz"
packaging/linux/make_deb.sh "$bundle" "$version" dist
rm -f "dist/$name.AppImage"
packaging/linux/make_appimage.sh "$bundle" "$version" dist "$python"

"$work/venv/bin/python" packaging/sizes.py "$bundle" "dist/$name.tar.xz" --disk "$MOST_DISK_MB" --archive "$MOST_ARCHIVE_MB"
(cd dist && sha256sum "$name".* memplan_"$version"_*.deb > SHA256SUMS)
