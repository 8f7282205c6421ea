/* The runtime for C and for other languages' foreign-function interfaces.
 *
 * Objects are opaque; each is freed by its own function, in any order: an object keeps what it needs alive.
 * Freeing null is allowed. A function that can fail returns a status: null when all is well, else an object
 * with a code and a message, which the caller frees. On a failure, output parameters are left as they were.
 * Other functions answer null objects, and indices and axes that there are not, with 0, -1 for ranks and
 * dimensions, TVMVM_INVALID, TVMVM_NOTHING, "" for texts and null for addresses.
 * Structs begin with their size, which the caller sets, and later versions append members: smaller ones of
 * older versions are understood, larger ones where what is behind the known members is zero.
 * Programs and VMs may be used by many threads at once; an invocation by one at a time, where others get
 * an error, but tvmvm_invocation_cancel by any, as tvmvm_run_cancel_request.
 */
#ifndef TVMVM_C_API_H_
#define TVMVM_C_API_H_

#include <stddef.h>
#include <stdint.h>

#include "tvm-vm/export.h"
#include "tvm-vm/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tvmvm_code {
  TVMVM_OK = 0,
  TVMVM_INVALID_ARGUMENT = 1,
  TVMVM_INVALID_PROGRAM = 2,
  TVMVM_NOT_FOUND = 3,
  TVMVM_UNSUPPORTED = 4,
  TVMVM_OUT_OF_MEMORY = 5,
  TVMVM_DEADLINE_EXCEEDED = 6,
  TVMVM_CANCELLED = 7,
  TVMVM_DEVICE_LOST = 8,
  TVMVM_INTERNAL = 9,
  TVMVM_IO = 10
} tvmvm_code;

/* Element types. */
typedef enum tvmvm_dtype {
  TVMVM_INVALID = 0,
  TVMVM_F32 = 1,
  TVMVM_F64 = 2,
  TVMVM_F16 = 3,
  TVMVM_BF16 = 4,
  TVMVM_I8 = 5,
  TVMVM_I16 = 6,
  TVMVM_I32 = 7,
  TVMVM_I64 = 8,
  TVMVM_U8 = 9,
  TVMVM_U16 = 10,
  TVMVM_U32 = 11,
  TVMVM_U64 = 12,
  TVMVM_BOOL = 13,
  TVMVM_STRING = 14,
  TVMVM_C64 = 15,
  TVMVM_C128 = 16,
  TVMVM_F8E4M3FN = 17,
  TVMVM_F8E4M3FNUZ = 18,
  TVMVM_F8E5M2 = 19,
  TVMVM_F8E5M2FNUZ = 20,
  TVMVM_F8E8M0 = 21,
  TVMVM_I4 = 22,
  TVMVM_U4 = 23,
  TVMVM_F4E2M1 = 24,
  TVMVM_I2 = 25,
  TVMVM_U2 = 26,
  TVMVM_F6E2M3 = 27,
  TVMVM_F6E3M2 = 28,             /* an element a byte, in the low six bits */
  TVMVM_DTYPE_RANGE = 0x7fffffff /* no type: makes every int a value that may be passed, and refused */
} tvmvm_dtype;

typedef struct tvmvm_status tvmvm_status;
typedef struct tvmvm_program tvmvm_program;
typedef struct tvmvm_vm tvmvm_vm;
typedef struct tvmvm_invocation tvmvm_invocation;
typedef struct tvmvm_tensor tvmvm_tensor;
typedef struct tvmvm_value tvmvm_value;
typedef struct tvmvm_device tvmvm_device;
typedef struct tvmvm_memory_pool tvmvm_memory_pool;
typedef struct tvmvm_device_list tvmvm_device_list;
struct DLManagedTensor;

/* Kinds of values, and of inputs and outputs. A value is never an optional: it is nothing, or the element. */
typedef enum tvmvm_kind {
  TVMVM_TENSOR = 0,
  TVMVM_SEQUENCE = 1,
  TVMVM_OPTIONAL = 2,
  TVMVM_TUPLE = 3,
  TVMVM_NOTHING = 4
} tvmvm_kind;

