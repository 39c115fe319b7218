import { topics } from '@gatehouse/contract/services';
import type { Pool } from '@gatehouse/pg/pool';
import { eventSink, publishOutbox } from '@gatehouse/shell/outbox-publisher';
import type { UserDeletion } from '@gatehouse/shell/deletion-inbox';
import type { Shell } from '@gatehouse/shell/shell';
import type { ChatConfig } from '../config.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import { countOpenRuns } from './count-open-runs-rpc.ts';
import { ForgottenUsers } from './forgotten-users-job.ts';
import { Instance } from './instance-job.ts';
import { LateContents } from './late-contents-job.ts';
import { eventSource, RunOutbox } from './outbox-system-store.ts';
import { findOpenRun } from './orphan-system-store.ts';
import { Reaper, type ReaperOptions } from './reaper-job.ts';
import { RefusedRequestsPublisher } from '@gatehouse/events/refused-publisher';
import { RunPublisher } from './run-publisher-job.ts';
import { RunRecorder } from './run-recorder.ts';
import { RunTelemetry } from './run-telemetry.ts';
import { Settler, type SettlerOptions } from './settler-job.ts';
import { TokenCounter } from './token-counter.ts';
import { Vacuum } from './vacuum-job.ts';

export interface RecordingOptions
  extends Pick<SettlerOptions, 'instance' | 'leases' | 'limiter'>, Pick<ReaperOptions, 'alerts' | 'pricing'> {
  config: ChatConfig;
  system: Pool;
  /** Called when ends of runs have committed alerts. */
  committed: () => void;
  providers: Pick<ProviderRegistry, 'noteUnpriced'>;
  /** How long a deletion of a user is not complete, since runs may be written late. */
  forgetSettleMs?: number | undefined;
  /** How long a run's end waits for a count of tokens. */
  countWaitMs?: number | undefined;
}

/** This process among the replicas of chat, with a connection of its own for its heartbeat. */
export function createInstance(
  { connections, log }: Shell,
  { config: { DATABASE_URL: url }, system: pool }: Pick<RecordingOptions, 'config' | 'system'>,
): Instance {
  connections.add(url, 1);
  return new Instance({ pool, url, log });
}

/** The record of every run: commits, events for analytics, what is left of dead replicas, and charges of budgets. */
export async function createRecording(shell: Shell, options: RecordingOptions) {
  const { config, system: pool, instance, alerts, pricing, providers, leases, limiter } = options;
  const { forgetSettleMs: settleMs } = options;
  const { log, registry, tracer } = shell;
  const runOutbox = new RunOutbox();
  const target = { source: eventSource, config, topic: topics.usage, consumer: config.ANALYTICS_GRPC };
  publishOutbox(shell, { ...target, outbox: runOutbox, watermarks: true });
  const sink = eventSink(shell, target, { passesObjects: true });
  const publisher = new RunPublisher({ sink, log, registry });
  const refusals = new RefusedRequestsPublisher({ sink, source: eventSource, log });
  const onWaiting = (): void => runOutbox.committed();
  const onAlerts = options.committed;
  const recorder = new RunRecorder({ pool, instance, alerts, publisher, log, registry, onWaiting, onAlerts });
  const reaping = { pool, instance, recorder, pricing, alerts, log, registry };
  const reaper = new Reaper({ ...reaping, onWaiting, onAlerts });
  const countEnds = () => recorder.committedEnds;
  const settler = new Settler({ pool, leases, instance, limiter, log, registry, countEnds });
  const forgotten = new ForgottenUsers({ pool, log, settleMs });
  const telemetry = new RunTelemetry(registry, tracer, await shell.createMeter());
  telemetry.onUnpriced((model) => providers.noteUnpriced(model));
  return {
    recorder,
    telemetry,
    refusals: refusals.counts,
    forgetUser: (deletion: UserDeletion) => forgotten.forget(deletion),
    rpcs: { countOpenRuns: countOpenRuns(pool) },
    findOpenRun: (tenantId: string, runId: string) => findOpenRun(pool, tenantId, runId),
    parts: [
      new TokenCounter({ log, waitMs: options.countWaitMs }),
      ...[instance, settler, { start: () => publisher.start() }, recorder, reaper],
      // Stops before the recorder, which closes the sink.
      ...[new Vacuum({ pool, countEnds, log }), forgotten.part, new LateContents(pool, log).part, refusals],
    ],
  };
}
