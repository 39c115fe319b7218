import { hasMoreContainers } from '@gatehouse/kit/json-size';
import { ProviderFailure } from '../providers/provider-failure.ts';
import { frameData } from '../openai/sse-frames.ts';
import type { StreamReader } from '../openai/stream-reader.ts';
import type { ProviderStream } from '../providers/adapter.ts';
import type { ClientStream } from './client-stream.ts';

/** Objects and arrays of one frame: more would take long to parse, in which no other request is served. */
const maxContainers = 200_000;

export interface RelayOptions {
  provider: string;
  source: ProviderStream;
  reader: StreamReader;
  client: ClientStream;
  /** Whether the client asked for the usage chunk; it is read in any case. */
  wantsUsage: boolean;
  /** Called at the first chunk of an answer. */
  onAnswer: () => void;
}

/** What the client is still owed when the provider is done. */
export interface RelayEnd {
  /** The provider's usage chunk, kept back so that it comes once and last. */
  usageFrame: Buffer | null;
}

/**
 * Passes a stream on frame by frame, in the provider's own bytes. Resolves when the stream is complete: `[DONE]`, or a
 * clean close after every answer had its finish reason. Rejects with a `ProviderFailure` otherwise.
 */
export function relayStream(options: RelayOptions): Promise<RelayEnd> {
  const { source, reader, client, provider } = options;
  return new Promise((resolve, reject) => {
    let usageFrame: Buffer | null = null;
    let done = false;
    let answered = false;
    client.onDrain(() => source.resume());

    function take(frames: readonly Buffer[]): boolean {
      const passed: Buffer[] = [];
      try {
        for (const frame of frames) {
          if (done) break;
          if (hasMoreContainers(frame, maxContainers)) throw new Error('a frame has too many JSON values');
          switch (reader.read(frameData(frame))) {
            case 'usage':
              usageFrame = frame;
              break;
            case 'done':
              done = true;
              break;
            case 'error':
              throw new ProviderFailure('cut', provider, { message: reader.errorMessage });
            case 'chunk':
              if (!answered) options.onAnswer();
              answered = true;
              passed.push(frame);
              break;
            case 'other':
              passed.push(frame);
          }
        }
      } catch (error) {
        done = true;
        client.write(passed);
        reject(
          error instanceof ProviderFailure
            ? error
            : new ProviderFailure('invalid', provider, { cause: error }),
        );
        source.cancel();
        return true;
      }
      const keepsUp = client.write(passed);
      if (done) resolve({ usageFrame: options.wantsUsage ? usageFrame : null });
      return keepsUp;
    }

    source.consume({
      frames: take,
      end: () => {
        if (reader.complete) resolve({ usageFrame: options.wantsUsage ? usageFrame : null });
        else reject(new ProviderFailure('cut', provider));
      },
      fail: (failure) => {
        // What broke off in the middle was cut, whatever the socket says about it.
        const cut = failure.kind === 'connection';
        reject(cut ? new ProviderFailure('cut', provider, { cause: failure }) : failure);
      },
    });
  });
}
