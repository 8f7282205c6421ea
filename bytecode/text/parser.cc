#include "bytecode/text/parser.h"

#include <charconv>

#include "bytecode/blob.h"
#include "bytecode/device_kinds.h"
#include "bytecode/format_text.h"
#include "bytecode/text/names.h"
#include "bytecode/verifier.h"

namespace tvmvm::text {
namespace {

class ProgramParser {
 public:
  explicit ProgramParser(std::vector<Token> tokens) : state_{TokenStream(std::move(tokens)), {}, {}, {}} {}

  Expected<Program> Parse() {
    while (tokens_.Peek().kind != TokenKind::kEnd) TVMVM_CHECK_OK(ParseDeclaration());
    TVMVM_CHECK_OK(ResolveNames());
    return std::move(program_);
  }

 private:
  struct PendingEntry {
    std::vector<uint32_t> devices;
    Token name;
  };

  Status ParseDeclaration() {
    if (tokens_.AcceptWord("provenance")) return ParseProvenance();
    if (tokens_.AcceptWord("devices")) return ParseDevices();
    if (tokens_.AcceptWord("entry")) return ParseEntry();
    if (tokens_.AcceptWord("kernel")) return ParseKernel();
    if (tokens_.AcceptWord("constant")) return ParseConstant();
    if (tokens_.AcceptWord("plan")) return ParsePlan();
    if (tokens_.AcceptWord("func")) return ParseFunction();
    return tokens_.Wanted("provenance, devices, entry, kernel, constant, plan or func");
  }

  // Calls `parse` for each element of "[a, b]".
  template <class Parse>
  Status ParseList(Parse parse) {
    TVMVM_CHECK_OK(tokens_.Expect("["));
    for (bool first = true; !tokens_.Accept("]"); first = false) {
      if (!first) TVMVM_CHECK_OK(tokens_.Expect(","));
      TVMVM_CHECK_OK(parse());
    }
    return {};
  }

  Status ParseStrings(std::vector<std::string>* strings) {
    return ParseList([&]() -> Status {
      TVMVM_TRY(std::string text, tokens_.String("a string"));
      strings->push_back(std::move(text));
      return {};
    });
  }

  Status ParseProvenance() {
    Provenance& provenance = program_.provenance;
    TVMVM_TRY(provenance.producer, tokens_.String("the producer as a string"));
    TVMVM_CHECK_OK(tokens_.ExpectWord("source"));
    TVMVM_TRY(provenance.source, tokens_.String("the source as a string"));
    TVMVM_CHECK_OK(tokens_.ExpectWord("digest"));
    TVMVM_TRY(provenance.source_digest, tokens_.String("the digest as a string"));
    TVMVM_CHECK_OK(tokens_.ExpectWord("options"));
    TVMVM_TRY(provenance.options, tokens_.String("the options as a string"));
    return {};
  }

  Status ParseEntry() {
    if (tokens_.Peek().text == "[") return ParseDeviceEntry();
    TVMVM_CHECK_OK(tokens_.Expect("@"));
    entry_ = tokens_.Peek();
    TVMVM_TRY(std::string name, tokens_.Name("the entry function's name"));
    return {};
  }

  // The rest of "entry [1, 0] @main.gpu".
  Status ParseDeviceEntry() {
    PendingEntry entry;
    TVMVM_CHECK_OK(ParseNumbers(&entry.devices));
    TVMVM_CHECK_OK(tokens_.Expect("@"));
    entry.name = tokens_.Peek();
    TVMVM_TRY(std::string name, tokens_.Name("the entry function's name"));
    device_entries_.push_back(std::move(entry));
    return {};
  }

  Status ParseDevices() {
    program_.devices.clear();
    return ParseList([&]() -> Status {
      DeviceSpec device;
      TVMVM_TRY(device.device_class, ParseEnum<DeviceClass>(kDeviceClassNames, "cpu or gpu"));
      TVMVM_TRY(int64_t ordinal, tokens_.Integer(0, UINT32_MAX));
      device.ordinal = static_cast<uint32_t>(ordinal);
      program_.devices.push_back(device);
      return {};
    });
  }

