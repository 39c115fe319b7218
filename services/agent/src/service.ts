import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { observeEgress } from '@gatehouse/egress/metrics';
import { PeriodicWork } from '@gatehouse/kit/background-loop';
import { rpcService } from '@gatehouse/grpc/rpc';
import { JobWorker } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import { ConsentTickets } from '@gatehouse/keyless/consent-tickets';
import { Refusals } from '@gatehouse/keyless/refusals';
import { AgentServiceService } from '@gatehouse/proto/agent/v1/agent';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { TransferParticipantServiceService } from '@gatehouse/proto/transfer/v1/transfer';
import { WebhookServiceClient } from '@gatehouse/proto/webhook/v1/webhook';
import { resealing } from '@gatehouse/secrets/resealing';
import { runStep } from '@gatehouse/transfers/run-step';
import { transferUpkeep } from '@gatehouse/transfers/upkeep';
import { createPools, forTenants } from '@gatehouse/service/pools';
import { publishedAlerts } from '@gatehouse/service/published-alerts';
import { publishedChanges } from '@gatehouse/service/published-changes';
import type { Service } from '@gatehouse/service/service';
import { Shell, type ShellOverrides } from '@gatehouse/service/shell';
import { migrations, type AgentConfig } from './config.ts';
import { agentTasks, forgetAgent, type DeletedAgent } from './agents/forget-agent-job.ts';
import { agentHandlers } from './agents/agent-handlers.ts';
import { cookieHandlers } from './cookies/cookie-handlers.ts';
import { consentLinkHandlers, consentPageHandlers } from './consents/consent-handlers.ts';
import { serverHandlers } from './servers/server-handlers.ts';
import { McpRegistry } from './mcp/mcp-registry.ts';
import { McpConsents } from './consents/mcp-consents.ts';
import { Logins } from './logins/logins.ts';
import { observeMcp } from './mcp/mcp-metrics.ts';
import { OAuthClient } from './mcp/oauth-client.ts';
import { accessOf } from './logins/access-of.ts';
import { ServerSecrets } from './logins/server-secrets.ts';
import { OfferedTools } from './tools/offered-tools.ts';
import { Verification } from './servers/verification.ts';
import { PageTexts } from './web/page-texts.ts';
import { WebFetch } from './web/web-fetch.ts';
import { forgetMemoryAt } from './agents/memory-peer.ts';
import { ModelClient } from './agents/model-peer.ts';
import { callTool } from './tools/call-tool-rpc.ts';
import { describeTransfer } from './transfers/describe-transfer-rpc.ts';
import { forgetUser } from './forgetting/forget-user-rpc.ts';
import { listVisibleAgents } from './agents/list-visible-agents-rpc.ts';
import { listTools } from './tools/list-tools-rpc.ts';
import { resolveAgent } from './agents/resolve-agent-rpc.ts';
import { SealedColumn } from './secrets/sealed-column.ts';
import { secretsToReseal } from './secrets/resealing-job.ts';
import { AgentStore } from './agents/agent-store.ts';
import { CookieStore, deleteOldCookies } from './cookies/cookie-store.ts';
import { LoginStore } from './logins/login-store.ts';
import { ServerStore } from './servers/server-store.ts';
import { storeLogin } from './consents/consent-store.ts';
import { TransferStore } from './transfers/transfer-store.ts';
import { AgentSteps } from './transfers/run-step-rpc.ts';

const tenMinutesMs = 600_000;
const batch = 500;
/** Calls to MCP servers, whose sessions each hold one more; many tenants may use the same host. */
const maxCalls = { all: 1_024, tenant: 128, origin: 512, tenantAtOrigin: 128 };

