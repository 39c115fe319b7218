import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Result } from '../clients/completion.ts';
import type { StoredCall } from './call.ts';
import type { Ref } from '../shared/ref.ts';

/** Encrypts and decrypts what an agent is asked and answers, each for its call only. */
export class CallTexts {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  /** `request`: an OpenAI chat completion request without a model, as JSON. */
  sealRequest(call: Ref, request: string): Buffer {
    return this.#keyRing.seal(Buffer.from(request), contextOfCall(call, 'request'));
  }

  openRequest(call: Ref, sealed: Buffer): string {
    return this.#keyRing.open(sealed, contextOfCall(call, 'request')).toString();
  }

  sealResult(call: Ref, result: Result): Buffer {
    return this.#keyRing.seal(Buffer.from(JSON.stringify(result)), contextOfCall(call, 'result'));
  }

  openResult(call: Ref, sealed: Buffer): Result {
    return JSON.parse(this.#keyRing.open(sealed, contextOfCall(call, 'result')).toString()) as Result;
  }
}

/** The context of the sealed text of a call. */
export function contextOfCall({ tenantId, id }: Ref, column: string): string {
  return `${tenantId}/webhook.calls/${column}/${id}`;
}

/** The body that reports how a call ended: the same at each attempt. Null while it has not. */
function resultBody(call: StoredCall, texts: CallTexts): string | null {
  const { id: call_id, agentId: agent_id, finishedAt, result, error } = call;
  if (finishedAt === null) return null;
  const timestamp = finishedAt.toISOString();
  if (result === null)
    return JSON.stringify({ type: 'call.failed', timestamp, data: { call_id, agent_id, error } });
  const data = { call_id, agent_id, ...texts.openResult(call, result) };
  return JSON.stringify({ type: 'call.completed', timestamp, data });
}

/** Reads the body of a call's result, and how often what the call is about was sent on; null while there is none. */
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
