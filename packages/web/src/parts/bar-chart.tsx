import type { ComponentChildren } from 'preact';

export interface Bar {
  label: string;
  segments: readonly Segment[];
}

export interface Segment {
  /** The name of the group, which has one colour in all bars. */
  group: string;
  /** For the height alone. */
  value: number;
  /** The figure as the API returned it. */
  text: string;
}

interface BarChartProps {
  label: string;
  bars: readonly Bar[];
  groups: readonly string[];
}

const [width, height, gap] = [720, 160, 2];
const colours = 8;

/**
 * Bars over days, stacked by group. It is a picture of the table beside it, which has every figure: heights are drawn
 * from sums, but no sum is shown.
 */
export function BarChart({ label, bars, groups }: BarChartProps) {
  const heights = bars.map(({ segments }) => segments.reduce((sum, { value }) => sum + value, 0));
  const highest = Math.max(...heights);
  if (bars.length === 0 || highest <= 0) return null;
  const step = width / bars.length;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} preserveAspectRatio="none">
        {bars.map((bar, index) => (
          <Stack
            key={bar.label}
            bar={bar}
            x={index * step + gap / 2}
            width={Math.max(1, step - gap)}
            scale={height / highest}
            groups={groups}
          />
        ))}
      </svg>
      <figcaption>
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </figcaption>
      {groups.length > 1 ? <Legend groups={groups} /> : null}
    </figure>
  );
}

interface StackProps {
  bar: Bar;
  x: number;
  width: number;
  scale: number;
  groups: readonly string[];
}

function Stack({ bar, x, width: stackWidth, scale, groups }: StackProps) {
  let top = height;
  return (
    <g>
      {bar.segments.map(({ group, value, text }): ComponentChildren => {
        const tall = value * scale;
        top -= tall;
        return (
          <rect
            key={group}
            class={colourOf(groups, group)}
            x={x}
            y={top}
            width={stackWidth}
            height={Math.max(0, tall)}
          >
            <title>{`${bar.label} · ${group} · ${text}`}</title>
          </rect>
        );
      })}
    </g>
  );
}

function Legend({ groups }: { groups: readonly string[] }) {
  return (
    <ul class="legend">
      {groups.slice(0, colours).map((group) => (
        <li key={group}>
          <svg viewBox="0 0 10 10" aria-hidden="true">
            <rect class={colourOf(groups, group)} width="10" height="10" />
          </svg>
          {group}
        </li>
      ))}
      {groups.length > colours ? <li>others are grey</li> : null}
    </ul>
  );
}

function colourOf(groups: readonly string[], group: string): string {
  const index = groups.indexOf(group);
  return index < colours ? `colour-${index}` : 'colour-other';
}
