// FlatBuffers -> Program. FlatBuffers' verifier has proved that tables, vectors and strings lie in the
// section, and has bounded the number of tables and how deep they lie in one another; it lets vectors and
// strings share bytes, so a small file could describe an enormous program: the Unpacker counts what it copies
// and stops when that exceeds the section, which no file of the writer's does.
#include <cstring>

#include "bytecode/format_text.h"
#include "serializer/program_generated.h"
#include "serializer/wire/metadata.h"
#include "tvm-vm/shape.h"

namespace tvmvm::wire {
namespace {

template <class... Args>
tl::unexpected<Error> Malformed(TextFormat<sizeof...(Args)> format, const Args&... args) {
  return MakeError(Code::kInvalidProgram, FormatText(format, args...));
}

// Elements of an optional vector.
template <class T>
uint32_t SizeOf(const flatbuffers::Vector<T>* vector) {
  return vector ? vector->size() : 0;
}

class Unpacker {
 public:
  // `budget`: bytes of the sections that are unpacked.
  Unpacker(std::span<const Section> sections, uint64_t budget) : sections_(sections), budget_(budget) {}

  Status Unpack(const schema::Program& from, Program* to) {
    TVMVM_CHECK_OK(Functions(from, to));
    TVMVM_CHECK_OK(UnpackKernels(from.kernels(), from.libraries(), to));
    TVMVM_CHECK_OK(Each(from.constants(), &to->constants, &Unpacker::Constant));
    TVMVM_CHECK_OK(Each(from.plans(), &to->plans, &Unpacker::Plan));
    TVMVM_CHECK_OK(Each(from.strings(), &to->strings, &Unpacker::Text));
    to->entry.index = from.entry();
    TVMVM_CHECK_OK(Devices(from, to));
    return from.provenance() ? Provenance(*from.provenance(), &to->provenance) : Status();
  }

  // From the metadata of files before 1.3, or from the section that later ones have for them.
  Status UnpackKernels(const flatbuffers::Vector<flatbuffers::Offset<schema::Kernel>>* kernels,
                       const flatbuffers::Vector<flatbuffers::Offset<schema::KernelLibrary>>* libraries,
                       Program* to) {
    if (!to->kernels.empty() || !to->libraries.empty())
      return Malformed("the metadata and section '{}' both have kernels", kKernelRowsSection);
    TVMVM_CHECK_OK(Each(kernels, &to->kernels, &Unpacker::Kernel));
    return Each(libraries, &to->libraries, &Unpacker::Library);
  }

  Status UnpackDebug(const schema::Debug& from, Program* to) {
    if (SizeOf(from.functions()) != to->functions.size())
      return Malformed("line tables of {} functions, the program has {}", SizeOf(from.functions()),
                       to->functions.size());
    for (uint32_t i = 0; i < to->functions.size(); ++i)
      TVMVM_CHECK_OK(Lines(*from.functions()->Get(i), &to->functions[i].lines));
    for (uint32_t i = 0; i < SizeOf(from.strings()); ++i) {
      const schema::DebugString& entry = *from.strings()->Get(i);
      if (entry.index() >= to->strings.size() || !to->strings[entry.index()].empty())
        return Malformed("debug string {} does not exist or is set twice", entry.index());
      TVMVM_CHECK_OK(String(entry.text(), &to->strings[entry.index()]));
    }
    return {};
  }

 private:
  Status Take(uint64_t bytes) {
    if (bytes > budget_) return Malformed("the metadata refers to the same bytes over and over");
    budget_ -= bytes;
    return {};
  }

  // Unpacks each table of a vector into an element of `to`.
  template <class Table, class Spec>
  Status Each(const flatbuffers::Vector<flatbuffers::Offset<Table>>* from, std::vector<Spec>* to,
              Status (Unpacker::*unpack)(const Table&, Spec*)) {
    uint32_t size = SizeOf(from);
    to->resize(size);
    for (uint32_t i = 0; i < size; ++i) TVMVM_CHECK_OK((this->*unpack)(*from->Get(i), &(*to)[i]));
    return {};
  }

  Status String(const flatbuffers::String* from, std::string* to) {
    if (from == nullptr) return {};
    TVMVM_CHECK_OK(Take(from->size()));
    to->assign(from->data(), from->size());
    return {};
  }

  Status Text(const schema::Text& from, std::string* to) { return String(from.value(), to); }

  Status Dim(const schema::Dim& from, DimSpec* to) {
    to->value = from.value();
    to->low = from.low();
    to->high = from.high();
    return String(from.symbol(), &to->symbol);
  }

  Status Type(const schema::Type& from, TypeSpec* to) {
    to->kind = static_cast<ValueKind>(from.kind());
    to->dtype = static_cast<DType>(from.dtype());
    to->has_rank = from.has_rank();
    TVMVM_CHECK_OK(Each(from.dims(), &to->dims, &Unpacker::Dim));
    return Each(from.elements(), &to->elements, &Unpacker::Type);
  }

  Status Parameter(const schema::Parameter& from, ParameterSpec* to) {
    if (from.type() == nullptr) return Malformed("a parameter has no type");
    TVMVM_CHECK_OK(String(from.name(), &to->name));
    return Type(*from.type(), &to->type);
  }

