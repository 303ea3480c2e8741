#include "storage/mpiio.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "mpi/process.hpp"
#include "storage/calls.hpp"
#include "storage/forwarding.hpp"
#include "storage/size_limit.hpp"

namespace sluice::storage {

namespace {

/// MPI counts are ints, and implementations differ in their behaviour near the limit.
constexpr std::size_t most_call_bytes = std::size_t{1} << 30;
using Hints = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t most_call_pieces = std::size_t{1} << 16;

Code code_of(int status) {
  switch (mpi::messages().fault(status)) {
    case mpi::Fault::no_such_file:
      return Code::not_found;
    case mpi::Fault::file_exists:
      return Code::exists;
    case mpi::Fault::no_access:
      return Code::permission;
    case mpi::Fault::no_space:
      return Code::no_space;
    default:
      return Code::io;
  }
}

void check(int status, const std::string& path, const std::string& what) {
  if (status == mpi::success) return;
  throw Error(code_of(status),
              path + ": " + what + ": MPI-IO: " + mpi::messages().error_text(status));
}

/// Collective: the error of the lowest rank of `group` that has a `failure`, naming that rank, on
/// every rank of it; none if no rank has one. `rank` is this process's number among all ranks of
/// the program, by which those of `group` are ordered.
std::optional<Error> failure_of_group(mpi::Comm group, int rank,
                                      const std::optional<Error>& failure,
                                      const std::string& path) {
  int status = mpi::success;
  const auto take_highest = [&](std::span<int> values) {
    const std::vector<int> mine(values.begin(), values.end());
    status = mpi::comms().all_max(mine, values, group);
    return status == mpi::success;
  };
  const auto not_agreed = [&]() -> Error {
    if (failure) return *failure;
    return {code_of(status), path + ": agreeing: MPI-IO: " + mpi::messages().error_text(status)};
  };
  // What only the failed rank knows is a maximum over zeros.
  constexpr int last = std::numeric_limits<int>::max();
  int lowest = failure ? last - rank : 0;
  if (!take_highest({&lowest, 1})) return not_agreed();
  if (lowest == 0) return std::nullopt;
  const int failed = last - lowest;
  const bool is_own = failure && failed == rank;
  std::string text = is_own ? failure->what() : "";
  std::array<int, 2> head = {is_own ? static_cast<int>(failure->code()) : 0,
                             static_cast<int>(text.size())};
  if (!take_highest(head)) return not_agreed();
  std::vector<int> letters(static_cast<std::size_t>(head[1]));
  std::transform(text.begin(), text.end(), letters.begin(),
                 [](char letter) { return static_cast<unsigned char>(letter); });
  if (!take_highest(letters)) return not_agreed();
  text = "rank " + std::to_string(failed) + ": ";
  for (const int letter : letters) text.push_back(static_cast<char>(letter));
  return Error(static_cast<Code>(head[0]), text, failed);
}

/// The Error that `work` throws, if any.
template <class Work>
std::optional<Error> error_of(Work&& work) {
  try {
    work();
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return Error(Code::over_budget, "out of memory");
  } catch (const std::exception& e) {
    return Error(Code::internal, e.what());
  }
  return std::nullopt;
}

using Piece = mpi::FilePiece;

/// The pieces that one call takes, from `next` on; long ones are split.
std::vector<Piece> next_call(std::vector<Piece>& pieces, std::size_t& next) {
  std::vector<Piece> call;
  std::size_t room = most_call_bytes;
  while (next < pieces.size() && room > 0 && call.size() < most_call_pieces) {
    Piece& piece = pieces[next];
    const std::size_t taken = std::min(room, piece.bytes);
    if (taken > 0) call.push_back({piece.offset, piece.at, taken});
    room -= taken;
    piece.offset += taken;
    piece.at += taken;
    piece.bytes -= taken;
    if (piece.bytes == 0) ++next;
  }
  return call;
}

class MpiioFile final : public File {
 public:
  /// `comm` is freed with the file unless it is MPI_COMM_SELF. `rank`: of this process among all
  /// ranks. `posix` refers to the same inode.
  MpiioFile(mpi::Comm comm, int rank, std::unique_ptr<File> posix, Access access,
            const Hints& hints)
      : comm_(comm), posix_(std::move(posix)) {
    const int status = mpi::files().open(comm_, path(), access == Access::read, hints, file_);
    auto failure = error_of([&] { check(status, path(), describe(Call::open)); });
    // The call may fail on some ranks alone. Handles of the others stay open then: to close them
    // is a collective call, which would wait for those that have none.
    if (is_collective()) failure = failure_of_group(comm_, rank, failure, path());
    if (failure) {
      free_comm();
      throw Error(*failure);
    }
  }
  MpiioFile(const MpiioFile&) = delete;
  MpiioFile& operator=(const MpiioFile&) = delete;
  ~MpiioFile() override {
    if (mpi::comms().is_finalized()) return;  // MPI has closed its files already
    mpi::files().close(file_);
    free_comm();
  }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    check_range(path(), Call::write, bytes.size(), offset);
    const SizeLimit no_signal;
    for (std::size_t done = 0; done < bytes.size();) {
      const std::size_t piece = std::min(bytes.size() - done, most_call_bytes);
      std::int64_t moved = 0;
      const std::string what = describe(Call::write, bytes.size(), offset);
      // Some MPI-IO implementations read back what they write, whatever the datatypes.
      auto* const at = const_cast<std::byte*>(bytes.data() + done);
      check(mpi::files().write(file_, {offset + done, at, piece}, moved), path(), what);
      check_count(moved, piece, what);
      done += piece;
    }
  }

  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    check_range(path(), Call::read, bytes.size(), offset);
    // Bytes beyond the end are not requested: implementations differ in how they report a short
    // read.
    const std::uint64_t end = size();
    const std::uint64_t there = end > offset ? end - offset : 0;
    bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), there));
    for (std::size_t done = 0; done < bytes.size();) {
      const std::size_t piece = std::min(bytes.size() - done, most_call_bytes);
      std::int64_t moved = 0;
      const std::string what = describe(Call::read, bytes.size(), offset);
      check(mpi::files().read(file_, {offset + done, bytes.data() + done, piece}, moved), path(),
            what);
      check_count(moved, piece, what);
      done += piece;
    }
    return bytes.size();
  }

  void preallocate(std::uint64_t offset, std::uint64_t length) override {
    posix_->preallocate(offset, length);
  }
  void sync() override { posix_->sync(); }
  std::uint64_t size() override { return posix_->size(); }
  void resize(std::uint64_t bytes) override { posix_->resize(bytes); }
  void set_modified_ns(std::int64_t ns) override { posix_->set_modified_ns(ns); }
  std::int64_t modified_ns() override { return posix_->modified_ns(); }
  FileIdentity identity() override { return posix_->identity(); }
  bool is_removed() override { return posix_->is_removed(); }
  void drop_cache() override { posix_->drop_cache(); }
  const std::string& path() const override { return posix_->path(); }

  bool is_collective() const override { return comm_ != mpi::comms().self(); }

  void write_collective(std::span<const WritePiece> pieces) override {
    const SizeLimit no_signal;
    std::vector<Piece> all;
    for (const WritePiece& piece : pieces) {
      all.push_back({piece.offset, const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size()});
    }
    transfer(all, true);
  }

  void read_collective(std::span<const ReadPiece> pieces) override {
    std::vector<Piece> all;
    std::uint64_t end = 0;
    std::exception_ptr failure;
    try {
      end = size();
    } catch (...) {
      failure = std::current_exception();  // after the call, which the others are in
    }
    std::string trouble;
    for (const ReadPiece& piece : pieces) {
      // Bytes beyond the end are not requested: collective calls of some implementations count
      // them, too.
      if (piece.offset > end || end - piece.offset < piece.bytes.size()) {
        trouble = "ends at " + std::to_string(end) + ", before the end of a read of " +
                  std::to_string(piece.bytes.size()) + " bytes at " + std::to_string(piece.offset);
        continue;
      }
      all.push_back({piece.offset, piece.bytes.data(), piece.bytes.size()});
    }
    transfer(all, false);
    if (failure) std::rethrow_exception(failure);
    if (!trouble.empty()) throw Error(Code::truncated, path() + ": " + trouble);
  }

 private:
  void check_count(std::int64_t moved, std::size_t bytes, const std::string& what) const {
    if (moved != static_cast<std::int64_t>(bytes)) {
      throw Error(Code::io,
                  path() + ": " + what + ": MPI-IO moved only " + std::to_string(moved) + " bytes");
    }
  }

  /// Collective: as many calls as the rank with the most pieces needs. A failure is thrown at the
  /// end, so that the others do not wait.
  void transfer(std::vector<Piece>& pieces, bool is_write) {
    std::size_t next = 0;
    std::string trouble;
    Code code = Code::ok;
    while (true) {
      const std::vector<Piece> call = next_call(pieces, next);
      // Does any rank have bytes left, and does any have more than one piece?
      const int most = call.empty() ? 0 : next < pieces.size() || call.size() > 1 ? 2 : 1;
      int of_all = 0;
      check(mpi::comms().all_max({&most, 1}, {&of_all, 1}, comm_), path(), "agreeing");
      if (of_all == 0) break;
      try {
        move(call, of_all == 1, is_write);
      } catch (const Error& e) {
        trouble = trouble.empty() ? e.what() : trouble;
        code = code == Code::ok ? e.code() : code;
      }
    }
    if (code != Code::ok) throw Error(code, trouble);
  }

  /// `as_one`: no rank has more than one piece.
  void move(const std::vector<Piece>& call, bool as_one, bool is_write) {
    std::size_t bytes = 0;
    for (const Piece& piece : call) bytes += piece.bytes;
    const std::string what = std::string(is_write ? "write" : "read") + " of " +
                             std::to_string(bytes) + " bytes together";
    std::int64_t moved = 0;
    mpi::Files& files = mpi::files();
    const Piece only = as_one && !call.empty() ? call[0] : Piece{};
    const int status = !as_one    ? files.move_scattered(file_, call, is_write, moved)
                       : is_write ? files.write_collective(file_, only, moved)
                                  : files.read_collective(file_, only, moved);
    check(status, path(), what);
    if (!call.empty()) check_count(moved, bytes, what);
  }

  void free_comm() {
    if (comm_ != mpi::comms().self()) mpi::comms().free(comm_);
  }

  mpi::Comm comm_;
  const std::unique_ptr<File> posix_;
  mpi::FileHandle file_;
};

