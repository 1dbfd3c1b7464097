// Wrong input: which field, which row, what value, and what would have been right.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace malleable {

// Thrown before anything changes. The message reads `work[3] = nan: must be finite and at least 0`.
class FieldError : public std::invalid_argument {
 public:
  FieldError(const std::string& field, std::size_t index, double value, const std::string& reason);
  FieldError(const std::string& field, std::size_t index, long long value,
             const std::string& reason);
  // A single number: `now = nan: must be finite`.
  FieldError(const std::string& field, double value, const std::string& reason);
};

// As few digits as tell a number from all others.
std::string exact(double value);

// Six digits of a number, for what a message says besides the value that is wrong.
std::string shown(double value);

}  // namespace malleable
