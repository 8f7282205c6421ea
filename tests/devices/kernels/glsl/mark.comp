#version 460
#extension GL_GOOGLE_include_directive : require
#include "header.glsl"
layout(local_size_x = 1) in;
layout(push_constant) uniform Arguments { Ints status; Ints y; int64_t points; };

void main() {
  int64_t group = Group();
  if (group < points) y.at[int(group)] = int(group);
}
