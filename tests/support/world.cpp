#include "support/world.hpp"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>

#include "layout/formats/stores.hpp"
#include "plan/plan.hpp"
#include "support/names.hpp"
#include "support/part_paths.hpp"

namespace sluice::test {

Options Rank::options() const {
  Options options;
  options.strategy = strategy_;
  options.durability = Durability::none;
  options.timeout_s = 20;
  options.log = Log::off;
  if (strategy_ == "file-per-node") {
    options.writers = std::min(2, ranks());
  }
  const plan::Strategy& strategy = plan::strategy(strategy_);
  if (strategy.in_windows && !strategy.chooses) {
    options.tile_bytes = 1000;  // small, and no multiple of anything: many tiles, ragged ones
  }
  return options;
}

std::string Cell::name() const {
  return test_name(strategy + "_" + storage + (ranks == 0 ? "" : "_" + std::to_string(ranks)) +
                   (layout == "hdf5" ? "" : "_" + layout) + (is_rectilinear ? "_rectilinear" : ""));
}

Options Cell::in_layout(Mode mode, Options options) const {
  if (mode != Mode::read && options.format == "auto") {
    const layout::Format& format = layout::format_named(layout);
    options.format = format.option;
    options.hdf5_layout = format.hdf5_layout;
    options.rectilinear = is_rectilinear ? Rectilinear::always : options.rectilinear;
  }
  return options;
}

std::size_t World::count_variables(const File& in) const {
  const auto all = in.variables();
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const VariableInfo& v) { return v.name != "time"; }));
}

std::vector<Durability> World::durabilities() const {
  std::vector<Durability> all{Durability::none, Durability::close};
  if (format().best == Durability::step) {
    all.push_back(Durability::step);
  }
  return all;
}

int World::other_ranks() const {
  switch (ranks()) {
    case 1:
      return 1;
    case 3:
      return 2;
    default:
      return ranks() - 1;
  }
}

namespace {

/// In a store: the one file that describes the others.
std::string main_file(storage::Storage& storage, const std::string& path,
                      const layout::Format& format) {
  return layout::is_store(storage, path) ? path + "/" + format.manifest : path;
}

}  // namespace

std::vector<std::string> World::data_files(const std::string& path) {
  std::vector<std::string> files;
  if (exists(path + "/chunks")) {  // of a repository, whose files have ids
    for (const std::string& name : storage().list(path + "/chunks")) {
      files.push_back(path + "/chunks/" + name);
    }
    return files;
  }
  if (format().is_store()) {
    for (int step = 0; step < 4; ++step) {
      for (int shard = 0; shard < 8; ++shard) {
        const std::string name =
            path + "/v/c." + std::to_string(step) + "." + std::to_string(shard) + ".0";
        if (exists(name)) {
          files.push_back(name);
        }
      }
    }
    return files;
  }
  if (!has_parts()) {
    return {path};
  }
  return part_paths(storage(), path);
}

std::vector<std::byte> World::bytes_of(const std::string& path) {
  const auto file = storage().open(main_file(storage(), path, format()), storage::Access::read);
  std::vector<std::byte> bytes(file->size());
  bytes.resize(file->read(0, bytes));
  return bytes;
}

void World::put_bytes(const std::string& path, const std::vector<std::byte>& bytes) {
  once([&] {
    const std::string file = main_file(storage(), path, format());
    if (exists(file)) {
      storage().remove(file);
    }
    storage().open(file, storage::Access::create)->write(0, bytes);
  });
}

void expect_same_error(const std::vector<Caught>& caught, Code code,
                       const std::vector<std::string>& parts) {
  for (std::size_t r = 0; r < caught.size(); ++r) {
    EXPECT_EQ(code_name(caught[r].code), std::string(code_name(code)))
        << "on rank " << r << ": " << caught[r].text;
    EXPECT_EQ(caught[r].text, caught[0].text) << "on rank " << r;
    EXPECT_EQ(caught[r].rank, caught[0].rank) << "on rank " << r;
  }
  for (const std::string& part : parts) {
    EXPECT_NE(caught.at(0).text.find(part), std::string::npos)
        << "no \"" << part << "\" in: " << caught[0].text;
  }
  EXPECT_EQ(caught.at(0).text.find('\n'), std::string::npos) << caught[0].text;
}

bool is_long() {
  const char* text = std::getenv("SLUICE_LONG");
  return text != nullptr && std::string(text) == "1";
}

int case_count([[maybe_unused]] int quick, int sanitized, int many) {
#if defined(SLUICE_ADDRESS_SANITIZER)
  const int usual = sanitized;
#else
  const int usual = std::max(quick, sanitized);
#endif
  return is_long() ? many : usual;
}

}  // namespace sluice::test
