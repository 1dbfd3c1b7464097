// The test harness: checks that print where and what, and named cases; main.cpp runs them. A header
// of our own, because the project must build with nothing but a C++ compiler. What a test file
// declares stands in a namespace with the name of the file, because the compiler reads several
// files as one.
#pragma once

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace malleable::check {

struct Case {
  std::string name;  // test_STEM.cpp/the case
  void (*body)();
};
inline std::vector<Case> cases;
inline std::string context;  // printed with every failure; names the random instance at hand
inline std::size_t checks = 0, failures = 0;

struct Enough {};  // ends a case that has failed often enough to make the point
inline constexpr std::size_t kMostFailures = 10;

struct Registration {
  Registration(const std::string& file, const char* name, void (*body)()) {
    cases.push_back({file.substr(file.find_last_of("/\\") + 1) + "/" + name, body});
  }
};

template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  out << std::setprecision(17);
  (out << ... << parts);
  return out.str();
}

inline void fail(const char* file, int line, const std::string& message) {
  std::fprintf(stderr, "%s:%d: %s%s%s\n", file, line, message.c_str(),
               context.empty() ? "" : "  in ", context.c_str());
  if (++failures % kMostFailures == 0) throw Enough{};
}

// The message is built only if the check fails, because most checks pass.
template <typename... Parts>
void report(bool ok, const char* file, int line, const Parts&... parts) {
  ++checks;
  if (!ok) fail(file, line, text(parts...));
}

inline bool near(double a, double b, double margin) {
  return a == b || std::fabs(a - b) <= margin;  // equal infinities are near
}

using Random = std::mt19937_64;

// Whether an address sanitizer runs: GCC defines a macro, Clang a test that GCC does not know.
#if defined(__SANITIZE_ADDRESS__)
#define MALLEABLE_ADDRESSES_WATCHED 1
#elif defined(__has_feature)
#define MALLEABLE_ADDRESSES_WATCHED __has_feature(address_sanitizer)
#else
#define MALLEABLE_ADDRESSES_WATCHED 0
#endif

// Runs body(random) `count` times (fewer under a sanitizer, MALLEABLE_TRIALS times as many where
// that is set), each time from a seed of its own.
template <typename Body>
void trials(std::uint64_t seed, std::size_t count, Body body) {
#if MALLEABLE_ADDRESSES_WATCHED
  count = count / 5 + 1;
#endif
  if (const char* times = std::getenv("MALLEABLE_TRIALS")) {
    count *= static_cast<std::size_t>(std::atoi(times));
  }
  for (std::size_t k = 0; k < count; ++k) {
    context = text("seed ", seed, ", instance ", k);
    Random random(seed * 1'000'003 + k);
    body(random);
  }
  context.clear();
}

// The library's distributions differ between compilers; these do not.
inline std::int64_t integer(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}
inline double real(Random& random, double low, double high) {
  return low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
}
inline bool chance(Random& random, double probability) {
  return real(random, 0.0, 1.0) < probability;
}

// An assertion that fails in the core does not say on which instance.
inline void tell_context(int) { std::fprintf(stderr, "aborted in %s\n", context.c_str()); }

// All cases, or those whose name contains one of the arguments.
inline int run_cases(int count, char** names) {
  std::signal(SIGABRT, tell_context);
  std::size_t run = 0;
  for (const Case& each : cases) {
    bool wanted = count < 2;
    for (int k = 1; k < count; ++k) wanted |= each.name.find(names[k]) != std::string::npos;
    if (!wanted) continue;
    ++run;
    context.clear();
    const std::size_t before = failures;
    try {
      each.body();
    } catch (const Enough&) {
    } catch (const std::exception& error) {
      ++failures;
      std::fprintf(stderr, "%s: unexpected exception: %s\n", context.c_str(), error.what());
    }
    if (failures > before) std::fprintf(stderr, "FAILED %s\n", each.name.c_str());
  }
  std::printf("%zu cases, %zu checks, %zu failures\n", run, checks, failures);
  return failures == 0 && run > 0 ? 0 : 1;
}

}  // namespace malleable::check

#define TEST(name)                                                                        \
  static void name();                                                                     \
  static const malleable::check::Registration registration_##name(__FILE__, #name, name); \
  static void name()

#define CHECK(condition) \
  malleable::check::report(static_cast<bool>(condition), __FILE__, __LINE__, #condition)

#define CHECK_EQUAL(left, right)                                                          \
  do {                                                                                    \
    const auto left_value = (left);                                                       \
    const auto right_value = (right);                                                     \
    malleable::check::report(left_value == right_value, __FILE__, __LINE__,               \
                             #left " == " #right ": ", left_value, " and ", right_value); \
  } while (false)

#define CHECK_NEAR(left, right, margin)                                                           \
  do {                                                                                            \
    const double left_value = (left), right_value = (right), margin_value = (margin);             \
    malleable::check::report(malleable::check::near(left_value, right_value, margin_value),       \
                             __FILE__, __LINE__, #left " near " #right ": ", left_value, " and ", \
                             right_value);                                                        \
  } while (false)

// left <= right, up to rounding of size `margin`.
#define CHECK_AT_MOST(left, right, margin)                                                 \
  do {                                                                                     \
    const double left_value = (left), right_value = (right), margin_value = (margin);      \
    malleable::check::report(left_value <= right_value + margin_value, __FILE__, __LINE__, \
                             #left " <= " #right ": ", left_value, " and ", right_value);  \
  } while (false)

#define CHECK_THROWS(expression, substring)                                              \
  do {                                                                                   \
    std::string message_value = "nothing was thrown";                                    \
    bool thrown_value = false;                                                           \
    try {                                                                                \
      expression;                                                                        \
    } catch (const std::exception& error_value) {                                        \
      message_value = error_value.what();                                                \
      thrown_value = message_value.find(substring) != std::string::npos;                 \
    }                                                                                    \
    malleable::check::report(thrown_value, __FILE__, __LINE__,                           \
                             #expression " throws \"" substring "\": " + message_value); \
  } while (false)
