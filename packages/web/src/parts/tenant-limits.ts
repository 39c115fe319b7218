import type { PatchTenant, Tenant } from '@gatehouse/contract/tenants';

export const rates = {
  requests_per_minute: 'Requests per minute',
  tokens_per_minute: 'Tokens per minute',
  max_concurrent: 'Concurrency',
} as const;
export type Rate = keyof typeof rates;

/** Members with one value, as text. */
type Plain = 'name' | 'slug' | 'timezone' | 'retention_days';

/** The fields as text. */
export type Draft = Record<Rate | Plain | 'usd' | 'period' | 'models', string>;

export function draftOf(tenant: Tenant): Draft {
  const { name, slug, timezone, retention_days: days, limits, budget, allowed_models: models } = tenant;
  return {
    ...{ name, slug, timezone, retention_days: String(days) },
    requests_per_minute: textOf(limits.requests_per_minute),
    tokens_per_minute: textOf(limits.tokens_per_minute),
    max_concurrent: textOf(limits.max_concurrent),
    usd: budget?.usd ?? '',
    period: budget?.period ?? 'month',
    models: models?.join('\n') ?? '',
  };
}

/** The members changed by the person: others may have been changed elsewhere. */
export function changesOf(before: Draft, draft: Draft): PatchTenant {
  const { usd, period, models, retention_days: days, ...limits } = draft;
  const texts = (['name', 'slug', 'timezone'] as const).filter((name) => draft[name] !== before[name]);
  const changed = (Object.keys(rates) as Rate[]).filter((name) => limits[name] !== before[name]);
  const isBudget = usd !== before.usd || period !== before.period;
  return {
    ...Object.fromEntries(texts.map((name) => [name, draft[name]])),
    ...(days !== before.retention_days && { retention_days: Number(days) }),
    ...(changed.length > 0 && {
      limits: Object.fromEntries(changed.map((name) => [name, numberIn(limits[name])])),
    }),
    ...(isBudget && { budget: usd === '' ? null : { usd, period: period === 'day' ? period : 'month' } }),
    ...(models !== before.models && {
      allowed_models: models.trim() === '' ? null : models.trim().split(/\s*\n\s*/),
    }),
  };
}

function textOf(limit: number | null | undefined): string {
  return limit === null || limit === undefined ? '' : String(limit);
}

function numberIn(digits: string): number | null {
  return digits === '' ? null : Number(digits);
}
