// The functions of MPI-IO that move no bytes.
#include <array>
#include <climits>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "mpiio/face.hpp"
#include "mpiio/pending.hpp"

using namespace sluice::mpiio;  // NOLINT(google-build-using-namespace): they are its face

SLUICE_FACE(int, File_open,
            (MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh)) {
  *fh = MPI_FILE_NULL;
  return on_none(filename, [&] { *fh = handle_of(open_file(comm, filename, amode, info)); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_close, (MPI_File * fh)) {
  const MPI_File handle = *fh;
  File* const file = file_of(handle);
  if (file == nullptr) {
    return default_handler().raise(handle, MPI_ERR_FILE, {__func__});
  }
  *fh = MPI_FILE_NULL;
  // What a failure needs of the file, which is gone then.
  ErrorHandler handler(std::move(file->handler));
  std::array<char, PATH_MAX> path{};  // no string, which may throw: the other ranks are closing
  std::snprintf(path.data(), path.size(), "%s", file->path.c_str());
  return guarded({handler, handle, path.data(), nullptr}, __func__, [&] { close_file(file); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_delete, (const char* filename, MPI_Info info)) {
  static_cast<void>(info);
  return on_none(filename, [&] { delete_file(filename); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_set_size, (MPI_File fh, MPI_Offset size)) {
  return on_file(fh, [&](File& file) { set_size(file, size); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_preallocate, (MPI_File fh, MPI_Offset size)) {
  return on_file(fh, [&](File& file) { preallocate(file, size); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_get_size, (MPI_File fh, MPI_Offset* size)) {
  return on_file(fh, [&](File& file) {
    wait_for_all_pending(file.identity);
    *size = static_cast<MPI_Offset>(file.straight().size());
  });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_get_group, (MPI_File fh, MPI_Group* group)) {
  return on_file(fh, [&](File& file) { check(mpi.Comm_group(file.comm, group), "the group"); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_get_amode, (MPI_File fh, int* amode)) {
  return on_file(fh, [&](File& file) { *amode = file.mode; });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_set_info, (MPI_File fh, MPI_Info info)) {
  return on_file(fh, [&](File& file) { set_info(file, info); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_get_info, (MPI_File fh, MPI_Info* info)) {
  return on_file(fh, [&](File& file) { *info = file.hints.copy(); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_set_view,
            (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
             const char* datarep, MPI_Info info)) {
  return on_file(fh, [&](File& file) { set_view(file, disp, etype, filetype, datarep, info); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_get_view,
            (MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
             char* datarep)) {
  return on_file(fh, [&](File& file) {
    constexpr const char* names[] = {"native", "internal", "external32"};
    *disp = file.view.displacement();
    *etype = file.types.element.duplicate();
    *filetype = file.types.file.duplicate();
    std::snprintf(datarep, MPI_MAX_DATAREP_STRING, "%s",
                  names[static_cast<int>(file.types.representation)]);
  });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_seek, (MPI_File fh, MPI_Offset offset, int whence)) {
  return on_file(fh, [&](File& file) {
    if (file.is_sequential()) {
      throw Fault(MPI_ERR_UNSUPPORTED_OPERATION, "the file is open for sequential access");
    }
    file.position = sought(file, offset, whence, file.position);
  });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_get_position, (MPI_File fh, MPI_Offset* offset)) {
  return on_file(fh, [&](File& file) {
    if (file.is_sequential()) {
      throw Fault(MPI_ERR_UNSUPPORTED_OPERATION, "the file is open for sequential access");
    }
    *offset = file.position / file.view.element_bytes();
  });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_get_byte_offset, (MPI_File fh, MPI_Offset offset, MPI_Offset* disp)) {
  return on_file(fh, [&](File& file) {
    if (offset < 0) {
      throw Fault(MPI_ERR_ARG, "a negative offset");
    }
    const std::int64_t stream = product_of(offset, file.view.element_bytes());
    if (file.view.is_empty()) {
      *disp = file.view.displacement();
      return;
    }
    if (stream == std::numeric_limits<std::int64_t>::max() || !file.view.reaches(stream + 1)) {
      throw Fault(MPI_ERR_ARG, "an offset beyond the largest file");
    }
    *disp = file.view.file_offset(stream);
  });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_seek_shared, (MPI_File fh, MPI_Offset offset, int whence)) {
  return on_file(fh, [&](File& file) { seek_shared(file, offset, whence); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_get_position_shared, (MPI_File fh, MPI_Offset* offset)) {
  return on_file(
      fh, [&](File& file) { *offset = file.shared_position.get() / file.view.element_bytes(); });
}
SLUICE_FACE_END

namespace {

std::int64_t extent_in_file(const File& file, MPI_Datatype type) {
  return file.types.representation == Representation::external32 ? external_flat_of(type)->extent
                                                                 : flat_of(type)->extent;
}

}  // namespace

SLUICE_FACE(int, File_get_type_extent, (MPI_File fh, MPI_Datatype datatype, MPI_Aint* extent)) {
  return on_file(fh, [&](File& file) { *extent = extent_in_file(file, datatype); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_set_atomicity, (MPI_File fh, int flag)) {
  return on_file(fh, [&](File& file) { set_atomicity(file, flag != 0); });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_get_atomicity, (MPI_File fh, int* flag)) {
  return on_file(fh, [&](File& file) { *flag = file.atomicity.is_on ? 1 : 0; });
}
SLUICE_FACE_END

SLUICE_FACE(int, File_sync, (MPI_File fh)) {
  return on_file(fh, [&](File& file) { sync(file); });
}
SLUICE_FACE_END

SLUICE_FACE(MPI_Fint, File_c2f, (MPI_File fh)) { return fortran_of(file_of(fh)); }
SLUICE_FACE_END

SLUICE_FACE(MPI_File, File_f2c, (MPI_Fint fh)) { return handle_of(file_of_fortran(fh)); }
SLUICE_FACE_END

SLUICE_FACE(int, File_create_errhandler,
            (MPI_File_errhandler_function * function, MPI_Errhandler* errhandler)) {
  return create_handler(function, errhandler);
}
SLUICE_FACE_END

namespace {

/// That of the file, or of MPI_FILE_NULL; null: of neither.
ErrorHandler* handler_of(MPI_File fh) {
  if (fh == MPI_FILE_NULL) {
    return &default_handler();
  }
  File* const file = file_of(fh);
  return file == nullptr ? nullptr : &file->handler;
}

}  // namespace

SLUICE_FACE(int, File_set_errhandler, (MPI_File fh, MPI_Errhandler errhandler)) {
  ErrorHandler* const handler = handler_of(fh);
  return handler == nullptr ? MPI_ERR_FILE : handler->set(errhandler);
}
SLUICE_FACE_END

SLUICE_FACE(int, File_get_errhandler, (MPI_File fh, MPI_Errhandler* errhandler)) {
  ErrorHandler* const handler = handler_of(fh);
  return handler == nullptr ? MPI_ERR_FILE : handler->get(errhandler);
}
SLUICE_FACE_END

SLUICE_FACE(int, File_call_errhandler, (MPI_File fh, int errorcode)) {
  ErrorHandler* const handler = handler_of(fh);
  if (handler == nullptr) {
    return MPI_ERR_FILE;
  }
  File* const file = file_of(fh);
  handler->raise(fh, errorcode, {__func__, file == nullptr ? "" : file->path.c_str()});
  return MPI_SUCCESS;
}
SLUICE_FACE_END

namespace {

/// A representation that a program registers is recorded, so that a second one of that name is
/// refused; only MPI's own can be used.
int note_representation(const char* name, const char* function = __builtin_FUNCTION()) {
  const auto note = [&] {
    static std::mutex mutex;
    static auto* const names = new std::set<std::string>{"native", "internal", "external32"};
    if (name == nullptr || std::string(name).size() >= MPI_MAX_DATAREP_STRING) {
      throw Fault(MPI_ERR_ARG, "a name that is too long");
    }
    const std::lock_guard lock(mutex);
    if (!names->insert(name).second) {
      throw Fault(MPI_ERR_DUP_DATAREP, "the representation is already registered");
    }
  };
  return on_none(name, note, function);
}

}  // namespace

SLUICE_FACE(int, Register_datarep,
            (const char* datarep, MPI_Datarep_conversion_function* read_function,
             MPI_Datarep_conversion_function* write_function,
             MPI_Datarep_extent_function* extent_function, void* state)) {
  static_cast<void>(read_function);
  static_cast<void>(write_function);
  static_cast<void>(extent_function);
  static_cast<void>(state);
  return note_representation(datarep);
}
SLUICE_FACE_END

#if MPI_VERSION >= 4
SLUICE_FACE(int, File_get_type_extent_c, (MPI_File fh, MPI_Datatype datatype, MPI_Count* extent)) {
  return on_file(fh, [&](File& file) { *extent = extent_in_file(file, datatype); });
}
SLUICE_FACE_END

SLUICE_FACE(int, Register_datarep_c,
            (const char* datarep, MPI_Datarep_conversion_function_c* read_function,
             MPI_Datarep_conversion_function_c* write_function,
             MPI_Datarep_extent_function* extent_function, void* state)) {
  static_cast<void>(read_function);
  static_cast<void>(write_function);
  static_cast<void>(extent_function);
  static_cast<void>(state);
  return note_representation(datarep);
}
SLUICE_FACE_END
#endif
