// A test_data_set folder of the ONNX backend's layout: input_0.pb, input_1.pb, ..., output_0.pb, ...
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tvm-vm/program.h"
#include "tvm-vm/value.h"

namespace tvmvm::cli {

// A folder with input_0.pb or output_0.pb.
bool IsDataSet(const std::string& path);
// STEM_0.pb, STEM_1.pb, ... as far as they go.
std::vector<std::string> DataSetFiles(const std::string& folder, std::string_view stem);
// Values of a data set's files, one for each parameter: matched by name where the files' names are the
// parameters', else by position. Parameters without a file get nothing. Errors name the file.
Expected<std::vector<std::optional<Value>>> ReadDataSet(const std::vector<ParameterSpec>& parameters,
                                                        const std::string& folder, std::string_view stem);

}  // namespace tvmvm::cli
