#include "malleable/embed/call.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <new>

#include "malleable/model/error.hpp"
#include "malleable/model/state.hpp"

namespace malleable::embed {
namespace {

// A fixed array, so that a message can be stored if memory is exhausted.
thread_local std::array<char, 1024> message{};

// Stores a message; returns the status.
int noted(int status, const char* what) {
  const std::size_t length = std::min(std::strlen(what), message.size() - 1);
  std::copy_n(what, length, message.begin());
  message[length] = '\0';
  return status;
}

}  // namespace

// The status of the exception that is being handled, whose message is stored.
int failure() noexcept {
  try {
    throw;
  } catch (const std::invalid_argument& error) {
    return noted(MALLEABLE_INVALID, error.what());
  } catch (const BusyError& error) {
    return noted(MALLEABLE_BUSY, error.what());
  } catch (const std::bad_alloc&) {
    return noted(MALLEABLE_NO_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return noted(MALLEABLE_FAILED, error.what());
  } catch (...) {
    return noted(MALLEABLE_FAILED, "an exception of an unknown type");
  }
}

void throw_no_handle() {
  throw std::invalid_argument("handle: null, freed, or of another kind of object");
}
void throw_null(const char* field) {
  throw std::invalid_argument(std::string(field) + ": missing (null)");
}
void throw_no_room(std::int64_t room, std::size_t rows) {
  throw std::invalid_argument("room = " + std::to_string(room) + ": must be at least " +
                              std::to_string(rows));
}
void throw_count(const char* field, std::int64_t count, std::int64_t most) {
  throw std::invalid_argument(std::string(field) + " = " + std::to_string(count) +
                              ": must be from 0 to " + std::to_string(most));
}
void throw_bytes(const char* field, std::int64_t bytes, std::size_t least) {
  throw std::invalid_argument(std::string(field) + ".bytes = " + std::to_string(bytes) +
                              ": must be sizeof the structure (" + std::to_string(least) +
                              ", or more if all that this version does not know is zero)");
}

// Reads an objective such as "sum:response".
Goal goal_of(const char* objective) {
  const std::string_view name = text_or(objective, "sum:response");
  for (std::size_t code = 0; code < std::size(kKinds); ++code) {
    const std::string kind = kKinds[code].name;
    if (name == "sum:" + kind) return {Aggregate::kSum, static_cast<Kind>(code)};
    if (name == "max:" + kind) return {Aggregate::kMax, static_cast<Kind>(code)};
  }
  std::string known;
  for (const KindInfo& kind : kKinds) known += std::string(known.empty() ? "" : ", ") + kind.name;
  throw std::invalid_argument("objective = '" + std::string(name) +
                              "': expected sum: or max: and one of " + known);
}

std::optional<std::uint64_t> effort_of(const std::int64_t* effort) {
  if (effort == nullptr) return std::nullopt;
  if (*effort < 0) throw_count("effort", *effort, std::numeric_limits<std::int64_t>::max());
  return static_cast<std::uint64_t>(*effort);
}

void read_kinds(const std::uint8_t* codes, std::size_t count, std::vector<Kind>& kinds) {
  kinds.clear();
  for (const std::uint8_t code : column(codes, count)) kinds.push_back(kind_of(code));
}

}  // namespace malleable::embed

namespace {

using namespace malleable;

template <typename Enumerator>
constexpr bool same(int code, Enumerator of) {
  return code == static_cast<int>(of);
}
static_assert(same(MALLEABLE_RESPONSE, Kind::kResponse) &&
              same(MALLEABLE_STRETCH, Kind::kStretch) && same(MALLEABLE_SLA, Kind::kSla) &&
              same(MALLEABLE_STRICT, Kind::kStrict) && same(MALLEABLE_CUSTOM, Kind::kCustom));
static_assert(MALLEABLE_ALL_SLOTS == kAllSlots);

#define MALLEABLE_MEMBER(name) malleable_##name,
constexpr malleable_api kApi = {MALLEABLE_API_VERSION, MALLEABLE_FUNCTIONS(MALLEABLE_MEMBER)};
#undef MALLEABLE_MEMBER

}  // namespace

const malleable_api* malleable_get_api() { return &kApi; }
const char* malleable_version() { return malleable::package_version(); }
const char* malleable_message() { return malleable::embed::message.data(); }
const char* malleable_bound_text(int64_t bound) {
  const auto code = static_cast<std::uint64_t>(bound);
  return code < malleable::kBoundTexts.size() ? malleable::kBoundTexts[code] : "unknown";
}
