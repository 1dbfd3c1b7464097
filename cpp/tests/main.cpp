#include "check.hpp"

int main(int count, char** names) { return malleable::check::run_cases(count, names); }
