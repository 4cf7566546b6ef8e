// How many cores are ours.
#pragma once

namespace weald {

// The smaller of the caller's CPU affinity and the CPU quota of its cgroups (rounded down, at least
// one).
int machine_cores();

// The same, or OMP_NUM_THREADS if that is less, and starts a list of positive integers. Reads the
// environment, so call it where nobody calls setenv (in Python: while holding the GIL).
int usable_cores();

}  // namespace weald
