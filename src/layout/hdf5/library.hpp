// The libhdf5 that Sluice calls: the one with which it was built, whatever libhdf5 the program
// uses.
//
// Invariants: if SLUICE_HDF5_FILE names a shared library, it is loaded beside the program's own (a
// parallel one, h5py's, one of another version) and its symbols are neither seen by the program nor
// replaced by it; calls are made one at a time in the process, so that files may be used by several
// threads even if libhdf5 is not thread-safe. With SLUICE_HDF5_INSIDE the same holds for a static
// one, which is part of the library and hidden in it. With neither, libhdf5 is linked in the
// ordinary way, and calls go directly to it. A private one that nothing else in the process had
// loaded before is never terminated.
//
// Inside this namespace (and those with a using-directive for it) a call of H5Fopen() uses the
// object of that name below. A function that is not in the list is not found when the shared
// library is linked: add it.
#pragma once

#include <atomic>
#include <cstdint>
#include <hdf5.h>
#include <string>

namespace sluice::layout::hdf5 {

/// May several threads call it?
bool takes_several_threads();

/// The libhdf5 calls of the process, for a supervising process. Counted if the library is a private
/// one.
struct CallWatch {
  std::atomic<std::uint64_t> count{0};       ///< of calls started and finished
  std::atomic<const char*> inside{nullptr};  ///< name of the current call
  char file[512] = {};                       ///< the last one that it read, truncated if it is
                                             ///< longer

  std::string file_name() const;
};

/// From now on the calls are recorded in `watch`, which must live as long as the process.
void watch_calls(CallWatch& watch);
CallWatch& call_watch();
/// Records the file that is being read.
void note_file(const std::string& path);

}  // namespace sluice::layout::hdf5

#if defined(SLUICE_HDF5_FILE) || defined(SLUICE_HDF5_INSIDE)

#include <algorithm>
#include <cstddef>
#include <mutex>

namespace sluice::layout::hdf5 {

#ifdef SLUICE_HDF5_FILE
/// The address of a symbol of libhdf5, which the first call loads. Error unsupported if that fails.
void* find_symbol(const char* name);
/// The same for a variable. If the program is linked to the very same libhdf5 and uses the variable
/// too, it is in the program (a copy relocation), and the one in the library is unused.
void* find_number(const char* name);
#endif
std::recursive_mutex& library_mutex();

/// Records one call during its lifetime.
class CallMark {
 public:
  explicit CallMark(const char* name) : watch_(call_watch()) {
    outer_ = watch_.inside.exchange(name, std::memory_order_relaxed);
    watch_.count.fetch_add(1, std::memory_order_relaxed);
  }
  ~CallMark() {
    watch_.inside.store(outer_, std::memory_order_relaxed);
    watch_.count.fetch_add(1, std::memory_order_relaxed);
  }
  CallMark(const CallMark&) = delete;
  CallMark& operator=(const CallMark&) = delete;

