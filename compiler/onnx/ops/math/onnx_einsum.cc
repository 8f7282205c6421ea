// Einsum: each operand loses its repeated and unshared labels, then operands are contracted from left to
// right.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

// Labels are letters; the axes of an ellipsis get the labels 0, 1, ... counted from the last one.
using Labels = std::string;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

struct Term {
  ValueId value;
  Labels labels;
};

bool Contains(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

std::vector<std::string> SplitTerms(const std::string& text) {
  std::vector<std::string> terms(1);
  for (char c : text) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  return terms;
}

// Replaces "..." by `axes` labels; false where the term holds anything but letters beside it.
bool ExpandTerm(const std::string& term, int axes, Labels* labels) {
  size_t dots = term.find("...");
  std::string letters = term;
  Labels ellipsis;
  if (dots != std::string::npos) {
    letters.erase(dots, 3);
    for (int i = axes - 1; i >= 0; --i) ellipsis += static_cast<char>('0' + i);
  }
  for (char c : letters) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) return false;
  }
  *labels = dots == std::string::npos ? letters : letters.substr(0, dots) + ellipsis + letters.substr(dots);
  return true;
}

// The labels that occur once, in alphabetical order, behind those of the ellipsis.
Labels ImplicitResult(const std::vector<Labels>& operands, int ellipsis) {
  Labels all;
  for (const Labels& operand : operands) all += operand;
  Labels result;
  for (int i = ellipsis - 1; i >= 0; --i) result += static_cast<char>('0' + i);
  std::sort(all.begin(), all.end());
  for (char label : all) {
    bool letter = std::isalpha(static_cast<unsigned char>(label)) != 0;
    if (letter && std::count(all.begin(), all.end(), label) == 1) result += label;
  }
  return result;
}

std::optional<Equation> Parse(OnnxContext& c) {
  std::string text = c.Text("equation", "");
  auto refuse = [&](std::string_view reason) {
    c.b.Fail(Code::kInvalidArgument, fmt::format("the equation '{}' {}", text, reason));
    return std::nullopt;
  };
  std::string packed;
  for (char ch : text) {
    if (ch != ' ') packed += ch;
  }
  size_t arrow = packed.find("->");
  std::vector<std::string> terms = SplitTerms(packed.substr(0, arrow));
  if (terms.size() != c.inputs.size())
    return refuse(fmt::format("has {} terms for {} inputs", terms.size(), c.inputs.size()));
  Equation equation;
  int widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!c.has(i)) return refuse("lacks an input");
    bool dots = terms[i].find("...") != std::string::npos;
    int axes = dots ? c.b.rank(c.in(i)) - static_cast<int>(terms[i].size()) + 3 : 0;
    Labels labels;
    if (axes < 0 || axes > 9 || !ExpandTerm(terms[i], axes, &labels)) return refuse("has a malformed term");
    if (static_cast<int>(labels.size()) != c.b.rank(c.in(i)))
      return refuse(fmt::format("names {} axes of the input {}, which has rank {}", labels.size(), i,
                                c.b.rank(c.in(i))));
    equation.operands.push_back(labels);
    widest = std::max(widest, axes);
  }
  if (arrow == std::string::npos) {
    equation.result = ImplicitResult(equation.operands, widest);
  } else if (!ExpandTerm(packed.substr(arrow + 2), widest, &equation.result)) {
    return refuse("has a malformed result");
  }
  for (char label : equation.result) {
    bool known = std::any_of(equation.operands.begin(), equation.operands.end(),
                             [label](const Labels& operand) { return Contains(operand, label); });
    if (!known || std::count(equation.result.begin(), equation.result.end(), label) != 1)
      return refuse(fmt::format("has the label '{}' in its result, which no input has, or twice", label));
  }
  return equation;
}

