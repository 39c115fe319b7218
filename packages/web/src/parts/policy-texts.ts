import type { RunSelect } from '@gatehouse/contract/run-select';
import { amountTexts } from '../format/limits.ts';
import { pers, selectable, type AnyPolicy } from './policy-draft.ts';

/** The kind of a policy's counters. */
export function perOf({ per }: AnyPolicy): string {
  return pers.tenant[per ?? ''];
}

/** The runs of a policy or a guardrail, such as `Models: gpt-5*`. */
export function selectionOf(selecting: { select: Partial<RunSelect>; tenants?: string[] | null }): string[] {
  const { select, tenants } = selecting;
  const names = Object.keys(selectable) as (keyof RunSelect)[];
  const texts = names.flatMap((name) => {
    const values = select[name] ?? [];
    return values.length === 0 ? [] : [`${selectable[name]}: ${values.join(', ')}`];
  });
  const all = [...texts, ...((tenants ?? []).length === 0 ? [] : [`Tenants: ${(tenants ?? []).join(', ')}`])];
  return all.length === 0 ? ['every run'] : all;
}

/** The limits and the budget of a policy. */
export function amountsOf({ limits, budget, enforce }: AnyPolicy): string[] {
  const texts = amountTexts(limits, budget);
  return enforce ? texts : [...texts, 'refuses nothing'];
}
