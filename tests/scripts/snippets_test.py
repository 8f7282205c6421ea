"""The C++ of README and docs compiles: each block by itself, in a function where the names are known that the text around it speaks of.

Given: a C++ compiler."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPILER = sys.argv.pop()

KNOWN = """
#include <array>
#include <memory>
#include <vector>
#include <tvm-vm/device_list.h>
#include <tvm-vm/vm.h>
#include <tvm-vm/vmexe.h>
using tvmvm::Status;
extern std::shared_ptr<const tvmvm::Program> program;
extern std::shared_ptr<tvmvm::Vm> vm;
extern tvmvm::Invocation invocation;
extern tvmvm::VmOptions options;
extern std::vector<tvmvm::Tensor> inputs, outputs;
extern tvmvm::Tensor host_past;
extern tvmvm::Shape present_shape;
template <class... Values> void Log(const Values&...) {}
template <class... Values> void Use(const Values&...) {}
"""


def blocks():
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, block in enumerate(re.findall(r"^```cpp\n(.*?)^```", document.read_text(), re.M | re.S), 1):
            yield f"{document.name}, block {number}", block


class Snippets(unittest.TestCase):
    def test_compile(self):
        count = 0
        for name, block in blocks():
            with self.subTest(name):
                count += 1
                self.assertEqual(self.errors_of(block), "")
        self.assertGreaterEqual(count, 7)

    def test_errors_are_seen(self):
        self.assertIn("no_such_name", self.errors_of("no_such_name(vm);\n"))

    def errors_of(self, block):
        lines = block.splitlines()
        includes = [line for line in lines if line.startswith("#include")]
        code = "\n".join(line for line in lines if not line.startswith("#include"))
        if not re.search(r"^\S.*\) \{$", code, re.M) or "return {};" not in code:  # no function of its own
            code = f"tvmvm::Expected<tvmvm::Invocation> Block() {{\n{code}\nreturn vm->NewInvocation();\n}}\n"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "block.cc"
            path.write_text("\n".join(includes) + KNOWN + code)
            return subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'include'}", path], capture_output=True, text=True).stderr


if __name__ == "__main__":
    unittest.main()
