#include "vm/binding/donations.h"

#include <algorithm>

#include "bytecode/encoding.h"
#include "bytecode/instruction.h"
#include "bytecode/output_operand.h"

namespace tvmvm {

std::vector<Donation> DonationsOf(const FunctionSpec& function) {
  std::vector<Donation> donations;
  ForEachInstruction(function.code, [&](const DecodedInstruction& instruction) {
    if (instruction.info->opcode != Opcode::kOutput) return;
    const OutputOperand operand =
        OutputOperand::Of(static_cast<uint32_t>(instruction.operand(1).value), function.outputs.size());
    if (!operand.donor) return;
    const Donation donation{*operand.donor, operand.output};
    if (std::ranges::find(donations, donation.output, &Donation::output) == donations.end())
      donations.push_back(donation);
  });
  return donations;
}

}  // namespace tvmvm
