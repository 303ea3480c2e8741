#include "layout/zarr/commit_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "layout/catalog.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

namespace {

template <class T>
void put(std::vector<std::byte>& out, std::uint64_t at, const T& value) {
  std::memcpy(out.data() + at, &value, sizeof(T));
}

}  // namespace

void CommitRows::load(storage::File& file, const Manifest& manifest) {
  rows_ = read_rows(file, manifest);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].step != CommitRow::no_step && rows_[i].step > i) {
      throw Error(Code::damaged, file.path() + ": " + commits_name + ": row " + std::to_string(i) +
                                     " names step " + std::to_string(rows_[i].step));
    }
  }
  first_new_ = rows_.size();
  drops_ = manifest.drops;
}

void CommitRows::drop_steps(std::uint64_t steps, std::int64_t modified_ns) {
  drops_.push_back({rows_.size(), steps});
  CommitRow row;
  row.modified_ns = modified_ns;
  rows_.push_back(row);
}

std::vector<Document> CommitRows::documents() const {
  std::vector<Document> documents;
  const std::size_t first = first_new_ / rows_per_object * rows_per_object;
  for (std::size_t begin = first; begin < rows_.size(); begin += rows_per_object) {
    constexpr std::size_t row_bytes = CommitRow::words * 8;
    std::vector<std::byte> bytes(rows_per_object * row_bytes);
    for (std::size_t i = begin; i < std::min(rows_.size(), begin + rows_per_object); ++i) {
      put(bytes, (i - begin) * row_bytes, rows_[i].pack());
    }
    documents.push_back(
        {std::string(commits_name) + "/c." + std::to_string(begin / rows_per_object) + ".0",
         std::move(bytes)});
  }
  return documents;
}

void CommitRows::add_time_documents(std::vector<Document>& documents, std::uint64_t steps,
                                    bool all) {
  std::vector<double>& times = times_.of_step;
  for (; times_.rows < rows_.size(); ++times_.rows) {
    const CommitRow& row = rows_[times_.rows];
    if (row.step != CommitRow::no_step) {
      times.resize(std::max<std::size_t>(times.size(), row.step + 1), std::nan(""));
      times[row.step] = row.time;
    }
  }
  std::uint64_t first_new = steps;
  for (std::size_t i = first_new_; i < rows_.size(); ++i) {
    first_new = std::min(first_new, rows_[i].step);  // no_step is beyond any
  }
  first_new = all ? 0 : first_new;
  for (std::uint64_t begin = first_new / rows_per_object * rows_per_object; begin < steps;
       begin += rows_per_object) {
    std::vector<std::byte> bytes(rows_per_object * sizeof(double));
    for (std::uint64_t i = 0; i < rows_per_object; ++i) {
      put(bytes, i * sizeof(double), begin + i < times.size() ? times[begin + i] : std::nan(""));
    }
    documents.push_back({std::string(time_name) + "/c." + std::to_string(begin / rows_per_object),
                         std::move(bytes)});
  }
}

void CommitRows::resize(const Sizes& sizes) {
  rows_.resize(sizes.rows);
  times_ = {};  // taken anew from the rows that are left
  drops_.resize(sizes.drops);
  first_new_ = std::min(first_new_, rows_.size());
}

}  // namespace sluice::layout::zarr
