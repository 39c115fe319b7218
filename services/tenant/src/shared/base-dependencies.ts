import type { Changes, RecordChange } from '@gatehouse/audited-changes/changes';
import type { RpcClient } from '@gatehouse/grpc/client';
import type { Pool } from '@gatehouse/pg/pool';
import type { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import type { AnalyticsServiceClient } from '@gatehouse/proto/analytics/v1/analytics';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import type { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import type { TenantConfig } from '../config.ts';

/** Dependencies shared by the features of the service. The pools but `app` act as `tenant_system`. */
export interface BaseDependencies {
  config: TenantConfig;
  keyRing: KeyRing;
  /** For work of one tenant, as `tenant_app`. */
  app: Pool;
  /** For work on all tenants. */
  system: Pool;
  /** For work of one tenant or person with a proved key, login or session. */
  proved: Pool;
  /** For leases: a slow list must not delay completions, which wait for them. */
  lease: Pool;
  /** For logins, and other unproved requests. */
  logins: Pool;
  /** For look-ups of known keys and settings, of many tenants at once. */
  known: Pool;
  /** For keys and sessions possibly made up by clients. */
  unknown: Pool;
  changes: Changes;
  recordChange: RecordChange;
  raise: RaiseAlert;
  agent: RpcClient<AgentServiceClient>;
  memory: RpcClient<MemoryServiceClient>;
  chat: RpcClient<ChatServiceClient>;
  analytics: RpcClient<AnalyticsServiceClient>;
}
