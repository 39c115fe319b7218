import uPlot from 'uplot';
import { mostColours } from '../bounds.ts';
import { themeChange } from '../shell/theme.ts';
import type { DrawnSeries } from './chart-series.ts';

const height = 240;
const { bars } = uPlot.paths;

interface StackedPlotOptions {
  /** The names of the bars. */
  labels: readonly string[];
  series: readonly DrawnSeries[];
  /** A value on the axis. */
  axis: (value: number) => string;
  /** Called with the index of the bar under the pointer or of `choose`, and null for none. */
  onChoose: (index: number | null) => void;
}

/** The canvas of a stacked chart, as wide as its place, in the colours of the theme. */
export class StackedPlot {
  readonly #plot: uPlot;
  readonly #place: HTMLElement;
  readonly #stopping = new AbortController();

  constructor(place: HTMLElement, options: StackedPlotOptions) {
    this.#place = place;
    const { labels, series, axis, onChoose } = options;
    // A lower bar covers the part of a higher one that is not its own.
    const stacked = cumulated(series).toReversed();
    const grid = { stroke: () => this.#colour('--line'), width: 1 };
    const common = { stroke: () => this.#colour('--faint'), font: '12px system-ui, sans-serif' };
    this.#plot = new uPlot(
      {
        ...{ width: place.clientWidth, height, padding: [12, 4, 0, 0] },
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
        scales: {
          x: { time: false, range: () => [-0.5, labels.length - 0.5] },
          y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.05 : 1] },
        },
        axes: [
          {
            ...common,
            grid: { show: false },
            ticks: { show: false },
            ...{ space: 72, size: 32 },
            incrs: [1, 2, 5, 7, 10, 14, 30, 60, 100],
            values: (_plot, splits) => splits.map((split) => labels[split] ?? ''),
          },
          { ...common, grid, ticks: { show: false }, size: 68, values: (_plot, splits) => splits.map(axis) },
        ],
        series: [
          {},
          ...stacked.map(({ colour }) => ({
            fill: () => this.#colour(colour < mostColours ? `--colour-${colour}` : '--colour-other'),
            ...{ width: 0, points: { show: false } },
            ...(bars !== undefined && { paths: bars({ size: [0.7, 56] }) }),
          })),
        ],
        hooks: { setCursor: [({ cursor: { idx } }) => onChoose(idx ?? null)] },
      },
      [labels.map((_, index) => index), ...stacked.map(({ values }) => [...values])],
      place,
    );
    const { signal } = this.#stopping;
    const redraw = (): void => this.#plot.redraw(false);
    addEventListener(themeChange, redraw, { signal });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw, { signal });
    const observer = new ResizeObserver(() => this.#plot.setSize({ width: place.clientWidth, height }));
    observer.observe(place);
    signal.addEventListener('abort', () => observer.disconnect());
  }

  /** Moves the cursor to a bar; null takes it away. */
  choose(index: number | null): void {
    const left = index === null ? -10 : this.#plot.valToPos(index, 'x');
    this.#plot.setCursor({ left, top: index === null ? -10 : 0 });
  }

  /** The middle of a bar as a share of the width of the chart. */
  placeOf(index: number): number {
    const { left } = this.#plot.over.getBoundingClientRect();
    const start = left - this.#place.getBoundingClientRect().left;
    return (start + this.#plot.valToPos(index, 'x')) / Math.max(1, this.#place.clientWidth);
  }

  stop(): void {
    this.#stopping.abort();
    this.#plot.destroy();
  }

  /** A colour of the style sheet as a canvas reads it: the variables are functions of the theme. */
  #colour(variable: string): string {
    const probe = document.createElement('span');
    probe.style.color = `var(${variable})`;
    this.#place.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  }
}

/** Each series on top of those before it. */
function cumulated(series: readonly DrawnSeries[]): DrawnSeries[] {
  const heights = series[0]?.values.map(() => 0) ?? [];
  return series.map(({ colour, values }) => ({
    colour,
    values: values.map((value, index) => (heights[index] = (heights[index] ?? 0) + value)),
  }));
}
