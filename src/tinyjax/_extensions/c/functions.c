/* Functions that programs in C may need. Of each a program has a copy for the dtypes that it is used
   with: $T is the type, $S its suffix, $U the unsigned type of the same size, $W one of at least 32
   bits, $B the number of bits, $L and $H the least and the greatest number, and $f the end of names
   in math.h. The line above a function says for which dtypes it is. */

/* integers */
static inline $T add_$S($T x, $T y) { return ($T)(($W)x + ($W)y); }

/* integers */
static inline $T sub_$S($T x, $T y) { return ($T)(($W)x - ($W)y); }

/* integers */
static inline $T mul_$S($T x, $T y) { return ($T)(($W)x * ($W)y); }

/* signed */
static inline $T div_$S($T x, $T y) {
    return y == 0 ? -1 : x == $L && y == -1 ? x : ($T)(x / y);
}

/* unsigned */
static inline $T div_$S($T x, $T y) { return y == 0 ? $H : ($T)(x / y); }

/* signed */
static inline $T rem_$S($T x, $T y) { return y == 0 ? x : y == -1 ? 0 : ($T)(x % y); }

/* unsigned */
static inline $T rem_$S($T x, $T y) { return y == 0 ? x : ($T)(x % y); }

/* integers */
static inline $T max_$S($T x, $T y) { return x > y ? x : y; }

/* integers */
static inline $T min_$S($T x, $T y) { return x < y ? x : y; }

/* signed */
static inline $T sign_$S($T x) { return ($T)((x > 0) - (x < 0)); }

/* unsigned */
static inline $T sign_$S($T x) { return x > 0; }

/* signed */
static inline $T abs_$S($T x) { return x < 0 ? ($T)(0 - ($W)x) : x; }

/* unsigned */
static inline $T abs_$S($T x) { return x; }

/* integers */
static inline $T shift_left_$S($T x, $T y) { return ($U)y < $B ? ($T)(($W)x << ($U)y) : 0; }

/* integers */
static inline $T shift_right_$S($T x, $T y) { return ($U)y < $B ? ($T)(($U)x >> ($U)y) : 0; }

/* integers */
static inline $T shift_arithmetic_$S($T x, $T y) {
    return ($T)((int${B}_t)x >> (($U)y < $B ? y : $B - 1));
}

/* integers */
static inline $T population_count_$S($T x) {
    $T n = 0;
    for ($U y = ($U)x; y; y &= y - 1) ++n;
    return n;
}

/* signed */
static inline $T power_$S($T x, $T n) {
    $W y = 1, z = ($W)x;
    if (n < 0) return x == 1 || (x == -1 && n % 2 == 0) ? 1 : x == -1 ? x : 0;
    for (; n > 0; n = ($T)(n / 2), z *= z)
        if (n % 2) y *= z;
    return ($T)y;
}

/* unsigned */
static inline $T power_$S($T x, $T n) {
    $W y = 1, z = x;
    for (; n > 0; n = ($T)(n / 2), z *= z)
        if (n % 2) y *= z;
    return ($T)y;
}

/* signed */
static inline $T saturated_$S(double x) {
    return x != x ? 0 : x <= (double)$L ? $L : x >= (double)$H ? $H : ($T)x;
}

/* unsigned */
static inline $T saturated_$S(double x) {
    return x != x || x <= 0 ? 0 : x >= (double)$H ? $H : ($T)x;
}

/* signed */
static inline $T wrapped_$S($T i, int n) { return i < 0 ? ($T)(i + n) : i; }

/* signed */
static inline int clamped_$S($T i, int last) { return i < 0 ? 0 : i > (int64_t)last ? last : (int)i; }

/* unsigned */
static inline int clamped_$S($T i, int last) { return i > ($W)last ? last : (int)i; }