/* TVMVM_VERSION of the library that runs; that of the headers is in version.h. */
TVMVM_EXPORT uint32_t tvmvm_version(void);

/* TVMVM_OK and "" for null. The text lives as long as the status. */
TVMVM_EXPORT tvmvm_code tvmvm_status_code(const tvmvm_status* status);
TVMVM_EXPORT const char* tvmvm_status_message(const tvmvm_status* status);
TVMVM_EXPORT void tvmvm_status_free(tvmvm_status* status);

/* Programs. */
TVMVM_EXPORT tvmvm_status* tvmvm_program_load(const char* path, tvmvm_program** program);
/* The bytes are copied. */
TVMVM_EXPORT tvmvm_status* tvmvm_program_load_from_memory(const void* bytes, size_t size,
                                                          tvmvm_program** program);
typedef struct tvmvm_load_options {
  size_t size;
  int check_constants; /* nonzero: their digest, too, which reads all of them */
} tvmvm_load_options;
/* `options` may be null. */
TVMVM_EXPORT tvmvm_status* tvmvm_program_load_with(const char* path, const tvmvm_load_options* options,
                                                   tvmvm_program** program);
/* As CatchCutFiles (vmexe.h): handles SIGBUS for the whole process, so that a program's file that is cut ends the
 * runs of that program. */
TVMVM_EXPORT tvmvm_status* tvmvm_catch_cut_files(void);
TVMVM_EXPORT void tvmvm_program_free(tvmvm_program* program);
TVMVM_EXPORT size_t tvmvm_program_input_count(const tvmvm_program* program);
TVMVM_EXPORT size_t tvmvm_program_output_count(const tvmvm_program* program);
/* Of input or output `index` < count. A name lives as long as the program; element type, rank and dimensions
 * of a sequence or optional are those of its elements; a rank of -1 is unknown until run; a dimension of -1
 * is symbolic: its symbol or "" comes from ..._symbol. */
TVMVM_EXPORT tvmvm_kind tvmvm_program_input_kind(const tvmvm_program* program, size_t index);
TVMVM_EXPORT tvmvm_kind tvmvm_program_output_kind(const tvmvm_program* program, size_t index);
TVMVM_EXPORT const char* tvmvm_program_input_name(const tvmvm_program* program, size_t index);
TVMVM_EXPORT const char* tvmvm_program_output_name(const tvmvm_program* program, size_t index);
TVMVM_EXPORT tvmvm_dtype tvmvm_program_input_dtype(const tvmvm_program* program, size_t index);
TVMVM_EXPORT tvmvm_dtype tvmvm_program_output_dtype(const tvmvm_program* program, size_t index);
TVMVM_EXPORT int tvmvm_program_input_rank(const tvmvm_program* program, size_t index);
TVMVM_EXPORT int tvmvm_program_output_rank(const tvmvm_program* program, size_t index);
TVMVM_EXPORT int64_t tvmvm_program_input_dim(const tvmvm_program* program, size_t index, int axis);
TVMVM_EXPORT int64_t tvmvm_program_output_dim(const tvmvm_program* program, size_t index, int axis);
TVMVM_EXPORT const char* tvmvm_program_input_symbol(const tvmvm_program* program, size_t index, int axis);
TVMVM_EXPORT const char* tvmvm_program_output_symbol(const tvmvm_program* program, size_t index, int axis);

/* The devices of this machine, in a list that does not change. Of index < size; texts live as long as it.
 * ..._name is what selects the device; ..._unusable is "" or says why it cannot be opened. */
TVMVM_EXPORT tvmvm_status* tvmvm_device_list_create(tvmvm_device_list** list);
TVMVM_EXPORT void tvmvm_device_list_free(tvmvm_device_list* list);
TVMVM_EXPORT size_t tvmvm_device_list_size(const tvmvm_device_list* list);
TVMVM_EXPORT const char* tvmvm_device_list_name(const tvmvm_device_list* list, size_t index);
TVMVM_EXPORT const char* tvmvm_device_list_hardware(const tvmvm_device_list* list, size_t index);
TVMVM_EXPORT const char* tvmvm_device_list_driver(const tvmvm_device_list* list, size_t index);
TVMVM_EXPORT const char* tvmvm_device_list_api(const tvmvm_device_list* list, size_t index);
TVMVM_EXPORT int64_t tvmvm_device_list_memory_bytes(const tvmvm_device_list* list, size_t index);
TVMVM_EXPORT const char* tvmvm_device_list_unusable(const tvmvm_device_list* list, size_t index);

