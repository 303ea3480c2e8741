// The list of all tags of messages between ranks, each with its content.
//
// Invariants: no number belongs to two tags (the switch below would not compile), and no other file
// of src/ uses the number of a tag (tests/tidy). Those below 0 belong to carried_transport, which
// sends its collectives as messages; callers cannot use them.
#pragma once

namespace sluice::exec {

// ONE(name, number, meaning)
#define SLUICE_TAGS(ONE)                                                         \
  ONE(carried_collective_tag, -1, "part of a collective")                        \
  ONE(carried_parcel_tag, -2, "a parcel of an exchange")                         \
  ONE(text_piece_tag, 71, "rows of a text file, and where they go")              \
  ONE(turn_tag, 101, "a writer lets a sender send")                              \
  ONE(batch_header_tag, 102, "how much a sender sends next")                     \
  ONE(batch_runs_tag, 103, "where the bytes of a sender go")                     \
  ONE(batch_payload_tag, 104, "the bytes of a sender")                           \
  ONE(read_by_root_tag, 201, "what rank 0 read through the library")             \
  ONE(window_tag, 301, "bytes of a writer's window")                             \
  ONE(window_read_tag, 303, "bytes of a reader's window")                        \
  ONE(decoded_tile_tag, 304, "parts of a tile, from its reader")                 \
  ONE(arrival_tag, 401, "a writer has the bytes of a commit")                    \
  ONE(outcome_tag, 402, "the outcome of a commit")                               \
  ONE(place_length_tag, 403, "the length of a message with sizes or places")     \
  ONE(place_message_tag, 404, "a message with sizes or places of encoded tiles") \
  ONE(session_message_tag, 501, "a message of a session")                        \
  ONE(session_answer_tag, 502, "a message of a session was received")

enum Tag : int {
#define SLUICE_ONE_TAG(name, number, meaning) name = number,
  SLUICE_TAGS(SLUICE_ONE_TAG)
#undef SLUICE_ONE_TAG
};

/// The content of messages with this tag; nullptr for a number that is not a tag.
constexpr const char* meaning_of_tag(int tag) noexcept {
  switch (tag) {
#define SLUICE_ONE_TAG(name, number, meaning) \
  case name:                                  \
    return meaning;
    SLUICE_TAGS(SLUICE_ONE_TAG)
#undef SLUICE_ONE_TAG
    default:
      return nullptr;
  }
}

#undef SLUICE_TAGS

}  // namespace sluice::exec
