// Eigenvectors of small symmetric matrices by the cyclic Jacobi method.
#pragma once

namespace weald::rotation {

//
// Principal axes of a covariance matrix [n][n], which is overwritten: axes[i][c] is the loading of
// column i in component c. Components are sorted by descending variance (ties: in the order of
// columns), and the largest loading of each in absolute value is positive.
//
// Uses only + - * / and square roots in a fixed order: the same bits on every machine. A zero
// matrix, as of a single row, gives the identity.
void principal_axes(double* covariance, int n, double* axes);

}  // namespace weald::rotation
