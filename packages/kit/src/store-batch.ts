export interface TogetherOrAlone<Item> {
  /** Stores items, all or none. */
  store: (items: readonly Item[]) => Promise<void>;
  /** Whether an error of `store` means that an item is to blame, so that it would fail again. */
  isRefusal: (error: unknown) => boolean;
  /** Called with an item that is refused alone. */
  refuse: (item: Item, error: unknown) => Promise<void>;
}

/**
 * Stores all items at once, or each alone when one of them is refused, so that a bad item harms no other. Throws what
 * is no refusal: it may pass when all of it is tried again.
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
