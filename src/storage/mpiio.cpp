#include "storage/mpiio.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/calls.hpp"
#include "storage/size_limit.hpp"

namespace sluice::storage {

namespace {

/// Both are in range: check_range() has seen them.
MPI_Offset to_offset(std::uint64_t offset, std::size_t done) {
  return static_cast<MPI_Offset>(offset) + static_cast<MPI_Offset>(done);
}

/// MPI counts are ints, and libraries differ in what they do near their end.
constexpr std::size_t most_call_bytes = std::size_t{1} << 30;
constexpr std::size_t most_call_pieces = std::size_t{1} << 16;

Code code_of(int status) {
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(status, &error_class);
  switch (error_class) {
    case MPI_ERR_NO_SUCH_FILE:
      return Code::not_found;
    case MPI_ERR_FILE_EXISTS:
      return Code::exists;
    case MPI_ERR_ACCESS:
    case MPI_ERR_READ_ONLY:
      return Code::permission;
    case MPI_ERR_NO_SPACE:
    case MPI_ERR_QUOTA:
      return Code::no_space;
    default:
      return Code::io;
  }
}

void check(int status, const std::string& path, const std::string& what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(code_of(status), path + ": " + what + ": MPI-IO: " + text);
}

/// Owned for a scope.
class Info {
 public:
  explicit Info(const std::vector<std::pair<std::string, std::string>>& hints) {
    if (hints.empty()) return;
    MPI_Info_create(&info_);
    for (const auto& [key, value] : hints) MPI_Info_set(info_, key.c_str(), value.c_str());
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  ~Info() {
    if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
  }
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// A byte type of scattered blocks, owned for a scope; one contiguous MPI_BYTE where there is none.
class Scatter {
 public:
  Scatter(std::vector<int> lengths, std::vector<MPI_Aint> places) {
    if (lengths.empty()) return;
    MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                             MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  Scatter(const Scatter&) = delete;
  Scatter& operator=(const Scatter&) = delete;
  ~Scatter() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);
  }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_BYTE;
};

/// A piece whose address may be read or written.
struct Piece {
  std::uint64_t offset = 0;
  std::byte* at = nullptr;
  std::size_t bytes = 0;
};

/// Those of `pieces` that one call takes, from `next` on, cut where they are too long.
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
  /// `comm` is freed with the file unless it is MPI_COMM_SELF. `posix` is the same inode.
  MpiioFile(MPI_Comm comm, std::unique_ptr<File> posix, Access access, MPI_Info info)
      : comm_(comm), posix_(std::move(posix)) {
    const int mode = access == Access::read ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
    const int status = MPI_File_open(comm_, path().c_str(), mode, info, &file_);
    if (status != MPI_SUCCESS) {
      free_comm();
      check(status, path(), describe(Call::open));
    }
  }
  MpiioFile(const MpiioFile&) = delete;
  MpiioFile& operator=(const MpiioFile&) = delete;
  ~MpiioFile() override {
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (is_over != 0) return;  // MPI took its files with it
    MPI_File_close(&file_);
    free_comm();
  }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    check_range(path(), Call::write, bytes.size(), offset);
    const SizeLimit no_signal;
    for (std::size_t done = 0; done < bytes.size();) {
      const std::size_t piece = std::min(bytes.size() - done, most_call_bytes);
      MPI_Status status;
      const std::string what = describe(Call::write, bytes.size(), offset);
      check(MPI_File_write_at(file_, to_offset(offset, done), bytes.data() + done,
                              static_cast<int>(piece), MPI_BYTE, &status),
            path(), what);
      check_count(status, MPI_BYTE, piece, what);
      done += piece;
    }
  }

  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    check_range(path(), Call::read, bytes.size(), offset);
    // What lies beyond the end is not asked for: libraries differ in how they say that it is short.
    const std::uint64_t end = size();
    const std::uint64_t there = end > offset ? end - offset : 0;
    bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), there));
    for (std::size_t done = 0; done < bytes.size();) {
      const std::size_t piece = std::min(bytes.size() - done, most_call_bytes);
      MPI_Status status;
      const std::string what = describe(Call::read, bytes.size(), offset);
      check(MPI_File_read_at(file_, to_offset(offset, done), bytes.data() + done,
                             static_cast<int>(piece), MPI_BYTE, &status),
            path(), what);
      check_count(status, MPI_BYTE, piece, what);
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
  void drop_cache() override { posix_->drop_cache(); }
  const std::string& path() const override { return posix_->path(); }

  bool is_collective() const override { return comm_ != MPI_COMM_SELF; }

  void write_collective(std::span<const WritePiece> pieces) override {
    const SizeLimit no_signal;
    std::vector<Piece> all;
    for (const WritePiece& piece : pieces) {
      // MPI-IO only reads what it writes, whatever its datatypes ask for.
      all.push_back({piece.offset, const_cast<std::byte*>(piece.bytes.data()), piece.bytes.size()});
    }
    transfer(all, true);
  }

  void read_collective(std::span<const ReadPiece> pieces) override {
    std::vector<Piece> all;
    const std::uint64_t end = size();
    std::string trouble;
    for (const ReadPiece& piece : pieces) {
      // Not asked for: the collective calls of some libraries count what lies beyond the end, too.
      if (piece.offset > end || end - piece.offset < piece.bytes.size()) {
        trouble = "ends at " + std::to_string(end) + ", too early for a read of " +
                  std::to_string(piece.bytes.size()) + " bytes at " + std::to_string(piece.offset);
        continue;
      }
      all.push_back({piece.offset, piece.bytes.data(), piece.bytes.size()});
    }
    transfer(all, false);
    if (!trouble.empty()) throw Error(Code::truncated, path() + ": " + trouble);
  }

 private:
  void check_count(const MPI_Status& status, MPI_Datatype type, std::size_t bytes,
                   const std::string& what) const {
    MPI_Count moved = 0;
    MPI_Get_elements_x(&status, type, &moved);
    if (moved != static_cast<MPI_Count>(bytes)) {
      throw Error(Code::io,
                  path() + ": " + what + ": MPI-IO moved only " + std::to_string(moved) + " bytes");
    }
  }

  /// Collective: as many calls as the rank with most pieces needs. A failure is thrown at the end,
  /// so that the others do not wait.
  void transfer(std::vector<Piece>& pieces, bool is_write) {
    std::size_t next = 0;
    std::string trouble;
    Code code = Code::ok;
    while (true) {
      const std::vector<Piece> call = next_call(pieces, next);
      // Is anybody left with bytes, and has anybody more than one piece?
      int most = call.empty() ? 0 : next < pieces.size() || call.size() > 1 ? 2 : 1;
      int of_all = 0;
      check(MPI_Allreduce(&most, &of_all, 1, MPI_INT, MPI_MAX, comm_), path(), "agreeing");
      if (of_all == 0) break;
      try {
        of_all == 1 ? one_piece(call, is_write) : by_view(call, is_write);
      } catch (const Error& e) {
        trouble = trouble.empty() ? e.what() : trouble;
        code = code == Code::ok ? e.code() : code;
      }
    }
    if (code != Code::ok) throw Error(code, trouble);
  }

  void one_piece(const std::vector<Piece>& call, bool is_write) {
    const Piece piece = call.empty() ? Piece{} : call[0];
    move(static_cast<MPI_Offset>(piece.offset), piece.at, static_cast<int>(piece.bytes), MPI_BYTE,
         piece.bytes, is_write);
  }

  void by_view(const std::vector<Piece>& call, bool is_write) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> in_file;
    std::vector<MPI_Aint> in_memory;
    std::size_t bytes = 0;
    for (const Piece& piece : call) {
      lengths.push_back(static_cast<int>(piece.bytes));
      in_file.push_back(static_cast<MPI_Aint>(piece.offset));
      in_memory.emplace_back();
      MPI_Get_address(piece.at, &in_memory.back());
      bytes += piece.bytes;
    }
    const Scatter file_type(lengths, in_file);
    const Scatter memory_type(lengths, in_memory);
    check(MPI_File_set_view(file_, 0, MPI_BYTE, file_type.get(), "native", MPI_INFO_NULL), path(),
          "setting the view");
    std::exception_ptr failure;
    try {
      move(0, MPI_BOTTOM, call.empty() ? 0 : 1, memory_type.get(), bytes, is_write);
    } catch (...) {
      failure = std::current_exception();
    }
    check(MPI_File_set_view(file_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), path(),
          "setting the view");
    if (failure) std::rethrow_exception(failure);
  }

  void move(MPI_Offset offset, void* at, int count, MPI_Datatype type, std::size_t bytes,
            bool is_write) {
    MPI_Status status;
    const std::string what = std::string(is_write ? "write" : "read") + " of " +
                             std::to_string(bytes) + " bytes together";
    check(is_write ? MPI_File_write_at_all(file_, offset, at, count, type, &status)
                   : MPI_File_read_at_all(file_, offset, at, count, type, &status),
          path(), what);
    if (count > 0) check_count(status, type, bytes, what);
  }

  void free_comm() {
    if (comm_ != MPI_COMM_SELF) MPI_Comm_free(&comm_);
  }

  MPI_Comm comm_;
  const std::unique_ptr<File> posix_;
  MPI_File file_ = MPI_FILE_NULL;
};

