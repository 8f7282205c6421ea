// A memory forecast as a picture: time to the right, bytes upwards.
#pragma once

#include <string>

#include "tvm-vm/forecast.h"

namespace tvmvm::cli {

// What is alive at each time, for a terminal: columns of blocks with the largest amount beside them.
std::string FormatTimeline(const MemoryForecast& forecast);

// Values as boxes over time and place in their arena, tensors above the arenas; each box tells its node, its
// bytes and its lifetime when pointed at. A document of its own.
std::string DrawSvg(const MemoryForecast& forecast, const std::string& title);

// The picture on a page that names the box which is pointed at, marks all that its node makes, and lists
// values, the largest first. Needs nothing from elsewhere.
std::string DrawHtml(const MemoryForecast& forecast, const std::string& title);

}  // namespace tvmvm::cli
