// Pseudo-random numbers: the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998) as a tensor program, so
// that the numbers are the same on every device.
//
//   random_words() {count (dim), seed}: the first `count` words of the generator that `seed` (32 bits) starts
#include <fmt/format.h>

#include "compiler/graph/core/core_families.h"
#include "compiler/graph/core/procedural/loop_access.h"

namespace tvmvm::ir {
namespace {

using tensor::DimValue;
using tensor::ExprOp;
using tensor::IntConstant;
using tensor::Lanes;
using tensor::Variable;

constexpr int64_t kWords = 624;  // of the state
constexpr int64_t kFar = 397;    // the other word that a new one is made of

Dim CountOf(const Node& node) {
  const Attribute* attribute = node.Find("count");
  const Dim* count = attribute ? std::get_if<Dim>(attribute) : nullptr;
  return count ? *count : Dim(node.Int("count"));
}

Expected<std::vector<Type>> InferRandomWords(const InferContext& context) {
  Dim count = CountOf(context.node);
  int64_t seed = context.node.Int("seed");
  if (count.is_constant() && count.value() < 0)
    return MakeError(Code::kInvalidArgument, fmt::format("{} random numbers", count.value()));
  if (seed < 0 || seed > UINT32_MAX)
    return MakeError(Code::kInvalidArgument, fmt::format("the seed {} has more than 32 bits", seed));
  return One(DType::kU32, {count});
}

Expr Word(int64_t value) { return IntConstant(value, DType::kU32); }
Expr Right(const Expr& a, int64_t bits) { return Binary(ExprOp::kShiftRight, a, Word(bits)); }
Expr Left(const Expr& a, int64_t bits) { return Binary(ExprOp::kShiftLeft, a, Word(bits)); }
Expr Xor(const Expr& a, const Expr& b) { return Binary(ExprOp::kXor, a, b); }

class Twister {
 public:
  explicit Twister(LoopContext& context)
      : context_(context), nest_(&context.kernel()), width_(LanesOf(context.target(), DType::kU32)) {}

  tensor::StmtPtr Build() {
    state_ = nest_.Local("state", DType::kU32, tensor::Memory::kLocal, kWords);
    Seed(context_.node().Int("seed"));
    Expr count = DimValue(context_.output_type(0).dims[0]);
    Expr block = Variable(
        nest_.Open("block", IntConstant(0), FloorDiv(count + IntConstant(kWords - 1), IntConstant(kWords))));
    // Words are made in place: those behind are new ones, those ahead still old.
    Twist(0, kWords - kFar, kFar);
    Twist(kWords - kFar, kWords - 1, kFar - kWords);
    nest_.Add(tensor::Store(state_, IntConstant(kWords - 1),
                            nest_.Place(Twisted(At(kWords - 1), At(0), At(kFar - 1)))));
    Expr first = nest_.Let("first", block * IntConstant(kWords));
    tensor::ForVectors(nest_, "i", IntConstant(0), Min(IntConstant(kWords), count - first), width_, 1,
                       [&](const Expr& i, const Lanes& lanes) {
                         ForLanes(nest_, lanes, [&] {
                           Expr index[] = {first + i};
                           nest_.Add(context_.Store(0, index, nest_.Place(Tempered(At(i)))));
                         });
                       });
    return nest_.Finish();
  }

 private:
  Expr At(const Expr& i) const { return tensor::Load(state_, DType::kU32, i); }
  Expr At(int64_t i) const { return At(IntConstant(i)); }

  void Seed(int64_t seed) {
    nest_.Add(tensor::Store(state_, IntConstant(0), Word(seed)));
    Expr i = Variable(nest_.Open("i", IntConstant(1), IntConstant(kWords)));
    Expr before = nest_.Let("before", At(i - IntConstant(1)));
    Expr mixed = Xor(before, Right(before, 30)) * Word(1812433253) + tensor::Cast(DType::kU32, i);
    nest_.Add(tensor::Store(state_, i, mixed));
    nest_.Close();
  }

  // The upper bit of one word, the lower ones of the next, mixed into a third.
  static Expr Twisted(const Expr& word, const Expr& next, const Expr& far) {
    Expr joined = Binary(ExprOp::kOr, Binary(ExprOp::kAnd, word, Word(0x80000000)),
                         Binary(ExprOp::kAnd, next, Word(0x7fffffff)));
    Expr matrix = Binary(ExprOp::kAnd, next, Word(1)) * Word(0x9908b0df);
    return Xor(Xor(far, Right(joined, 1)), matrix);
  }

  void Twist(int64_t begin, int64_t end, int64_t far) {
    tensor::ForVectors(nest_, "i", IntConstant(begin), IntConstant(end), width_, 1,
                       [&](const Expr& i, const Lanes& lanes) {
                         ForLanes(nest_, lanes, [&] {
                           Expr word = Twisted(At(i), At(i + IntConstant(1)), At(i + IntConstant(far)));
                           nest_.Add(tensor::Store(state_, i, nest_.Place(word)));
                         });
                       });
  }

  static Expr Tempered(Expr word) {
    word = Xor(word, Right(word, 11));
    word = Xor(word, Binary(ExprOp::kAnd, Left(word, 7), Word(0x9d2c5680)));
    word = Xor(word, Binary(ExprOp::kAnd, Left(word, 15), Word(0xefc60000)));
    return Xor(word, Right(word, 18));
  }

  LoopContext& context_;
  tensor::Nest nest_;
  int width_;
  uint32_t state_ = 0;
};

Expected<tensor::StmtPtr> RandomWordsLoops(LoopContext& context) { return Twister(context).Build(); }

// The seed is a chain of steps; then words come in vectors.
std::vector<Work> RandomWordsWork(const WorkContext& context) {
  return {{ElementsOf(context.outputs[0]) * Dim(40) + Dim(kWords * kScalarStep), BytesOnce(context)}};
}

constexpr CoreOp kRows[] = {
    {.name = "random_words",
     .kind = OpKind::kProcedural,
     .min_inputs = 0,
     .max_inputs = 0,
     .infer = InferRandomWords,
     .loops = RandomWordsLoops,
     .work = RandomWordsWork,
     .meaning = "the first `count` words of the Mersenne Twister MT19937 that `seed` starts",
     .attributes = "seed count"},
};

}  // namespace

std::span<const CoreOp> RandomFamily() { return kRows; }

}  // namespace tvmvm::ir
