// Sums of products on GPUs: contractions, and convolutions whose data and weights do not share an axis of the
// result. What their kernels have in common; private to schedule_gpu_product*.cc and their bench.
//
// The result's axes that the left factor alone depends on are rows, those of the right factor alone columns,
// those of both a batch. Columns are what lies side by side in the result's memory.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "compiler/schedules/product_group.h"

namespace tvmvm::tensor {

// The tile of the result that a work-group computes. All are powers of two.
struct ProductTile {
  int rows = 0, columns = 0;            // of the group
  int depth = 0;                        // of the slices that stand in shared memory, two of each factor
  int item_rows = 0, item_columns = 0;  // sums in the registers of a work-item
  int lanes_across = 0;  // of 32 neighbouring work-items, so many lie side by side along the columns
  int parties = 1;       // that take turns at slices, each summing the whole tile

  static const ScheduleFamily kFamily;

  int items_down() const { return rows / item_rows; }
  int items_across() const { return columns / item_columns; }
  int items() const { return items_down() * items_across(); }  // of a party
};

// Whether work-items share the tile and its slices without remainder.
bool IsPossible(const ProductTile& tile);
// And whether every GPU has the work-items and the shared memory for it, of numbers of 32 bits.
bool IsPossibleEverywhere(const ProductTile& tile);

// What the choice is made from, from large to small: the first of which a result holds enough to keep a
// device busy, else the last.
std::span<const ProductTile> ProductTiles();

// The same for products that HasHalves; of a size, there is a form by matrices.
std::span<const ProductTile> HalfProductTiles();

// The axes of the result that play one part, as one.
struct ProductRole {
  std::vector<size_t> axes;  // of the result
  ir::Dims sizes;
  ir::Dim size() const { return ir::Product(sizes); }
};

// The result's element taken apart: the sum over the reduction's axes of left * right.
struct ProductParts {
  Expr reduce, left, right;
  std::vector<VariableId> index;  // stand for the result's coordinates
};

class GpuProduct {
 public:
  // Nothing where the group is none of this form.
  static std::optional<GpuProduct> Find(const GroupView& group);

  const GroupView& group() const { return *group_; }
  const ProductRole& batch() const { return batch_; }
  const ProductRole& rows() const { return rows_; }
  const ProductRole& columns() const { return columns_; }
  const ir::Dims& depth() const { return depth_; }  // of the reduction's axes
  DType accumulator() const { return accumulator_; }
  ir::NodeId anchor() const { return anchor_; }
  ir::ValueId result() const { return result_; }
  // Left and right as rows and columns want them.
  ProductParts Expand(LoopKernel* kernel, InputReader& reader) const;
  // Whether neighbours in a factor's memory are neighbours along the depth, not along its role.
  bool MovesAlongDepth(const ProductParts& parts, const Expr& element, const ProductRole& role) const;
  // 1 where `count` neighbours in the factor always are neighbours in memory, at a multiple of `count`.
  ir::Dim HasVectors(const ProductParts& parts, const Expr& element, const ProductRole& role,
                     int count = 4) const;

  // 1 where all factors that can be read by fours at all can be; 0 where none can.
  const ir::Dim& vectors_fit() const { return vectors_fit_; }

 private:
  GpuProduct(const GroupView& group, ir::NodeId anchor);
  bool Analyse();
  void FindRoles(const ProductParts& parts);
  void FindVectors(const ProductParts& parts);

  const GroupView* group_;
  ir::NodeId anchor_;
  ir::ValueId result_;
  bool swapped_ = false;
  ProductRole batch_, rows_, columns_;
  ir::Dims depth_;
  DType accumulator_ = DType::kInvalid;
  ir::Dim vectors_fit_ = 0;
};

// The depth cut into shares that different work-groups sum: their partial sums lie one behind the other in a
// workspace, [batch][share][row][column], and a second kernel adds them up.
struct DepthShares {
  ir::Dim count, size;  // the last one may be shorter
};

// What a kernel does with partial sums.
enum class Partials { kNone, kWritten, kAddedUp };

// One kernel of a product while it is built: arguments for the inputs `wanted`, then partial sums, then the
// outputs, unless it writes partial sums instead.
class ProductBuilder {
 public:
  using Bindings = std::vector<std::pair<VariableId, Expr>>;

  ProductBuilder(const GpuProduct& product, const std::set<int>& wanted, Partials partials,
                 LoopKernel* kernel);

