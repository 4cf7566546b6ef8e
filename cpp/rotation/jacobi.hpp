// Eigenvectors of small symmetric matrices, by rotations that clear one entry after another.
#pragma once

namespace weald::rotation {

// Principal axes of a covariance [n][n], which is overwritten: axes[i][c] is the entry of component
// c at column i. Components come by falling variance, those of equal variance in the order of the
// columns they grew from, and the entry of each that is largest in size is positive.
//
// Only + - * / and square roots, in a fixed order: the same bits on every machine. A matrix of
// zeros, as of a single row, leaves the axes where they are.
void principal_axes(double* covariance, int n, double* axes);

}  // namespace weald::rotation
