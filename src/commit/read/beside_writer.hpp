// A read beside a writer, which fails where the writer changed the file under it, is repeated.
//
// Why: rank 0 reads the structure of the file when it is needed, from a file over which the changes
// of the commit are laid that was the last one when it was opened. What later commits put in place
// is seen in part then: an index as it is now by a header as it was. Old bytes that were replaced
// are nowhere any more, so no reader can avoid it.
#pragma once

#include "commit/publish/damage.hpp"
#include "commit/read/file_input.hpp"
#include "commit/read/locator.hpp"
#include "model/clock.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

/// May an error mean that the file was changed while it was read?
constexpr bool may_be_of_change(Code code) {
  return is_of_content(code) || code == Code::changed_outside;
}

/// Collective. Runs `work`, which reads on all ranks, and throws the same error on every rank. If
/// that may come from a writer, and the file was changed since its structure was read, that is read
/// again and `work` is repeated; what the ranks know of the file, its steps too, stays the same. A
/// bounded number of times, and only for a bounded time; an error of a file that nobody changes is
/// thrown at once.
template <class Work>
void beside_writer(const FileInput& file, Locator& locator, Work&& work) {
  constexpr int most_tries = 50;
  constexpr double longest_s = 10;
  const double began_s = model::now_s();
  for (int tries = 1;; ++tries) {
    try {
      work();
      return;
    } catch (const Error& e) {
      const bool may_wait = model::now_s() - began_s < longest_s;
      if (!may_be_of_change(e.code()) || tries == most_tries || !file.follow(may_wait)) {
        throw;
      }
      locator.forget();
    }
  }
}

}  // namespace sluice::commit
