#include "exec/device_memory.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <mutex>

#include "sluice/error.hpp"

namespace sluice::exec {

namespace {

// CUDA's driver: CUresult cuPointerGetAttribute(void*, CUpointer_attribute, CUdeviceptr).
using CudaAttribute = int (*)(void* value, int attribute, std::uint64_t pointer);
constexpr int cuda_memory_type = 2;  ///< CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int cuda_is_managed = 8;   ///< CU_POINTER_ATTRIBUTE_IS_MANAGED
constexpr unsigned cuda_device = 2;  ///< CU_MEMORYTYPE_DEVICE

// HIP: hipError_t hipPointerGetAttributes(hipPointerAttribute_t*, const void*). The numbers of the
// memory types changed between ROCm 5 and 6, the fields did not.
struct HipAttributes {
  int type = 0;
  int device = 0;
  void* device_pointer = nullptr;
  void* host_pointer = nullptr;
  int is_managed = 0;
  unsigned flags = 0;
  unsigned char later_fields[64] = {};
};
using HipAttribute = int (*)(HipAttributes* attributes, const void* pointer);

struct Gpu {
  std::mutex mutex;
  std::atomic<unsigned long long> loads = 0;  ///< number of libraries loaded so far, at the last
                                              ///< check
  std::atomic<CudaAttribute> cuda = nullptr;
  std::atomic<HipAttribute> hip = nullptr;
};

Gpu& gpu() {
  static auto* one = new Gpu;
  return *one;
}

int read_loads(dl_phdr_info* info, std::size_t, void* loads) {
  *static_cast<unsigned long long*>(loads) = info->dlpi_adds;
  return 1;  // the first entry has the counters
}

struct Paths {
  std::string cuda;
  std::string hip;
};

int find_paths(dl_phdr_info* info, std::size_t, void* into) {
  auto& paths = *static_cast<Paths*>(into);
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const std::string name = slash == nullptr ? info->dlpi_name : slash + 1;
  if (name.rfind("libcuda.so", 0) == 0) {
    paths.cuda = info->dlpi_name;
  } else if (name.rfind("libamdhip64.so", 0) == 0) {
    paths.hip = info->dlpi_name;
  }
  return 0;
}

/// A function of a loaded library, which may be loaded with local visibility.
template <class Function>
Function function_of(const std::string& path, const char* name) {
  void* library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return nullptr;
  }
  return reinterpret_cast<Function>(dlsym(library, name));
}

void look_for_gpu(unsigned long long loads) {
  Gpu& found = gpu();
  const std::lock_guard lock(found.mutex);
  Paths paths;
  dl_iterate_phdr(find_paths, &paths);
  found.cuda = function_of<CudaAttribute>(paths.cuda, "cuPointerGetAttribute");
  found.hip = function_of<HipAttribute>(paths.hip, "hipPointerGetAttributes");
  found.loads = loads;
}

bool is_cuda_memory(CudaAttribute ask, const void* pointer) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  unsigned type = 0;
  int is_managed = 0;
  return ask(&type, cuda_memory_type, address) == 0 && type == cuda_device &&
         !(ask(&is_managed, cuda_is_managed, address) == 0 && is_managed != 0);
}

bool is_hip_memory(HipAttribute ask, const void* pointer) {
  HipAttributes attributes;
  return ask(&attributes, pointer) == 0 && attributes.device_pointer != nullptr &&
         attributes.host_pointer == nullptr && attributes.is_managed == 0;
}

}  // namespace

const char* device_of(const void* pointer) noexcept {
  if (pointer == nullptr) {
    return nullptr;
  }
  unsigned long long loads = 0;
  dl_iterate_phdr(read_loads, &loads);
  if (loads != gpu().loads) {
    look_for_gpu(loads);
  }
  const CudaAttribute cuda = gpu().cuda;
  if (cuda != nullptr && is_cuda_memory(cuda, pointer)) {
    return "CUDA";
  }
  const HipAttribute hip = gpu().hip;
  return hip != nullptr && is_hip_memory(hip, pointer) ? "HIP" : nullptr;
}

void throw_device_memory(const char* device, const std::string& what) {
  throw Error(Code::invalid_argument, what + ": the pointer is to " + device +
                                          " device memory, which Sluice cannot read or write: "
                                          "copy it to or from an array of the host");
}

}  // namespace sluice::exec
