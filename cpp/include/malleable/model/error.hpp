// Errors of wrong input: the field, the row, the value, and the values that are allowed.
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

// The shortest text that reads back as the same number.
std::string exact(double value);

// Six digits of a number, for messages about numbers other than the wrong value.
std::string shown(double value);

}  // namespace malleable
