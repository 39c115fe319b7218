import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { dialects } from '@gatehouse/dialects/dialects';
import type { FrameConsumer, ProviderStream } from './adapter.ts';
import { FramePipe } from './frame-pipe.ts';
import { ProviderFailure } from './provider-failure.ts';

/** A provider whose frames a test hands over. */
class Source implements ProviderStream {
  cancelled = false;
  #consumer: FrameConsumer | null = null;

  consume(consumer: FrameConsumer): void {
    this.#consumer = consumer;
  }

  send(...frames: readonly Buffer[]): void {
    this.#consumer?.frames(frames);
  }

  end(): void {
    this.#consumer?.end();
  }

  fail(): void {
    this.#consumer?.fail(new ProviderFailure('connection', 'acme'));
  }

  pause(): void {
    // The test decides when frames come.
  }

  resume(): void {
    // See above.
  }

  cancel(): void {
    this.cancelled = true;
  }
}

const frame = (text: string, finishReason?: string): Buffer =>
  Buffer.from(
    `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text }] }, finishReason }] })}\n\n`,
  );

const first = frame('a');
const last = frame('b', 'STOP');

interface Passing {
  source: Source;
  pipe: FramePipe;
  passed: Buffer[];
  drain: () => void;
  outcome: Promise<unknown>;
}

async function passing(frames: readonly Buffer[], { isSlow = false } = {}): Promise<Passing> {
  const source = new Source();
  const pipe = new FramePipe('acme', source, dialects.gemini.streamReader(1));
  const opened = pipe.open();
  source.send(...frames);
  await opened;
  const passed: Buffer[] = [];
  let drain: () => void = () => undefined;
  const sink = {
    write: (more: readonly Buffer[]) => {
      passed.push(...more);
      return !isSlow;
    },
    onDrain: (listener: () => void) => (drain = listener),
  };
  const outcome = pipe.passTo(sink).then(
    () => 'complete',
    (error: unknown) => (error as ProviderFailure).kind,
  );
  return { source, pipe, passed, drain: () => drain(), outcome };
}

describe('a frame that may be the last of its stream', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('is held until the stream has ended, and then is the last for the client', async () => {
    const { source, pipe, passed, outcome } = await passing([first]);
    source.send(last);
    source.end();
    expect(await outcome).toBe('complete');
    expect([passed, pipe.held]).toEqual([[first], [last]]);
  });

  it('goes to the client before any other frame that follows', async () => {
    const usage = Buffer.from('data: {"usageMetadata":{"promptTokenCount":1}}\n\n');
    const { source, pipe, passed, outcome } = await passing([first, last]);
    source.send(usage);
    source.end();
    expect(await outcome).toBe('complete');
    expect([passed, pipe.held]).toEqual([[first, last], [usage]]);
  });

  it('ends a stream whose connection stays open in silence', async () => {
    const { source, pipe, outcome } = await passing([first]);
    source.send(last);
    jest.advanceTimersByTime(4_000);
    expect(source.cancelled).toBe(false);
    jest.advanceTimersByTime(2_000);
    expect(await outcome).toBe('complete');
    expect([source.cancelled, pipe.held]).toEqual([true, [last]]);
  });

  it('ends none whose client is slow, until it has caught up', async () => {
    const { source, drain, outcome } = await passing([first], { isSlow: true });
    source.send(last);
    jest.advanceTimersByTime(60_000);
    expect(source.cancelled).toBe(false);
    drain();
    jest.advanceTimersByTime(6_000);
    expect(await outcome).toBe('complete');
  });

  it.each([
    ['that breaks', [first, last], (source: Source) => source.fail()],
    ['that ends before its finish reason', [first], (source: Source) => source.end()],
  ])('does not complete a stream %s', async (_how, frames, end) => {
    const { source, outcome } = await passing(frames);
    end(source);
    expect(await outcome).toBe('cut');
  });
});
