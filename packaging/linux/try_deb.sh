#!/usr/bin/env bash
# Installs the .deb in a clean Debian, without a network opens a plan by its file type as an ordinary person, takes a
# picture of the screen, and removes the package again. Run as root; needs debootstrap, a package mirror and 1 GB of disk.
#
#     try_deb.sh memplan_VERSION_amd64.deb PLAN PICTURE.xwd
set -euo pipefail
deb=$(realpath "$1") plan=$(realpath "$2") picture=$(realpath -m "$3")
suite=${SUITE:-bookworm} mirror=${MIRROR:-http://deb.debian.org/debian}
root=$(mktemp -d)
chmod 755 "$root"  # the person walks in it as well
trap 'rm -rf --one-file-system "$root"' EXIT

debootstrap --variant=minbase "$suite" "$root" "$mirror" > /dev/null
cp "$deb" "$root/tmp/memplan.deb"
chroot "$root" sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get -q update && apt-get -qy install --no-install-recommends \
  /tmp/memplan.deb fonts-dejavu-core shared-mime-info desktop-file-utils xvfb xauth libglib2.0-bin && useradd -m person'
install -m644 "$plan" "$root/home/person/plan.memplan"
cat > "$root/tmp/try.sh" <<'TRY'
set -e
cd ~
memplan --self-test
test "$(memplan estimate plan.memplan --json | head -c1)" = "{"
gio info -a standard::content-type plan.memplan | grep -q application/x-memplan+json
gio mime application/x-memplan+json | grep -q memplan.desktop
mkdir /tmp/screen
Xvfb :77 -screen 0 1400x900x24 -fbdir /tmp/screen 2> /dev/null &
screen=$!
sleep 2
DISPLAY=:77 gio open plan.memplan
sleep 8
cp /tmp/screen/Xvfb_screen0 /tmp/picture.xwd
kill $screen
TRY
# A network of its own, with nothing in it.
unshare --net chroot --userspec=person:person "$root" /usr/bin/env -i HOME=/home/person LC_ALL=C.UTF-8 PATH=/usr/bin:/bin bash /tmp/try.sh
cp "$root/tmp/picture.xwd" "$picture"

chroot "$root" dpkg --verify memplan  # nothing of it was changed by running
chroot "$root" dpkg --remove memplan > /dev/null
left=$(find "$root" -xdev -iname '*memplan*' -not -path "$root/tmp/*" -not -path "$root/home/*")
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
echo "installed, opened by its file type, removed without a trace; the screen is in $picture"
echo "the person keeps:"
find "$root/home/person" -type f -newer "$root/home/person/.profile" -printf '  ~/%P\n'
