/* Follow the trees of a forest, for one level of instructions; see forest.c. The leaves are added in the order of the
   trees: every level of instructions computes the same bits. */

/* How many cuts of each feature are below what the candidate has of it. */
static void NAME(place)(const KpForest *forest, const double *x, uint16_t *places)
{
#if LEVEL == 2
    /* Binary searches in GROUPS vectors at once, since each waits for memory: a place is a sum of powers of two, of
       which the largest are tried first. */
    enum { GROUPS = 3 };
    for (int64_t i = 0; i < forest->features; i += 8 * GROUPS) {
        __m512i at[GROUPS], before[GROUPS], count[GROUPS], most = _mm512_setzero_si512();
        __m512d v[GROUPS];
        for (int g = 0; g < GROUPS; g++) {
            int64_t left = forest->features - i - 8 * g;
            __mmask8 held = left >= 8 ? 0xff : left > 0 ? (__mmask8)((1 << left) - 1) : 0;
            __m512i begin = _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(held, forest->first + i + 8 * g));
            __m512i end = _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(held, forest->first + i + 8 * g + 1));
            at[g] = _mm512_setzero_si512();
            before[g] = _mm512_sub_epi64(begin, _mm512_set1_epi64(1));
            count[g] = _mm512_sub_epi64(end, begin);
            v[g] = _mm512_maskz_loadu_pd(held, x + i + 8 * g);
            most = _mm512_max_epi64(most, count[g]);
        }
        int64_t longest = _mm512_reduce_max_epi64(most), step = 1;
        while (2 * step <= longest)
            step *= 2;
        for (; step; step /= 2)
            for (int g = 0; g < GROUPS; g++) {
                __m512i next = _mm512_add_epi64(at[g], _mm512_set1_epi64(step));
                __mmask8 within = _mm512_cmple_epi64_mask(next, count[g]);
                __m512d cut =
                    _mm512_mask_i64gather_pd(v[g], within, _mm512_add_epi64(before[g], next), forest->cuts, 8);
                at[g] = _mm512_mask_mov_epi64(at[g], _mm512_mask_cmp_pd_mask(within, cut, v[g], _CMP_LT_OQ), next);
            }
        for (int g = 0; g < GROUPS && i + 8 * g < forest->features; g++) {
            __mmask8 unknown = _mm512_cmp_pd_mask(v[g], v[g], _CMP_UNORD_Q);
            at[g] = _mm512_mask_mov_epi64(at[g], unknown, _mm512_set1_epi64(BEYOND));
            _mm_storeu_si128((__m128i *)(places + i + 8 * g), _mm512_cvtepi64_epi16(at[g]));
        }
    }
#else
    for (int64_t i = 0; i < forest->features; i++) {
        int first = forest->first[i];
        places[i] = place_among(forest->cuts + first, forest->first[i + 1] - first, x[i]);
    }
#endif
}

#if LEVEL == 2
/* Trees of depth KP_LEAST_DEPTH, and features that fit two vectors. A vector has all nodes of two trees, so all ask at
   once; then the answers lead to the leaves of TOGETHER trees. */
KP_INLINE void NAME(judge_small)(const KpForest *forest, const KpPlaces *places, int count, double *totals)
{
    enum { NODES = 1 << KP_LEAST_DEPTH, CHUNK = 8 * TOGETHER };
    _Alignas(KP_ALIGNMENT) uint32_t above[ABREAST][CHUNK / 2]; /* bit i: node i of a tree leads to 2 i + 1 */
    _Alignas(KP_ALIGNMENT) int32_t at[ABREAST][TOGETHER];
    __m512i one = _mm512_set1_epi32(1);
    __m512i low[ABREAST], high[ABREAST];
    double sums[ABREAST];
    for (int c = 0; c < count; c++) {
        low[c] = _mm512_loadu_si512(places[c].at);
        high[c] = _mm512_loadu_si512(places[c].at + KP_PLACES / 2);
        sums[c] = totals[c];
    }
    for (int64_t begin = 0; begin < forest->trees; begin += CHUNK) {
        int trees = forest->trees - begin < CHUNK ? (int)(forest->trees - begin) : CHUNK;
        const uint16_t *coded = forest->coded + begin * 2 * NODES;
        for (int pair = 0; pair < trees / 2; pair++, coded += 4 * NODES) {
            __m512i feature = _mm512_loadu_si512(coded), bound = _mm512_loadu_si512(coded + 2 * NODES);
            for (int c = 0; c < count; c++)
                above[c][pair] = _mm512_cmpgt_epu16_mask(_mm512_permutex2var_epi16(low[c], feature, high[c]), bound);
        }
        for (int tree = 0; tree < trees; tree += TOGETHER) {
            const double *leaf = forest->leaf + (begin + tree) * NODES;
            for (int c = 0; c < count; c++) {
                __m512i bits = _mm512_cvtepu16_epi32(_mm256_load_si256((const __m256i *)(above[c] + tree / 2)));
                __m512i node = one;
                for (int level = 0; level < KP_LEAST_DEPTH; level++)
                    node = _mm512_add_epi32(_mm512_add_epi32(node, node),
                                            _mm512_and_si512(_mm512_srlv_epi32(bits, node), one));
                _mm512_store_si512(at[c], node);
            }
            for (int k = 0; k < TOGETHER; k++, leaf += NODES)
                for (int c = 0; c < count; c++)
                    sums[c] += leaf[at[c][k] - NODES];
        }
    }
    for (int c = 0; c < count; c++)
        totals[c] = sums[c];
}
#endif

/* The log-odds of at most ABREAST candidates, by the places of their features among the cuts of the forest. */
static void NAME(judge)(const KpForest *forest, const KpPlaces *places, int count, double *totals)
{
    for (int c = 0; c < count; c++)
        totals[c] = forest->base;
#if LEVEL == 2
    if (forest->depth == KP_LEAST_DEPTH) {
        /* Each number of candidates has code of its own, in which the sums stay in registers. */
        if (count == 1)
            NAME(judge_small)(forest, places, 1, totals);
        else if (count == 2)
            NAME(judge_small)(forest, places, 2, totals);
        else if (count == 3)
            NAME(judge_small)(forest, places, 3, totals);
        else
            NAME(judge_small)(forest, places, ABREAST, totals);
        return;
    }
#endif
    int64_t nodes = (int64_t)1 << forest->depth;
    for (int64_t tree = 0; tree < forest->trees; tree += TOGETHER)
        for (int c = 0; c < count; c++) {
            const uint16_t *coded = forest->coded + tree * 2 * nodes;
            const double *leaf = forest->leaf + tree * nodes;
            int64_t at[TOGETHER];
            for (int k = 0; k < TOGETHER; k++)
                at[k] = 1;
            for (int level = 0; level < forest->depth; level++)
                for (int k = 0; k < TOGETHER; k++) {
                    const uint16_t *node = coded + k / 2 * 4 * nodes + k % 2 * nodes + at[k];
                    at[k] = 2 * at[k] + (places[c].at[node[0]] > node[2 * nodes]);
                }
            for (int k = 0; k < TOGETHER; k++)
                totals[c] += leaf[k * nodes + at[k] - nodes];
        }
}
