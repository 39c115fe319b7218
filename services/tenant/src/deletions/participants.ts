import type { UserDeletionEvent } from '@gatehouse/events/deletion-event';

/**
 * The services that hold data of users and take deletions of them, in the order of the API's answers. To add one, add it
 * here and its address in `deletion-events.ts`.
 */
export const participants = ['memory', 'analytics', 'chat', 'webhook', 'agent'] as const;
export type Participant = (typeof participants)[number];

/** Publishes a deletion to one service. Throws during an outage. */
export type SendDeletion = (deletion: UserDeletionEvent & { service: Participant }) => Promise<void>;
