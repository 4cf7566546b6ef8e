#include "target/loss_at.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels/kernels.hpp"
#include "losses/losses.hpp"

namespace weald::target {
namespace {

void write_rows(std::string_view loss, const losses::Scored& rows, double* gradient,
                double* hessian) {
  kernels::active().gradients(loss, rows, {0, rows.n_rows}, gradient, hessian);
  if (!rows.weight) return;
  for (std::int64_t i = 0; i < rows.n_rows; ++i) {
    gradient[i] *= rows.weight[i];
    hessian[i] *= rows.weight[i];
  }
}

}  // namespace

LossAt::LossAt(std::string_view of_loss, const losses::Scored& at, const std::uint8_t* of_labels)
    : loss(of_loss), rows(at), labels(of_labels), has_hessian(at.weight != nullptr) {
  if (at.n_scores != 1) throw std::invalid_argument("only losses of one score are supported");
  if (!losses::AllLosses::with_name(
          loss, [&]<losses::Loss L>(L) { has_hessian |= L::hessian == losses::Hessian::own; }))
    throw std::invalid_argument("unknown loss");
}

void LossAt::write(std::int64_t begin, std::int64_t n, double* gradient, double* hessian) const {
  losses::Scored part = rows;
  part.n_rows = n;
  part.scores += begin;
  if (part.weight) part.weight += begin;
  if (!labels) {
    part.y += begin;
    return write_rows(loss, part, gradient, hessian);
  }
  double y[near_rows];
  part.y = y;
  for (std::int64_t at = 0; at < n; at += part.n_rows) {
    part.n_rows = std::min(near_rows, n - at);
    std::copy_n(labels + begin + at, part.n_rows, y);
    write_rows(loss, part, gradient + at, hessian + at);
    part.scores += part.n_rows;
    if (part.weight) part.weight += part.n_rows;
  }
}

void LossAt::write(const Row* some, std::int64_t n, double* gradient, double* hessian) const {
  double y[near_rows], scores[near_rows], weight[near_rows];
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = labels ? static_cast<double>(labels[some[i]]) : rows.y[some[i]];
    scores[i] = rows.scores[some[i]];
    if (rows.weight) weight[i] = rows.weight[some[i]];
  }
  losses::Scored part = rows;
  part.n_rows = n;
  part.y = y;
  part.scores = scores;
  part.weight = rows.weight ? weight : nullptr;
  write_rows(loss, part, gradient, hessian);
}

}  // namespace weald::target
