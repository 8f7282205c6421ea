// Sections -> the bytes of a .vmexe file: header, section table, sections with zeros between them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "serializer/wire/layout.h"
#include "serializer/wire/sink.h"
#include "tvm-vm/status.h"

namespace tvmvm::wire {

// A section to be written: pieces at ascending offsets of it, zeros between them.
struct OutgoingSection {
  struct Piece {
    uint64_t offset = 0;
    std::span<const std::byte> bytes;
  };
  std::string name;
  bool required = true;
  uint64_t alignment = kSectionAlignment;
  std::vector<Piece> pieces;

  uint64_t bytes() const { return pieces.empty() ? 0 : pieces.back().offset + pieces.back().bytes.size(); }
};

// Errors: the sink's; kUnsupported for more sections than a file may have.
[[nodiscard]] Status WriteSections(Sink* sink, std::span<const OutgoingSection> sections);

}  // namespace tvmvm::wire
