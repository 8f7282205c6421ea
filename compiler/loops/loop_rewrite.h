// Walking and rebuilding statements.
#pragma once

#include <functional>

#include "compiler/loops/loop_ir.h"

namespace tvmvm::tensor {

// Every statement, outer ones first.
void VisitStatements(const StmtPtr& root, const std::function<void(const Stmt&)>& visit);
// Replaces every expression that statements hold.
StmtPtr MapExpressions(const StmtPtr& root, const std::function<Expr(const Expr&)>& map);

}  // namespace tvmvm::tensor
