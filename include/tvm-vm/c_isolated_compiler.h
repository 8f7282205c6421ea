/* CompileFileIsolated (isolated_compiler.h) for C: ONNX models compiled in a process of their own, whose
 * crash, lack of memory or time is an error of the call. In libtvm-vm-isolated-compiler; statuses and
 * programs are those of c_api.h, in libtvm-vm, and its rules hold here, too.
 */
#ifndef TVMVM_C_ISOLATED_COMPILER_H_
#define TVMVM_C_ISOLATED_COMPILER_H_

#include "tvm-vm/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ends compilations from another thread. */
typedef struct tvmvm_compile_cancel tvmvm_compile_cancel;
TVMVM_EXPORT tvmvm_status* tvmvm_compile_cancel_create(tvmvm_compile_cancel** cancel);
/* All calls that were given it, and later ones, end with TVMVM_CANCELLED. From any thread. */
TVMVM_EXPORT void tvmvm_compile_cancel_request(tvmvm_compile_cancel* cancel);
/* Calls that were given it may go on. */
TVMVM_EXPORT void tvmvm_compile_cancel_free(tvmvm_compile_cancel* cancel);

/* An inclusive range of a symbolic dimension of the inputs; one number fixes it. */
typedef struct tvmvm_dim_bound {
  const char* name;
  int64_t low, high;
} tvmvm_dim_bound;

typedef enum tvmvm_weight_storage {
  TVMVM_WEIGHTS_AS_GIVEN = 0,
  TVMVM_WEIGHTS_INT8 = 1,
  TVMVM_WEIGHTS_INT4 = 2
} tvmvm_weight_storage;

/* Zero and null mean the default, which for limits is none. Errors: a number below zero. */
typedef struct tvmvm_isolated_compile_options {
  size_t size;
  /* Of the process, as IsolationOptions. */
  int64_t max_bytes;
  int64_t timeout_ns;
  const tvmvm_compile_cancel* cancel;
  const char* runner; /* null: tvm-vm-compile-runner beside the library */
  /* Of the compiler, as CompileOptions. */
  const char* const* devices; /* null: the CPU */
  size_t device_count;
  const char* const* targets; /* null: those of CompileOptions */
  size_t target_count;
  const tvmvm_dim_bound* dims;
  size_t dim_count;
  int64_t memory_budget;
  tvmvm_weight_storage weights;
  int half_precision; /* nonzero: GPUs keep what products read as f16 */
  int strict_onnx;
  int distinct_dims;
  int threads;            /* 0: all that the process may use */
  const char* model_name; /* null: taken from the path */
  const char* schedules;  /* their text */
  /* Called on the calling thread with a line each, which lives as long as the call; may be null. */
  void (*warning)(void* user_data, const char* text);
  void (*progress)(void* user_data, const char* stage, double fraction);
  void* user_data;
} tvmvm_isolated_compile_options;

/* `options` may be null. Errors: those of the compiler; TVMVM_OUT_OF_MEMORY, TVMVM_DEADLINE_EXCEEDED,
 * TVMVM_CANCELLED; TVMVM_INTERNAL where the process crashed or answered nonsense; TVMVM_NOT_FOUND where the
 * runner is not there. */
TVMVM_EXPORT tvmvm_status* tvmvm_compile_file_isolated(const char* path,
                                                       const tvmvm_isolated_compile_options* options,
                                                       tvmvm_program** program);
/* The model is copied. */
TVMVM_EXPORT tvmvm_status* tvmvm_compile_bytes_isolated(const void* model, size_t model_bytes,
                                                        const tvmvm_isolated_compile_options* options,
                                                        tvmvm_program** program);

#ifdef __cplusplus
}
#endif
#endif /* TVMVM_C_ISOLATED_COMPILER_H_ */
