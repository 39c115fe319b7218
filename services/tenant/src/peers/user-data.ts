import type { Peer } from '@gatehouse/grpc/client';
import type { AnalyticsServiceClient } from '@gatehouse/proto/analytics/v1/analytics';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import type { ForgetUser, Participant } from '../deletions/participants.ts';

export interface UserDataPeers {
  memory: Peer<MemoryServiceClient>;
  analytics: Peer<AnalyticsServiceClient>;
  chat: Peer<ChatServiceClient>;
}

/** A call may remove a batch. */
const context = { deadlineMs: 10_000 };

/** `ForgetUser` of every service that holds data of users. */
export function forgetUserAt({ memory, analytics, chat }: UserDataPeers): Record<Participant, ForgetUser> {
  return {
    memory: (request) => memory.call('forgetUser', request, context),
    analytics: (request) => analytics.call('forgetUser', request, context),
    chat: (request) => chat.call('forgetUser', request, context),
  };
}
