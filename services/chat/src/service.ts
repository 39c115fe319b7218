import { rpcService } from '@gatehouse/grpc/rpc';
import { ChatServiceService } from '@gatehouse/proto/chat/v1/chat';
import { joined } from '@gatehouse/shell/feature';
import { participant } from '@gatehouse/shell/participant';
import type { Service } from '@gatehouse/shell/service';
import { Shell } from '@gatehouse/shell/shell';
import { createAlerts } from './alerts/create-alerts.ts';
import { createBatches } from './batches/create-batches.ts';
import { createCatalogue } from './catalogue/create-catalogue.ts';
import { createCompletions } from './completions/create-completions.ts';
import { migrations, type ChatConfig, type ChatOverrides } from './config.ts';
import { createKeptResponses } from './kept-responses/create-kept-responses.ts';
import { createLimits } from './limits/create-limits.ts';
import { createMemory } from './memory/create-memory.ts';
import { createProviders } from './providers/create-providers.ts';
import { createRecording } from './recording/create-recording.ts';
import { rewrapColumns } from './sealed-columns.ts';
import { createPeers } from './shared/peers.ts';
import { createChatPools } from './shared/pools.ts';
import { TenantSettingsClient } from './shared/tenant-settings-peer.ts';

/** The chat service: completions, embeddings, models, and the record of every run. Nothing is opened before `start`. */
export async function createService(
  config: ChatConfig,
  { silenceMs, recallBudgetMs, forgetSettleMs, ...overrides }: ChatOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('chat', config, overrides);
  const { DRAIN_TIMEOUT_MS: drainTimeoutMs, catalogue } = config;
  const { system, app } = createChatPools(shell, migrations, config);
  const peers = createPeers(shell, config);
  const settings = new TenantSettingsClient(peers.tenant, peers.changes);
  const ground = { config, app, system, peers, settings };
  const { agents, pricing, ...models } = await createCatalogue(shell, {
    ...{ ...ground, everyMs: overrides.catalogueEveryMs },
    replaceProviders: (read) => ofProviders.providers.replaceBy(read),
    onReplaced: (providers) => telemetry.keepProviders(providers),
    onInvalid: (invalid) => alerts.catalogueInvalid(invalid),
  });
  const { alerts, committed, ...ofAlerts } = createAlerts(shell, ground);
  const instanceId = (): string => recording.instance.id;
  const limits = createLimits(shell, {
    peers,
    holderId: instanceId,
    onRefused: (tenantId, error) => alerts.refused(tenantId, error),
  });
  const ofProviders = createProviders(shell, { ...ground, alerts, pricing, instanceId });
  const ofRuns = { ...ground, ...ofProviders, alerts, committed, pricing, ...limits, forgetSettleMs };
  const recording = await createRecording(shell, ofRuns);
  const { recorder, telemetry, instance } = recording;
  const memory = createMemory(shell, { peers, telemetry, drainTimeoutMs, recallBudgetMs });
  const work = { ...ground, catalogue, pricing, telemetry, ...limits, ...ofProviders };
  const { responses, ...kept } = createKeptResponses(shell, work);
  const completions = createCompletions(shell, {
    ...{ app, system, keyRing: config.SECRETS_KEYRING, instance, peers, silenceMs },
    turns: { ...work, ...memory, agents, recorder, responses },
  });
  const ofBatches = { ...work, alerts, instance, pace: overrides.batchPace };
  const { idempotency, ...batches } = createBatches(shell, ofBatches);
  // Ends of runs are stored before turns are remembered, whatever the time that is left.
  const sealed = { system, keyRing: config.SECRETS_KEYRING };
  const ofTurns = [memory, recording, kept, completions, batches, rewrapColumns(shell, sealed)];
  const { parts, ...served } = joined([models, ofAlerts, ofProviders, ...ofTurns]);
  const rpcs = { ...models.rpcs, ...ofProviders.rpcs, ...recording.rpcs, ...completions.rpcs };
  return shell.createService({
    handler: shell.createApp({ ...served, idempotency }),
    rpcs: [rpcService(ChatServiceService, rpcs), participant(recording)],
    parts,
  });
}
