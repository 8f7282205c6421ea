#include "bytecode/format_text.h"
#include "bytecode/text/parser.h"

namespace tvmvm::text {
namespace {

class BodyParser {
 public:
  BodyParser(ParseState* state, uint32_t function)
      : state_(*state),
        tokens_(state->tokens),
        index_(function),
        function_(state->program.functions[function]) {}

  Status Parse() {
    TVMVM_CHECK_OK(tokens_.Expect("{"));
    while (!tokens_.Accept("}")) TVMVM_CHECK_OK(ParseStatement());
    for (const Jump& jump : jumps_) {
      auto label = labels_.find(jump.label.text);
      if (label == labels_.end())
        return ErrorAt(jump.label, FormatText("unknown label '{}'", jump.label.text));
      function_.code[jump.word] = label->second;
    }
    return {};
  }

 private:
  struct Jump {
    uint32_t word;  // of the operand
    Token label;
  };
  // A register or a list of registers in front of '='.
  struct Destination {
    Token start;
    bool is_list = false;
    char file = 0;  // 'i', 'r', 's'; 0 for an empty list
    std::vector<uint32_t> registers;
  };

  uint32_t Here() const { return static_cast<uint32_t>(function_.code.size()); }

  Status ParseStatement() {
    if (tokens_.Peek().kind == TokenKind::kWord && tokens_.Peek(1).Is(":")) return ParseLabel();
    if (tokens_.AcceptWord("node")) return ParseNode();
    return ParseInstruction();
  }

  Status ParseLabel() {
    Token name = tokens_.Take();
    tokens_.Take();
    if (!labels_.try_emplace(name.text, Here()).second)
      return ErrorAt(name, FormatText("label '{}' is there twice", name.text));
    return {};
  }

  Status ParseNode() {
    TVMVM_TRY(std::string node, tokens_.String("the source node's name as a string"));
    function_.lines.push_back({Here(), state_.Intern(node)});
    return {};
  }

  Status ParseInstruction() {
    destinations_.clear();
    const Token& first = tokens_.Peek();
    if (first.Is("[") || NumberBehind('i', first) || NumberBehind('r', first) || NumberBehind('s', first))
      TVMVM_CHECK_OK(ParseDestinations());
    Token mnemonic = tokens_.Peek();
    TVMVM_TRY(std::string name, tokens_.Word("an instruction"));
    std::optional<Opcode> opcode = OpcodeFromMnemonic(name);
    if (!opcode) return ErrorAt(mnemonic, FormatText("unknown instruction '{}'", name));

    std::vector<Operand> operands;
    std::vector<std::pair<size_t, Token>> names;  // operand, name of a label, function or kernel
    TVMVM_CHECK_OK(ParseOperands(InfoOf(*opcode), mnemonic, &operands, &names));
    std::vector<uint32_t> words;
    if (Status encoded = EncodeInstruction(*opcode, operands, &function_.code, &words); !encoded)
      return ErrorAt(mnemonic, encoded.error().message);
    for (auto& [operand, token] : names) {
      if (operands[operand].kind == OperandKind::kTarget)
        jumps_.push_back({words[operand], token});
      else
        state_.pending.push_back({operands[operand].kind, index_, words[operand], token});
    }
    return {};
  }

  Status ParseDestinations() {
    do {
      Destination destination{.start = tokens_.Peek()};
      destination.is_list = tokens_.Peek().Is("[");
      if (!destination.is_list) {
        TVMVM_CHECK_OK(ParseDestinationRegister(&destination));
      } else if (tokens_.Take(); !tokens_.Accept("]")) {
        do {
          TVMVM_CHECK_OK(ParseDestinationRegister(&destination));
        } while (tokens_.Accept(","));
        TVMVM_CHECK_OK(tokens_.Expect("]"));
      }
      destinations_.push_back(std::move(destination));
    } while (tokens_.Accept(","));
    return tokens_.Expect("=");
  }

  Status ParseDestinationRegister(Destination* destination) {
    char file = 'i';
    for (char letter : {'r', 's'})
      if (NumberBehind(letter, tokens_.Peek())) file = letter;
    if (destination->file != 0 && destination->file != file)
      return ErrorAt(tokens_.Peek(), "registers of several files in one list");
    destination->file = file;
    TVMVM_TRY(uint32_t reg, tokens_.Numbered(file, "a register"));
    destination->registers.push_back(reg);
    return {};
  }

  Status ParseOperands(const OpcodeInfo& info, const Token& mnemonic, std::vector<Operand>* operands,
                       std::vector<std::pair<size_t, Token>>* names) {
    size_t destinations = 0;
    bool first_source = true;
    for (OperandKind kind : info.operands) {
      if (IsDestination(kind)) {
        if (destinations == destinations_.size())
          return ErrorAt(mnemonic, FormatText("{} needs another {}", info.mnemonic, OperandKindName(kind)));
        TVMVM_CHECK_OK(TakeDestination(kind, destinations_[destinations++], operands));
        continue;
      }
      if (!first_source) TVMVM_CHECK_OK(tokens_.Expect(","));
      first_source = false;
      TVMVM_CHECK_OK(ParseSource(kind, operands, names));
    }
    if (destinations != destinations_.size())
      return ErrorAt(destinations_[destinations].start,
                     FormatText("{} has no such destination", info.mnemonic));
    return {};
  }

