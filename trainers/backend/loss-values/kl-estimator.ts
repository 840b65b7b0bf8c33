/**
 * The estimators of the KL divergence from the policy to the reference at a sampled token. With d = p - l: k1 = -d,
 * k2 = d^2 / 2, k3 = e^d - d - 1 (Schulman 2020, http://joschu.net/blog/kl-approx.html). As a loss term, only k2 has an
 * unbiased gradient of the KL divergence. The expected gradient of k1 is 0. GRPO uses k3.
 */
export type KlEstimator = "k1" | "k2" | "k3";
