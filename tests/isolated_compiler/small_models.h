// Models of this folder's tests, and what is left behind when a call is over.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "tests/compiler/onnx/importer/onnx_writer.h"

namespace tvmvm {

// `count` times Softmax and Transpose in turn, each a kernel of its own.
inline std::string ChainModel(int count) {
  ir::GraphText graph;
  graph.inputs = {ir::ValueMessage("v0", ir::kOnnxFloat, {"n", int64_t{16}})};
  for (int i = 0; i < count; ++i)
    graph.nodes.push_back(
        {i % 2 ? "Softmax" : "Transpose", {fmt::format("v{}", i)}, {fmt::format("v{}", i + 1)}});
  graph.outputs = {ir::ValueMessage(fmt::format("v{}", count), ir::kOnnxFloat, {"a", "b"})};
  return ir::ModelMessage(graph, 20);
}

// A product with `width` x `width` constant weights.
inline std::string ProductModel(int64_t width) {
  ir::GraphText graph;
  graph.inputs = {ir::ValueMessage("x", ir::kOnnxFloat, {"n", width})};
  graph.nodes = {{"MatMul", {"x", "w"}, {"y"}}};
  graph.outputs = {ir::ValueMessage("y", ir::kOnnxFloat, {"n", width})};
  graph.initializers = {
      ir::TensorMessage("w", ir::kOnnxFloat, {width, width},
                        ir::RawBytes(std::vector<float>(static_cast<size_t>(width * width), 0.5f)))};
  return ir::ModelMessage(graph, 20);
}

inline int64_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

inline bool HasChildren() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

// Whatever happens while one lives, no file stays open and no process is left.
class NothingLeft {
 public:
  NothingLeft() : files_(OpenFiles()) {}
  ~NothingLeft() {
    EXPECT_EQ(OpenFiles(), files_);
    EXPECT_FALSE(HasChildren());
  }

 private:
  const int64_t files_;
};

}  // namespace tvmvm
