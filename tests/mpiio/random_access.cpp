// Random views and accesses of all ranks, against a model of the file in memory.
//
// random_access FILE SEED CASES: each case sets a view of random datatypes (the same random numbers
// on all ranks, so each knows what all do), writes, and reads back, by one of the calls of MPI-IO;
// memory is described by random datatypes too. At the end of each case every rank compares the
// whole file. Exits with 1 where anything differs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "random_types.hpp"

namespace {

using random_types::Bytes;
using random_types::Random;
using random_types::Type;

int own_rank = 0;
int ranks = 1;
int failures = 0;
std::string what;  // the case at hand, for messages

void expect(bool is_true, const std::string& claim) {
  if (!is_true) {
    ++failures;
    if (failures < 20) {
      std::fprintf(stderr, "rank %d: %s: %s\n", own_rank, what.c_str(), claim.c_str());
    }
  }
}
void need(int result, const char* call) {
  if (result != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(result, text, &length);
    expect(false, std::string(call) + ": " + text);
  }
}

/// The file as it must be.
struct Model {
  std::vector<unsigned char> bytes;
  void put(std::int64_t at, unsigned char value) {
    if (at >= static_cast<std::int64_t>(bytes.size())) {
      bytes.resize(static_cast<std::size_t>(at) + 1, 0);
    }
    bytes[static_cast<std::size_t>(at)] = value;
  }
};

struct View {
  std::int64_t disp = 0;
  Type type;
  std::int64_t offset_of(std::int64_t stream) const {
    return disp + stream / type.size() * type.extent + type.bytes[stream % type.size()];
  }
};

/// A buffer of `count` types, where its bytes are taken in the order of the type map.
struct Memory {
  Type type;
  int count = 0;
  std::vector<unsigned char> room;
  std::int64_t origin = 0;

  std::int64_t size() const { return count * type.size(); }
  std::int64_t place(std::int64_t stream) const {
    return origin + stream / type.size() * type.extent + type.bytes[stream % type.size()];
  }
  void* base() { return room.data() + origin; }
};

unsigned char value_of(int number, int rank, std::int64_t place) {
  std::uint64_t x = static_cast<std::uint64_t>(number) * 2654435761U + rank * 40503U + place * 97U;
  x ^= x >> 13;
  return static_cast<unsigned char>(x * 1099511628211U >> 24);
}

Memory make_memory(Random& random, std::int64_t most_bytes, bool may_repeat) {
  Memory memory;
  memory.type = random_types::random_memory(random, may_repeat);
  const std::int64_t size = std::max<std::int64_t>(memory.type.size(), 1);
  memory.count = static_cast<int>(random.below(static_cast<int>(most_bytes / size) + 1));
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::int64_t s = 0; s < memory.size(); ++s) {
    low = std::min(low, memory.place(s));
    high = std::max(high, memory.place(s) + 1);
  }
  memory.origin = 8 - low;
  memory.room.assign(static_cast<std::size_t>(high - low + 16), 0);
  return memory;
}

enum class How {
  at,
  at_all,
  own,
  all,
  split_at,
  split,
  i_at,
  i_own,
  i_all,
  shared,
  ordered,
  count,
};

bool is_collective(How how) {
  return how == How::at_all || how == How::all || how == How::split_at || how == How::split ||
         how == How::ordered;
}
bool is_at(How how) {
  return how == How::at || how == How::at_all || how == How::split_at || how == How::i_at;
}
bool is_by_shared(How how) { return how == How::shared || how == How::ordered; }

int write(MPI_File file, How how, MPI_Offset offset, const void* buf, int n, MPI_Datatype type,
          MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  int result = MPI_SUCCESS;
  switch (how) {
    case How::at:
      return MPI_File_write_at(file, offset, buf, n, type, status);
    case How::at_all:
      return MPI_File_write_at_all(file, offset, buf, n, type, status);
    case How::own:
      return MPI_File_write(file, buf, n, type, status);
    case How::all:
      return MPI_File_write_all(file, buf, n, type, status);
    case How::split_at:
      need(MPI_File_write_at_all_begin(file, offset, buf, n, type), "write_at_all_begin");
      return MPI_File_write_at_all_end(file, buf, status);
    case How::split:
      need(MPI_File_write_all_begin(file, buf, n, type), "write_all_begin");
      return MPI_File_write_all_end(file, buf, status);
    case How::i_at:
      result = MPI_File_iwrite_at(file, offset, buf, n, type, &request);
      break;
    case How::i_own:
      result = MPI_File_iwrite(file, buf, n, type, &request);
      break;
    case How::i_all:
      result = MPI_File_iwrite_all(file, buf, n, type, &request);
      break;
    case How::shared:
      return MPI_File_write_shared(file, buf, n, type, status);
    default:
      return MPI_File_write_ordered(file, buf, n, type, status);
  }
  MPI_Wait(&request, status);
  return result;
}

