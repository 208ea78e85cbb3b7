#!/bin/bash
# Build the Dockerfile without Docker and without pulling, start what was built as its own user on
# a read-only root, and check that /ready answers. By hand or nightly, as root, on Debian:
#
#     apt-get install buildah debootstrap
#     scripts/build_image.sh [FOLDER]          # FOLDER keeps base and images; default: build/image
#
# The FROM is a stand-in: Debian by debootstrap with a Python of this machine in /usr/local, where
# the real image has it (PYTHON_PREFIX=… chooses one; default: a python3.12 that make setup finds).
# Only the Dockerfile's own steps are tried, not the real base. No container runtime starts it: a
# mount namespace, a bind mount that is remounted read-only, chroot and setpriv come near to one (no
# capability, no new privileges; the network and /dev are the machine's). Prints what it saw.
set -euo pipefail
cd "$(dirname "$0")/.."
source_folder=$PWD
work=$(realpath -m "${1:-build/image}")
from=$(awk '$1 == "FROM" {print $2; exit}' Dockerfile)
tag=otel-raglog:try
suite=${DEBIAN_SUITE:-bookworm}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
say() { echo "image: $*"; }
die() { echo "image: $*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || die "needs root: buildah in chroot isolation, mounts"
for tool in buildah debootstrap unshare setpriv chroot curl; do
    command -v $tool >/dev/null || die "$tool is missing: apt-get install buildah debootstrap util-linux curl"
done
mkdir -p "$work"
store=(--root "$work/store" --runroot "$work/run" --storage-driver vfs)
b() { buildah "${store[@]}" "$@"; }

# ---- the stand-in for the FROM
if ! b inspect --type image "$from" >/dev/null 2>&1; then
    prefix=${PYTHON_PREFIX:-}
    if [ -z "$prefix" ]; then
        for candidate in python3.12 "$HOME"/.pyenv/versions/3.12*/bin/python3.12; do
            prefix=$("$candidate" -c 'import sys; print(sys.base_prefix)' 2>/dev/null) && break
        done
    fi
    [ -x "$prefix/bin/python3.12" ] || die "no Python 3.12 was found for the stand-in: set PYTHON_PREFIX"
    base=$work/base
    if [ ! -e "$base/etc/debian_version" ]; then
        say "debootstrap $suite"
        debootstrap --variant=minbase --include=ca-certificates,libssl3,libffi8,libsqlite3-0,zlib1g,libbz2-1.0,liblzma5,libreadline8,libncursesw6,libuuid1,libexpat1,netbase,tzdata \
            "$suite" "$base" "$mirror" >"$work/debootstrap.log" 2>&1 || { tail "$work/debootstrap.log"; die "debootstrap failed"; }
    fi
    rm -rf "$base"/var/cache/apt/archives/*.deb "$base"/var/lib/apt/lists/*
    # What this machine trusts, so that pip works behind what it works behind here.
    cp /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/ca-certificates.crt"
    say "python of $prefix into the stand-in"
    version=$("$prefix/bin/python3.12" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    mkdir -p "$base/usr/local/lib" "$base/usr/local/bin"
    tar -C "$prefix/lib" --exclude=test --exclude=__pycache__ --exclude='*.a' --exclude=config-3.12-* -cf - . \
        | tar -C "$base/usr/local/lib" -xf - --no-same-owner
    rm -rf "$base/usr/local/lib/$version/site-packages"/*
    cp "$prefix/bin/$version" "$base/usr/local/bin/"
    ln -sf "$version" "$base/usr/local/bin/python3"; ln -sf "$version" "$base/usr/local/bin/python"
    chroot "$base" ldconfig
    chroot "$base" /usr/local/bin/python -m ensurepip >/dev/null 2>&1 || die "ensurepip failed in the stand-in"
    container=$(b from scratch)
    b copy --quiet "$container" "$base" / >/dev/null
    b config --env PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin \
        --env PIP_CERT=/etc/ssl/certs/ca-certificates.crt "$container"
    b commit --quiet --rm "$container" "docker.io/library/$from" >/dev/null
    b tag "docker.io/library/$from" "$from"
    rm -rf "$base"
fi

# ---- the Dockerfile's steps
say "build on the stand-in for $from"
b rmi --force "$tag" >/dev/null 2>&1 || true # the last try: vfs keeps whole copies
b bud --isolation chroot --network host --pull-never --format docker --tag "$tag" \
    --file Dockerfile "$source_folder" >"$work/build.log" 2>&1 || { tail -40 "$work/build.log"; die "the build failed"; }

config() { b inspect --type image --format "{{$1}}" "$tag"; }
user=$(config .Docker.Config.User)
[ "$user" = 10001:10001 ] || die "the image runs as '$user'"
[ -n "$(config .Docker.Config.Healthcheck)" ] || die "the image has no HEALTHCHECK"

container=$(b from --pull-never "$tag")
root=$(b mount "$container")
server=
finish() {
    [ -z "$server" ] || kill -TERM "$server" 2>/dev/null || true
    b umount "$container" >/dev/null 2>&1 || true
    b rm "$container" >/dev/null 2>&1 || true
}
trap finish EXIT

# ---- what must not be in it
for name in torch sklearn catboost skops matplotlib pandas mitmproxy pyarrow pip setuptools; do
    found=$(find "$root/opt/raglog" -maxdepth 5 -iname "$name" -path '*site-packages*' -print -quit)
    [ -z "$found" ] || die "$name is in the image: ${found#"$root"}"
done
say "no torch, no training library, no pip in /opt/raglog"
added=$(du -sm --apparent-size "$root/opt/raglog" | cut -f1)
whole=$(du -sm --apparent-size "$root" | cut -f1)
say "size: /opt/raglog $added MiB, whole root with the stand-in $whole MiB (du -sm --apparent-size)"
du -sm --apparent-size "$root"/opt/raglog/lib/python3*/site-packages/* | sort -rn | head -8 | sed "s#$root/opt/raglog/lib/##"

# ---- start it: its user, no capabilities, no new privileges, a root that cannot be written
ports=($(python3 - <<'P'
import socket
held = [socket.socket() for _ in range(4)]
for each in held:
    each.bind(("127.0.0.1", 0))
print(*(each.getsockname()[1] for each in held))
P
))
state=$work/state; rm -rf "$state"; install -d -m 0700 -o 10001 -g 10001 "$state"
mapfile -t image_env < <(config 'range .Docker.Config.Env}}{{println .}}{{end' | sed '/^$/d')
cat >"$work/start.sh" <<'S'
set -eu
root=$1 state=$2; shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
mount --bind "$state" "$root/var/lib/raglog"
mount -t proc proc "$root/proc"
mount -t tmpfs -o size=16m,mode=1777 tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount -o remount,ro,bind "$root"
exec env -i "$@"
S
unshare --mount bash "$work/start.sh" "$root" "$state" "${image_env[@]}" \
    OTEL_RAGLOG_RECEIVE__GRPC__PORT="${ports[0]}" OTEL_RAGLOG_RECEIVE__HTTP__PORT="${ports[1]}" \
    OTEL_RAGLOG_METRICS__PORT="${ports[2]}" OTEL_RAGLOG_HEALTH__PORT="${ports[3]}" \
    OTEL_RAGLOG_EXPORTERS='{shown: {kind: console}}' \
    /usr/sbin/chroot "$root" /usr/bin/setpriv --reuid 10001 --regid 10001 --clear-groups \
    --bounding-set -all --inh-caps -all --no-new-privs \
    /opt/raglog/bin/otel-raglog serve >"$work/serve.log" 2>&1 &
server=$!
answer=
for _ in $(seq 240); do
    answer=$(curl -s -m 2 "http://127.0.0.1:${ports[3]}/ready" || true)
    [ "$answer" = '{"status":"ready"}' ] && break
    kill -0 "$server" 2>/dev/null || { tail -20 "$work/serve.log"; die "the service ended"; }
    sleep 0.5
done
[ "$answer" = '{"status":"ready"}' ] || { tail -20 "$work/serve.log"; die "/ready said: $answer"; }
say "/ready says $answer"
status=/proc/$server/status
say "uid $(awk '/^Uid:/ {print $2}' $status), capabilities $(awk '/^CapEff:/ {print $2}' $status), NoNewPrivs $(awk '/^NoNewPrivs:/ {print $2}' $status), $(awk '/^VmRSS:/ {print int($2 / 1024)}' $status) MiB resident"
awk '$5 == "/" {print $6}' "/proc/$server/mountinfo" | grep -qw ro || die "the root can be written"
inside() { nsenter --target "$server" --mount --root="/proc/$server/root" "$@"; }
# As root, so that it is the mount that refuses, and not the owner of the folder.
refused=$(inside /usr/bin/touch /opt/raglog/written 2>&1 || true)
[[ $refused == *"Read-only file system"* ]] || die "the root can be written: $refused"
inside /usr/bin/touch /tmp/written /var/lib/raglog/written || die "/tmp or /var/lib/raglog cannot be written"
say "the root is read-only, only /var/lib/raglog and /tmp can be written"

# ---- HEALTHCHECK's own command, and a run through it
inside /usr/bin/env -i "${image_env[@]}" OTEL_RAGLOG_HEALTH__PORT="${ports[3]}" \
    python -c "$(python3 -c 'import json, re; t = open("Dockerfile").read(); print(json.loads(re.search(r"HEALTHCHECK.*?CMD (\[.*?\])$", t, re.S | re.M)[1])[2])')" \
    || die "HEALTHCHECK's command failed"
say "HEALTHCHECK's command passes"
if [ -x .venv/bin/otel-raglog ]; then
    .venv/bin/otel-raglog replay otel_raglog/samples/handbook-runs.otlp.jsonl.gz --endpoint "http://127.0.0.1:${ports[0]}" >"$work/replay.log" 2>&1 \
        || { tail -5 "$work/replay.log"; die "replay failed"; }
    judged=0
    for _ in $(seq 240); do
        judged=$(curl -s "http://127.0.0.1:${ports[2]}/metrics" | awk '/^raglog_runs_total/ {n += $2} END {print n + 0}')
        [ "$judged" -ge 60 ] && break
        sleep 0.5
    done
    [ "$judged" -ge 60 ] || die "$judged of 60 runs were judged"
    say "$judged runs judged, $(curl -s "http://127.0.0.1:${ports[2]}/metrics" | grep '^raglog_runs_total' | tr '\n' ' ')"
fi
kill -TERM "$server"
code=0; wait "$server" || code=$?
server=
[ "$code" = 0 ] || { tail -5 "$work/serve.log"; die "SIGTERM ended it with $code"; }
say "SIGTERM ends it with 0; journal: $(ls "$state/journal" | wc -l) files, mode $(stat -c %a "$state/journal")"
