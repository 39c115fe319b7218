import type { Peer } from '@gatehouse/grpc/client';
import type { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import type { AnalyticsServiceClient } from '@gatehouse/proto/analytics/v1/analytics';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import type { WebhookServiceClient } from '@gatehouse/proto/webhook/v1/webhook';
import type { ForgetUser, Participant } from './participants.ts';

export interface UserDataPeers {
  memory: Peer<MemoryServiceClient>;
  analytics: Peer<AnalyticsServiceClient>;
  chat: Peer<ChatServiceClient>;
  webhook: Peer<WebhookServiceClient>;
  agent: Peer<AgentServiceClient>;
}

/** A call may remove a batch. */
const context = { deadlineMs: 10_000 };

/** `ForgetUser` of every service that holds data of users. */
export function forgetUserAt({
  memory,
  analytics,
  chat,
  webhook,
  agent,
}: UserDataPeers): Record<Participant, ForgetUser> {
  return {
    memory: (request) => memory.call('forgetUser', request, context),
    analytics: (request) => analytics.call('forgetUser', request, context),
    chat: (request) => chat.call('forgetUser', request, context),
    webhook: (request) => webhook.call('forgetUser', request, context),
    agent: (request) => agent.call('forgetUser', request, context),
  };
}
