import type { Dimension } from '@gatehouse/contract/usage';
import type { Period } from './period.ts';

export interface UsageFilter {
  agentId: string | null;
  model: string | null;
  provider: string | null;
  channel: string | null;
  dialect: string | null;
  user: string | null;
  apiKeyId: string | null;
  /** The name of a group, in any case. */
  group: string | null;
}

/** The figures in summaries of usage or of costs. */
export type Figures = 'usage' | 'costs';

export interface SummaryRequest {
  period: Period;
  filter: UsageFilter;
  groupBy: readonly Dimension[];
  /** IANA name, for days and months. */
  timezone: string;
  /** Only groups with these values of the first key: in its order, or without one. Not for times, which have periods. */
  firstKeys?: { after: string | null; upTo: string } | 'none';
  /** The figures to add up; others are 0. All by default. */
  figures?: Figures;
  /** Whether groups of refused requests alone are among those of costs. */
  withRefused?: true;
  /** Runs of all tenants, which only the system role can read. */
  allTenants?: true;
}

/** Sums over runs. Amounts are in pico-USD. */
export interface Totals {
  requests: number;
  errors: number;
  cancelled: number;
  /** Runs with an answer ended by a guardrail. */
  blocked: number;
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  toolCalls: number;
  /** Requests refused before any provider call, which are no runs. */
  refused: number;
  uniqueUsers: number;
  avgDurationMs: number | null;
  costPico: bigint;
  unpricedRequests: number;
  unpricedModels: string[];
  estimatedRequests: number;
  estimatedCostPico: bigint;
  /** Runs with keys of the tenant's own. Their cost is in no other amount. */
  ownKeyRequests: number;
  ownKeyCostPico: bigint;
}

export interface Group extends Totals {
  key: GroupLabels;
}

/** The labels of a group, by the dimensions it is of. */
export type GroupLabels = Partial<Record<Dimension, string | null>>;

export interface Summary {
  totals: Totals;
  groups: Group[];
  truncated: boolean;
  /** Every run ended before this time is counted. */
  asOf: Date;
}
