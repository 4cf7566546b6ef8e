// Number of CPU cores available to this process.
#pragma once

namespace weald {

// Minimum of the caller's CPU affinity and the CPU quota of its cgroups (rounded down, at least
// one).
int machine_cores();

// The same, further limited by OMP_NUM_THREADS if that starts with a positive integer. Reads the
// environment, so no other thread may call setenv meanwhile (in Python: hold the GIL).
int usable_cores();

}  // namespace weald
