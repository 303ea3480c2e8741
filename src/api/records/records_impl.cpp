#include "api/records/records_impl.hpp"

#include <algorithm>

#include "exec/device_memory.hpp"
#include "exec/transport/agree.hpp"
#include "exec/transport/disagree.hpp"
#include "layout/records/format.hpp"
#include "model/numbering.hpp"

namespace sluice::detail {

using layout::records::PartReader;
using layout::records::ScalarCode;

namespace {

constexpr const char* mark_name = "sluice_records";
constexpr std::int32_t mark = 1;  ///< version of the description in records_impl.hpp
constexpr const char* data_name = "data";
constexpr const char* table_name = "parts";
/// More than any file has: the most rows that the variables may have in one step.
constexpr std::uint64_t most_bytes = 1ULL << 62;
constexpr std::uint64_t most_parts = 1ULL << 40;
/// More streams in one process are a mistake.
constexpr int most_streams = 1 << 24;

Options records_options(const Options& options, Mode mode) {
  Options wanted = options;
  if (wanted.format == "auto" && mode != Mode::read && mode != Mode::append) {
    wanted.format = layout::records::format_row.option;
  }
  if (wanted.check == Check::full) {
    wanted.check = Check::off;  // offsets are sums: no search is needed
  }
  return wanted;
}

}  // namespace

RecordsImpl::RecordsImpl(const Opener& opener, Mode mode, int parts, const Options& options) {
  if (parts < 1 || parts > most_streams) {
    throw Error(Code::invalid_argument,
                "records: " + std::to_string(parts) + " parts: use at least one");
  }
  auto impl = opener(records_options(options, mode));
  file_impl_ = impl.get();
  file_ = std::make_unique<File>(std::move(impl));
  reads_ = mode == Mode::read;
  const bool is_new = mode == Mode::write || mode == Mode::create;
  is_new ? define() : find();
  streams_.resize(static_cast<std::size_t>(parts));
}

void RecordsImpl::define() {
  const std::string name = file_impl_->output().format().name;
  if (name != layout::records::format_row.name) {
    file_impl_->drop();
    throw Error(Code::unsupported,
                path() + ": format " + name + " holds no records: use format records");
  }
  file_->set_attribute("", mark_name, mark);
  data_ = file_->define<std::uint8_t>(data_name, {most_bytes}, {.steps = true, .varying = true});
  table_ = file_->define<std::uint64_t>(table_name, {most_parts, row_words},
                                        {.steps = true, .varying = true});
}

/// For an existing file; the same on every rank.
void RecordsImpl::find() {
  const auto infos = file_->variables();
  const auto has = [&](const char* name, const Type& type, const Shape& row) {
    return std::any_of(infos.begin(), infos.end(), [&](const VariableInfo& info) {
      return info.name == name && info.type == type && info.varying && !info.shape.empty() &&
             Shape(info.shape.begin() + 1, info.shape.end()) == row;
    });
  };
  if (!has(data_name, type_of<std::uint8_t>(), {}) ||
      !has(table_name, type_of<std::uint64_t>(), {row_words})) {
    const std::string name = path();
    file_impl_->drop();
    throw Error(Code::format, name + ": holds no records: it was written by other calls");
  }
  data_ = file_->find(data_name);
  table_ = file_->find(table_name);
}

namespace {

/// Of `count` values; Error invalid_argument if it is invalid.
std::size_t bytes_of(const std::string& path, const char* call, ScalarCode code, const void* data,
                     std::int64_t count) {
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid_argument, path + ": " + call + ": " + why);
  };
  const std::uint64_t size = layout::records::scalar_bytes(code);
  std::uint64_t bytes = 0;
  if (size == 0) {
    refuse(std::to_string(code) + " is not a type of values");
  }
  if (count < 0 || __builtin_mul_overflow(size, static_cast<std::uint64_t>(count), &bytes)) {
    refuse(std::to_string(count) + " values");
  }
  if (bytes != 0 && data == nullptr) {
    refuse("the address of the values is NULL");
  }
  constexpr std::uint64_t worth_a_look_bytes = 1024;  // single values are written by the million
  if (bytes >= worth_a_look_bytes) {
    exec::refuse_device_memory(data, [&] { return path + ": " + call; });
  }
  return bytes;
}

}  // namespace

RecordsImpl::Stream& RecordsImpl::stream(int part) {
  if (part < 0 || part >= parts()) {
    throw Error(Code::invalid_argument, path() + ": part " + std::to_string(part) + " of " +
                                            std::to_string(parts()) + ", counted from 0");
  }
  return streams_[static_cast<std::size_t>(part)];
}

std::uint64_t RecordsImpl::groups() const { return file_->steps(); }

