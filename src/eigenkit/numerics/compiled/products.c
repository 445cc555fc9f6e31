/* The loops in which fits spend their time: products of sparse rows, products of dense rows with few
 * columns, and the numbers of a text file.
 * There is no Python API in here: ctypes loads the library.
 *
 * Part one: rows of Y = A V for a CSR matrix A and a dense row-major V.
 *
 * The columns of V are taken in panels of whole vectors, whose number is known to the compiler, so
 * that the sums of a row stay in registers while its non-zeros go by, and the rows of V that come
 * next are fetched ahead. The last vector ends with the last column, wherever it begins: columns that
 * it shares with the one before are summed twice, which is faster than to sum the rest of them alone.
 * Every entry of Y is one sum in the order in which A stores the row, whatever the panel, the thread
 * or the rows asked for.
 *
 * Four functions (float and double, 32 and 64 bit indices), each compiled for every processor
 * and, on x86, once more for AVX2 with FMA; the processor decides which one is used. GCC and Clang
 * know vectors.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define UNROLLED _Pragma("GCC unroll 32")
#define FETCH(address) __builtin_prefetch(address)
#define EXPORT __attribute__((visibility("default")))

/* What this was compiled from: a library left behind by an update of the text is known by it. */
#ifdef COMPILED_FROM
EXPORT uint32_t compiled_from(void) { return COMPILED_FROM; }
#endif

/* How many non-zeros ahead a row of V is asked for, and how much arrives at once. */
#define AHEAD 12
#define LINE 64

/* Bytes of a vector, and how many of them have sums in registers at once. */
#define VECTOR 32
#define MOST 8

typedef float vector_float __attribute__((vector_size(VECTOR), aligned(4), may_alias));
typedef double vector_double __attribute__((vector_size(VECTOR), aligned(8), may_alias));

#define ARGUMENTS(REAL, INDEX)                                                                  \
    INDEX first, INDEX last, const INDEX *indptr, const INDEX *column, const REAL *value,       \
        const REAL *V, int64_t k, REAL *Y

/* P vectors of the rows from `first` up to `last`, the last of them `back` columns early; Y begins
 * with row `first`. */