/// Names and everything else that is not data are posix.
class MpiioStorage final : public ForwardingStorage {
 public:
  MpiioStorage(mpi::Comm comm, Hints hints)
      : ForwardingStorage(make_posix()), hints_(std::move(hints)) {
    mpi::comms().duplicate(comm, comm_);
    mpi::comms().return_errors(comm_);
  }
  MpiioStorage(const MpiioStorage&) = delete;
  MpiioStorage& operator=(const MpiioStorage&) = delete;
  ~MpiioStorage() override {
    if (!mpi::comms().is_finalized()) mpi::comms().free(comm_);
  }

  std::unique_ptr<File> open(const std::string& path, Access access) override {
    return std::make_unique<MpiioFile>(mpi::comms().self(), 0, inner().open(path, access), access,
                                       hints_);
  }

  std::unique_ptr<File> open_together(const std::string& path, Access access,
                                      bool takes_part) override {
    mpi::Comm group;
    check(mpi::comms().split(comm_, takes_part ? 0 : -1, 0, group), path, "splitting");
    if (!takes_part) return nullptr;
    std::unique_ptr<File> posix;
    const int rank = mpi::comms().rank(comm_);
    const auto own = error_of([&] { posix = inner().open(path, access); });
    // The file is opened by all or by none.
    if (const auto failure = failure_of_group(group, rank, own, path)) {
      mpi::comms().free(group);
      throw Error(*failure);
    }
    return std::make_unique<MpiioFile>(group, rank, std::move(posix), access, hints_);
  }

