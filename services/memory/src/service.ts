import { JobWorker } from '@gatehouse/jobs/job-worker';
import { Jobs } from '@gatehouse/jobs/jobs';
import { rpcService } from '@gatehouse/grpc/rpc';
import { Turns } from '@gatehouse/kit/turns';
import { AgentServiceClient } from '@gatehouse/proto/agent/v1/agent';
import { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { MemoryServiceService } from '@gatehouse/proto/memory/v1/memory';
import { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import { TransferParticipantServiceService } from '@gatehouse/proto/transfer/v1/transfer';
import { withTenant } from '@gatehouse/pg/pool';
import { runStep } from '@gatehouse/transfers/run-step';
import { transferUpkeep } from '@gatehouse/transfers/upkeep';
import { createPools, forTenants } from '@gatehouse/service/pools';
import { publishedChanges } from '@gatehouse/service/published-changes';
import type { Service } from '@gatehouse/service/service';
import { Shell, type ShellOverrides } from '@gatehouse/service/shell';
import { migrations, type MemoryConfig } from './config.ts';
import { Splitter } from './documents/splitter.ts';
import { documentHandlers } from './http/documents.ts';
import { extractHandlers } from './http/extract.ts';
import { graphHandlers } from './http/graph.ts';
import { movingHandlers } from './http/moving.ts';
import { limitedIndex, searchHandlers } from './http/search.ts';
import { copyHalfVectors } from './jobs/copy-half-vectors.ts';
import { embedPassages } from './jobs/embed.ts';
import { reindexPassages } from './jobs/reindex.ts';
import { removeMemory } from './jobs/remove.ts';
import { tasks } from './jobs/tasks.ts';
import { ImportSweep } from './moving/import-sweep.ts';
import { AgentClient } from './peers/agents.ts';
import { CompletionClient } from './peers/completions.ts';
import { Embedder } from './peers/embedder.ts';
import { MemoryLimitsClient } from './peers/memory-limits.ts';
import { agentDeleted } from './rpc/agent-deleted.ts';
import { callTool } from './rpc/call-tool.ts';
import { describeTransfer } from './rpc/describe-transfer.ts';
import { forgetUser } from './rpc/forget-user.ts';
import { getUsage } from './rpc/get-usage.ts';
import { recall } from './rpc/recall.ts';
import { remember } from './rpc/remember.ts';
import { MemorySearch, type IndexUpkeep } from './search/search.ts';
import { DocumentStore } from './store/documents/document-store.ts';
import { ExportStore } from './store/documents/export-store.ts';
import { ForgetStore } from './store/forgetting/forget-store.ts';
import { GraphStore } from './store/graph/graph-store.ts';
import { TraversalStore } from './store/graph/traversal-store.ts';
import { ImportStore } from './store/imports/import-store.ts';
import { ImportSystemStore } from './store/imports/import-system-store.ts';
import type { RequestJob } from './store/scopes/request-job.ts';
import { EmbeddingStore } from './store/search/embedding-store.ts';
import { HalfVectorStore } from './store/search/half-vector-store.ts';
import { ReindexStore } from './store/search/reindex-store.ts';
import { SearchStore } from './store/search/search-store.ts';
import { TransferStore } from './store/transfers/transfer-store.ts';
import { MemorySteps } from './transfers/memory-steps.ts';

export const indexOnly = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

/** Searches and writes of one tenant, so that it can't occupy all processes of the sandbox. */
const workInFlight = { perKey: 4, maxWaiting: 256 };

/** The memory service: documents, search and the knowledge graph of agents. Opens nothing before `start`. */
export async function createMemoryService(
  config: MemoryConfig,
  overrides: ShellOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('memory', config, overrides);
  const {
    app,
    system,
    rpc,
    jobs: background,
  } = createPools(shell, {
    url: config.DATABASE_URL,
    migrations,
    pools: {
      // Everything is found by an index; with statistics of an empty table PostgreSQL would scan and hash instead.
      app: { role: 'memory_app', max: forTenants(config.DATABASE_POOL), settings: indexOnly },
      system: { role: 'memory_system', max: Math.min(3, config.DATABASE_POOL) },
      // A separate pool: turns of agents wait for RPCs, which must not wait for uploads.
      rpc: { role: 'memory_app', max: forTenants(config.DATABASE_POOL), settings: indexOnly },
      // Another one, so that neither waits for what a tenant's jobs and transfers do.
      jobs: { role: 'memory_app', max: Math.ceil(config.DATABASE_POOL / 2), settings: indexOnly },
    },
  });
  const agent = shell.peer('agent', config.AGENT_GRPC, AgentServiceClient);
  const chat = shell.peer('chat', config.CHAT_GRPC, ChatServiceClient);
  const tenant = shell.peer('tenant', config.TENANT_GRPC, TenantServiceClient);
  const changes = publishedChanges(shell, { config, app, system, tenant });
  const { idempotency } = changes;
  const agents = new AgentClient(agent);
  const limits = new MemoryLimitsClient(tenant);
  const limitsOf = (tenantId: string) => limits.of(tenantId);
  const splitter = new Splitter(shell.log);
  const embedder = new Embedder(chat, shell.signer);
  const jobs = new Jobs({ service: 'memory', tasks, system, log: shell.log });
  const requestJob =
    (task: keyof typeof tasks): RequestJob =>
    async (db, { tenantId, agentId }, runAt) => {
      await jobs.add(db, { task, tenantId, ids: { agentId }, key: agentId, ...(runAt && { runAt }) });
    };
  const requestEmbeddings = requestJob('embed');
  const embeddings = new EmbeddingStore(rpc);
  const reindexing = new ReindexStore(rpc);
  const upkeep: IndexUpkeep = {
    noteModel: async (key, model) => {
      await embeddings.noteModel(key, model, requestEmbeddings);
    },
    noteAnalyser: (key) => reindexing.noteAnalyser(key, requestJob('reindex')),
    copyVectors: (key) => withTenant(rpc, key.tenantId, (db) => requestJob('copy_half_vectors')(db, key)),
  };
  const transferSteps = new MemorySteps({
    limitsOf,
    requestEmbeddings,
    requestReindex: requestJob('reindex'),
    requestRemoval: requestJob('remove'),
  });
  const work = new Turns(workInFlight);
  const search = new MemorySearch(limitedIndex(new SearchStore(app), work), upkeep);
  const recalling = new MemorySearch(new SearchStore(rpc), upkeep);
  const forgetting = new ForgetStore(app);
  const removing = new ForgetStore(background);
  const graphs = new GraphStore(app);
  const imports = new ImportStore(app);
  const leftImports = new ImportStore(background);
  const unfinished = new ImportSystemStore(system);
  const sweep = new ImportSweep({
    unfinished: (limit) => unfinished.unfinished(limit),
    discard: (ref, options) => leftImports.discard(ref, options),
    finish: (ref, state, signal) => leftImports.finish(ref, state, signal),
    log: shell.log,
  });
  return shell.createService({
    handler: shell.createApp({
      handlers: {
        ...documentHandlers({
          agents,
          documents: new DocumentStore(app),
          graphs,
          forgetting,
          splitter,
          changes,
          requestEmbeddings,
          limits,
          work,
        }),
        ...searchHandlers({ agents, search, embedder }),
        ...graphHandlers({
          agents,
          graphs,
          traversals: new TraversalStore(app),
          changes,
          work,
          limitsOf,
        }),
        ...extractHandlers({ agents, completions: new CompletionClient(chat), changes, work, limitsOf }),
      },
      rawHandlers: movingHandlers({
        agents,
        exports: new ExportStore(app),
        imports,
        sweep,
        splitter,
        changes,
        limits,
        requestEmbeddings,
        log: shell.log,
      }),
      idempotency,
    }),
    rpcs: [
      rpcService(MemoryServiceService, {
        recall: recall(recalling, embedder),
        callTool: callTool({ search: recalling, embedder, traversals: new TraversalStore(rpc) }),
        remember: remember(rpc, { limits, requestEmbeddings }),
        agentDeleted: agentDeleted(removing),
        forgetUser: forgetUser(removing),
        getUsage: getUsage(rpc),
      }),
      rpcService(TransferParticipantServiceService, {
        describe: describeTransfer(new TransferStore(app), limits),
        runStep: runStep({ service: 'memory', app: background, steps: transferSteps.steps }),
      }),
    ],
    parts: [
      idempotency,
      sweep,
      new JobWorker({
        jobs,
        handlers: {
          embed: embedPassages(new EmbeddingStore(background), embedder, (key, runAt) =>
            withTenant(background, key.tenantId, (db) => requestEmbeddings(db, key, runAt)),
          ),
          reindex: reindexPassages(new ReindexStore(background)),
          copy_half_vectors: copyHalfVectors(new HalfVectorStore(background)),
          remove: removeMemory(removing),
        },
        log: shell.log,
        registry: shell.registry,
        drainTimeoutMs: config.DRAIN_TIMEOUT_MS,
      }),
      transferUpkeep('memory', { system, log: shell.log }),
      { stop: () => splitter.stop() },
    ],
  });
}
