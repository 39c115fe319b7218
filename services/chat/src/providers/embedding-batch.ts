import { noUsage } from '@gatehouse/dialects/usage/usage';
import type { CallRoom, ProviderCall } from './adapter.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { BatchPart, EmbeddingBatch, PartVectors, UnaryResponse } from './provider-kind.ts';
import { SharedRoom } from './shared-room.ts';

/** Requests of one call that are under way at the same time. */
const atOnce = 8;

/**
 * Sends all requests of a call, and joins their answers. The failure of one ends the others, and has the usage of those that were answered.
 */
export async function completeBatch(
  batch: EmbeddingBatch,
  { provider, call }: { provider: string; call: ProviderCall },
  complete: (part: ProviderCall) => Promise<UnaryResponse>,
): Promise<Buffer> {
  const { tenantId } = call.room;
  const room = new SharedRoom(call.room);
  const stopping = new AbortController();
  const { signal } = stopping;
  const leave = (): void => stopping.abort(call.signal.reason);
  call.signal.addEventListener('abort', leave, { once: true });
  if (call.signal.aborted) leave();
  const answered: PartVectors[] = [];
  const failures: ProviderFailure[] = [];
  let sent = 0;
  const sendOne = async ({ body, texts }: BatchPart, index: number, share: CallRoom): Promise<void> => {
    if (signal.aborted) throw ProviderFailure.aborted(provider, signal).asUnsent;
    const response = await complete({ ...call, body, signal, room: share });
    const part = await batch.read({ ...response, texts, tenantId });
    if (part.vectors.length !== texts) throw new Error('the answer has not one vector for each text');
    answered[index] = part;
    share.hold(0);
    room.keep(part.vectors.reduce((sum, { length }) => sum + length, 0));
  };
  const sendMore = async (): Promise<void> => {
    const share = room.open();
    try {
      // The first failure ends the list for all.
      for (const part of batch.parts) await sendOne(part, sent++, share);
    } catch (cause) {
      failures.push(ProviderFailure.from(cause, provider));
      stopping.abort(cause);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, sendMore));
  call.signal.removeEventListener('abort', leave);
  const [failure] = failures;
  const isUnsent = answered.length === 0 && failures.every(({ details }) => details.isUnsent === true);
  if (failure !== undefined) throw batchFailure(failure, { answered, isUnsent });
  return batch.join?.(answered) ?? joined(answered);
}

/** Tokens of answers that are lost with those that failed are to be paid for. `isUnsent`: whether no request was sent. */
function batchFailure(
  { kind, provider, details }: ProviderFailure,
  { answered, isUnsent }: { answered: readonly PartVectors[]; isUnsent: boolean },
): ProviderFailure {
  const tokens = answered.reduce((sum, part) => sum + (part.inputTokens ?? 0), 0);
  const usage = tokens > 0 && { usage: { ...noUsage, inputTokens: tokens } };
  return new ProviderFailure(kind, provider, { ...details, ...usage, isUnsent });
}

function joined(answered: readonly PartVectors[]): Buffer {
  const pieces: Buffer[] = [];
  for (const { vectors } of answered)
    for (const vector of vectors)
      pieces.push(Buffer.from(`${pieces.length === 0 ? '{"data":[' : ','}{"embedding":`), vector, close);
  return Buffer.concat([...pieces, Buffer.from(`]${usageText(answered)}}`)]);
}

const close = Buffer.from('}');

/** Empty unless every answer says how many tokens it has. */
function usageText(answered: readonly PartVectors[]): string {
  let tokens = 0;
  for (const { inputTokens } of answered) {
    if (inputTokens === null) return '';
    tokens += inputTokens;
  }
  return `,"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
}
