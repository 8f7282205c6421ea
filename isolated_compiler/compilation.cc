#include "isolated_compiler/compilation.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bytecode/file_descriptor.h"
#include "isolated_compiler/answer_stream.h"
#include "process/child_process.h"
#include "process/memory_file.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::isolated {
namespace {

using Clock = std::chrono::steady_clock;

// How long a process that said all, or closed its pipe, may take to be gone before it is killed.
constexpr std::chrono::milliseconds kEnding(100);
constexpr size_t kMostErrorText = 2000;  // of what it wrote to its standard error: the end

std::span<const std::byte> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Its reading end does not wait.
struct Pipe {
  FileDescriptor read, write;

  Status Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      return MakeError(Code::kUnsupported, std::string("no pipe: ") + std::strerror(errno));
    read.Take(ends[0]);
    write.Take(ends[1]);
    fcntl(read.get(), F_SETFL, O_NONBLOCK);
    return {};
  }
};

enum class Got : uint8_t { kBytes, kNothing, kEnd };

Got ReadSome(int file, std::string* text) {
  char buffer[1 << 16];
  const ssize_t size = read(file, buffer, sizeof buffer);
  if (size > 0) text->assign(buffer, static_cast<size_t>(size));
  return size > 0 ? Got::kBytes : size < 0 && (errno == EAGAIN || errno == EINTR) ? Got::kNothing : Got::kEnd;
}

