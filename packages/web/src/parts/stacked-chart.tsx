import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { mostColours, mostFigures } from '../bounds.ts';
import { drawnSeries, orderedGroups, type Bar, type ChartGroup } from './chart-series.ts';
import { DataTable, type DataColumn } from './data-table.tsx';
import { StackedPlot } from './stacked-plot.ts';

interface StackedChartProps {
  label: string;
  bars: readonly Bar[];
  /** A value on the axis. */
  axis: (value: number) => string;
  /** Whether a table beside it has the same figures. Otherwise the chart brings one. */
  hasTable?: boolean;
}

/**
 * Bars stacked by group, with axes and a legend. The pointer or the arrow keys choose a bar, whose figures are shown
 * and announced. Heights are drawn from sums, but every figure shown is the API's.
 */
export function StackedChart({ label, bars, axis, hasTable = false }: StackedChartProps) {
  const groups = useMemo(() => orderedGroups(bars), [bars]);
  const [chosen, setChosen] = useState<number | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<StackedPlot | null>(null);
  const bar = chosen === null ? undefined : bars[chosen];
  useEffect(() => {
    if (place.current === null) return;
    const drawn = new StackedPlot(place.current, {
      labels: bars.map((one) => one.label),
      series: drawnSeries(bars, groups),
      axis,
      onChoose: setChosen,
    });
    plot.current = drawn;
    return () => {
      setChosen(null);
      drawn.stop();
    };
  }, [bars, groups, axis]);
  if (groups.length === 0) return null;
  const choose = (event: KeyboardEvent): void => {
    const last = bars.length - 1;
    const targets: Record<string, number | null> = {
      ArrowRight: Math.min(last, (chosen ?? -1) + 1),
      ArrowLeft: Math.max(0, (chosen ?? bars.length) - 1),
      Home: 0,
      End: last,
      Escape: null,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    plot.current?.choose(target);
  };
  return (
    <figure class="chart">
      <figcaption>{label}</figcaption>
      <div
        class="plot"
        tabIndex={0}
        role="group"
        aria-label={`${label}. Chart: arrow keys choose a bar`}
        onKeyDown={choose}
      >
        <div ref={place} />
        {bar === undefined || chosen === null ? null : (
          <BarFigures bar={bar} groups={groups} place={plot.current?.placeOf(chosen) ?? 0} />
        )}
      </div>
      <p class="unseen" aria-live="polite">
        {bar === undefined ? '' : spoken(bar, groups)}
      </p>
      {groups.length > 1 ? <Legend groups={groups} /> : null}
      {hasTable ? null : <FiguresTable label={label} bars={bars} groups={groups} />}
    </figure>
  );
}

interface BarFiguresProps {
  bar: Bar;
  groups: readonly ChartGroup[];
  /** The middle of the bar as a share of the width. */
  place: number;
}

/** The figures of the chosen bar, at the side of it with more room. */
function BarFigures({ bar: { label, segments }, groups, place }: BarFiguresProps) {
  const listed = segments.toSorted((one, other) => other.value - one.value).slice(0, mostFigures);
  const style = place > 0.5 ? { right: `${(1 - place) * 100 + 2}%` } : { left: `${place * 100 + 2}%` };
  return (
    <div class="bar-figures" style={style} aria-hidden="true">
      <strong>{label}</strong>
      {listed.length === 0 ? <span>Nothing</span> : null}
      {listed.map(({ group, text }) => (
        <span key={group.id}>
          <Swatch index={groups.findIndex(({ id }) => id === group.id)} />
          {groups.length > 1 ? <span>{nameIn(groups, group)}</span> : null}
          <b class="amount">{text}</b>
        </span>
      ))}
      {segments.length > mostFigures ? <span>and {segments.length - mostFigures} more</span> : null}
    </div>
  );
}

/** The name of a group beside the others. */
function nameIn(groups: readonly ChartGroup[], { id, name }: ChartGroup): string {
  return groups.find((group) => group.id === id)?.name ?? name;
}

function spoken({ label, segments }: Bar, groups: readonly ChartGroup[]): string {
  const texts = segments.map(({ group, text }) => `${nameIn(groups, group)} ${text}`);
  return `${label}: ${texts.length === 0 ? 'nothing' : texts.join(', ')}`;
}

function Legend({ groups }: { groups: readonly ChartGroup[] }) {
  return (
    <ul class="legend">
      {groups.slice(0, mostColours).map(({ id, name }, index) => (
        <li key={id}>
          <Swatch index={index} />
          {name}
        </li>
      ))}
      {groups.length > mostColours ? (
        <li>
          <Swatch index={mostColours} />
          {groups.length - mostColours} more
        </li>
      ) : null}
    </ul>
  );
}

/** The colour of a group by its index. */
function Swatch({ index }: { index: number }) {
  return (
    <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
      <rect class={index < mostColours ? `colour-${index}` : 'colour-other'} width="10" height="10" rx="2" />
    </svg>
  );
}

interface FiguresTableProps {
  label: string;
  bars: readonly Bar[];
  groups: readonly ChartGroup[];
}

function FiguresTable({ label, bars, groups }: FiguresTableProps) {
  const [isOpen, setOpen] = useState(false);
  const segmentIn = ({ segments }: Bar, { id }: ChartGroup) => segments.find(({ group }) => group.id === id);
  const columns: DataColumn<Bar>[] = [
    { header: 'Day', cell: (bar) => bar.label, value: (bar) => bar.label },
    ...groups.map((group): DataColumn<Bar> => ({
      header: group.name,
      cell: (bar) => <span title={segmentIn(bar, group)?.exact}>{segmentIn(bar, group)?.text ?? '–'}</span>,
      value: (bar) => segmentIn(bar, group)?.exact ?? null,
      isNumber: true,
    })),
  ];
  return (
    <details class="chart-table" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Show as a table</summary>
      {isOpen ? (
        <DataTable
          caption={label}
          file="chart.csv"
          columns={columns}
          rows={bars}
          keyOf={(bar) => bar.label}
          empty="Nothing in this period."
        />
      ) : null}
    </details>
  );
}