/* u64 */
static inline uint64_t threefry_u64(uint32_t k1, uint32_t k2, uint32_t x1, uint32_t x2) {
    /* Salmon, Moraes, Dror, Shaw 2011: Threefry-2x32 with 20 rounds, the first word above */
    static const int turns[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    const uint32_t keys[3] = {k1, k2, k1 ^ k2 ^ 0x1BD11BDAU};
    x1 += k1;
    x2 += k2;
    for (uint32_t group = 0; group < 5; ++group) {
        for (uint32_t round = 0; round < 4; ++round) {
            const int by = turns[4 * (group % 2) + round];
            x1 += x2;
            x2 = (x2 << by | x2 >> (32 - by)) ^ x1;
        }
        x1 += keys[(group + 1) % 3];
        x2 += keys[(group + 2) % 3] + group + 1;
    }
    return (uint64_t)x1 << 32 | x2;
}

/* u32 */
static inline uint32_t folded_u32(uint64_t x) { return (uint32_t)(x >> 32) ^ (uint32_t)x; }

/* floats */
static inline $T max_$S($T x, $T y) { return x > y || x != x ? x : y; }

/* floats */
static inline $T min_$S($T x, $T y) { return x < y || x != x ? x : y; }

/* floats */
static inline $T sign_$S($T x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

/* floats */
static inline $T rsqrt_$S($T x) { return 1 / sqrt$f(x); }

/* floats */
static inline $T logistic_$S($T x) { return 1 / (1 + exp$f(-x)); }

/* floats */
static inline $T logistic_slope_$S($T x) {
    const $T y = cosh$f(x / 2);
    return ($T)0.25 / (y * y);
}

/* floats */
static inline $T sech_squared_$S($T x) {
    const $T y = cosh$f(x);
    return 1 / (y * y);
}

/* floats */
static inline $T logaddexp_$S($T x, $T y) {
    const $T d = x - y;
    if (x == y) return x + ($T)0x1.62e42fefa39efp-1;
    return d > 0 ? x + log1p$f(exp$f(-d)) : d <= 0 ? y + log1p$f(exp$f(d)) : d;
}

/* floats */
static inline int${B}_t ordinal_$S($T x) {
    /* integers in the total order of floats */
    int${B}_t y;
    memcpy(&y, &x, sizeof y);
    return y < 0 ? y ^ INT${B}_MAX : y;
}

/* floats */
static inline int${B}_t lone_$S($T x) {
    /* the same with one NaN, which is the last */
    return x != x ? INT${B}_MAX : ordinal_$S(x);
}

/* floats */
static inline int${B}_t sortable_$S($T x) {
    /* the same with one zero, too */
    return x == 0 ? 0 : lone_$S(x);
}

/* floats */
static inline void product_$S(
    const int64_t *numbers, const $T *x, const $T *y, $T *out, int rows, int columns, int terms,
    bool x_by_columns, bool y_by_columns
) {
    /* by BLAS, whose matrices lie in columns: the transpose of the product */
    void (*const gemm)(
        const char *, const char *, const int64_t *, const int64_t *, const int64_t *, const $T *,
        const $T *, const int64_t *, const $T *, const int64_t *, const $T *, $T *, const int64_t *
    ) = (void *)(intptr_t)numbers[sizeof($T) == 4];
    /* in parts that BLAS does not divide among threads, which would wait for each other */
    const int64_t most = 262144, across = (int64_t)rows * columns, along = (int64_t)columns * terms;
    const int64_t m = columns, lead_x = x_by_columns ? rows : terms, lead_y = y_by_columns ? terms : m;
    const int64_t by_terms = across * 32 <= most ? most / across : terms;
    const int64_t by_rows = across * 32 > most && along * 32 <= most ? most / along : rows;
    const $T one = 1;
    for (int64_t r = 0; r < rows; r += by_rows)
        for (int64_t t = 0; t < terms; t += by_terms) {
            const int64_t n = rows - r < by_rows ? rows - r : by_rows;
            const int64_t k = terms - t < by_terms ? terms - t : by_terms;
            const $T sum = t > 0;
            gemm(y_by_columns ? "T" : "N", x_by_columns ? "T" : "N", &m, &n, &k, &one,
                 y + (y_by_columns ? t : t * m), &lead_y, x + (x_by_columns ? t * rows + r : r * terms + t),
                 &lead_x, &sum, out + r * m, &m);
        }
}

/* floats */
static inline void potrf_$S(const int64_t *numbers, $T *a, int size) {
    /* the same as "cholesky" by LAPACK, for whose matrices the lower triangle is the upper one */
    void (*const potrf)(const char *, const int64_t *, $T *, const int64_t *, int64_t *) =
        (void *)(intptr_t)numbers[2 + (sizeof($T) == 4)];
    int64_t n = size, failed = 0;
    potrf("U", &n, a, &n, &failed);
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j)
            if (j > i) a[n * i + j] = 0;
            else if (failed) a[n * i + j] = ($T)NAN;
}

/* floats */
static inline void trsm_$S(
    const int64_t *numbers, const $T *a, $T *b, int rows, int columns, bool left, bool lower,
    bool transposed, bool unit
) {
    /* triangular systems by BLAS, for whose matrices left is right, and lower upper */
    void (*const trsm)(
        const char *, const char *, const char *, const char *, const int64_t *, const int64_t *,
        const $T *, const $T *, const int64_t *, $T *, const int64_t *
    ) = (void *)(intptr_t)numbers[4 + (sizeof($T) == 4)];
    const int64_t m = columns, n = rows;
    const $T one = 1;
    trsm(left ? "R" : "L", lower ? "U" : "L", transposed ? "T" : "N", unit ? "U" : "N", &m, &n,
         &one, a, left ? &n : &m, b, &m);
}

/* floats */
static inline void cholesky_$S($T *a, int n) {
    /* the factor below the diagonal, in place of the matrix; NaN where it has none */
    bool failed = false;
    for (int j = 0; j < n; ++j) {
        $T pivot = a[n * j + j];
        for (int k = 0; k < j; ++k) pivot -= a[n * j + k] * a[n * j + k];
        failed = failed || !(pivot > 0);
        a[n * j + j] = sqrt$f(pivot);
        for (int i = j + 1; i < n; ++i) {
            $T sum = a[n * i + j];
            for (int k = 0; k < j; ++k) sum -= a[n * i + k] * a[n * j + k];
            a[n * i + j] = sum / a[n * j + j];
            a[n * j + i] = 0;
        }
    }
    if (failed)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j <= i; ++j) a[n * i + j] = ($T)NAN;
}

