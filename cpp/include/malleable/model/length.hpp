// Columns that belong together are of one length; the message says which is not, and by how much.
#pragma once

#include <cstddef>
#include <string>

namespace malleable {

// `1 job`, `2 jobs`; `plural` where an s is not enough.
std::string counted(std::size_t count, const std::string& noun, const std::string& plural = "");

// Throws std::invalid_argument if the lengths differ: `weight has 1 entry but work has 3`, or
// `weight has 1 entry, expected 3` if no other column says so.
void check_length(const std::string& field, std::size_t length, std::size_t expected,
                  const std::string& other = "");

}  // namespace malleable