int read(MPI_File file, How how, MPI_Offset offset, void* buf, int n, MPI_Datatype type,
         MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  int result = MPI_SUCCESS;
  switch (how) {
    case How::at:
      return MPI_File_read_at(file, offset, buf, n, type, status);
    case How::at_all:
      return MPI_File_read_at_all(file, offset, buf, n, type, status);
    case How::own:
      return MPI_File_read(file, buf, n, type, status);
    case How::all:
      return MPI_File_read_all(file, buf, n, type, status);
    case How::split_at:
      need(MPI_File_read_at_all_begin(file, offset, buf, n, type), "read_at_all_begin");
      return MPI_File_read_at_all_end(file, buf, status);
    case How::split:
      need(MPI_File_read_all_begin(file, buf, n, type), "read_all_begin");
      return MPI_File_read_all_end(file, buf, status);
    case How::i_at:
      result = MPI_File_iread_at(file, offset, buf, n, type, &request);
      break;
    case How::i_own:
      result = MPI_File_iread(file, buf, n, type, &request);
      break;
    case How::i_all:
      result = MPI_File_iread_all(file, buf, n, type, &request);
      break;
    case How::shared:
      return MPI_File_read_shared(file, buf, n, type, status);
    default:
      return MPI_File_read_ordered(file, buf, n, type, status);
  }
  MPI_Wait(&request, status);
  return result;
}

void expect_status(MPI_Status& status, const Memory& memory, std::int64_t bytes) {
  MPI_Count got = -1;
  MPI_Get_elements_x(&status, MPI_BYTE, &got);
  expect(got == bytes,
         "the status says " + std::to_string(got) + " bytes, not " + std::to_string(bytes));
  int count = -1;
  if (bytes == memory.size()) {
    MPI_Get_count(&status, memory.type.handle, &count);
    expect(count == memory.count || memory.size() == 0, "MPI_Get_count");
  }
}

class Case {
 public:
  Case(MPI_File file, Model& model, Random& random, int number)
      : file_(file), model_(model), random_(random), number_(number) {}

