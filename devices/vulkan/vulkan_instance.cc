#include "devices/vulkan/vulkan_instance.h"

#include <cstring>

namespace tvmvm {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";
constexpr size_t kMostReportBytes = 64 << 10;

bool HasLayer(const VulkanGlobalFunctions& global, const char* name) {
  uint32_t count = 0;
  if (global.EnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  global.EnumerateInstanceLayerProperties(&count, layers.data());
  for (const VkLayerProperties& layer : layers)
    if (std::strcmp(layer.layerName, name) == 0) return true;
  return false;
}

Error NoDriver(VkResult result, const char* what) {
  Error error = VulkanError(result, what);
  if (error.code == Code::kUnsupported) error.code = Code::kNotFound;
  return error;
}

}  // namespace

Expected<VulkanInstance*> VulkanInstance::Get(bool validation) {
  static std::mutex mutex;
  static VulkanInstance* kept[2] = {};  // without and with validation
  std::lock_guard lock(mutex);
  VulkanInstance*& instance = kept[validation ? 1 : 0];
  if (instance == nullptr) {
    TVMVM_TRY(std::unique_ptr<VulkanInstance> created, Create(validation));
    instance = created.release();
  }
  return instance;
}

Expected<std::unique_ptr<VulkanInstance>> VulkanInstance::Create(bool validation) {
  TVMVM_TRY(const VulkanGlobalFunctions global, VulkanGlobalFunctions::Load());
  if (validation && !HasLayer(global, kValidationLayer))
    return MakeError(Code::kUnsupported, std::string(kValidationLayer) + " is not installed");
  std::unique_ptr<VulkanInstance> instance(new VulkanInstance);

  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = application.pEngineName = "tvm-vm";
  application.apiVersion = VK_API_VERSION_1_3;
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  if (validation) {
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
  }
  if (VkResult result = global.CreateInstance(&info, nullptr, &instance->instance_); result != VK_SUCCESS)
    return tl::unexpected(NoDriver(result, "no Vulkan driver"));
  Expected<VulkanInstanceFunctions> functions = VulkanInstanceFunctions::Load(global, instance->instance_);
  if (!functions) {
    auto destroy = reinterpret_cast<PFN_vkDestroyInstance>(
        global.GetInstanceProcAddr(instance->instance_, "vkDestroyInstance"));
    if (destroy != nullptr) destroy(instance->instance_, nullptr);
    return tl::unexpected(std::move(functions.error()));
  }
  instance->functions_ = *functions;
  if (validation) TVMVM_CHECK_OK(instance->CreateMessenger());

  uint32_t count = 0;
  const VulkanInstanceFunctions& f = instance->functions_;
  VkResult result = f.EnumeratePhysicalDevices(instance->instance_, &count, nullptr);
  instance->physical_devices_.resize(count);
  if (result == VK_SUCCESS)
    result = f.EnumeratePhysicalDevices(instance->instance_, &count, instance->physical_devices_.data());
  if (result != VK_SUCCESS && result != VK_INCOMPLETE)
    return tl::unexpected(NoDriver(result, "no Vulkan device"));
  instance->physical_devices_.resize(count);
  return instance;
}

VulkanInstance::~VulkanInstance() {
  if (messenger_ != VK_NULL_HANDLE) functions_.DestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  if (functions_.DestroyInstance != nullptr) functions_.DestroyInstance(instance_, nullptr);
}

Status VulkanInstance::CreateMessenger() {
  VkDebugUtilsMessengerCreateInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = &Report;
  info.pUserData = this;
  if (functions_.CreateDebugUtilsMessengerEXT == nullptr ||
      functions_.DestroyDebugUtilsMessengerEXT == nullptr ||
      functions_.CreateDebugUtilsMessengerEXT(instance_, &info, nullptr, &messenger_) != VK_SUCCESS)
    return MakeError(Code::kUnsupported, "the Vulkan validation layer gives no messages");
  return {};
}

VkBool32 VulkanInstance::Report(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                const VkDebugUtilsMessengerCallbackDataEXT* data, void* instance) {
  auto* self = static_cast<VulkanInstance*>(instance);
  std::lock_guard lock(self->mutex_);
  if (data->pMessage != nullptr && self->reports_.size() < kMostReportBytes)
    self->reports_ += (self->reports_.empty() ? "" : "\n") + std::string(data->pMessage);
  return VK_FALSE;
}

std::string VulkanInstance::TakeReports() {
  std::lock_guard lock(mutex_);
  return std::exchange(reports_, {});
}

}  // namespace tvmvm
