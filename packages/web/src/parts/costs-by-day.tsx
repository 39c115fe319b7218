import type { CostSummary, GroupKey } from '@gatehouse/contract/usage';
import { useMemo } from 'preact/hooks';
import { shortUsd } from '../format/amounts.ts';
import type { Days } from '../format/period.ts';
import { dayLabel, daysBetween } from '../format/times.ts';
import type { Bar, ChartGroup } from './chart-series.ts';
import { StackedChart } from './stacked-chart.tsx';

/** Costs of a tenant, or of all tenants. */
export interface AnyCosts extends Omit<CostSummary, 'groups'> {
  groups: (Omit<CostSummary['groups'][number], 'key'> & { key: Partial<GroupKey> })[];
}

type Group = AnyCosts['groups'][number];

interface CostsByDayProps {
  /** Grouped by day, and by a second dimension if there is one. */
  summary: AnyCosts;
  days: Days;
  /** The group in the chart; absent with days alone. */
  groupOf?: (group: Group) => ChartGroup;
  hasTable?: boolean;
}

const costAlone = (): ChartGroup => ({ id: '', name: 'Cost' });

/** Costs of each day of a period as bars. */
export function CostsByDay({ summary, days, groupOf = costAlone, hasTable = false }: CostsByDayProps) {
  const { first, last } = days;
  const bars = useMemo(() => {
    const byDay = Map.groupBy(summary.groups, ({ key }) => key.day ?? '');
    return daysBetween(first, last).map((day): Bar => ({
      label: dayLabel(day),
      segments: (byDay.get(day) ?? []).map((group) => ({
        group: groupOf(group),
        value: Number(group.total_usd),
        text: shortUsd(group.total_usd),
        exact: group.total_usd,
      })),
    }));
  }, [summary, first, last, groupOf]);
  const label = `Cost by day, ${dayLabel(first)} to ${dayLabel(last)}`;
  return <StackedChart label={label} bars={bars} axis={dollars} hasTable={hasTable} />;
}

function dollars(value: number): string {
  return shortUsd(value.toFixed(12));
}
