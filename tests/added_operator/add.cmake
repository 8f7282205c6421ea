# What a user writes who adds elementwise operators: a core operator (core_function.txt, core_row.txt), an operator of ONNX
# models that is made of core operators (onnx_function.txt, onnx_row.txt), and a line of operator_forms.txt (form.txt).
# Copies the files that these belong into from SOURCE to OUT, with the lines in their places.

include(${CMAKE_CURRENT_LIST_DIR}/../add_lines.cmake)

file(COPY ${SOURCE}/compiler/graph/core/core_elementwise.cc ${SOURCE}/compiler/onnx/ops/math/onnx_elementwise.cc
          ${SOURCE}/tests/conformance/operator_forms.txt DESTINATION ${OUT})
set(core_rows "constexpr CoreOp kRows[] = {")
add_lines(${OUT}/core_elementwise.cc "${core_rows}" ${CMAKE_CURRENT_LIST_DIR}/core_function.txt)
add_lines(${OUT}/core_elementwise.cc "    BinaryRow<ExprOp::kAdd>(\"add\", \"a + b\", kCheap)," ${CMAKE_CURRENT_LIST_DIR}/core_row.txt)
set(onnx_rows "constexpr OnnxOp kRows[] = {")
add_lines(${OUT}/onnx_elementwise.cc "${onnx_rows}" ${CMAKE_CURRENT_LIST_DIR}/onnx_function.txt)
add_lines(${OUT}/onnx_elementwise.cc "    UnaryRow<ExprOp::kAbs>(\"Abs\", 1, kNumbers)," ${CMAKE_CURRENT_LIST_DIR}/onnx_row.txt)
add_lines(${OUT}/operator_forms.txt "" ${CMAKE_CURRENT_LIST_DIR}/form.txt)
