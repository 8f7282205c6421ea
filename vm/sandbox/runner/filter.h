// Which system calls the runner makes once hostile code may run in it.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

namespace tvmvm::sandbox {

// The filter in the kernel's own language. What it lets through computes, allocates memory of the process's
// own, waits, talks over the one socket and ends the process; everything else is a signal to the thread that
// asked (refused_calls.h), which cannot be got around: no call is let through that changes the filter, and a
// thread that blocks the signal is killed. `process`: the number of this one.
std::vector<sock_filter> SystemCallFilter(int process);

// For all threads, for good. False where the system has no such filters.
bool InstallFilter(const std::vector<sock_filter>& filter);

}  // namespace tvmvm::sandbox
