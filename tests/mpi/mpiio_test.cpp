// Storage mpiio: what every storage must do, and collective calls of several ranks.
#include "storage/mpiio.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <mpi.h>
#include <numeric>

#include "exec/transport/mpi_transport.hpp"
#include "storage/scratch.hpp"

namespace sluice::storage {
namespace {

/// A folder that all ranks know, and their storage in it.
class Mpiio : public testing::Test {
 protected:
  Mpiio() : all_(exec::make_mpi(MPI_COMM_WORLD, 60)) {
    std::vector<std::byte> folder;
    if (all_->rank() == 0) {
      scratch_ = std::make_unique<Scratch>();
      folder = bytes_of(scratch_->folder());
    }
    all_->broadcast(folder, 0);
    folder_ = text_of(folder);
    storage_ = make_mpiio(MPI_COMM_WORLD, "cb_nodes=1,romio_cb_write=enable");
  }
  ~Mpiio() override { all_->barrier(); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  int rank() const { return all_->rank(); }
  int size() const { return all_->size(); }
  /// A file of `bytes` bytes that every rank can open; made by rank 0.
  std::string made(const std::string& name, const std::vector<std::byte>& content) {
    if (rank() == 0) {
      make_posix()->open(path(name), Access::create)->write(0, content);
    }
    all_->barrier();
    return path(name);
  }
  std::vector<std::byte> all_of(const std::string& name) {
    all_->barrier();
    const auto file = make_posix()->open(name, Access::read);
    std::vector<std::byte> bytes(file->size());
    EXPECT_EQ(file->read(0, bytes), bytes.size());
    return bytes;
  }

  std::unique_ptr<exec::Transport> all_;
  std::unique_ptr<Scratch> scratch_;
  std::string folder_;
  std::shared_ptr<Storage> storage_;
};

TEST_F(Mpiio, each_rank_writes_and_reads_by_itself) {
  const std::string name = made("own", {});
  EXPECT_FALSE(storage_->may_have_names(name)) << "one look shows that it is no store";
  EXPECT_TRUE(storage_->may_have_names(folder_));
  EXPECT_FALSE(storage_->in_background());
  const auto mine = random_bytes(5'000, static_cast<std::uint64_t>(rank()) + 1);
  const auto file = storage_->open(name, Access::read_write);
  EXPECT_FALSE(file->is_collective());
  const std::uint64_t at = (1ULL << 33) + static_cast<std::uint64_t>(rank()) * 5'000;
  file->write(at, mine);
  file->sync();
  all_->barrier();
  EXPECT_EQ(file->size(), (1ULL << 33) + static_cast<std::uint64_t>(size()) * 5'000);
  std::vector<std::byte> got(5'000);
  EXPECT_EQ(file->read(at, got), got.size());
  EXPECT_EQ(got, mine);
  // Short at the end, nothing beyond it.
  std::vector<std::byte> more(9'000);
  EXPECT_EQ(file->read(file->size() - 100, more), 100u);
  EXPECT_EQ(file->read(file->size() + 7, more), 0u);
}

TEST_F(Mpiio, other_verbs_are_those_of_posix) {
  if (rank() != 0) {
    return;
  }
  EXPECT_FALSE(storage_->exists(path("a")));
  {
    const auto file = storage_->open(path("a"), Access::create);
    file->preallocate(0, 10'000);
    EXPECT_EQ(file->size(), 10'000u);
    file->resize(100);
    file->set_modified_ns(1'000'000'000'000'000'007);
    EXPECT_EQ(file->modified_ns(), 1'000'000'000'000'000'007);
    EXPECT_EQ(file->path(), path("a"));
    EXPECT_EQ(file->identity(), make_posix()->open(path("a"), Access::read)->identity());
    EXPECT_FALSE(file->is_removed());
  }
  storage_->rename(path("a"), path("b"));
  storage_->sync_directory(path("b"));
  EXPECT_TRUE(storage_->exists(path("b")));
  storage_->remove(path("b"));
  EXPECT_FALSE(storage_->exists(path("b")));
  EXPECT_FALSE(storage_->in_background()) << "MPI calls are made by one thread";
}

void expect_code(Code code, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
  }
}

TEST_F(Mpiio, errors_have_their_codes) {
  const std::string name = made("there", bytes_of("x"));
  expect_code(Code::not_found, [&] { storage_->open(path("none"), Access::read); });
  expect_code(Code::exists, [&] { storage_->open(name, Access::create); });
  const auto file = storage_->open(name, Access::read);
  EXPECT_THROW(file->write(0, bytes_of("y")), Error);
  expect_code(Code::invalid_argument, [] { make_mpiio(MPI_COMM_WORLD, "cb_nodes"); });
  expect_code(Code::invalid_argument, [] { make_mpiio(MPI_COMM_WORLD, "cb_nodes=1,,x=2"); });
  expect_code(Code::invalid_argument, [] { make_mpiio(MPI_COMM_WORLD, "=1"); });
}

TEST_F(Mpiio, opened_together_by_some) {
  EXPECT_EQ(storage_->ranks_together(), size());
  const std::string name = made("some", {});
  const bool takes_part = rank() % 2 == 0;
  const auto file = storage_->open_together(name, Access::read_write, takes_part);
  EXPECT_EQ(file != nullptr, takes_part);
  if (file) {
    EXPECT_TRUE(file->is_collective());
    const std::vector<std::byte> mine(100, static_cast<std::byte>(rank() + 1));
    const WritePiece piece{static_cast<std::uint64_t>(rank()) * 100, mine};
    file->write_collective({&piece, 1});
  }
  // MPI leaves open the value of bytes between two writes that were never written.
  const auto bytes = all_of(name);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t writer = i / 100;
    ASSERT_TRUE(writer % 2 != 0 || bytes[i] == static_cast<std::byte>(writer + 1)) << i;
  }
}

TEST_F(Mpiio, a_rank_that_cannot_open_stops_all) {
  const std::string name = path(rank() == size() - 1 ? "missing" : "present");
  made("present", {});
  EXPECT_THROW(storage_->open_together(name, Access::read_write, true), Error);
}

TEST_F(Mpiio, pieces_of_different_number_and_length) {
  // Interleaved records of 1 .. ranks pieces; the last rank has none.
  constexpr std::uint64_t slot = 700;
  constexpr std::uint64_t slots = 40;
  const std::string name = made("pieces", std::vector<std::byte>(slots * slot));
  const auto file = storage_->open_together(name, Access::read_write, true);
  const auto owner = [&](std::uint64_t s) { return static_cast<int>(s * s % 7) % size(); };
  const auto content = [&](std::uint64_t s) { return random_bytes(slot - s * 3, s + 1); };
  std::vector<std::vector<std::byte>> held;
  std::vector<WritePiece> pieces;
  for (std::uint64_t s = 0; s < slots; ++s) {
    const bool is_mine = owner(s) == rank() && (rank() != size() - 1 || size() == 1);
    if (is_mine) {
      held.push_back(content(s));
      pieces.push_back({s * slot, held.back()});
    }
  }
  file->write_collective(pieces);
  file->write_collective({});  // all with nothing is fine too
  const auto bytes = all_of(name);
  for (std::uint64_t s = 0; s < slots; ++s) {
    const bool is_there = owner(s) != size() - 1 || size() == 1;
    const auto expected = is_there ? content(s) : std::vector<std::byte>(slot - s * 3);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(),
                           bytes.begin() + static_cast<std::ptrdiff_t>(s * slot)))
        << "slot " << s;
  }
  // And back: every rank reads other pieces than it wrote.
  std::vector<std::vector<std::byte>> got;
  std::vector<ReadPiece> wanted;
  for (std::uint64_t s = 0; s < slots; ++s) {
    if (static_cast<int>(s) % size() == rank()) {
      got.emplace_back(slot);
    }
  }
  std::size_t next = 0;
  for (std::uint64_t s = 0; s < slots; ++s) {
    if (static_cast<int>(s) % size() == rank()) {
      wanted.push_back({s * slot, got[next++]});
    }
  }
  file->read_collective(wanted);
  for (const ReadPiece& piece : wanted) {
    ASSERT_TRUE(std::equal(piece.bytes.begin(), piece.bytes.end(),
                           bytes.begin() + static_cast<std::ptrdiff_t>(piece.offset)));
  }
}

TEST_F(Mpiio, a_read_beyond_the_end_is_an_error) {
  const auto content = random_bytes(1'000, 3);
  const std::string name = made("short", content);
  const auto file = storage_->open_together(name, Access::read, true);
  std::vector<std::byte> inside(600);
  std::vector<std::byte> beyond(600);
  std::vector<ReadPiece> pieces{{200, inside}};
  if (rank() == 0) {
    pieces.push_back({700, beyond});
    expect_code(Code::truncated, [&] { file->read_collective(pieces); });
  } else {
    file->read_collective(pieces);  // does not wait, and gets what it requested
  }
  EXPECT_TRUE(std::equal(inside.begin(), inside.end(), content.begin() + 200));
}

TEST_F(Mpiio, more_than_two_gib_in_one_call) {
  const char* is_long = std::getenv("SLUICE_LONG");
  if (is_long == nullptr || std::string(is_long) != "1") {
    GTEST_SKIP() << "takes 2 GiB of memory and disk: SLUICE_LONG=1";
  }
  const std::string name = made("large", {});
  const auto file = storage_->open_together(name, Access::read_write, true);
  constexpr std::uint64_t count = (2ULL << 30) + 12'345;
  std::vector<std::byte> bytes(rank() == 0 ? count : 3);
  bytes.back() = std::byte{9};
  bytes.front() = std::byte{7};
  const WritePiece piece{rank() == 0 ? 0 : count + 3 * static_cast<std::uint64_t>(rank()), bytes};
  file->write_collective({&piece, 1});
  all_->barrier();
  std::vector<std::byte> end(1);
  EXPECT_EQ(file->read(count - 1, end), 1u);
  EXPECT_EQ(end[0], std::byte{9});
  if (rank() == 0) {
    std::fill(bytes.begin(), bytes.end(), std::byte{1});
    EXPECT_EQ(file->read(0, bytes), count);
    EXPECT_EQ(bytes.front(), std::byte{7});
    EXPECT_EQ(bytes.back(), std::byte{9});
    file->write(0, bytes);
  }
}

}  // namespace
}  // namespace sluice::storage
