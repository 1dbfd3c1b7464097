#include "malleable/model/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace malleable {
namespace {

std::string entry(const std::string& field, std::size_t index) {
  return field + "[" + std::to_string(index) + "]";
}

std::string describe(const std::string& field, const std::string& value,
                     const std::string& reason) {
  return field + " = " + value + ": " + reason;
}

// Replaces the decimal separator of the program's locale by a point.
std::string with_point(std::string text) {
  std::replace(text.begin(), text.end(), ',', '.');
  return text;
}

}  // namespace

FieldError::FieldError(const std::string& field, std::size_t index, double value,
                       const std::string& reason)
    : std::invalid_argument(describe(entry(field, index), exact(value), reason)) {}

FieldError::FieldError(const std::string& field, std::size_t index, long long value,
                       const std::string& reason)
    : std::invalid_argument(describe(entry(field, index), std::to_string(value), reason)) {}

FieldError::FieldError(const std::string& field, double value, const std::string& reason)
    : std::invalid_argument(describe(field, exact(value), reason)) {}

// As std::to_chars writes it, which older C++ libraries do not have.
std::string exact(double value) {
  char text[64];
  int digits = 0;  // digits after the first
  const auto differs = [&] {
    std::snprintf(text, sizeof text, "%.*e", digits, value);
    return std::strtod(text, nullptr) != value;
  };
  while (differs() && digits < 16) ++digits;
  const std::string scientific = with_point(text);
  if (!std::isfinite(value)) return scientific;
  const int power = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  if (power < -5 || power > 24) return scientific;
  std::snprintf(text, sizeof text, "%.*f", std::max(0, digits - power), value);
  const std::string plain = with_point(text);
  return plain.size() <= scientific.size() ? plain : scientific;
}

// A number for messages, with six digits.
std::string shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return with_point(text);
}

}  // namespace malleable
