import { FairQueue } from '@gatehouse/kit/fair-queue';
import { linesOf, type Line } from '@gatehouse/kit/json-lines';
import type { ProviderResources } from '../providers/resources.ts';
import { resultReadMs, maxResultLineBytes } from '../bounds.ts';

/** Results a replica reads at a time; each line is in memory. No result waits, since it would hold a slot. */
const readsInFlight = { perKey: 2, slots: 8, maxWaiting: 0, tooMany: () => new NoRoomToRead() };

/** Enough results are being read. */
export class NoRoomToRead extends Error {}

/** The results of a batch at its provider. */
export interface Results {
  provider: string;
  resources: Pick<ProviderResources, 'stream'>;
  path: string;
}

/** Reads results at providers line by line. Throws {@link NoRoomToRead} beyond a few at a time. */
export class ResultLines {
  /** By provider. */
  readonly #reads = new FairQueue(readsInFlight);

  /** Calls `add` for each line, and `onTooLong` for one too long to be read. */
  each(
    results: Results,
    { add, onTooLong }: { add: (line: Line) => Promise<unknown>; onTooLong: () => void },
    signal: AbortSignal,
  ): Promise<void> {
    return this.#read(results, { signal, onTooLong }, async (lines) => {
      for await (const line of lines) await add(line);
    });
  }

  /** Whether a line has a text. */
  have(results: Results, text: string, signal: AbortSignal): Promise<boolean> {
    return this.#read(results, { signal, onTooLong: () => undefined }, async (lines) => {
      for await (const { bytes } of lines) if (bytes.includes(text)) return true;
      return false;
    });
  }

  #read<Result>(
    { provider, resources, path }: Results,
    { signal: ending, onTooLong }: { signal: AbortSignal; onTooLong: () => void },
    work: (lines: AsyncIterable<Line>) => Promise<Result>,
  ): Promise<Result> {
    const read = async (): Promise<Result> => {
      const signal = AbortSignal.any([ending, AbortSignal.timeout(resultReadMs)]);
      const content = await resources.stream({ method: 'GET', path, signal });
      return work(unlessAborted(linesOf(content, maxResultLineBytes, onTooLong), signal));
    };
    return this.#reads.run(provider, read, ending);
  }
}

async function* unlessAborted(lines: AsyncIterable<Line>, signal: AbortSignal): AsyncGenerator<Line, void> {
  for await (const line of lines) {
    signal.throwIfAborted();
    yield line;
  }
}
