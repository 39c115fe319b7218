import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { sealedTexts } from '@gatehouse/secrets/sealed-texts';
import type { Result } from '../clients/completion.ts';
import type { StoredCall } from './call.ts';
import type { Ref } from '../shared/ref.ts';

export type CallTexts = ReturnType<typeof callTexts>;

/** Encrypts and decrypts what an agent is asked and answers, each for its call only. */
export function callTexts(keyRing: KeyRing) {
  const column = (name: string) => sealedTexts<Ref>(keyRing, (call) => contextOfCall(call, name));
  const results = column('result');
  return {
    /** OpenAI chat completion requests without a model, as JSON. */
    requests: column('request'),
    sealResult: (call: Ref, result: Result): Buffer => results.seal(call, JSON.stringify(result)),
    openResult: (call: Ref, sealed: Buffer): Result => JSON.parse(results.open(call, sealed)) as Result,
  };
}

/** The context of the sealed text of a call. */
export function contextOfCall({ tenantId, id }: Ref, column: string): string {
  return `${tenantId}/webhook.calls/${column}/${id}`;
}

/** The body of a call's result: the same at each attempt. Null before the end of the call. */
function resultBody(call: StoredCall, texts: CallTexts): string | null {
  const { id: call_id, agentId: agent_id, finishedAt, result, error } = call;
  if (finishedAt === null) return null;
  const timestamp = finishedAt.toISOString();
  if (result === null)
    return JSON.stringify({ type: 'call.failed', timestamp, data: { call_id, agent_id, error } });
  const data = { call_id, agent_id, ...texts.openResult(call, result) };
  return JSON.stringify({ type: 'call.completed', timestamp, data });
}

/** Reads the body of a call's result, and how often the call's content was sent on; null without a result. */
export function resultReader(
  find: (tenantId: string, callId: string) => Promise<StoredCall | null>,
  texts: CallTexts,
) {
  return async (tenantId: string, callId: string): Promise<{ body: string; hops: number } | null> => {
    const call = await find(tenantId, callId);
    const body = call === null ? null : resultBody(call, texts);
    return call === null || body === null ? null : { body, hops: call.hops };
  };
}