  std::unique_ptr<File> create_like(const std::string& path, const std::string& model) override {
    inner().create_like(path, model);
    return open(path, Access::read_write);
  }
  bool in_background() const override { return false; }
  int ranks_together() const override { return mpi::comms().size(comm_); }
  const char* name() const override { return "mpiio"; }

 private:
  mpi::Comm comm_;
  const Hints hints_;
};

Hints parse(const std::string& hints) {
  Hints pairs;
  for (std::size_t at = 0; at < hints.size();) {
    const std::size_t end = std::min(hints.find(',', at), hints.size());
    const std::string hint = hints.substr(at, end - at);
    const std::size_t equals = hint.find('=');
    const bool is_good = equals != std::string::npos && equals > 0 && equals + 1 < hint.size() &&
                         equals <= mpi::files().hint_key_limit() &&
                         hint.size() - equals <= mpi::files().hint_value_limit();
    if (!is_good) {
      throw Error(Code::invalid_argument,
                  "hints: \"" + hint + "\" is not key=value (separate several by commas)");
    }
    pairs.emplace_back(hint.substr(0, equals), hint.substr(equals + 1));
    at = end + 1;
  }
  return pairs;
}

}  // namespace

std::shared_ptr<Storage> make_mpiio(const Comm& comm, const std::string& hints) {
  mpi::use(comm);
  return std::make_shared<MpiioStorage>(mpi::take(comm), parse(hints));
}

}  // namespace sluice::storage
