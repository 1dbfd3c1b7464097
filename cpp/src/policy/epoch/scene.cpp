#include "malleable/policy/epoch/scene.hpp"

#include "malleable/policy/registry.hpp"

namespace malleable {

void Scene::look_up() {
  const Promises& promises = find_policy(options.policy).promises;
  ignores_minima = promises.ignores_minima;
  shares = promises.shares;
}

void Scene::state(State& s) {
  s(options, slots, now, period, jobs, grants, coming);
  if (s.reading()) look_up();
}

}  // namespace malleable
