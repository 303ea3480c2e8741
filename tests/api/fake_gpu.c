/* A GPU's library as far as it is asked: one range of ordinary memory is said to be the device's.
 * Compiled as libcuda and as libamdhip64. */
#include <stdint.h>
#include <string.h>

static uintptr_t first, end;
static int managed;

void fake_device_memory(const void* begin, size_t bytes, int is_managed) {
  first = (uintptr_t)begin;
  end = first + bytes;
  managed = is_managed;
}

static int is_of_device(uintptr_t at) { return at >= first && at < end; }

#ifdef FAKE_CUDA
int cuPointerGetAttribute(void* value, int attribute, uint64_t pointer) {
  const int invalid_value = 1;
  if (!is_of_device((uintptr_t)pointer)) {
    return invalid_value; /* as of memory that CUDA has never heard of */
  }
  if (attribute == 2) { /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE */
    const unsigned device = 2;
    memcpy(value, &device, sizeof device);
    return 0;
  }
  if (attribute == 8) {                              /* CU_POINTER_ATTRIBUTE_IS_MANAGED */
    const unsigned char is = (unsigned char)managed; /* a boolean is one byte wide */
    memcpy(value, &is, sizeof is);
    return 0;
  }
  return invalid_value;
}
#else
struct hipPointerAttribute_t {
  int type;
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

/* As of ROCm 6: success for any pointer. */
int hipPointerGetAttributes(struct hipPointerAttribute_t* attributes, const void* pointer) {
  memset(attributes, 0, sizeof *attributes);
  if (is_of_device((uintptr_t)pointer)) {
    attributes->type = 2;
    attributes->devicePointer = (void*)pointer;
    attributes->hostPointer = managed ? (void*)pointer : NULL;
    attributes->isManaged = managed;
  }
  return 0;
}
#endif
