import { rpcService } from '@gatehouse/grpc/rpc';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { MemoryServiceService } from '@gatehouse/proto/memory/v1/memory';
import { createJobs } from '@gatehouse/shell/background-jobs';
import { joined } from '@gatehouse/shell/feature';
import { participant } from '@gatehouse/shell/participant';
import { createPools } from '@gatehouse/shell/pools';
import { publishedChanges } from '@gatehouse/shell/published-changes';
import type { Service } from '@gatehouse/shell/service';
import { Shell, type ShellOverrides } from '@gatehouse/shell/shell';
import { indexOnly, migrations, type MemoryConfig } from './config.ts';
import { Splitter } from './documents/splitter.ts';
import { createDocuments } from './features/create-documents.ts';
import { createForgetting } from './features/create-forgetting.ts';
import { createGraph } from './features/create-graph.ts';
import { createImports } from './features/create-imports.ts';
import { createSearch } from './features/create-search.ts';
import { createTransfers } from './features/create-transfers.ts';
import { requestJobs, tasks } from './jobs/tasks.ts';
import { createPeers } from './clients/peers.ts';

/** Searches and writes of one tenant: it can't occupy all processes of the sandbox. */
const workInFlight = { perKey: 4, maxWaiting: 256 };

/** The memory service: documents, search and the knowledge graph of agents. Opens nothing before `start`. */
export async function createService(config: MemoryConfig, overrides: ShellOverrides = {}): Promise<Service> {
  const shell = await Shell.create('memory', config, overrides);
  const { DATABASE_URL: url, DATABASE_POOL: max } = config;
  const tenantPool = { role: 'memory_app', waits: 'tenants', settings: indexOnly } as const;
  const { app, system, rpc, jobs } = createPools(shell, {
    url,
    migrations,
    pools: {
      app: { ...tenantPool, max },
      system: { role: 'memory_system', waits: 'all', max: Math.min(3, Math.ceil(max / 2)) },
      // A separate pool: turns of agents wait for RPCs, which must not wait for uploads.
      rpc: { ...tenantPool, max },
      // Another one, so neither waits for a tenant's jobs and transfers.
      jobs: { ...tenantPool, max: Math.ceil(max / 2) },
    },
  });
  const peers = createPeers(shell, config);
  const changes = publishedChanges(shell, { config, app, system });
  const background = createJobs(shell, tasks, system);
  const requestJob = requestJobs(background.jobs);
  const splitter = new Splitter(shell.log);
  const work = new FairQueue(workInFlight);
  const ground = { app, system, rpc, jobs, peers, changes, splitter, work, requestJob };
  const documents = createDocuments(ground);
  const search = createSearch(ground);
  const graph = createGraph(ground);
  const imports = createImports(shell, ground);
  const forgetting = createForgetting(ground);
  const transfers = createTransfers(shell, ground);
  const worker = background.worker({ ...search.jobs, ...forgetting.jobs });
  const { parts, ...served } = joined([
    ...[documents, search, graph, { parts: changes.idempotency.parts }, imports],
    ...[{ parts: [worker] }, transfers, { parts: [{ stop: () => splitter.stop() }] }],
  ]);
  return shell.createService({
    handler: shell.createApp({ ...served, idempotency: changes.idempotency }),
    rpcs: [
      rpcService(MemoryServiceService, { ...search.rpcs, ...documents.rpcs, ...forgetting.rpcs }),
      participant(shell, { config, system, ...forgetting, transfers: transfers.rpcs }),
    ],
    parts,
  });
}
