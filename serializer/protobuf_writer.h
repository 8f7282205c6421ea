// Protobuf messages that are written, by protozero.
#pragma once

// clang-format off: the checks of the first one hold for the second one, too.
#include "serializer/protobuf.h"
#include <protozero/pbf_writer.hpp>
// clang-format on