  Status TakeDestination(OperandKind kind, const Destination& destination, std::vector<Operand>* operands) {
    bool scalar = kind == OperandKind::kScalarDst || kind == OperandKind::kScalarDstList;
    char file = scalar ? 'i' : kind == OperandKind::kSlotDst ? 's' : 'r';
    if (destination.is_list != IsList(kind) || (destination.file != 0 && destination.file != file))
      return ErrorAt(destination.start, FormatText("wanted a {}", OperandKindName(kind)));
    if (IsList(kind))
      operands->emplace_back(kind, destination.registers);
    else
      operands->emplace_back(kind, destination.registers[0]);
    return {};
  }

  Status ParseSource(OperandKind kind, std::vector<Operand>* operands,
                     std::vector<std::pair<size_t, Token>>* names) {
    switch (kind) {
      case OperandKind::kScalarSrc:
        return Numbered(kind, 'i', operands);
      case OperandKind::kRefSrc:
        return Numbered(kind, 'r', operands);
      case OperandKind::kSlotSrc:
        return Numbered(kind, 's', operands);
      case OperandKind::kConstant:
        return Numbered(kind, 'c', operands);
      case OperandKind::kPlan:
        return Numbered(kind, 'p', operands);
      case OperandKind::kScalarList:
        return RegisterList(kind, 'i', operands);
      case OperandKind::kRefList:
        return RegisterList(kind, 'r', operands);
      case OperandKind::kBufferList:
        return BufferList(operands);
      case OperandKind::kImmediate:
        return Number(kind, INT64_MIN, INT64_MAX, operands);
      case OperandKind::kIndex:
        return Number(kind, 0, UINT32_MAX, operands);
      case OperandKind::kString: {
        TVMVM_TRY(std::string text, tokens_.String("a string"));
        operands->emplace_back(kind, state_.Intern(text).index);
        return {};
      }
      case OperandKind::kDType: {
        Token token = tokens_.Peek();
        TVMVM_TRY(std::string name, tokens_.Word("a dtype"));
        std::optional<DType> dtype = DTypeFromName(name);
        if (!dtype) return ErrorAt(token, FormatText("unknown dtype '{}'", name));
        operands->emplace_back(kind, static_cast<int64_t>(*dtype));
        return {};
      }
      case OperandKind::kFunction:
      case OperandKind::kKernel:
        TVMVM_CHECK_OK(tokens_.Expect("@"));
        return Named(kind, operands, names);
      default:
        return Named(kind, operands, names);
    }
  }

  Status Named(OperandKind kind, std::vector<Operand>* operands,
               std::vector<std::pair<size_t, Token>>* names) {
    Token token = tokens_.Peek();
    TVMVM_TRY(std::string name, tokens_.Name(FormatText("a {}'s name", OperandKindName(kind))));
    names->emplace_back(operands->size(), token);
    operands->emplace_back(kind, 0);
    return {};
  }

  Status Numbered(OperandKind kind, char letter, std::vector<Operand>* operands) {
    TVMVM_TRY(uint32_t number,
              tokens_.Numbered(letter, FormatText("a {} such as {}0", OperandKindName(kind), letter)));
    operands->emplace_back(kind, number);
    return {};
  }

  Status Number(OperandKind kind, int64_t low, int64_t high, std::vector<Operand>* operands) {
    TVMVM_TRY(int64_t number, tokens_.Integer(low, high));
    operands->emplace_back(kind, number);
    return {};
  }

  Status RegisterList(OperandKind kind, char letter, std::vector<Operand>* operands) {
    std::vector<uint32_t> registers;
    TVMVM_CHECK_OK(tokens_.Expect("["));
    while (!tokens_.Accept("]")) {
      if (!registers.empty()) TVMVM_CHECK_OK(tokens_.Expect(","));
      TVMVM_TRY(uint32_t reg, tokens_.Numbered(letter, FormatText("a register such as {}0", letter)));
      registers.push_back(reg);
    }
    operands->emplace_back(kind, std::move(registers));
    return {};
  }

  // "[r0, c1, s2+i3]"
  Status BufferList(std::vector<Operand>* operands) {
    std::vector<uint32_t> words;
    TVMVM_CHECK_OK(tokens_.Expect("["));
    while (!tokens_.Accept("]")) {
      if (!words.empty()) TVMVM_CHECK_OK(tokens_.Expect(","));
      char letter = 'r';
      uint32_t bit = 0;
      if (NumberBehind('c', tokens_.Peek())) letter = 'c', bit = BufferOperand::kConstantBit;
      if (NumberBehind('s', tokens_.Peek())) letter = 's', bit = BufferOperand::kSlotBit;
      TVMVM_TRY(uint32_t base, tokens_.Numbered(letter, "a buffer such as r0, s0 or c0"));
      if (base >= BufferOperand::kSlotBit) return tokens_.Wanted("a smaller number of a buffer");
      words.push_back(base | bit);
      uint32_t offset = BufferOperand::kNoOffset;
      if (tokens_.Accept("+")) {
        TVMVM_TRY(offset, tokens_.Numbered('i', "an offset such as i0"));
      }
      words.push_back(offset);
    }
    operands->emplace_back(OperandKind::kBufferList, std::move(words));
    return {};
  }

  ParseState& state_;
  TokenStream& tokens_;
  uint32_t index_;
  FunctionSpec& function_;
  std::unordered_map<std::string, uint32_t> labels_;
  std::vector<Jump> jumps_;
  std::vector<Destination> destinations_;  // of the instruction being parsed
};

}  // namespace

Status ParseBody(ParseState* state, uint32_t function) { return BodyParser(state, function).Parse(); }

}  // namespace tvmvm::text
