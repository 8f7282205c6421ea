// Calls of GPUs' drivers. The devices find them by name and get functions that count what drivers make and
// release, and that fail where they are told to (faults.h).
#pragma once

#include <string>

#include "tests/faults/faults.h"

namespace tvmvm::testing {

// What a loader's function is replaced by; `found` itself for what is no driver's.
void* DriverFunction(const std::string& name, void* found);

void ArmDrivers(uint32_t kinds, int64_t number, Then then, int error);
void DisarmDrivers();
bool DriversFailed();                 // since they were armed
const std::string& FailedFunction();  // that was the first: "CreateBuffer"

DriverObjects DriverObjectsNow();
std::string TextOf(const DriverObjects& objects);  // ", 2 VkBuffer" for each that is there

}  // namespace tvmvm::testing
