#include "exec/transport/disagree.hpp"

#include <algorithm>
#include <exception>

#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"

namespace sluice::exec {

namespace {

std::vector<std::byte> bytes_of_said(const std::vector<Said>& all) {
  model::ByteWriter out;
  out.put(all.size());
  for (const Said& said : all) {
    out.put(said.what);
    out.put(said.how.size());
    for (const std::string& text : said.how) {
      out.put(text);
    }
    out.put(said.advice);
  }
  return out.take();
}

std::vector<Said> said_of_bytes(std::span<const std::byte> bytes) {
  model::ByteReader in(bytes);
  std::vector<Said> all;
  for (auto left = in.get<std::size_t>(); left > 0; --left) {
    Said& said = all.emplace_back();
    said.what = in.get_string();
    for (auto texts = in.get<std::size_t>(); texts > 0; --texts) {
      said.how.push_back(in.get_string());
    }
    said.advice = in.get_string();
  }
  return all;
}

std::string with_advice(const std::string& text, const std::string& advice) {
  return advice.empty() ? text : text + ": " + advice;
}

/// "rank 2 defined x with shape (4), rank 0 with shape (5)"
std::string difference_of(const std::string& rank, const Said& said, const std::string& other_rank,
                          const Said& other) {
  if (said.what != other.what) {
    return with_advice(rank + " " + said.what + ", " + other_rank + " " + other.what,
                       said.advice.empty() ? other.advice : said.advice);
  }
  std::string mine;
  std::string theirs;
  for (std::size_t i = 0; i < std::min(said.how.size(), other.how.size()); ++i) {
    if (said.how[i] != other.how[i]) {
      mine += " " + said.how[i];
      theirs += " " + other.how[i];
    }
  }
  return rank + " " + said.what + mine + ", " + other_rank + theirs;
}

/// The first difference of two lists; empty if there is none.
std::string first_difference(int rank, const std::vector<Said>& mine,
                             const std::vector<Said>& root) {
  const std::string me = "rank " + std::to_string(rank);
  const auto [here, there] = std::mismatch(mine.begin(), mine.end(), root.begin(), root.end());
  if (here != mine.end() && there != root.end()) {
    return difference_of(me, *here, "rank 0", *there);
  }
  if (here != mine.end()) {
    return with_advice(me + " " + here->what + ", rank 0 did not", here->advice);
  }
  return there == root.end()
             ? ""
             : with_advice("rank 0 " + there->what + ", " + me + " did not", there->advice);
}

}  // namespace

void refuse_disagreement(Transport& transport, const std::string& where,
                         const std::vector<Said>& mine, const std::string& otherwise) {
  const std::string text = where + ": the ranks disagree: ";
  std::vector<std::byte> bytes;
  if (transport.rank() == 0) {
    bytes = bytes_of_said(mine);
  }
  transport.broadcast(bytes, 0);
  std::exception_ptr failure;
  const std::string found = first_difference(transport.rank(), mine, said_of_bytes(bytes));
  if (!found.empty()) {
    failure = std::make_exception_ptr(Error(Code::divergent, text + found, transport.rank()));
  }
  agree(transport, failure);
  throw Error(Code::divergent, text + otherwise);
}

}  // namespace sluice::exec