/* Threads of the caller's that run kernels. Functions are called by many threads at once. */
typedef void (*tvmvm_task)(void* context, int worker, int64_t begin, int64_t end);
typedef struct tvmvm_worker_pool {
  size_t size;
  void* context; /* given to each function */
  /* With the one that calls `run`; the same at all times, at least 1. */
  int (*worker_count)(void* context);
  /* Calls `task` for parts that cover [0, count), each with at least `grain` where there are as many, and
   * returns when all are done; `worker` < worker_count, and no two at once have the same. */
  void (*run)(void* context, int64_t count, int64_t grain, tvmvm_task task, void* task_context);
  /* Called when nothing uses the pool any longer, but not where its options are refused; may be null. */
  void (*free)(void* context);
} tvmvm_worker_pool;

/* Devices: used by many threads and VMs at once. */
typedef struct tvmvm_device_options {
  size_t size;
  int64_t max_bytes;        /* of memory that a GPU holds for all VMs; 0: no limit. Beyond: out of memory */
  int threads;              /* of "cpu"; 0: all CPUs that the process may use */
  const char* cache_folder; /* for what drivers compile; null: that of the user; "": nothing is kept */
  const tvmvm_worker_pool* pool; /* of "cpu", copied; null: it makes its own of `threads` workers */
} tvmvm_device_options;
/* `selection`: "cpu", "opencl", "vulkan", "opencl:1", "vulkan:nvidia". `options` may be null. */
TVMVM_EXPORT tvmvm_status* tvmvm_device_open(const char* selection, const tvmvm_device_options* options,
                                             tvmvm_device** device);
TVMVM_EXPORT void tvmvm_device_free(tvmvm_device* device);
/* Lives as long as the device: "vulkan:0". */
TVMVM_EXPORT const char* tvmvm_device_name(const tvmvm_device* device);
typedef struct tvmvm_device_statistics {
  size_t size;
  int64_t live_bytes; /* handed out, and the most at once */
  int64_t peak_bytes;
  int64_t held_bytes; /* taken from the driver or the system, in so many blocks */
  int64_t blocks;
  int64_t launches;
  int64_t waits; /* of the host for work of the device */
} tvmvm_device_statistics;
TVMVM_EXPORT tvmvm_status* tvmvm_device_get_statistics(const tvmvm_device* device,
                                                       tvmvm_device_statistics* statistics);
/* Builds the program's kernels for a GPU ahead of the first VM, into its cache folder. `kernels`, which may
 * be null, receives how many. */
TVMVM_EXPORT tvmvm_status* tvmvm_device_warm(const tvmvm_device* device, const tvmvm_program* program,
                                             size_t* kernels);

/* How much memory all VMs that are given it hold at once, on the host and on devices; 0: no limit. What does
 * not fit ends the run that wanted it: out of memory. */
TVMVM_EXPORT tvmvm_status* tvmvm_memory_pool_create(int64_t max_bytes, tvmvm_memory_pool** pool);
typedef struct tvmvm_memory_pool_options {
  size_t size;
  int64_t max_bytes;   /* 0: no limit */
  int64_t max_wait_ns; /* that a run waits for what does not fit, first come first served; 0: it does not */
  const char* name;    /* for messages; null: "the memory pool" */
} tvmvm_memory_pool_options;
TVMVM_EXPORT tvmvm_status* tvmvm_memory_pool_open(const tvmvm_memory_pool_options* options,
                                                  tvmvm_memory_pool** pool);
TVMVM_EXPORT void tvmvm_memory_pool_free(tvmvm_memory_pool* pool);
TVMVM_EXPORT int64_t tvmvm_memory_pool_held_bytes(const tvmvm_memory_pool* pool); /* now */
TVMVM_EXPORT int64_t tvmvm_memory_pool_peak_bytes(const tvmvm_memory_pool* pool); /* the most so far */