  Status ParseKernel() {
    KernelSpec kernel;
    TVMVM_CHECK_OK(tokens_.Expect("@"));
    TVMVM_TRY(kernel.name, tokens_.Name("the kernel's name"));
    TVMVM_TRY(kernel.device, ParseEnum<DeviceClass>(kDeviceClassNames, "cpu or gpu"));
    TVMVM_CHECK_OK(tokens_.ExpectWord("symbol"));
    TVMVM_TRY(kernel.symbol, tokens_.String("the symbol as a string"));
    TVMVM_CHECK_OK(tokens_.ExpectWord("scalars"));
    TVMVM_TRY(int64_t scalars, tokens_.Integer(0, UINT32_MAX));
    kernel.scalar_count = static_cast<uint32_t>(scalars);
    TVMVM_CHECK_OK(tokens_.ExpectWord("buffers"));
    TVMVM_CHECK_OK(ParseList([&]() -> Status {
      TVMVM_TRY(Access access, ParseEnum<Access>(kAccessNames, "read, write, readwrite or read_aligned"));
      kernel.buffers.push_back(access);
      return {};
    }));
    if (tokens_.AcceptWord("aligned"))
      TVMVM_CHECK_OK(ParseList([&]() -> Status {
        TVMVM_TRY(int64_t alignment, tokens_.Integer(1, UINT8_MAX));
        kernel.alignments.push_back(static_cast<uint8_t>(alignment));
        return {};
      }));
    if (tokens_.AcceptWord("cost")) TVMVM_CHECK_OK(ParseCost(&kernel));
    if (tokens_.AcceptWord("contract")) {
      TVMVM_TRY(kernel.contract, tokens_.String("the contract as a string"));
    }
    if (tokens_.AcceptWord("errors")) TVMVM_CHECK_OK(ParseStrings(&kernel.error_messages));
    if (tokens_.AcceptWord("node")) {
      TVMVM_TRY(kernel.source_node, tokens_.String("the source node's name as a string"));
    }
    program_.kernels.push_back(std::move(kernel));
    return {};
  }

  // "[scratch bytes, flops, bytes]"
  Status ParseCost(KernelSpec* kernel) {
    TVMVM_CHECK_OK(tokens_.Expect("["));
    TVMVM_TRY(kernel->scratch_bytes, tokens_.Integer(0, INT64_MAX));
    TVMVM_CHECK_OK(tokens_.Expect(","));
    TVMVM_TRY(kernel->flops, tokens_.Integer(0, INT64_MAX));
    TVMVM_CHECK_OK(tokens_.Expect(","));
    TVMVM_TRY(kernel->bytes, tokens_.Integer(0, INT64_MAX));
    return tokens_.Expect("]");
  }

  template <class Enum, size_t N>
  Expected<Enum> ParseEnum(const std::array<std::string_view, N>& names, std::string_view wanted) {
    if (tokens_.Peek().kind == TokenKind::kWord) {
      if (std::optional<Enum> value = FromName<Enum>(names, tokens_.Peek().text)) {
        tokens_.Take();
        return *value;
      }
    }
    return tokens_.Wanted(wanted);
  }

  // The number in front of a constant or plan, which must count up.
  Status ParseNumber(char letter, size_t wanted) {
    std::string expected = FormatText("{}{}", letter, wanted);
    if (!tokens_.AcceptWord(expected)) return tokens_.Wanted(expected);
    return {};
  }

  Status ParseConstant() {
    ConstantSpec constant;
    TVMVM_CHECK_OK(ParseNumber('c', program_.constants.size()));
    TVMVM_TRY(constant.name, tokens_.String("the constant's name as a string"));
    TVMVM_CHECK_OK(tokens_.Expect(":"));
    Token type = tokens_.Peek();
    TVMVM_TRY(std::string dtype, tokens_.Word("a dtype"));
    constant.dtype = DTypeFromName(dtype).value_or(DType::kInvalid);
    if (constant.dtype == DType::kInvalid) return ErrorAt(type, FormatText("unknown dtype '{}'", dtype));
    TVMVM_CHECK_OK(ParseNumbers(&constant.dims));
    TVMVM_CHECK_OK(ParseConstantData(&constant));
    program_.constants.push_back(std::move(constant));
    return {};
  }

