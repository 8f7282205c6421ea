/* SandboxedVm (sandbox.h) for C: a program whose kernels nobody trusts, run in a process of its own that can
 * do nothing but compute. In libtvm-vm-sandbox; statuses, tensors, values and structs are those of c_api.h,
 * in libtvm-vm, and its rules hold here, too.
 */
#ifndef TVMVM_C_SANDBOX_H_
#define TVMVM_C_SANDBOX_H_

#include "tvm-vm/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A process at a time, which is started when this is created and anew by the first run after it ended. One
 * caller at a time, others get an error; cancel and the counters from any thread. */
typedef struct tvmvm_sandboxed_vm tvmvm_sandboxed_vm;

/* Zero means the default. Errors: a number below it. */
typedef struct tvmvm_sandbox_options {
  size_t size;
  int64_t max_bytes;        /* that a run holds; also of its inputs, and of its outputs; 0: 2 GiB */
  int64_t timeout_ns;       /* of every run; 0: a minute */
  const char* runner;       /* the executable; null: tvm-vm-runner beside the library */
  int threads;              /* CPU workers of the process; 0: one */
  int32_t max_call_depth;   /* 0: 2^20 */
  int64_t max_steps;        /* 0: no limit */
  int64_t start_timeout_ns; /* until a new process is ready; 0: ten seconds */
} tvmvm_sandbox_options;

/* `options` may be null. Errors: those of tvmvm_program_load and tvmvm_vm_create; TVMVM_NOT_FOUND where the
 * runner is not there; TVMVM_UNSUPPORTED where the system has no filter of system calls. */
TVMVM_EXPORT tvmvm_status* tvmvm_sandboxed_vm_create(const char* path, const tvmvm_sandbox_options* options,
                                                     tvmvm_sandboxed_vm** vm);
/* Of a program that was loaded, which runs nothing of it. */
TVMVM_EXPORT tvmvm_status* tvmvm_sandboxed_vm_create_from_program(const tvmvm_program* program,
                                                                  const tvmvm_sandbox_options* options,
                                                                  tvmvm_sandboxed_vm** vm);
/* Ends the process. */
TVMVM_EXPORT void tvmvm_sandboxed_vm_free(tvmvm_sandboxed_vm* vm);
/* The program, which the caller frees: its inputs and outputs. */
TVMVM_EXPORT tvmvm_status* tvmvm_sandboxed_vm_program(const tvmvm_sandboxed_vm* vm, tvmvm_program** program);

/* As tvmvm_invocation_run_with and tvmvm_invocation_run_values_with, with tensors in memory of the host,
 * which are copied to the process and from it. Errors: those of the run; TVMVM_DEADLINE_EXCEEDED and
 * TVMVM_CANCELLED, at which the process is killed where it does not end by itself; TVMVM_OUT_OF_MEMORY also
 * where the system killed it; TVMVM_INVALID_PROGRAM where it crashed, asked for what it may not or answered
 * nonsense. */
TVMVM_EXPORT tvmvm_status* tvmvm_sandboxed_vm_run(tvmvm_sandboxed_vm* vm, const tvmvm_run_options* options,
                                                  const tvmvm_tensor* const* inputs, size_t input_count,
                                                  tvmvm_tensor** outputs, size_t output_count);
TVMVM_EXPORT tvmvm_status* tvmvm_sandboxed_vm_run_values(tvmvm_sandboxed_vm* vm,
                                                         const tvmvm_run_options* options,
                                                         const tvmvm_value* const* inputs, size_t input_count,
                                                         tvmvm_value** outputs, size_t output_count);
/* The run in progress, or else the next one, ends with TVMVM_CANCELLED. */
TVMVM_EXPORT void tvmvm_sandboxed_vm_cancel(tvmvm_sandboxed_vm* vm);
TVMVM_EXPORT tvmvm_status* tvmvm_sandboxed_vm_get_counters(const tvmvm_sandboxed_vm* vm,
                                                           tvmvm_run_counters* counters);
TVMVM_EXPORT int64_t tvmvm_sandboxed_vm_starts(const tvmvm_sandboxed_vm* vm); /* of processes, so far */

#ifdef __cplusplus
}
#endif
#endif /* TVMVM_C_SANDBOX_H_ */
