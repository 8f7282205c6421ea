#include "isolated_compiler/messages.h"

#include <concepts>
#include <functional>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "isolated_compiler/members.h"
#include "serializer/protobuf_writer.h"

namespace tvmvm::isolated {
namespace {

// The number of a field is its place in the list of members, from 1 on.
using Writer = protozero::pbf_writer;
using Reader = protozero::pbf_reader;

// Small fields become large objects: what a list may hold at most, whoever wrote it.
constexpr size_t kMostElements = 1 << 20;

template <class T>
concept Number = std::integral<T> || std::is_enum_v<T>;
template <class T>
concept HasMembers = requires(T& value) {
  Members(value);
};

void Write(Writer& out, uint32_t field, Number auto value) {
  out.add_int64(field, static_cast<int64_t>(value));
}
void Write(Writer& out, uint32_t field, double value) { out.add_double(field, value); }
void Write(Writer& out, uint32_t field, const std::string& value) { out.add_bytes(field, value); }
template <class... Arguments>
void Write(Writer& out, uint32_t field, const std::function<void(Arguments...)>& value) {
  out.add_bool(field, value != nullptr);
}
template <class T>
void Write(Writer& out, uint32_t field, const std::vector<T>& value);
template <class Key, class T>
void Write(Writer& out, uint32_t field, const std::map<Key, T>& value);
template <class First, class Second>
void Write(Writer& out, uint32_t field, const std::pair<First, Second>& value);
template <HasMembers T>
void Write(Writer& out, uint32_t field, const T& value);

template <class... Member>
void WriteMembers(Writer& out, const std::tuple<Member&...>& members) {
  std::apply(
      [&](const auto&... member) {
        uint32_t field = 0;
        (Write(out, ++field, member), ...);
      },
      members);
}

template <class T>
void Write(Writer& out, uint32_t field, const std::vector<T>& value) {
  for (const T& element : value) Write(out, field, element);
}
template <class Key, class T>
void Write(Writer& out, uint32_t field, const std::map<Key, T>& value) {
  for (const auto& element : value) Write(out, field, element);
}
template <class First, class Second>
void Write(Writer& out, uint32_t field, const std::pair<First, Second>& value) {
  Writer inner(out, field);
  WriteMembers(inner, std::tie(value.first, value.second));
}
template <HasMembers T>
void Write(Writer& out, uint32_t field, const T& value) {
  Writer inner(out, field);
  WriteMembers(inner, Members(const_cast<T&>(value)));
}

void Read(Reader& in, bool* value) { *value = in.get_int64() != 0; }
template <Number T>
void Read(Reader& in, T* value) {
  *value = static_cast<T>(in.get_int64());
}
void Read(Reader& in, double* value) { *value = in.get_double(); }
void Read(Reader& in, std::string* value) { *value = in.get_bytes(); }
template <class... Arguments>
void Read(Reader& in, std::function<void(Arguments...)>* value) {
  if (in.get_bool()) *value = [](Arguments...) {};
}
template <class T>
void Read(Reader& in, std::vector<T>* value);
template <class Key, class T>
void Read(Reader& in, std::map<Key, T>* value);
template <class First, class Second>
void Read(Reader& in, std::pair<First, Second>* value);
template <HasMembers T>
void Read(Reader& in, T* value);

// Lists hold what is written alone, whatever stands in a new object.
template <class T>
void Empty(T&) {}
template <class T>
void Empty(std::vector<T>& value) {
  value.clear();
}

template <class... Member>
void ReadMembers(Reader in, std::tuple<Member&...> members) {
  std::apply([](auto&... member) { (Empty(member), ...); }, members);
  while (in.next()) {
    const uint32_t wanted = in.tag();
    const bool known = std::apply(
        [&](auto&... member) {
          uint32_t field = 0;
          return ((++field == wanted && (Read(in, &member), true)) || ...);
        },
        members);
    if (!known) in.skip();
  }
}

void CheckCount(size_t count) {
  if (count >= kMostElements) throw WrongWireType();
}

template <class T>
void Read(Reader& in, std::vector<T>* value) {
  CheckCount(value->size());
  Read(in, &value->emplace_back());
}
template <class Key, class T>
void Read(Reader& in, std::map<Key, T>* value) {
  CheckCount(value->size());
  std::pair<Key, T> element;
  Read(in, &element);
  value->insert(std::move(element));
}
template <class First, class Second>
void Read(Reader& in, std::pair<First, Second>* value) {
  ReadMembers(in.get_message(), std::tie(value->first, value->second));
}
template <HasMembers T>
void Read(Reader& in, T* value) {
  ReadMembers(in.get_message(), Members(*value));
}

template <class T>
std::string EncodeMessage(const T& message) {
  std::string bytes;
  Writer out(bytes);
  WriteMembers(out, Members(const_cast<T&>(message)));
  return bytes;
}

template <class T>
Expected<T> DecodeMessage(std::string_view bytes) {
  T message;
  message.version = 0;
  try {
    ReadMembers(Reader(bytes.data(), bytes.size()), Members(message));
  } catch (const protozero::exception& exception) {
    return MakeError(Code::kInvalidArgument,
                     std::string("a message that cannot be read: ") + exception.what());
  }
  if (message.version != TVMVM_VERSION)
    return MakeError(Code::kInvalidArgument, "a message of version " + VersionText(message.version) + ", " +
                                                 VersionText(TVMVM_VERSION) + " is wanted");
  return message;
}

}  // namespace

std::string Encode(const Request& request) { return EncodeMessage(request); }
std::string Encode(const Answer& answer) { return EncodeMessage(answer); }

Expected<Request> DecodeRequest(std::string_view bytes) { return DecodeMessage<Request>(bytes); }

Expected<Answer> DecodeAnswer(std::string_view bytes) {
  TVMVM_TRY(Answer answer, DecodeMessage<Answer>(bytes));
  if (answer.kind < AnswerKind::kProgress || answer.kind > AnswerKind::kError)
    return MakeError(Code::kInvalidArgument, "an answer of an unknown kind");
  if (answer.code < Code::kInvalidArgument || answer.code > Code::kIo)
    return MakeError(Code::kInvalidArgument, "an error of an unknown code");
  return answer;
}

}  // namespace tvmvm::isolated