  Status ParseConstantData(ConstantSpec* constant) {
    if (tokens_.AcceptWord("strings")) return ParseStrings(&constant->strings);
    if (tokens_.AcceptWord("in")) return ParsePlace(&constant->place);
    if (tokens_.Peek().IsWord("digest"))
      return ErrorAt(
          tokens_.Peek(),
          FormatText("constant '{}' is given by its digest, the assembler needs its bytes", constant->name));
    TVMVM_CHECK_OK(tokens_.ExpectWord("hex"));
    Token token = tokens_.Peek();
    TVMVM_TRY(std::string hex, tokens_.String("hexadecimal digits as a string"));
    std::vector<std::byte> bytes;
    if (hex.size() % 2 != 0) return ErrorAt(token, "an odd number of hexadecimal digits");
    for (size_t i = 0; i < hex.size(); i += 2) {
      unsigned value = 0;
      const char* end = hex.data() + i + 2;
      auto [rest, error] = std::from_chars(hex.data() + i, end, value, 16);
      if (error != std::errc() || rest != end) return ErrorAt(token, "no hexadecimal digits");
      bytes.push_back(static_cast<std::byte>(value));
    }
    TVMVM_TRY(Blob blob, CopyToBlob(bytes));
    constant->bytes = blob.bytes;
    program_.storage.push_back(std::move(blob.owner));
    return {};
  }

  Status ParsePlace(PanelPlace* place) {
    TVMVM_TRY(place->constant.index, tokens_.Numbered('c', "a constant"));
    TVMVM_CHECK_OK(tokens_.ExpectWord("panel"));
    TVMVM_TRY(place->panel, tokens_.Integer(0, INT64_MAX));
    TVMVM_CHECK_OK(tokens_.ExpectWord("axes"));
    return ParseNumbers(&place->numbers);
  }

  Status ParseNumbers(std::vector<int64_t>* numbers) {
    return ParseList([&]() -> Status {
      TVMVM_TRY(int64_t number, tokens_.Integer(0, INT64_MAX));
      numbers->push_back(number);
      return {};
    });
  }

  Status ParsePlan() {
    PlanSpec plan;
    TVMVM_CHECK_OK(ParseNumber('p', program_.plans.size()));
    TVMVM_CHECK_OK(ParseList([&]() -> Status {
      TVMVM_TRY(int64_t first, tokens_.Integer(0, UINT32_MAX));
      TVMVM_CHECK_OK(tokens_.Expect(".."));
      TVMVM_TRY(int64_t last, tokens_.Integer(0, UINT32_MAX));
      TVMVM_CHECK_OK(tokens_.ExpectWord("align"));
      TVMVM_TRY(int64_t alignment, tokens_.Integer(0, UINT32_MAX));
      plan.values.push_back(
          {static_cast<uint32_t>(first), static_cast<uint32_t>(last), static_cast<uint32_t>(alignment)});
      return {};
    }));
    program_.plans.push_back(std::move(plan));
    return {};
  }

  Status ParseParameters(std::vector<ParameterSpec>* parameters) {
    TVMVM_CHECK_OK(tokens_.Expect("("));
    for (bool first = true; !tokens_.Accept(")"); first = false) {
      if (!first) TVMVM_CHECK_OK(tokens_.Expect(","));
      TVMVM_TRY(std::string name, tokens_.String("a parameter's name as a string"));
      TVMVM_CHECK_OK(tokens_.Expect(":"));
      TVMVM_TRY(TypeSpec type, ParseType(&tokens_));
      parameters->push_back({std::move(name), std::move(type)});
    }
    return {};
  }

