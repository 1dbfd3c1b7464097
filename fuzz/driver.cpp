// Runs a target where there is no libFuzzer: the same flags, the same corpora, a small mutator.
//
//   fuzz_X [-runs=N] [-max_total_time=S] [-timeout=S] [-max_len=N] [-seed=N]
//          [-artifact_prefix=P] [FILE or DIRECTORY ...]
//
// Files are run first, directories are the corpus that mutations start from. Knows nothing of
// coverage: it keeps no input of its own, so that a run is a function of its seed and corpus. An
// input that fails stays behind as P`crash` or P`timeout`.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Of the sanitizers' runtime, where there is one: they end the program by themselves.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using Input = std::vector<std::uint8_t>;

Input current;
std::string artifact = "./";

// The program is lost when this is called; what it does is as little as can be.
void keep(const char* name) {
  char path[4096];
  std::snprintf(path, sizeof path, "%s%s", artifact.c_str(), name);
  if (std::FILE* file = std::fopen(path, "wb")) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
  }
  std::fprintf(stderr, "input kept as %s\n", path);
}

void on_abort(int) {
  keep("crash");
  std::_Exit(77);
}
void on_alarm(int) {
  std::fprintf(stderr, "an input took too long\n");
  keep("timeout");
  std::_Exit(70);
}

Input read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  Input operator()(const std::vector<Input>& corpus, std::size_t most) {
    Input input = corpus.empty() || below(8) == 0 ? Input() : corpus[below(corpus.size())];
    for (std::size_t times = 1 + below(8); times > 0; --times) change(input, corpus, most);
    if (input.size() > most) input.resize(most);
    return input;
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(random_()); }

  void change(Input& input, const std::vector<Input>& corpus, std::size_t most) {
    const std::size_t size = input.size();
    switch (size == 0 ? 0 : below(7)) {
      case 0: {  // new bytes at the end
        const std::size_t more = 1 + below(std::min<std::size_t>(most, 64));
        for (std::size_t k = 0; k < more; ++k) input.push_back(byte());
        break;
      }
      case 1:
        input[below(size)] = byte();
        break;
      case 2:
        input[below(size)] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 3: {
        const std::size_t at = below(size);
        input.erase(input.begin() + static_cast<std::ptrdiff_t>(at),
                    input.begin() + static_cast<std::ptrdiff_t>(at + 1 + below(size - at)));
        break;
      }
      case 4: {  // a stretch once more, elsewhere
        const std::size_t from = below(size),
                          length = 1 + below(std::min<std::size_t>(size - from, 32));
        const Input part(input.begin() + static_cast<std::ptrdiff_t>(from),
                         input.begin() + static_cast<std::ptrdiff_t>(from + length));
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(below(size)), part.begin(),
                     part.end());
        break;
      }
      case 5: {  // the tail of another
        if (corpus.empty()) break;
        const Input& other = corpus[below(corpus.size())];
        if (other.empty()) break;
        input.resize(below(size));
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(below(other.size())),
                     other.end());
        break;
      }
      default: {
        const std::uint8_t edges[] = {0, 1, 127, 128, 255};
        input[below(size)] = edges[below(5)];
      }
    }
  }
  std::mt19937_64 random_;
};

}  // namespace

int main(int count, char** arguments) {
  std::uint64_t runs = 0, seed = 1, seconds = 0, timeout = 60, most = 1024;
  std::vector<Input> files, corpus;
  bool mutate = false;
  for (int k = 1; k < count; ++k) {
    const std::string argument = arguments[k];
    const auto number = [&](const char* name, std::uint64_t& value) {
      const std::string flag = std::string("-") + name + "=";
      if (argument.rfind(flag, 0) == 0)
        value = std::strtoull(argument.c_str() + flag.size(), nullptr, 10);
    };
    number("runs", runs);
    number("seed", seed);
    number("max_total_time", seconds);
    number("timeout", timeout);
    number("max_len", most);
    if (argument.rfind("-artifact_prefix=", 0) == 0) artifact = argument.substr(17);
    if (argument[0] == '-') continue;
    if (std::filesystem::is_directory(argument)) {
      mutate = true;
      std::vector<std::filesystem::path> paths;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
        if (entry.is_regular_file()) paths.push_back(entry.path());
      }
      std::sort(paths.begin(), paths.end());
      for (const auto& path : paths) corpus.push_back(read(path));
    } else {
      files.push_back(read(argument));
    }
  }
  mutate |= files.empty();
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback([] { keep("crash"); });
  }
  std::signal(SIGABRT, on_abort);
  std::signal(SIGSEGV, on_abort);
  std::signal(SIGFPE, on_abort);
  std::signal(SIGALRM, on_alarm);
  std::uint64_t done = 0;
  const auto run = [&](Input input) {
    current = std::move(input);
    alarm(static_cast<unsigned>(timeout));
    LLVMFuzzerTestOneInput(current.data(), current.size());
    alarm(0);
    ++done;
  };
  for (const auto* list : {&files, &corpus}) {
    for (const Input& input : *list) run(input);
  }
  const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(seconds);
  const bool bounded = runs > 0 || seconds > 0;
  Mutator mutator(seed);
  while (mutate && bounded && (runs == 0 || done < runs) &&
         (seconds == 0 || std::time(nullptr) < end)) {
    run(mutator(corpus, most));
  }
  std::fprintf(stderr, "Done %llu runs\n", static_cast<unsigned long long>(done));
  return 0;
}
