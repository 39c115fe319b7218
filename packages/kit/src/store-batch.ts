export interface TogetherOrAlone<Item> {
  /** Stores items atomically. */
  store: (items: readonly Item[]) => Promise<void>;
  /** Whether an error of `store` blames an item, so it would fail again. */
  isRefusal: (error: unknown) => boolean;
  /** Called with an item refused alone. */
  refuse: (item: Item, error: unknown) => Promise<void>;
}

/**
 * Stores all items at once, or each alone when one of them is refused, so a bad item harms no other. Throws other
 * errors: they may pass when all of it is tried again.
 */
export async function storeBatchThenEach<Item>(
  items: readonly Item[],
  how: TogetherOrAlone<Item>,
): Promise<void> {
  try {
    await how.store(items);
  } catch (error) {
    const [first, ...others] = items;
    if (first === undefined || !how.isRefusal(error)) throw error;
    if (others.length === 0) await how.refuse(first, error);
    else for (const item of items) await storeBatchThenEach([item], how);
  }
}
