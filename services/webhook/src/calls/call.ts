import type { CallStatus, WebhookCall } from '@gatehouse/contract/webhook-calls';
import type { ErrorCode } from '@gatehouse/kit/errors';

/** A property by which a repeat of a request is recognised. */
export interface CallKey {
  kind: 'id' | 'body';
  /** SHA-256. */
  digest: Buffer;
  retentionS: number;
}

/** The reason for a failed call, as the response to its sender states it. */
export interface CallError {
  code: ErrorCode;
  message: string;
}

export interface StoredCall {
  id: string;
  tenantId: string;
  endpointId: string;
  agentId: string;
  deliveryId: string | null;
  bodySha256: Buffer;
  mode: 'sync' | 'async';
  status: CallStatus;
  userId: string | null;
  sessionId: string | null;
  metadata: Record<string, string>;
  callbackUrl: string | null;
  /** How often what it is about was sent on by a gateway. */
  hops: number;
  /** Encrypted, as is the result. */
  request: Buffer | null;
  result: Buffer | null;
  error: CallError | null;
  createdAt: Date;
  finishedAt: Date | null;
}

/** A request proved to be genuine. */
export interface NewCall extends Omit<
  StoredCall,
  'status' | 'request' | 'result' | 'error' | 'createdAt' | 'finishedAt'
> {
  /** Encrypted. */
  request: Buffer;
  keys: readonly CallKey[];
}

/** As the log of calls shows it. */
export function showCall(call: StoredCall): WebhookCall {
  return {
    call_id: call.id,
    endpoint_id: call.endpointId,
    agent_id: call.agentId,
    delivery_id: call.deliveryId,
    mode: call.mode,
    status: call.status,
    user_id: call.userId,
    session_id: call.sessionId,
    metadata: call.metadata,
    callback_url: call.callbackUrl,
    error: call.error,
    created_at: call.createdAt.toISOString(),
    finished_at: call.finishedAt?.toISOString() ?? null,
  };
}
