import type { PolicyOverride } from '@gatehouse/contract/policies';
import { unreadable } from '../api/api-error.ts';
import { usd } from '../format/amounts.ts';
import { fieldText, textOrNull } from '../format/changes.ts';
import { amountTexts } from '../format/limits.ts';
import { rates, type Rate } from './tenant-limits.ts';

/** The text of a field for no limit. */
const none = 'none';
const rateNames = Object.keys(rates) as Rate[];

/** The fields of an override as text: empty ones follow the policy. */
export type OverrideDraft = Record<Rate | 'value' | 'budget_usd' | 'until' | 'note', string>;

export const newOverride: OverrideDraft = {
  ...{ value: '', budget_usd: '', until: '', note: '' },
  ...{ requests_per_minute: '', tokens_per_minute: '', max_concurrent: '' },
};

export function overrideDraft(value: string, override: PolicyOverride): OverrideDraft {
  const { budget_usd: amount, limits, until, note } = override;
  const rateText = (rate: Rate): string => (limits === null ? none : amountText(limits?.[rate]));
  return {
    ...{ value, budget_usd: amountText(amount), until: until ?? '', note: note ?? '' },
    requests_per_minute: rateText('requests_per_minute'),
    tokens_per_minute: rateText('tokens_per_minute'),
    max_concurrent: rateText('max_concurrent'),
  };
}

/** An override as the API takes it. Throws an `ApiError`. */
export function overrideBody(draft: OverrideDraft) {
  const limits: Partial<Record<Rate, number | null>> = {};
  for (const rate of rateNames) {
    const amount = amountOf(`limits.${rate}`, draft[rate], /^\d+$/);
    if (amount !== undefined) limits[rate] = amount === null ? null : Number(amount);
  }
  const budgetUsd = amountOf('budget_usd', draft.budget_usd, /^\d+([.]\d+)?$/);
  return {
    ...(budgetUsd !== undefined && { budget_usd: budgetUsd }),
    ...(Object.keys(limits).length > 0 && { limits }),
    until: textOrNull(draft.until),
    note: textOrNull(draft.note),
  };
}

/** The amounts of an override for people. */
export function overrideTexts({ budget_usd: amount, limits }: PolicyOverride): string[] {
  const unlimited = rateNames.filter((rate) => limits === null || limits?.[rate] === null);
  return [
    ...amountTexts(limits ?? null, null),
    ...unlimited.map((rate) => `${rates[rate]}: no limit`),
    ...(amount === undefined ? [] : [amount === null ? 'no budget' : usd(amount)]),
  ];
}

function amountText(amount: string | number | null | undefined): string {
  return amount === null ? none : fieldText(amount);
}

/** Undefined for the policy's amount, null for no limit. */
function amountOf(param: string, text: string, form: RegExp): string | null | undefined {
  const amount = text.trim();
  if (amount === '') return undefined;
  if (amount.toLowerCase() === none) return null;
  if (!form.test(amount)) throw unreadable(param, 'Write a number, or none.');
  return amount;
}
