/**
 * The services that hold data of users and serve `ForgetUser`, in the order of the API's answers. To add one, add it
 * here and its client in `shared/peers.ts`.
 */
export const participants = ['memory', 'analytics', 'chat', 'webhook', 'agent'] as const;
export type Participant = (typeof participants)[number];

export interface ForgetRequest {
  tenantId: string;
  userId: string;
  deletionId: string;
  /** Milliseconds since the epoch: what the user did before that time is to be removed. */
  requestedAtMs: bigint;
}

export interface Forgotten {
  /** Counts of what this call has removed, by kind. */
  counts: Readonly<Record<string, bigint>>;
  /** False when more is to be removed: call again. */
  completed: boolean;
}

/** Calls one service. Throws while it is unavailable. */
export type ForgetUser = (service: Participant, request: ForgetRequest) => Promise<Forgotten>;
