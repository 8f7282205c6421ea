// Work-groups as loops over their work-items: loop fission at barriers.
//
// What stands between two barriers is a region, and each region becomes a loop over the items. Loops and
// conditions that hold barriers are the same for all items, so they stay around those loops; so do values
// that are the same for all. What an item keeps from one region to the next is computed again where that is
// cheap, or lies in an array with a place for each item.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::tensor {
namespace {

constexpr int kCheapNodes = 16;  // of an expression that is computed again

// A part of the group's program: a region, or a statement that all items do as one.
struct Part;
using Parts = std::vector<Part>;
struct Part {
  int region = -1;                  // >= 0: its number
  std::vector<StmtPtr> statements;  // of the region; else the one statement
  std::vector<Parts> nested;        // of a loop or condition
};

// A variable that items bind, each its own, where later regions may use it.
struct OwnVariable {
  VariableId variable = 0;
  Expr value;
  int home = 0;                   // the region that binds it
  std::vector<size_t> made_from;  // other ones
  std::set<int> users;            // regions behind it
  bool is_recomputed = false;
  uint32_t array = 0;  // otherwise
};

// A local buffer.
struct Place {
  int list = -1;          // of the parts where it is allocated; -1: within a statement of a region
  std::set<int> regions;  // that touch it
  bool is_grouped = false;
  int64_t each = 0;  // elements of an item; 0: shared by all
};

// Integers without loads and without divisions by what is only known at run time.
bool IsCheap(const Expr& root) {
  int nodes = 0;
  bool is_cheap = !IsFloat(root.dtype());
  VisitOnce(root, [&](const Expr& e) {
    ++nodes;
    bool divides = e.op() == ExprOp::kDiv || e.op() == ExprOp::kFloorDiv || e.op() == ExprOp::kFloorMod ||
                   e.op() == ExprOp::kRemainder;
    is_cheap &= e.op() != ExprOp::kLoad && (!divides || IsConstant(e->operands[1]));
  });
  return is_cheap && nodes <= kCheapNodes;
}

bool HasLoad(const Expr& root) {
  bool has = false;
  VisitOnce(root, [&](const Expr& e) { has |= e.op() == ExprOp::kLoad; });
  return has;
}

class Serializer {
 public:
  explicit Serializer(const LoopKernel& kernel)
      : result_(kernel),
        places_(kernel.buffers.size()),
        rewrite_([this](const Expr& e) { return Moved(e); }) {
    item_ = IntConstant(0);
    for (int axis = 2; axis >= 0; --axis) {
      if (kernel.group_size[axis] == 1) continue;
      varying_.insert(kernel.thread[axis]);
      item_ = item_ * IntConstant(kernel.group_size[axis]) + Variable(kernel.thread[axis]);
    }
  }

  LoopKernel Run() {
    Parts parts = Divide({result_.body});
    ChoosePlaces();
    std::vector<StmtPtr> body;
    for (int axis = 0; axis < 3 && result_.GroupItems() > 1; ++axis)
      if (result_.group_size[axis] == 1) body.push_back(Let(result_.thread[axis], IntConstant(0)));
    for (const OwnVariable& own : own_)
      if (IsKept(own)) body.push_back(Allocate(own.array));
    Build(parts, &body);
    result_.body = Block(std::move(body));
    for (int& size : result_.group_size) size = 1;
    return std::move(result_);
  }

 private:
  // --- into parts ---

  Parts Divide(const std::vector<StmtPtr>& statements) {
    Parts parts;
    int outer = std::exchange(list_, lists_++);
    is_open_ = false;
    for (const StmtPtr& s : statements) Divide(s, &parts);
    is_open_ = false;
    list_ = outer;
    return parts;
  }

  void Divide(const StmtPtr& s, Parts* parts) {
    if (s->kind == StmtKind::kBarrier) {
      is_open_ = false;
    } else if (s->kind == StmtKind::kBlock) {
      for (const StmtPtr& child : s->body) Divide(child, parts);
    } else if (HasBarrier(*s)) {
      Part part{-1, {s}, {}};
      for (const StmtPtr& child : s->body) part.nested.push_back(Divide({child}));
      parts->push_back(std::move(part));
    } else if (s->kind == StmtKind::kAllocate) {
      places_[s->buffer].list = list_;
      AddCommon(s, parts);
    } else if (s->kind == StmtKind::kLet && !Varies(s->value)) {
      if (HasLoad(s->value)) is_open_ = false;
      AddCommon(s, parts);
    } else {
      AddOwn(s, parts);
    }
  }

