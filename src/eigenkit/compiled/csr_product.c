/* Rows of Y = A V for a CSR matrix A and a dense row-major V: the product in which block
 * methods on sparse data spend their time.
 *
 * The columns of V are taken in panels whose width is known to the compiler, so that the sums of
 * a row stay in registers while its non-zeros go by, and the rows of V that come next are
 * fetched ahead. Every entry of Y is one sum in the order in which A stores the row, whatever
 * the panel, the thread or the rows asked for.
 *
 * Four functions (float and double, 32 and 64 bit indices), each compiled for every processor
 * and, by GCC and Clang on x86, once more for AVX2 with FMA; the processor decides which one is
 * used. There is no Python API in here: ctypes loads the library.
 */
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define UNROLLED _Pragma("GCC unroll 32")
#define FETCH(address) __builtin_prefetch(address)
#define EXPORT __attribute__((visibility("default")))
#else
#define UNROLLED
#define FETCH(address) (void)(address)
#define EXPORT __declspec(dllexport)
#endif

/* How many non-zeros ahead a row of V is asked for, and how much arrives at once. */
#define AHEAD 12
#define LINE 64

#define ARGUMENTS(REAL, INDEX)                                                                  \
    INDEX first, INDEX last, const INDEX *indptr, const INDEX *column, const REAL *value,       \
        const REAL *V, int64_t k, REAL *Y

/* WIDTH columns of the rows from `first` up to `last`; Y begins with row `first`. */
#define PANEL(NAME, TARGET, REAL, INDEX, WIDTH)                                                 \
    TARGET static void NAME##_##WIDTH(ARGUMENTS(REAL, INDEX)) {                                 \
        const INDEX end = indptr[last];                                                         \
        for (INDEX i = first; i < last; i++) {                                                  \
            REAL sum[WIDTH] = {0};                                                              \
            for (INDEX j = indptr[i]; j < indptr[i + 1]; j++) {                                 \
                const REAL a = value[j], *v = V + (int64_t)column[j] * k;                       \
                const REAL *next = V + (int64_t)column[j + AHEAD < end ? j + AHEAD : j] * k;    \
                for (unsigned b = 0; b < WIDTH * sizeof(REAL); b += LINE)                       \
                    FETCH((const char *)next + b);                                              \
                UNROLLED for (int c = 0; c < WIDTH; c++) sum[c] += a * v[c];                    \
            }                                                                                   \
            memcpy(Y + (int64_t)(i - first) * k, sum, sizeof sum);                              \
        }                                                                                       \
    }

#define CASE(NAME, WIDTH)                                                                       \
    case WIDTH:                                                                                 \
        NAME##_##WIDTH(first, last, indptr, column, value, V + c, k, Y + c);                    \
        break;

/* All k columns: panels of 32, then the largest multiple of 4, then what is left. */
#define PRODUCT(NAME, TARGET, REAL, INDEX)                                                      \
    PANEL(NAME, TARGET, REAL, INDEX, 32)                                                        \
    PANEL(NAME, TARGET, REAL, INDEX, 28)                                                        \
    PANEL(NAME, TARGET, REAL, INDEX, 24)                                                        \
    PANEL(NAME, TARGET, REAL, INDEX, 20)                                                        \
    PANEL(NAME, TARGET, REAL, INDEX, 16)                                                        \
    PANEL(NAME, TARGET, REAL, INDEX, 12)                                                        \
    PANEL(NAME, TARGET, REAL, INDEX, 8)                                                         \
    PANEL(NAME, TARGET, REAL, INDEX, 4)                                                         \
    PANEL(NAME, TARGET, REAL, INDEX, 3)                                                         \
    PANEL(NAME, TARGET, REAL, INDEX, 2)                                                         \
    PANEL(NAME, TARGET, REAL, INDEX, 1)                                                         \
    static void NAME(ARGUMENTS(REAL, INDEX)) {                                                  \
        for (int64_t c = 0, width; c < k; c += width) {                                         \
            const int64_t left = k - c;                                                         \
            width = left >= 32 ? 32 : left >= 4 ? left & ~3 : left;                             \
            switch (width) {                                                                    \
                CASE(NAME, 32)                                                                  \
                CASE(NAME, 28)                                                                  \
                CASE(NAME, 24)                                                                  \
                CASE(NAME, 20)                                                                  \
                CASE(NAME, 16)                                                                  \
                CASE(NAME, 12)                                                                  \
                CASE(NAME, 8)                                                                   \
                CASE(NAME, 4)                                                                   \
                CASE(NAME, 3)                                                                   \
                CASE(NAME, 2)                                                                   \
                CASE(NAME, 1)                                                                   \
            }                                                                                   \
        }                                                                                       \
    }

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
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
