import { loadConfig as loadAgentConfig } from '@gatehouse/service-agent/config';
import { loadConfig as loadAnalyticsConfig } from '@gatehouse/service-analytics/config';
import { loadConfig as loadChatConfig } from '@gatehouse/service-chat/config';
import { loadConfig as loadEdgeConfig } from '@gatehouse/service-edge/config';
import { loadConfig as loadMemoryConfig } from '@gatehouse/service-memory/config';
import { loadConfig as loadTenantConfig } from '@gatehouse/service-tenant/config';
import { loadConfig as loadWebhookConfig } from '@gatehouse/service-webhook/config';

export type Environment = Record<string, string>;

/** How each service reads its settings: throws on what is missing or wrong, and leaves out what it does not know. */
export const settingsOf: Readonly<Record<string, (environment: Environment) => object | Promise<object>>> = {
  agent: loadAgentConfig,
  analytics: loadAnalyticsConfig,
  chat: loadChatConfig,
  edge: loadEdgeConfig,
  memory: loadMemoryConfig,
  tenant: loadTenantConfig,
  webhook: loadWebhookConfig,
};
