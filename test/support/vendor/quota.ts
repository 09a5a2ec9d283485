export type Dimension = 'requests' | 'tokens' | 'input-tokens' | 'output-tokens';

/** One bucket as a response's headers describe it. */
export interface BucketView {
  limit: number;
  remaining: number;
  /** Until it is full again. */
  resetMs: number;
}

export type QuotaView = Partial<Record<Dimension, BucketView>>;

/** Why a request was refused; `retryAfterMs` is null where waiting has no known end (concurrency) or hints are off. */
export interface Denial {
  dimension: Dimension | 'concurrency';
  limit: number;
  retryAfterMs: number | null;
  group: string;
  model: string;
}
