import { Changes } from '@gatehouse/changes/changes';
import { readAuditEvent } from '@gatehouse/events/audit-event';
import { EventIntake } from '@gatehouse/events/intake';
import { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import { rpcService } from '@gatehouse/grpc/rpc';
import { JobWorker } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { AnalyticsServiceClient } from '@gatehouse/proto/analytics/v1/analytics';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { TransferParticipantServiceClient } from '@gatehouse/proto/transfer/v1/transfer';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { WebhookServiceClient } from '@gatehouse/proto/webhook/v1/webhook';
import { TenantServiceService } from '@gatehouse/proto/tenant/v1/tenant';
import { publishedAlerts } from '@gatehouse/service/published-alerts';
import { createPools, forTenants } from '@gatehouse/service/pools';
import type { Service } from '@gatehouse/service/service';
import { Shell, type ShellOverrides } from '@gatehouse/service/shell';
import { migrations, type TenantConfig } from './config.ts';
import { shareAuditTopic } from './audit/audit-topic.ts';
import { changeRecorder } from './audit/change-recorder.ts';
import { deletionHandlers, deletionTasks } from './deletions/deletion-tasks.ts';
import { deletionUpkeep } from './deletions/deletion-upkeep.ts';
import { LastUse } from './keys/last-use.ts';
import { apiKeyHandlers } from './http/api-keys.ts';
import { limitHandlers } from './http/limits.ts';
import { ownerApiKeyHandlers } from './http/owner-api-keys.ts';
import { ownerAuditLogHandlers } from './http/owner-audit-log.ts';
import { ownerTenantHandlers } from './http/owner-tenants.ts';
import { transferHandlers } from './http/transfers.ts';
import { transferPreviewHandlers } from './http/transfer-previews.ts';
import { userDataHandlers } from './http/user-data.ts';
import { whoamiHandlers } from './http/whoami.ts';
import { limitCleanup } from './limits/limit-cleanup.ts';
import { MemoryUsageClient } from './peers/memory-usage.ts';
import { isBusyAt, runStepAt } from './peers/transfer-steps.ts';
import { describeTransferAt } from './peers/transfer-participants.ts';
import { forgetUserAt } from './peers/user-data.ts';
import { authenticate } from './rpc/authenticate.ts';
import { getTenantSettings } from './rpc/get-tenant-settings.ts';
import { lease } from './rpc/lease.ts';
import { recordAudit } from './rpc/record-audit.ts';
import { settle } from './rpc/settle.ts';
import { ApiKeyStore } from './store/api-key-store.ts';
import { ApiKeySystemStore } from './store/api-key-system-store.ts';
import { AuditLogSystemStore } from './store/audit-log-system-store.ts';
import { DeletionStore } from './store/deletion-store.ts';
import { DeletionSystemStore } from './store/deletion-system-store.ts';
import { deleteOldPreviews } from './store/preview-statements.ts';
import { LimitStore } from './store/limit-store.ts';
import { LeaseSystemStore } from './store/lease-system-store.ts';
import { TenantStore } from './store/tenant-store.ts';
import { TenantSystemStore } from './store/tenant-system-store.ts';
import { oldestTransfers, TransferSystemStore } from './store/transfer-system-store.ts';
import { carryOut, transferTask } from './transfers/carry-out.ts';
import { TransferParties } from './transfers/parties.ts';
import { transferUpkeep } from './transfers/transfer-upkeep.ts';

const expiring = { everyMs: 60_000, batch: 200 };

/** The tenant service: tenants, their API keys, limits and audit log. Opens nothing before `start`. */
export async function createTenantService(
  config: TenantConfig,
  overrides: ShellOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('tenant', config, overrides);
  const { log, registry } = shell;
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const half = Math.ceil(max / 2);
  const pools = createPools(shell, {
    url,
    migrations,
    pools: {
      system: { role: 'tenant_system', max },
      app: { role: 'tenant_app', max: forTenants(half) },
      // Separate pools: a slow list must not delay completions, which wait for settings and leases.
      settings: { role: 'tenant_app', max: half },
      lease: { role: 'tenant_system', max: half },
    },
  });
  const memory = shell.peer('memory', config.MEMORY_GRPC, MemoryServiceClient);
  const agent = shell.peer('agent', config.AGENT_GRPC, AgentServiceClient);
  const webhook = shell.peer('webhook', config.WEBHOOK_GRPC, WebhookServiceClient);
  const analytics = shell.peer('analytics', config.ANALYTICS_GRPC, AnalyticsServiceClient);
  const chat = shell.peer('chat', config.CHAT_GRPC, ChatServiceClient);
  const participants = {
    agent: shell.peer('agent', config.AGENT_GRPC, TransferParticipantServiceClient),
    memory: shell.peer('memory', config.MEMORY_GRPC, TransferParticipantServiceClient),
    webhook: shell.peer('webhook', config.WEBHOOK_GRPC, TransferParticipantServiceClient),
  };
  const apiKeys = new ApiKeyStore(pools.app);
  const apiKeysOfAll = new ApiKeySystemStore(pools.system);
  const tenants = new TenantSystemStore(pools.system);
  const auditLog = new AuditLogSystemStore(pools.system);
  const auditOutbox = new AuditOutbox('tenant');
  const recordChange = changeRecorder(config, auditOutbox);
  const intake = new EventIntake({
    read: readAuditEvent,
    store: (entries) => auditLog.takeIn(entries),
    keep: (letter) => auditLog.insertDeadLetter(letter),
    log,
    registry,
  });
  const lastUse = new LastUse({ touch: (id) => apiKeysOfAll.touch(id), log });
  const { app, system } = pools;
  const { raise } = publishedAlerts(shell, config, webhook);
  const leases = new LeaseSystemStore(pools.lease, { recordChange, raise });
  const changes = new Changes({
    service: 'tenant',
    app,
    system,
    keyRing: config.SECRETS_KEYRING,
    record: recordChange,
    log,
  });
  const { idempotency } = changes;
  const tasks = { ...deletionTasks, transfer: transferTask };
  const jobs = new Jobs({ service: 'tenant', tasks, system, log });
  const deletions = new DeletionStore(app, jobs);
  const deletionsOfAll = new DeletionSystemStore(system, jobs);
  const describe = describeTransferAt(participants);
  const parties = new TransferParties({ tenants, describe, app, system });
  const transfers = new TransferSystemStore(system, { jobs, record: recordChange, raise });
  shareAuditTopic(shell, { config, outbox: auditOutbox, intake });
  return shell.createService({
    handler: shell.createApp({
      handlers: {
        ...whoamiHandlers(),
        ...limitHandlers(new LimitStore(app), new MemoryUsageClient(memory)),
        ...apiKeyHandlers(apiKeys, changes),
        ...userDataHandlers({ deletions, jobs, keyRing: config.SECRETS_KEYRING, changes }),
        ...transferPreviewHandlers({ parties, changes }),
        ...transferHandlers({ parties, jobs, changes }),
        ...ownerTenantHandlers(tenants, changes),
        ...ownerAuditLogHandlers(auditLog),
        ...ownerApiKeyHandlers({ apiKeys: apiKeysOfAll, tenants, changes }),
      },
      idempotency,
    }),
    rpcs: [
      rpcService(TenantServiceService, {
        authenticate: authenticate({ apiKeys: apiKeysOfAll, lastUse }),
        getTenantSettings: getTenantSettings(new TenantStore(pools.settings)),
        lease: lease(leases),
        settle: settle(leases),
        recordAudit: recordAudit(intake),
      }),
    ],
    parts: [
      lastUse,
      new PeriodicWork({
        task: 'report keys that expire',
        log,
        everyMs: expiring.everyMs,
        round: async () => (await apiKeysOfAll.raiseExpiring(expiring.batch, raise)) === expiring.batch,
      }),
      ...transferUpkeep({
        resume: () => transfers.resume(),
        oldest: () => oldestTransfers(system),
        deleteOld: () => transfers.deleteOld(),
        deleteOldPreviews: () => deleteOldPreviews(system),
        log,
        registry,
      }),
      ...limitCleanup({
        deleteOld: () => leases.deleteOld(),
        findUnknownTimezones: () => leases.findUnknownTimezones(),
        log,
      }),
      ...deletionUpkeep({
        resume: () => deletionsOfAll.resume(),
        deleteOld: () => deletionsOfAll.deleteOld(),
        countOverdue: () => deletionsOfAll.countOverdue(),
        findOverdue: () => deletionsOfAll.findOverdue(),
        log,
        registry,
      }),
      new JobWorker({
        jobs,
        handlers: {
          ...deletionHandlers(deletions, forgetUserAt({ memory, analytics, chat, webhook, agent })),
          transfer: carryOut({
            record: transfers,
            runStep: runStepAt(participants),
            isBusy: isBusyAt(chat),
          }),
        },
        log,
        registry,
        drainTimeoutMs: config.DRAIN_TIMEOUT_MS,
      }),
      idempotency,
    ],
  });
}
