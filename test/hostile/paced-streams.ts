import { request } from 'node:http';

/** Milliseconds between two chunks of the provider. */
const pace = 50;

export interface StreamTarget {
  url: string;
  key: string;
}

/** One stream, as a client saw it. */
export interface SeenStream {
  /** The longest time between two chunks, in ms. */
  longestGapMs: number;
  complete: boolean;
}

/** Opens a stream that the provider paces, and resolves when it has ended. */
function openStream({ url, key }: StreamTarget, chunks: number): Promise<SeenStream> {
  const body = JSON.stringify({
    model: 'gpt-4.1-mini',
    stream: true,
    messages: [{ role: 'user', content: 'Go.' }],
    x_simulator: { chunks, chunk_delay_ms: pace },
  });
  return new Promise((resolve) => {
    let longestGapMs = 0;
    let last: number | undefined;
    let tail = '';
    const end = (): void => resolve({ longestGapMs, complete: tail.trimEnd().endsWith('data: [DONE]') });
    const sent = request(`${url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    sent.on('response', (response) => {
      response.setEncoding('utf8').on('data', (text: string) => {
        const now = performance.now();
        if (last !== undefined) longestGapMs = Math.max(longestGapMs, now - last);
        last = now;
        tail = (tail + text).slice(-100);
      });
      response.on('end', end).on('error', end);
    });
    sent.on('error', end);
    sent.end(body);
  });
}

/** Streams of a tenant while somebody attacks, beside one that comes from the provider itself. */
export async function streamsDuring(
  { gateway, provider }: { gateway: StreamTarget; provider: StreamTarget },
  { streams, seconds }: { streams: number; seconds: number },
  attack: () => Promise<void>,
): Promise<{ latestMs: number; controlMs: number; complete: boolean }> {
  const chunks = (seconds * 1_000) / pace;
  const control = openStream(provider, chunks);
  const opened = Array.from({ length: streams }, () => openStream(gateway, chunks));
  await attack();
  const seen = await Promise.all(opened);
  return {
    latestMs: Math.max(...seen.map(({ longestGapMs }) => longestGapMs)),
    controlMs: (await control).longestGapMs,
    complete: seen.every(({ complete }) => complete),
  };
}
