// One test of the ONNX backend's layout: a folder with model.onnx and test_data_set_K/{input,output}_I.pb.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace tvmvm::cli {

enum class Outcome : char { kPass = 'p', kFail = 'f', kSkip = 's', kError = 'e' };
const char* OutcomeName(Outcome outcome);

struct TestResult {
  Outcome outcome = Outcome::kError;
  std::string detail;  // why it did not pass; of one that did, what ran where
};

// True for a folder that is itself a test.
bool IsTestFolder(const std::string& path);
// The tests among `folders`, and in folders that hold tests, those; in the order given, subfolders sorted by
// name. Errors: kNotFound naming a folder that does not exist, or holds
// no test.
Expected<std::vector<std::string>> FindTestFolders(const std::vector<std::string>& folders);

// Compiles the model and runs every data set in this process. A model without data is skipped.
TestResult RunTestFolder(const std::string& folder, const TestArguments& arguments);

}  // namespace tvmvm::cli
