#version 460
#extension GL_GOOGLE_include_directive : require
#include "header.glsl"
layout(local_size_x = 64) in;
layout(push_constant) uniform Arguments { Ints status; Floats x; Floats y; int64_t n; int64_t a; int64_t points; };

void main() {
  int64_t group = Group(), i = group * 64 + gl_LocalInvocationID.x;
  if (group >= points || i >= n) return;
  y.at[int(i)] += float(a) * x.at[int(i)];
}
