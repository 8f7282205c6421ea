#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/files.h"
#include "cli/json.h"
#include "cli/model.h"

namespace tvmvm::cli {
Expected<int> CompileCommand(const CompileArguments& arguments) {
  auto begin = std::chrono::steady_clock::now();
  CompileOptions options = arguments.options;
  // With --json the results are one object; what the passes print becomes a remark.
  options.print = [&](const std::string& text) { arguments.json ? PrintNote(text) : PrintResult(text); };
  TVMVM_TRY(CompileResult result, CompileWithProgress(arguments.model, std::move(options)));
  if (!result.program) return kExitOk;
  TVMVM_CHECK_OK(SaveModel(*result.program, arguments.output));

  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::error_code ignored;
  uintmax_t bytes =
      IsSpecialFile(arguments.output) ? 0 : std::filesystem::file_size(arguments.output, ignored);
  if (arguments.json) {
    Json work = Json::object();
    for (const auto& [name, count] : result.work) work[name] = count;
    PrintResult(FormatJson(Json{{"output", arguments.output},
                                {"bytes", bytes},
                                {"seconds", seconds},
                                {"kernels", result.program->kernels.size()},
                                {"work", work},
                                {"warnings", result.warnings}}));
  } else {
    PrintNote(fmt::format("wrote {}: {}, {} kernels, in {:.2f} s", arguments.output,
                          FormatBytes(static_cast<double>(bytes)), result.program->kernels.size(), seconds));
  }
  return kExitOk;
}

}  // namespace tvmvm::cli
