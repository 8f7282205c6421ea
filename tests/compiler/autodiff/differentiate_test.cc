// Graphs of gradients: tests/golden/gradients/*.txt hold a module, "----", and the module whose outputs are
// the gradients of its first output with respect to its inputs of floats, without what these do not need.
// What the numbers are is held in tests/conformance/gradient_test.cc; here it is how many operators they
// take.
#include "compiler/autodiff/differentiate.h"

#include <gtest/gtest.h>

#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/verifier.h"
#include "compiler/passes/pass.h"
#include "tests/golden/golden.h"

namespace tvmvm::autodiff {
namespace {

std::string GradientOf(const std::string& text) {
  Expected<ir::Module> module = ir::ParseModule(text);
  if (!module) return module.error().message + "\n";
  ir::Function& function = module->main();
  const ir::RegionId body = function.body;
  std::vector<ir::ValueId> inputs;
  std::vector<std::string> names;
  for (size_t i = 0; i < function.input_names.size(); ++i) {
    const ir::ValueId input = function.region(body).parameters[i];
    if (!IsFloat(function.type(input).dtype)) continue;
    inputs.push_back(input);
    names.push_back("d" + function.input_names[i]);
  }
  ir::OpBuilder b(&*module, &function, body);
  const std::vector<ir::ValueId> gradients = Gradients(b, function.region(body).results[0], inputs);
  if (b.failed()) return b.TakeError()->message + "\n";
  function.region(body).results = gradients;
  function.output_names = names;
  if (Status status = passes::EliminateCommon(*module, {}); !status) return status.error().message + "\n";
  if (Status status = passes::EliminateDead(*module, {}); !status) return status.error().message + "\n";
  if (Status status = ir::VerifyModule(*module); !status)
    return "broken: " + status.error().message + "\n" + ir::PrintModule(*module);
  return ir::PrintModule(*module);
}

TEST(DifferentiateTest, GradientGraphsMatchTheGoldenFiles) { CheckGolden("gradients", GradientOf); }

}  // namespace
}  // namespace tvmvm::autodiff
