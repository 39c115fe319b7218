import type { CostSummary } from '@gatehouse/contract/usage';
import { usd } from '../format/amounts.ts';
import type { Days } from '../format/period.ts';
import { daysBetween } from '../format/times.ts';
import { BarChart, type Bar } from './bar-chart.tsx';

interface CostsByDayProps {
  /** Grouped by day, and by `dimension` if there is one. */
  summary: CostSummary;
  days: Days;
  dimension?: keyof CostSummary['groups'][number]['key'];
}

/** Costs of each day of a period as bars. */
export function CostsByDay({ summary, days, dimension }: CostsByDayProps) {
  const nameOf = ({ key }: CostSummary['groups'][number]): string =>
    dimension === undefined ? 'cost' : (key[dimension] ?? 'none');
  const byDay = Map.groupBy(summary.groups, ({ key }) => key.day ?? '');
  const bars = daysBetween(days.first, days.last).map((day): Bar => {
    const groups = byDay.get(day) ?? [];
    return {
      label: day,
      segments: groups.map((group) => ({
        group: nameOf(group),
        value: Number(group.total_usd),
        text: usd(group.total_usd),
      })),
    };
  });
  const groups = [...new Set(summary.groups.map(nameOf))].sort();
  return <BarChart label={`Cost by day, ${days.first} to ${days.last}`} bars={bars} groups={groups} />;
}
