#!/usr/bin/env bash
# The first answer from the wheels of a folder, as a stranger gets it: in a virtual environment that holds nothing else, without
# a network, by two commands. Given: a Python interpreter, the folder of the wheels, an .onnx model.
set -euo pipefail
python=$1 wheels=$(realpath "$2") model=$(realpath "$3")
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
"$python" -m venv "$environment"
export PATH=$environment/bin:$PATH PIP_NO_INDEX=1 PIP_FIND_LINKS=$wheels PIP_DISABLE_PIP_VERSION_CHECK=1
cd "$environment"

pip install -q tvm-vm  # alone: programs run, and compile says what is missing
tvm-vm version >/dev/null
! tvm-vm compile "$model" -o none.vmexe 2>message || { echo "there is a compiler where none was installed" >&2; exit 1; }
grep -q "compiler library is not installed" message
pip uninstall -q -y tvm-vm

pip install -q 'tvm-vm[compiler]'
tvm-vm run "$model"

tvm-vm compile -q "$model" -o model.vmexe
python - model.vmexe <<'EOF'
import sys, tvm_vm  # no NumPy here
program = tvm_vm.load(sys.argv[1])
vm = tvm_vm.Vm(program)
dims = [[dim if isinstance(dim, int) else 4 for dim in given.dims] for given in program.inputs]
result = vm(*[tvm_vm.Tensor.empty(dims[i], given.dtype) for i, given in enumerate(program.inputs)])
print("from Python:", result)
EOF
pip uninstall -q -y tvm-vm tvm-vm-compiler
left=$(find . -type f \( -path '*tvm_vm*' -o -name 'tvm-vm*' \) -print)
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
echo "two commands to the first answer; removed: no file is left"
