#include "layout/hdf5/commit_log.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/datasets.hpp"

namespace sluice::layout::hdf5 {

namespace {

/// Rows of one 4 KiB chunk: a commit rewrites at most that much in place.
constexpr std::uint64_t rows_per_chunk = 4096 / (CommitRow::words * 8);

/// Dimensions of Sluice's own datasets: without them netCDF would invent some when it appends.
constexpr const char* commit_scale = "sluice/commit";
constexpr const char* column_scale = "sluice/column";
constexpr const char* word_scale = "sluice/word";

}  // namespace

void CommitLog::make() {
  file_.make_group(group_name);
  const Handle group = own(H5Gopen2(file_.id(), group_name, H5P_DEFAULT), group_name);
  write_version(group.get());
  if (file_.profile() != Profile::stacked) {
    write_attribute(group.get(), layout_attribute, std::string(profile_name(file_.profile())));
  }
  make_commits();
}

void CommitLog::close() noexcept {
  commits_.reset();
  checksums_.reset();
}

void CommitLog::make_commits() {
  commits_ = make_growing(file_.id(), commits_name, H5T_STD_U64LE, {0, CommitRow::words},
                          {rows_per_chunk, CommitRow::words});
  write_attribute(commits_.get(), "columns",
                  std::string("step, time (bits of float64), first checksum word, checksum words, "
                              "mtime in ns, proof of rows, iteration of openPMD, checksum"));
  if (file_.profile() == Profile::netcdf4) {
    scales_.make_plain(file_.id(), commit_scale, {"commit", 0, true});
    scales_.make_plain(file_.id(), column_scale, {"column", CommitRow::words, false});
    scales_.attach(file_.id(), commits_.get(), commits_name, {commit_scale, column_scale});
  }
}

void CommitLog::make_checksums() {
  checksums_ = make_growing(file_.id(), checksums_name, H5T_STD_U64LE, {0},
                            {counters_.checksum_chunk_words});
  if (file_.profile() == Profile::netcdf4) {
    scales_.make_plain(file_.id(), word_scale, {"word", 0, true});
    scales_.attach(file_.id(), checksums_.get(), checksums_name, {word_scale});
  }
}

void CommitLog::append(const CommitRow& row) {
  const hid_t dataset = commits();
  std::uint64_t& rows = counters_.rows;
  set_extent(dataset, {rows + 1, CommitRow::words}, commits_name);
  const auto words = row.pack();
  write_rows(dataset, commits_name, H5T_NATIVE_UINT64, rows, {1, CommitRow::words}, words.data());
  ++rows;
}

void CommitLog::drop_steps(std::uint64_t steps) {
  const hid_t dataset = commits();
  std::vector<std::uint64_t> words(counters_.rows * CommitRow::words);
  check(H5Dread(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()),
        commits_name);
  std::vector<std::uint64_t> kept;
  for (std::size_t at = 0; at < words.size(); at += CommitRow::words) {
    const CommitRow row = CommitRow::unpack(std::span(words).subspan(at).first<CommitRow::words>());
    if (row.step == CommitRow::no_step || row.step < steps) {
      kept.insert(kept.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                  words.begin() + static_cast<std::ptrdiff_t>(at + CommitRow::words));
    }
  }
  counters_.rows = kept.size() / CommitRow::words;
  set_extent(dataset, {counters_.rows, CommitRow::words}, commits_name);
  if (!kept.empty()) {
    check(H5Dwrite(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, kept.data()),
          commits_name);
  }
}

Placement CommitLog::place_checksums(std::uint64_t words, CommitRow& row) {
  // If nothing is aligned, the file should be small.
  const std::uint64_t page_words = (file_.options().alignment_bytes == 1 ? 2048 : 4096) / 8;
  constexpr std::uint64_t most_words = (1 << 20) / 8;
  if (counters_.checksum_chunk_words == 0) {
    const std::uint64_t pages = (words + page_words - 1) / page_words;
    counters_.checksum_chunk_words = std::min(pages * page_words, most_words);
    make_checksums();
  }
  const std::uint64_t chunk_words = counters_.checksum_chunk_words;
  const std::uint64_t first = counters_.checksum_chunks;
  const std::uint64_t chunks = (words + chunk_words - 1) / chunk_words;
  const hid_t dataset = file_.opened(checksums_, checksums_name, 1);
  set_extent(dataset, {(first + chunks) * chunk_words}, checksums_name);
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < chunks; ++i) {
    const hsize_t at = (first + i) * chunk_words;
    addresses.push_back(file_.place_chunk(dataset, &at, chunk_words * 8, checksums_name));
  }
  row.first_word = first * chunk_words;
  row.word_count = words;
  counters_.checksum_chunks += chunks;
  return {checksum_variable, 8, {chunks * chunk_words}, model::Dims{chunk_words}, addresses};
}

}  // namespace sluice::layout::hdf5
