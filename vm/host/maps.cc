// Maps: tuples of their keys and their values, two vectors.
#include "vm/host/blocks.h"

namespace tvmvm {

// ()(keys, values[rows, keys]) -> a sequence of maps
Status HostMapRows(HostCall& call) {
  TVMVM_TRY(TensorObject * keys, TensorOperand(call, 0, "keys"));
  TVMVM_TRY(TensorObject * values, TensorOperand(call, 1, "values"));
  TVMVM_CHECK_OK(CheckWholeBytes(values->dtype));
  const bool fits =
      keys->shape.rank() == 1 && values->shape.rank() == 2 && values->shape[1] == keys->shape[0];
  if (!fits)
    return MakeError(Code::kInvalidArgument,
                     "keys " + keys->shape.ToString() + " for values " + values->shape.ToString());
  const int64_t rows = values->shape[0], count = keys->shape[0];
  TVMVM_TRY(Object * kept, Retained(call, keys));
  Owned<Object> shared_keys(call.pool, kept);
  Owned<ContainerObject> sequence(call.pool, call.pool.NewContainer(ObjectKind::kSequence));
  TVMVM_CHECK_OK(call.pool.Reserve(sequence.get(), static_cast<size_t>(rows)));
  for (int64_t row = 0; row < rows; ++row) {
    TVMVM_CHECK_OK(PollStep(call, row));
    Owned<ContainerObject> map(call.pool, call.pool.NewContainer(ObjectKind::kTuple));
    TVMVM_CHECK_OK(call.pool.Reserve(map.get(), 2));
    TVMVM_TRY(Owned<TensorObject> own, NewTensor(call, values->dtype, Shape{count}));
    TVMVM_CHECK_OK(CopyBlocks(call, *own, *values, {.blocks = 1, .run = count, .from_first = row * count}));
    ObjectPool::Retain(shared_keys.get());
    map->elements = {shared_keys.get(), own.Give()};
    sequence->elements.push_back(map.Give());
  }
  call.ref_results[0] = sequence.Give();
  return {};
}

}  // namespace tvmvm