// A line, whatever a process wrote.
std::string AsLine(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

class Compilation {
 public:
  Compilation(const Model& model, const CompileOptions& options, const IsolationOptions& isolation)
      : model_(model), options_(options), isolation_(isolation) {}

  Expected<CompileResult> Run() {
    if (isolation_.timeout.count() > 0 && isolation_.timeout < Clock::time_point::max() - start_)
      deadline_ = start_ + isolation_.timeout;
    TVMVM_CHECK_OK(Start());
    std::stop_callback on_cancel(isolation_.cancel, [this] { eventfd_write(cancelled_.get(), 1); });
    TVMVM_TRY(Answer last, AwaitLast());
    if (last.kind == AnswerKind::kError) return MakeError(last.code, std::move(last.text));
    TVMVM_TRY(last.result.program, TakeProgram());
    return std::move(last.result);
  }

 private:
  Status Start() {
    const std::string runner =
        isolation_.runner.empty() ? OwnFolder() + "tvm-vm-compile-runner" : isolation_.runner;
    if (access(runner.c_str(), X_OK) != 0)
      return MakeError(Code::kNotFound, "isolated compiler: there is no runner '" + runner + "'");
    cancelled_.Take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (cancelled_.get() < 0)
      return MakeError(Code::kUnsupported, std::string("no event file: ") + std::strerror(errno));
    Pipe answers, errors;
    TVMVM_CHECK_OK(answers.Open());
    TVMVM_CHECK_OK(errors.Open());
    TVMVM_TRY(const FileDescriptor request,
              SealedMemoryFile(BytesOf(Encode(Request{.has_model_file = !model_.is_file,
                                                      .path = model_.path,
                                                      .max_bytes = isolation_.max_bytes,
                                                      .options = options_}))));
    TVMVM_TRY(program_file_, CreateMemoryFile());
    std::vector<int> files{request.get(), answers.write.get(), program_file_.get()};
    FileDescriptor model_file;
    if (!model_.is_file) {
      TVMVM_TRY(model_file, SealedMemoryFile(model_.bytes));
      files.push_back(model_file.get());
    }
    static_assert(kRequestFile == 3 && kAnswerPipe == 4 && kProgramFile == 5 && kModelFile == 6);
    auto process = ChildProcess::Start(runner, files, errors.write.get());
    if (!process) return MakeError(process.error().code, "isolated compiler: " + process.error().message);
    process_ = std::move(*process);
    answers_ = std::move(answers.read);
    errors_ = std::move(errors.read);
    return {};
  }

  // The last answer of the process, which is gone then.
  Expected<Answer> AwaitLast() {
    while (true) {
      pollfd wanted[] = {{.fd = answers_.get(), .events = POLLIN},
                         {.fd = errors_.get(), .events = POLLIN},
                         {.fd = cancelled_.get(), .events = POLLIN}};
      if (const int ready = poll(wanted, std::size(wanted), MillisecondsLeft()); ready < 0 && errno != EINTR)
        return MakeError(Code::kInternal, std::string("isolated compiler: ") + std::strerror(errno));
      if (isolation_.cancel.stop_requested()) return Stopped(Code::kCancelled, "cancelled");
      if (Clock::now() >= deadline_) return Stopped(Code::kDeadlineExceeded, "the time is over");
      if (wanted[1].revents != 0) TakeErrors();
      if (wanted[0].revents == 0) continue;
      std::string bytes;
      const Got got = ReadSome(answers_.get(), &bytes);
      if (got == Got::kEnd) return Ended();
      if (got == Got::kNothing) continue;
      stream_.Add(bytes);
      TVMVM_TRY(std::optional<Answer> last, TakeAnswers());
      if (!last) continue;
      process_->AwaitEnd(kEnding);
      return std::move(*last);
    }
  }

  // Rounded up; -1: no limit.
  int MillisecondsLeft() const {
    if (deadline_ == Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
  }

  // Calls the callbacks; the last answer, if it is there.
  Expected<std::optional<Answer>> TakeAnswers() {
    while (true) {
      auto answer = stream_.Next();
      if (!answer) return Nonsense(answer.error().message);
      if (!*answer) return std::nullopt;
      switch ((*answer)->kind) {
        case AnswerKind::kProgress:
          if (options_.progress) options_.progress((*answer)->text, (*answer)->fraction);
          break;
        case AnswerKind::kPrint:
          if (options_.print) options_.print((*answer)->text);
          break;
        case AnswerKind::kResult:
        case AnswerKind::kError:
          return answer;
      }
    }
  }

  void TakeErrors() {
    std::string text;
    const Got got = ReadSome(errors_.get(), &text);
    if (got == Got::kEnd) errors_.Close();
    error_text_ += text;
    if (error_text_.size() > kMostErrorText) error_text_.erase(0, error_text_.size() - kMostErrorText);
  }

  tl::unexpected<Error> Stopped(Code code, const char* why) {
    process_->Kill();
    return Failed(code, std::string(why) + ": the compiler's process was killed");
  }

  tl::unexpected<Error> Nonsense(const std::string& what) {
    process_->Kill();
    return Failed(Code::kInternal, "the compiler's process answered nonsense and was killed: " + what);
  }

  // Without a last answer.
  tl::unexpected<Error> Ended() {
    const ProcessEnd end = process_->AwaitEnd(kEnding);
    for (int i = 0; i < 8 && errors_.get() >= 0; ++i) TakeErrors();  // more than a pipe holds
    if (SaysNoMemory())
      return Failed(Code::kOutOfMemory, "the compiler's process has no memory left: " +
                                            (is_limited() ? LimitText() : "the system gives it no more"));
    const std::string said = AsLine(error_text_).empty() ? "" : "; it said: " + AsLine(error_text_);
    if (end.kind == ProcessEnd::Kind::kSignal && end.number == SIGKILL && !end.killed)
      return Failed(
          Code::kOutOfMemory,
          "the compiler's process was killed (SIGKILL), as the system does where memory is short" + said);
    return Failed(Code::kInternal, "the compiler's process " + Describe(end) +
                                       (is_limited() ? " (" + LimitText() + ")" : "") + said);
  }

  static std::string Describe(const ProcessEnd& end) {
    if (end.kind == ProcessEnd::Kind::kUnknown)
      return "ended without an answer; how is not known where SIGCHLD is ignored, or its children are waited "
             "for elsewhere";
    if (end.kind == ProcessEnd::Kind::kExited)
      return "ended by itself, with exit code " + std::to_string(end.number);
    if (end.killed) return "closed its connection and was killed";
    return "crashed: " + DescribeSignal(end.number);
  }

  bool is_limited() const { return isolation_.max_bytes > 0; }
  std::string LimitText() const { return "its limit is " + std::to_string(isolation_.max_bytes) + " bytes"; }

  // The runner's own words, LLVM's, and those of the C++ library where nobody caught the exception, which it
  // throws, too, where there is no room for a thread's stack.
  bool SaysNoMemory() const {
    const auto says = [this](std::string_view words) { return error_text_.find(words) != std::string::npos; };
    return says(kNoMemory) || says("LLVM ERROR: out of memory") || says("'std::bad_alloc'") ||
           (is_limited() && says("'std::system_error'") && says("Resource temporarily unavailable"));
  }

  // Null where there is none.
  Expected<std::shared_ptr<const Program>> TakeProgram() {
    if (Status sealed = SealMemoryFile(program_file_.get()); !sealed) return Nonsense(sealed.error().message);
    TVMVM_TRY(const MappedBytes file, MapToRead(program_file_.get()));
    if (file.bytes.empty()) return nullptr;
    auto program = LoadProgramFromMemory(file.bytes, file.owner);
    if (!program && program.error().code == Code::kInvalidProgram) return Nonsense(program.error().message);
    return program;
  }

  tl::unexpected<Error> Failed(Code code, const std::string& what) const {
    const std::string name = !options_.model_name.empty() ? "'" + options_.model_name + "'"
                             : model_.is_file
                                 ? "'" + model_.path + "'"
                                 : "a model of " + std::to_string(model_.bytes.size()) + " bytes";
    return MakeError(code, "compiling " + name + ": " + what);
  }

  const Model& model_;
  const CompileOptions& options_;
  const IsolationOptions& isolation_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point deadline_ = Clock::time_point::max();
  FileDescriptor cancelled_, program_file_, answers_, errors_;
  AnswerStream stream_;
  std::string error_text_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace

Expected<CompileResult> CompileInProcess(const Model& model, const CompileOptions& options,
                                         const IsolationOptions& isolation) {
  return Compilation(model, options, isolation).Run();
}

}  // namespace tvmvm::isolated