/* floats */
static inline void lu_$S($T *a, int32_t *pivots, int m, int n) {
    /* Gaussian elimination with partial pivoting, in place of the matrix */
    for (int k = 0; k < m && k < n; ++k) {
        int pivot = k;
        for (int i = k + 1; i < m; ++i)
            if (fabs$f(a[n * i + k]) > fabs$f(a[n * pivot + k])) pivot = i;
        pivots[k] = pivot;
        for (int j = 0; j < n && pivot != k; ++j) {
            const $T other = a[n * k + j];
            a[n * k + j] = a[n * pivot + j];
            a[n * pivot + j] = other;
        }
        for (int i = k + 1; i < m && a[n * k + k] != 0; ++i) {
            a[n * i + k] /= a[n * k + k];
            for (int j = k + 1; j < n; ++j) a[n * i + j] -= a[n * i + k] * a[n * k + j];
        }
    }
}

/* floats */
static inline void solve_$S($T *a, int32_t *pivots, $T *b, int n, int m) {
    /* the solutions in place of the right-hand sides; NaN where the matrix is singular */
    bool singular = false;
    lu_$S(a, pivots, n, n);
    for (int k = 0; k < n; ++k) {
        singular = singular || a[n * k + k] == 0;
        for (int j = 0; j < m; ++j) {
            const $T other = b[m * pivots[k] + j];
            b[m * pivots[k] + j] = b[m * k + j];
            b[m * k + j] = other;
        }
    }
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < i; ++k)
            for (int j = 0; j < m; ++j) b[m * i + j] -= a[n * i + k] * b[m * k + j];
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k)
            for (int j = 0; j < m; ++j) b[m * i + j] -= a[n * i + k] * b[m * k + j];
        for (int j = 0; j < m; ++j)
            b[m * i + j] = singular ? ($T)NAN : b[m * i + j] / a[n * i + i];
    }
}

/* floats */
static inline void substitute_$S(
    const $T *a, $T *b, int n, int m, int row, int column, int next, int along, bool lower, bool unit
) {
    /* triangular systems: elements of a matrix and of solutions are so far from each other */
    for (int j = 0; j < m; ++j)
        for (int s = 0; s < n; ++s) {
            const int i = lower ? s : n - 1 - s;
            $T sum = b[next * i + along * j];
            for (int k = lower ? 0 : i + 1; k < (lower ? i : n); ++k)
                sum -= a[row * i + column * k] * b[next * k + along * j];
            b[next * i + along * j] = unit ? sum : sum / a[row * i + column * i];
        }
}

