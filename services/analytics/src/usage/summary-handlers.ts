import type {
  CostSummary,
  ExportQuery,
  GroupKey,
  OwnerExportQuery,
  OwnerSummaryQuery,
  SummaryQuery,
  UsageSummary,
} from '@gatehouse/contract/usage';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { BoundedItems } from '@gatehouse/http/pagination';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { usdOf } from '@gatehouse/kit/money';
import type { NamesClient } from '../shared/names-client.ts';
import { viewerOf, type Viewer } from '../shared/viewer.ts';
import { namesOfTenants, type NamesOfGroups } from './group-names-client.ts';
import { periodOf, previousOf, type Period } from './period.ts';
import type { Figures, GroupLabels, Summary, SummaryRequest, Totals, UsageFilter } from './summary.ts';
import type { OwnerUsageStore, UsageStore } from './usage-store.ts';

type AnySummaryQuery = SummaryQuery | OwnerSummaryQuery;
type SummaryCall<Query extends AnySummaryQuery> = Call<unknown, Query>;

interface ComparedSummary {
  period: Period;
  summary: Summary;
  previous: { period: Period; summary: Summary } | null;
  /** The key of a group as the response shows it. */
  keyOf: (labels: GroupLabels) => GroupKey;
}

interface Selection {
  tenantId: string | null;
  /** Null for owners. */
  viewer: Viewer | null;
  filter: UsageFilter;
}

/** The way of a kind of callers to summaries. */
interface SummaryAccess<Query extends AnySummaryQuery> {
  /** The selected runs; without a tenant those of all tenants. */
  selectionOf: (call: SummaryCall<Query>) => Selection | Promise<Selection>;
  summarize: (tenantId: string | null, request: SummaryRequest) => Promise<Summary>;
  namesOf: NamesOfGroups;
}

/** Concurrent summaries per tenant: each may occupy a connection and a CPU core of the database for seconds. */
const summariesInFlight = { perKey: 2, maxWaiting: 16 };

/** Showing 10,000 groups takes about 25 ms of the event loop. */
const fewGroups = 1_000;

/** `/v1/usage/summary` and `/v1/costs/summary` */
export function summaryHandlers(usage: UsageStore, namesOf: NamesOfGroups): Record<string, Handler> {
  const { answerUsage, answerCosts } = handlersFor<SummaryQuery>({
    selectionOf: (call) => {
      const viewer = viewerOf(tenantOf(call), call.query.user_id);
      const { user } = viewer;
      return { tenantId: viewer.tenantId, viewer, filter: filterOf(call.query, { user }) };
    },
    summarize: (tenantId, request) => usage.summarize(tenantId ?? '', request),
    namesOf,
  });
  return { 'usage.summary': answerUsage, 'costs.summary': answerCosts };
}

/** `/internal/v1/owner/usage/summary` and `/internal/v1/owner/costs/summary` */
export function ownerSummaryHandlers(
  usage: Pick<OwnerUsageStore, 'summarize'>,
  names: NamesClient,
): Record<string, Handler> {
  const namesOf = namesOfTenants(names);
  const { answerUsage, answerCosts } = handlersFor<OwnerSummaryQuery>({
    selectionOf: async ({ query }) => ({
      tenantId: await names.tenantOf(query),
      viewer: null,
      filter: filterOf(query),
    }),
    summarize: (tenantId, request) => usage.summarize(tenantId, request),
    namesOf,
  });
  return { 'owner.usage.summary': answerUsage, 'owner.costs.summary': answerCosts };
}

function handlersFor<Query extends AnySummaryQuery>(
  access: SummaryAccess<Query>,
): Record<'answerUsage' | 'answerCosts', Handler> {
  const turns = new FairQueue(summariesInFlight);
  const answer = async <Body>(
    call: SummaryCall<Query>,
    figures: Figures,
    show: (answer: ComparedSummary) => Body,
  ): Promise<{ body: Body }> => {
    const { tenantId } = call.principal;
    const summary = await turns.run(tenantId, () => summarize(access, call, figures));
    const isLarge = summary.summary.groups.length > fewGroups;
    return { body: isLarge ? await runCooperatively(tenantId, () => show(summary)) : show(summary) };
  };
  return {
    answerUsage: (call: SummaryCall<Query>) => answer(call, 'usage', showUsage),
    answerCosts: (call: SummaryCall<Query>) => answer(call, 'costs', showCosts),
  };
}

async function summarize<Query extends AnySummaryQuery>(
  { selectionOf, summarize: sumUp, namesOf }: SummaryAccess<Query>,
  call: SummaryCall<Query>,
  figures: Figures,
): Promise<ComparedSummary> {
  const { query } = call;
  const { tenantId, viewer, filter } = await selectionOf(call);
  const period = periodOf(query, new Date());
  const groupBy = query.group_by ?? [];
  const request = { period, filter, groupBy, timezone: query.timezone, figures };
  const summary = await sumUp(tenantId, request);
  const labels = summary.groups.map(({ key }) => key);
  const keyOf = await namesOf(viewer, labels);
  if (query.compare === undefined) return { period, summary, previous: null, keyOf };
  const before = previousOf(period);
  const earlier = await sumUp(tenantId, { ...request, period: before, groupBy: [] });
  return { period, summary, previous: { period: before, summary: earlier }, keyOf };
}

/** The runs a query selects, of all users or of one. Owners see no groups of users. */
export function filterOf(
  query: AnySummaryQuery | ExportQuery | OwnerExportQuery,
  { user = null }: { user?: string | null } = {},
): UsageFilter {
  return {
    agentId: query.agent_id ?? null,
    model: query.model ?? null,
    provider: query.provider ?? null,
    channel: query.channel ?? null,
    dialect: query.dialect ?? null,
    user,
    apiKeyId: query.api_key_id ?? null,
    group: 'group' in query ? (query.group ?? null) : null,
  };
}

function showUsage({ period, summary, previous, keyOf }: ComparedSummary): UsageSummary {
  const groups = new BoundedItems<UsageSummary['groups'][number]>();
  const size = groups.addAll(summary.groups, (group) => ({ key: keyOf(group.key), ...showTotals(group) }));
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

function showCosts({ period, summary, previous, keyOf }: ComparedSummary): CostSummary {
  const groups = new BoundedItems<CostSummary['groups'][number]>();
  const size = groups.addAll(summary.groups, (group) => ({
    key: keyOf(group.key),
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
    refused: totals.refused,
    blocked: totals.blocked,
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