class MpiioStorage final : public Storage {
 public:
  MpiioStorage(MPI_Comm comm, std::vector<std::pair<std::string, std::string>> hints)
      : hints_(std::move(hints)) {
    MPI_Comm_dup(comm, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  MpiioStorage(const MpiioStorage&) = delete;
  MpiioStorage& operator=(const MpiioStorage&) = delete;
  ~MpiioStorage() override {
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (is_over == 0) MPI_Comm_free(&comm_);
  }

  std::unique_ptr<File> open(const std::string& path, Access access) override {
    const Info info(hints_);
    return std::make_unique<MpiioFile>(MPI_COMM_SELF, posix_->open(path, access), access,
                                       info.get());
  }

  std::unique_ptr<File> open_together(const std::string& path, Access access,
                                      bool takes_part) override {
    MPI_Comm group = MPI_COMM_NULL;
    check(MPI_Comm_split(comm_, takes_part ? 0 : MPI_UNDEFINED, 0, &group), path, "splitting");
    if (!takes_part) return nullptr;
    std::unique_ptr<File> posix;
    std::exception_ptr failure;
    try {
      posix = posix_->open(path, access);
    } catch (...) {
      failure = std::current_exception();
    }
    // MPI_File_open is entered by all or by none.
    int is_bad = failure ? 1 : 0;
    int any_bad = 0;
    MPI_Allreduce(&is_bad, &any_bad, 1, MPI_INT, MPI_MAX, group);
    if (any_bad != 0) {
      MPI_Comm_free(&group);
      if (failure) std::rethrow_exception(failure);
      throw Error(Code::io, path + ": open: another rank could not open it");
    }
    const Info info(hints_);
    return std::make_unique<MpiioFile>(group, std::move(posix), access, info.get());
  }

  std::unique_ptr<File> create_like(const std::string& path, const std::string& model) override {
    posix_->create_like(path, model);
    return open(path, Access::read_write);
  }
  std::string real_path(const std::string& path) override { return posix_->real_path(path); }
  void confine(const std::string& top) override { posix_->confine(top); }
  bool exists(const std::string& path) override { return posix_->exists(path); }
  void rename(const std::string& from, const std::string& to) override { posix_->rename(from, to); }
  void remove(const std::string& path) override { posix_->remove(path); }
  bool is_link(const std::string& path) override { return posix_->is_link(path); }
  bool remove_if(const std::string& path,
                 const std::function<bool(std::unique_ptr<File>)>& is_meant) override {
    return posix_->remove_if(path, is_meant);
  }
  void remove_folder(const std::string& path) override { posix_->remove_folder(path); }
  void make_folder(const std::string& path) override { posix_->make_folder(path); }
  void make_folder_like(const std::string& path, const std::string& model) override {
    posix_->make_folder_like(path, model);
  }
  void sync_directory(const std::string& path) override { posix_->sync_directory(path); }
  std::unique_ptr<Lease> lease(const std::string& path) override { return posix_->lease(path); }
  FileSystemFacts file_system(const std::string& path) override {
    return posix_->file_system(path);
  }
  int ranks_together() const override {
    int ranks = 0;
    MPI_Comm_size(comm_, &ranks);
    return ranks;
  }
  const char* name() const override { return "mpiio"; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  const std::vector<std::pair<std::string, std::string>> hints_;
  const std::shared_ptr<Storage> posix_ = make_posix();
};

std::vector<std::pair<std::string, std::string>> parse(const std::string& hints) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t at = 0; at < hints.size();) {
    const std::size_t end = std::min(hints.find(',', at), hints.size());
    const std::string hint = hints.substr(at, end - at);
    const std::size_t equals = hint.find('=');
    const bool is_good = equals != std::string::npos && equals > 0 && equals + 1 < hint.size() &&
                         equals <= MPI_MAX_INFO_KEY && hint.size() - equals <= MPI_MAX_INFO_VAL;
    if (!is_good) {
      throw Error(Code::invalid_argument,
                  "hints: \"" + hint + "\" is not key=value (several are parted by commas)");
    }
    pairs.emplace_back(hint.substr(0, equals), hint.substr(equals + 1));
    at = end + 1;
  }
  return pairs;
}

}  // namespace

std::shared_ptr<Storage> make_mpiio(MPI_Comm comm, const std::string& hints) {
  return std::make_shared<MpiioStorage>(comm, parse(hints));
}

}  // namespace sluice::storage
