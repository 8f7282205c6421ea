// Protobuf messages that are written, by protozero.
#pragma once

// The checks of the first one hold for the second one, too.
// clang-format off
#include "serializer/protobuf.h"
#include <protozero/pbf_writer.hpp>
// clang-format on
