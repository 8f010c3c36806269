/** How batches are best handed to a store. */
export type Lane = {
  /** Under way at a time. */
  batches: number;
  /**
   * With so many items a batch does not wait: neither for the one under way, nor for the end of the turn. Smaller ones
   * would cost more than they gain: each has its price.
   */
  itemsMin: number;
  /** Side by side: then what one queue brings also goes beside a batch that has nothing of it, however little it is. */
  areParallel: boolean;
};