  // The functions' code tiles the code section, in order.
  Status Functions(const schema::Program& from, Program* to) {
    const Section* code = FindSection(sections_, kCodeSection);
    if (code == nullptr) return Malformed("no section '{}'", kCodeSection);
    code_ = code->bytes;
    TVMVM_CHECK_OK(Each(from.functions(), &to->functions, &Unpacker::Function));
    if (code_words_ * sizeof(uint32_t) != code_.size())
      return Malformed("the functions have {} words of code, the section has {} bytes", code_words_,
                       code_.size());
    return {};
  }

  Status Function(const schema::Function& from, FunctionSpec* to) {
    TVMVM_CHECK_OK(String(from.name(), &to->name));
    TVMVM_CHECK_OK(Each(from.inputs(), &to->inputs, &Unpacker::Parameter));
    TVMVM_CHECK_OK(Each(from.outputs(), &to->outputs, &Unpacker::Parameter));
    to->scalar_inputs = from.scalar_inputs();
    to->scalar_outputs = from.scalar_outputs();
    to->scalar_registers = from.scalar_registers();
    to->ref_registers = from.ref_registers();
    to->slots = from.slots();
    TVMVM_CHECK_OK(Numbers(from.device_inputs(), &to->device_inputs));
    TVMVM_CHECK_OK(Numbers(from.device_outputs(), &to->device_outputs));
    uint64_t left = code_.size() / sizeof(uint32_t) - code_words_;
    if (from.code_begin() != code_words_ || from.code_words() > left)
      return Malformed("function '{}': {} words of code at {}, wanted at {} and at most {}", to->name,
                       from.code_words(), from.code_begin(), code_words_, left);
    to->code.resize(from.code_words());
    if (!to->code.empty())
      std::memcpy(to->code.data(), code_.data() + code_words_ * sizeof(uint32_t),
                  to->code.size() * sizeof(uint32_t));
    code_words_ += from.code_words();
    return {};
  }

  Status Numbers(const flatbuffers::Vector<uint32_t>* from, std::vector<uint32_t>* to) {
    TVMVM_CHECK_OK(Take(SizeOf(from)));
    if (from != nullptr) to->assign(from->begin(), from->end());
    return {};
  }

  Status Devices(const schema::Program& from, Program* to) {
    if (from.devices() != nullptr) {
      to->devices.clear();
      for (const schema::Device* device : *from.devices())
        to->devices.push_back({static_cast<DeviceClass>(device->device_class()), device->ordinal()});
    }
    TVMVM_CHECK_OK(Each(from.device_entries(), &to->device_entries, &Unpacker::Entry));
    const int64_t gpu = from.gpu_entry();
    if (gpu == -1) return {};
    if (gpu < 0 || gpu > UINT32_MAX) return Malformed("entry function {} of class gpu", gpu);
    to->device_entries.push_back({FunctionId{static_cast<uint32_t>(gpu)}, {1, kHostDevice}});
    return {};
  }

  Status Entry(const schema::DeviceEntry& from, DeviceEntry* to) {
    to->function.index = from.function();
    return Numbers(from.devices(), &to->devices);
  }

  Status Kernel(const schema::Kernel& from, KernelSpec* to) {
    TVMVM_CHECK_OK(String(from.name(), &to->name));
    TVMVM_CHECK_OK(String(from.symbol(), &to->symbol));
    to->device = static_cast<DeviceClass>(from.device());
    to->scalar_count = from.scalar_count();
    TVMVM_CHECK_OK(Take(SizeOf(from.buffers())));
    for (uint32_t i = 0; i < SizeOf(from.buffers()); ++i)
      to->buffers.push_back(static_cast<Access>(from.buffers()->Get(i)));
    TVMVM_CHECK_OK(Take(SizeOf(from.alignments())));
    if (from.alignments() != nullptr)
      to->alignments.assign(from.alignments()->begin(), from.alignments()->end());
    to->scratch_bytes = from.scratch_bytes();
    to->flops = from.flops();
    to->bytes = from.bytes();
    TVMVM_CHECK_OK(Each(from.error_messages(), &to->error_messages, &Unpacker::Text));
    TVMVM_CHECK_OK(String(from.contract(), &to->contract));
    return String(from.source_node(), &to->source_node);
  }

  Status Library(const schema::KernelLibrary& from, KernelLibrarySpec* to) {
    to->device = static_cast<DeviceKind>(from.device());
    to->form = static_cast<KernelForm>(from.form());
    TVMVM_CHECK_OK(String(from.target(), &to->target));
    std::string name;
    TVMVM_CHECK_OK(String(from.section(), &name));
    const Section* section = FindSection(sections_, name);
    if (section == nullptr) return Malformed("kernel library '{}': no section '{}'", to->target, name);
    to->bytes = section->bytes;
    return {};
  }

