#include "bytecode/guarded.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace tvmvm {
namespace {

Error Unexpected(const char* what) noexcept {
  try {
    return {Code::kInternal, std::string("an exception came up: ") + what};
  } catch (const std::exception&) {
    return {Code::kInternal, {}};
  }
}

}  // namespace

Error CaughtError() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  } catch (const std::exception& exception) {
    return Unexpected(exception.what());
  } catch (...) {
    return Unexpected("not one of the standard library's");
  }
  return {Code::kOutOfMemory, "no memory left"};  // short enough to need none
}

}  // namespace tvmvm
