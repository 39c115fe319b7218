/** Answers that the gateway keeps, in a dialect whose clients go on from them. */
export interface StateFormat {
  /** The items of a request's own input, as a JSON array in parts: those of the body are no copies. */
  inputOf(body: Buffer): Buffer[];
  /** A request that names no earlier answer, and has these items before its own input. */
  continued(body: Buffer, earlier: readonly Buffer[]): Buffer;
  /**
   * The request with other items in these places of its input: a text, the item of another place, or null for none.
   */
  withItems(body: Buffer, items: ReadonlyMap<number, Buffer | number | null>): Buffer;
  /**
   * Whether an item of an earlier answer goes to a provider. `sameProvider`: the one that answered then. Throws a 400 for
   * one that another provider can't do without, and can't read.
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
  /** The answer in the last frames of a stream; null if it broke off. */
  endOf(frames: readonly Buffer[]): Buffer | null;
  /** A kept answer as its client may see it: with encrypted thoughts or without. */
  shown(answer: Buffer, options: { encrypted: boolean; tenantId: string }): Promise<Buffer>;
  /** The frames of a kept answer. */
  streamFrames(answer: Buffer): Buffer[];
}

/** The part of a request that concerns kept answers. */
export interface RequestState {
  /** The kept answer that it goes on from. */
  previousId: string | null;
  /** Whether its own answer is to be kept. */
  keeps: boolean;
  /** Ids in place of items, by their places in the input. */
  references: ReadonlyMap<number, string>;
  /** The places of items that have an id. */
  places: ReadonlyMap<string, number>;
  /** Sealed summaries of the gateway, by their places. */
  summaries: ReadonlyMap<number, string>;
}

/** By an item of its input, whose answer is an item too, or by its path, whose answer has a shape of its own. */
export type Compaction = 'item' | 'path';
