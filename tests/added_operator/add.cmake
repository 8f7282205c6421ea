# What a user writes who adds elementwise operators: a core operator (core_function.txt, core_row.txt), an operator of ONNX
# models that is made of core operators (onnx_function.txt, onnx_row.txt), and a line of operator_forms.txt (form.txt).
# Copies the files that these belong into from SOURCE to OUT, with the lines in their places.

# `added` is a file beside this one; its lines go in front of the line `before`, or behind the end where that is "".
function(add_lines path before added)
  file(READ "${path}" text)
  file(READ "${CMAKE_CURRENT_LIST_DIR}/${added}" lines)
  string(LENGTH "${text}" at)
  if(before)
    string(FIND "${text}" "\n${before}\n" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "${path} has no line '${before}'")
    endif()
    math(EXPR at "${at} + 1")
  endif()
  string(SUBSTRING "${text}" 0 ${at} head)
  string(SUBSTRING "${text}" ${at} -1 tail)
  file(WRITE "${path}" "${head}${lines}${tail}")
endfunction()

file(COPY ${SOURCE}/compiler/graph/core/core_elementwise.cc ${SOURCE}/compiler/onnx/ops/math/onnx_elementwise.cc
          ${SOURCE}/tests/conformance/operator_forms.txt DESTINATION ${OUT})
set(core_rows "constexpr CoreOp kRows[] = {")
add_lines(${OUT}/core_elementwise.cc "${core_rows}" core_function.txt)
add_lines(${OUT}/core_elementwise.cc "    BinaryRow<ExprOp::kAdd>(\"add\", \"a + b\", kCheap)," core_row.txt)
set(onnx_rows "constexpr OnnxOp kRows[] = {")
add_lines(${OUT}/onnx_elementwise.cc "${onnx_rows}" onnx_function.txt)
add_lines(${OUT}/onnx_elementwise.cc "    UnaryRow<ExprOp::kAbs>(\"Abs\", 1, kNumbers)," onnx_row.txt)
add_lines(${OUT}/operator_forms.txt "" form.txt)
