#include "loss_at.hpp"

#include <stdexcept>

#include "kernels/kernels.hpp"
#include "losses/losses.hpp"

namespace weald {
namespace {

void write_rows(std::string_view loss, const Scored& rows, double* gradient, double* hessian) {
  kernels().gradients(loss, rows, {0, rows.n_rows}, gradient, hessian);
  if (!rows.weight) return;
  for (std::int64_t i = 0; i < rows.n_rows; ++i) {
    gradient[i] *= rows.weight[i];
    hessian[i] *= rows.weight[i];
  }
}

}  // namespace

LossAt::LossAt(std::string_view of_loss, const Scored& at)
    : loss(of_loss), rows(at), has_hessian(at.weight != nullptr) {
  if (at.n_scores != 1) throw std::invalid_argument("a loss of one score is asked for");
  if (!AllLosses::with_name(loss, [&]<Loss L>(L) { has_hessian |= L::hessian == Hessian::own; }))
    throw std::invalid_argument("unknown loss");
}

void LossAt::write(std::int64_t begin, std::int64_t n, double* gradient, double* hessian) const {
  Scored part = rows;
  part.n_rows = n;
  part.y += begin;
  part.scores += begin;
  if (part.weight) part.weight += begin;
  write_rows(loss, part, gradient, hessian);
}

void LossAt::write(const Row* some, std::int64_t n, double* gradient, double* hessian) const {
  double y[near_rows], scores[near_rows], weight[near_rows];
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = rows.y[some[i]];
    scores[i] = rows.scores[some[i]];
    if (rows.weight) weight[i] = rows.weight[some[i]];
  }
  Scored part = rows;
  part.n_rows = n;
  part.y = y;
  part.scores = scores;
  part.weight = rows.weight ? weight : nullptr;
  write_rows(loss, part, gradient, hessian);
}

}  // namespace weald