  void run() {
    set_view();
    const auto how = static_cast<How>(random_.below(static_cast<int>(How::count)));
    what += ", call " + std::to_string(static_cast<int>(how));
    if (random_.one_in(10)) {
      need(MPI_File_set_atomicity(file_, random_.below(2)), "set_atomicity");
    }
    for (int times = random_.between(1, 3); times > 0; --times) {
      access(true, how);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    change_size();
    const auto back = static_cast<How>(random_.below(static_cast<int>(How::count)));
    seek(back);
    for (int times = random_.between(1, 3); times > 0; --times) {
      access(false, back);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    compare();
  }

 private:
  void set_view() {
    const Type element = random_types::random_named(random_);
    std::vector<Type> types = random_types::random_file_types(random_, element, ranks);
    const std::int64_t disp = random_.below(64);
    views_.clear();
    for (Type& type : types) {
      views_.push_back({disp, std::move(type)});
    }
    // By shared pointer all ranks must see the same.
    same_ = random_.one_in(3);
    element_bytes_ = element.size();
    const View& own = view_of(own_rank);
    if (element_bytes_ == 1) {  // lies in the same places whatever the representation
      check_external(own, element.handle);
    }
    need(MPI_File_set_view(file_, disp, element.handle, own.type.handle, "native", MPI_INFO_NULL),
         "set_view");
    positions_.assign(static_cast<std::size_t>(ranks), 0);
    shared_ = 0;
    MPI_Offset told = -1;
    MPI_Datatype told_element = MPI_BYTE;
    MPI_Datatype told_type = MPI_BYTE;
    char representation[MPI_MAX_DATAREP_STRING] = {};
    need(MPI_File_get_view(file_, &told, &told_element, &told_type, representation), "get_view");
    expect(told == disp && std::strcmp(representation, "native") == 0, "get_view");
    for (MPI_Datatype* type : {&told_element, &told_type}) {
      int n[3] = {};
      int combiner = 0;
      MPI_Type_get_envelope(*type, &n[0], &n[1], &n[2], &combiner);
      if (combiner != MPI_COMBINER_NAMED) {
        MPI_Type_free(type);
      }
    }
  }
  void check_external(const View& view, MPI_Datatype element) {
    need(
        MPI_File_set_view(file_, view.disp, element, view.type.handle, "external32", MPI_INFO_NULL),
        "set_view of external32");
    MPI_Aint extent = -1;
    need(MPI_File_get_type_extent(file_, view.type.handle, &extent), "get_type_extent");
    expect(extent == view.type.extent, "the extent in external32");
    for (std::int64_t at = 0; view.type.size() > 0 && at <= 2 * view.type.size(); ++at) {
      MPI_Offset place = -1;
      need(MPI_File_get_byte_offset(file_, at, &place), "get_byte_offset");
      expect(place == view.offset_of(at), "a place in external32");
    }
  }
  const View& view_of(int rank) const { return views_[same_ ? 0 : static_cast<std::size_t>(rank)]; }

  /// Where the call of a rank begins in its stream, in bytes.
  std::int64_t begin(How how, int rank, std::int64_t offset, std::int64_t bytes) {
    std::int64_t& pointer = is_by_shared(how) ? shared_ : positions_[rank];
    if (is_at(how)) {
      return offset * element_bytes_;
    }
    const std::int64_t at = pointer;
    pointer += bytes;
    return at;
  }

  /// All ranks at once where that is defined: different bytes, or reads; else one after the other.
  void access(bool is_write, How how) {
    if (is_by_shared(how) && !same_) {
      how = How::all;
    }
    const bool in_turn = !is_collective(how) && (is_write || how == How::shared);
    const bool overlaps = same_ && is_write && is_collective(how) && how != How::ordered;
    Memory own;
    std::int64_t own_begin = 0;
    std::int64_t own_offset = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      Memory memory = make_memory(random_, 600, is_write);
      const std::int64_t offset = random_.below(20);
      const View& view = view_of(rank);
      if (view.type.size() == 0 || memory.size() == 0 || memory.size() % element_bytes_ != 0 ||
          (overlaps && rank > 0)) {
        memory.count = 0;
      }
      const std::int64_t from = begin(how, rank, offset, memory.size());
      if (is_write) {
        for (std::int64_t s = 0; s < memory.size(); ++s) {
          // Of memory that repeats, the byte is that of its place.
          model_.put(view.offset_of(from + s), value_of(number_, rank, memory.place(s)));
        }
      }
      if (rank == own_rank) {
        own = std::move(memory);
        own_begin = from;
        own_offset = offset;
      }
      if (in_turn) {
        if (rank == own_rank) {
          move(is_write, how, own, own_begin, own_offset);
        }
        MPI_Barrier(MPI_COMM_WORLD);
      }
    }
    if (!in_turn) {
      move(is_write, how, own, own_begin, own_offset);
    }
    correct_pointers(is_write, how);
    ++number_;
  }

  void move(bool is_write, How how, Memory& memory, std::int64_t begin, std::int64_t offset) {
    MPI_Status status{};
    std::int64_t bytes = memory.size();
    const View& view = view_of(own_rank);
    for (std::size_t i = 0; i < memory.room.size(); ++i) {
      memory.room[i] = value_of(number_, own_rank, static_cast<std::int64_t>(i));
    }
    if (is_write) {
      need(write(file_, how, offset, memory.base(), memory.count, memory.type.handle, &status),
           "write");
      expect_status(status, memory, bytes);
      return;
    }
    std::vector<unsigned char> right = memory.room;
    bytes = 0;
    while (bytes < memory.size() && view.offset_of(begin + bytes) < size()) {
      right[memory.place(bytes)] = model_.bytes[view.offset_of(begin + bytes)];
      ++bytes;
    }
    need(read(file_, how, offset, memory.base(), memory.count, memory.type.handle, &status),
         "read");
    expect_status(status, memory, bytes);
    expect(right == memory.room, "what was read is wrong");
  }

  /// A read that ends early moves the pointer as far as it came: not modelled for other ranks.
  void correct_pointers(bool is_write, How how) {
    if (!is_write && !is_at(how)) {
      seek(how);
    }
  }

  void seek(How) {
    need(MPI_File_seek(file_, 0, MPI_SEEK_SET), "seek");
    positions_.assign(static_cast<std::size_t>(ranks), 0);
    MPI_Offset told = -1;
    need(MPI_File_get_position(file_, &told), "get_position");
    expect(told == 0, "get_position");
    const int to = random_.below(9);
    if (same_) {
      need(MPI_File_seek_shared(file_, to, MPI_SEEK_SET), "seek_shared");
      shared_ = to * element_bytes_;
      need(MPI_File_get_position_shared(file_, &told), "get_position_shared");
      expect(told == to, "get_position_shared");
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (view_of(own_rank).type.size() > 0) {
      need(MPI_File_get_byte_offset(file_, to, &told), "get_byte_offset");
      expect(told == view_of(own_rank).offset_of(to * element_bytes_), "get_byte_offset");
    }
  }

  void change_size() {
    const int chance = random_.below(8);
    const std::int64_t to = random_.below(static_cast<int>(size()) + 100);
    if (chance == 0) {
      need(MPI_File_set_size(file_, to), "set_size");
      model_.bytes.resize(static_cast<std::size_t>(to), 0);
    } else if (chance == 1) {
      need(MPI_File_preallocate(file_, to), "preallocate");
      model_.bytes.resize(static_cast<std::size_t>(std::max(to, size())), 0);
    } else if (chance == 2) {
      need(MPI_File_sync(file_), "sync");
    }
  }

  std::int64_t size() const { return static_cast<std::int64_t>(model_.bytes.size()); }

  void compare() {
    MPI_Offset told = -1;
    need(MPI_File_get_size(file_, &told), "get_size");
    expect(told == size(),
           "the file has " + std::to_string(told) + " bytes, not " + std::to_string(size()));
    need(MPI_File_set_view(file_, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "set_view");
    std::vector<unsigned char> all(model_.bytes.size() + 1);
    MPI_Status status{};
    need(MPI_File_read_at(file_, 0, all.data(), static_cast<int>(all.size()), MPI_BYTE, &status),
         "read_at");
    all.resize(model_.bytes.size());
    const auto differs =
        std::mismatch(all.begin(), all.end(), model_.bytes.begin()).first - all.begin();
    expect(differs == size(), "the file differs at byte " + std::to_string(differs));
    model_.bytes = all;  // go on from there
    MPI_Barrier(MPI_COMM_WORLD);
  }

  MPI_File file_;
  Model& model_;
  Random& random_;
  int number_;
  std::vector<View> views_;
  bool same_ = false;
  std::int64_t element_bytes_ = 1;
  std::vector<std::int64_t> positions_;
  std::int64_t shared_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) {
    std::fprintf(stderr, "usage: random_access FILE SEED CASES\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int seed = std::atoi(argv[2]);
  const int cases = std::atoi(argv[3]);
  MPI_File file = MPI_FILE_NULL;
  Model model;
  for (int i = 0; i < cases && failures == 0; ++i) {
    what = "seed " + std::to_string(seed) + ", case " + std::to_string(i);
    if (i % 50 == 0) {  // a new file now and then, with other hints
      if (file != MPI_FILE_NULL) {
        MPI_File_close(&file);
      }
      MPI_Info info = MPI_INFO_NULL;
      MPI_Info_create(&info);
      MPI_Info_set(info, "romio_cb_write", i / 50 % 2 == 0 ? "automatic" : "enable");
      MPI_Info_set(info, "romio_cb_read", i / 50 % 2 == 0 ? "automatic" : "enable");
      MPI_Info_set(info, "cb_nodes", std::to_string(1 + i / 50 % 3).c_str());
      need(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file),
           "open");
      MPI_Info_free(&info);
      if (file == MPI_FILE_NULL) {
        break;
      }
      need(MPI_File_set_size(file, 0), "set_size");
      model.bytes.clear();
    }
    Random random(static_cast<std::uint64_t>(seed) * 1000003 + i);
    Case(file, model, random, i * 100).run();
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    failures = all;
  }
  if (file != MPI_FILE_NULL) {
    MPI_File_close(&file);
  }
  if (own_rank == 0) {
    std::printf("%d cases on %d ranks: %s\n", cases, ranks, failures == 0 ? "right" : "WRONG");
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
