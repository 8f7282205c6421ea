#include "tests/faults/driver_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>

#include "devices/opencl/opencl_functions.h"
#include "devices/vulkan/vulkan_functions.h"

namespace tvmvm::testing {
namespace {

struct ArmedDrivers {
  std::atomic<uint32_t> kinds{0};
  std::atomic<int64_t> left{0};
  std::atomic<bool> onwards{false}, failed{false};
  std::atomic<int> error{0};
  std::string function;
};
ArmedDrivers g_armed;
constinit std::array<std::atomic<int64_t>, std::tuple_size_v<DriverObjects>> g_objects{};

bool Fails(uint32_t kind, std::string_view function) {
  if ((g_armed.kinds.load() & kind) == 0) return false;
  const int64_t left = g_armed.left.fetch_sub(1);
  if (left > 0 || (left < 0 && !g_armed.onwards)) return false;
  if (left == 0) {
    g_armed.function = function;
    g_armed.failed = true;
  }
  return true;
}

template <class T>
constexpr int kObject = -1;
#define TVMVM_NUMBER(type) \
  template <>              \
  constexpr int kObject<type> = static_cast<int>(DriverObject::type);
TVMVM_DRIVER_OBJECTS(TVMVM_NUMBER)
#undef TVMVM_NUMBER

template <class T>
void Count(const T& object, int64_t change) {
  if constexpr (kObject<T> >= 0)
    if (object != nullptr) g_objects[kObject<T>].fetch_add(change, std::memory_order_relaxed);
}

// Fences that were given to a queue and not reset since: with one of them, work would seem done at once.
class UsedFences {
 public:
  void Submit(VkFence fence) {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(used_.insert(fence).second) << "work is submitted with a fence that was not reset";
  }
  void Reset(VkFence fence) {
    std::lock_guard lock(mutex_);
    used_.erase(fence);
  }

 private:
  std::mutex mutex_;
  std::set<VkFence> used_;
};
UsedFences g_fences;

// The name of a function as an argument of a template.
struct Name {
  char characters[40] = {};
  template <size_t n>
  constexpr Name(const char (&text)[n]) {  // NOLINT: implicit
    std::copy_n(text, n, characters);
  }
  constexpr std::string_view text() const { return characters; }
};

// A function by its name and type; `found` is the driver's.
template <Name name, class Function>
struct OpenClCall;
template <Name name, class Result, class... Arguments>
struct OpenClCall<name, Result (*)(Arguments...)> {
  static inline Result (*found)(Arguments...) = nullptr;
  static constexpr bool kReleases = name.text().starts_with("Release");

  static Result Do(Arguments... given) {
    auto arguments = std::tie(given...);
    auto& last = std::get<sizeof...(given) - 1>(arguments);
    if constexpr (kReleases) {
      Count(last, -1);
      return found(given...);
    } else if constexpr (std::is_same_v<Result, cl_int>) {
      if (Fails(kOpenCl, name.text())) {
        if (name.text() == "Finish") found(given...);  // no work goes on when there is no device any more
        return g_armed.error;
      }
      const cl_int result = found(given...);
      if constexpr (std::is_same_v<decltype(last), cl_event*&>)
        if (result == CL_SUCCESS && last != nullptr) Count(*last, 1);
      return result;
    } else {
      if (Fails(kOpenCl, name.text())) {
        *last = g_armed.error;
        return nullptr;
      }
      const Result made = found(given...);
      Count(made, 1);
      return made;
    }
  }
};

template <Name name, class Function>
struct VulkanCall;
template <Name name, class Result, class... Arguments>
struct VulkanCall<name, Result (*)(Arguments...)> {
  static inline Result (*found)(Arguments...) = nullptr;
  static constexpr bool kReleases = name.text().starts_with("Destroy") || name.text().starts_with("Free");
  static constexpr bool kMakes = name.text().starts_with("Create") || name.text().starts_with("Allocate");

