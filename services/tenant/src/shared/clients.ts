import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { AnalyticsServiceClient } from '@gatehouse/proto/analytics/v1/analytics';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { ParticipantServiceClient } from '@gatehouse/proto/participant/v1/participant';
import { SystemServiceClient } from '@gatehouse/proto/system/v1/system';
import { publishedAlerts } from '@gatehouse/shell/published-alerts';
import type { Shell } from '@gatehouse/shell/shell';
import type { TenantConfig } from '../config.ts';

/** The called services, and the publisher of subscribers' events, which webhook takes. */
export function createClients(shell: Shell, config: TenantConfig) {
  const { raise } = publishedAlerts(shell, config);
  return {
    raise,
    agent: shell.peer('agent', config.AGENT_GRPC, AgentServiceClient),
    memory: shell.peer('memory', config.MEMORY_GRPC, MemoryServiceClient),
    chat: shell.peer('chat', config.CHAT_GRPC, ChatServiceClient),
    analytics: shell.peer('analytics', config.ANALYTICS_GRPC, AnalyticsServiceClient),
    participants: {
      memory: shell.peer('memory', config.MEMORY_GRPC, ParticipantServiceClient),
      webhook: shell.peer('webhook', config.WEBHOOK_GRPC, ParticipantServiceClient),
      agent: shell.peer('agent', config.AGENT_GRPC, ParticipantServiceClient),
    },
    systems: {
      chat: shell.peer('chat', config.CHAT_GRPC, SystemServiceClient),
      analytics: shell.peer('analytics', config.ANALYTICS_GRPC, SystemServiceClient),
      agent: shell.peer('agent', config.AGENT_GRPC, SystemServiceClient),
      memory: shell.peer('memory', config.MEMORY_GRPC, SystemServiceClient),
      webhook: shell.peer('webhook', config.WEBHOOK_GRPC, SystemServiceClient),
    },
  };
}

/** The other services with a database. Operators see their state. */
export type Systems = ReturnType<typeof createClients>['systems'];

/** Services with a part in transfers. */
export type Participants = ReturnType<typeof createClients>['participants'];
