#include "offline/symbols/names_file.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "format/bytes.hpp"
#include "format/names_file.hpp"
#include "offline/experiment/clean_text.hpp"
#include "offline/experiment/whole_file.hpp"
#include "offline/symbols/names_container.hpp"

namespace refrain::symbols {
namespace {

void add_frame(ByteList& to, const SourceFrame& frame, std::uint64_t address, TextsToWrite& texts) {
  to.add_byte(static_cast<std::uint8_t>(
      (frame.inlined ? format::name_is_inlined : 0) | (frame.part ? format::name_is_part : 0) |
      (frame.named ? format::name_is_known : 0) | (frame.full ? format::name_is_full : 0)));
  to.add_varint(frame.named ? texts.number_of(frame.function)
                            : format::zigzag(static_cast<std::int64_t>(address - frame.begin)));
  to.add_varint(texts.number_of(frame.file));
  to.add_varint(static_cast<std::uint64_t>(std::max(frame.line, 0)));
}

void add_module(ByteList& to, const ModuleNames& module, TextsToWrite& texts) {
  to.add_varint(texts.number_of(module.path));
  to.add_varint(texts.number_of(module.build_id));
  to.add_byte(static_cast<std::uint8_t>(module.source));
  to.add_varint(texts.number_of(module.why));
  to.add_varint(module.frames.size());
  std::uint64_t last = 0;
  for (const auto& [place, frames] : module.frames) {
    to.add_varint(place.address - last);
    last = place.address;
    to.add_byte(static_cast<std::uint8_t>(place.lookup));
    to.add_varint(frames.size());
    for (const SourceFrame& frame : frames) add_frame(to, frame, place.address, texts);
  }
}

class NamesReader {
 public:
  explicit NamesReader(const experiment::InputFile& file) : file_(file, format::Section::Names, "names") {}

  std::vector<ModuleNames> modules() {
    std::vector<ModuleNames> modules;
    for (std::size_t left = in_.count(least_module_size); left > 0; --left) {
      modules.push_back(module());
      in_.check();
    }
    in_.finish();
    return modules;
  }

 private:
  static constexpr std::size_t least_module_size = 5, least_entry_size = 7, least_frame_size = 4;

  ModuleNames module() {
    ModuleNames module;
    module.path = file_.text();
    module.build_id = file_.text();
    const auto source = in_.fixed<std::uint8_t>();
    if (source > static_cast<std::uint8_t>(NameSource::Debug)) in_.refuse("unknown source of names");
    module.source = static_cast<NameSource>(source);
    module.why = experiment::clean_text(file_.text());
    Place place;
    for (std::size_t left = in_.count(least_entry_size); left > 0; --left) {
      place.address += in_.varint();
      const auto lookup = in_.fixed<std::uint8_t>();
      if (lookup > static_cast<std::uint8_t>(Lookup::Entry)) in_.refuse("unknown kind of address");
      place.lookup = static_cast<Lookup>(lookup);
      std::vector<SourceFrame> frames(in_.count(least_frame_size));
      for (SourceFrame& frame : frames) frame = this->frame(place.address);
      in_.check();
      if (frames.empty()) in_.refuse("an address without a function");
      if (!module.frames.emplace(place, std::move(frames)).second) in_.refuse("an address that occurs twice");
    }
    return module;
  }

  SourceFrame frame(std::uint64_t address) {
    SourceFrame frame;
    const auto bits = in_.fixed<std::uint8_t>();
    frame.inlined = bits & format::name_is_inlined;
    frame.part = bits & format::name_is_part;
    frame.named = bits & format::name_is_known;
    frame.full = bits & format::name_is_full;
    if (frame.named) frame.function = experiment::clean_text(file_.text());
    else frame.begin = address - static_cast<std::uint64_t>(in_.signed_varint());
    frame.file = experiment::clean_text(file_.text());
    frame.line = static_cast<int>(std::min<std::uint64_t>(in_.varint(), std::numeric_limits<int>::max()));
    return frame;
  }

  ContainerReader file_;
  experiment::SectionReader& in_ = file_.in();
};

}  // namespace

std::vector<ModuleNames> parse_names(const experiment::InputFile& file) { return NamesReader(file).modules(); }

std::vector<std::byte> bytes_of_names(std::span<const ModuleNames> modules) {
  constexpr int level = 9;  // some thousand addresses
  TextsToWrite texts;
  ByteList names;
  names.add_varint(modules.size());
  for (const ModuleNames& module : modules) add_module(names, module, texts);
  return container_of(texts, format::Section::Names, names, level);
}

void write_names(const std::filesystem::path& experiment, std::span<const ModuleNames> modules) {
  experiment::write_whole_file(experiment / names_file_name, bytes_of_names(modules));
}

}  // namespace refrain::symbols