/* Whose kernels run, in whatever form they come (docs/trust.md). */
typedef enum tvmvm_trust {
  TVMVM_TRUST_ANY = 0,
  TVMVM_TRUST_SIGNED = 1, /* those of files that one of the trusted keys signed */
  TVMVM_TRUST_NONE = 2,   /* none: only programs that launch none run */
  /* kernels with contracts that one of the trusted keys signed; code and metadata may be anyone's */
  TVMVM_TRUST_SIGNED_KERNELS = 3
} tvmvm_trust;
/* The 32 bytes of the public key in the file, as `tvm-vm keygen` writes it. */
TVMVM_EXPORT tvmvm_status* tvmvm_public_key_read(const char* path, uint8_t key[32]);

/* VMs: a program with its kernels made ready. Zero means the default. */
typedef struct tvmvm_vm_options {
  size_t size;
  int threads;   /* 0: all CPUs that the process may use */
  int no_native; /* nonzero: programs that run code of their own, in whatever form, are refused */
  /* In order of preference, kept alive by the VM; a program runs on as many of the GPUs in front of the CPU
   * as it was compiled for. Where "cpu" is not among them one is made. */
  const tvmvm_device* const* devices;
  size_t device_count;
  const tvmvm_worker_pool* pool;   /* copied; null: the VM makes its own of `threads` workers */
  const tvmvm_memory_pool* memory; /* kept alive by the VM; null: no bound but each invocation's own */
  int trust;                       /* a tvmvm_trust: which kernels may run */
  int signed_constants;        /* nonzero: with TVMVM_TRUST_SIGNED the constants have to be as signed, too */
  const uint8_t* trusted_keys; /* 32 bytes each, copied */
  size_t trusted_key_count;
} tvmvm_vm_options;
TVMVM_EXPORT tvmvm_status* tvmvm_vm_create(const tvmvm_program* program, const tvmvm_vm_options* options,
                                           tvmvm_vm** vm);
TVMVM_EXPORT void tvmvm_vm_free(tvmvm_vm* vm);
/* How the runs of a VM ended so far, of all its invocations together. */
typedef struct tvmvm_run_counters {
  size_t size;
  int64_t ok;
  int64_t refused;   /* what was given is wrong: TVMVM_INVALID_ARGUMENT, TVMVM_UNSUPPORTED */
  int64_t limited;   /* by a limit on memory, steps or time: TVMVM_OUT_OF_MEMORY, TVMVM_DEADLINE_EXCEEDED */
  int64_t cancelled; /* TVMVM_CANCELLED */
  int64_t lost;      /* with a device: TVMVM_DEVICE_LOST */
  int64_t failed;    /* everything else */
} tvmvm_run_counters;
TVMVM_EXPORT tvmvm_status* tvmvm_vm_get_counters(const tvmvm_vm* vm, tvmvm_run_counters* counters);
/* As tvmvm_device_warm, of kernels that these options trust; their other members do not count. */
TVMVM_EXPORT tvmvm_status* tvmvm_device_warm_with(const tvmvm_device* device, const tvmvm_program* program,
                                                  const tvmvm_vm_options* options, size_t* kernels);
/* The devices that a run uses, the CPU first; of index < count. A name lives as long as the VM. */
TVMVM_EXPORT size_t tvmvm_vm_device_count(const tvmvm_vm* vm);
TVMVM_EXPORT const char* tvmvm_vm_device_name(const tvmvm_vm* vm, size_t index);
TVMVM_EXPORT size_t tvmvm_vm_device_kernel_count(const tvmvm_vm* vm, size_t index);
/* The number of the input in whose memory output `output` may be given, as the program was compiled: its
 * memory begins where the input's does and holds the output afterwards. -1: of none. */
TVMVM_EXPORT int64_t tvmvm_vm_donated_input(const tvmvm_vm* vm, size_t output);

