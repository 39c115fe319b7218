import type { CostSummary, ExportQuery, SummaryQuery, UsageSummary } from '@gatehouse/contract/usage';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { BoundedItems } from '@gatehouse/http/pagination';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { usdOf } from '@gatehouse/kit/money';
import { viewerOf, type Viewer } from '../shared/viewer.ts';
import { periodOf, previousOf, type Period } from './period.ts';
import type { Figures, Summary, Totals, UsageFilter } from './summary.ts';
import type { UsageStore } from './usage-store.ts';

type SummaryCall = Call<unknown, SummaryQuery>;

interface ComparedSummary {
  period: Period;
  summary: Summary;
  previous: { period: Period; summary: Summary } | null;
}

/** Concurrent summaries per tenant: each may occupy a connection and a CPU core of the database for seconds. */
const summariesInFlight = { perKey: 2, maxWaiting: 16 };

/** Showing 10,000 groups takes about 25 ms of the event loop. */
const fewGroups = 1_000;

/** `/v1/usage/summary` and `/v1/costs/summary` */
export function summaryHandlers(usage: UsageStore): Record<string, Handler> {
  const turns = new FairQueue(summariesInFlight);
  const answer = async <Body>(
    call: SummaryCall,
    figures: Figures,
    show: (answer: ComparedSummary) => Body,
  ): Promise<{ body: Body }> => {
    const { tenantId } = call.principal;
    const summary = await turns.run(tenantId, () => summarize(usage, call, figures));
    const isLarge = summary.summary.groups.length > fewGroups;
    return { body: isLarge ? await runCooperatively(tenantId, () => show(summary)) : show(summary) };
  };
  return {
    'usage.summary': (call: SummaryCall) => answer(call, 'usage', showUsage),
    'costs.summary': (call: SummaryCall) => answer(call, 'costs', showCosts),
  };
}

async function summarize(usage: UsageStore, call: SummaryCall, figures: Figures): Promise<ComparedSummary> {
  const { query } = call;
  const viewer = viewerOf(tenantOf(call), query.user_id);
  const period = periodOf(query, new Date());
  const filter = filterOf(query, viewer);
  const groupBy = query.group_by ?? [];
  const request = { period, filter, groupBy, timezone: query.timezone, figures };
  const summary = await usage.summarize(viewer.tenantId, request);
  if (query.compare === undefined) return { period, summary, previous: null };
  const before = previousOf(period);
  const earlier = await usage.summarize(viewer.tenantId, { ...request, period: before, groupBy: [] });
  return { period, summary, previous: { period: before, summary: earlier } };
}

/** The runs a query selects among those visible to the caller. */
export function filterOf(query: SummaryQuery | ExportQuery, { user }: Viewer): UsageFilter {
  return {
    agentId: query.agent_id ?? null,
    model: query.model ?? null,
    provider: query.provider ?? null,
    channel: query.channel ?? null,
    dialect: query.dialect ?? null,
    user,
    apiKeyId: query.api_key_id ?? null,
  };
}

function showUsage({ period, summary, previous }: ComparedSummary): UsageSummary {
  const groups = new BoundedItems<UsageSummary['groups'][number]>();
  const size = groups.addAll(summary.groups, (group) => ({ key: group.key, ...showTotals(group) }));
  return {
    ...showPeriod(period),
    as_of: summary.asOf.toISOString(),
    totals: showTotals(summary.totals),
    groups: groups.items,
    previous:
      previous === null
        ? null
        : { ...showPeriod(previous.period), totals: showTotals(previous.summary.totals) },
    truncated: summary.truncated || size < summary.groups.length,
  };
}

function showCosts({ period, summary, previous }: ComparedSummary): CostSummary {
  const groups = new BoundedItems<CostSummary['groups'][number]>();
  const size = groups.addAll(summary.groups, (group) => ({
    key: group.key,
    requests: group.requests,
    total_usd: usdOf(group.costPico),
    unpriced_requests: group.unpricedRequests,
  }));
  return {
    currency: 'USD',
    ...showPeriod(period),
    as_of: summary.asOf.toISOString(),
    ...showCostTotals(summary.totals),
    groups: groups.items,
    previous:
      previous === null
        ? null
        : { ...showPeriod(previous.period), ...showCostTotals(previous.summary.totals) },
    truncated: summary.truncated || size < summary.groups.length,
  };
}

function showPeriod({ from, to }: Period): { from: string; to: string } {
  return { from: from.toISOString(), to: to.toISOString() };
}

function showTotals(totals: Totals): UsageSummary['totals'] {
  return {
    requests: totals.requests,
    errors: totals.errors,
    cancelled: totals.cancelled,
    input_tokens: totals.inputTokens,
    cached_input_tokens: totals.cachedInputTokens,
    output_tokens: totals.outputTokens,
    reasoning_tokens: totals.reasoningTokens,
    total_tokens: totals.inputTokens + totals.outputTokens,
    tool_calls: totals.toolCalls,
    unique_users: totals.uniqueUsers,
    avg_duration_ms: totals.avgDurationMs,
  };
}

function showCostTotals(
  totals: Totals,
): Pick<CostSummary, 'total_usd' | 'unpriced' | 'estimated' | 'own_key'> {
  return {
    total_usd: usdOf(totals.costPico),
    unpriced: { requests: totals.unpricedRequests, models: totals.unpricedModels },
    estimated: { requests: totals.estimatedRequests, total_usd: usdOf(totals.estimatedCostPico) },
    own_key: { requests: totals.ownKeyRequests, total_usd: usdOf(totals.ownKeyCostPico) },
  };
}
