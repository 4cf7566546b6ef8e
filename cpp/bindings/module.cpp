// The door to Python: check arrays, release the GIL, call the core; nothing else.
#include "bindings/border.hpp"
#include "kernels/kernels.hpp"

NB_MODULE(_native, m) {
  weald::kernels();  // reads the environment: now, while nobody else can
  m.doc() = "The core: arrays in, arrays out.";
  m.def("usable_cores", &weald::usable_cores);
  m.def("instructions", [] { return std::string(weald::kernels().name); });
  m.def("runnable_instructions", [] {
    std::vector<std::string> names;
    for (const weald::Kernels* one : weald::runnable_kernels()) names.emplace_back(one->name);
    return names;
  });
  weald::border::bind_data(m);
  weald::border::bind_losses(m);
  weald::border::bind_trees(m);
}
