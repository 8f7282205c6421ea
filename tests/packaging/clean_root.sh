#!/usr/bin/env bash
# Installs the Debian packages of a folder in a root that holds nothing else, uses them as a stranger would, and removes
# them. Given: the folder of the packages, an .onnx model. As root; needs debootstrap and a mirror (DEBIAN_MIRROR).
set -euo pipefail
packages=$(realpath "$1") model=$(realpath "$2")
root=$(mktemp -d)
trap 'umount "$root/proc" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT
release=$(. /etc/os-release; echo "$VERSION_CODENAME")
debootstrap --variant=minbase "$release" "$root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$root.log" 2>&1 ||
  { tail -n 5 "$root.log" >&2; exit 1; }
rm -f "$root.log"
for file in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/auth.conf.d /etc/resolv.conf /etc/ssl /usr/share/ca-certificates; do
  [ ! -e "$file" ] || { mkdir -p "$root$(dirname "$file")"; cp -rL "$file" "$root$(dirname "$file")/" 2>/dev/null || true; }
done
mount -t proc proc "$root/proc"
mkdir "$root/packages"
cp "$packages"/*.deb "$model" "$root/packages"
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive bash -ec "$1"; }

in_root 'apt-get update -q && apt-get install -y -q --no-install-recommends /packages/tvm-vm_*.deb /packages/libtvm-vm0_*.deb' >/dev/null
echo "without the compiler:"
in_root 'tvm-vm version && ! tvm-vm compile /packages/*.onnx -o /tmp/m.vmexe'
in_root 'apt-get install -y -q --no-install-recommends /packages/*.deb' >/dev/null
echo "with all packages, the first answer:"
in_root 'cd /tmp && tvm-vm run /packages/*.onnx'
in_root 'cd /tmp && tvm-vm compile /packages/*.onnx -o m.vmexe && tvm-vm run m.vmexe && tvm-vm run m.vmexe --sandbox && tvm-vm verify m.vmexe && tvm-vm completion bash >/dev/null'
in_root 'test -e /usr/include/tvm-vm/vm.h && test -e /usr/share/man/man1/tvm-vm.1.gz || [ -e /etc/dpkg/dpkg.cfg.d/docker ]'
in_root 'apt-get purge -y -q tvm-vm libtvm-vm0 libtvm-vm-compiler0 libtvm-vm-dev' >/dev/null
left=$(in_root 'find / -xdev -path /packages -prune -o -path /proc -prune -o -path /var/cache -prune -o -name "*tvm-vm*" -print')
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
echo "installed, ran, removed: nothing is left"
