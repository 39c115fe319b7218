import type { Span, Trace } from '@gatehouse/contract/traces';
import { milliseconds } from '../format/amounts.ts';

interface WaterfallProps {
  trace: Trace;
  spans: readonly Span[];
}

const ticks = [0, 0.25, 0.5, 0.75, 1];
/** A shorter step is still seen. */
const leastPercent = 0.4;

/** The steps of a run on one axis of time. The table beside it has the same in figures. */
export function Waterfall({ trace, spans }: WaterfallProps) {
  const started = spans.flatMap((span) => (span.started_at === null ? [] : [{ span, at: span.started_at }]));
  if (started.length === 0) return null;
  const begin = Date.parse(trace.started_at);
  const ends = started.map(({ span, at }) => Date.parse(at) + (span.duration_ms ?? 0) - begin);
  const length = Math.max(trace.duration_ms ?? 0, ...ends, 1);
  const percent = (ms: number): number => (ms / length) * 100;
  return (
    <div class="waterfall" role="img" aria-label="The steps of the run over time">
      <div class="waterfall-row waterfall-axis">
        <span />
        <span class="track">
          {ticks.map((tick) => (
            <span key={tick} style={{ left: `${tick * 100}%` }}>
              {milliseconds(Math.round(length * tick))}
            </span>
          ))}
        </span>
      </div>
      {started.map(({ span: { id, name, kind, status, duration_ms: duration }, at }) => {
        const style = {
          left: `${percent(Date.parse(at) - begin)}%`,
          width: `${Math.max(leastPercent, percent(duration ?? 0))}%`,
        };
        return (
          <div key={id} class="waterfall-row">
            <span class="waterfall-name" title={name}>
              {name}
            </span>
            <span class="track">
              <span class={`span span-${kind} span-${status}`} style={style} title={milliseconds(duration)} />
            </span>
            <span class="number">{milliseconds(duration)}</span>
          </div>
        );
      })}
    </div>
  );
}
