import type { ProviderDeployment } from '@gatehouse/contract/owner-providers';
import { deploymentName, type Model } from '../catalogue/catalogue.ts';
import { noCalls, quantile, sumOf, type CallCounts } from './call-window.ts';
import type { CooldownReason } from './cooldowns.ts';

/** A key of a deployment as one replica sees it. */
export interface KeyState {
  position: number;
  reason: CooldownReason | null;
  /** Null unless the key rests. */
  restsForMs: number | null;
}

/** A deployment as one replica sees it. */
export interface DeploymentState {
  /** As `deploymentName` has it. */
  name: string;
  /** Whether its breaker is open for all tenants, and for how many others. */
  isOpen: boolean;
  openTenants: number;
  keys: readonly KeyState[];
  calls: CallCounts;
}

/** The deployments in use at one replica, and the time of its report, in milliseconds since the epoch. */
export interface Report {
  deployments: readonly DeploymentState[];
  reportedAt: number;
}

/** Whether a state says more than the absence of calls. */
export function isInUse({ isOpen, openTenants, keys, calls }: DeploymentState): boolean {
  return isOpen || openTenants > 0 || calls.calls > 0 || keys.some(({ reason }) => reason !== null);
}

/** A deployment of the catalogue, with the ids of its models. */
export interface CatalogueDeployment {
  deployment: Model;
  models: readonly string[];
  /** Positions of its provider's keys. */
  keys: readonly number[];
}

/** Calls of a deployment, and those without a price. */
export interface Calls {
  calls: number;
  unpriced: number;
}

/** The calls of each deployment over all replicas, by its name. */
export function callsOf(reports: readonly Report[]): (name: string) => Calls {
  const byName = new Map<string, Calls>();
  for (const { name, calls } of reports.flatMap(({ deployments }) => deployments)) {
    const known = byName.get(name) ?? { calls: 0, unpriced: 0 };
    byName.set(name, {
      calls: known.calls + calls.calls,
      unpriced: known.unpriced + calls.unpriced,
    });
  }
  return (name) => byName.get(name) ?? { calls: 0, unpriced: 0 };
}

/** Joins what all replicas see of each deployment of the catalogue. */
export function joinedReports(
  reports: readonly Report[],
): (listed: CatalogueDeployment) => ProviderDeployment {
  const byName = new Map<string, (DeploymentState & Pick<Report, 'reportedAt'>)[]>();
  for (const { deployments, reportedAt } of reports)
    for (const state of deployments)
      byName.set(state.name, [...(byName.get(state.name) ?? []), { ...state, reportedAt }]);
  return ({ deployment, models, keys }) => {
    const states = byName.get(deploymentName(deployment)) ?? [];
    const { calls, errors, firstByte, duration, outputTokens, answerMs } = sumOf([
      noCalls(),
      ...states.map((state) => state.calls),
    ]);
    return {
      provider: deployment.provider.name,
      upstream_model: deployment.upstreamModel,
      models: [...models],
      breaker: breakerOf(states, reports.length),
      keys: keys.map((position) => keyOf(position, states)),
      ...{ calls, errors },
      first_byte_ms: quantilesOf(firstByte),
      duration_ms: quantilesOf(duration),
      tokens_per_second: answerMs === 0 ? null : Math.round((outputTokens / answerMs) * 10_000) / 10,
    };
  };
}

function breakerOf(states: readonly DeploymentState[], replicas: number): ProviderDeployment['breaker'] {
  const open = states.filter(({ isOpen }) => isOpen).length;
  if (open > 0 && open >= replicas) return 'open';
  return open > 0 || states.some(({ openTenants }) => openTenants > 0) ? 'open_for_some' : 'closed';
}

function keyOf(
  position: number,
  states: readonly (DeploymentState & Pick<Report, 'reportedAt'>)[],
): ProviderDeployment['keys'][number] {
  const rests = states.flatMap(({ keys, reportedAt }) =>
    keys
      .filter((key) => key.position === position && key.reason !== null)
      .map(({ reason, restsForMs }) => ({ reason, until: reportedAt + (restsForMs ?? 0) })),
  );
  if (rests.length === 0) return { position, status: 'active', rests_until: null };
  const isRefused = rests.some(({ reason }) => reason === 'refused');
  const until = Math.max(...rests.map((rest) => rest.until));
  return {
    position,
    status: isRefused ? 'failing' : 'resting',
    rests_until: new Date(until).toISOString(),
  };
}

function quantilesOf(sizes: CallCounts['duration']): { p50: number | null; p99: number | null } {
  return { p50: quantile(sizes, 0.5), p99: quantile(sizes, 0.99) };
}
