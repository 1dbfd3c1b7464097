#include "malleable/model/error.hpp"

#include <charconv>

namespace malleable {
namespace {

template <typename Number>
std::string describe(const std::string& field, Number value, const std::string& reason) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return field + " = " + std::string(text, end) + ": " + reason;
}

std::string entry(const std::string& field, std::size_t index) {
  return field + "[" + std::to_string(index) + "]";
}

}  // namespace

FieldError::FieldError(const std::string& field, std::size_t index, double value,
                       const std::string& reason)
    : std::invalid_argument(describe(entry(field, index), value, reason)) {}

FieldError::FieldError(const std::string& field, std::size_t index, long long value,
                       const std::string& reason)
    : std::invalid_argument(describe(entry(field, index), value, reason)) {}

FieldError::FieldError(const std::string& field, double value, const std::string& reason)
    : std::invalid_argument(describe(field, value, reason)) {}

std::string shown(double value) {
  char text[64];
  const auto end = text + sizeof text;
  return {text, std::to_chars(text, end, value, std::chars_format::general, 6).ptr};
}

}  // namespace malleable