#define VECTORS(NAME, TARGET, REAL, INDEX, P)                                                     \
    TARGET static void NAME##_panel_##P(ARGUMENTS(REAL, INDEX), int64_t back) {                 \
        const INDEX end = indptr[last];                                                         \
        const int64_t tail = (P - 1) * (int64_t)(VECTOR / sizeof(REAL)) - back;                 \
        for (INDEX i = first; i < last; i++) {                                                  \
            vector_##REAL sum[P] = {{0}};                                                       \
            for (INDEX j = indptr[i]; j < indptr[i + 1]; j++) {                                 \
                const REAL a = value[j], *v = V + (int64_t)column[j] * k;                       \
                const REAL *next = V + (int64_t)column[j + AHEAD < end ? j + AHEAD : j] * k;    \
                for (unsigned b = 0; b < P * VECTOR; b += LINE) FETCH((const char *)next + b);  \
                const vector_##REAL *whole = (const vector_##REAL *)v;                          \
                UNROLLED for (int p = 0; p < P - 1; p++) sum[p] += a * whole[p];                \
                sum[P - 1] += a * *(const vector_##REAL *)(v + tail);                           \
            }                                                                                   \
            REAL *y = Y + (int64_t)(i - first) * k;                                             \
            UNROLLED for (int p = 0; p < P - 1; p++) ((vector_##REAL *)y)[p] = sum[p];          \
            *(vector_##REAL *)(y + tail) = sum[P - 1];                                          \
        }                                                                                       \
    }

/* WIDTH columns, less than a vector. */
#define NARROW(NAME, TARGET, REAL, INDEX, WIDTH)                                                \
    TARGET static void NAME##_narrow_##WIDTH(ARGUMENTS(REAL, INDEX)) {                          \
        for (INDEX i = first; i < last; i++) {                                                  \
            REAL sum[WIDTH] = {0};                                                              \
            for (INDEX j = indptr[i]; j < indptr[i + 1]; j++) {                                 \
                const REAL a = value[j], *v = V + (int64_t)column[j] * k;                       \
                UNROLLED for (int c = 0; c < WIDTH; c++) sum[c] += a * v[c];                    \
            }                                                                                   \
            memcpy(Y + (int64_t)(i - first) * k, sum, sizeof sum);                              \
        }                                                                                       \
    }

#define PANEL_CASE(NAME, P)                                                                     \
    case P:                                                                                     \
        NAME##_panel_##P(first, last, indptr, column, value, V + c, k, Y + c, back);            \
        break;
#define NARROW_CASE(NAME, WIDTH)                                                                \
    case WIDTH:                                                                                 \
        NAME##_narrow_##WIDTH(first, last, indptr, column, value, V, k, Y);                     \
        return;

#define EACH_PANEL(DO, ...)                                                                     \
    DO(__VA_ARGS__, 1)                                                                          \
    DO(__VA_ARGS__, 2)                                                                          \
    DO(__VA_ARGS__, 3)                                                                          \
    DO(__VA_ARGS__, 4)                                                                          \
    DO(__VA_ARGS__, 5)                                                                          \
    DO(__VA_ARGS__, 6)                                                                          \
    DO(__VA_ARGS__, 7)                                                                          \
    DO(__VA_ARGS__, 8)
#define EACH_NARROW(DO, ...)                                                                    \
    DO(__VA_ARGS__, 1)                                                                          \
    DO(__VA_ARGS__, 2)                                                                          \
    DO(__VA_ARGS__, 3)                                                                          \
    DO(__VA_ARGS__, 4)                                                                          \
    DO(__VA_ARGS__, 5)                                                                          \
    DO(__VA_ARGS__, 6)                                                                          \
    DO(__VA_ARGS__, 7)

/* All k columns, in as few panels as there can be, all about as wide. */
#define PRODUCT(NAME, TARGET, REAL, INDEX)                                                      \
    EACH_PANEL(VECTORS, NAME, TARGET, REAL, INDEX)                                                \
    EACH_NARROW(NARROW, NAME, TARGET, REAL, INDEX)                                              \
    static void NAME(ARGUMENTS(REAL, INDEX)) {                                                  \
        const int64_t lanes = VECTOR / sizeof(REAL), vectors = (k + lanes - 1) / lanes;         \
        if (k < lanes) switch (k) {                                                             \
                EACH_NARROW(NARROW_CASE, NAME)                                                  \
            }                                                                                   \
        int64_t panels = (vectors + MOST - 1) / MOST, done = 0;                                 \
        for (; panels > 0; panels--) {                                                          \
            const int64_t P = (vectors - done + panels - 1) / panels, c = done * lanes;         \
            const int64_t back = panels == 1 ? vectors * lanes - k : 0;                         \
            switch (P) { EACH_PANEL(PANEL_CASE, NAME) }                                         \
            done += P;                                                                          \
        }                                                                                       \
    }

#if defined(__x86_64__)
#define FAST(NAME, REAL, INDEX)                                                                 \
    PRODUCT(NAME##_avx2, __attribute__((target("avx2,fma"))), REAL, INDEX)
#define CHOOSE(NAME)                                                                            \
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {                      \
        NAME##_avx2(first, last, indptr, column, value, V, k, Y);                               \
        return;                                                                                 \
    }
#else
#define FAST(NAME, REAL, INDEX)
#define CHOOSE(NAME)
#endif

#define EXPORTED(NAME, REAL, INDEX)                                                             \
    PRODUCT(NAME##_plain, , REAL, INDEX)                                                        \
    FAST(NAME, REAL, INDEX)                                                                     \
    EXPORT void NAME(ARGUMENTS(REAL, INDEX)) {                                                  \
        CHOOSE(NAME)                                                                            \
        NAME##_plain(first, last, indptr, column, value, V, k, Y);                              \
    }

EXPORTED(csr_product_float64_int32, double, int32_t)
EXPORTED(csr_product_float64_int64, double, int64_t)
EXPORTED(csr_product_float32_int32, float, int32_t)
EXPORTED(csr_product_float32_int64, float, int64_t)

/* Between the two: Z = diag(r) (A V - 1 offset') for sparse rows A, S += A'diag(r) Z, the column sums
 * of diag(r) Z and the products Z'Z, while a row is at hand: nothing with one entry per row is
 * written. r may be NULL. k = 4 P columns in registers, P at most 4. Sums are in the order of rows.
 */
#if defined(__x86_64__)
typedef double four __attribute__((vector_size(32), aligned(8)));

#define SPARSE_GRADIENT_ARGUMENTS(INDEX)                                                        \
    int64_t n, const INDEX *indptr, const INDEX *column, const double *value, const double *V,  \
        const double *offset, const double *r, double *S, double *drift, double *square

#define SPARSE_GRADIENT_OF(INDEX, P)                                                            \
    __attribute__((target("avx2,fma"))) static void sparse_gradient_##INDEX##_##P(              \
        SPARSE_GRADIENT_ARGUMENTS(INDEX)) {                                                     \
        const INDEX end = indptr[n];                                                            \
        four *sums = (four *)drift, *squares = (four *)square;                                  \
        for (int64_t i = 0; i < n; i++) {                                                       \
            four z[P] = {{0}}, u[P];                                                            \
            for (INDEX j = indptr[i]; j < indptr[i + 1]; j++) {                                 \
                const double a = value[j];                                                      \
                const four *v = (const four *)V + (int64_t)column[j] * P;                       \
                const int64_t next = (int64_t)column[j + AHEAD < end ? j + AHEAD : j] * 4 * P;  \
                for (int b = 0; b < 4 * P; b += LINE / 8) {                                     \
                    FETCH(V + next + b);                                                        \
                    FETCH(S + next + b);                                                        \
                }                                                                               \
                UNROLLED for (int p = 0; p < P; p++) z[p] += a * v[p];                          \
            }                                                                                   \
            const double root = r ? r[i] : 1.0;                                                 \
            UNROLLED for (int p = 0; p < P; p++) {                                              \
                z[p] = (z[p] - ((const four *)offset)[p]) * root;                               \
                u[p] = z[p] * root;                                                             \
                sums[p] += u[p];                                                                \
            }                                                                                   \
            UNROLLED for (int c = 0; c < 4 * P; c++) {                                          \
                UNROLLED for (int p = 0; p < P; p++) squares[c * P + p] += z[c / 4][c % 4] * z[p]; \
            }                                                                                   \
            for (INDEX j = indptr[i]; j < indptr[i + 1]; j++) {                                 \
                const double a = value[j];                                                      \
                four *s = (four *)S + (int64_t)column[j] * P;                                   \
                UNROLLED for (int p = 0; p < P; p++) s[p] += a * u[p];                          \
            }                                                                                   \
        }                                                                                       \
    }
#define SPARSE_GRADIENT(INDEX)                                                                  \
    SPARSE_GRADIENT_OF(INDEX, 1)                                                                \
    SPARSE_GRADIENT_OF(INDEX, 2)                                                                \
    SPARSE_GRADIENT_OF(INDEX, 3)                                                                \
    SPARSE_GRADIENT_OF(INDEX, 4)                                                                \
    EXPORT void sparse_gradient_##INDEX(int64_t k, SPARSE_GRADIENT_ARGUMENTS(INDEX)) {          \
        (k == 4    ? sparse_gradient_##INDEX##_1                                                \
         : k == 8  ? sparse_gradient_##INDEX##_2                                                \
         : k == 12 ? sparse_gradient_##INDEX##_3                                                \
                   : sparse_gradient_##INDEX##_4)(n, indptr, column, value, V, offset, r, S,    \
                                                  drift, square);                               \
    }

SPARSE_GRADIENT(int32_t)
SPARSE_GRADIENT(int64_t)
#endif

/* Part two: Z = X V - 1 offset' and S += X'(Z - H) for dense rows X and a few columns.
 *
 * BLAS copies X into panels for such products, which takes as long as the sums. Here a tile of
 * 4 x 12 sums stays in registers, and a block of rows is used for both products while it is in
 * the cache. k is a multiple of 4 and at most WIDEST. Without V, Z is taken as 0 and S gets X'H.
 * Only for AVX2 with FMA: dense_rows_usable() says whether that is there.
 */
#if defined(__x86_64__)
#define FMA __attribute__((target("avx2,fma")))
#define BLOCK 16
#define WIDEST 64


/* Tiles of R x 4P sums over m terms: out[r, :] (+)= sum_i x[r, i] v[i, :]. The sums go along the rows
 * of X (forward, for X V), or along its columns (backward, for X'U). */
#define TILE(NAME, P, R, ACROSS, ALONG, ADD)                                                    \
    FMA static void NAME##_##P##_##R(int64_t m, const double *X, int64_t stride,                \
                                     const double *V, int64_t k, double *out) {                 \
        four sum[R][P] = {{{0}}};                                                               \
        for (int64_t i = 0; i < m; i++) {                                                       \
            const four *v = (const four *)(V + i * k);                                          \
            UNROLLED for (int r = 0; r < R; r++) {                                              \
                const double x = X[r * ACROSS + i * ALONG];                                     \
                UNROLLED for (int p = 0; p < P; p++) sum[r][p] += x * v[p];                     \
            }                                                                                   \
        }                                                                                       \
        UNROLLED for (int r = 0; r < R; r++) {                                                  \
            four *to = (four *)(out + r * k);                                                   \
            UNROLLED for (int p = 0; p < P; p++) to[p] = ADD ? to[p] + sum[r][p] : sum[r][p];   \
        }                                                                                       \
    }

/* All n x k sums, tile by tile. */
#define TILES(NAME, ACROSS, ALONG, ADD)                                                         \
    TILE(NAME, 3, 4, ACROSS, ALONG, ADD)                                                        \
    TILE(NAME, 2, 4, ACROSS, ALONG, ADD)                                                        \
    TILE(NAME, 1, 4, ACROSS, ALONG, ADD)                                                        \
    TILE(NAME, 3, 1, ACROSS, ALONG, ADD)                                                        \
    TILE(NAME, 2, 1, ACROSS, ALONG, ADD)                                                        \
    TILE(NAME, 1, 1, ACROSS, ALONG, ADD)                                                        \
    static void NAME(int64_t n, int64_t m, const double *X, int64_t stride, const double *V,    \
                     int64_t k, double *out) {                                                  \
        for (int64_t i = 0, rows; i < n; i += rows) {                                           \
            rows = n - i >= 4 ? 4 : 1;                                                          \
            for (int64_t c = 0, width; c < k; c += 4 * width) {                                 \
                const int64_t left = (k - c) / 4;                                               \
                width = left >= 3 && left != 4 ? 3 : left >= 2 ? 2 : 1;                         \
                (rows == 4 ? width == 3 ? NAME##_3_4 : width == 2 ? NAME##_2_4 : NAME##_1_4     \
                           : width == 3 ? NAME##_3_1 : width == 2 ? NAME##_2_1 : NAME##_1_1)(   \
                    m, X + i * ACROSS, stride, V + c, k, out + i * k + c);                      \
            }                                                                                   \
        }                                                                                       \
    }

TILES(forward, stride, 1, 0)
TILES(backward, 1, stride, 1)

EXPORT int dense_rows_usable(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* X has n rows of d numbers, `stride` apart. S may be NULL, and V, with offset and Z; H too. */
EXPORT void dense_gradient(int64_t n, int64_t d, const double *X, int64_t stride, int64_t k,
                           const double *V, const double *offset, const double *H, double *Z,
                           double *S) {
    double gap[BLOCK * WIDEST];
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t rows = n - i < BLOCK ? n - i : BLOCK;
        const double *x = X + i * stride, *h = H ? H + i * k : H;
        if (V) {
            double *z = Z + i * k;
            forward(rows, d, x, stride, V, k, z);
            for (int64_t r = 0; r < rows; r++)
                for (int64_t c = r * k; c < r * k + k; c++) {
                    z[c] -= offset[c - r * k];
                    gap[c] = h ? z[c] - h[c] : z[c];
                }
        }
        if (S) backward(d, rows, x, stride, V ? gap : h, k, S);
    }
}

/* Sums and sums of squares of four rows, added to what is there. */
FMA static void sums_of_four(int64_t d, const double *X, int64_t stride, double *restrict sum,
                             double *restrict square) {
    for (int64_t j = 0; j < d; j++) {
        const double a = X[j], b = X[j + stride], c = X[j + 2 * stride], e = X[j + 3 * stride];
        sum[j] += (a + b) + (c + e);
        square[j] += (a * a + b * b) + (c * c + e * e);
    }
}

/* Of n rows, SOME at a time: sums of sums round less than one long sum. */
#define SOME 256
#define PANEL 512

EXPORT void dense_sums(int64_t n, int64_t d, const double *X, int64_t stride, double *sum,
                       double *square) {
    for (int64_t i = 0; i < n; i += SOME)
        for (int64_t c = 0; c < d; c += PANEL) {
            const int64_t rows = n - i < SOME ? n - i : SOME, width = d - c < PANEL ? d - c : PANEL;
            const double *x = X + i * stride + c;
            double part[PANEL] = {0}, part_square[PANEL] = {0};
            int64_t r = 0;
            for (; r + 4 <= rows; r += 4)
                sums_of_four(width, x + r * stride, stride, part, part_square);
            for (; r < rows; r++)
                for (int64_t j = 0; j < width; j++) {
                    const double value = x[r * stride + j];
                    part[j] += value;
                    part_square[j] += value * value;
                }
            for (int64_t j = 0; j < width; j++) {
                sum[c + j] += part[j];
                square[c + j] += part_square[j];
            }
        }
}
#endif

/* Part three: the cells of a table, numbers and text, out of its text.
 *
 * A number is m * 10^e with m of at most 19 digits. m and 10^|e| are held as sums of two doubles, the
 * quotient or product likewise, with an error below 2^-100 of it; where such an error could change
 * the rounding, and for whatever is no plain number, the caller is told to read it in another way.
 */
#define MOST_DIGITS 19
#define WIDEST_EXPONENT 250

/* high + low rounded, if the error of low cannot matter; else 0. */
static inline int rounded(double high, double low, double *out) {
    const double up = high + low * (1 + 0x1p-40), down = high + low * (1 - 0x1p-40);
    *out = up;
    return up == down;
}

/* `power` holds the high part, the low part and the inverse of 10^0, 10^1, ...; returns whether the
 * number is exact. */
static inline int number(uint64_t m, int e, const double *power, double *out) {
    const double high = (double)m;
    if (e == 0 || (m < (1ull << 53) && e >= -22 && e <= 22)) {
        *out = e < 0 ? high / power[-3 * e] : high * power[3 * e];
        return 1;
    }
    if (e < -WIDEST_EXPONENT || e > WIDEST_EXPONENT) return 0;
    /* high may be 2^64, which is no uint64_t: the difference is taken in halves. */
    const double top = (double)(m >> 32) * 0x1p32, rest = (double)(m & 0xffffffffu);
    const double low = (top - high) + rest;
    const double *p = power + 3 * (e < 0 ? -e : e);
    if (e < 0) {
        const double q = high / p[0];
        return rounded(q, (fma(-q, p[0], high) + (low - q * p[1])) * p[2], out);
    }
    const double q = high * p[0];
    return rounded(q, fma(high, p[0], -q) + (high * p[1] + low * p[0]), out);
}

/* Digits from `at` on, appended to *m; returns where they end. More than 19 of them overflow *m: the
 * caller counts. Eight at a time where the first of eight bytes is the lowest. */
static inline const char *digits(const char *at, const char *end, uint64_t *m) {
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    static const uint64_t shift[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    for (int some = 8; some == 8 && end - at >= 8; at += some) {
        uint64_t eight;
        memcpy(&eight, at, 8);
        /* Of what is left of a digit the upper half is 0, also after 6 is added. */
        eight ^= 0x3030303030303030u;
        const uint64_t strange = (eight | (eight + 0x0606060606060606u)) & 0xf0f0f0f0f0f0f0f0u;
        if (strange) { /* the digits before it, with zeros before them */
            some = __builtin_ctzll(strange) >> 3;
            eight = eight << 8 << 8 * (7 - some);
        }
        eight = (eight * 10 + (eight >> 8)) & 0x00ff00ff00ff00ffu;
        eight = (eight * 100 + (eight >> 16)) & 0x0000ffff0000ffffu;
        *m = *m * shift[some] + (uint32_t)(eight * 10000 + (eight >> 32));
        if (some < 8) return at + some;
    }
#endif
    for (; at < end && (unsigned)(*at - '0') < 10; at++) *m = *m * 10 + (*at - '0');
    return at;
}

/* A number without frills, with `stop` behind it: where it ends, or NULL for anything else. What is
 * as likely as not, a sign or a digit more, is no branch. */
static inline const char *plain_number(const char *at, const char *end, char decimal, char stop,
                                       const double *power, double *out) {
    if (end - at < 4) return NULL;
    const int64_t negative = *at == '-';
    const char *first = at += negative;
    uint64_t m = 0;
    if (at[1] == decimal && (unsigned)(*at - '0') < 10)
        m = *at++ - '0';
    else
        at = digits(at, end, &m);
    int64_t count = at - first, places = 0;
    if (at < end && *at == decimal) {
        first = ++at;
        at = digits(at, end, &m);
        places = at - first;
        count += places;
    }
    if (!count || count > MOST_DIGITS || m >> 62 || at == end || *at != stop) return NULL;
    const double high = (double)(int64_t)m, low = (double)((int64_t)m - (int64_t)high);
    const double *p = power + 3 * places, q = high / p[0];
    if (!rounded(q, (fma(-q, p[0], high) + (low - q * p[1])) * p[2], out)) return NULL;
    const double signs[] = {1, -1};
    *out *= signs[negative];
    return at;
}

/* Whether a cell of a few characters is one of the words for a missing value, in any case. */
static int missing(const char *cell, int64_t length) {
    static const char *const words[] = {"na", "n/a", "nan", "null", "none", "?"};
    for (int w = 0; w < 6; w++) {
        int64_t k = 0;
        while (k < length && words[w][k]) {
            const char c = cell[k];
            if (('A' <= c && c <= 'Z' ? c + 32 : c) != words[w][k]) break;
            k++;
        }
        if (k == length && !words[w][k]) return 1;
    }
    return 0;
}

/* Where a cell of text ends; `*quoted` says whether it stands between quotes. Quotes that stand
 * elsewhere, or around the end of a line, are for the caller: NULL. */
static const char *end_of_text(const char *at, const char *end, char mark, int *quoted) {
    *quoted = at < end && *at == '"';
    if (!*quoted) {
        while (at < end && *at != mark && *at != '\n' && *at != '"') at++;
        return at < end && *at == '"' ? NULL : at;
    }
    at++;
    while (at < end && *at != '"' && *at != '\n') at++;
    if (at == end || *at == '\n') return NULL;
    return at + 1 == end || at[1] == mark || at[1] == '\n' ? at : NULL;
}

/* How many lines begin in text[begin:end], `most` at most; `*place` is where the last one ends. */
EXPORT int64_t after_lines(const char *text, int64_t begin, int64_t end, int64_t most,
                           int64_t *place) {
    const char *at = text + begin, *const stop = text + end;
    int64_t count = 0;
    for (; count < most && at < stop; count++) {
        const char *last = memchr(at, '\n', stop - at);
        at = last ? last + 1 : stop;
    }
    *place = at - text;
    return count;
}

/* Rows of `columns` cells with `mark` between them. Of a column that is a number (`kind` 1) the
 * numbers go into `out`, NaN where a cell is empty or says that it is missing; of one that is text
 * (`kind` 0) NaN, and the places where cells begin and end into `cells`, two a text column; of any
 * other NaN. Empty lines are left out. Returns the number of rows, or -1 where anything else is
 * met. */
EXPORT int64_t read_cells(const char *text, int64_t length, char mark, char decimal, int64_t columns,
                          const char *kind, int64_t most_rows, const double *power, double *out,
                          int64_t *cells) {
    const char *at = text, *const end = text + length;
    int64_t row = 0;
    while (at < end) {
        if (*at == '\n') {
            at++;
            continue;
        }
        if (row == most_rows) return -1;
        for (int64_t j = 0; j < columns; j++) {
            if (kind[j] != 1) {
                int quoted;
                const char *last = end_of_text(at, end, mark, &quoted);
                if (!last) return -1;
                if (kind[j] == 0) {
                    *cells++ = at + quoted - text;
                    *cells++ = last - text;
                }
                out[row * columns + j] = NAN;
                at = last + quoted;
                if (j + 1 < columns ? at == end || *at != mark : at < end && *at != '\n') return -1;
                at++;
                continue;
            }
            const char *plain = plain_number(at, end, decimal, j + 1 < columns ? mark : '\n', power,
                                             out + row * columns + j);
            if (plain) {
                at = plain + 1;
                continue;
            }
            const int quoted = at < end && *at == '"';
            at += quoted;
            while (at < end && *at == ' ') at++;
            const int negative = at < end && *at == '-', sign = negative || (at < end && *at == '+');
            at += sign;
            uint64_t m = 0;
            int digits = 0, leading = 0, point = 0, places = 0, e = 0;
            for (; at < end; at++) {
                const unsigned digit = (unsigned char)*at - '0';
                if (digit < 10) {
                    leading |= digit;
                    digits += leading != 0;
                    places += point;
                    m = m * 10 + digit;
                    e = 1;
                } else if (*at == decimal && !point) {
                    point = 1;
                } else {
                    break;
                }
            }
            const int some = e;
            e = 0;
            if (digits > MOST_DIGITS) return -1;
            if (some && at < end && (*at == 'e' || *at == 'E')) {
                at++;
                const int minus = at < end && *at == '-';
                at += minus || (at < end && *at == '+');
                const char *first = at;
                for (; at < end && (unsigned)(*at - '0') < 10 && at - first < 5; at++)
                    e = e * 10 + (*at - '0');
                if (at == first) return -1;
                if (minus) e = -e;
            } else if (!some && !sign && !point) {
                const char *first = at;
                while (at < end && *at != mark && *at != '\n' && *at != ' ' && *at != '"') at++;
                if (at != first && !missing(first, at - first)) return -1;
            }
            while (at < end && *at == ' ') at++;
            if (quoted && (at == end || *at++ != '"')) return -1;
            if (j + 1 < columns ? at == end || *at != mark : at < end && *at != '\n') return -1;
            double value = NAN;
            if (some) {
                value = 0;
                if (m && !number(m, e - places, power, &value)) return -1;
                if (negative) value = -value;
            } else if (sign || point) {
                return -1;
            }
            out[row * columns + j] = value;
            at++;
        }
        row++;
    }
    return row;
}