void RecordsImpl::require(bool writing) const {
  file_impl_->require_here();
  if (!is_open()) {
    throw Error(Code::wrong_state, path() + ": is closed already");
  }
  if (writing == reads_) {
    throw Error(Code::wrong_state, path() + ": was opened for " + (reads_ ? "reading" : "writing"));
  }
}

// -- writing --------------------------------------------------------------------------------------

void RecordsImpl::set_text(const std::string& name, const std::string& text) {
  require(true);
  if (name == mark_name) {
    throw Error(Code::invalid_argument, path() + ": set_text: " + name + " is the library's");
  }
  file_->set_attribute("", name, text);
}

void RecordsImpl::write(int part, ScalarCode code, const void* data, std::int64_t count) {
  try {
    require(true);
    const std::size_t bytes = bytes_of(path(), "write", code, data, count);
    Stream& mine = stream(part);
    if (bytes != 0 && !mine.writer.write(code, data, static_cast<std::uint64_t>(count), bytes)) {
      throw Error(Code::over_budget, path() + ": write: no memory for " + std::to_string(count) +
                                         " values of " + layout::records::scalar_name(code));
    }
  } catch (...) {
    if (!failure_) {
      failure_ = std::current_exception();
    }
    throw;
  }
}

void RecordsImpl::refuse(const Error& why) {
  require(true);
  if (!failure_) {
    failure_ = std::make_exception_ptr(exec::naming_file(why, path()));
  }
}

namespace {

constexpr int committing = 1;
constexpr int closing = 2;

}  // namespace

/// Collective. All ranks make the same call, and none has failed before.
void RecordsImpl::agree_on(int what) {
  std::int64_t same[] = {what, ~static_cast<std::int64_t>(what)};
  exec::agree(file_impl_->transport(), std::exchange(failure_, nullptr), same);
  if (same[0] != ~same[1]) {
    exec::refuse_disagreement(file_impl_->transport(), path(),
                              {{what == closing ? "closes" : "commits", {}}},
                              "some commit, others close");
  }
}

/// Memory that MPI may use after a timeout is left to it for ever. The streams stay where they are:
/// the C interface writes into them without a call.
void RecordsImpl::restart() noexcept {
  for (Stream& stream : streams_) {
    if (mark_.may_be_in_use()) {
      mark_.keep_used(stream.writer);
      stream.writer = {};
      static_cast<void>(stream.writer.place());
    }
    stream.writer.restart();
  }
  mark_.keep_used(rows_, bytes_);
  mark_ = {};
}

void RecordsImpl::put_all(Step& step) {
  exec::Transport& transport = file_impl_->transport();
  std::uint64_t bytes = 0;
  rows_.clear();
  for (Stream& stream : streams_) {
    rows_.push_back({bytes, stream.writer.signature().size(), stream.writer.payload().size()});
    bytes += rows_.back().signature_bytes + rows_.back().payload_bytes;
  }
  const exec::PrefixSum sums = transport.prefix_sum(static_cast<std::int64_t>(bytes));
  const auto streams = static_cast<std::uint64_t>(streams_.size());
  const std::uint64_t first_row = streams * static_cast<std::uint64_t>(transport.rank());
  step.resize(data_, static_cast<std::uint64_t>(sums.all));
  step.resize(table_, streams * static_cast<std::uint64_t>(transport.size()));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    row.offset += static_cast<std::uint64_t>(sums.below);
    const auto put = [&](std::uint64_t at, std::span<const std::byte> from) {
      if (!from.empty()) {
        step.put_raw(data_, from.data(), type_of<std::uint8_t>(),
                     {.start = {at}, .count = {from.size()}});
      }
    };
    put(row.offset, streams_[i].writer.signature());
    put(row.offset + row.signature_bytes, streams_[i].writer.payload());
  }
  step.put(table_, reinterpret_cast<const std::uint64_t*>(rows_.data()),
           {.start = {first_row, 0}, .count = {streams, row_words}});
}

Ticket RecordsImpl::commit() {
  require(true);
  try {
    agree_on(committing);
    Step step = file_->begin_step();
    put_all(step);
    Ticket ticket = step.end();
    restart();
    return ticket;
  } catch (...) {
    restart();
    throw;
  }
}

bool RecordsImpl::drain(double seconds) {
  require(true);
  return file_->drain(seconds);
}

// -- reading --------------------------------------------------------------------------------------

void RecordsImpl::read(int part, ScalarCode code, void* data, std::int64_t count) {
  require(false);
  const std::size_t bytes = bytes_of(path(), "read", code, data, count);
  PartReader& from = stream(part).reader;
  if (bytes != 0) {
    exec::for_file(path(),
                   [&] { from.read(code, data, static_cast<std::uint64_t>(count), bytes); });
  }
}