/* floats */
static inline void tridiagonal_$S($T *low, $T *main, $T *up, $T *b, int n, int m) {
    /* elimination with partial pivoting; of "low" the first element, of "up" the last is not read */
    bool singular = false;
    for (int i = 0; i + 1 < n; ++i) {
        $T beyond = 0;
        if (fabs$f(low[i + 1]) > fabs$f(main[i])) {
            const $T pivot = low[i + 1], first = main[i], second = up[i];
            beyond = i + 2 < n ? up[i + 1] : 0;
            main[i] = pivot, up[i] = main[i + 1];
            low[i + 1] = first / pivot;
            main[i + 1] = second - low[i + 1] * up[i];
            if (i + 2 < n) up[i + 1] = -low[i + 1] * beyond;
            for (int j = 0; j < m; ++j) {
                const $T other = b[m * i + j];
                b[m * i + j] = b[m * (i + 1) + j];
                b[m * (i + 1) + j] = other - low[i + 1] * b[m * i + j];
            }
        } else {
            low[i + 1] /= main[i];
            main[i + 1] -= low[i + 1] * up[i];
            for (int j = 0; j < m; ++j) b[m * (i + 1) + j] -= low[i + 1] * b[m * i + j];
        }
        low[i] = beyond;
        singular = singular || main[i] == 0;
    }
    singular = singular || main[n - 1] == 0;
    for (int i = n - 1; i >= 0; --i)
        for (int j = 0; j < m; ++j) {
            $T sum = b[m * i + j];
            if (i + 1 < n) sum -= up[i] * b[m * (i + 1) + j];
            if (i + 2 < n) sum -= low[i] * b[m * (i + 2) + j];
            b[m * i + j] = singular ? ($T)NAN : sum / main[i];
        }
}

/* floats */
static inline void qr_$S($T *a, $T *tau, $T *q, $T *r, int m, int n, int columns) {
    /* Householder's reflections, as LAPACK chooses their signs */
    const int steps = m < n ? m : n;
    for (int k = 0; k < steps; ++k) {
        $T largest = 0, squares = 0;
        for (int i = k + 1; i < m; ++i) {
            const $T size = fabs$f(a[n * i + k]);
            largest = size > largest || size != size ? size : largest;
        }
        tau[k] = 0;
        if (largest == 0) continue;
        largest = fabs$f(a[n * k + k]) > largest ? fabs$f(a[n * k + k]) : largest;
        for (int i = k; i < m; ++i) squares += a[n * i + k] / largest * (a[n * i + k] / largest);
        const $T norm = (a[n * k + k] > 0 ? -largest : largest) * sqrt$f(squares);
        const $T first = a[n * k + k] - norm;
        tau[k] = -first / norm;
        for (int i = k + 1; i < m; ++i) a[n * i + k] /= first;
        a[n * k + k] = norm;
        for (int j = k + 1; j < n; ++j) {
            $T sum = a[n * k + j];
            for (int i = k + 1; i < m; ++i) sum += a[n * i + k] * a[n * i + j];
            a[n * k + j] -= tau[k] * sum;
            for (int i = k + 1; i < m; ++i) a[n * i + j] -= tau[k] * sum * a[n * i + k];
        }
    }
    for (int i = 0; i < columns; ++i)
        for (int j = 0; j < n; ++j) r[n * i + j] = i <= j ? a[n * i + j] : 0;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < columns; ++j) q[columns * i + j] = i == j;
    for (int k = steps - 1; k >= 0; --k)
        for (int j = k; j < columns; ++j) {
            $T sum = q[columns * k + j];
            for (int i = k + 1; i < m; ++i) sum += a[n * i + k] * q[columns * i + j];
            q[columns * k + j] -= tau[k] * sum;
            for (int i = k + 1; i < m; ++i) q[columns * i + j] -= tau[k] * sum * a[n * i + k];
        }
}

/* i32 */
static inline void order_i32(const int32_t *pivots, int32_t *order, int k, int n) {
    for (int i = 0; i < n; ++i) order[i] = i;
    for (int i = 0; i < k; ++i) {
        const int32_t first = order[i];
        order[i] = order[pivots[i]];
        order[pivots[i]] = first;
    }
}