  Expected<uint32_t> ParseCount() {
    TVMVM_TRY(int64_t count, tokens_.Integer(0, UINT32_MAX));
    return static_cast<uint32_t>(count);
  }

  Status ParseNumbers(std::vector<uint32_t>* numbers) {
    return ParseList([&]() -> Status {
      TVMVM_TRY(uint32_t number, ParseCount());
      numbers->push_back(number);
      return {};
    });
  }

  Status ParseFunction() {
    FunctionSpec function;
    TVMVM_CHECK_OK(tokens_.Expect("@"));
    TVMVM_TRY(function.name, tokens_.Name("the function's name"));
    TVMVM_CHECK_OK(ParseParameters(&function.inputs));
    TVMVM_CHECK_OK(tokens_.Expect("->"));
    TVMVM_CHECK_OK(ParseParameters(&function.outputs));
    if (tokens_.AcceptWord("scalars")) {
      TVMVM_TRY(function.scalar_inputs, ParseCount());
      TVMVM_CHECK_OK(tokens_.Expect("->"));
      TVMVM_TRY(function.scalar_outputs, ParseCount());
    }
    TVMVM_CHECK_OK(tokens_.ExpectWord("frame"));
    TVMVM_TRY(function.scalar_registers, ParseCount());
    TVMVM_CHECK_OK(tokens_.Expect(","));
    TVMVM_TRY(function.ref_registers, ParseCount());
    if (tokens_.Accept(",")) {
      TVMVM_TRY(function.slots, ParseCount());
    }
    if (tokens_.AcceptWord("device")) {
      TVMVM_CHECK_OK(ParseNumbers(&function.device_inputs));
      TVMVM_CHECK_OK(tokens_.Expect("->"));
      TVMVM_CHECK_OK(ParseNumbers(&function.device_outputs));
    }
    program_.functions.push_back(std::move(function));
    return ParseBody(&state_, static_cast<uint32_t>(program_.functions.size() - 1));
  }

  Status ResolveNames() {
    std::unordered_map<std::string_view, uint32_t> functions;
    std::unordered_map<std::string_view, uint32_t> kernels;
    for (uint32_t i = 0; i < program_.functions.size(); ++i)
      functions.try_emplace(program_.functions[i].name, i);
    for (uint32_t i = 0; i < program_.kernels.size(); ++i) kernels.try_emplace(program_.kernels[i].name, i);
    for (const PendingName& use : state_.pending) {
      const auto& known = use.kind == OperandKind::kFunction ? functions : kernels;
      auto found = known.find(use.name.text);
      if (found == known.end())
        return ErrorAt(use.name,
                       FormatText("unknown {} {}", OperandKindName(use.kind), Quoted(use.name.text)));
      program_.functions[use.function].code[use.word] = found->second;
    }
    if (!entry_) return ErrorAt(tokens_.Peek(), "no entry function is named");
    auto find = [&](const Token& name) -> Expected<FunctionId> {
      auto found = functions.find(name.text);
      if (found == functions.end())
        return ErrorAt(name, FormatText("unknown function {}", Quoted(name.text)));
      return FunctionId{found->second};
    };
    TVMVM_TRY(program_.entry, find(*entry_));
    for (PendingEntry& entry : device_entries_) {
      TVMVM_TRY(FunctionId function, find(entry.name));
      program_.device_entries.push_back({function, std::move(entry.devices)});
    }
    return {};
  }

  ParseState state_;
  TokenStream& tokens_ = state_.tokens;
  Program& program_ = state_.program;
  std::optional<Token> entry_;
  std::vector<PendingEntry> device_entries_;
};

}  // namespace

StringId ParseState::Intern(const std::string& text) {
  auto [entry, is_new] = string_ids.try_emplace(text, static_cast<uint32_t>(program.strings.size()));
  if (is_new) program.strings.push_back(text);
  return {entry->second};
}

Expected<Program> ParseProgram(std::string_view text) {
  TVMVM_TRY(std::vector<Token> tokens, Tokenize(text));
  return ProgramParser(std::move(tokens)).Parse();
}

}  // namespace tvmvm::text