  // Something that all items do as one, in front of an open region: nothing there has to come first.
  void AddCommon(const StmtPtr& s, Parts* parts) {
    parts->insert(parts->end() - (is_open_ ? 1 : 0), Part{-1, {s}, {}});
  }

  void AddOwn(const StmtPtr& s, Parts* parts) {
    if (!is_open_) parts->push_back(Part{regions_++, {}, {}});
    is_open_ = true;
    Part& part = parts->back();
    list_of_.resize(static_cast<size_t>(regions_), list_);
    part.statements.push_back(s);
    std::set<size_t> used;
    VisitStatements(s, [&](const Stmt& inner) { FindUses(inner, part.region, &used); });
    for (size_t number : used)
      if (own_[number].home != part.region) own_[number].users.insert(part.region);
    if (s->kind != StmtKind::kLet) return;
    varying_.insert(s->variable);
    number_of_[s->variable] = own_.size();
    own_.push_back({s->variable, s->value, part.region, {used.begin(), used.end()}, {}, false, 0});
  }

  void FindUses(const Stmt& s, int region, std::set<size_t>* used) {
    if (s.kind == StmtKind::kStore) places_[s.buffer].regions.insert(region);
    for (const Expr* root : {&s.begin, &s.end, &s.value, &s.index, &s.mask}) {
      if (!root->valid()) continue;
      VisitOnce(*root, [&](const Expr& e) {
        if (e.op() == ExprOp::kLoad) places_[e->id].regions.insert(region);
        if (e.op() != ExprOp::kVariable) return;
        if (auto found = number_of_.find(e->id); found != number_of_.end()) used->insert(found->second);
      });
    }
  }

  bool IsPrivate(uint32_t buffer) const {
    const BufferInfo& info = result_.buffers[buffer];
    return !info.is_argument && info.memory != Memory::kShared;
  }

  // Whether the items may see different values.
  bool Varies(const Expr& root) const {
    bool varies = false;
    VisitOnce(root, [&](const Expr& e) {
      if (e.op() == ExprOp::kVariable) varies |= varying_.count(e->id) > 0;
      if (e.op() == ExprOp::kLoad) varies |= IsPrivate(e->id);
    });
    return varies;
  }

  // --- where things are kept ---

  static bool IsKept(const OwnVariable& own) { return !own.users.empty() && !own.is_recomputed; }

  void ChoosePlaces() {
    int items = result_.GroupItems();
    // From the last one back: what is computed again asks for what it is made from.
    for (auto own = own_.rbegin(); own != own_.rend(); ++own) {
      own->is_recomputed = IsCheap(own->value);
      for (size_t number : own->made_from) {
        if (!own->is_recomputed) break;
        for (int user : own->users)
          if (own_[number].home != user) own_[number].users.insert(user);
      }
      if (IsKept(*own))
        own->array = result_.AddLocal(NameOf(own->variable), own->value.dtype(), Memory::kLocal, items);
    }
    for (uint32_t b = result_.argument_count; b < places_.size(); ++b) {
      Place& place = places_[b];
      bool is_private = IsPrivate(b);
      place.is_grouped = !is_private || (place.list >= 0 && !IsOfOneRegion(place));
      if (!place.is_grouped) continue;
      BufferInfo& info = result_.buffers[b];
      info.memory = Memory::kLocal;
      if (!is_private) continue;
      place.each = info.size;
      info.size *= items;
    }
  }

  bool IsOfOneRegion(const Place& place) const {
    if (place.regions.empty()) return true;
    return place.regions.size() == 1 && list_of_[static_cast<size_t>(*place.regions.begin())] == place.list;
  }

  std::string NameOf(VariableId variable) const {
    return variable < result_.variable_names.size() ? result_.variable_names[variable] : "kept";
  }

  // --- out of parts ---

  void Build(const Parts& parts, std::vector<StmtPtr>* out) {
    for (const Part& part : parts) {
      if (part.region >= 0) {
        out->push_back(OverItems(RegionBody(part)));
        continue;
      }
      const Stmt& s = *part.statements[0];
      if (s.kind == StmtKind::kAllocate && !places_[s.buffer].is_grouped) continue;  // its region does that
      Stmt copy = s;
      for (size_t i = 0; i < copy.body.size(); ++i) {
        std::vector<StmtPtr> body;
        Build(part.nested[i], &body);
        copy.body[i] = Block(std::move(body));
      }
      out->push_back(std::make_shared<const Stmt>(std::move(copy)));
    }
  }

