import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dialectNames, type DialectName } from '@gatehouse/contract/dialects';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import { instructionText, type Instructions } from '@gatehouse/test/provider-simulator/faults';
import type { SimulatorRequest } from '@gatehouse/test/provider-simulator/records';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import { sdkClients, type SdkClient } from './sdk-clients.ts';

/** Each dialect with models of each API, as the dialect's official SDK sees it. */

/** A model of each API in the catalogue of tests, whose calls are not repeated. */
const models: Readonly<Record<DialectName, string>> = {
  ...{ chat: 'once-chat', responses: 'once-responses', messages: 'once-messages', gemini: 'once-gemini' },
};
const pairs = dialectNames.flatMap((dialect) => dialectNames.map((api) => [dialect, api] as const));
/** Ten times the 100 ms within which an abort reaches the provider. */
const abortedWithinMs = 1_000;

let gateway: SomeGateway;
let clients: Readonly<Record<DialectName, SdkClient>>;
beforeAll(async () => {
  gateway = await openGateway();
  clients = sdkClients(gateway.url, (await gateway.makeTenant()).userKey);
});
afterAll(async () => gateway.stop());

/** A question to a model of an API, and the record of the provider's calls for it. */
function asking(api: DialectName, instructions: Instructions = {}) {
  const id = newId();
  const prompt = `What is a gatehouse? ${instructionText({ id, ...instructions })}`;
  return {
    question: { model: models[api], prompt },
    calls: (): SimulatorRequest[] => gateway.simulator.requests.filter((request) => request.id === id),
  };
}

/** The figures of a call that the provider charges for. */
function chargedFor(call: SimulatorRequest | undefined): { input: number; output: number } {
  const usage = call?.usage;
  if (usage === null || usage === undefined || !('completion_tokens' in usage))
    throw new Error('the provider charges nothing');
  return { input: usage.prompt_tokens, output: usage.completion_tokens };
}

async function failureOf(call: Promise<unknown>): Promise<{ status?: number; message: string }> {
  return call.then(
    () => {
      throw new Error('the call succeeded');
    },
    (error: unknown) => error as { status?: number; message: string },
  );
}

describe.each(pairs)('%s with a model of %s', (dialect, api) => {
  it('has the answer and its usage, whole and streamed', async () => {
    const { question, calls } = asking(api, { content: 'A house over a gate.', thinking: 0 });
    const whole = await clients[dialect].ask(question);
    const streamed = await clients[dialect].stream(question);
    const [first, second] = calls();
    expect(whole).toEqual({ text: 'A house over a gate.', calls: [], ...chargedFor(first) });
    expect(streamed).toEqual({ text: 'A house over a gate.', calls: [], ...chargedFor(second) });
  });

  it('calls tools at once, gets their results, and goes on', async () => {
    const inputs = [{ at: 'the gate' }, { at: 'the "house"\n' }];
    const { question, calls } = asking(api, {
      tool_calls: inputs.map((input) => ({ name: 'look', arguments: input })),
    });
    const [called, answered] = await clients[dialect].useTools(question, 'a tower');
    expect(called.calls).toEqual(inputs.map((input) => ({ name: 'look', input })));
    expect(answered.calls).toEqual([]);
    expect(answered.text).toContain('a tower');
    expect(calls()).toHaveLength(2);
  });

  it('ends the call of the provider when the client leaves', async () => {
    const { question, calls } = asking(api, { chunks: 2_000, chunk_delay_ms: 20 });
    const leaving = new AbortController();
    const failing = failureOf(clients[dialect].stream({ ...question, signal: leaving.signal }));
    await eventually(() => expect(calls()[0]?.chunks_sent).toBeGreaterThan(5));
    const leftAt = Date.now();
    leaving.abort();
    await failing;
    await eventually(() => expect(calls()[0]?.client_closed_at).not.toBeNull());
    expect((calls()[0]?.client_closed_at ?? Infinity) - leftAt).toBeLessThan(abortedWithinMs);
  });

  it('never takes a stream that was cut for a complete one', async () => {
    const { question, calls } = asking(api, { chunks: 20, cut: 'mid_stream' });
    await failureOf(clients[dialect].stream(question));
    expect(calls()).toHaveLength(1);
  });

  it.each([
    [400, 400],
    [401, 502],
    [429, 429],
    [500, 502],
  ])('shows an answer %i of the provider as %i', async (status, shown) => {
    const { question } = asking(api, { status });
    expect(await failureOf(clients[dialect].ask(question))).toMatchObject({ status: shown });
  });
});
