// Functions of one loop each as text, written by hand or made at random.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tvmvm {

inline constexpr int64_t kWidth = 24;

// func @main(x: [m, 24], a, b, c: [24], stop: i64[m]) with one loop over m; `body` ends with its yield.
inline std::string LoopOf(const std::string& body, const std::string& types, const std::string& attributes,
                          const std::string& outputs) {
  return "symbol m: [0, inf] input\nsymbol i: [0, inf]\nsymbol q: [-inf, inf]\nsymbol s: [-inf, inf]\n"
         "symbol last: [-inf, inf]\nsymbol steps: [0, inf]\nfunc @main {\n"
         "  input \"x\" = %0: tensor<f32,[m,24]>\n  input \"a\" = %1: tensor<f32,[24]>\n"
         "  input \"b\" = %2: tensor<f32,[24]>\n  input \"c\" = %3: tensor<f32,[24]>\n"
         "  input \"stop\" = %4: tensor<i64,[m]>\n  " +
         types + " = loop(%1, %2, %3) {" + attributes +
         "} (%5: tensor<f32,[24]>, %6: tensor<f32,[24]>, %7: tensor<f32,[24]>) {\n" + body + "  }\n" +
         outputs + "}\n";
}

inline constexpr std::string_view kCounted =
    "continue = dim(1), count = \"\", finals = strings[], index = \"i\", initial = dims[], next = dims[], "
    "start = dim(1), symbols = strings[], trip = dim(m)";
// Ends where the sum of `stop` passes 9, counts its steps.
inline constexpr std::string_view kDeciding =
    "continue = dim(le(s+q, 9)), count = \"steps\", finals = strings[\"last\"], index = \"i\", initial = "
    "dims[2], "
    "next = dims[s+q], start = dim(1), symbols = strings[\"s\"], trip = dim(m)";

// A random body: element by element, a reduction, a branch, a slice of the scanned input; results in any
// order, the carried values themselves included.
inline std::string RandomLoop(std::mt19937& random) {
  auto below = [&](size_t n) { return random() % n; };
  bool decides = below(2) == 0;
  std::string body;
  int next = 40;
  std::vector<std::string> values = {"%5", "%6", "%7", "%3"};
  auto pick = [&] { return values[below(values.size())]; };
  auto define = [&](const std::string& text) {
    std::string name = fmt::format("%{}", next++);
    body += fmt::format("    {}: tensor<f32,[24]> = {}\n", name, text);
    values.push_back(name);
  };
  body +=
      "    %10: tensor<f32,[1,24]> = slice(%0) {dims = dims[1, 24], starts = dims[i, 0], steps = dims[1, "
      "1]}\n";
  body += "    %11: tensor<f32,[24]> = reshape(%10) {dims = dims[24]}\n";
  values.push_back("%11");
  if (decides) {
    body += "    %12: tensor<i64,[1]> = slice(%4) {dims = dims[1], starts = dims[i], steps = dims[1]}\n";
    body += "    define_dims(%12) {symbols = strings[\"q\"]}\n";
  }
  for (size_t count = 1 + below(6); count > 0; --count) {
    switch (below(8)) {
      case 0:
        define(fmt::format("add({}, {})", pick(), pick()));
        break;
      case 1:
        define(fmt::format("mul({}, {})", pick(), pick()));
        break;
      case 2:
        define(fmt::format("tanh({})", pick()));
        break;
      case 3: {
        int sum = next++;
        body += fmt::format("    %{}: tensor<f32,[1]> = reduce({}) {{flags = dims[1], kind = \"max\"}}\n",
                            sum, pick());
        define(fmt::format("sub({}, %{})", pick(), sum));
        break;
      }
      case 4:
        define(fmt::format("slice({}) {{dims = dims[24], starts = dims[23], steps = dims[-1]}}", pick()));
        break;
      case 5: {
        int product = next++;
        body += fmt::format(
            "    %{}: tensor<f32,[]> = contract({}, {}) {{dtype = f32, lhs_batch = [], lhs_contract = [0], "
            "rhs_batch "
            "= [], rhs_contract = [0]}}\n",
            product, pick(), pick());
        define(fmt::format("add({}, %{})", pick(), product));
        break;
      }
      case 6: {
        int at = next;
        next += 3;
        body += fmt::format(
            "    %{0}: tensor<i64,[1]> = slice(%4) {{dims = dims[1], starts = dims[i], steps = dims[1]}}\n"
            "    %{1}: tensor<i64,[1,1]> = reshape(%{0}) {{dims = dims[1, 1]}}\n"
            "    %{2}: tensor<f32,[1]> = slice({3}) {{dims = dims[1], starts = dims[5], steps = dims[1]}}\n",
            at, at + 1, at + 2, pick());
        define(fmt::format("scatter_nd({}, %{}, %{}) {{reduction = \"none\"}}", pick(), at + 1, at + 2));
        break;
      }
      default: {
        int then = next++, otherwise = next++;
        std::string from = pick(), to = pick();
        define(fmt::format(
            "if() {{condition = dim(lt(mod(i, 3), 2)), else_values = dims[], symbols = strings[], "
            "then_values = "
            "dims[]}} () {{\n      %{0}: tensor<f32,[24]> = neg({2})\n      yield %{0}\n    }} () {{\n      "
            "%{1}: tensor<f32,[24]> = mul({2}, {3})\n      yield {4}\n    }}",
            then, otherwise, from, to, below(2) == 0 ? fmt::format("%{}", otherwise) : to));
      }
    }
  }
  body += fmt::format("    yield {}, {}, {}, {}, {}\n", pick(), pick(), pick(), pick(), pick());
  std::string dims = decides ? "steps" : "m";
  std::string types = fmt::format(
      "%14: tensor<f32,[24]>, %15: tensor<f32,[24]>, %16: tensor<f32,[24]>, %17: tensor<f32,[{0},24]>, %18: "
      "tensor<f32,[{0},24]>",
      dims);
  std::string outputs =
      "  output \"a\" = %14\n  output \"b\" = %15\n  output \"c\" = %16\n  output \"y\" = %17\n  output "
      "\"z\" = %18\n";
  return LoopOf(body, types, std::string(decides ? kDeciding : kCounted), outputs);
}

// The same text with a width that is known only at run time.
inline std::string WithSymbolicWidth(std::string text) {
  for (auto [from, to] : {std::pair<std::string, std::string>{"24", "w"}, {"23", "w-1"}})
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
      text.replace(at, from.size(), to);
  return "symbol w: [1, inf] input\n" + text;
}

}  // namespace tvmvm
