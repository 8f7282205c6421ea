// Groups of all kinds, whose kernels have contracts.
#pragma once

#include <string>
#include <vector>

#include "tests/compiler/schedules/group_builder.h"

namespace tvmvm::tensor {

struct ContractCase {
  const char* name;
  void (*build)(GroupBuilder& b);
};

// The kernel counts through n * m elements of rows of four, and is not told n.
struct ConvolutionForm {
  int64_t stride = 1, dilation = 1, padding = 0;
};
inline void AddConvolution(GroupBuilder& b, const ir::Dims& picture, const std::vector<int64_t>& weights,
                           const ConvolutionForm& form) {
  const ir::Dims padding{form.padding, form.padding};
  b.Output(b.Add("conv", {b.Input(DType::kF32, picture), b.Constant(DType::kF32, weights)},
                 {{"strides", std::vector<int64_t>{form.stride, form.stride}},
                  {"dilations", std::vector<int64_t>{form.dilation, form.dilation}},
                  {"low", padding},
                  {"high", padding},
                  {"groups", int64_t{1}},
                  {"dtype", DType::kF32}}));
}
inline void AddParts(GroupBuilder& b) {
  ir::ValueId negated = b.Add("neg", {b.Input(DType::kF32, {N(), M()})});
  const ir::Dims fours{FloorDiv(N() * M(), 4), 4};
  b.Output(b.Add("add", {b.Add("reshape", {negated}, {{"dims", fours}}), b.Input(DType::kF32, fours)}));
}

inline const ContractCase kContractCases[] = {
    {"elementwise",
     [](GroupBuilder& b) {
       b.Output(b.Add("add", {b.Input(DType::kF32, {N(), M()}), b.Input(DType::kF32, {N(), M()})}));
     }},
    {"fixed",
     [](GroupBuilder& b) {
       b.Output(b.Add("add", {b.Input(DType::kF32, {3, 5}), b.Input(DType::kF32, {5})}));
     }},
    {"bias",
     [](GroupBuilder& b) {
       b.Output(b.Add("add", {b.Input(DType::kF32, {N(), M()}), b.Input(DType::kF32, {M()})}));
     }},
    {"outer",
     [](GroupBuilder& b) {
       b.Output(b.Add("mul", {b.Input(DType::kF32, {N(), 1, K()}), b.Input(DType::kF32, {1, M(), 1})}));
     }},
    {"transpose",
     [](GroupBuilder& b) {
       b.Output(b.Add("transpose", {b.Input(DType::kF32, {N(), M(), 4})},
                      {{"perm", std::vector<int64_t>{1, 0, 2}}}));
     }},
    {"turned",
     [](GroupBuilder& b) {
       b.Output(b.Add("transpose", {b.Input(DType::kF32, {N(), M(), K()})},
                      {{"perm", std::vector<int64_t>{2, 0, 1}}}));
     }},
    {"repeated",
     [](GroupBuilder& b) {
       b.Output(b.Add("sub", {b.Input(DType::kF32, {K(), N(), M()}), b.Input(DType::kF32, {N(), 1})}));
     }},
    {"narrow",
     [](GroupBuilder& b) {
       b.Output(b.Add("neg", {b.Input(DType::kI8, {N() * 2 + 1, 3})}));
     }},
    {"slice",
     [](GroupBuilder& b) {
       b.Output(b.Add(
           "slice", {b.Input(DType::kF32, {N() + 3, 7, M()})},
           {{"starts", ir::Dims{2, 5, 0}}, {"steps", ir::Dims{1, -2, 1}}, {"dims", ir::Dims{N(), 3, M()}}}));
     }},
    {"concat",
     [](GroupBuilder& b) {
       b.Output(
           b.Add("exp", {b.Add("concat", {b.Input(DType::kF32, {N(), M()}), b.Input(DType::kF32, {N(), K()})},
                               {{"axis", int64_t{1}}})}));
     }},
    {"reduce",
     [](GroupBuilder& b) {
       b.Output(b.Add("reduce", {b.Input(DType::kF32, {N(), M()})},
                      {{"flags", ir::Dims{1, 0}}, {"kind", std::string("sum")}}));
     }},
    {"softmax",
     [](GroupBuilder& b) {
       ir::ValueId x = b.Input(DType::kF32, {N(), M()});
       ir::ValueId most = b.Add("reduce", {x}, {{"flags", ir::Dims{0, 1}}, {"kind", std::string("max")}});
       ir::ValueId e = b.Add("exp", {b.Add("sub", {x, most})});
       ir::ValueId sum = b.Add("reduce", {e}, {{"flags", ir::Dims{0, 1}}, {"kind", std::string("sum")}});
       b.Output(b.Add("div", {e, sum}));
     }},
    {"product",
     [](GroupBuilder& b) {
       b.Output(b.Add("contract", {b.Input(DType::kF32, {N(), K()}), b.Input(DType::kF32, {K(), M()})},
                      {{"lhs_batch", std::vector<int64_t>{}},
                       {"lhs_contract", std::vector<int64_t>{1}},
                       {"rhs_batch", std::vector<int64_t>{}},
                       {"rhs_contract", std::vector<int64_t>{0}},
                       {"dtype", DType::kF32}}));
     }},
    {"product_of_constant",
     [](GroupBuilder& b) {
       b.Output(b.Add("contract", {b.Input(DType::kF32, {N(), 24}), b.Constant(DType::kF32, {24, 40})},
                      {{"lhs_batch", std::vector<int64_t>{}},
                       {"lhs_contract", std::vector<int64_t>{1}},
                       {"rhs_batch", std::vector<int64_t>{}},
                       {"rhs_contract", std::vector<int64_t>{0}},
                       {"dtype", DType::kF32}}));
     }},
    {"gather",
     [](GroupBuilder& b) {
       b.Output(b.Add("gather", {b.Input(DType::kF32, {N(), M()}), b.Input(DType::kI64, {K()})},
                      {{"axis", int64_t{0}}}));
     }},
    {"gather_inside",
     [](GroupBuilder& b) {
       b.Output(b.Add("gather_elements", {b.Input(DType::kF32, {N(), M()}), b.Input(DType::kI64, {N(), K()})},
                      {{"axis", int64_t{1}}, {"inside", int64_t{1}}}));
     }},
    {"slice_anywhere",
     [](GroupBuilder& b) {
       b.Output(b.Add(
           "slice", {b.Input(DType::kF32, {N() + 3, M()})},
           {{"starts", ir::Dims{Min(K(), N()), 0}}, {"steps", ir::Dims{1, 1}}, {"dims", ir::Dims{1, M()}}}));
     }},
    {"parts", AddParts},
    {"strided_convolution",
     [](GroupBuilder& b) {
       const ir::Dims picture{1, 2, N(), M()};
       b.Output(b.Add("conv",
                      {b.Add("neg", {b.Input(DType::kF32, picture)}), b.Constant(DType::kF32, {2, 2, 3, 3})},
                      {{"strides", std::vector<int64_t>{2, 2}},
                       {"dilations", std::vector<int64_t>{1, 1}},
                       {"low", ir::Dims{1, 1}},
                       {"high", ir::Dims{1, 1}},
                       {"groups", int64_t{1}},
                       {"dtype", DType::kF32}}));
     }},
    {"convolution_in_large_steps",
     [](GroupBuilder& b) {
       AddConvolution(b, {1, 2, N() + 5, M() + 5}, {3, 2, 5, 5}, {.stride = 5});
     }},
    {"convolution_of_runs",
     [](GroupBuilder& b) {
       AddConvolution(b, {1, 2, N() + 7, M() + 7}, {3, 2, 9, 8}, {.stride = 6, .padding = 2});
     }},
    {"convolution_of_far_taps",
     [](GroupBuilder& b) {
       AddConvolution(b, {1, 8, N(), M()}, {3, 8, 3, 3}, {.dilation = 5, .padding = 5});
     }},
    {"convolution_of_far_taps_and_many_channels",
     [](GroupBuilder& b) {
       AddConvolution(b, {1, 32, N(), M()}, {32, 32, 1, 2}, {.dilation = 5, .padding = 3});
     }},
    {"scan",
     [](GroupBuilder& b) {
       b.Output(b.Add("scan", {b.Input(DType::kF32, {N(), M()})},
                      {{"axis", int64_t{0}}, {"kind", std::string("sum")}, {"exclusive", int64_t{1}}}));
     }},
    {"compact",
     [](GroupBuilder& b) {
       b.Output(b.Add("compact", {b.Input(DType::kBool, {N()})}, {{"count", K()}}));
     }},
    {"determinant",
     [](GroupBuilder& b) {
       b.Output(b.Add("determinant", {b.Input(DType::kF32, {N(), M(), M()})}));
     }},
    {"inverse",
     [](GroupBuilder& b) {
       b.Output(b.Add("inverse", {b.Input(DType::kF32, {N(), M(), M()})}));
     }},
    {"other_sizes",
     [](GroupBuilder& b) {
       b.Output(b.Add("reshape", {b.Add("neg", {b.Input(DType::kF32, {N(), M()})})},
                      {{"dims", ir::Dims{K(), 4}}}));
     }},
};

}  // namespace tvmvm::tensor