bool RecordsImpl::at_end(int part) {
  require(false);
  return exec::for_file(path(), [&] { return stream(part).reader.at_end(); });
}

bool RecordsImpl::fetch() {
  require(false);
  const bool is_there = next_ < groups();
  try {
    fetch(next_);
  } catch (const Error& e) {
    // Collective at the end too, where another rank may want a group that it names.
    if (is_there || e.code() != Code::out_of_bounds) {
      throw;
    }
  }
  return is_there;
}

void RecordsImpl::fetch(std::uint64_t group) {
  require(false);
  exec::Transport& transport = file_impl_->transport();
  const auto streams = static_cast<std::uint64_t>(streams_.size());
  const std::uint64_t readers = streams * static_cast<std::uint64_t>(transport.size());
  const std::uint64_t reader = streams * static_cast<std::uint64_t>(transport.rank());
  std::uint64_t all = 0;
  std::uint64_t data_bytes = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  const auto attempt = [&](auto&& work) { exec::agree(transport, exec::failure_of(work)); };
  attempt([&] {
    if (group >= groups()) {
      throw Error(Code::out_of_bounds, path() + ": record group " + model::absent_text(group) +
                                           " of " + std::to_string(groups()) + ", counted from " +
                                           model::number_text(0));
    }
    all = file_->shape(table_, group)[0];
    data_bytes = file_->shape(data_, group)[0];
    first = reader * all / readers;
    last = (reader + streams) * all / readers;
    rows_.assign(last - first, Row{});
  });
  for (Stream& stream : streams_) {
    stream.reader.clear();
  }
  // A get that fails may leave its memory to MPI.
  const auto get = [&](auto&& work) {
    try {
      work();
    } catch (...) {
      restart();
      throw;
    }
  };
  get([&] {
    file_->get(table_, reinterpret_cast<std::uint64_t*>(rows_.data()),
               {.start = {first, 0}, .count = {last - first, row_words}}, group);
  });
  Row hull;
  attempt([&] {
    check_rows(group, data_bytes);
    if (!rows_.empty()) {
      hull.offset = rows_.front().offset;
      const Row& end = rows_.back();
      hull.payload_bytes = end.offset + end.signature_bytes + end.payload_bytes - hull.offset;
    }
    bytes_.reset();
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(hull.payload_bytes);
  });
  get([&] {
    file_->get_raw(data_, bytes_.get(), type_of<std::uint8_t>(),
                   {.start = {hull.offset}, .count = {hull.payload_bytes}}, group);
  });
  hand_out(group, first, all);
  next_ = group + 1;
}

void RecordsImpl::check_rows(std::uint64_t group, std::uint64_t data_bytes) const {
  std::uint64_t at = rows_.empty() ? 0 : rows_[0].offset;
  for (const Row& row : rows_) {
    const bool is_right = row.offset == at && row.offset <= data_bytes &&
                          row.signature_bytes <= data_bytes - row.offset &&
                          row.payload_bytes <= data_bytes - row.offset - row.signature_bytes;
    if (!is_right) {
      throw Error(Code::damaged, path() + ": the table of parts of record group " +
                                     std::to_string(group) + " is damaged");
    }
    at += row.signature_bytes + row.payload_bytes;
  }
}

/// Assigns the parts that were read, the first of which is `first_part` of `parts`, to the streams.
void RecordsImpl::hand_out(std::uint64_t group, std::uint64_t first_part, std::uint64_t parts) {
  const auto streams = static_cast<std::uint64_t>(streams_.size());
  const std::uint64_t readers =
      streams * static_cast<std::uint64_t>(file_impl_->transport().size());
  const std::uint64_t reader = streams * static_cast<std::uint64_t>(rank());
  std::byte* at = bytes_.get();
  for (std::uint64_t i = 0; i < streams; ++i) {
    const std::uint64_t from = (reader + i) * parts / readers;
    const std::uint64_t to = (reader + i + 1) * parts / readers;
    for (std::uint64_t p = from; p < to; ++p) {
      const Row& row = rows_[p - first_part];
      streams_[i].reader.add(
          {at, row.signature_bytes}, {at + row.signature_bytes, row.payload_bytes},
          "record group " + std::to_string(group) + ", part " + std::to_string(p));
      at += row.signature_bytes + row.payload_bytes;
    }
  }
}

void RecordsImpl::close() {
  file_impl_->require_here();
  if (!is_open()) {
    throw Error(Code::wrong_state, path() + ": is closed already");
  }
  if (!reads_) {
    agree_on(closing);
  }
  file_->close();
}

void RecordsImpl::drop(const std::optional<std::string>& why) noexcept {
  if (why) {
    file_impl_->leave(*why);
  }
  file_impl_->drop();
}

}  // namespace sluice::detail
