// Pointers to GPU memory are refused with an error in every call. The GPU libraries are fakes that
// claim ordinary memory.
#include <dlfcn.h>
#include <sluice/records.hpp>
#include <sluice/session.hpp>

#include "api/records/records_impl.hpp"
#include "api/session/session_impl.hpp"
#include "layout/local_files.hpp"
#include "sluice/sluice.h"
#include "storage/scratch.hpp"
#include "support/errors.hpp"

namespace sluice::test {
namespace {

constexpr std::uint64_t rows = 1000;

struct Maker {
  const char* library;
  const char* name;
};

class DeviceMemory : public testing::TestWithParam<Maker> {
 protected:
  /// As a run-time library loads its driver: with local visibility, and possibly after the first
  /// put.
  void load() {
    library_ = dlopen(GetParam().library, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    call_device_memory(values_.data(), values_.size() * sizeof(double), 0);
  }
  void TearDown() override {
    if (library_ != nullptr) {
      call_device_memory(nullptr, 0, 0);
      dlclose(library_);
    }
  }
  void call_device_memory(const void* begin, std::size_t bytes, int is_managed) const {
    reinterpret_cast<void (*)(const void*, std::size_t, int)>(
        dlsym(library_, "fake_device_memory"))(begin, bytes, is_managed);
  }
  void refuses(const char* call, const std::function<void()>& work) const {
    expect_error(thrown_by(work), Code::invalid_argument,
                 {call, std::string(GetParam().name) + " device memory", "copy"});
  }

  LocalFiles files_;
  void* library_ = nullptr;
  std::vector<double> values_ = std::vector<double>(rows, 1.0);
  std::vector<double> host_ = std::vector<double>(rows, 2.0);
  std::vector<std::uint64_t> ids_ = std::vector<std::uint64_t>(rows, 0);
};

TEST_P(DeviceMemory, IsRefusedWhereItIsPutAndGot) {
  files_.run(1, [&](exec::Transport& transport) {
    File out = files_.open(transport, "v.h5", Mode::write);
    const Variable v = out.define<double>("v", {rows}, {.steps = true});
    const auto put = [&](const std::vector<double>& from, bool by_rows) {
      Step step = out.begin_step();
      by_rows ? step.put_rows(v, ids_.data(), rows, from.data()) : step.put(v, from.data());
      step.end();
    };
    put(values_, false);  // not device memory yet
    load();
    refuses("put v", [&] { put(values_, false); });
    refuses("put_rows v", [&] { put(values_, true); });
    put(host_, false);
    call_device_memory(values_.data(), rows * sizeof(double), 1);
    put(values_, false);  // managed memory: the processor reads it too
    call_device_memory(values_.data(), rows * sizeof(double), 0);
    out.close();

    File in = files_.open(transport, "v.h5", Mode::read);
    EXPECT_EQ(in.steps(), 3u);
    const Variable found = in.find("v");
    refuses("get v", [&] { in.get(found, values_.data()); });
    refuses("get v", [&] { in.defer_get(found, values_.data()); });
    refuses("get_rows v", [&] { in.get_rows(found, ids_.data(), rows, values_.data()); });
    in.get(found, host_.data());
    EXPECT_EQ(host_.front(), 1.0);
  });
}

TEST_P(DeviceMemory, IsRefusedByRecordsAndSessions) {
  load();
  files_.run(1, [&](exec::Transport& transport) {
    Records records(std::make_unique<detail::RecordsImpl>(
        [&](const Options& options) {
          return detail::open_on(transport, files_.storage(), "r.rec", Mode::write, options);
        },
        Mode::write, 1, Options{}));
    refuses("write", [&] { records.write(values_.data(), rows); });
    EXPECT_THROW(records.commit(), Error);
    records.write(host_.data(), rows);
    records.commit();
    records.close();

    SessionFile file(std::make_unique<detail::SessionImpl>(transport, files_.storage(), "s.bin",
                                                           Mode::write, Options{}));
    const std::size_t bytes = rows * sizeof(double);
    const Session session = file.start(0, bytes);
    refuses("write", [&] { file.write(session, values_.data(), bytes, 0); });
    file.write(session, host_.data(), bytes, 0);
    file.close();
  });
}

TEST_P(DeviceMemory, IsRefusedByTheCInterfaceWhereItIsStrided) {
  load();
  const storage::Scratch folder;
  sluice_file* out = nullptr;
  ASSERT_EQ(sluice_open_serial((folder / "c.h5").c_str(), "w", nullptr, &out), SLUICE_OK);
  sluice_variable v = -1;
  const std::int64_t shape = rows / 2;
  ASSERT_EQ(sluice_define(out, "v", SLUICE_FLOAT64, 1, &shape, nullptr, &v), SLUICE_OK);
  sluice_selection selection = SLUICE_SELECTION_INIT;
  const std::int64_t every_other = 2 * sizeof(double);
  selection.stride_bytes = &every_other;
  EXPECT_EQ(sluice_put_selection(out, v, SLUICE_FLOAT64, values_.data(), 1, &selection),
            SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(sluice_last_error(out)).find("device memory"), std::string::npos);
  sluice_free(out);
}

INSTANTIATE_TEST_SUITE_P(Gpus, DeviceMemory,
                         testing::Values(Maker{FAKE_CUDA, "CUDA"}, Maker{FAKE_HIP, "HIP"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice::test
