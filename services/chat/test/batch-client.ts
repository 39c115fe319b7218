import type { Principal } from '@gatehouse/identity/principal';
import { eventually } from '@gatehouse/test/eventually';
import { makePrincipal } from '@gatehouse/test/identity';
import OpenAI, { APIError, toFile } from 'openai';
import { usualPace } from '../src/batches/batch-poll-job.ts';
import type { ChatHarness } from './chat-harness.ts';

/** Faster than in production. */
export const batchPace = {
  ...{
    roundMs: 50,
    renewMs: 5,
    firstPauseMs: 50,
    longestPauseMs: 100,
    failurePauseMs: 50,
    giveUpMs: 3_600_000,
    upload: usualPace.upload,
  },
};

/** The SDK as the edge would pass its requests on for this principal. */
export function sdkFor(harness: ChatHarness, principal: Partial<Principal>): OpenAI {
  return new OpenAI({
    ...{ apiKey: 'unused', baseURL: `${harness.url}/v1`, maxRetries: 0 },
    fetch: async (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set('x-gatehouse-assertion', await harness.identity.assertion(makePrincipal(principal)));
      return fetch(input, { ...init, headers });
    },
  });
}

export interface Line {
  id: string;
  body?: Record<string, unknown>;
  url?: string;
}

export function linesOf(lines: readonly Line[]): string {
  return lines
    .map(({ id, body, url = '/v1/chat/completions' }) => {
      const asked = { model: 'priced', messages: [{ role: 'user', content: `say ${id}` }], ...body };
      return `${JSON.stringify({ custom_id: id, method: 'POST', url, body: asked })}\n`;
    })
    .join('');
}

export async function uploaded(client: OpenAI, text: string): Promise<OpenAI.FileObject> {
  return client.files.create({ file: await toFile(Buffer.from(text), 'requests.jsonl'), purpose: 'batch' });
}

export async function begun(client: OpenAI, text: string): Promise<OpenAI.Batch> {
  const { id } = await uploaded(client, text);
  return client.batches.create({
    ...{ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' },
    metadata: { night: 'yes' },
  });
}

export function ended(client: OpenAI, id: string): Promise<OpenAI.Batch> {
  return eventually(async () => {
    const batch = await client.batches.retrieve(id);
    if (!['completed', 'failed', 'expired', 'cancelled'].includes(batch.status))
      throw new Error(batch.status);
    return batch;
  }, 60_000);
}

export const runOf = (batchId: string): string =>
  batchId.slice('batch_'.length).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

export function charged(harness: ChatHarness, tenantId: string): bigint {
  const settled = harness.settlements.filter((each) => each.tenantId === tenantId);
  return settled.reduce((sum, { costPico }) => sum + costPico, 0n);
}

/** The error of the API that a call rejects with. */
export async function refusal(
  work: Promise<unknown>,
): Promise<Pick<APIError, 'status' | 'code' | 'message'>> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof APIError) return error;
  throw new Error(`no error of the API: ${String(error)}`);
}

/** Sends the beginning of an upload. `send` sends more of it, `finish` its end, and `leave` closes the connection. */
export async function slowUpload(
  harness: ChatHarness,
  principal: Partial<Principal>,
): Promise<{
  answer: Promise<Response>;
  send: (part: Buffer) => void;
  finish: () => void;
  leave: () => void;
}> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const leaving = new AbortController();
  // It fails once the client has left.
  const send = (part: Buffer): void => void writer.write(part).catch(() => undefined);
  const form = (part: string): Buffer => Buffer.from(part.replaceAll('\n', '\r\n'));
  const answer = fetch(`${harness.url}/v1/files`, {
    ...{ method: 'POST', body: readable, duplex: 'half' as const, signal: leaving.signal },
    headers: {
      'content-type': 'multipart/form-data; boundary=b',
      'x-gatehouse-assertion': await harness.identity.assertion(makePrincipal(principal)),
    },
  });
  send(form('--b\ncontent-disposition: form-data; name="purpose"\n\nbatch\n'));
  send(form('--b\ncontent-disposition: form-data; name="file"; filename="x"\n\n'));
  send(Buffer.from(linesOf([{ id: 'a' }])));
  const finish = (): void => {
    send(form('\n--b--\n'));
    void writer.close();
  };
  return { answer, send, finish, leave: () => leaving.abort() };
}
