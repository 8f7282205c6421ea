#include "cli/plan_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cli/console.h"

namespace tvmvm::cli {
namespace {

constexpr size_t kColumns = 72, kRows = 8;

double ToDouble(int64_t bytes) { return static_cast<double>(bytes); }

// The largest sum of what is alive in each column; what has no upper end is left out.
std::vector<double> AliveByColumn(const MemoryForecast& forecast) {
  struct End {
    uint64_t at;
    double bytes;
  };
  std::vector<End> ends;
  for (const ForecastValue& value : forecast.values) {
    if (!value.bytes.is_bounded()) continue;
    ends.push_back({value.first, ToDouble(value.bytes.high)});
    ends.push_back({uint64_t{value.last} + 1, -ToDouble(value.bytes.high)});
  }
  std::ranges::stable_sort(ends, {}, &End::at);
  std::vector<double> columns(kColumns);
  auto column_at = [&](uint64_t position) {
    return std::min<size_t>(kColumns - 1, static_cast<size_t>(position * kColumns / forecast.positions));
  };
  double alive = 0;
  for (size_t i = 0; i < ends.size();) {
    const uint64_t at = ends[i].at;
    for (; i < ends.size() && ends[i].at == at; ++i) alive += ends[i].bytes;
    const uint64_t until = i < ends.size() ? ends[i].at : forecast.positions;
    if (at >= forecast.positions) break;
    const uint64_t end = (std::max(until, at + 1) * kColumns + forecast.positions - 1) / forecast.positions;
    for (size_t column = column_at(at); column < std::min<uint64_t>(end, kColumns); ++column)
      columns[column] = std::max(columns[column], alive);
  }
  return columns;
}

std::string Escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20 || c == '\t')
      result += c;
  }
  return result;
}

// One of a circle of colours that are told apart well.
int HueOf(const std::string& node) {
  uint32_t hash = 2166136261u;
  for (char c : node) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<int>(hash % 36 * 10);
}

struct Box {
  const ForecastValue* value;
  double bottom;  // bytes
};

// Where each value lies: arenas one above the other, then tensors.
std::vector<Box> BoxesOf(const MemoryForecast& forecast, std::vector<double>* bases, double* height) {
  double top = 0;
  for (const ForecastStage& stage : forecast.stages) {
    bases->push_back(top);
    if (stage.bytes.is_bounded()) top += ToDouble(stage.bytes.high);
  }
  std::vector<Box> boxes;
  for (const ForecastValue& value : forecast.values) {
    if (!value.bytes.is_bounded() || value.bytes.high == 0) continue;
    if (value.stage < 0) {
      boxes.push_back({&value, top});
      top += ToDouble(value.bytes.high);
    } else if (value.offset >= 0) {
      boxes.push_back({&value, (*bases)[static_cast<size_t>(value.stage)] + ToDouble(value.offset)});
    }
  }
  *height = std::max(top, 1.0);
  return boxes;
}

}  // namespace

std::string FormatTimeline(const MemoryForecast& forecast) {
  static constexpr std::array kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::vector<double> columns = AliveByColumn(forecast);
  const double most = std::max(1.0, *std::ranges::max_element(columns));
  std::string text;
  for (size_t row = kRows; row-- > 0;) {
    std::string line;
    for (double bytes : columns) {
      const double eighths = bytes / most * static_cast<double>(kRows * 8) - static_cast<double>(row * 8);
      line += kBlocks[static_cast<size_t>(std::clamp(eighths + 0.5, 0.0, 8.0))];
    }
    const std::string label = row + 1 == kRows ? FormatBytes(most) : row == 0 ? "0 B" : "";
    text += fmt::format("{:>10} |{}|\n", label, line);
  }
  return text;
}

