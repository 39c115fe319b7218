import type { CallStatus, ChannelDelivery, WebhookCall } from '@gatehouse/contract/webhook-calls';
import type { DeliverTo } from '@gatehouse/contract/webhook-endpoints';
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
  /** The conversation for the answer, beside the response. */
  deliverTo: DeliverTo | null;
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

/** The reasons for an answer missing in its conversation. `not_stored`: every attempt to queue it failed. */
const failures = {
  call_failed: 'The call failed.',
  no_channel: 'The channel does not exist any more.',
  no_text: 'The answer has no text.',
  conversation_full: 'Too many messages wait in the conversation.',
  not_stored: 'The answer could not be stored as messages of the conversation.',
  rejected: 'The channel did not take the answer. Messages of the conversation have the status failed.',
} as const;
export type FailedChannelDelivery = keyof typeof failures;

/** The answer of a call in a conversation of a channel. */
export interface StoredChannelDelivery {
  deliverTo: DeliverTo;
  state: 'pending' | 'delivered' | FailedChannelDelivery;
}

/** The delivery to a channel as clients see it. */
export function showChannelDelivery({ deliverTo, state }: StoredChannelDelivery): ChannelDelivery {
  if (state === 'pending' || state === 'delivered') return { ...deliverTo, status: state, reason: null };
  return { ...deliverTo, status: 'failed', reason: failures[state] };
}
