"use strict";
// Isotonic regression (pure).
lineage.isotonic = (() => {
  /**
   * Return the nondecreasing values closest to the given ones (weighted least squares): adjacent violators are
   * pooled.
   * @param {number[]} values
   * @param {number[]} weights positive, one per value
   * @returns {number[]}
   */
  function fit(values, weights) {
    const pools = [];
    values.forEach((value, index) => {
      pools.push({ sum: value * weights[index], weight: weights[index], size: 1 });
      while (pools.length > 1) {
        const last = pools[pools.length - 1];
        const before = pools[pools.length - 2];
        if (before.sum / before.weight <= last.sum / last.weight) break;
        before.sum += last.sum;
        before.weight += last.weight;
        before.size += last.size;
        pools.pop();
      }
    });
    const fitted = [];
    for (const pool of pools) {
      for (let each = 0; each < pool.size; each += 1) fitted.push(pool.sum / pool.weight);
    }
    return fitted;
  }

  return { fit };
})();
