#!/bin/sh
# Builds shapes.cu plain and for five dispatch modes, runs every program, and compares what they
# print.
#
#   sh build.sh [--no-run] [nvcc options...]
#
# Variables: NVCC and PYTHON (the commands), OUT (folder for the programs, default ./out),
# ARCH (default native: the GPU of this machine), COUNT (objects, default 4 Mi).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
nvcc=${NVCC:-nvcc}
python=${PYTHON:-python3}
out=${OUT:-out}
modes="coal typepointer range+switch bits+switch tag+switch"
# A checkout works like an installed package.
export PYTHONPATH="$here/../..${PYTHONPATH:+:$PYTHONPATH}"

run=yes
if [ "${1:-}" = --no-run ]; then
    run=no
    shift
fi
mkdir -p "$out"

# compile NAME [COMMAND...]: COMMAND goes before nvcc.
compile() {
    program=$out/$1
    shift
    echo "building $program"
    "$@" "$nvcc" -std=c++17 -O3 -arch="${ARCH:-native}" -I "$here/../include" $options \
        "$here/shapes.cu" -o "$program"
}

options=$*
compile shapes-original
for mode in $modes; do
    compile "shapes-$mode" "$python" -m ptxpass.nvcc --mode "$mode" --report --
done
[ $run = yes ] || exit 0

failed=0
for kind in original $modes; do
    echo "running $out/shapes-$kind"
    status=0
    "$out/shapes-$kind" ${COUNT:-} >"$out/$kind.txt" || status=$?
    cat "$out/$kind.txt"
    if [ $status -ne 0 ]; then
        echo "shapes-$kind: exit status $status" >&2
        failed=1
    fi
    grep '^result' "$out/$kind.txt" >"$out/$kind.results" || true
    if ! cmp -s "$out/original.results" "$out/$kind.results"; then
        echo "shapes-$kind: results differ from those of shapes-original" >&2
        failed=1
    fi
done
[ $failed -eq 0 ] && echo "all builds agree"
exit $failed