/** The agent service: the agents of tenants, their visibility, and what users give to them. Opens nothing before `start`. */
export async function createAgentService(
  config: AgentConfig,
  overrides: ShellOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('agent', config, overrides);
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const half = Math.ceil(max / 2);
  const { app, system, rpc } = createPools(shell, {
    url,
    migrations,
    pools: {
      app: { role: 'agent_app', max: forTenants(half) },
      system: { role: 'agent_system', max: half },
      // A separate pool: completions wait for RPCs, which must not wait for a slow list.
      rpc: { role: 'agent_app', max: forTenants(max) },
    },
  });
  const chat = shell.peer('chat', config.CHAT_GRPC, ChatServiceClient);
  const memory = shell.peer('memory', config.MEMORY_GRPC, MemoryServiceClient);
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const webhook = shell.peer('webhook', config.WEBHOOK_GRPC, WebhookServiceClient);
  const changes = publishedChanges(shell, { config, app, system, tenant });
  const { idempotency } = changes;
  const { log, registry } = shell;
  const jobs = new Jobs({ service: 'agent', tasks: agentTasks, system, log });
  const addForgetJob = ({ tenantId, agentId }: DeletedAgent) =>
    jobs.add(system, { task: 'forget_agent', tenantId, ids: { agentId } });
  const { SECRETS_KEYRING: keyRing, PUBLIC_URL: publicUrl } = config;
  const cookies = new CookieStore(app);
  const agents = new AgentStore(app);
  const guard = new Guard(config.EGRESS_ALLOW);
  const egress = new Egress({ guard, maxCalls });
  observeEgress(registry, { tenants: egress });
  const { raise } = publishedAlerts(shell, config, webhook);
  const servers = new ServerStore(app, raise);
  const serverSecrets = new ServerSecrets(keyRing);
  const oauth = new OAuthClient({ egress, guard, publicUrl });
  const loginStore = new LoginStore(app, raise);
  const column = new SealedColumn(keyRing, 'mcp_logins');
  const logins = new Logins({ store: loginStore, column, oauth, serverSecrets, log });
  const mcp = new McpRegistry({
    ...{ egress, record: servers, lists: loginStore, log },
    accessOf: accessOf(logins, serverSecrets),
  });
  observeMcp(registry, mcp);
  const agentsOfRpcs = new AgentStore(rpc);
  const values = new SealedColumn(keyRing, 'cookies');
  const pages = new PageTexts(log);
  const cookiesOfRpcs = new CookieStore(rpc);
  const webFetch = new WebFetch({
    cookies: async (owner, domains) =>
      (await cookiesOfRpcs.findOf(owner, domains)).map((cookie) => ({
        ...cookie,
        value: values.open({ tenantId: owner.tenantId, id: cookie.id }, cookie.value),
      })),
    ...{ egress, pages },
  });
  const loginsOfRpcs = new LoginStore(rpc, raise);
  const servedFrom = new ServerStore(rpc, raise);
  const offered = new OfferedTools({
    headsOf: (of, owner) => loginsOfRpcs.findListHeads(owner, of),
    textsOf: (server) => servedFrom.findTexts(server),
    textsFor: (server, user) => loginsOfRpcs.findTexts(server, user),
  });
  const tools = { agents: agentsOfRpcs, servers: servedFrom, offered, registry: mcp, webFetch };
  const agentSteps = new AgentSteps({
    servers: new SealedColumn(keyRing, 'mcp_servers'),
    logins: new SealedColumn(keyRing, 'mcp_logins'),
  });
  const refusals = new Refusals({ service: 'agent', system, log });
  const tickets = new ConsentTickets({ service: 'agent', app, system, keyRing, log });
  const kind = new McpConsents({
    findServer: (tenantId, id) => servers.find(tenantId, id),
    store: storeLogin(app, changes),
    ...{ tickets, logins, oauth, registry: mcp, log },
  });
  return shell.createService({
    handler: shell.createApp({
      handlers: {
        ...agentHandlers({ agents, models: new ModelClient(chat), changes, jobs }),
        ...cookieHandlers({ agents, cookies, app, values }),
        ...serverHandlers({
          verification: new Verification(mcp, oauth),
          ...{ servers, registry: mcp, lists: loginStore, guard, secrets: serverSecrets, changes },
        }),
        ...consentLinkHandlers({ servers, tickets, logins, changes, publicUrl }),
      },
      rawHandlers: consentPageHandlers({ kind, tickets, refusals, publicUrl }),
      idempotency,
    }),
    rpcs: [
      rpcService(AgentServiceService, {
        resolveAgent: resolveAgent(agentsOfRpcs),
        listVisibleAgents: listVisibleAgents(agentsOfRpcs),
        listTools: listTools(tools),
        callTool: callTool(tools),
        forgetUser: forgetUser(cookies, loginStore),
      }),
      rpcService(TransferParticipantServiceService, {
        describe: describeTransfer(new TransferStore(app)),
        runStep: runStep({ service: 'agent', app, steps: agentSteps.steps }),
      }),
    ],
    parts: [
      new JobWorker({
        jobs,
        handlers: {
          forget_agent: forgetAgent({ forgetMemory: forgetMemoryAt(memory), again: addForgetJob }),
        },
        log,
        registry,
        drainTimeoutMs: config.DRAIN_TIMEOUT_MS,
      }),
      idempotency,
      mcp,
      pages,
      egress,
      refusals,
      tickets,
      resealing(secretsToReseal({ app, system }, keyRing, log)),
      new PeriodicWork({
        task: 'delete old cookies',
        log,
        everyMs: tenMinutesMs,
        round: async () => (await deleteOldCookies(system, batch)) === batch,
      }),
      transferUpkeep('agent', { system, log }),
    ],
  });
}
