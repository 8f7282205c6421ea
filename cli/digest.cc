#include "cli/digest.h"

#include <fmt/format.h>

#include <span>

#include "bytecode/digest.h"

namespace tvmvm::cli {
namespace {

std::string OfText(const std::string& text) { return DigestOf(std::as_bytes(std::span(text))).Hex(); }

}  // namespace

std::string FileDigest(const std::vector<SectionInfo>& sections) {
  std::string text;
  for (const SectionInfo& section : sections) text += fmt::format("{} {}\n", section.name, section.digest);
  return OfText(text);
}

std::string ElementsDigest(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString)
    return DigestOf({static_cast<const std::byte*>(tensor.data()), static_cast<size_t>(tensor.byte_count())})
        .Hex();
  std::string text;
  for (const std::string& element : tensor.strings()) text.append(element).push_back('\0');
  return OfText(text);
}

}  // namespace tvmvm::cli
