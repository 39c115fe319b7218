import type { Span, Trace } from '@gatehouse/contract/traces';
import { milliseconds } from '../format/amounts.ts';

interface WaterfallProps {
  trace: Trace;
  spans: readonly Span[];
}

const [width, row] = [720, 22];

/** The steps of a run on one line of time. The table beside it has the same in figures. */
export function Waterfall({ trace, spans }: WaterfallProps) {
  const started = spans.flatMap((span) => (span.started_at === null ? [] : [{ span, at: span.started_at }]));
  const begin = Date.parse(trace.started_at);
  const ends = started.map(({ span, at }) => Date.parse(at) + (span.duration_ms ?? 0));
  const length = Math.max(trace.duration_ms ?? 0, ...ends.map((end) => end - begin), 1);
  if (started.length === 0) return null;
  return (
    <svg
      class="waterfall"
      viewBox={`0 0 ${width} ${started.length * row}`}
      role="img"
      aria-label="The steps of the run over time"
    >
      {started.map(({ span, at }, index) => {
        const x = ((Date.parse(at) - begin) / length) * width;
        const wide = Math.max(2, ((span.duration_ms ?? 0) / length) * width);
        const isRight = x > width / 2;
        return (
          <g key={span.id}>
            <rect
              class={`span-${span.status}`}
              x={x}
              y={index * row + 3}
              width={wide}
              height={row - 6}
              rx="2"
            >
              <title>{`${span.name} · ${milliseconds(span.duration_ms)}`}</title>
            </rect>
            <text
              x={isRight ? width - 4 : x + 6}
              y={index * row + 15}
              text-anchor={isRight ? 'end' : 'start'}
            >
              {span.name}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