  std::vector<StmtPtr> RegionBody(const Part& part) {
    std::vector<StmtPtr> body;
    for (uint32_t b = result_.argument_count; b < places_.size(); ++b)
      if (!places_[b].is_grouped && places_[b].list >= 0 && places_[b].regions.count(part.region))
        body.push_back(Allocate(b));
    for (const OwnVariable& own : own_) {
      if (!own.users.count(part.region)) continue;
      body.push_back(
          Let(own.variable, own.is_recomputed ? own.value : Load(own.array, own.value.dtype(), item_)));
    }
    for (const StmtPtr& s : part.statements) {
      body.push_back(Item(*s));
      if (s->kind != StmtKind::kLet) continue;
      for (const OwnVariable& own : own_)
        if (own.home == part.region && own.variable == s->variable && IsKept(own))
          body.push_back(Store(own.array, item_, Variable(own.variable, own.value.dtype())));
    }
    return body;
  }

  // A statement as one item does it.
  StmtPtr Item(const Stmt& s) {
    Stmt copy = s;
    for (Expr* e : {&copy.begin, &copy.end, &copy.value, &copy.index, &copy.mask})
      if (e->valid()) *e = rewrite_(*e);
    if (s.kind == StmtKind::kStore) copy.index = IndexOf(s.buffer, copy.index);
    for (StmtPtr& child : copy.body) child = Item(*child);
    return std::make_shared<const Stmt>(std::move(copy));
  }

  Expr Moved(const Expr& e) {
    if (e.op() != ExprOp::kLoad || places_[e->id].each == 0) return e;
    return Load(e->id, e.dtype(), IndexOf(e->id, e->operands[0]),
                e->operands.size() > 1 ? e->operands[1] : Expr());
  }

  Expr IndexOf(uint32_t buffer, const Expr& index) const {
    int64_t each = places_[buffer].each;
    return each == 0 ? index : item_ * IntConstant(each) + index;
  }

  // The loops, no longer than the items that a condition around the whole region lets in.
  StmtPtr OverItems(std::vector<StmtPtr> body) {
    int64_t first = result_.group_size[0];
    bool is_flat = result_.group_size[1] == 1 && result_.group_size[2] == 1;
    if (is_flat) first = std::min(first, ItemsOf(body));
    StmtPtr inner = Block(std::move(body));
    for (int axis = 0; axis < 3; ++axis) {
      int64_t size = axis == 0 ? first : result_.group_size[axis];
      if (result_.group_size[axis] > 1)
        inner = For(result_.thread[axis], IntConstant(0), IntConstant(size), std::move(inner));
    }
    return inner;
  }

  int64_t ItemsOf(const std::vector<StmtPtr>& body) const {
    const Stmt& last = *body.back();
    bool are_lets =
        std::all_of(body.begin(), body.end() - 1, [](const StmtPtr& s) { return s->kind == StmtKind::kLet; });
    if (!are_lets || last.kind != StmtKind::kIf || last.body.size() > 1) return INT64_MAX;
    const Expr& condition = last.value;
    bool compares = condition.op() == ExprOp::kLess || condition.op() == ExprOp::kEqual;
    if (!compares || !IsConstant(condition->operands[1])) return INT64_MAX;
    const Expr& left = condition->operands[0];
    if (left.op() != ExprOp::kVariable || left->id != result_.thread[0]) return INT64_MAX;
    int64_t bound = condition->operands[1]->integer;
    return std::max<int64_t>(0, condition.op() == ExprOp::kLess ? bound : bound + 1);
  }

  LoopKernel result_;
  Expr item_;  // its number in the group
  std::unordered_set<VariableId> varying_;
  std::vector<OwnVariable> own_;
  std::unordered_map<VariableId, size_t> number_of_;  // in own_; of the last binding
  std::vector<Place> places_;                         // by buffer
  std::vector<int> list_of_;                          // by region: the list of parts that holds it
  int regions_ = 0, lists_ = 0, list_ = -1;
  bool is_open_ = false;  // the last part is a region that takes more
  Rewriter rewrite_;
};

}  // namespace

LoopKernel SerializeWorkGroup(const LoopKernel& kernel) {
  LoopKernel lowered = LowerGroupReduce(kernel);
  return kernel.GroupItems() == 1 ? lowered : Serializer(lowered).Run();
}

}  // namespace tvmvm::tensor