std::string DrawSvg(const MemoryForecast& forecast, const std::string& title) {
  constexpr double kWidth = 1200, kHeight = 600, kLeft = 80, kTop = 40;
  std::vector<double> bases;
  double most = 1;
  const std::vector<Box> boxes = BoxesOf(forecast, &bases, &most);
  const double per_position = kWidth / static_cast<double>(forecast.positions), per_byte = kHeight / most;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<title>{2}</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{3}\" y=\"24\" font-size=\"15\">{2}</text>\n",
      kLeft + kWidth + 20, kTop + kHeight + 40, Escaped(title), kLeft);
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double y = kTop + kHeight * (4 - quarter) / 4;
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft, y, kLeft + kWidth, kLeft - 6, y + 4, FormatBytes(most * quarter / 4));
  }
  for (const Box& box : boxes) {
    const ForecastValue& value = *box.value;
    const double high = ToDouble(value.bytes.high) * per_byte;
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"hsl({},55%,{}%)\" "
        "stroke=\"#444\" stroke-width=\"0.4\"><title>{}: {} ({} bytes) in {}, positions {} to "
        "{}</title></rect>\n",
        kLeft + static_cast<double>(value.first) * per_position,
        kTop + kHeight - box.bottom * per_byte - high,
        std::max(0.5, static_cast<double>(uint64_t{value.last} + 1 - value.first) * per_position),
        std::max(0.5, high), HueOf(value.node), value.stage < 0 ? 85 : 70, Escaped(value.node),
        FormatBytes(ToDouble(value.bytes.high)), value.bytes.high,
        value.stage < 0 ? "a tensor of its own"
                        : fmt::format("arena {} at offset {}", value.stage, value.offset),
        value.first, value.last);
  }
  svg += fmt::format(
      "<text x=\"{}\" y=\"{}\">positions 0 to {} of the entry function; {} values; peak {}, lower bound {}"
      "</text>\n</svg>\n",
      kLeft, kTop + kHeight + 22, forecast.positions - 1, boxes.size(),
      forecast.peak_bytes.is_bounded() ? FormatBytes(ToDouble(forecast.peak_bytes.high)) : "unbounded",
      forecast.lower_bound_bytes.is_bounded() ? FormatBytes(ToDouble(forecast.lower_bound_bytes.high))
                                              : "unbounded");
  return svg;
}

std::string DrawHtml(const MemoryForecast& forecast, const std::string& title) {
  static constexpr std::string_view kStyle =
      "body{font:14px sans-serif;margin:1em}svg{max-width:100%;height:auto}"
      "#what{min-height:1.4em;font-weight:bold}table{border-collapse:collapse}"
      "td{padding:2px "
      "10px;text-align:right}td:last-child{text-align:left}rect.on{stroke:#000;stroke-width:2}";
  // Boxes are the rectangles with a title; those of one node have one colour.
  static constexpr std::string_view kScript =
      "const what=document.getElementById('what'),"
      "boxes=[...document.querySelectorAll('svg rect')].filter(r=>r.querySelector('title'));"
      "const node=r=>r.querySelector('title').textContent.replace(/: [^:]*$/,'');"
      "for(const r of boxes){r.onmouseenter=()=>{what.textContent=r.querySelector('title').textContent;"
      "for(const o of boxes)o.classList.toggle('on',node(o)===node(r))};"
      "r.onmouseleave=()=>{what.textContent='';for(const o of boxes)o.classList.remove('on')}}";
  constexpr size_t kListed = 50;
  std::vector<const ForecastValue*> values;
  for (const ForecastValue& value : forecast.values) values.push_back(&value);
  std::ranges::stable_sort(values, std::greater(),
                           [](const ForecastValue* value) { return value->bytes.high; });
  values.resize(std::min(values.size(), kListed));
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>"
      "<style>{1}</style></head>\n<body>\n{2}<p id=\"what\"></p>\n<table>\n",
      Escaped(title), kStyle, DrawSvg(forecast, title));
  for (const ForecastValue* value : values)
    page += fmt::format("<tr><td>{}</td><td>{} to {}</td><td>{}</td></tr>\n",
                        value->bytes.is_bounded() ? FormatBytes(ToDouble(value->bytes.high)) : "unbounded",
                        value->first, value->last, Escaped(value->node));
  return page + fmt::format("</table>\n<script>{}</script>\n</body></html>\n", kScript);
}

}  // namespace tvmvm::cli
