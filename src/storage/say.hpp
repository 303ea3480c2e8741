// What the library says to the user, where nothing else takes its messages.
#pragma once

#include <string>

namespace sluice::storage {

/// "sluice: `text`" to stderr, without control characters; several lines are possible. Any thread.
void say(const std::string& text) noexcept;

/// say() before MPI_Abort: a launcher may drop what it has not read yet when a rank aborts. Where
/// stderr is a pipe, this waits until it has been read, at most one second.
void say_before_abort(const std::string& text) noexcept;

}  // namespace sluice::storage
