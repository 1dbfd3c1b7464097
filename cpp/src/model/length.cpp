#include "malleable/model/length.hpp"

#include <stdexcept>

namespace malleable {

std::string counted(std::size_t count, const std::string& noun, const std::string& plural) {
  const std::string& word = count == 1 ? noun : plural;
  return std::to_string(count) + " " + (word.empty() ? noun + "s" : word);
}

void check_length(const std::string& field, std::size_t length, std::size_t expected,
                  const std::string& other) {
  if (length == expected) return;
  throw std::invalid_argument(field + " has " + counted(length, "entry", "entries") +
                              (other.empty() ? ", expected " : " but " + other + " has ") +
                              std::to_string(expected));
}

}  // namespace malleable
