// Keys in files, and signatures of files that were damaged, exchanged or made by somebody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/serializer/sample_program.h"
#include "tests/serializer/signed_file.h"

namespace tvmvm {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

std::string TextOf(const Status& status) {
  return status ? "" : std::string(CodeName(status.error().code)) + ": " + status.error().message;
}

class SignatureTest : public ::testing::Test {
 protected:
  // What is wrong with a file whose signature has to be mine.
  std::string Problem(const Bytes& file) {
    const std::array keys{folder_.key("mine")};
    return TextOf(VerifySignature(folder_.Write("file.vmexe", file), keys));
  }

  KeyFolder folder_;
};

TEST_F(SignatureTest, SignedFilesAreTheSamePrograms) {
  const auto program = SampleProgram(true);
  const Bytes file = folder_.Signed(*program, "mine");
  EXPECT_EQ(Problem(file), "");
  EXPECT_EQ(TextOf(VerifyFile(folder_ / "signed.vmexe")), "");
  auto loaded = LoadProgramFromMemory(file);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(*SerializeProgram(**loaded), *SerializeProgram(*program));
  auto sections = ListSections(folder_ / "signed.vmexe");
  ASSERT_TRUE(sections);
  EXPECT_EQ(sections->back().name, "signature");
  EXPECT_FALSE(sections->back().required) << "readers that do not know it go on";
  // The pages of the weights stay pages.
  for (const SectionInfo& section : *sections)
    if (section.name == "constants") {
      EXPECT_EQ(section.offset % wire::kPageBytes, 0u);
    }
}

TEST_F(SignatureTest, SignaturesAreReproducible) {
  const auto program = SampleProgram(false);
  EXPECT_EQ(folder_.Signed(*program, "mine"), folder_.Signed(*program, "mine"));
}

TEST_F(SignatureTest, SeveralMaySign) {
  const auto program = SampleProgram(false);
  (void)folder_.Signed(*program, "mine");
  const std::string path = folder_ / "signed.vmexe";
  ASSERT_EQ(TextOf(SignFile(path, folder_.secret("other"), path)), "");
  ASSERT_EQ(TextOf(SignFile(path, folder_.secret("other"), path)), "") << "again: in place of the first";
  EditableFile parts(folder_.Read("signed.vmexe"));
  EXPECT_EQ(SignatureOf(&parts).signatures.size(), 2u);
  for (const char* name : {"mine", "other"}) {
    const std::array keys{folder_.key(name)};
    EXPECT_EQ(TextOf(VerifySignature(path, keys)), "") << name;
  }
  // What was signed before is another file's after a change.
  parts.section("debug").push_back(std::byte{0});
  const std::string changed = folder_.Write("changed.vmexe", parts.Build());
  ASSERT_EQ(TextOf(SignFile(changed, folder_.secret("other"), changed)), "");
  EditableFile again(folder_.Read("changed.vmexe"));
  EXPECT_EQ(SignatureOf(&again).signatures.size(), 1u);
}

TEST_F(SignatureTest, SaysWhatIsThereAndWhatIsWanted) {
  const auto program = SampleProgram(false);
  EXPECT_THAT(Problem(*SerializeProgram(*program)), HasSubstr("file.vmexe: the file is not signed"));
  EXPECT_THAT(Problem(folder_.Signed(*program, "other")),
              HasSubstr("signed by " + folder_.key("other").Hex() +
                        ", wanted one of the trusted keys: " + folder_.key("mine").Hex()));
  EXPECT_THAT(TextOf(VerifySignature(folder_ / "signed.vmexe", {})), HasSubstr("none is given"));
  EXPECT_THAT(TextOf(VerifySignature(folder_ / "absent.vmexe", {})), HasSubstr("not_found"));
}

TEST_F(SignatureTest, EveryFlippedByteOfASignedFileIsFound) {
  const Bytes file = folder_.Signed(*SampleProgram(false), "mine");
  for (size_t at = 0; at < file.size(); ++at) {
    Bytes damaged = file;
    damaged[at] ^= static_cast<std::byte>(1 << at % 8);
    ASSERT_FALSE(VerifyFile(folder_.Write("damaged.vmexe", damaged))) << at;
  }
}

// The same by somebody who makes the digests right again.
TEST_F(SignatureTest, EveryFlippedByteOfAResealedFileIsFound) {
  const Bytes file = folder_.Signed(*SampleProgram(false), "mine");
  const size_t sections = EditableFile(file).sections.size();
  for (size_t i = 0; i < sections; ++i)
    for (size_t at = 0; at < EditableFile(file).sections[i].size(); ++at) {
      EditableFile parts(file);
      parts.sections[i][at] ^= static_cast<std::byte>(1 << at % 8);
      ASSERT_NE(Problem(parts.Build()), "") << parts.entries[i].name.data() << " at " << at;
    }
}

TEST_F(SignatureTest, EveryTruncatedSignatureIsFound) {
  const Bytes file = folder_.Signed(*SampleProgram(false), "mine");
  const size_t size = EditableFile(file).section("signature").size();
  for (size_t bytes = 0; bytes < size; ++bytes) {
    EditableFile parts(file);
    parts.section("signature").resize(bytes);
    const Bytes cut = parts.Build();
    ASSERT_NE(Problem(cut), "") << bytes;
    ASSERT_TRUE(LoadProgramFromMemory(cut)) << "whoever asks for no signature reads none";
  }
  EditableFile longer(file);
  longer.section("signature").push_back(std::byte{0});
  EXPECT_THAT(Problem(longer.Build()), HasSubstr("its header tells of"));
}

TEST_F(SignatureTest, SectionsAreBoundToTheirNames) {
  const Bytes file = folder_.Signed(*SampleProgram(false), "mine");
  EditableFile swapped(file);
  swapped.section("kernels.cpu.x86-64-v3")[0] ^= std::byte{1};  // the sample's two are alike
  const Bytes again = folder_.Signed(**LoadProgramFromMemory(swapped.Build()), "mine");
  EXPECT_EQ(Problem(again), "");
  EditableFile parts(again);
  std::swap(parts.section("kernels.cpu.x86-64-v3"), parts.section("kernels.cpu.x86-64-v3.2"));
  EXPECT_THAT(Problem(parts.Build()), HasSubstr("section 'kernels.cpu.x86-64-v3' was changed"));
  std::swap(parts.section("kernels.cpu.x86-64-v3"), parts.section("kernels.cpu.x86-64-v3.2"));
  std::swap(parts.section("code"), parts.section("debug"));
  EXPECT_THAT(Problem(parts.Build()), HasSubstr("section 'code' was changed"));
}

TEST_F(SignatureTest, SectionsDoNotComeAndGo) {
  const Bytes file = folder_.Signed(*SampleProgram(false), "mine");
  EditableFile more(file);
  more.Add("kernels.cpu.x86-64-v4", true, Bytes(8));
  EXPECT_THAT(Problem(more.Build()), HasSubstr("section 'kernels.cpu.x86-64-v4' was not there"));
  EditableFile fewer(file);
  fewer.Remove("debug");
  EXPECT_THAT(Problem(fewer.Build()), HasSubstr("section 'debug' was there"));
  EditableFile unsigned_file(file);
  unsigned_file.Remove("signature");
  EXPECT_THAT(Problem(unsigned_file.Build()), HasSubstr("is not signed"));
}

TEST_F(SignatureTest, SignaturesOfOtherFilesAreNone) {
  EditableFile donor(folder_.Signed(*SampleProgram(true), "mine"));
  EditableFile parts(folder_.Signed(*SampleProgram(false), "other"));
  const signature::SignatureSection theirs = SignatureOf(&donor), rows = SignatureOf(&parts);
  parts.section("signature") = donor.section("signature");
  EXPECT_THAT(Problem(parts.Build()), HasSubstr("was changed after the file was signed"));
  // With the rows of this file, and my signature of the other.
  signature::SignatureSection mixed = rows;
  mixed.signatures = theirs.signatures;
  SetSignature(&parts, mixed);
  EXPECT_THAT(Problem(parts.Build()), HasSubstr("is not of this file's sections"));
  // The other's signature under my name, and one part in place of the other.
  mixed.signatures = rows.signatures;
  mixed.signatures[0].key = folder_.key("mine").bytes;
  SetSignature(&parts, mixed);
  EXPECT_THAT(Problem(parts.Build()), HasSubstr("is not of this file's sections"));
  signature::SignatureSection exchanged = theirs;
  std::swap(exchanged.signatures[0].kernels, exchanged.signatures[0].program);
  SetSignature(&donor, exchanged);
  EXPECT_THAT(Problem(donor.Build()), HasSubstr("is not of this file's sections"));
  SetSignature(&donor, theirs);
  EXPECT_EQ(Problem(donor.Build()), "");
}

TEST_F(SignatureTest, RowsWithoutEndAreRefused) {
  EditableFile parts(folder_.Signed(*SampleProgram(false), "mine"));
  signature::SignatureSection signature = SignatureOf(&parts);
  signature.sections[0].name.fill('x');
  SetSignature(&parts, signature);
  EXPECT_THAT(Problem(parts.Build()), HasSubstr("names a section wrongly"));
}

TEST_F(SignatureTest, LaterVersionsSaySo) {
  EditableFile parts(folder_.Signed(*SampleProgram(false), "mine"));
  parts.section("signature")[8] = std::byte{2};
  EXPECT_THAT(Problem(parts.Build()), HasSubstr("the file's signature is of version 2, this build reads 1"));
}

TEST_F(SignatureTest, DamagedFilesAreNotSigned) {
  Bytes file = *SerializeProgram(*SampleProgram(false));
  file.back() ^= std::byte{1};
  const std::string path = folder_.Write("damaged.vmexe", file);
  EXPECT_THAT(TextOf(SignFile(path, folder_.secret("mine"), folder_ / "out.vmexe")), HasSubstr("is damaged"));
  EXPECT_FALSE(fs::exists(folder_ / "out.vmexe"));
}

TEST_F(SignatureTest, ConstantsAreCheckedOnRequest) {
  EditableFile parts(folder_.Signed(*SampleProgram(true), "mine"));
  Bytes file = parts.Build();
  for (const wire::SectionEntry& entry : parts.entries)
    if (std::string_view(entry.name.data()) == wire::kConstantsSection)
      for (const uint64_t at :
           {entry.offset, entry.offset + entry.bytes / 2, entry.offset + entry.bytes - 1}) {
        file[at] ^= std::byte{4};
        EXPECT_TRUE(LoadProgramFromMemory(file));
        auto checked = LoadProgramFromMemory(file, nullptr, {.check_constants = true});
        ASSERT_FALSE(checked) << at;
        EXPECT_THAT(checked.error().message, HasSubstr("section 'constants' is damaged"));
        file[at] ^= std::byte{4};
      }
  EXPECT_TRUE(LoadProgramFromMemory(file, nullptr, {.check_constants = true}));
}

TEST(KeyFiles, SecretKeysAreForTheirOwnerAlone) {
  const mode_t before = umask(0);
  KeyFolder folder;
  umask(before);
  struct stat info {};
  ASSERT_EQ(stat((folder / "mine").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  for (const mode_t mode : {0640u, 0604u, 0660u, 0610u}) {
    ASSERT_EQ(chmod((folder / "mine").c_str(), mode), 0);
    auto key = ReadSecretKey(folder / "mine");
    ASSERT_FALSE(key) << mode;
    EXPECT_THAT(key.error().message, HasSubstr("mine: others than its owner may use this secret key"));
  }
  ASSERT_EQ(chmod((folder / "mine").c_str(), 0400), 0);
  EXPECT_TRUE(ReadSecretKey(folder / "mine"));
  if (geteuid() == 0) {
    ASSERT_EQ(chown((folder / "mine").c_str(), 12345, 12345), 0);
    auto key = ReadSecretKey(folder / "mine");
    ASSERT_FALSE(key);
    EXPECT_THAT(key.error().message, HasSubstr("belongs to user 12345, not to user 0"));
  }
  ASSERT_EQ(chmod((folder / "other.pub").c_str(), 0666), 0);
  auto key = ReadPublicKey(folder / "other.pub");
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().message, HasSubstr("everybody may write to this public key"));
}

TEST(KeyFiles, WhatIsNoKeyIsRefused) {
  KeyFolder folder;
  auto message = [](const auto& key) { return key ? "" : key.error().message; };
  EXPECT_THAT(message(ReadSecretKey(folder / "none")), HasSubstr("No such file"));
  EXPECT_THAT(message(ReadSecretKey(folder / "")), HasSubstr("no regular file"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(message(ReadSecretKey(folder / "pipe")), HasSubstr("no regular file"));
  EXPECT_THAT(message(ReadPublicKey(folder / "mine")), HasSubstr("a secret key, wanted a public key"));
  ASSERT_EQ(chmod((folder / "mine.pub").c_str(), 0600), 0);
  EXPECT_THAT(message(ReadSecretKey(folder / "mine.pub")), HasSubstr("a public key, wanted a secret key"));
  const Bytes good = folder.Read("mine.pub");
  for (size_t size = 0; size < good.size() - 1; ++size)
    EXPECT_NE(message(ReadPublicKey(folder.Write("cut.pub", std::span(good).first(size)))), "") << size;
  Bytes odd = good;
  odd[40] = std::byte{'x'};
  EXPECT_THAT(message(ReadPublicKey(folder.Write("odd.pub", odd))), HasSubstr("no key, wanted a public key"));
  Bytes longer(100000, std::byte{'a'});
  EXPECT_THAT(message(ReadPublicKey(folder.Write("long.pub", longer))), HasSubstr("no key"));
}

TEST(KeyFiles, NothingIsOverwritten) {
  KeyFolder folder;
  const PublicKey before = folder.key("mine");
  EXPECT_THAT(TextOf(MakeKeyFiles(folder / "mine")), HasSubstr("File exists"));
  EXPECT_EQ(folder.key("mine"), before);
  fs::remove(folder / "mine");
  EXPECT_THAT(TextOf(MakeKeyFiles(folder / "mine")), HasSubstr("mine.pub"));
  EXPECT_FALSE(fs::exists(folder / "mine")) << "no half of a pair";
  EXPECT_NE(folder.key("mine"), folder.key("other"));
}

}  // namespace
}  // namespace tvmvm