/* What a run will hold, computed without running (docs/memory.md): upper ends, INT64_MAX where nothing bounds
 * one. The peak counts what tvmvm_invocation_peak_bytes counts; where it is exact its ends are the same. */
typedef struct tvmvm_forecast {
  size_t size;
  int64_t peak_bytes;
  int64_t least_peak_bytes;  /* the lower end */
  int64_t lower_bound_bytes; /* no placement of the values needs less */
  int64_t output_bytes;      /* of the peak: what outputs take, which a caller may give */
  int64_t scratch_bytes;     /* beside the peak, for each thread of the CPU */
  int64_t constant_bytes;    /* beside it: of the file */
} tvmvm_forecast;
/* Dimension names[k] of `count` has low[k] to high[k] elements; one without a name is "INPUT[AXIS]". Those
 * that are not given have the program's bounds; an error names those that have none. */
TVMVM_EXPORT tvmvm_status* tvmvm_vm_plan(const tvmvm_vm* vm, const char* const* names, const int64_t* low,
                                         const int64_t* high, size_t count, tvmvm_forecast* forecast);

/* Invocations. */
TVMVM_EXPORT tvmvm_status* tvmvm_invocation_create(const tvmvm_vm* vm, tvmvm_invocation** invocation);
TVMVM_EXPORT void tvmvm_invocation_free(tvmvm_invocation* invocation);
/* outputs[k]: null asks for a new tensor, which the caller frees; a tensor given there receives the result.
 */
TVMVM_EXPORT tvmvm_status* tvmvm_invocation_run(tvmvm_invocation* invocation,
                                                const tvmvm_tensor* const* inputs, size_t input_count,
                                                tvmvm_tensor** outputs, size_t output_count);
/* The same with values, for programs with sequences, optionals and tuples. inputs[k]: null is nothing, an
 * optional without element. outputs[k]: null asks for a new value, which the caller frees; a value given
 * there is a tensor that receives the result, and the output must be one. */
TVMVM_EXPORT tvmvm_status* tvmvm_invocation_run_values(tvmvm_invocation* invocation,
                                                       const tvmvm_value* const* inputs, size_t input_count,
                                                       tvmvm_value** outputs, size_t output_count);
/* Ends runs from another thread: those that it is given to, of any invocations, and no others. */
typedef struct tvmvm_run_cancel tvmvm_run_cancel;
TVMVM_EXPORT tvmvm_status* tvmvm_run_cancel_create(tvmvm_run_cancel** cancel);
/* They end with TVMVM_CANCELLED soon, and those that begin later at once. From any thread. */
TVMVM_EXPORT void tvmvm_run_cancel_request(tvmvm_run_cancel* cancel);
/* Runs that were given it may go on. */
TVMVM_EXPORT void tvmvm_run_cancel_free(tvmvm_run_cancel* cancel);
/* What holds for one run alone. */
typedef struct tvmvm_run_options {
  size_t size;
  int64_t timeout_ns;             /* from now on; 0: none; the earlier of it and that of the limits counts */
  const tvmvm_run_cancel* cancel; /* null: none */
} tvmvm_run_options;
/* The same two with options, which may be null. */
TVMVM_EXPORT tvmvm_status* tvmvm_invocation_run_with(tvmvm_invocation* invocation,
                                                     const tvmvm_run_options* options,
                                                     const tvmvm_tensor* const* inputs, size_t input_count,
                                                     tvmvm_tensor** outputs, size_t output_count);
TVMVM_EXPORT tvmvm_status* tvmvm_invocation_run_values_with(tvmvm_invocation* invocation,
                                                            const tvmvm_run_options* options,
                                                            const tvmvm_value* const* inputs,
                                                            size_t input_count, tvmvm_value** outputs,
                                                            size_t output_count);
/* Limits of every run from the next one on; 0 means none, for each. Errors: a negative one. */
typedef struct tvmvm_limits {
  size_t size;
  int64_t max_bytes;
  int64_t max_steps;
  int64_t timeout_ns;
  int32_t max_call_depth;
} tvmvm_limits;
TVMVM_EXPORT tvmvm_status* tvmvm_invocation_apply_limits(tvmvm_invocation* invocation,
                                                         const tvmvm_limits* limits);
