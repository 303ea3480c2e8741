// What convert copies from a file of another program: a failure of the storage is an error of the
// storage, never a property of an object that is left out; its time grows with the file.
#include "layout/hdf5/carry.hpp"

#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/handle.hpp"
#include "layout/hdf5/scales.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/local_files.hpp"
#include "storage/scratch.hpp"
#include "support/faulty_storage.hpp"

namespace sluice::layout::hdf5 {
namespace {

constexpr hsize_t lists = 50;

/// Lists, in chunks, of references to what is not copied.
void make_source(const std::string& path) {
  const Handle file = own(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), path);
  const Handle space = own(H5Screate_simple(1, &lists, nullptr), path);
  const Handle group =
      own(H5Gcreate2(file.get(), "sluice", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path);
  std::vector<hobj_ref_t> references(lists);
  std::vector<hvl_t> values;
  for (hobj_ref_t& reference : references) {
    const std::string name = "aim" + std::to_string(values.size());
    create_dataset(group.get(), name, H5T_NATIVE_UINT64, space.get(), H5P_DEFAULT);
    check(H5Rcreate(&reference, group.get(), name.c_str(), H5R_OBJECT, -1), path);
    values.push_back({1, &reference});
  }
  const Handle type = own(H5Tvlen_create(H5T_STD_REF_OBJ), path);
  const Handle list = own(H5Pcreate(H5P_DATASET_CREATE), path);
  set_chunk(list.get(), {1}, path);
  const Handle dataset = create_dataset(file.get(), "lists", type.get(), space.get(), list.get());
  check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), path);
}

class CarryTest : public testing::Test {
 protected:
  void SetUp() override {
    make_source(scratch_ / "source.h5");
    const auto file = storage::make_posix()->open(scratch_ / "source.h5", storage::Access::read);
    std::vector<std::byte> bytes(file->size());
    file->read(0, bytes);
    files_.storage()->put("source.h5", bytes);
    files_.run(1, [&](exec::Transport& transport) {
      files_.open(transport, "target.h5", Mode::write).close();
    });
    target_ = files_.storage()->contents("target.h5");
  }

  /// Carries into a new file while the nth read of the source fails; 0: none does.
  std::vector<std::string> carried(std::uint64_t nth) {
    files_.storage()->put("target.h5", target_);
    faults_->clear();
    if (nth != 0) {
      storage::Rule rule;
      rule.call = storage::Call::read;
      rule.path_part = "source.h5";
      rule.nth = nth;
      faults_->add(rule);
    }
    storage::FaultyStorage faulty(files_.storage(), faults_);
    const auto from = faulty.open("source.h5", storage::Access::read);
    const auto into = faulty.open("target.h5", storage::Access::read_write);
    return carry(*from, *into, {});
  }

  const std::shared_ptr<storage::Faults> faults_ = std::make_shared<storage::Faults>();

 private:
  storage::Scratch scratch_;
  test::LocalFiles files_;
  std::vector<std::byte> target_;
};

TEST_F(CarryTest, AFailedReadIsAnErrorOfTheStorage) {
  const std::vector<std::string> expected = {"sluice (the group is called as Sluice's own)",
                                             "lists (references to what is not there)"};
  EXPECT_EQ(carried(0), expected);
  const std::uint64_t reads = faults_->calls(storage::Call::read);
  ASSERT_GT(reads, 20u);
  for (std::uint64_t nth = 1;; ++nth) {
    const std::uint64_t fired = faults_->fired();
    try {
      const std::vector<std::string> left = carried(nth);
      if (faults_->fired() == fired) {
        EXPECT_GT(nth, 20u);
        break;
      }
      ADD_FAILURE() << "read " << nth
                    << " failed, and nobody said so: " << testing::PrintToString(left);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::io) << "read " << nth << ": " << error.what();
    }
  }
}

TEST(Carry, AsksEachDatasetOnceForItsScales) {
  const auto calls = [](int datasets) {
    storage::Scratch scratch;
    const std::string source = scratch / "source.nc";
    {
      const Handle file =
          own(H5Fcreate(source.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), source);
      const Handle text = own(H5Tcopy(H5T_C_S1), source);
      check(H5Tset_size(text.get(), H5T_VARIABLE), source);
      const Handle space = dataspace({3});
      Scales scales;
      for (int i = 0; i < datasets; ++i) {
        const std::string name = "of_" + std::to_string(i);
        const std::string scale = "x" + std::to_string(i);
        const Handle user = create_dataset(file.get(), name, text.get(), space.get(), H5P_DEFAULT);
        scales.make_plain(file.get(), scale, {scale, 3, false});
        scales.attach(file.get(), user.get(), name, {scale});
      }
      scales.seal(file.get());
    }
    test::LocalFiles files;
    files.run(1, [&](exec::Transport& transport) {
      files.open(transport, "target.nc", Mode::write).close();
    });
    const auto from = storage::make_posix()->open(source, storage::Access::read);
    const auto into = files.storage()->open("target.nc", storage::Access::read_write);
    const std::uint64_t before = call_watch().count;
    EXPECT_TRUE(carry(*from, *into, {}).empty());
    return call_watch().count - before;
  };
  const std::uint64_t few = calls(20);
  EXPECT_LE(calls(40), 5 * few / 2);  // 0 where libhdf5 is the program's own
}

}  // namespace
}  // namespace sluice::layout::hdf5
