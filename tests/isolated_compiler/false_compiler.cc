// Answers as the compiling process may once it is under foreign control, or ends as it may under a model that
// the compiler does not bear. What it does is in the name that it is started by.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <string>

#include "isolated_compiler/answer_stream.h"

namespace tvmvm::isolated {
namespace {

void SayBytes(const std::string& bytes) { (void)!write(kAnswerPipe, bytes.data(), bytes.size()); }
void Say(const Answer& answer) { SayBytes(Framed(answer)); }
void SayError(const std::string& text) { (void)!write(STDERR_FILENO, text.data(), text.size()); }

void WriteProgram(const std::string& bytes) { (void)!write(kProgramFile, bytes.data(), bytes.size()); }

void Crash(int number) {
  SayError("a last word\n\x1b[31m");
  signal(number, SIG_DFL);  // sanitizers have handlers
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  raise(number);
}

int Live(const std::string& what) {
  const Answer result{.kind = AnswerKind::kResult};
  if (what == "segv") Crash(SIGSEGV);
  if (what == "abort") Crash(SIGABRT);
  if (what == "kill") raise(SIGKILL);
  if (what == "llvm") SayError("LLVM ERROR: out of memory\nAllocation failed\n"), Crash(SIGABRT);
  if (what == "bad_alloc")
    SayError("terminate called after throwing an instance of 'std::bad_alloc'\n"), Crash(SIGABRT);
  if (what == "exit") return 7;
  if (what == "silent") pause();
  if (what == "closed") close(kAnswerPipe), pause();
  if (what == "chatty")
    while (true) SayError(std::string(1000, 'x'));
  if (what == "endless")
    while (true) Say({.kind = AnswerKind::kProgress, .text = "stage", .fraction = 0.5});
  if (what == "cut") SayBytes(Framed(result).substr(0, 5));
  if (what == "garbage") SayBytes(std::string("\x08\0\0\0garbage!", 12));
  if (what == "huge") SayBytes("\xff\xff\xff\x7f");
  if (what == "version") Say({.version = 1, .kind = AnswerKind::kResult});
  if (what == "program") WriteProgram("no program"), Say(result);
  if (what == "mapped") {
    WriteProgram("x");
    mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, kProgramFile, 0);
    if (fork() == 0) sleep(3), _exit(0);  // holds the file as it may not
    Say(result);
  }
  if (what == "lingering") Say(result), pause();
  if (what == "output") {
    (void)!write(STDOUT_FILENO, "out\n", 4);
    SayError("a warning\n");
    Say(result);
  }
  if (what == "descriptors") {  // those that are not its own
    std::string open;
    for (int file = 0; file < 1000; ++file)
      if (fcntl(file, F_GETFD) >= 0) open += std::to_string(file) + " ";
    Say({.kind = AnswerKind::kError, .code = Code::kInvalidArgument, .text = open});
  }
  return 0;
}

}  // namespace
}  // namespace tvmvm::isolated

int main(int, char** arguments) {
  const std::string path = arguments[0];
  return tvmvm::isolated::Live(path.substr(path.rfind('/') + 1));
}