  Status Constant(const schema::Constant& from, ConstantSpec* to) {
    TVMVM_CHECK_OK(String(from.name(), &to->name));
    to->dtype = static_cast<DType>(from.dtype());
    TVMVM_CHECK_OK(Numbers(from.dims(), &to->dims));
    TVMVM_CHECK_OK(Each(from.strings(), &to->strings, &Unpacker::Text));
    TVMVM_CHECK_OK(Place(from.place(), &to->place));
    if (from.bytes() == 0) return {};
    const Section* section = FindSection(sections_, kConstantsSection);
    uint64_t size = section ? section->bytes.size() : 0;
    if (from.offset() > size || from.bytes() > size - from.offset())
      return Malformed("constant '{}': {} bytes at {} of a section of {}", to->name, from.bytes(),
                       from.offset(), size);
    to->bytes = section->bytes.subspan(from.offset(), from.bytes());
    return {};
  }

  Status Numbers(const flatbuffers::Vector<int64_t>* from, std::vector<int64_t>* to) {
    const uint32_t size = SizeOf(from);
    TVMVM_CHECK_OK(Take(uint64_t{size} * sizeof(int64_t)));
    to->resize(size);
    // FlatBuffers' verifier leaves open where elements lie: maybe not where numbers of 64 bits may be read.
    if (size > 0) std::memcpy(to->data(), from->Data(), size * sizeof(int64_t));
    return {};
  }

  // What is too little is no place.
  Status Place(const flatbuffers::Vector<int64_t>* from, PanelPlace* to) {
    TVMVM_CHECK_OK(Numbers(from, &to->numbers));
    if (to->numbers.size() < 2) return {};
    to->constant.index = static_cast<uint32_t>(to->numbers.back());
    to->numbers.pop_back();
    to->panel = to->numbers.back();
    to->numbers.pop_back();
    return {};
  }

  Status Plan(const schema::Plan& from, PlanSpec* to) {
    uint32_t size = SizeOf(from.values());
    TVMVM_CHECK_OK(Take(uint64_t{size} * sizeof(schema::Interval)));
    to->values.reserve(size);
    for (uint32_t i = 0; i < size; ++i) {
      const schema::Interval& value = *from.values()->Get(i);
      to->values.push_back({value.first(), value.last(), value.alignment()});
    }
    return {};
  }

  Status Lines(const schema::FunctionLines& from, std::vector<LineEntry>* to) {
    uint32_t size = SizeOf(from.lines());
    TVMVM_CHECK_OK(Take(uint64_t{size} * sizeof(schema::Line)));
    to->reserve(size);
    for (uint32_t i = 0; i < size; ++i) {
      const schema::Line& line = *from.lines()->Get(i);
      to->push_back({line.word(), StringId{line.node()}});
    }
    return {};
  }

  Status Provenance(const schema::Provenance& from, tvmvm::Provenance* to) {
    TVMVM_CHECK_OK(String(from.producer(), &to->producer));
    TVMVM_CHECK_OK(String(from.source(), &to->source));
    TVMVM_CHECK_OK(String(from.source_digest(), &to->source_digest));
    return String(from.options(), &to->options);
  }

  std::span<const Section> sections_;
  uint64_t budget_;
  std::span<const std::byte> code_;
  uint64_t code_words_ = 0;  // taken by the functions so far
};

// The root table of a section, when FlatBuffers' verifier accepts it.
template <class Root>
Expected<const Root*> RootOf(const Section& section) {
  auto data = reinterpret_cast<const uint8_t*>(section.bytes.data());
  // No writer needs more tables than there is room for; tables that are referred to many times count every
  // time.
  auto max_tables =
      static_cast<flatbuffers::uoffset_t>(section.bytes.size() / sizeof(flatbuffers::uoffset_t));
  constexpr flatbuffers::uoffset_t kMaxDepth = 64;
  flatbuffers::Verifier verifier(data, section.bytes.size(), kMaxDepth, max_tables);
  if (!verifier.VerifyBuffer<Root>(nullptr)) return Malformed("section '{}' is malformed", section.name);
  return flatbuffers::GetRoot<Root>(data);
}

}  // namespace

Expected<Program> UnpackProgram(std::span<const Section> sections) {
  const Section* metadata = FindSection(sections, kMetadataSection);
  if (metadata == nullptr) return Malformed("no section '{}'", kMetadataSection);
  TVMVM_TRY(const schema::Program* root, RootOf<schema::Program>(*metadata));
  Program program;
  TVMVM_CHECK_OK(Unpacker(sections, metadata->bytes.size()).Unpack(*root, &program));

  if (const Section* rows = FindSection(sections, kKernelRowsSection)) {
    TVMVM_TRY(const schema::KernelRows* from, RootOf<schema::KernelRows>(*rows));
    Unpacker unpacker(sections, rows->bytes.size());
    TVMVM_CHECK_OK(unpacker.UnpackKernels(from->kernels(), from->libraries(), &program));
  }
  if (const Section* debug = FindSection(sections, kDebugSection)) {
    TVMVM_TRY(const schema::Debug* lines, RootOf<schema::Debug>(*debug));
    TVMVM_CHECK_OK(Unpacker(sections, debug->bytes.size()).UnpackDebug(*lines, &program));
  }
  return program;
}

}  // namespace tvmvm::wire
