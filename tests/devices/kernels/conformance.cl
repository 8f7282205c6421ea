// The kernels of the conformance suite for OpenCL; conformance.c says what they do.
#define GROUP get_group_id(0) + get_group_id(1) * get_num_groups(0)

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void axpy(__global uchar* status, ulong status_offset, __global uchar* b0, ulong o0, __global uchar* b1, ulong o1,
          long n, long a, long points) {
  long group = GROUP, i = group * 64 + (long)get_local_id(0);
  if (group >= points || i >= n) return;
  ((__global float*)(b1 + o1))[i] += (float)a * ((__global const float*)(b0 + o0))[i];
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mark(__global uchar* status, ulong status_offset, __global uchar* b0, ulong o0, long points) {
  long group = GROUP;
  if (group >= points) return;
  ((__global int*)(b0 + o0))[group] = (int)group;
}

#define INPUT(i) __global uchar* b##i, ulong o##i
#define OUT(i, j) y[i] = 1000 * s##i + *(__global const long*)(b##j + o##j);
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void many(__global uchar* status, ulong status_offset, INPUT(0), INPUT(1), INPUT(2), INPUT(3), INPUT(4), INPUT(5),
          INPUT(6), INPUT(7), INPUT(8), INPUT(9), INPUT(10), long s0, long s1, long s2, long s3, long s4, long s5,
          long s6, long s7, long s8, long s9, long points) {
  __global long* y = (__global long*)(b0 + o0);
  if (GROUP != 0) return;
  OUT(0, 1) OUT(1, 2) OUT(2, 3) OUT(3, 4) OUT(4, 5) OUT(5, 6) OUT(6, 7) OUT(7, 8) OUT(8, 9) OUT(9, 10)
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void check(__global uchar* status, ulong status_offset, __global uchar* b0, ulong o0, long n, long points) {
  long group = GROUP, i = group * 64 + (long)get_local_id(0);
  if (group >= points || i >= n) return;
  if (((__global const int*)(b0 + o0))[i] < 0)
    atomic_cmpxchg((volatile __global int*)(status + status_offset), 0, 3);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void advance(__global uchar* status, ulong status_offset, __global uchar* b0, ulong o0, __global uchar* b1, ulong o1,
           long n, long points) {
  long group = GROUP, i = group * 64 + (long)get_local_id(0);
  if (group >= points || i >= n) return;
  ((__global int*)(b1 + o1))[i] = 3 * ((__global const int*)(b0 + o0))[i] + 1;
}
