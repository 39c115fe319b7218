/** Kept answers of the gateway, in a dialect with clients going on from them. */
export interface StateFormat {
  /** The items of a request's own input, as a JSON array in parts: those of the body are no copies. */
  inputOf(body: Buffer): Buffer[];
  /** A request without the name of an earlier answer, and with these items before its own input. */
  continued(body: Buffer, earlier: readonly Buffer[]): Buffer;
  /**
   * The request with other items in these places of its input: a text, the item of another place, or null for its
   * removal.
   */
  withItems(body: Buffer, items: ReadonlyMap<number, Buffer | number | null>): Buffer;
  /**
   * Whether an item of an earlier answer goes to a provider. `sameProvider`: the one behind the answer. Throws a 400
   * for an item needed, but not readable, by another provider.
   */
  goesOn(item: unknown, sameProvider: boolean): boolean;
  /** The sealed summary in an item; null for any other. */
  summaryIn(item: unknown): string | null;
  /** The item by which a provider reads a summary. */
  summaryItem(summary: string): Buffer;
  /** Whether an item summarises those before it. */
  isSummary(item: unknown): boolean;
  /** Whether an item stays in a conversation beside a later summary. */
  outlastsSummary(item: unknown): boolean;
  /** Whether a frame of a stream has a whole item of the answer. */
  isItem(frame: Buffer): boolean;
  /**
   * The answer in the last frames of a stream; null if it broke off. Items in frames before them are added to an answer
   * without these.
   */
  endOf(frames: readonly Buffer[]): Buffer | null;
  /** A kept answer as its client may see it: with encrypted thoughts or without. */
  shown(answer: Buffer, options: { encrypted: boolean; tenantId: string }): Promise<Buffer>;
  /** The frames of a kept answer. */
  streamFrames(answer: Buffer): Buffer[];
}

/** The part of a request about kept answers. */
export interface RequestState {
  /** The kept answer continued by the request. */
  previousId: string | null;
  /** Whether its own answer is to be kept. */
  keeps: boolean;
  /** The number of items in its input. */
  count: number;
  /** Ids in place of items, by their places in the input. */
  references: ReadonlyMap<number, string>;
  /**
   * Ids of reasoning items without their encrypted content, by their places behind the user's last message: before it, no
   * model reads them.
   */
  thoughts: ReadonlyMap<number, string>;
  /** The places of items with an id. */
  places: ReadonlyMap<string, number>;
  /** Sealed summaries of the gateway, by their places. */
  summaries: ReadonlyMap<number, string>;
}

/** By an item of its input, with an item as the answer, too, or by its path, with an answer of its own shape. */
export type Compaction = 'item' | 'path';
