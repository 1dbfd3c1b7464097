#include "malleable/model/state.hpp"

namespace malleable {
namespace {

// As a number it also shows the byte order of the machine that wrote it.
constexpr std::uint64_t kMagic = 0x6d6c656162003101;

// FNV-1a over whole words, the rest byte by byte.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 32;
  };
  std::size_t k = 0;
  for (; k + 8 <= bytes.size(); k += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + k, 8);
    mix(word);
  }
  for (; k < bytes.size(); ++k) mix(static_cast<unsigned char>(bytes[k]));
  mix(bytes.size());
  return hash;
}

// Damaged bytes may not be text.
std::string shown(std::string_view text) {
  std::string safe = "'";
  for (const char c : text.substr(0, 40)) safe += c >= ' ' && c <= '~' ? c : '?';
  return safe + "'";
}

}  // namespace

// Writes the bytes, or reads as many into them.
void State::raw(void* data, std::size_t size) {
  if (size == 0) return;
  if (!reading_) {
    bytes_.append(static_cast<const char*>(data), size);
    return;
  }
  need(size);
  std::memcpy(data, left_.data(), size);
  left_.remove_prefix(size);
}

void State::need(std::size_t size) const {
  if (left_.size() < size) throw std::invalid_argument("state: it ends too early");
}

std::size_t State::length(std::size_t size) {
  auto count = static_cast<std::uint64_t>(size);
  raw(&count, sizeof count);
  if (reading_) need(static_cast<std::size_t>(count));  // no entry takes less than a byte
  return static_cast<std::size_t>(count);
}

const char* package_version() { return MALLEABLE_VERSION; }

// Puts version, kind and checksum before the bytes of an object; open_state() checks them.
std::string seal_state(std::string_view kind, const std::string& content) {
  std::uint64_t magic = kMagic, sum = checksum(content);
  std::string version = MALLEABLE_VERSION, name(kind);
  State out;
  out(magic, version, name, sum);
  return out.take() + content;
}

std::string_view open_state(std::string_view kind, std::string_view bytes) {
  std::uint64_t magic = 0, sum = 0;
  std::string version, name;
  State in(bytes);
  if (bytes.size() >= sizeof magic) in(magic);
  if (magic != kMagic) throw std::invalid_argument("state: these are not the bytes of one");
  in(version);
  if (version != MALLEABLE_VERSION) {
    throw std::invalid_argument("state: written by version " + shown(version) +
                                " of malleable, which only that version reads; this is " +
                                MALLEABLE_VERSION);
  }
  in(name, sum);
  if (name != kind) {
    throw std::invalid_argument("state: of " + shown(name) + ", not of " + shown(kind));
  }
  if (checksum(in.rest()) != sum) throw std::invalid_argument("state: cut short or damaged");
  return in.rest();
}

}  // namespace malleable
