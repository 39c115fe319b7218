/** The counting of runs, a fold at a time. */
export interface RollupStore {
  /**
   * Closes the current fold if it has runs and is `leastMs` old: later runs get the next one. Waits for runs being
   * stored, for `lockMs` at most. Returns false if this was too short.
   */
  closeFold(options?: { leastMs?: number; lockMs?: number }): Promise<boolean>;

  /**
   * Adds the oldest closed fold to the roll-ups, once, and returns its number of runs; null without one, and `busy`
   * while another replica does it.
   */
  addClosedFold(): Promise<number | 'busy' | null>;
}
