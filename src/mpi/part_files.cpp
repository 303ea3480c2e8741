// The part of one ABI: MPI-IO.
#include <vector>

#include "mpi/bound.hpp"

namespace sluice::mpi::SLUICE_MPI_PART {

namespace {

/// MPI_Info of hints, freed at the end of the scope.
class Info {
 public:
  explicit Info(const std::vector<std::pair<std::string, std::string>>& hints) {
    if (hints.empty()) {
      return;
    }
    f.Info_create(&info_);
    for (const auto& [key, value] : hints) {
      f.Info_set(info_, key.c_str(), value.c_str());
    }
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  ~Info() {
    if (info_ != MPI_INFO_NULL) {
      f.Info_free(&info_);
    }
  }
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// A byte type of scattered blocks, freed at the end of the scope; MPI_BYTE if the blocks are
/// contiguous.
class Scatter {
 public:
  Scatter(const std::vector<int>& lengths, const std::vector<MPI_Aint>& places) {
    if (lengths.empty()) {
      return;
    }
    f.Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                           MPI_BYTE, &type_);
    f.Type_commit(&type_);
  }
  Scatter(const Scatter&) = delete;
  Scatter& operator=(const Scatter&) = delete;
  ~Scatter() {
    if (type_ != MPI_BYTE) {
      f.Type_free(&type_);
    }
  }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_BYTE;
};

/// The number of bytes that a call has moved.
int count_of(int result, const MPI_Status& status, MPI_Datatype type, std::int64_t& moved) {
  MPI_Count bytes = 0;
  if (result == MPI_SUCCESS) {
    f.Get_elements_x(&status, type, &bytes);
  }
  moved = static_cast<std::int64_t>(bytes);
  return result;
}

class BoundFiles final : public Files {
 public:
  std::size_t hint_key_limit() override { return MPI_MAX_INFO_KEY; }
  std::size_t hint_value_limit() override { return MPI_MAX_INFO_VAL; }
  int open(Comm comm, const std::string& path, bool reads_only,
           const std::vector<std::pair<std::string, std::string>>& hints,
           FileHandle& file) override {
    const Info info(hints);
    return f.File_open(native_of<MPI_Comm>(comm), path.c_str(),
                       reads_only ? MPI_MODE_RDONLY : MPI_MODE_RDWR, info.get(),
                       place_of<MPI_File>(file));
  }
  int close(FileHandle& file) override { return f.File_close(place_of<MPI_File>(file)); }

  int write(FileHandle file, const FilePiece& piece, std::int64_t& moved) override {
    return one(f.File_write_at, file, piece, moved);
  }
  int read(FileHandle file, const FilePiece& piece, std::int64_t& moved) override {
    return one(f.File_read_at, file, piece, moved);
  }
  int write_collective(FileHandle file, const FilePiece& piece, std::int64_t& moved) override {
    return one(f.File_write_at_all, file, piece, moved);
  }
  int read_collective(FileHandle file, const FilePiece& piece, std::int64_t& moved) override {
    return one(f.File_read_at_all, file, piece, moved);
  }

  int move_scattered(FileHandle file, std::span<const FilePiece> pieces, bool is_write,
                     std::int64_t& moved) override {
    std::vector<int> lengths;
    std::vector<MPI_Aint> in_file;
    std::vector<MPI_Aint> in_memory;
    for (const FilePiece& piece : pieces) {
      lengths.push_back(static_cast<int>(piece.bytes));
      in_file.push_back(static_cast<MPI_Aint>(piece.offset));
      f.Get_address(piece.at, &in_memory.emplace_back());
    }
    const Scatter file_type(lengths, in_file);
    const Scatter memory_type(lengths, in_memory);
    const auto native = native_of<MPI_File>(file);
    int result = f.File_set_view(native, 0, MPI_BYTE, file_type.get(), "native", MPI_INFO_NULL);
    if (result != MPI_SUCCESS) {
      return result;
    }
    MPI_Status status;
    const int count = pieces.empty() ? 0 : 1;
    result = is_write
                 ? f.File_write_at_all(native, 0, MPI_BOTTOM, count, memory_type.get(), &status)
                 : f.File_read_at_all(native, 0, MPI_BOTTOM, count, memory_type.get(), &status);
    moved = 0;
    if (count > 0) {
      count_of(result, status, memory_type.get(), moved);
    }
    const int reset = f.File_set_view(native, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    return result != MPI_SUCCESS ? result : reset;
  }

 private:
  template <class Transfer>
  static int one(Transfer transfer, FileHandle file, const FilePiece& piece, std::int64_t& moved) {
    MPI_Status status;
    const int result = transfer(native_of<MPI_File>(file), static_cast<MPI_Offset>(piece.offset),
                                piece.at, static_cast<int>(piece.bytes), MPI_BYTE, &status);
    moved = 0;
    return piece.bytes == 0 ? result : count_of(result, status, MPI_BYTE, moved);
  }
};

}  // namespace

Files& files() {
  static BoundFiles one;
  return one;
}

}  // namespace sluice::mpi::SLUICE_MPI_PART