/* The first three of them; what is below 0 means none, too. */
TVMVM_EXPORT void tvmvm_invocation_set_limits(tvmvm_invocation* invocation, int64_t max_bytes,
                                              int64_t max_steps, int64_t timeout_ns);
/* The run in progress, or else the next one, whosever it is, ends with TVMVM_CANCELLED soon. */
TVMVM_EXPORT void tvmvm_invocation_cancel(tvmvm_invocation* invocation);
TVMVM_EXPORT int64_t tvmvm_invocation_peak_bytes(const tvmvm_invocation* invocation);
/* Now: what max_bytes of the limits bounds. */
TVMVM_EXPORT int64_t tvmvm_invocation_held_bytes(const tvmvm_invocation* invocation);
TVMVM_EXPORT void tvmvm_invocation_trim(tvmvm_invocation* invocation);
/* When it does so by itself; 0: not for this reason. */
typedef struct tvmvm_trim_policy {
  size_t size;
  int64_t runs;       /* after every so many runs */
  int64_t idle_ns;    /* before a run that begins so long after the end of the last one */
  int64_t held_bytes; /* after a run that leaves more than this held */
} tvmvm_trim_policy;
TVMVM_EXPORT tvmvm_status* tvmvm_invocation_set_trim_policy(tvmvm_invocation* invocation,
                                                            const tvmvm_trim_policy* policy);

/* Observers, called on the thread that runs, with `context`. Null: none. Records and texts live for the call;
 * `size` says which members the library knows. Times are of the steady clock. */
typedef struct tvmvm_launch_record {
  size_t size;
  const char* kernel;
  const char* source_node; /* "" where it is not known */
  int64_t begin_ns;
  int64_t end_ns;
  int64_t flops; /* estimates of the compiler */
  int64_t bytes;
  int64_t grid;
  int device; /* its number in the program, 0: the CPU */
} tvmvm_launch_record;
typedef void (*tvmvm_launch_observer)(void* context, const tvmvm_launch_record* launch);
TVMVM_EXPORT tvmvm_status* tvmvm_invocation_observe_launches(tvmvm_invocation* invocation,
                                                             tvmvm_launch_observer observer, void* context);
/* Copies to, from and within a device with memory of its own; each is waited for. */
typedef struct tvmvm_copy_record {
  size_t size;
  int from_device; /* numbers in the program; 0: memory of the host */
  int to_device;
  int64_t begin_ns;
  int64_t end_ns;
  int64_t bytes;
} tvmvm_copy_record;
typedef void (*tvmvm_copy_observer)(void* context, const tvmvm_copy_record* copy);
TVMVM_EXPORT tvmvm_status* tvmvm_invocation_observe_copies(tvmvm_invocation* invocation,
                                                           tvmvm_copy_observer observer, void* context);
/* What a program that was compiled to be traced says of its values, line by line. */
typedef void (*tvmvm_trace_observer)(void* context, const char* line, size_t size);
TVMVM_EXPORT tvmvm_status* tvmvm_invocation_observe_trace(tvmvm_invocation* invocation,
                                                          tvmvm_trace_observer observer, void* context);

/* Tensors: dense, row-major, in host memory, or in a device's. */
TVMVM_EXPORT tvmvm_status* tvmvm_tensor_allocate(tvmvm_dtype dtype, const int64_t* dims, int rank,
                                                 tvmvm_tensor** tensor);
/* The memory stays the caller's and outlives the tensor. */
TVMVM_EXPORT tvmvm_status* tvmvm_tensor_borrow(tvmvm_dtype dtype, const int64_t* dims, int rank, void* data,
                                               tvmvm_tensor** tensor);
/* Takes `managed`, also when it fails. */
TVMVM_EXPORT tvmvm_status* tvmvm_tensor_from_dlpack(struct DLManagedTensor* managed, tvmvm_tensor** tensor);
/* The result shares the memory, which is the host's; its deleter frees it. */
TVMVM_EXPORT tvmvm_status* tvmvm_tensor_to_dlpack(const tvmvm_tensor* tensor,
                                                  struct DLManagedTensor** managed);
