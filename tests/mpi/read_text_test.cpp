// The public calls: text on every rank, a stream in place of an ifstream, errors on all; and, in
// the long tier, a file above 2 GiB.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "sluice/text.hpp"

namespace sluice {
namespace {

int rank() {
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  return number;
}

/// A file created by rank 0, which exists until every rank has released it. Collective.
class InputFile {
 public:
  explicit InputFile(const std::string& text) {
    std::array<char, 64> folder{"/tmp/sluice-read-XXXXXX"};
    if (rank() == 0) {
      if (mkdtemp(folder.data()) == nullptr) {
        throw std::runtime_error("no folder for the test");
      }
      std::ofstream(std::string(folder.data()) + "/input") << text;
    }
    MPI_Bcast(folder.data(), static_cast<int>(folder.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    folder_ = folder.data();
  }
  ~InputFile() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) {
      std::filesystem::remove_all(folder_);
    }
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  std::string path() const { return folder_ + "/input"; }

 private:
  std::string folder_;
};

TEST(ReadTextMpi, AStreamInTheOldOnesPlace) {
  const std::string text = "create:crystal-structure = sc\n\nsim:time-step = 1 !fs\n7 8.5 nine";
  const InputFile file(text);
  const std::string path = file.path();
  const auto all_of = [](std::istream& input) {
    std::vector<std::string> lines;
    for (std::string line; std::getline(input, line);) {
      lines.push_back(line);
    }
    return lines;
  };
  std::ifstream old(path);
  BroadcastFileStream stream(MPI_COMM_WORLD, path);
  ASSERT_TRUE(stream.is_open());
  EXPECT_EQ(all_of(stream), all_of(old));
  EXPECT_TRUE(stream.eof());
  stream.open(MPI_COMM_WORLD, path);
  EXPECT_TRUE(static_cast<bool>(stream));
  stream.seekg(static_cast<std::streamoff>(text.find("7 8.5")));
  int seven = 0;
  double number = 0;
  std::string nine;
  stream >> seven >> number >> nine;
  EXPECT_EQ(seven, 7);
  EXPECT_EQ(number, 8.5);
  EXPECT_EQ(nine, "nine");
  stream.close();
  EXPECT_FALSE(stream.is_open());
  EXPECT_FALSE(static_cast<bool>(stream));
}

TEST(ReadTextMpi, AMissingFileIsOneErrorOnAll) {
  try {
    BroadcastFileStream stream(MPI_COMM_WORLD, "/no/such/input");
    FAIL() << "it was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_NE(std::string(error.what()).find("/no/such/input"), std::string::npos);
  }
}

TEST(ReadTextMpi, MoreThanTwoGigabytes) {
  if (std::getenv("SLUICE_LONG") == nullptr) {
    GTEST_SKIP() << "2 GiB on every rank: long tier (SLUICE_LONG=1)";
  }
  const InputFile file("begin");
  const std::string path = file.path();
  const std::uint64_t bytes = (std::uint64_t{1} << 31) + 4097;
  if (rank() == 0) {
    std::filesystem::resize_file(path, bytes - 3);
    std::ofstream(path, std::ios::app) << "end";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string text = read_on_root(MPI_COMM_WORLD, path);
  ASSERT_EQ(text.size(), bytes);
  EXPECT_EQ(text.substr(0, 5), "begin");
  EXPECT_EQ(text.substr(bytes - 3), "end");
  EXPECT_EQ(text[bytes / 2], '\0');
}

}  // namespace
}  // namespace sluice
