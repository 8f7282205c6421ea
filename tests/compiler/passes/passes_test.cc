// Each pass on small modules: tests/golden/passes/<pass>*.txt hold the input, "----" and the module after the
// pass.
#include <gtest/gtest.h>

#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/verifier.h"
#include "compiler/pipeline.h"
#include "tests/golden/golden.h"

namespace tvmvm {
namespace {

// The first line names the pass: "// fold-constants".
std::string RunPass(const std::string& text) {
  std::string name = text.substr(3, text.find('\n') - 3);
  Expected<ir::Module> module = ir::ParseModule(text);
  if (!module) return module.error().message + "\n";
  for (const passes::Pass& pass : PassPipeline()) {
    if (pass.name != name) continue;
    passes::PassContext context{.targets = {TargetInfoFor(CpuLevel::kX86_64_V3)}, .half_factors = true};
    if (Status status = pass.run(*module, context); !status) return status.error().message + "\n";
    if (Status status = ir::VerifyModule(*module); !status)
      return "broken: " + status.error().message + "\n" + ir::PrintModule(*module);
    return ir::PrintModule(*module);
  }
  return "no pass is named " + name + "\n";
}

TEST(PassesTest, MatchTheGoldenFiles) { CheckGolden("passes", RunPass); }

}  // namespace
}  // namespace tvmvm
