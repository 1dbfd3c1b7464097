#include "malleable/model/option.hpp"

#include <charconv>

#include "malleable/model/domain.hpp"
#include "malleable/model/error.hpp"

namespace malleable {
namespace {

// The number that the whole text is; nothing if it is none.
template <typename T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

void throw_option(const Option& option, std::string_view value, const char* reason) {
  throw std::invalid_argument(std::string(option.name) + " = " + std::string(value) + ": " +
                              reason);
}

void check_option(const Option& option, double value) {
  if (value >= option.low && value <= option.high && std::isfinite(value)) return;
  const std::string reason =
      std::isinf(option.high) ? "must be finite and at least " + shown(option.low)
                              : "must be from " + shown(option.low) + " to " + shown(option.high);
  throw_option(option, shown(value), reason.c_str());
}

void check_option(const Option& option, const CommonSpeedup& value) {
  check_option(option, value.p);
  double before = 0.0;
  for (const double rate : value.rates) {
    check_amount(option.name, rate, kRateRange);
    if (rate < before) {
      throw_option(option, shown(rate), "more tasks must not do less than fewer do");
    }
    before = rate;
  }
}

double number_of(const Option& option, std::string_view text) {
  const auto value = parsed<double>(text);
  if (!value) throw_option(option, text, "not a number");
  check_option(option, *value);
  return *value;
}

std::int64_t whole_of(const Option& option, std::string_view text) {
  const auto value = parsed<std::int64_t>(text);
  if (!value) throw_option(option, text, "not a whole number");
  check_option(option, static_cast<double>(*value));
  return *value;
}

bool flag_of(const Option& option, std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  throw_option(option, text, "must be true or false");
}

std::size_t word_of(const Option& option, std::string_view text) {
  std::string known;
  for (std::size_t k = 0; k < option.words.size(); ++k) {
    if (text == option.words[k]) return k;
    known += (known.empty() ? "" : ", ") + std::string(option.words[k]);
  }
  throw_option(option, text, ("expected one of " + known).c_str());
}

// An exponent, or rates with 1, 2, ... slots, separated by semicolons.
CommonSpeedup speedup_of(const Option& option, std::string_view text) {
  CommonSpeedup value;
  if (text.find(';') == std::string_view::npos) {
    value.p = number_of(option, text);
    return value;
  }
  for (bool more = true; more;) {
    const std::size_t end = text.find(';');
    const auto rate = parsed<double>(text.substr(0, end));
    if (!rate) throw_option(option, text, "not a number or rates");
    value.rates.push_back(*rate);
    more = end != std::string_view::npos;
    if (more) text.remove_prefix(end + 1);
  }
  check_option(option, value);
  return value;
}

}  // namespace malleable
