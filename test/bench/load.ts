import { Agent, type Dispatcher } from 'undici';

/** The target of a load: the same request to the provider itself, through the pass-through, or through the gateway. */
export interface Target {
  name: string;
  url: string;
  headers: Record<string, string>;
  /** Default: chat completions. */
  path?: string;
  /** The body of requests of a closed loop. Default: a short chat completion. */
  text?: string;
}

export interface Latencies {
  p50: number;
  p99: number;
}

const prompt = 'x'.repeat(900);
const body = (extra: Record<string, unknown> = {}): string =>
  JSON.stringify({ model: 'bench', messages: [{ role: 'user', content: prompt }], ...extra });

/**
 * Requests per second with so many connections, each with one request at a time. Each request takes
 * one of the targets at random. `done`: the requests of each target. Throws when a request fails.
 */
export async function closedLoop(
  targets: Target | readonly [Target, ...Target[]],
  connections: number,
  seconds: number,
): Promise<{ perSecond: number; requests: number; done: ReadonlyMap<Target, number> }> {
  const agent = new Agent({ connections, pipelining: 1 });
  const endAt = performance.now() + seconds * 1_000;
  const startedAt = performance.now();
  const all = 'url' in targets ? ([targets] as const) : targets;
  const short = body();
  let requests = 0;
  const done = new Map<Target, number>();
  const worker = async (): Promise<void> => {
    while (performance.now() < endAt) {
      const target = all[Math.floor(Math.random() * all.length)] ?? all[0];
      await request(agent, target, target.text ?? short);
      requests += 1;
      done.set(target, (done.get(target) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  const perSecond = (requests * 1_000) / (performance.now() - startedAt);
  await agent.close();
  return { perSecond, requests, done };
}

/** One request of each target, with so many connections. Returns their latencies. */
export async function eachOnce(targets: readonly Target[], connections: number): Promise<number[]> {
  const agent = new Agent({ connections, pipelining: 1 });
  const left = targets.values();
  const short = body();
  const latencies: number[] = [];
  const worker = async (): Promise<void> => {
    for (const target of left) {
      const startedAt = performance.now();
      await request(agent, target, target.text ?? short);
      latencies.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  await agent.close();
  return latencies;
}

/**
 * Makes calls at a steady rate that waits for no answer, and resolves when all have ended. `dueAt` is when a call was
 * due, by `performance.now()`: a latency that is counted from then hides no stall.
 */
export async function arrivals(
  { perSecond, seconds }: { perSecond: number; seconds: number },
  call: (index: number, dueAt: number) => Promise<void>,
): Promise<void> {
  const pending: Promise<void>[] = [];
  const startedAt = performance.now();
  const total = perSecond * seconds;
  for (let sent = 0; sent < total;) {
    const due = Math.min(total, 1 + Math.floor(((performance.now() - startedAt) * perSecond) / 1_000));
    for (; sent < due; sent += 1) pending.push(call(sent, startedAt + (sent * 1_000) / perSecond));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(pending);
}

/** Latency at a steady rate of arrivals that waits for no answer. */
export async function openLoop(target: Target, perSecond: number, seconds: number): Promise<Latencies> {
  const agent = new Agent({ connections: 256, pipelining: 1 });
  const latencies: number[] = [];
  const text = body();
  await arrivals({ perSecond, seconds }, async (_index, dueAt) => {
    await request(agent, target, text);
    latencies.push(performance.now() - dueAt);
  });
  await agent.close();
  return percentiles(latencies.slice(latencies.length / 10));
}

export interface StreamsResult extends Latencies {
  /** Streams whose number of content chunks was not what the provider sent, or that had no `[DONE]`. */
  broken: number;
  streams: number;
  /** Milliseconds that each content chunk came after its time, counted from the first of its stream. */
  late: number[];
}

const contentStart = '"delta":{"content":"';

/** Time to first content chunk of concurrent paced streams, how late the others were, and whether any lost a chunk. */
export async function pacedStreams(
  target: Target,
  options: { streams: number; chunks: number; chunkDelayMs: number },
): Promise<StreamsResult> {
  const agent = new Agent({ connections: options.streams, pipelining: 1 });
  const text = body({
    stream: true,
    x_simulator: { chunks: options.chunks, chunk_delay_ms: options.chunkDelayMs },
  });
  const firsts: number[] = [];
  const late: number[] = [];
  let broken = 0;
  const one = async (index: number): Promise<void> => {
    // Spread over the first second, as users are.
    await new Promise((resolve) => setTimeout(resolve, (index * 1_000) / options.streams));
    const startedAt = performance.now();
    const response = await post(agent, target, text);
    let rest = '';
    let firstAt = 0;
    let contents = 0;
    let last = '';
    for await (const chunk of response.body) {
      const [start = '', ...begun] = (rest + String(chunk)).split(contentStart);
      const now = performance.now();
      if (contents === 0 && begun.length > 0) firstAt = now;
      for (const _content of begun) {
        late.push(now - firstAt - contents * options.chunkDelayMs);
        contents += 1;
      }
      last = begun.at(-1) ?? start;
      // A marker may be cut in two.
      rest = last.slice(-contentStart.length + 1);
    }
    firsts.push(firstAt - startedAt);
    if (contents !== options.chunks || !last.endsWith('data: [DONE]\n\n')) broken += 1;
  };
  await Promise.all(Array.from({ length: options.streams }, (_, index) => one(index)));
  await agent.close();
  return { ...percentiles(firsts), broken, streams: options.streams, late };
}

/**
 * Milliseconds from a client's leaving mid-stream until the provider sees its connection close, at worst. The provider
 * is the simulator at that address, which must keep records.
 */
export async function abortDelays(
  target: Target,
  { model, url: simulatorUrl }: { model: string; url: string },
  times: number,
): Promise<number> {
  const agent = new Agent();
  let worst = 0;
  for (let index = 0; index < times; index += 1) {
    const id = `abort-${target.name}-${index}`;
    const abort = new AbortController();
    const text = body({ model, stream: true, x_simulator: { id, chunks: 1_000, chunk_delay_ms: 10 } });
    const response = await post(agent, target, text, abort.signal);
    for await (const _chunk of response.body) break;
    const leftAt = Date.now();
    abort.abort();
    worst = Math.max(worst, (await closedAt(simulatorUrl, id)) - leftAt);
  }
  await agent.close();
  return worst;
}

async function closedAt(simulatorUrl: string, id: string): Promise<number> {
  for (;;) {
    const answer = await fetch(`${simulatorUrl}/control/requests`);
    const { requests } = (await answer.json()) as {
      requests: { id: string | null; client_closed_at: number | null }[];
    };
    const closed = requests.find((each) => each.id === id)?.client_closed_at ?? null;
    if (closed !== null) return closed;
  }
}

/** As `post`, but with nothing made of the answer: what the load costs is taken from the core of the database. */
async function request(agent: Agent, target: Target, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  let statusCode = 0;
  let refusal = '';
  agent.dispatch(optionsOf(target, text), {
    onRequestStart() {
      // Required of a handler.
    },
    onResponseStart(_controller, status) {
      statusCode = status;
    },
    onResponseData(_controller, chunk) {
      if (statusCode !== 200) refusal += String(chunk);
    },
    onResponseEnd() {
      if (statusCode === 200) resolve(undefined);
      else reject(new Error(`${target.name}: ${statusCode} ${refusal}`));
    },
    onResponseError(_controller, error) {
      reject(error);
    },
  });
  await promise;
}

async function post(
  agent: Agent,
  target: Target,
  text: string,
  signal?: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const response = await agent.request({
    ...optionsOf(target, text),
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.statusCode !== 200)
    throw new Error(`${target.name}: ${response.statusCode} ${await response.body.text()}`);
  return response;
}

function optionsOf(target: Target, text: string) {
  return {
    origin: target.url,
    path: target.path ?? '/v1/chat/completions',
    method: 'POST' as const,
    headers: { 'content-type': 'application/json', ...target.headers },
    body: text,
  };
}

export function percentiles(values: number[]): Latencies {
  return { p50: percentile(values, 0.5), p99: percentile(values, 0.99) };
}

/** The value below which `share` of the values are. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
