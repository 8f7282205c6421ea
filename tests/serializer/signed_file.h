// A signed .vmexe in a folder of its own, for tests that attack it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "serializer/signature/signature_section.h"
#include "tests/serializer/editable_file.h"
#include "tvm-vm/trust.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {

class KeyFolder {
 public:
  KeyFolder() {
    std::string pattern = ::testing::TempDir() + "tvm-vm-keys-XXXXXX";
    path_ = mkdtemp(pattern.data());
    for (const char* name : {"mine", "other"})
      EXPECT_TRUE(MakeKeyFiles(*this / name)) << MakeKeyFiles(*this / name).error().message;
  }
  ~KeyFolder() { std::filesystem::remove_all(path_); }
  KeyFolder(const KeyFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  SecretKey secret(const std::string& name) const { return *ReadSecretKey(*this / name); }
  PublicKey key(const std::string& name) const { return *ReadPublicKey(*this / (name + ".pub")); }

  std::string Write(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream(*this / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return *this / name;
  }
  std::vector<std::byte> Read(const std::string& name) const {
    std::ifstream file(*this / name, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  // The bytes of the program's file, signed with a key of this folder.
  std::vector<std::byte> Signed(const Program& program, const std::string& key) const {
    EXPECT_TRUE(SaveProgram(program, *this / "unsigned.vmexe"));
    const Status status = SignFile(*this / "unsigned.vmexe", secret(key), *this / "signed.vmexe");
    EXPECT_TRUE(status) << status.error().message;
    return Read("signed.vmexe");
  }

 private:
  std::string path_;
};

// The signature section of a file, read and written without any check.
inline signature::SignatureSection SignatureOf(EditableFile* file) {
  const std::vector<std::byte>& bytes = file->section("signature");
  signature::SignatureHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  signature::SignatureSection section;
  section.sections.resize(header.section_count);
  section.signatures.resize(header.signature_count);
  const size_t rows = section.sections.size() * sizeof(signature::SignedSection);
  std::memcpy(section.sections.data(), bytes.data() + sizeof header, rows);
  std::memcpy(section.signatures.data(), bytes.data() + sizeof header + rows,
              section.signatures.size() * sizeof(signature::Signature));
  return section;
}
inline void SetSignature(EditableFile* file, const signature::SignatureSection& section) {
  signature::SignatureHeader header;
  header.section_count = static_cast<uint32_t>(section.sections.size());
  header.signature_count = static_cast<uint32_t>(section.signatures.size());
  std::vector<std::byte>& bytes = file->section("signature");
  bytes.clear();
  for (const std::span<const std::byte> part :
       {std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(section.sections)),
        std::as_bytes(std::span(section.signatures))})
    bytes.insert(bytes.end(), part.begin(), part.end());
}

}  // namespace tvmvm
