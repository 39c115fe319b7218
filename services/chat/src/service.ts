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
import { createStoredResponses } from './stored-responses/create-stored-responses.ts';
import { createLimits } from './limits/create-limits.ts';
import { createMemory } from './memory/create-memory.ts';
import { createProviders } from './providers/create-providers.ts';
import { createInstance, createRecording } from './recording/create-recording.ts';
import { rewrapColumns } from './sealed-columns.ts';
import { createPeers } from './shared/peers.ts';
import { createChatPools } from './shared/pools.ts';
import { createStops } from './stops/create-stops.ts';

/** The chat service: completions, embeddings, models, and the record of every run. Nothing is opened before `start`. */
export async function createService(
  config: ChatConfig,
  { silenceMs, recallBudgetMs, forgetSettleMs, countWaitMs, ...overrides }: ChatOverrides = {},
): Promise<Service> {
  const shell = await Shell.create('chat', config, overrides);
  const { DRAIN_TIMEOUT_MS: drainTimeoutMs, SECRETS_KEYRING: keyRing, catalogue } = config;
  const { system, app } = createChatPools(shell, migrations, config);
  const peers = createPeers(shell, config);
  const { settings, findUser } = peers;
  const base = { config, app, system, peers, settings, findUser };
  const instance = createInstance(shell, base);
  const { alerts, committed, ...alertParts } = createAlerts(shell, base);
  const { agents, pricing, onReplace, ...models } = await createCatalogue(shell, {
    ...{ ...base, everyMs: overrides.catalogueEveryMs },
    onInvalid: (invalid) => alerts.catalogueInvalid(invalid),
  });
  const limits = createLimits(shell, {
    ...{ peers, instance },
    onRefused: (tenantId, error) => alerts.refused(tenantId, error),
  });
  const providerDeps = { ...base, alerts, pricing, instance };
  const { providers, answers, ...providerParts } = createProviders(shell, providerDeps);
  onReplace((read) => providers.replaceBy(read));
  const work = { ...base, ...limits, instance, alerts, pricing, providers };
  const recordingDeps = { ...work, committed, forgetSettleMs, countWaitMs };
  const { recorder, telemetry, refusals, ...recording } = await createRecording(shell, recordingDeps);
  const memory = createMemory(shell, { peers, telemetry, drainTimeoutMs, recallBudgetMs });
  const { responses, ...storedResponses } = createStoredResponses(shell, base);
  const { findOpenRun } = recording;
  const { stops, idempotency, ...runStops } = createStops(shell, { ...base, findOpenRun });
  const { guardrails, ...completions } = createCompletions(shell, {
    ...{ config, app, system, instance, peers, silenceMs, refusals, alerts, ...memory },
    turns: { ...work, catalogue, answers, telemetry, agents, recorder, responses, stops },
  });
  const batchDeps = { ...work, guardrails, catalogue, telemetry, stops, idempotency };
  const batches = createBatches(shell, { ...batchDeps, pace: overrides.batchPace });
  const rewrap = rewrapColumns(shell, { system, keyRing });
  // Ends of runs are stored before turns are remembered, however much time is left.
  const turnParts = [memory, recording, storedResponses, runStops, completions, batches, rewrap];
  const { parts, ...served } = joined([models, alertParts, providerParts, ...turnParts]);
  const rpcs = { ...models.rpcs, ...providerParts.rpcs, ...recording.rpcs, ...completions.rpcs };
  return shell.createService({
    handler: shell.createApp({ ...served, idempotency }),
    rpcs: [rpcService(ChatServiceService, rpcs), participant(shell, { config, system, ...recording })],
    parts,
  });
}
