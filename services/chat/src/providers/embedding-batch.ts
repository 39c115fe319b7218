import { noUsage } from '@gatehouse/dialects/usage/usage';
import type { CallRoom, ProviderCall } from './adapter.ts';
import { ProviderFailure } from './provider-failure.ts';
import type { AnswerText, BatchPart, EmbeddingBatch, PartVectors, UnaryResponse } from './provider-kind.ts';
import { SharedRoom } from './shared-room.ts';

/** Requests of one call under way at the same time. */
const atOnce = 8;

/**
 * Sends all requests of a call, and joins their answers. The failure of one ends the others, and has the usage of the
 * answered ones.
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
  return joined(answered, batch.text ?? openAiText);
}

/** Tokens of answers lost with the failed ones are to be paid for. `isUnsent`: whether no request was sent. */
function batchFailure(
  { kind, provider, details }: ProviderFailure,
  { answered, isUnsent }: { answered: readonly PartVectors[]; isUnsent: boolean },
): ProviderFailure {
  const tokens = answered.reduce((sum, part) => sum + (part.inputTokens ?? 0), 0);
  const usage = tokens > 0 && { usage: { ...noUsage, inputTokens: tokens } };
  return new ProviderFailure(kind, provider, { ...details, ...usage, isUnsent });
}

const openAiText: AnswerText = {
  ...{ head: '{"data":[', before: '{"embedding":', end: ']' },
  usage: (tokens) => `,"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}`,
};

/** The answers as one. It has usage if every answer says how many tokens it has. */
function joined(answered: readonly PartVectors[], { head, before, end, usage }: AnswerText): Buffer {
  const vectors = answered.flatMap((part) => part.vectors);
  const pieces = vectors.flatMap((vector, index) => [
    Buffer.from(`${index === 0 ? '' : ','}${before}`),
    vector,
    close,
  ]);
  const tokens = answered.reduce<number | null>(
    (sum, { inputTokens }) => (sum === null || inputTokens === null ? null : sum + inputTokens),
    0,
  );
  return Buffer.concat([
    Buffer.from(head),
    ...pieces,
    Buffer.from(`${end}${tokens === null ? '' : usage(tokens)}}`),
  ]);
}

const close = Buffer.from('}');
