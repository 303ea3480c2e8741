#include "crash/scenario.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "commit/publish/journal.hpp"
#include "crash/plain_store.hpp"
#include "layout/formats/formats.hpp"
#include "layout/formats/stores.hpp"
#include "layout/records/log.hpp"
#include "storage/scratch.hpp"
#include "support/values.hpp"

namespace sluice::test {

File Writer::open(Mode mode) {
  return File(detail::open_on(transport_, storage_, crash_path, mode, options_));
}

template <class Target>
void Writer::put(Target& target, Variable variable, std::uint64_t key, const Shape& shape) {
  const model::Box box = slab(shape, rank(), ranks());
  const auto values = values_of<double>(key, dims_of(shape), box);
  held_.emplace_back(values.data(), values.data() + values.size());
  held_.back().push_back(0);  // so that a part of no elements has an address
  target.template put<double>(variable, held_.back().data(), selection_of(box));
}

std::optional<Snapshot> Recording::comparable(std::optional<Snapshot> plain) const {
  if ((is_in_flight || is_deferred) && plain) {
    std::erase_if(plain->items, [](const auto& item) {
      return item.first.starts_with("sluice/") || item.first.starts_with("sluice@");
    });
  }
  return plain;
}

// The ranks arrive here one after another; the first one is enough.
void Writer::begins() {
  if (begun_++ == recording_.begun.size()) {
    recording_.begun.push_back(recording_.log->records().size());
  }
}

void Writer::committed() {
  if (commits_++ == recording_.acks.size()) {
    recording_.acks.push_back(recording_.log->records().size());
    if (!recording_.is_in_flight && !recording_.is_deferred) {
      recording_.golden.push_back(golden_of(recording_.disk));
    }
  }
}

void Writer::promise_begins() {
  recording_.first_place = recording_.log->records().size();
  transport_.barrier();
}

void Writer::expect(const std::string& name, std::uint64_t key, const Shape& shape,
                    std::uint64_t step) {
  if (options_.keep_last != 0) {
    return;  // the numbers of steps are others
  }
  File in(detail::open_on(transport_, recording_.disk, crash_path, Mode::read, {}));
  expect_values<double>(in, name, key, shape, slab(shape, rank(), ranks()), step);
}

namespace {

/// No other program reads such a file; it is only required to be readable at all times.
std::optional<Snapshot> log_view(const storage::MemoryStorage& storage) {
  const auto copy = storage::make_memory();
  copy->put(crash_path, storage.contents(crash_path));
  if (!layout::records::is_log(*copy->open(crash_path, storage::Access::read))) {
    return std::nullopt;
  }
  return sluice_snapshot(copy, crash_path);
}

/// Nor is one an Icechunk repository in memory.
std::optional<Snapshot> repository_view(const storage::MemoryStorage& storage) {
  const auto copy = storage::make_memory();
  for (const std::string& path : storage.paths()) {
    copy->put(path, storage.contents(path));
  }
  if (!copy->exists(crash_path + std::string("/") + layout::format_named("icechunk").manifest)) {
    return std::nullopt;
  }
  return sluice_snapshot(copy, crash_path);
}

}  // namespace

std::optional<Snapshot> plain_view(const storage::MemoryStorage& storage) {
  if (auto of_store = plain_store_snapshot(storage, crash_path)) {
    return of_store;
  }
  if (auto of_repository = repository_view(storage)) {
    return of_repository;
  }
  if (auto of_log = log_view(storage)) {
    return of_log;
  }
  std::vector<std::string> parts;
  for (const std::string& path : storage.paths()) {
    if (path.find(".parts/") != std::string::npos && path.ends_with(".h5")) {
      parts.push_back(path);
    }
  }
  if (parts.empty()) {
    return plain_snapshot(storage.contents(crash_path));
  }
  // In memory if there is such a folder: thousands of files are created here.
  static const storage::Scratch scratch(std::filesystem::exists("/dev/shm")
                                            ? "/dev/shm"
                                            : std::filesystem::temp_directory_path().string());
  const std::string folder = scratch / "view";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/" + crash_path + ".parts");
  parts.push_back(crash_path);
  for (const std::string& path : parts) {
    const auto bytes = storage.contents(path);
    std::ofstream(folder + "/" + path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  return plain_set_snapshot(folder + "/" + crash_path);
}

bool is_there(storage::MemoryStorage& storage, const std::string& path) {
  return layout::is_store(storage, path) ? is_store_there(storage, path) : storage.exists(path);
}

Golden golden_of(const std::shared_ptr<storage::MemoryStorage>& storage) {
  Golden golden;
  if (is_there(*storage)) {
    golden.plain = plain_view(*storage);
    try {
      golden.sluice = sluice_snapshot(storage, crash_path);
    } catch (const Error& e) {
      if (e.code() != Code::changed_outside) {
        throw;
      }
    }
  }
  return golden;
}

namespace {

const Shape small{13, 6};

/// `count` steps of one variable.
void write_steps(Writer& w, File& out, Variable v, const Shape& shape, std::uint64_t first,
                 std::uint64_t count) {
  for (std::uint64_t k = first; k < first + count; ++k) {
    Step step = out.begin_step({.time = 0.5 * static_cast<double>(k)});
    w.put(step, v, 100 + k, shape);
    step.end().wait();
    w.committed();
  }
}

void close(Writer& w, File& out) {
  out.close();
  w.committed();
}

void write_file(Writer& w, Mode mode, const Shape& shape, std::uint64_t first,
                std::uint64_t count) {
  File out = w.open(mode);
  const Variable v = out.define<double>("density", shape, w.in_steps());
  write_steps(w, out, v, shape, first, count);
  close(w, out);
}

void write_old(Writer& w) { write_file(w, Mode::write, {7}, 50, 2); }

void fresh(Writer& w) {
  write_file(w, Mode::write, small, 0, 3);
  for (std::uint64_t k = 0; k < 3; ++k) {
    w.expect("density", 100 + k, small, k);
  }
}

void append(Writer& w) {
  File out = w.open(Mode::append);
  const Variable v = out.define<double>("density", {7}, w.in_steps());
  write_steps(w, out, v, {7}, 2, 3);
  close(w, out);
  w.expect("density", 104, {7}, 4);
  w.expect("density", 151, {7}, 1);
}

constexpr std::uint64_t steps_in_flight = 5;

void five_steps(Writer& w) { write_file(w, Mode::write, small, 0, steps_in_flight); }

/// The same; a step is ended while earlier ones are still in flight.
void in_flight(Writer& w) {
  File out = w.open(Mode::write);
  const Variable v = out.define<double>("density", small, w.in_steps());
  std::deque<Ticket> on_way;
  for (std::uint64_t k = 0; k < steps_in_flight; ++k) {
    Step step = out.begin_step({.time = 0.5 * static_cast<double>(k)});
    w.put(step, v, 100 + k, small);
    w.begins();
    on_way.push_back(step.end());
    for (; on_way.size() > 2 && on_way.front().durable(); on_way.pop_front()) {
      w.committed();
    }
  }
  for (; !on_way.empty(); on_way.pop_front()) {
    on_way.front().wait();
    w.committed();
  }
  w.begins();
  close(w, out);
  w.expect("density", 100 + steps_in_flight - 1, small, steps_in_flight - 1);
}

void attributes(Writer& w) {
  File out = w.open(Mode::write);
  const Variable v = out.define<double>("density", small, {.steps = true});
  for (std::uint64_t k = 0; k < 3; ++k) {
    out.set_attribute("", "note", std::string(10 + 300 * k, static_cast<char>('a' + k)));
    out.set_attribute("density", "scale", 0.25 + static_cast<double>(k));
    out.set_attribute("", "list " + std::to_string(k), std::vector<std::int32_t>{1, 2, 3});
    write_steps(w, out, v, small, k, 1);
  }
  out.set_attribute("", "note", std::string("the end"));
  close(w, out);
}

/// The records of the journal have the same form, and one is written over the other: a torn one has
/// that form, too.
void alike(Writer& w) { write_file(w, Mode::write, {7}, 0, 9); }

void late_variable(Writer& w) {
  File out = w.open(Mode::write);
  const Variable early = out.define<double>("density", small, {.steps = true});
  write_steps(w, out, early, small, 0, 1);
  const Variable late = out.define<double>("fields/late/force", {9, 3}, {.steps = true});
  for (std::uint64_t k = 1; k < 3; ++k) {
    Step step = out.begin_step();
    w.put(step, early, 100 + k, small);
    w.put(step, late, 200 + k, {9, 3});
    step.end().wait();
    w.committed();
  }
  close(w, out);
  w.expect("fields/late/force", 202, {9, 3}, 2);
}

void fixed(Writer& w) {
  File out = w.open(Mode::write);
  const Variable x = out.define<double>("grid/x", {40});
  const Variable y = out.define<double>("grid/y", {40}, {.unit = "m"});
  w.put(out, x, 1, {40});
  out.flush().wait();
  w.committed();
  const Variable v = out.define<double>("density", small, {.steps = true});
  write_steps(w, out, v, small, 0, 2);
  w.put(out, y, 2, {40});
  close(w, out);
  w.expect("grid/y", 2, {40}, 0);
}

void larger(Writer& w) {
  const Shape shape{4, 40, 101};  // 4 x 32 KB
  File out = w.open(Mode::write);
  const bool has_chunks = w.options().hdf5_layout == "stacked" && w.options().format != "records";
  const Shape chunk = has_chunks ? Shape{2, 20, 101} : Shape{};
  const Variable v = out.define<double>("field", shape, {.steps = true, .chunk = chunk});
  write_steps(w, out, v, shape, 0, 3);
  close(w, out);
  w.expect("field", 101, shape, 1);
}

void many_variables(Writer& w) {
  File out = w.open(Mode::write);
  std::vector<Variable> all;
  for (int i = 0; i < 6; ++i) {
    all.push_back(
        out.define<double>("v" + std::to_string(i), {5 + std::uint64_t(i)}, {.steps = true}));
  }
  for (std::uint64_t k = 0; k < 3; ++k) {
    Step step = out.begin_step({.time = 1});
    for (std::uint64_t i = 0; i < all.size(); ++i) {
      w.put(step, all[i], 10 * k + i, {5 + i});
    }
    step.end().wait();
    w.committed();
  }
  close(w, out);
}

void partial(Writer& w) {
  const Shape shape{32};
  File out = w.open(Mode::write);
  const Variable v =
      out.define<double>("sparse", shape, {.steps = true, .partial = true, .fill = -1});
  // No rank writes its end.
  const Variable holes = out.define<double>("holes", shape, {.steps = true, .partial = true});
  for (std::uint64_t k = 0; k < 3; ++k) {
    const std::vector<double> own(4, static_cast<double>(k));
    Step step = out.begin_step();
    step.put<double>(v, own.data(), {.start = {8 * std::uint64_t(w.rank())}, .count = {4}});
    if (w.rank() == 1) {
      step.put<double>(holes, own.data(), {.start = {8}, .count = {4}});
    }
    step.end().wait();
    w.committed();
  }
  close(w, out);
}

/// Chunk indexes grow in jumps; one occurs within these steps.
void long_history(Writer& w) { write_file(w, Mode::write, {4}, 0, 37); }

void append_long(Writer& w) {
  File out = w.open(Mode::append);
  const Variable v = out.define<double>("density", {4}, w.in_steps());
  write_steps(w, out, v, {4}, 37, 3);
  close(w, out);
}

/// So many that the journal is full in between; soon after the first 36.
void many_steps(Writer& w) {
  File out = w.open(Mode::write);
  const Variable v = out.define<double>("density", {4}, w.in_steps());
  write_steps(w, out, v, {4}, 0, 36);
  w.promise_begins();
  write_steps(w, out, v, {4}, 36, 14);
  close(w, out);
}

/// A run that continues from the middle of an earlier one.
void restart(Writer& w) {
  w.options().restart_after = 0;
  File out = w.open(Mode::append);
  w.committed();
  const Variable v = out.define<double>("density", {7}, w.in_steps());
  write_steps(w, out, v, {7}, 1, 2);
  close(w, out);
  w.expect("density", 150, {7}, 0);
  w.expect("density", 101, {7}, 1);
}

/// Three runs, one after another: names made, renamed and removed again.
void sessions(Writer& w) {
  write_file(w, Mode::write, small, 0, 2);
  File more = w.open(Mode::append);
  const Variable v = more.define<double>("density", small, w.in_steps());
  write_steps(w, more, v, small, 2, 1);
  close(w, more);
  write_file(w, Mode::write, {21}, 7, 1);
  File last = w.open(Mode::append);
  const Variable u = last.define<double>("density", {21}, w.in_steps());
  write_steps(w, last, u, {21}, 8, 1);
  close(w, last);
}

void at_close(Writer& w) {
  w.options().durability = Durability::close;
  write_file(w, Mode::write, small, 0, 2);
  w.promise_begins();
  // Later writers must not affect what was closed.
  w.options().durability = Durability::step;
  File out = w.open(Mode::append);
  const Variable v = out.define<double>("density", small, w.in_steps());
  write_steps(w, out, v, small, 2, 1);
  close(w, out);
}

/// Lines over the points of each rank, whose numbers change; some ranks have none.
void write_mesh(Writer& w, Mode mode, std::uint64_t first, std::uint64_t count) {
  File out = w.open(mode);
  if (mode == Mode::write) {
    out.set_attribute("VTKHDF", "Type", std::string("UnstructuredGrid"));
  }
  VariableOptions rows = w.in_steps();
  rows.unit = "";
  rows.varying = true;
  const Variable points = out.define<double>("VTKHDF/Points", {40, 3}, rows);
  const Variable ids = out.define<std::int64_t>("VTKHDF/Connectivity", {80}, rows);
  const Variable ends = out.define<std::int64_t>("VTKHDF/Offsets", {44}, rows);
  const Variable types = out.define<std::uint8_t>("VTKHDF/Types", {40}, rows);
  for (std::uint64_t k = first; k < first + count; ++k) {
    const auto rank = static_cast<std::uint64_t>(w.rank());
    const std::uint64_t number = (k + rank) % 4 == 3 ? 0 : (3 * k + rank) % 5 + 1;
    const std::uint64_t cells = number == 0 ? 0 : number - 1;
    const std::vector<double> places(3 * number + 1, static_cast<double>(100 * k + rank));
    std::vector<std::int64_t> pairs(1), offsets(1, 0);
    for (std::uint64_t c = 0; c < cells; ++c) {
      pairs.insert(pairs.end() - 1,
                   {static_cast<std::int64_t>(c), static_cast<std::int64_t>(c + 1)});
      offsets.push_back(offsets.back() + 2);
    }
    const std::vector<std::uint8_t> lines(cells + 1, 3);
    Step step = out.begin_step({.time = 0.5 * static_cast<double>(k)});
    step.put_joined(points, places.data(), number);
    step.put_joined(ids, pairs.data(), 2 * cells);
    step.put_joined(ends, offsets.data(), cells + 1);
    step.put_joined(types, lines.data(), cells);
    step.end().wait();
    w.committed();
  }
  close(w, out);
}

void mesh(Writer& w) { write_mesh(w, Mode::write, 0, 4); }
void append_mesh(Writer& w) { write_mesh(w, Mode::append, 4, 3); }

/// A complete journal of some other file.
void put_strange_journal(storage::MemoryStorage& disk) {
  commit::Journal journal;
  journal.runs.push_back({60, Bytes(8, std::byte{0x5a}), Bytes(8, std::byte{0xa5})});
  disk.put(commit::journal_path(crash_path), journal.to_bytes());
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all{
      {"fresh", {}, fresh},
      {"replace", write_old, fresh},
      {"append", write_old, append},
      {"restart", [](Writer& w) { write_file(w, Mode::write, {7}, 50, 3); }, restart},
      {"attributes", {}, attributes},
      {"late_variable", {}, late_variable},
      {"alike", {}, alike},
      {"fixed", {}, fixed},
      {"larger", {}, larger},
      {"many_variables", {}, many_variables},
      {"partial", {}, partial},
      {"append_long", long_history, append_long},
      {"sessions", {}, sessions},
      {"at_close", {}, at_close},
      {"strange_journal", write_old, fresh, put_strange_journal},
      {"in_flight", {}, in_flight, {}, five_steps},
      {.name = "many_steps", .before = {}, .body = many_steps, .fills_journal = true},
      {.name = "mesh", .before = {}, .body = mesh, .format = "vtkhdf"},
      {.name = "append_mesh", .before = mesh, .body = append_mesh, .format = "vtkhdf"},
  };
  return all;
}

const Scenario& scenario_named(const std::string& name) {
  return *std::find_if(scenarios().begin(), scenarios().end(),
                       [&](const Scenario& scenario) { return scenario.name == name; });
}

}  // namespace sluice::test