  static Result Do(Arguments... given) {
    auto arguments = std::tie(given...);
    auto& last = std::get<sizeof...(given) - 1>(arguments);
    if constexpr (std::is_same_v<Result, VkResult>) {
      if (Fails(kVulkan, name.text())) {
        if (name.text() == "DeviceWaitIdle") (void)found(given...);  // as clFinish
        return static_cast<VkResult>(g_armed.error.load());
      }
      const VkResult result = found(given...);
      if (result != VK_SUCCESS) return result;
      if constexpr (kMakes) Count(*last, 1);
      if constexpr (name.text() == "QueueSubmit") g_fences.Submit(last);
      if constexpr (name.text() == "ResetFences") g_fences.Reset(*last);
      return result;
    } else {
      // What goes stands before the allocator.
      if constexpr (kReleases) Count(std::get<sizeof...(given) - 2>(arguments), -1);
      if constexpr (name.text() == "DestroyFence") g_fences.Reset(std::get<1>(arguments));
      return found(given...);
    }
  }
};

PFN_vkGetInstanceProcAddr g_get_instance_function = nullptr;
PFN_vkGetDeviceProcAddr g_get_device_function = nullptr;

template <class Function>
PFN_vkVoidFunction Look(const char* name, const Function& get) {
  if (Fails(kLookups, name)) return nullptr;
  const PFN_vkVoidFunction found = get();
  return found == nullptr
             ? nullptr
             : reinterpret_cast<PFN_vkVoidFunction>(DriverFunction(name, reinterpret_cast<void*>(found)));
}

PFN_vkVoidFunction VKAPI_PTR GetInstanceFunction(VkInstance instance, const char* name) {
  return Look(name, [&] { return g_get_instance_function(instance, name); });
}

PFN_vkVoidFunction VKAPI_PTR GetDeviceFunction(VkDevice device, const char* name) {
  return Look(name, [&] { return g_get_device_function(device, name); });
}

template <template <Name, class> class Call, Name name, class Function>
void* Replaced(void* found) {
  Call<name, Function>::found = reinterpret_cast<Function>(found);
  return reinterpret_cast<void*>(&Call<name, Function>::Do);
}

}  // namespace

void* DriverFunction(const std::string& name, void* found) {
  if ((name.starts_with("cl") || name == "vkGetInstanceProcAddr") && Fails(kLookups, name)) return nullptr;
#define TVMVM_OPENCL(function) \
  if (name == "cl" #function) return Replaced<OpenClCall, #function, decltype(&::cl##function)>(found);
  TVMVM_OPENCL_FUNCTIONS(TVMVM_OPENCL)
#undef TVMVM_OPENCL
  if (name == "vkGetInstanceProcAddr") {
    g_get_instance_function = reinterpret_cast<PFN_vkGetInstanceProcAddr>(found);
    return reinterpret_cast<void*>(&GetInstanceFunction);
  }
  if (name == "vkGetDeviceProcAddr") {
    g_get_device_function = reinterpret_cast<PFN_vkGetDeviceProcAddr>(found);
    return reinterpret_cast<void*>(&GetDeviceFunction);
  }
#define TVMVM_VULKAN(function) \
  if (name == "vk" #function) return Replaced<VulkanCall, #function, PFN_vk##function>(found);
  TVMVM_VULKAN_GLOBAL_FUNCTIONS(TVMVM_VULKAN)
  TVMVM_VULKAN_INSTANCE_FUNCTIONS(TVMVM_VULKAN)
  TVMVM_VULKAN_DEVICE_FUNCTIONS(TVMVM_VULKAN)
#undef TVMVM_VULKAN
  return found;
}

void ArmDrivers(uint32_t kinds, int64_t number, Then then, int error) {
  g_armed.left = number;
  g_armed.onwards = then == Then::kOnwards;
  g_armed.error = error;
  g_armed.failed = false;
  g_armed.kinds = kinds;
}
void DisarmDrivers() { g_armed.kinds = 0; }
bool DriversFailed() { return g_armed.failed; }
const std::string& FailedFunction() { return g_armed.function; }

DriverObjects DriverObjectsNow() {
  DriverObjects objects;
  for (size_t i = 0; i < objects.size(); ++i) objects[i] = g_objects[i].load();
  return objects;
}

std::string TextOf(const DriverObjects& objects) {
#define TVMVM_TEXT(type) #type,
  constexpr const char* kNames[] = {TVMVM_DRIVER_OBJECTS(TVMVM_TEXT)};
#undef TVMVM_TEXT
  std::string text;
  for (size_t i = 0; i < objects.size(); ++i)
    if (objects[i] != 0) text += ", " + std::to_string(objects[i]) + " " + kNames[i];
  return text;
}

}  // namespace tvmvm::testing