  Nest& nest() { return nest_; }
  const GpuProduct& product() const { return product_; }
  const ProductParts& parts() const { return parts_; }
  const std::vector<KernelArgument>& arguments() const { return arguments_; }
  const std::set<int>& touched() const { return reader_.touched(); }

  // Makes a one-dimensional group; gives the work-item's number.
  Expr Group(int items);
  // Binds the batch's coordinates to grid axis 2; gives them.
  Bindings Batch();
  // Coordinates of a role's axes at a flat position, bound to variables.
  void Bind(const ProductRole& role, const Expr& position, Bindings* bound);
  // What a group sums, bound to grid axis 2: all of the depth of an element of the batch, or a share.
  struct Range {
    Bindings batch;   // its coordinates
    Expr begin, end;  // of the depth
    Expr layer;       // number of the partial sums
  };
  Range Depth(const DepthShares* shares);
  // The depth's coordinates at a flat position.
  void Step(const Expr& position, Bindings* bound) const;
  // A factor's element at position `along` of the slice that begins at `k` of the depth, with `at` the other
  // coordinates. An address that moves evenly along the depth begins at one that is computed before the loop.
  Expr ElementAt(const Expr& element, const Bindings& at, const Expr& along, const Expr& k);
  // Reads a slice that begins at `k`: by `whole` where all of it is there (`fits`), else by `rest`; each gets
  // where the slice begins. With `is_whole`, all of it always is.
  using ReadSlice = std::function<void(const Expr& k)>;
  void Read(const Expr& k, const Expr& fits, bool is_whole, const ReadSlice& whole, const ReadSlice& rest);
  // Stores all outputs at one position of the result.
  Status StoreElement(const Bindings& bound, const Expr& sum);
  // Stores one partial sum of a layer.
  void StorePartial(const Expr& layer, const Expr& row, const Expr& column, const Expr& sum);
  // The buffer of partial sums.
  uint32_t partials() const { return partials_; }

 private:
  Expr WithFixedAddresses(const Expr& element, Bindings at, const Expr& along, const Expr& k);
  Expr ComputedOutside(const Expr& a);

  const GpuProduct& product_;
  InputReader reader_;
  std::vector<KernelArgument> arguments_;
  std::vector<uint32_t> outputs_;
  uint32_t partials_ = 0;
  ProductParts parts_;
  Nest nest_;
};

// The load that a factor's element is, perhaps of f16 as f32; invalid where it is something else.
Expr PlainLoad(const Expr& element);
// The element where `inside` holds, else 0; there loads touch nothing, wherever they are placed.
Expr ElementOrZero(const Expr& element, const Expr& inside);
// Whether a position is within the edge; true where it always is, as in tiles of `extent` that fill the size.
Expr IsInside(const Expr& position, const ir::Dim& size, int extent);

// Bodies. With `has_vectors`, factors are read four elements at a time where GpuProduct::HasVectors holds:
// from memory that begins at a whole vector (Access::kReadAligned).
// With `shares`, a group sums one share of the depth of its tile into the partial sums; their size is a
// multiple of LoopStep and of MatrixLoopStep.
Status BuildProductTile(ProductBuilder& builder, const ProductTile& tile, bool has_vectors,
                        const DepthShares* shares = nullptr);
// By how much the loop over slices moves along the depth; by matrices.
int LoopStep(const ProductTile& tile);
int MatrixLoopStep();
// Whether both factors are f16 numbers, summed in f32.
bool HasHalves(const GpuProduct& product);
// A tile as large as `tile` by matrices, for products that HasHalves; there is one for each of
// HalfProductTiles.
Status BuildProductMatrix(ProductBuilder& builder, const ProductTile& tile, bool has_vectors,
                          const DepthShares* shares = nullptr);
// Adds up partial sums, an element for each work-item.
Status BuildSumOfShares(ProductBuilder& builder, const ir::Dim& count);
// The work-items of a group share the depth of `rows` rows and a few columns; with 1 row, for results of one.
Status BuildThinProduct(ProductBuilder& builder, int rows, bool has_vectors);

// As ScheduleProductForGpu, but by one tile, for all sizes within kSmallSize: what benches compare. By
// matrices where the target has them, the product HasHalves and the tile is one of HalfProductTiles.
Expected<GroupProgram> ScheduleProductByTile(const GroupView& group, const ProductTile& tile,
                                             const TargetInfo& target = GpuTargetInfo(DeviceKind::kVulkan));

}  // namespace tvmvm::tensor
