// Fortran's unformatted records: found, read, cut in subrecords as gfortran does, refused where
// damaged.
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

#include "dialect/mfdn/records.hpp"
#include "sluice/error.hpp"

namespace sluice::dialect::mfdn {
namespace {

std::vector<std::byte> values(std::size_t bytes, int seed) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::byte>((i * 7 + seed) & 0xff);
  return all;
}

std::int32_t int_at(storage::File& file, std::uint64_t offset) {
  std::int32_t value = 0;
  EXPECT_EQ(file.read(offset, std::as_writable_bytes(std::span(&value, 1))), 4U);
  return value;
}

class Records : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "mfdn_records_test";
    if (storage_->exists(path_)) storage_->remove(path_);
  }
  void TearDown() override { storage_->remove(path_); }

  /// Two records, one after another in pieces.
  void write(std::uint64_t most_bytes) {
    RecordWriter writer(*storage_, path_, most_bytes);
    for (const std::size_t bytes : {std::size_t{1000}, std::size_t{37}}) {
      const auto all = values(bytes, static_cast<int>(bytes));
      writer.begin(bytes);
      for (std::size_t at = 0; at < bytes; at += 90) {
        writer.append(std::span(all).subspan(at, std::min<std::size_t>(90, bytes - at)));
      }
    }
    writer.begin(0);
    writer.finish();
  }

  std::shared_ptr<storage::Storage> storage_ = storage::make_posix();
  std::string path_;
};

TEST_F(Records, AreFoundAndReadFromAnyPlace) {
  for (const std::uint64_t most : {most_subrecord_bytes, std::uint64_t{100}, std::uint64_t{999}}) {
    write(most);
    const auto file = storage_->open(path_, storage::Access::read);
    const auto records = find_records(*file);
    ASSERT_EQ(records.size(), 3U);
    EXPECT_EQ(records[0].bytes(), 1000U);
    EXPECT_EQ(records[1].bytes(), 37U);
    EXPECT_EQ(records[2].bytes(), 0U);
    const auto expected = values(1000, 1000);
    std::vector<std::byte> part(450);
    read_record(*file, records[0], 275, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + 275)) << most;
    EXPECT_THROW(read_record(*file, records[0], 600, part), Error);
    storage_->remove(path_);
  }
  write(most_subrecord_bytes);
}

TEST_F(Records, SubrecordsHaveTheSignsOfGfortran) {
  write(400);  // 1000 = 400 + 400 + 200
  const auto file = storage_->open(path_, storage::Access::read);
  EXPECT_EQ(int_at(*file, 0), -400);
  EXPECT_EQ(int_at(*file, 404), 400);
  EXPECT_EQ(int_at(*file, 408), -400);
  EXPECT_EQ(int_at(*file, 812), -400);
  EXPECT_EQ(int_at(*file, 816), 200);
  EXPECT_EQ(int_at(*file, 1020), -200);
}

TEST_F(Records, DamagedLengthsAreRefusedWithTheirPlace) {
  write(most_subrecord_bytes);
  const auto file = storage_->open(path_, storage::Access::read_write);
  const std::uint64_t end = file->size();
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1004}, end - 4}) {
    const std::int32_t right = int_at(*file, offset);
    for (const std::int32_t wrong : {right + 1, -right - 1, 0x7fffffff, INT32_MIN}) {
      file->write(offset, std::as_bytes(std::span(&wrong, 1)));
      try {
        find_records(*file);
        ADD_FAILURE() << wrong << " at " << offset;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::format) << e.what();
      }
    }
    file->write(offset, std::as_bytes(std::span(&right, 1)));
  }
  file->resize(end - 6);
  EXPECT_THROW(find_records(*file), Error);
}

TEST_F(Records, ZerosAreNoFileOfManyStates) {
  const auto file = storage_->open(path_, storage::Access::create);
  file->resize(8 * most_records);
  EXPECT_EQ(find_records(*file).size(), most_records);
  file->resize(8 * (most_records + 1));
  try {
    find_records(*file);
    ADD_FAILURE() << "taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::format) << e.what();
  }
}

TEST_F(Records, AnUnfinishedRecordIsAnError) {
  RecordWriter writer(*storage_, path_);
  writer.begin(10);
  EXPECT_THROW(writer.finish(), Error);
  EXPECT_THROW(writer.begin(1), Error);
  EXPECT_THROW(writer.append(values(11, 0)), Error);
}

}  // namespace
}  // namespace sluice::dialect::mfdn
