import type { Dimension } from '@gatehouse/contract/usage';
import { amount, count, type Column, type CostRow } from './cost-export.ts';

/** The groups of an export in FOCUS: each row is the use of one model on one day. */
export const focusGroups: readonly Dimension[] = ['day', 'model', 'provider', 'agent', 'user', 'api_key'];
/** The same over all tenants: without users. */
export const ownerFocusGroups: readonly Dimension[] = [
  'tenant',
  ...focusGroups.filter((dimension) => dimension !== 'user'),
];

const cost = amount('cost_pico');
const model = ({ labels }: CostRow): string | null => labels.model ?? null;
/** Runs ended before a provider answered are charges of the gateway. */
const provider = ({ labels }: CostRow): string => labels.provider ?? 'Gatehouse';
const tokens = ({ sums }: CostRow): string => String(BigInt(sums.input_tokens) + BigInt(sums.output_tokens));
const bound =
  (index: number) =>
  ({ bounds }: CostRow): string | null =>
    bounds[index] ?? null;

/**
 * The columns of FOCUS 1.2, in its order: all mandatory ones, and the conditional ones with a condition a gateway
 * meets. A row combines the tokens of several meters, so there are no unit prices. Our own columns begin with `x_`
 * (https://focus.finops.org/focus-specification/v1-2/).
 */
export const focusColumns: readonly Column[] = [
  ['BilledCost', cost],
  ['BillingAccountId', ({ labels }, { tenantId }) => labels.tenant ?? tenantId],
  ['BillingAccountName', ({ labels }, { tenantSlug }) => labels.tenant_slug ?? tenantSlug],
  ['BillingCurrency', () => 'USD'],
  ['BillingPeriodEnd', bound(3)],
  ['BillingPeriodStart', bound(2)],
  ['ChargeCategory', () => 'Usage'],
  ['ChargeClass', () => null],
  ['ChargeDescription', (row) => `Runs of ${model(row) ?? 'models'}`],
  ['ChargeFrequency', () => 'Usage-Based'],
  ['ChargePeriodEnd', bound(1)],
  ['ChargePeriodStart', bound(0)],
  ['ConsumedQuantity', tokens],
  ['ConsumedUnit', () => 'Tokens'],
  ['ContractedCost', cost],
  ['EffectiveCost', cost],
  ['InvoiceIssuerName', provider],
  ['ListCost', cost],
  ['PricingQuantity', tokens],
  ['PricingUnit', () => 'Tokens'],
  ['ProviderName', provider],
  ['PublisherName', provider],
  ['ServiceCategory', () => 'AI and Machine Learning'],
  ['ServiceName', model],
  ['ServiceSubcategory', () => 'Generative AI'],
  ['x_AgentId', ({ labels }) => labels.agent ?? null],
  ['x_ApiKeyId', ({ labels }) => labels.api_key ?? null],
  ['x_AsOf', (_row, { asOf }) => `${asOf.toISOString().slice(0, 19)}Z`],
  ['x_CachedInputTokens', count('cached_input_tokens')],
  ['x_EstimatedCost', amount('estimated_cost_pico')],
  ['x_EstimatedRequests', count('estimated_requests')],
  ['x_InputTokens', count('input_tokens')],
  ['x_OutputTokens', count('output_tokens')],
  ['x_OwnKeyCost', amount('own_key_cost_pico')],
  ['x_OwnKeyRequests', count('own_key_requests')],
  ['x_ReasoningTokens', count('reasoning_tokens')],
  ['x_Requests', count('requests')],
  ['x_TimeZone', (_row, { timezone }) => timezone],
  ['x_UnpricedRequests', count('unpriced_requests')],
  ['x_UserId', ({ labels }) => labels.user ?? null],
];

export const ownerFocusColumns: readonly Column[] = focusColumns.filter(([name]) => name !== 'x_UserId');
