// Writes the experiment of a large, long job that never ran:
//   make_experiment DIRECTORY --ranks N --paths P --clusters K --iterations I [--threads T]
// It is complete, and written with the runtime's own encoder. A dozen different ranks are made and encoded; all others
// repeat their sections, but for those that tell a process.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>

#include "config/configuration.hpp"
#include "format/checksum.hpp"
#include "record/encoder.hpp"
#include "record/manifest.hpp"
#include "record/output_file.hpp"
#include "record/rank_encoder.hpp"
#include "tests/scale/made_up_rank.hpp"

namespace {

using namespace refrain;
using namespace refrain::testing;
using format::Section;
using platform::Bytes;

constexpr int most_variants = 12;

void need(bool there, const char* what) {
  if (there) return;
  std::fprintf(stderr, "make_experiment: %s\n", what);
  std::exit(1);
}

/// A section as it is stored, which blocks can share.
struct StoredSection {
  std::uint32_t type;
  std::uint16_t version, encoding;
  std::uint64_t raw, checksum;
  std::vector<std::byte> payload;
};

std::vector<StoredSection> sections_of(const record::BlockBuilder& block) {
  Bytes table;
  need(block.put_table(table), "no memory");
  format::ByteCursor in(table.view());
  std::vector<StoredSection> sections(in.fixed<std::uint32_t>());
  in.fixed<std::uint32_t>();
  for (StoredSection& section : sections) {
    section.type = in.fixed<std::uint32_t>();
    section.version = in.fixed<std::uint16_t>();
    section.encoding = in.fixed<std::uint16_t>();
    const auto offset = in.fixed<std::uint64_t>();
    const auto size = in.fixed<std::uint64_t>();
    section.raw = in.fixed<std::uint64_t>();
    section.checksum = in.fixed<std::uint64_t>();
    const auto payload = block.payloads().subspan(offset - table.size(), size);
    section.payload.assign(payload.begin(), payload.end());
  }
  return sections;
}

using Sections = std::vector<const StoredSection*>;

void put_block(const Sections& sections, Bytes& out) {
  record::Encoder encoder(out);
  std::uint64_t offset = format::section_table_size(sections.size());
  encoder.fixed(static_cast<std::uint32_t>(sections.size()));
  encoder.fixed(static_cast<std::uint32_t>(format::section_entry_size));
  for (const StoredSection* section : sections) {
    encoder.fixed(section->type);
    encoder.fixed(section->version);
    encoder.fixed(section->encoding);
    encoder.fixed(offset);
    encoder.fixed(std::uint64_t{section->payload.size()});
    encoder.fixed(section->raw);
    encoder.fixed(section->checksum);
    offset += section->payload.size();
  }
  encoder.fixed(format::checksum(out.data(), out.size()));
  for (const StoredSection* section : sections) encoder.raw(section->payload.data(), section->payload.size());
  need(!encoder.failed(), "no memory");
}

/// What ranks of one variant share.
struct Variant {
  std::vector<StoredSection> sections;
  platform::GrowableArray<std::uint32_t> paths;  ///< number in the union of each of its own paths
  std::vector<std::byte> left_in_file;
};

Variant make_variant(const JobSize& size, int number, record::DefinitionSet& all) {
  MadeUpRank rank(size, number);
  record::RankRecord record = rank.record();
  record.ranks = size.ranks;
  record::DefinitionSet own;
  record::BlockBuilder block;
  need(encode_rank(record, own, block), "no memory");
  Bytes definitions;
  record::Encoder encoder(definitions);
  own.encode_regions(encoder);
  own.encode_modules(encoder);
  own.encode_paths(encoder);
  Variant variant;
  variant.sections = sections_of(block);
  format::ByteCursor in(definitions.view());
  need(!encoder.failed() && all.absorb(in, variant.paths), "no memory");
  variant.left_in_file.assign(rank.left_in_file().begin(), rank.left_in_file().end());
  return variant;
}

/// Now that the numbers of all paths are known.
void add_path_mapping(std::span<const std::uint32_t> unified, Variant& variant) {
  std::vector<std::uint32_t> numbers;
  for (const std::uint32_t path : variant.paths) numbers.push_back(unified[path]);
  record::BlockBuilder block;
  need(record::add_path_mapping(numbers, block), "no memory");
  variant.sections.push_back(std::move(sections_of(block).front()));
}

/// The sections of the rank's process, in place of those of its variant.
void put_rank(std::int32_t rank, std::span<const std::int32_t> world, const Variant& variant, Bytes& out) {
  record::RankRecord process{};
  std::vector<record::CommunicatorRecord> communicators;
  describe_process(rank, world, communicators, process);
  record::DefinitionSet none;
  record::BlockBuilder block;
  need(encode_rank(process, none, block), "no memory");
  const std::vector<StoredSection> own = sections_of(block);
  Sections sections;
  for (const StoredSection& section : variant.sections) {
    const bool tells_process =
        section.type == std::uint32_t(Section::Rank) || section.type == std::uint32_t(Section::Communicators);
    const auto same = std::ranges::find(own, section.type, &StoredSection::type);
    sections.push_back(tells_process ? &*same : &section);
  }
  put_block(sections, out);
}

void put_header(std::uint32_t ranks, std::uint64_t definitions_size, Bytes& out) {
  record::Encoder encoder(out);
  encoder.raw(format::magic, sizeof format::magic);
  encoder.fixed(format::endianness_mark);
  encoder.fixed(format::major_version);
  encoder.fixed(format::minor_version);
  encoder.fixed(static_cast<std::uint32_t>(format::header_size));
  encoder.fixed(format::flag_complete);
  encoder.fixed(ranks);
  encoder.fixed(ranks);
  encoder.fixed(std::uint64_t{format::header_size});
  encoder.fixed(std::uint64_t{format::header_size + ranks * format::rank_entry_size});
  encoder.fixed(definitions_size);
  encoder.fixed(format::checksum(out.data(), out.size()));
  need(!encoder.failed(), "no memory");
}

void put_rank_entry(std::uint32_t rank, std::uint64_t offset, std::uint64_t size, Bytes& out) {
  const std::size_t begin = out.size();
  record::Encoder encoder(out);
  encoder.fixed(rank);
  encoder.fixed(format::flag_rank_present);
  encoder.fixed(offset);
  encoder.fixed(size);
  encoder.fixed(format::checksum(out.data() + begin, out.size() - begin));
  need(!encoder.failed(), "no memory");
}

void write(record::OutputFile& file, const Bytes& bytes, std::uint64_t offset) {
  need(file.write_at(bytes.data(), bytes.size(), offset), std::strerror(file.error));
}

void write_profile(const JobSize& size, const char* directory) {
  record::DefinitionSet all, sorted;
  platform::GrowableArray<std::uint32_t> unified;
  need(all.create(), "no memory");
  std::vector<Variant> variants;
  for (int i = 0; i < std::min(size.ranks, most_variants); ++i) variants.push_back(make_variant(size, i, all));
  need(all.sort_into(sorted, unified), "no memory");
  for (Variant& variant : variants) add_path_mapping(unified.view(), variant);

  record::BlockBuilder builder;
  need(encode_definitions(sorted, builder), "no memory");
  const std::vector<StoredSection> stored = sections_of(builder);
  Sections sections;
  for (const StoredSection& section : stored) sections.push_back(&section);
  Bytes definitions;
  put_block(sections, definitions);

  record::OutputFile file;
  need(file.open(directory, format::profile_name, O_CREAT | O_EXCL), std::strerror(file.error));
  std::vector<std::int32_t> world(static_cast<std::size_t>(size.ranks));
  std::iota(world.begin(), world.end(), 0);
  Bytes head, table, block;
  put_header(static_cast<std::uint32_t>(size.ranks), definitions.size(), head);
  std::uint64_t offset = format::header_size + world.size() * format::rank_entry_size;
  write(file, definitions, offset);
  offset += definitions.size();
  for (const std::int32_t rank : world) {
    const Variant& variant = variants[static_cast<std::size_t>(rank) % variants.size()];
    block.clear();
    put_rank(rank, world, variant, block);
    write(file, block, offset);
    put_rank_entry(static_cast<std::uint32_t>(rank), offset, block.size(), table);
    offset += block.size();
    if (variant.left_in_file.empty()) continue;
    const std::string name = format::spill_name_begin + std::to_string(rank) + format::spill_name_end;
    record::OutputFile own;
    need(own.open(directory, name.c_str(), O_CREAT | O_EXCL) &&
             own.write_at(variant.left_in_file.data(), variant.left_in_file.size(), 0) && own.close(),
         std::strerror(own.error));
  }
  write(file, table, format::header_size);
  write(file, head, 0);
  need(file.close(), std::strerror(file.error));
}

void write_manifest(const JobSize& size, const char* directory) {
  config::Configuration configuration;
  config::ConfigurationError error;
  need(config::read_configuration(configuration, error), "REFRAIN_* variables are set wrongly");
  configuration.clusters = size.clusters;
  configuration.sampling_source = config::SamplingSource::Timer;
  std::vector<std::array<char, 1100>> texts(config::option_count);
  std::vector<record::NameValue> values;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    config::format_option(configuration, i, texts[i].data(), texts[i].size());
    values.push_back({config::option_table[i].variable, texts[i].data()});
  }
  const char* const command[] = {"solver", "--case", "made-up"};
  record::ManifestRecord manifest{};
  manifest.state = record::ExperimentState::Complete;
  manifest.command = command;
  manifest.executable = "/project/solver/bin/solver";
  manifest.working_directory = "/project/runs/made-up";
  manifest.configuration = values;
  manifest.ranks = size.ranks;
  manifest.host = "node0000";
  manifest.mpi_library = "Open MPI v4.1.4";
  manifest.started_epoch_ns = 1'700'000'000'000'000'000;
  manifest.ended_epoch_ns = manifest.started_epoch_ns + 3600 * std::int64_t{1'000'000'000};
  char line[1024];
  need(record::write_manifest(directory, manifest, line, sizeof line), line);
}

[[noreturn]] void usage() {
  std::fputs(
      "Usage: make_experiment DIRECTORY --ranks N --paths P --clusters K --iterations I [--threads T]\n"
      "The directory must not exist. I must be K at least.\n",
      stderr);
  std::exit(1);
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > 1'000'000'000) usage();
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc % 2 != 0) usage();
  JobSize size;
  for (int i = 2; i < argc; i += 2) {
    const std::string_view option = argv[i];
    const std::int64_t value = number(argv[i + 1]);
    if (option == "--ranks") size.ranks = static_cast<std::int32_t>(value);
    else if (option == "--paths") size.paths = static_cast<int>(value);
    else if (option == "--clusters") size.clusters = static_cast<int>(value);
    else if (option == "--iterations") size.iterations = value;
    else if (option == "--threads") size.threads = static_cast<int>(value);
    else usage();
  }
  if (size.ranks < 1 || size.paths < 3 || size.clusters < 1 || size.iterations < size.clusters) usage();
  std::error_code error;
  if (!std::filesystem::create_directory(argv[1], error))
    need(false, error ? error.message().c_str() : "the directory exists");
  write_profile(size, argv[1]);
  write_manifest(size, argv[1]);
}