 private:
  CallWatch& watch_;
  const char* outer_ = nullptr;
};

/// A name as a template argument.
template <std::size_t size>
struct Symbol {
  constexpr Symbol(const char (&name)[size]) {  // NOLINT: a text is one
    std::copy_n(name, size, text);
  }
  char text[size] = {};
};

/// `own`: its address if it is part of the library.
template <class Function, Symbol symbol, Function own>
struct Call;
template <class Result, class... Arguments, Symbol symbol, Result (*own)(Arguments...)>
struct Call<Result (*)(Arguments...), symbol, own> {
  Result operator()(Arguments... arguments) const {
#ifdef SLUICE_HDF5_FILE
    static const auto function =
        reinterpret_cast<Result (*)(Arguments...)>(find_symbol(symbol.text));
#else
    constexpr auto function = own;
#endif
    const std::lock_guard lock(library_mutex());  // libhdf5 may call back into code that calls it
    const CallMark mark(symbol.text);
    return function(arguments...);
  }
};

/// A number of libhdf5 that is known once it has been opened.
template <class Number, Symbol symbol, Number* own>
struct Constant {
  operator Number() const {  // NOLINT(google-explicit-constructor): stands for the variable
#ifdef SLUICE_HDF5_FILE
    static const auto* const number = static_cast<const Number*>(find_number(symbol.text));
    return *number;
#else
    return *own;
#endif
  }
};

#ifdef SLUICE_HDF5_FILE
#define SLUICE_HDF5_OWN(name) nullptr
#else
#define SLUICE_HDF5_OWN(name) &::name
#endif

// NOLINTBEGIN(bugprone-macro-parentheses): they make names
#define SLUICE_HDF5_CALL(name) \
  inline constexpr Call<decltype(&::name), #name, SLUICE_HDF5_OWN(name)> name{};
#define SLUICE_HDF5_CONSTANT(name) \
  inline constexpr Constant<hid_t, #name, SLUICE_HDF5_OWN(name)> name{};
// NOLINTEND(bugprone-macro-parentheses)

SLUICE_HDF5_CALL(H5Aclose)
SLUICE_HDF5_CALL(H5Acreate2)
SLUICE_HDF5_CALL(H5Adelete)
SLUICE_HDF5_CALL(H5Aexists)
SLUICE_HDF5_CALL(H5Aget_space)
SLUICE_HDF5_CALL(H5Aget_type)
SLUICE_HDF5_CALL(H5Aiterate2)
SLUICE_HDF5_CALL(H5Aopen)
SLUICE_HDF5_CALL(H5Aread)
SLUICE_HDF5_CALL(H5Awrite)
SLUICE_HDF5_CALL(H5Dclose)
SLUICE_HDF5_CALL(H5Dcreate2)
SLUICE_HDF5_CALL(H5Dget_create_plist)
SLUICE_HDF5_CALL(H5Dget_offset)
SLUICE_HDF5_CALL(H5Dget_space)
SLUICE_HDF5_CALL(H5Dget_storage_size)
SLUICE_HDF5_CALL(H5Dget_type)
SLUICE_HDF5_CALL(H5Dopen2)
SLUICE_HDF5_CALL(H5Dread)
SLUICE_HDF5_CALL(H5Dset_extent)
SLUICE_HDF5_CALL(H5Dvlen_reclaim)
SLUICE_HDF5_CALL(H5Dwrite)
SLUICE_HDF5_CALL(H5Dwrite_chunk)
SLUICE_HDF5_CALL(H5Eclear2)
SLUICE_HDF5_CALL(H5Eget_auto2)
SLUICE_HDF5_CALL(H5Eset_auto2)
SLUICE_HDF5_CALL(H5Ewalk2)
SLUICE_HDF5_CALL(H5FDregister)
SLUICE_HDF5_CALL(H5Fclose)
SLUICE_HDF5_CALL(H5Fcreate)
SLUICE_HDF5_CALL(H5Fflush)
SLUICE_HDF5_CALL(H5Fget_create_plist)
SLUICE_HDF5_CALL(H5Fget_filesize)
SLUICE_HDF5_CALL(H5Fget_name)
SLUICE_HDF5_CALL(H5Fopen)
SLUICE_HDF5_CALL(H5Gclose)
SLUICE_HDF5_CALL(H5Gcreate2)
SLUICE_HDF5_CALL(H5Gget_create_plist)
SLUICE_HDF5_CALL(H5Gopen2)
SLUICE_HDF5_CALL(H5Iget_file_id)
SLUICE_HDF5_CALL(H5Iget_name)
SLUICE_HDF5_CALL(H5Iget_type)
SLUICE_HDF5_CALL(H5Iis_valid)
SLUICE_HDF5_CALL(H5Lcreate_external)
SLUICE_HDF5_CALL(H5Lcreate_hard)
SLUICE_HDF5_CALL(H5Lcreate_soft)
SLUICE_HDF5_CALL(H5Ldelete)
SLUICE_HDF5_CALL(H5Lexists)
SLUICE_HDF5_CALL(H5Lget_val)
SLUICE_HDF5_CALL(H5Lunpack_elink_val)
SLUICE_HDF5_CALL(H5Ocopy)
SLUICE_HDF5_CALL(H5Oopen)
SLUICE_HDF5_CALL(H5Pclose)
SLUICE_HDF5_CALL(H5Pcreate)
SLUICE_HDF5_CALL(H5Pfill_value_defined)
SLUICE_HDF5_CALL(H5Pget_attr_creation_order)
SLUICE_HDF5_CALL(H5Pget_chunk)
SLUICE_HDF5_CALL(H5Pget_chunk_opts)
SLUICE_HDF5_CALL(H5Pget_driver_info)
SLUICE_HDF5_CALL(H5Pget_external_count)
SLUICE_HDF5_CALL(H5Pget_file_space_strategy)
SLUICE_HDF5_CALL(H5Pget_fill_value)
SLUICE_HDF5_CALL(H5Pget_filter2)
SLUICE_HDF5_CALL(H5Pget_layout)
SLUICE_HDF5_CALL(H5Pget_link_creation_order)
SLUICE_HDF5_CALL(H5Pget_nfilters)
SLUICE_HDF5_CALL(H5Pget_obj_track_times)
SLUICE_HDF5_CALL(H5Pget_virtual_count)
SLUICE_HDF5_CALL(H5Pget_virtual_dsetname)
SLUICE_HDF5_CALL(H5Pget_virtual_filename)
SLUICE_HDF5_CALL(H5Pset_alignment)
SLUICE_HDF5_CALL(H5Pset_alloc_time)
SLUICE_HDF5_CALL(H5Pset_attr_creation_order)
SLUICE_HDF5_CALL(H5Pset_chunk)
SLUICE_HDF5_CALL(H5Pset_copy_object)
SLUICE_HDF5_CALL(H5Pset_driver)
SLUICE_HDF5_CALL(H5Pset_fclose_degree)
SLUICE_HDF5_CALL(H5Pset_file_space_strategy)
SLUICE_HDF5_CALL(H5Pset_deflate)
SLUICE_HDF5_CALL(H5Pset_fill_time)
SLUICE_HDF5_CALL(H5Pset_fill_value)
SLUICE_HDF5_CALL(H5Pset_filter)
SLUICE_HDF5_CALL(H5Pset_fletcher32)
SLUICE_HDF5_CALL(H5Pset_layout)
SLUICE_HDF5_CALL(H5Pset_libver_bounds)
SLUICE_HDF5_CALL(H5Pset_link_creation_order)
SLUICE_HDF5_CALL(H5Pset_obj_track_times)
SLUICE_HDF5_CALL(H5Pset_shuffle)
SLUICE_HDF5_CALL(H5Pset_sieve_buf_size)
SLUICE_HDF5_CALL(H5Pset_virtual)
SLUICE_HDF5_CALL(H5Rcreate)
SLUICE_HDF5_CALL(H5Rdereference2)
SLUICE_HDF5_CALL(H5Rget_region)
SLUICE_HDF5_CALL(H5Sclose)
SLUICE_HDF5_CALL(H5Scopy)
SLUICE_HDF5_CALL(H5Screate)
SLUICE_HDF5_CALL(H5Screate_simple)
SLUICE_HDF5_CALL(H5Sextent_equal)
SLUICE_HDF5_CALL(H5Sget_simple_extent_dims)
SLUICE_HDF5_CALL(H5Sget_simple_extent_ndims)
SLUICE_HDF5_CALL(H5Sget_simple_extent_npoints)
SLUICE_HDF5_CALL(H5Sget_simple_extent_type)
SLUICE_HDF5_CALL(H5Sselect_hyperslab)
SLUICE_HDF5_CALL(H5Tclose)
SLUICE_HDF5_CALL(H5Tcommit2)
SLUICE_HDF5_CALL(H5Tcommitted)
SLUICE_HDF5_CALL(H5Tcopy)
SLUICE_HDF5_CALL(H5Tcreate)
SLUICE_HDF5_CALL(H5Tdetect_class)
SLUICE_HDF5_CALL(H5Tenum_create)
SLUICE_HDF5_CALL(H5Tenum_insert)
SLUICE_HDF5_CALL(H5Tenum_valueof)
SLUICE_HDF5_CALL(H5Tequal)
SLUICE_HDF5_CALL(H5Tget_class)
SLUICE_HDF5_CALL(H5Tget_member_index)
SLUICE_HDF5_CALL(H5Tget_member_offset)
SLUICE_HDF5_CALL(H5Tget_member_type)
SLUICE_HDF5_CALL(H5Tget_nmembers)
SLUICE_HDF5_CALL(H5Tget_order)
SLUICE_HDF5_CALL(H5Tget_precision)
SLUICE_HDF5_CALL(H5Tget_sign)
SLUICE_HDF5_CALL(H5Tget_size)
SLUICE_HDF5_CALL(H5Tget_strpad)
SLUICE_HDF5_CALL(H5Tget_super)
SLUICE_HDF5_CALL(H5Tinsert)
SLUICE_HDF5_CALL(H5Tis_variable_str)
SLUICE_HDF5_CALL(H5Topen2)
SLUICE_HDF5_CALL(H5Tset_cset)
SLUICE_HDF5_CALL(H5Tset_ebias)
SLUICE_HDF5_CALL(H5Tset_fields)
SLUICE_HDF5_CALL(H5Tset_size)
SLUICE_HDF5_CALL(H5Tset_strpad)
SLUICE_HDF5_CALL(H5Tvlen_create)
SLUICE_HDF5_CALL(H5Zregister)
SLUICE_HDF5_CALL(H5get_libversion)
SLUICE_HDF5_CALL(H5open)
#if H5_VERSION_GE(2, 0, 0)
SLUICE_HDF5_CALL(H5Dread_chunk2)
#else
SLUICE_HDF5_CALL(H5Dread_chunk)
#endif
#if H5_VERSION_GE(1, 12, 0)
SLUICE_HDF5_CALL(H5Lget_info2)
SLUICE_HDF5_CALL(H5Literate2)
SLUICE_HDF5_CALL(H5Oget_info_by_name3)
SLUICE_HDF5_CALL(H5Ovisit3)
#else
SLUICE_HDF5_CALL(H5Lget_info)
SLUICE_HDF5_CALL(H5Literate)
SLUICE_HDF5_CALL(H5Oget_info_by_name2)
SLUICE_HDF5_CALL(H5Ovisit2)
#endif
SLUICE_HDF5_CALL(H5check_version)

SLUICE_HDF5_CONSTANT(H5E_VERSION_g)
SLUICE_HDF5_CONSTANT(H5P_CLS_DATASET_CREATE_ID_g)
SLUICE_HDF5_CONSTANT(H5P_CLS_FILE_ACCESS_ID_g)
SLUICE_HDF5_CONSTANT(H5P_CLS_FILE_CREATE_ID_g)
SLUICE_HDF5_CONSTANT(H5P_CLS_GROUP_CREATE_ID_g)
SLUICE_HDF5_CONSTANT(H5P_CLS_OBJECT_COPY_ID_g)
SLUICE_HDF5_CONSTANT(H5T_C_S1_g)
SLUICE_HDF5_CONSTANT(H5T_IEEE_F32BE_g)
SLUICE_HDF5_CONSTANT(H5T_IEEE_F32LE_g)
SLUICE_HDF5_CONSTANT(H5T_IEEE_F64BE_g)
SLUICE_HDF5_CONSTANT(H5T_IEEE_F64LE_g)
SLUICE_HDF5_CONSTANT(H5T_NATIVE_DOUBLE_g)
SLUICE_HDF5_CONSTANT(H5T_NATIVE_INT_g)
SLUICE_HDF5_CONSTANT(H5T_NATIVE_UINT64_g)
SLUICE_HDF5_CONSTANT(H5T_STD_I16LE_g)
SLUICE_HDF5_CONSTANT(H5T_STD_I32LE_g)
SLUICE_HDF5_CONSTANT(H5T_STD_I64LE_g)
SLUICE_HDF5_CONSTANT(H5T_STD_I8LE_g)
SLUICE_HDF5_CONSTANT(H5T_STD_REF_DSETREG_g)
SLUICE_HDF5_CONSTANT(H5T_STD_REF_OBJ_g)
SLUICE_HDF5_CONSTANT(H5T_STD_U16LE_g)
SLUICE_HDF5_CONSTANT(H5T_STD_U32LE_g)
SLUICE_HDF5_CONSTANT(H5T_STD_U64LE_g)
SLUICE_HDF5_CONSTANT(H5T_STD_U8LE_g)

#undef SLUICE_HDF5_OWN
#undef SLUICE_HDF5_CALL
#undef SLUICE_HDF5_CONSTANT

}  // namespace sluice::layout::hdf5

#endif
