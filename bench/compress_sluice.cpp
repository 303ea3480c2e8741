// Compressed writes by Sluice, the encoding of the same chunks without any I/O, and h5py's gzip.
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "codec/filter.hpp"
#include "compressed_field.hpp"
#include "contestants.hpp"
#include "sluice/sluice.hpp"

namespace sluice::bench {
namespace {

std::string codec_of(const Job& job) { return "deflate:" + job.text("level"); }

Values write_compressed(World& world, const Job& job) {
  const std::string path = job.text("path");
  const CompressedField field(world, job);
  field.data();
  Options options;
  options.strategy = job.text("strategy");
  options.durability = job.number("durable") != 0 ? Durability::close : Durability::none;
  options.compress = codec_of(job);
  options.storage = job.text("storage", "auto");
  options.checksum = job.text("checksum", "true") == "true";
  start_afresh(world, path);

  Stopwatch watch(world.comm());
  File file(world.comm(), path, Mode::create, options);
  const Variable variable = file.define<float>("field", {field.all, field.rows, field.columns},
                                               {.chunk = {field.chunk, field.rows, field.columns}});
  file.put(variable, field.data().data(),
           {.start = {field.first, 0, 0}, .count = {field.planes, field.rows, field.columns}});
  file.close();
  watch.mark("close_s");
  Values values = watch.finish();
  if (job.number("verify")) field.verify(world, path);
  values.emplace_back("file_bytes", static_cast<double>(std::filesystem::file_size(path)));
  return values;
}

/// What any writer must do: every rank shuffles and deflates its own chunks.
Values encode_only(World& world, const Job& job) {
  const CompressedField field(world, job);
  const std::span<const std::byte> bytes = std::as_bytes(field.data());
  const std::uint64_t chunk_bytes = field.chunk * field.plane * sizeof(float);
  start_afresh(world, job.text("path"));

  Stopwatch watch(world.comm());
  codec::Coder coder(codec::parse_pipeline(codec_of(job), sizeof(float)));
  std::uint64_t encoded = 0;
  for (std::uint64_t at = 0; at < bytes.size(); at += chunk_bytes) {
    encoded +=
        coder.encode(bytes.subspan(at, std::min(chunk_bytes, bytes.size() - at))).bytes.size();
  }
  watch.mark("close_s");
  Values values = watch.finish();
  MPI_Allreduce(MPI_IN_PLACE, &encoded, 1, MPI_UINT64_T, MPI_SUM, world.comm());
  values.emplace_back("file_bytes", static_cast<double>(encoded));
  return values;
}

/// One process writes all of it.
Values write_by_h5py(World& world, const Job& job) {
  const std::string path = job.text("path");
  start_afresh(world, path);
  if (world.rank() != 0) return {};
  const CompressedField field(world, job);
  const char* python = std::getenv("SLUICE_PYTHON");
  std::string command = std::string(python == nullptr ? "python3" : python) +
                        " " SLUICE_BENCH_DIR "/write_gzip.py '" + path + "'";
  for (const std::uint64_t number : {field.all, field.chunk, job.number("level")}) {
    command += " " + std::to_string(number);
  }
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) fail("popen", command);
  double close_s = 0;
  double sync_s = 0;
  const int found = std::fscanf(pipe, "%lf %lf", &close_s, &sync_s);
  if (pclose(pipe) != 0 || found != 2) throw std::runtime_error("compress: " + command + " failed");
  return {{"close_s", close_s},
          {"sync_s", sync_s},
          {"file_bytes", static_cast<double>(std::filesystem::file_size(path))}};
}

}  // namespace

void add_compress(Contestants& contestants) {
  contestants["compress/sluice"] = write_compressed;
  contestants["compress/encoding"] = encode_only;
  contestants["compress/h5py"] = write_by_h5py;
}

}  // namespace sluice::bench
