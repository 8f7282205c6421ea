// tvm-vm-compile-runner: the process of CompileFileIsolated. It is started by the library and by nobody else:
// it reads its request, opens the compiler, gives up what a compiler does not need, compiles, and ends.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "bytecode/guarded.h"
#include "isolated_compiler/answer_stream.h"
#include "isolated_compiler/runner/confine.h"
#include "process/child_process.h"
#include "process/memory_file.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::isolated {
namespace {

Status WriteAll(int file, const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return MakeError(errno == EFBIG || errno == ENOSPC || errno == ENOMEM ? Code::kOutOfMemory : Code::kIo,
                       std::string("cannot write the program: ") + std::strerror(errno));
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return {};
}

// The parent's end is open as long as it wants an answer: its closing is a signal that ends this process.
void Say(const Answer& answer) {
  const std::string frame = Framed(answer);
  (void)WriteAll(kAnswerPipe, frame.data(), frame.size());
}

// Whoever asks for memory, in whichever thread: nothing is left for an answer.
void EndWithoutMemory() {
  (void)!write(STDERR_FILENO, kNoMemory.data(), kNoMemory.size());
  std::_Exit(1);
}

Expected<const Compiler*> OpenCompiler() {
  void* library = nullptr;
  for (const std::string& path : {OwnFolder() + TVMVM_COMPILER_LIBRARY, std::string(TVMVM_COMPILER_LIBRARY)})
    if (library == nullptr) library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return MakeError(Code::kNotFound, std::string("the compiler is not installed: ") + dlerror());
  const auto version =
      reinterpret_cast<decltype(&tvmvm_compiler_version)>(dlsym(library, "tvmvm_compiler_version"));
  const auto entry = reinterpret_cast<decltype(&tvmvm_compiler)>(dlsym(library, "tvmvm_compiler"));
  if (version == nullptr || entry == nullptr || version() != TVMVM_VERSION)
    return MakeError(Code::kUnsupported, "the compiler's library is of another version");
  return entry();
}

// Callbacks of the options say what they are told to the parent.
void Forward(CompileOptions* options) {
  if (options->progress)
    options->progress = [](const std::string& stage, double fraction) {
      Say({.kind = AnswerKind::kProgress, .text = stage, .fraction = fraction});
    };
  if (options->print)
    options->print = [](const std::string& text) {
      size_t place = 0;
      do {
        Say({.kind = AnswerKind::kPrint, .text = text.substr(place, kMostPrintedBytes)});
        place += kMostPrintedBytes;
      } while (place < text.size());
    };
}

Expected<CompileResult> Compile() {
  TVMVM_TRY(const MappedBytes file, MapToRead(kRequestFile));
  TVMVM_TRY(Request request,
            DecodeRequest({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()}));
  TVMVM_TRY(const Compiler* compiler, OpenCompiler());
  LimitMemory(request.max_bytes);
  RefuseSystemCalls();
  Forward(&request.options);
  if (!request.has_model_file) return compiler->CompileFile(request.path, request.options);
  TVMVM_TRY(const MappedBytes model, MapToRead(kModelFile));
  return compiler->CompileBytes(model.bytes, request.options);
}

Expected<CompileResult> CompileAndWrite() {
  TVMVM_TRY(CompileResult result, Compile());
  if (result.program != nullptr) {
    TVMVM_TRY(const std::vector<std::byte> program, SerializeProgram(*result.program));
    TVMVM_CHECK_OK(WriteAll(kProgramFile, program.data(), program.size()));
  }
  return result;
}

// The linker, and whoever maps a file, tell it in the system's words.
bool SaysNoMemory(const Error& error) {
  return (error.code == Code::kInternal || error.code == Code::kIo) &&
         error.message.find(std::strerror(ENOMEM)) != std::string::npos;
}

Expected<CompileResult> CompileToTheEnd() {
  try {
    auto result = CompileAndWrite();
    if (!result && SaysNoMemory(result.error())) EndWithoutMemory();
    return result;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      EndWithoutMemory();  // no stack for a thread
    return MakeError(Code::kInternal, error.what());
  }
}

void Live() {
  GiveUpRights();
  std::set_new_handler(EndWithoutMemory);
  auto result = Guarded(CompileToTheEnd);
  Answer last{.kind = AnswerKind::kError};
  if (result) {
    last.kind = AnswerKind::kResult;
    last.result = std::move(*result);
    last.result.program = nullptr;
  } else {
    last.code = result.error().code;
    last.text = std::move(result.error().message);
  }
  Say(last);
}

}  // namespace
}  // namespace tvmvm::isolated

int main() {
  tvmvm::isolated::Live();
  std::_Exit(0);  // what is left goes with the process
}
