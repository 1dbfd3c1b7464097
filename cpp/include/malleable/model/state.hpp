// The state of an object as bytes, and back: for copies, checkpoints and comparisons of objects
// that are kept between decisions.
//
// A class lists its state once:
//
//   void state(State& s) { s(slots_, id_, work_, heap_); }
//
// and the same line writes and reads it. Derived data (caches, workspaces) are left out and built
// again. A field is a number, a bool, an enumeration, text, a class with `state`, or an optional,
// array, vector or pair of those. Equal bytes mean equal state: only values are written, never
// padding.
//
// Only the same version of the package can read the bytes. They begin with their kind and a
// checksum, so that foreign, cut or damaged bytes are an error (std::invalid_argument) before any
// of them is used. O(bytes).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace malleable {

class State {
 public:
  State() = default;
  explicit State(std::string_view bytes) : left_(bytes), reading_(true) {}

  bool reading() const { return reading_; }
  std::string take() { return std::move(bytes_); }
  // The bytes that have not been read yet.
  std::string_view rest() const { return left_; }

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (field(fields), ...);
  }

 private:
  template <typename T>
  static constexpr bool kPlain =
      (std::is_arithmetic_v<T> || std::is_enum_v<T>) && !std::is_same_v<T, bool>;

  // Writes the bytes, or reads as many into them. Not inline: saving is rare, and every field of
  // every class calls this.
  void raw(void* data, std::size_t size);
  void need(std::size_t size) const;
  // A length, which the remaining bytes must be able to fill.
  std::size_t length(std::size_t size);

  template <typename T>
  void field(T& value) {
    if constexpr (kPlain<T>) {
      raw(&value, sizeof value);
    } else if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = value ? 1 : 0;
      raw(&byte, 1);
      value = byte != 0;
    } else {
      value.state(*this);
    }
  }
  void field(std::string& text) {
    text.resize(length(text.size()));
    raw(text.data(), text.size());
  }
  template <typename T, typename Allocator>
  void field(std::vector<T, Allocator>& values) {
    const std::size_t count = length(values.size());
    if constexpr (kPlain<T>) {
      if (reading_ && count > left_.size() / sizeof(T)) need(left_.size() + 1);
      values.resize(count);
      raw(values.data(), count * sizeof(T));
    } else {
      values.resize(count);
      for (T& value : values) field(value);
    }
  }
  template <typename T, std::size_t N>
  void field(T (&values)[N]) {
    for (T& value : values) field(value);
  }
  template <typename T, std::size_t N>
  void field(std::array<T, N>& values) {
    for (T& value : values) field(value);
  }
  template <typename T>
  void field(std::optional<T>& value) {
    bool there = value.has_value();
    field(there);
    if (reading_) value.reset();
    if (there && reading_) value.emplace();
    if (there) field(*value);
  }
  template <typename A, typename B>
  void field(std::pair<A, B>& both) {
    field(both.first);
    field(both.second);
  }

  std::string bytes_;
  std::string_view left_;  // to be read
  bool reading_ = false;
};

const char* package_version();

// `kind` names the class. The version is the package's.
std::string seal_state(std::string_view kind, const std::string& content);
// The sealed content; throws std::invalid_argument with the reason if the bytes are refused.
std::string_view open_state(std::string_view kind, std::string_view bytes);

template <typename T>
std::string save_state(std::string_view kind, T& object) {
  State out;
  object.state(out);  // writing changes nothing
  return seal_state(kind, out.take());
}

// Reads a state into a new object, which must not be used if the bytes are refused.
template <typename T>
void load_state(std::string_view kind, std::string_view bytes, T& object) {
  State in(open_state(kind, bytes));
  object.state(in);
  if (!in.rest().empty()) throw std::invalid_argument("state: it goes on after its end");
}

}  // namespace malleable
