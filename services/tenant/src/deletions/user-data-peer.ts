import type { Participants } from '../shared/clients.ts';
import type { ForgetUser } from './participants.ts';

/** A call may remove a batch. */
const context = { deadlineMs: 10_000 };

/** `ForgetUser` of every service that holds data of users. */
export function forgetUserAt(participants: Participants): ForgetUser {
  return (service, request) => participants[service].call('forgetUser', request, context);
}