// Takes the diagonal of axes with one label.
void TakeDiagonals(OpBuilder& b, Term* term) {
  for (size_t i = 0; i < term->labels.size(); ++i) {
    size_t twin = term->labels.find(term->labels[i], i + 1);
    if (twin == Labels::npos) continue;
    Dims plane(term->labels.size(), Dim(1));
    plane[i] = b.dim(term->value, static_cast<int>(i));
    plane[twin] = b.dim(term->value, static_cast<int>(twin));
    ValueId same = b.Binary(ExprOp::kEqual, b.Iota(DType::kI64, plane, static_cast<int>(i)),
                            b.Iota(DType::kI64, plane, static_cast<int>(twin)));
    ValueId masked = b.Where(same, term->value, b.Scalar(b.dtype(term->value), 0));
    auto axis = static_cast<int64_t>(twin);
    term->value = b.Squeeze(b.Reduce(ReduceKind::kSum, masked, {axis}), {axis});
    term->labels.erase(twin, 1);
    --i;
  }
}

// Sums over labels that nothing else has.
void SumUnshared(OpBuilder& b, Term* term, const Labels& others) {
  std::vector<int64_t> axes;
  Labels kept;
  for (size_t i = 0; i < term->labels.size(); ++i) {
    if (Contains(others, term->labels[i])) {
      kept += term->labels[i];
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (axes.empty()) return;
  term->value = b.Squeeze(b.Reduce(ReduceKind::kSum, term->value, axes), axes);
  term->labels = kept;
}

// An axis of size 1 is broadcast against one of another size: it goes, and comes from the other operand.
void DropBroadcastAxes(OpBuilder& b, Term* term, const Term& other) {
  for (size_t i = term->labels.size(); i-- > 0;) {
    size_t twin = other.labels.find(term->labels[i]);
    if (twin == Labels::npos || !b.dim(term->value, static_cast<int>(i)).IsConstant(1)) continue;
    if (b.dim(other.value, static_cast<int>(twin)).IsConstant(1)) continue;
    term->value = b.Squeeze(term->value, {static_cast<int64_t>(i)});
    term->labels.erase(i, 1);
  }
}

Term ContractTerms(OpBuilder& b, Term left, Term right, const Labels& later) {
  DropBroadcastAxes(b, &left, right);
  DropBroadcastAxes(b, &right, left);
  std::vector<int64_t> left_batch, right_batch, left_contract, right_contract;
  Labels result;
  for (size_t i = 0; i < left.labels.size(); ++i) {
    size_t twin = right.labels.find(left.labels[i]);
    if (twin == Labels::npos) continue;
    bool kept = Contains(later, left.labels[i]);
    (kept ? left_batch : left_contract).push_back(static_cast<int64_t>(i));
    (kept ? right_batch : right_contract).push_back(static_cast<int64_t>(twin));
    if (kept) result += left.labels[i];
  }
  for (char label : left.labels) {
    if (!Contains(right.labels, label)) result += label;
  }
  for (char label : right.labels) {
    if (!Contains(left.labels, label)) result += label;
  }
  return {b.Contract(left.value, right.value, left_batch, right_batch, left_contract, right_contract),
          result};
}

void Einsum(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto equation = Parse(c);
  if (!equation.has_value()) return;
  std::vector<Term> terms;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    terms.push_back({c.in(i), equation->operands[i]});
    TakeDiagonals(b, &terms.back());
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    Labels others = equation->result;
    for (size_t k = 0; k < terms.size(); ++k) {
      if (k != i) others += terms[k].labels;
    }
    SumUnshared(b, &terms[i], others);
  }
  Term product = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels later = equation->result;
    for (size_t k = i + 1; k < terms.size(); ++k) later += terms[k].labels;
    product = ContractTerms(b, product, terms[i], later);
  }
  if (b.failed()) return;
  SumUnshared(b, &product, equation->result);
  std::vector<int64_t> perm;
  for (char label : equation->result) perm.push_back(static_cast<int64_t>(product.labels.find(label)));
  c.Out(0, b.Transpose(product.value, perm));
}

constexpr OnnxOp kRows[] = {
    {"", "Einsum", 12, kLatest, 1, -1, "equation", Einsum, kNumbers},
};

}  // namespace

std::span<const OnnxOp> OnnxEinsumRows() { return kRows; }

}  // namespace tvmvm::ir