/* In memory of a device that has its own, uninitialised; of the host for "cpu". A VM on that device takes
 * such a tensor as an input, and writes it as an output, without a copy across the bus. Not for strings. */
TVMVM_EXPORT tvmvm_status* tvmvm_tensor_allocate_on(const tvmvm_device* device, tvmvm_dtype dtype,
                                                    const int64_t* dims, int rank, tvmvm_tensor** tensor);
/* A new tensor with the same elements on a device; null: in host memory. */
TVMVM_EXPORT tvmvm_status* tvmvm_tensor_copy_to(const tvmvm_tensor* tensor, const tvmvm_device* device,
                                                tvmvm_tensor** copy);
/* Copies the elements of a tensor of the same element type and dimensions, from wherever they are; they are
 * here when it returns. Nothing else may be using this tensor's memory. */
TVMVM_EXPORT tvmvm_status* tvmvm_tensor_copy_from(tvmvm_tensor* tensor, const tvmvm_tensor* source);
TVMVM_EXPORT void tvmvm_tensor_free(tvmvm_tensor* tensor);
/* Of the device whose memory it is in, "vulkan:0"; "" for host memory. Lives as long as the tensor. */
TVMVM_EXPORT const char* tvmvm_tensor_device_name(const tvmvm_tensor* tensor);
TVMVM_EXPORT tvmvm_dtype tvmvm_tensor_dtype(const tvmvm_tensor* tensor);
TVMVM_EXPORT int tvmvm_tensor_rank(const tvmvm_tensor* tensor);
TVMVM_EXPORT int64_t tvmvm_tensor_dim(const tvmvm_tensor* tensor, int axis);
TVMVM_EXPORT void* tvmvm_tensor_data(const tvmvm_tensor* tensor); /* null where the host does not reach it */
TVMVM_EXPORT int64_t tvmvm_tensor_byte_count(const tvmvm_tensor* tensor);
/* Elements of TVMVM_STRING tensors. */
TVMVM_EXPORT tvmvm_status* tvmvm_tensor_get_string(const tvmvm_tensor* tensor, int64_t index,
                                                   const char** text, size_t* size);
TVMVM_EXPORT tvmvm_status* tvmvm_tensor_set_string(tvmvm_tensor* tensor, int64_t index, const char* text,
                                                   size_t size);

/* Values: tensors, sequences, tuples, nothing. They share what they hold; a sequence or tuple is never
 * changed once made. Of `elements` and `fields`, null is nothing. */
TVMVM_EXPORT tvmvm_status* tvmvm_value_from_tensor(const tvmvm_tensor* tensor, tvmvm_value** value);
TVMVM_EXPORT tvmvm_status* tvmvm_value_from_elements(const tvmvm_value* const* elements, size_t count,
                                                     tvmvm_value** sequence);
/* `tag`: which constructor of an algebraic data type. */
TVMVM_EXPORT tvmvm_status* tvmvm_value_from_fields(int64_t tag, const tvmvm_value* const* fields,
                                                   size_t count, tvmvm_value** tuple);
TVMVM_EXPORT void tvmvm_value_free(tvmvm_value* value);
TVMVM_EXPORT tvmvm_kind tvmvm_value_kind(const tvmvm_value* value); /* TVMVM_NOTHING for null */
/* The tensor, which the caller frees, on the value's memory. */
TVMVM_EXPORT tvmvm_status* tvmvm_value_tensor(const tvmvm_value* value, tvmvm_tensor** tensor);
/* Elements of a sequence, fields of a tuple; 0 for other values. */
TVMVM_EXPORT size_t tvmvm_value_size(const tvmvm_value* value);
/* Element or field `index`, which the caller frees. */
TVMVM_EXPORT tvmvm_status* tvmvm_value_element(const tvmvm_value* value, size_t index, tvmvm_value** element);
TVMVM_EXPORT int64_t tvmvm_value_tag(const tvmvm_value* value); /* of a tuple */

#ifdef __cplusplus
}
#endif
#endif /* TVMVM_C_API_H_ */
